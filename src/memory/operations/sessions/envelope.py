"""The documented envelope: `success`, `error`, `message`, and every field that a tool promises, whatever happened."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias

from memory.operations.arguments import record
from memory.operations.render.data import parsed
from memory.operations.sessions.errors import ValidationError, documented
from memory.schema.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from memory.operations.sessions.errors import Doing
    from memory.schema.answer import Notice

Envelope: TypeAlias = "dict[str, Any]"
"""JSON, as CAP D9 to D38 have it; more fields may come."""

Iteration: TypeAlias = "int | str | None"
"""Of a session: 1, "1" or "v1"."""

Name: TypeAlias = "str | None"

Given = ParamSpec("Given")


class Answering(Protocol):
    @property
    def raises(self) -> bool:
        """Whether an error is raised instead of answered."""
        ...


def answers(
    doing: Doing, fields: str, **values: str
) -> Callable[[Callable[Concatenate[Any, Given], Envelope]], Callable[Concatenate[Any, Given], Envelope]]:
    """
    A method whose result becomes an envelope, and whose errors too.

    Args:
        fields: What it promises, see `memory.operations.arguments.record`.
        values: What is in them when there is nothing to say, where that is not None, 0, empty or true.
    """

    def wrapped(method: Callable[Concatenate[Any, Given], Envelope]) -> Callable[Concatenate[Any, Given], Envelope]:
        @wraps(method)
        def answered(self: Answering, /, *args: Given.args, **kwargs: Given.kwargs) -> Envelope:
            envelope = _blank(fields, values)
            try:
                envelope |= method(self, *args, **kwargs)
            except Error as error:
                if self.raises:
                    raise documented(error, doing) from error
                return refusal(answered, error)
            if self.raises and not envelope["success"]:
                raise ValidationError(envelope["message"])
            return envelope

        answered.__dict__.update(fields=fields, values=values, doing=doing)
        return answered

    return wrapped


def returned(method: Callable[..., Envelope]) -> dict[str, Any]:
    """The JSON Schema of what a method that `answers` returns."""
    return record(f"success:flag {method.__dict__['fields']} message:text? error:text?")


def refusal(method: Callable[..., Envelope], error: Error) -> Envelope:
    """What a method that `answers` says when it could not do what was asked."""
    declared = method.__dict__
    problem = documented(error, declared["doing"])
    blank = _blank(declared["fields"], declared["values"])
    return blank | {"success": False, "error": problem.name, "message": str(problem)}


_EMPTY: Mapping[str, Callable[[], object]] = {"number": int, "object": dict, "rows": list, "flag": lambda: True}


def _blank(fields: str, values: Mapping[str, str]) -> Envelope:
    blank = {name: _EMPTY[shape]() if shape in _EMPTY else None for name, _, shape in parsed(fields)}
    return {"success": True, **blank, **values, "message": None, "error": None}


def said(notices: Iterable[Notice], *first: str) -> str | None:
    """What should be known besides, as the message; None if that is nothing."""
    told = [f"{notice.text}. {notice.hint}".rstrip() if notice.hint else notice.text for notice in notices]
    return " ".join(f"{text.rstrip('.')}." for text in (*first, *told) if text) or None
