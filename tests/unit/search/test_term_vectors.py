"""Term vectors are learned from the vectors of a store, and asked in place of the model."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from notes_made import COMMON, drafts, words as subject

from memory import Config, Draft, Engine
from memory.embed.providers.hashed import HashedEmbedder
from memory.schema.memory import ChunkId
from memory.schema.query import EVERYTHING as ALL, Term
from memory.search.term_vectors import LEAST, TermEmbedder, terms as said, words
from memory.search.term_vectors.learn import AXES, GROWN, due, learn
from memory.store.sqlite.store import SqliteStore
from memory.text.terms import terms
from memory.write.rules import delete_memories
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.store import Store

COUNT = 320
WIDTH = 256
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def wanted(store: Store) -> bool:
    return due(store, 1, store.generations.size(1).chunks, store.term_vectors.learned(1))


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Notes, and what was learned of them; only for reading."""
    store = SqliteStore(tmp_path_factory.mktemp("taught") / "memory.db")
    fill(store, COUNT)
    assert learn(store, 1, moment=NOW)
    yield store
    store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


def fill(store: Store, count: int, *, first: int = 0, notes: list[Draft] | None = None) -> None:
    """Keep so many notes, or these, with vectors; the engine that does it learns nothing."""
    config = replace(Config(), search=replace(Config().search, distilled="off"))
    engine = Engine(store, config, embedder=HashedEmbedder(WIDTH), lasting=False)
    engine.save_all(drafts(count, first=first) if notes is None else notes)


def every(store: Store) -> list[tuple[str, np.ndarray]]:
    lessons = store.term_vectors.lessons(1, ChunkId(0), 10_000)
    return [(f"{excerpt.title} {excerpt.text}", vectors[0]) for excerpt, vectors in lessons]


def term_vectors(store: Store) -> dict:
    return dict(store.term_vectors.of_terms(1, sorted({term for text, _ in every(store) for term in said(text)})))


def asked(store: Store, text: str):
    return TermEmbedder(store, 1).ask(text, store.keywords.weigh(terms(text)))


# Asking ------------------------------------------------------------------


def test_the_words_of_a_passage_point_to_it_and_away_from_the_others(taught: Store) -> None:
    passages = every(taught)
    vectors = np.stack([vector for _, vector in passages])

    places = []
    for row in range(0, COUNT, 7):
        found = asked(taught, passages[row][0])
        cosines = vectors @ found.vector
        places.append(int((cosines > cosines[row]).sum()))

    assert np.mean(places) < COUNT / 100
    assert max(places) < COUNT / 10


def test_words_that_no_text_says_together_point_to_their_subject(taught: Store) -> None:
    passages = every(taught)
    vectors = np.stack([vector for _, vector in passages])

    for number in range(0, 24, 5):
        found = asked(taught, " ".join(subject(number)[:3]))
        nearest = np.argsort(-(vectors @ found.vector))[:5]
        assert sum(any(word in passages[row][0] for word in subject(number)) for row in nearest) >= 4


def test_a_distilled_vector_has_length_1_and_is_no_wider_than_the_vectors(taught: Store) -> None:
    found = asked(taught, subject(3)[0])

    assert (found.vector.shape, found.vector.dtype) == ((WIDTH,), np.float32)
    assert np.linalg.norm(found.vector) == pytest.approx(1, abs=1e-5)


def test_the_order_of_the_words_moves_it_little_and_capitals_not_at_all(taught: Store) -> None:
    own = subject(5)
    plain, loud, back = (
        asked(taught, text).vector for text in (" ".join(own), " ".join(own).upper(), " ".join(own[::-1]))
    )

    assert loud.tolist() == plain.tolist()
    assert plain @ back > 0.8


@pytest.mark.parametrize("text", ["", "unheard unseen", "the of and", "?!"])
def test_of_unknown_words_it_knows_nothing(taught: Store, text: str) -> None:
    assert asked(taught, text) is None


def test_known_is_the_share_of_the_weight_that_it_knows(taught: Store) -> None:
    word = subject(2)[0]
    embedder = TermEmbedder(taught, 1)
    query = f"{word} unheard"

    assert embedder.ask(query, [Term(word, weight=3), Term("unheard", weight=1)]).known == 0.75
    assert embedder.ask(query, [Term(word)]).known == 1
    assert embedder.ask(query, [Term("unheard")]).known == 0
    assert embedder.ask(query, []).known == 0


def test_there_may_be_no_term_vectors(store: Store) -> None:
    fill(store, 3)

    assert asked(store, " ".join(subject(0))) is None
    assert TermEmbedder(store, 99).ask("x", []) is None


# Learning ----------------------------------------------------------------


def test_it_says_how_it_was_learned_and_how_well_it_fits(taught: Store) -> None:
    found = taught.term_vectors.learned(1)

    assert (found.passages, found.last, found.learned_at) == (
        COUNT,
        taught.term_vectors.lessons(1, ChunkId(0), 999)[-1][0].id,
        NOW,
    )
    assert found.basis.shape == (AXES, WIDTH)
    assert found.basis @ found.basis.T == pytest.approx(np.eye(AXES), abs=1e-4)
    assert 0.5 < found.fit <= 1
    assert taught.term_vectors.answering() == (1, found.fit)


def test_it_knows_words_and_pairs_that_were_said_twice(taught: Store) -> None:
    known = term_vectors(taught)
    stems = {word for word in known if " " not in word}

    assert set(words(" ".join([*subject(0), *COMMON]))) <= stems
    assert any(" " in term for term in known)
    counts: dict[str, int] = {}
    for text, _ in every(taught):
        for term in set(said(text)):
            counts[term] = counts.get(term, 0) + 1
    assert all(counts[term] > 1 for term in known if " " in term)


def test_learning_again_comes_to_the_same(store: Store) -> None:
    fill(store, LEAST)
    first = learn(store, 1, moment=NOW)
    before = term_vectors(store)

    second = learn(store, 1, moment=NOW + timedelta(days=1))

    assert before == term_vectors(store)
    assert second.basis.tolist() == first.basis.tolist()
    assert second[:3] == first[:3]


def test_a_store_in_memory_learns_the_same_as_one_on_disk(store: Store) -> None:
    other = RamStore()
    for one in (store, other):
        fill(one, LEAST)
        assert learn(one, 1, moment=NOW)

    assert term_vectors(store) == term_vectors(other)


def test_below_the_least_nothing_is_learned(store: Store) -> None:
    fill(store, LEAST - 1)

    assert learn(store, 1, moment=NOW, if_due=True) is None
    assert learn(store, 1, moment=NOW) is None
    assert not store.generations.size(1).terms
    fill(store, 1, first=LEAST)
    assert wanted(store)
    assert learn(store, 1, moment=NOW).passages == LEAST


def test_a_generation_that_is_gone_teaches_nothing(store: Store) -> None:
    assert learn(store, 99, moment=NOW, if_due=True) is None
    assert learn(store, 99, moment=NOW) is None


@pytest.mark.parametrize("asked", [1, 2])
def test_who_is_stopped_keeps_nothing_and_is_not_asked_again(store: Store, asked: int) -> None:
    fill(store, LEAST)
    left = [False, *[True] * (asked - 1)]

    assert learn(store, 1, moment=NOW, going=left.pop) is None

    assert left == []
    assert store.term_vectors.learned(1) is None
    assert wanted(store)


def test_of_two_who_learn_at_a_time_the_first_to_end_wins(store: Store) -> None:
    fill(store, LEAST)
    others = []

    def meanwhile() -> bool:
        others.append(learn(store, 1, moment=NOW + timedelta(seconds=1)))
        return True

    assert learn(store, 1, moment=NOW, going=meanwhile) is None

    assert others[0] is not None
    assert store.term_vectors.learned(1).learned_at == NOW + timedelta(seconds=1)
    assert set(words(" ".join(subject(0)))) <= set(term_vectors(store))


def test_what_was_deleted_while_it_was_learned_is_not_known(store: Store) -> None:
    fill(store, LEAST + 20)
    fill(store, 0, notes=[Draft(title="secretive", what="hushword")])
    (id,) = {scored.memory for scored in store.keywords.by_keyword(store.keywords.weigh([Term("hushword")]), ALL, 5)}

    def meanwhile() -> bool:
        delete_memories(store, [id])
        return True

    learn(store, 1, moment=NOW, going=meanwhile)

    assert not store.term_vectors.of_terms(1, words("secretive hushword"))


def test_texts_without_a_word_are_no_trouble(store: Store) -> None:
    fill(store, 0, notes=[Draft(title=f"{'!' * (n % 40 + 1)}{'?' * (n // 40 + 1)}") for n in range(LEAST)])

    learned = learn(store, 1, moment=NOW)

    assert learned is None or np.isfinite(learned.fit)
    assert asked(store, "anything") is None


# When it is due ----------------------------------------------------------


def some(store: Store, count: int) -> None:
    for memory in store.memories.page(ALL, count):
        delete_memories(store, [memory.id])


@pytest.mark.parametrize(("more", "again"), [(0, False), (int(GROWN * COUNT), False), (int(GROWN * COUNT) + 1, True)])
def test_it_is_due_again_when_enough_came(store: Store, more: int, again: bool) -> None:
    fill(store, COUNT)
    assert wanted(store)
    learn(store, 1, moment=NOW)

    fill(store, more, first=COUNT)

    assert wanted(store) == again


@pytest.mark.parametrize(("fewer", "again"), [(int(GROWN * COUNT), False), (int(GROWN * COUNT) + 1, True)])
def test_it_is_due_again_when_enough_went(store: Store, fewer: int, again: bool) -> None:
    fill(store, COUNT)
    learn(store, 1, moment=NOW)

    some(store, fewer)

    assert wanted(store) == again


@pytest.mark.parametrize(("strange", "again"), [(True, True), (False, False)])
def test_it_is_due_again_when_it_knows_nothing_of_what_came(store: Store, strange: bool, again: bool) -> None:
    fill(store, COUNT)
    learn(store, 1, moment=NOW)

    notes = [Draft(title=f"gr{n}pf wx{n}q", what=f"hj{n}v yy{n}z") for n in range(12)]
    fill(store, 12, first=COUNT, notes=notes if strange else None)

    assert wanted(store) == again
