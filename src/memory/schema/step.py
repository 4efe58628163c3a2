"""
What a thread is doing: the step to which its changes belong (a command or a tool call, undone as one), and the purpose
for which it embeds texts.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator

USER = ""
"""The author of a step that a person's command does; programs have names."""

PROGRAM = "program"
"""The author of changes outside of any step: a program that uses the library. Each of its transactions is a step."""

_STEP: ContextVar[tuple[str, str, str] | None] = ContextVar("step", default=None)
"""The current step: its key, its verb and its author."""

_KEYS: ContextVar[list[str] | None] = ContextVar("keys", default=None)
"""The keys of the outermost step and of those nested in it."""


@contextmanager
def step(verb: str, by: str = USER) -> Generator[list[str]]:
    """
    Record all changes of this thread inside as one step. A nested step is a step of its own; its key is appended to the
    list of keys that this yields.
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
    """Key, verb and author of this thread's current step; outside of any step, those of a new one."""
    return _STEP.get() or (new_key(), "", PROGRAM)


def new_key() -> str:
    return os.urandom(8).hex()


class Purpose(NamedTuple):
    """
    What a text is embedded for. It is recorded in the usage log and decides how long to retry.

    Attributes:
        name: Its name in the log.
        patience: Total seconds of waiting between tries.
        asked: Whether a person is waiting for this call: then it is tried even if the server just failed.
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
    """Set the purpose of everything embedded inside."""
    token = PURPOSE.set(of)
    try:
        yield
    finally:
        PURPOSE.reset(token)
