"""
Work, counted: lines of the package that are run, and characters that its regular expressions are handed.

Both are the same on any machine, however busy. What an expression does inside is not seen: a guard stands against that.
"""

from __future__ import annotations

import re
import signal
import sys
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from types import FrameType, ModuleType

SIZES = (1_000, 4_000, 16_000)
GUARD = 60  # seconds: not a measure, what is linear takes a moment and what is not takes minutes


class Handed:
    """An expression that counts the characters it is handed, up to where it found something."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern, self.characters = pattern, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pattern, name)

    def _one(self, name: str, text: str, at: int, *more: int) -> re.Match[str] | None:
        found = getattr(self._pattern, name)(text, at, *more)
        self.characters += (found.end() if found else len(text)) - at
        return found

    def search(self, text: str, at: int = 0, *more: int) -> re.Match[str] | None:
        return self._one("search", text, at, *more)

    def match(self, text: str, at: int = 0, *more: int) -> re.Match[str] | None:
        found = self._pattern.match(text, at, *more)
        self.characters += found.end() - at if found else 1
        return found

    def fullmatch(self, text: str, at: int = 0, *more: int) -> re.Match[str] | None:
        return self._one("fullmatch", text, at, *more)

    def finditer(self, text: str, at: int = 0, *more: int) -> Iterator[re.Match[str]]:
        self.characters += len(text) - at
        return self._pattern.finditer(text, at, *more)

    def findall(self, text: str, at: int = 0, *more: int) -> list[Any]:
        self.characters += len(text) - at
        return self._pattern.findall(text, at, *more)

    def split(self, text: str, most: int = 0) -> list[Any]:
        self.characters += len(text)
        return self._pattern.split(text, most)

    def sub(self, by: Any, text: str, most: int = 0) -> str:
        self.characters += len(text)
        return self._pattern.sub(by, text, most)


@contextmanager
def handed(*modules: ModuleType) -> Generator[list[Handed]]:
    """The expressions of modules, which count meanwhile."""
    counting: list[Handed] = []
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, re.Pattern):
                    counting.append(Handed(value))
                    patch.setattr(module, name, counting[-1])
        yield counting


@contextmanager
def lines() -> Generator[list[int]]:
    """How many lines of the package were run, in the one item."""
    count, before = [0], sys.gettrace()

    def inside(_frame: FrameType, event: str, _value: object) -> Callable[..., Any]:
        count[0] += event == "line"
        return inside

    def entered(frame: FrameType, _event: str, _value: object) -> Callable[..., Any] | None:
        return inside if frame.f_globals.get("__name__", "").startswith("memory") else None

    sys.settrace(entered)
    try:
        yield count
    finally:
        sys.settrace(before)


def work(act: Callable[[str], object], text: str, *modules: ModuleType) -> int:
    """Lines that are run on a text, and characters that the modules' expressions are handed."""
    with handed(*modules) as expressions, lines() as ran:
        act(text)
    return ran[0] + sum(one.characters for one in expressions)


def over_and_over(part: str, size: int) -> str:
    return (part * (size // len(part) + 1))[:size]


def is_linear(act: Callable[[str], object], part: str, *modules: ModuleType) -> None:
    """A part repeated costs at most four times as much where the text is four times as long."""
    costs = [work(act, over_and_over(part, size), *modules) for size in SIZES]
    assert costs[0] > 0
    for less, more in pairwise(costs):
        assert more <= 4 * 1.25 * less + 1_000, costs


@contextmanager
def guarded() -> Generator[None]:
    """What takes minutes fails, instead of holding up the suite."""

    def late(*_: object) -> None:
        raise AssertionError(f"it took more than {GUARD} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(GUARD)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
