"""Judged sets put to a store with a model of 64 numbers, for tests of what is measured of them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memory import Config
from memory.config.settings import EmbeddingSettings
from memory.evaluate import judged as reading
from memory.evaluate.systems import opened as store_opened

if TYPE_CHECKING:
    from pathlib import Path

HASHED = EmbeddingSettings(provider="hashed", model="hashed-64")
CONFIG = Config(embedding=HASHED)


@contextmanager
def unwatched(_label: str):
    """No progress is shown."""
    yield lambda _done, _total: None


def nobody() -> None:
    """Whom each answer is told."""


def opened(folder: Path, cache: Path | None = None, *, config: Config = CONFIG, embeds: bool = True, watch=unwatched):
    """A store of the documents of a set."""
    return store_opened(reading.read(folder), config, cache, embeds=embeds, watch=watch)
