"""numpy, loaded when it is first used: most commands never need it, and it takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy as np

            vars(self).update(vars(np))  # so that nothing is asked here a second time
            return getattr(np, name)

    np = Numpy()

__all__ = ["np"]
