"""
The product's values, which check themselves. No I/O here, except for asking the system whether a process is running.

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

            vars(self).update(vars(np))  # later look-ups skip this function
            return getattr(np, name)

    np = Numpy()


__version__ = "0.2.0"

__all__ = ["np"]
