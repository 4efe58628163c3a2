"""
The product's values, which check themselves. No I/O here, except for asking the system whether a process is running.

The version stands here because another package called `memory` may have overwritten `memory/__init__.py`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple

    import numpy as np
else:

    class Fields(type):
        """Makes a named tuple in a third of the time that `typing.NamedTuple` takes, which compiles each annotation."""

        def __new__(cls, name: str, bases: tuple[type, ...], own: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, own)
            types = own.pop("__annotations__")
            usual = [own.pop(field) for field in [*types] if field in own]
            made = namedtuple(name, types, defaults=usual, module=own["__module__"])  # noqa: PYI024  # it has types
            made.__annotations__ = types
            for member, value in own.items():
                setattr(made, member, value)
            return made

    class NamedTuple(metaclass=Fields):
        """As that of `typing`, for modules that every command imports."""

    class Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy as np

            vars(self).update(vars(np))  # later look-ups skip this function
            return getattr(np, name)

    np = Numpy()


__version__ = "0.2.0"

__all__ = ["NamedTuple", "np"]
