"""Judged sets put to a store with a model of 64 numbers, for tests of what is measured of them."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memory import Config, Draft, Engine
from memory.config.settings import EmbeddingSettings
from memory.evaluate import judged as reading
from memory.evaluate.systems import opened as store_opened

if TYPE_CHECKING:
    from collections.abc import Sequence

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


CONTRADICTIONS = Path(__file__).with_name("judged") / "contradictions"


def contradictions(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (CONTRADICTIONS / name).read_text(encoding="utf-8").splitlines()[1:]]


def named(engine: Engine, pairs: Sequence[Sequence[str]]) -> int:
    """How many first notes are named when the second one is saved."""
    found = 0
    for one, other, *_ in pairs:
        old, new = (engine.save(Draft(title=title)).memory for title in (one, other))
        told = engine.replaceable(new)
        found += told is not None and told.id == old.id
    return found
