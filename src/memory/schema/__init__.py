"""
The vocabulary: values that check themselves. Nothing here does any I/O, but for asking the system whether a process lives.

The version stands here because another package called `memory` may have overwritten `memory/__init__.py`.
"""

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


__version__ = "0.2.0"

__all__ = ["np"]
