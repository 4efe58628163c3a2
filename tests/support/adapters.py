"""A memory for adapters of frameworks: in a folder of its own, no model, and a clock that a test may set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from memory import Config, Engine
from memory.config import FLAG, with_setting
from memory.engine import stored

if TYPE_CHECKING:
    from pathlib import Path


class Clock:
    """The moment that it is, which only moves when a test says so."""

    moment = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def wait(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


def opened(home: Path, clock: Clock | None = None) -> Engine:
    config = Config()
    for name, value in (("home", str(home)), ("embedding.provider", "none")):
        config = with_setting(config, name, value, FLAG)
    home.mkdir(exist_ok=True)
    return Engine(stored(config), config, now=clock, lasting=False)
