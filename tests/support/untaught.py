"""Stores whose vectors taught nothing yet, and all that they teach."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from notes_made import drafts

from memory import Config, Engine
from memory.vectors.providers.inside import HashedEmbedder

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


def same(store: Store, expected: tuple) -> None:
    """That a store learned these numbers, but for the order in which they were added up."""
    (learned, prior, spread, own), (others, prior_of_others, spread_of_others, known) = numbers(store), expected
    assert learned == pytest.approx(others, rel=1e-3)
    assert prior == pytest.approx(prior_of_others, rel=1e-3)
    assert np.frombuffer(spread) == pytest.approx(np.frombuffer(spread_of_others), rel=1e-5)
    assert own.keys() == known.keys()
    for term, vector in own.items():
        assert vector[:3] == known[term][:3]
        assert vector.met == pytest.approx(known[term].met, rel=1e-4)
        one, other = (np.frombuffer(each.code, np.int8).astype(float) for each in (vector, known[term]))
        assert one @ other > 0.99 * np.sqrt((one @ one) * (other @ other))


def nothing(_store: Store, _page: int) -> None: ...
