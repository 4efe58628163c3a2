"""Calls of a whole object that one of its parts answers."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Given = ParamSpec("Given")
Result = TypeVar("Result")


def delegate(part: str, method: Callable[Concatenate[Any, Given], Result]) -> Callable[Concatenate[Any, Given], Result]:
    """
    A method of a part as a method of the whole, with the part's signature and docstring.
        method: A method of the part's class.
    """
    name = method.__name__

    @wraps(method)
    def call(whole: Any, /, *args: Given.args, **values: Given.kwargs) -> Result:
        answer: Result = getattr(getattr(whole, part), name)(*args, **values)
        return answer

    return call
