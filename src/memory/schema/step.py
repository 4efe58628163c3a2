"""
What a thread is at: the step that a change belongs to, since what one command or one call of a tool does is taken back as
one; and the purpose of what is embedded.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator

USER = ""
"""Who gives commands; programs have names."""

PROGRAM = "program"
"""Who changes something outside of any step: a program that uses the library. Each of its transactions is a step."""

_STEP: ContextVar[tuple[str, str, str] | None] = ContextVar("step", default=None)
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
    current, inside = _STEP.set((key, verb, by)), _KEYS.set(keys)
    try:
        yield keys
    finally:
        _STEP.reset(current)
        _KEYS.reset(inside)


def current() -> tuple[str, str, str]:
    """The key of the step that this thread does, its verb, and who does it; outside of any, one of its own."""
    return _STEP.get() or (new_key(), "", PROGRAM)


def new_key() -> str:
    return os.urandom(8).hex()


class Purpose(NamedTuple):
    """
    What a text is embedded for: recorded in the usage log, and deciding how long to wait.

    Attributes:
        name: Its name in the log.
        patience: Seconds of waiting between tries, in all.
        asked: Whether a person is waiting for just this: then even a server that was down a moment ago is asked again.
    """

    name: str
    patience: float = 1.0
    asked: bool = False


SEARCH = Purpose("search")
SAVE = Purpose("save")
BACKFILL = Purpose("fill")
EMBED = Purpose("fill", patience=120.0, asked=True)
REINDEX = Purpose("reindex", patience=120.0, asked=True)
PROBE = Purpose("probe", asked=True)
WORDS = Purpose("words")

PURPOSE: ContextVar[Purpose] = ContextVar("purpose", default=SEARCH)
"""The purpose in this thread."""


@contextmanager
def purpose(of: Purpose) -> Generator[None]:
    """Everything embedded inside is for this purpose."""
    token = PURPOSE.set(of)
    try:
        yield
    finally:
        PURPOSE.reset(token)
