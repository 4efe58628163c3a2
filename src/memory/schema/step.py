"""Which step a change belongs to: what one command or one call of a tool does is taken back as one."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

USER = ""
"""Who gives commands; programs have names."""

PROGRAM = "program"
"""Who changes something outside of any step: a program that uses the library. Each of its transactions is a step."""

_CURRENT: ContextVar[tuple[str, str, str] | None] = ContextVar("step", default=None)
"""The key of the step that is being done, its verb, and who does it."""

_KEYS: ContextVar[list[str] | None] = ContextVar("keys", default=None)
"""Keys of the outermost step, and of those inside."""


@contextmanager
def step(verb: str, by: str = USER) -> Generator[list[str]]:
    """
    All that this thread changes inside is one step; one inside another is a step of its own. It gives the key, behind which
    those of steps inside are added.
    """
    key, outer = new_key(), _KEYS.get()
    keys = [] if outer is None else outer
    keys.append(key)
    current, inside = _CURRENT.set((key, verb, by)), _KEYS.set(keys)
    try:
        yield keys
    finally:
        _CURRENT.reset(current)
        _KEYS.reset(inside)


def current() -> tuple[str, str, str]:
    """The key of the step that this thread does, its verb, and who does it; outside of any, one of its own."""
    return _CURRENT.get() or (new_key(), "", PROGRAM)


def new_key() -> str:
    return os.urandom(8).hex()
