"""Hybrid answers compare with a vector between the model's and the one that the store's term vectors make."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from doubles import Watched
from notes_made import drafts, words

from memory import Config, Engine, Mode, Query
from memory.schema.query import Granularity
from memory.schema.space import shrunk
from memory.search.fuse import combined, distilled_share
from memory.search.vectors import BETWEEN
from memory.store.sqlite import SqliteStore
from memory.text.terms import terms
from memory.vectors.term_vectors import TermEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.schema.answer import Answer

COUNT = 300
ASKED = [" ".join([*words(n)[:3], *words(n + 5)[2:5]]) for n in range(12)]
"""Questions on two subjects each, which all notes together hold and none alone."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """Notes with term vectors, which every test leaves as they are."""
    store = SqliteStore(tmp_path_factory.mktemp("taught") / "memory.db")
    engine = Engine(store, Config(), embedder=Watched(), lasting=False)
    engine.save_all(drafts(COUNT))
    engine.vectors.learn(anew=True)
    yield store
    store.close()


def ask(store: SqliteStore, query: Query, **search: object) -> Answer:
    config = replace(Config(), search=replace(Config().search, **search))
    return Engine(store, config, embedder=Watched(), lasting=False).search(query)


def hybrid(text: str, limit: int = 20, **fields) -> Query:
    return Query(text, limit, mode=Mode.HYBRID, **fields)


def ids(answer: Answer) -> list[int]:
    return [hit.chunk_id for hit in answer.hits]


def nearest_by_hand(store: SqliteStore, text: str) -> list[int]:
    """All chunks by the centred cosine with the combined vector, computed from the vectors as they are stored."""
    pending = store.term_vectors.pending(1, 10_000, learned=None)
    vectors = np.stack([vectors[0] for _, vectors in pending])
    centre = np.asarray(shrunk(*store.generations.centre(1)).vector)
    guess = TermEmbedder(store, 1).ask(text, store.keywords.weigh(terms(text)))
    share = distilled_share(store.generations.answering()[1], guess.passages)
    query = combined(Watched().embed([text], "query")[0], np.asarray(guess.vector), centre, share) - centre
    others = vectors - centre
    cosines = others @ query / np.linalg.norm(others, axis=1)
    return [pending[row][0].id for row in np.argsort(-cosines, kind="stable")]


@pytest.mark.parametrize("text", ASKED[:4])
def test_the_order_is_that_of_the_combined_vector(store, text) -> None:
    found = ask(store, hybrid(text), vector_weight=1.0)

    assert ids(found) == nearest_by_hand(store, text)[:20]


def test_the_setting_turns_it_off_and_so_does_a_search_without_term_vectors(store) -> None:
    on, off, without = (
        [ids(ask(store, hybrid(text), **search)) for text in ASKED]
        for search in ({}, {"combined": "off"}, {"distilled": "off"})
    )

    assert on != off
    assert off == without


@pytest.mark.parametrize("size", Granularity)
@pytest.mark.parametrize("merge", ["minmax", "max", "rrf"])
def test_the_cosines_that_are_shown_are_the_models(store, size: Granularity, merge: str) -> None:
    own = {hit.chunk_id: hit.cosine for hit in ask(store, Query(ASKED[0], COUNT, mode=Mode.VECTOR)).hits}

    found = ask(store, hybrid(ASKED[0], granularity=size), merge=merge)

    assert found.hits
    for hit in found.hits:
        assert hit.cosine == pytest.approx(own[hit.chunk_id], abs=1e-5)


def test_the_mode_vector_compares_with_the_models_vector_alone(store) -> None:
    query = Query(ASKED[0], 20, mode=Mode.VECTOR)

    assert ids(ask(store, query)) == ids(ask(store, query, combined="off"))


def test_a_tiered_search_that_asks_the_model_answers_as_the_mode_does(store) -> None:
    tiered = ask(store, Query(ASKED[0], 20), gate="always")

    assert ids(tiered) == ids(ask(store, hybrid(ASKED[0])))
    assert BETWEEN in {step.note for step in tiered.steps}


def test_the_same_question_has_the_same_answer_whatever_was_asked_before(store) -> None:
    engine = Engine(store, Config(), embedder=Watched(), lasting=False)

    before = engine.search(hybrid(ASKED[0])).hits
    for text in ASKED[1:]:
        engine.search(hybrid(text))

    assert engine.search(hybrid(ASKED[0])).hits == before


def test_words_that_the_term_vectors_do_not_know_are_compared_by_the_model_alone(store) -> None:
    text = f"{words(1)[0]} unheard utterances of nobody"

    assert ids(ask(store, hybrid(text))) == ids(ask(store, hybrid(text), combined="off"))


@pytest.mark.parametrize(("fit", "between"), [(0.01, True), (0.0, False), (-0.2, False)])
def test_term_vectors_that_foretell_nothing_are_left_out_and_nothing_else_is_said(store, fit, between) -> None:
    learned = store.term_vectors.learned(1)
    store.term_vectors.learn(1, learned._replace(fit=fit))
    try:
        found, alone = (ask(store, hybrid(ASKED[0]), combined=combined) for combined in ("auto", "off"))
    finally:
        store.term_vectors.learn(1, learned)

    assert (BETWEEN in {step.note for step in found.steps}) == between
    assert between or found.hits == alone.hits
