"""A method of a part as a method of the whole."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def delegate(part: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """
    A method of a part as a method of the whole, with the part's signature and docstring.

    Args:
        method: A method of the part's class.
    """
    name = method.__name__

    @wraps(method)
    def call(whole: Any, /, *args: P.args, **values: P.kwargs) -> R:
        answer: R = getattr(getattr(whole, part), name)(*args, **values)
        return answer

    return call
