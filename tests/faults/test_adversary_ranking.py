"""What an adversary of the ranking found once, so that it is not found twice."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from notes_made import drafts

from memory import Config, Draft, Engine, Mode, Query
from memory.schema.answer import Hit, Outcome, Ranking, Scored, Tier
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.space import Strangers
from memory.search.confidence import LONG_QUERY, Measure, confidence
from memory.search.fuse import aged
from memory.store import UNAIDED
from memory.store.sqlite import SqliteStore
from memory.vectors.providers.inside import HashedEmbedder
from oracle.ram import RamStore

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BY = Measure(Strangers(1, 0.41, (0.26,)), 6_000, 6_000)
"""As all-MiniLM-L6-v2 measures thousands of texts."""


def hit(coverage: float, cosine: float) -> Hit:
    config = replace(Config(), embedding=replace(Config().embedding, provider="none"))
    with Engine(RamStore(), config) as engine:
        engine.save(Draft(title="alpha"))
        return engine.search("alpha").hits[0]._replace(coverage=coverage, cosine=cosine)


# How far an answer can be trusted -------------------------------------------------------


@pytest.mark.parametrize(
    ("cosine", "outcome"),
    [
        (0.55, Outcome.ANSWERED),
        (0.40, Outcome.WEAK),
        (0.30, Outcome.NOTHING_RELEVANT),
    ],
)
def test_a_search_by_vector_alone_is_judged_by_vectors_alone(cosine, outcome) -> None:
    found, why = confidence([hit(0.0, cosine)], Tier.VECTOR, 0, lambda: BY)

    assert found is outcome
    assert "%" not in why  # it looked for no word, so none is missing


def test_before_strangers_are_known_a_search_by_vector_alone_claims_nothing() -> None:
    found, why = confidence([hit(0.0, 0.9)], Tier.VECTOR, 0, Measure)

    assert found is Outcome.WEAK
    assert "%" not in why


def test_a_long_task_that_the_model_finds_near_is_about_what_it_found() -> None:
    """Instructions around a question thin out the words in common: it said "nothing" of 46 such tasks of 80."""
    assert confidence([hit(0.15, 0.55)], Tier.HYBRID, 3 * LONG_QUERY, lambda: BY)[0] is Outcome.ANSWERED
    assert confidence([hit(0.15, 0.20)], Tier.HYBRID, 3 * LONG_QUERY, lambda: BY)[0] is Outcome.NOTHING_RELEVANT


def test_a_search_by_vector_does_not_speak_of_words(tmp_path: Path) -> None:
    with Engine(SqliteStore(tmp_path / "memory.db"), Config(), embedder=HashedEmbedder(32), lasting=False) as engine:
        engine.save(Draft(title="red fox"))

        answer = engine.search(Query("red fox", mode=Mode.VECTOR))

        assert answer.hits
        assert "0%" not in answer.worth


def test_what_holds_no_word_is_not_said_to_lack_a_vector() -> None:
    assert confidence([], Tier.KEYWORD, 0, Measure)[1] == "the query has no word to look for"
    assert confidence([], Tier.VECTOR, 0, Measure)[1] == "no memory in scope has a vector"


# Age ------------------------------------------------------------------------------------


def test_age_never_lifts_what_a_vector_speaks_against() -> None:
    old, new = MemoryId(1), MemoryId(2)
    ranking = Ranking.of([Scored(ChunkId(1), old, -0.2), Scored(ChunkId(2), new, -0.2)])

    found = aged(ranking, {old: NOW - timedelta(days=300), new: NOW}, NOW, 30)

    assert [scored.memory for scored in found] == [new, old]


# Learning beside ------------------------------------------------------------------------


def settings(fill: str, provider: str = "hashed") -> Config:
    config = Config()
    return replace(config, embedding=replace(config.embedding, fill=fill, provider=provider))


def learned(engine: Engine) -> bool:
    """Whether it has learned, once its thread is done."""
    for thread in threading.enumerate():
        if thread.name == "memory-fill":
            thread.join(30)
    return engine.status().terms > 0


def test_what_waits_for_a_model_that_is_away_does_not_keep_from_learning(tmp_path: Path) -> None:
    """When the model is away, what was learned in its place is needed most."""
    path = tmp_path / "memory.db"
    off = replace(Config(), search=replace(Config().search, distilled="off"))
    with Engine(SqliteStore(path), off, embedder=HashedEmbedder(32), lasting=False) as engine:
        engine.save_all(drafts(UNAIDED))

    away = settings("background", "none")
    with Engine(SqliteStore(path), away) as engine:
        engine.save(Draft(title="one that waits"))
        engine.vectors.wake()

        assert learned(engine)
