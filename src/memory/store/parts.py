"""Parts of a store whose methods are transactions of a database."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")
S = TypeVar("S")


def inside(
    transaction: Callable[[Any], AbstractContextManager[C]], *, reads: bool = False
) -> Callable[[Callable[Concatenate[S, C, P], R]], Callable[Concatenate[S, P], R]]:
    """
    Methods of a part that are called without their connection, each in a transaction of the part's `_db`.

    Args:
        transaction: Of a database.
        reads: In a transaction that is open already, no other is needed.
    """

    def decorated(method: Callable[Concatenate[S, C, P], R]) -> Callable[Concatenate[S, P], R]:
        @wraps(method)
        def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            database: Any = self._db  # type: ignore[attr-defined]  # of every part
            if reads and (current := database.current) is not None:
                return method(self, current, *args, **kwargs)
            with transaction(database) as db:
                return method(self, db, *args, **kwargs)

        return called

    return decorated
