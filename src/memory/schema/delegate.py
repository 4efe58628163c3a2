"""A call of a whole that one of its parts answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Delegate(Generic[Given, Result]):
    """
    A method of a part under a name of the whole, with the part's signature and docstring.

        class Engine:
            embed = Delegate("vectors", Vectors.embed)  # engine.embed(…) is engine.vectors.embed(…)
    """

    def __init__(self, part: str, method: Callable[Concatenate[Any, Given], Result]) -> None:
        """
        Args:
            part: The attribute of the whole.
            method: Of the part's class.
        """
        self._part, self._method = part, method

    @overload
    def __get__(self, whole: None, owner: type) -> Callable[Concatenate[Any, Given], Result]: ...
    @overload
    def __get__(self, whole: object, owner: type) -> Callable[Given, Result]: ...
    def __get__(self, whole: object, owner: type) -> Callable[..., Result]:
        if whole is None:
            return self._method
        answer: Callable[..., Result] = getattr(getattr(whole, self._part), self._method.__name__)
        return answer
