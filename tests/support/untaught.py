"""Stores whose vectors taught nothing yet, and all that they teach."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from notes_made import drafts

from memory import Config, Engine
from memory.embed.providers.hashed import HashedEmbedder

if TYPE_CHECKING:
    from memory.store import Store

WIDTH = 32
UNTAUGHT = replace(Config(), search=replace(Config().search, distilled="off"))


def fill(store: Store, count: int, first: int = 0) -> None:
    Engine(store, UNTAUGHT, embedder=HashedEmbedder(WIDTH), lasting=False).save_all(drafts(count, first=first))


def numbers(store: Store) -> tuple:
    """All that was learned, bit by bit."""
    learned = store.term_vectors.learned(1)
    return learned[:2], learned.prior, learned.spread.tobytes(), dict(store.term_vectors.of_terms(1, None))


def nothing(_store: Store, _page: int) -> None: ...
