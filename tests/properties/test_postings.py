"""A query reads so much of the keyword index at most, and says what it did not look for."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from entries import note
from hypothesis import given, settings, strategies as st
from plans import statements

from memory import Config, Draft, Engine, Query
from memory.kinds import Kind
from memory.query import EVERYTHING, Mode, Term
from memory.store import postings
from memory.store.forms import forms
from memory.store.ram import RamStore
from memory.store.sqlite.store import SqliteStore
from memory.store.stems import stems
from memory.text.lexical import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.store import Store

WORDS = ["zebra", "zebras", "giraffe", "lion", "a_b", "user_id", "userId", "zeb", "x"]
ALL = 1 << 20


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RamStore, SqliteStore]]:
    entries = [note(" ".join(WORDS[: n % len(WORDS) + 1])) for n in range(40)]
    ram = RamStore()
    with closing(SqliteStore(tmp_path_factory.mktemp("postings") / "memory.db")) as sqlite:
        for store in (ram, sqlite):
            store.put([entry._replace(uid=f"{number:032x}") for number, entry in enumerate(entries)])
        yield ram, sqlite


def entries_of(store: Store, found: Sequence[Term]) -> int:
    """What terms read, a word of a phrase at a time."""
    tokens = [token for form in forms([term for term in found if not term.cut]) for token in stems(form.text)]
    held = store.data.pieces.values()
    return sum(any(token in column for column in piece.words) for piece in held for token in tokens)


queries = st.lists(
    st.sampled_from(WORDS) | st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(lambda w: f'"{" ".join(w)}"'),
    max_size=8,
).map(" ".join)


@given(queries, st.integers(0, 400))
@settings(max_examples=150)
def test_two_stores_cut_alike_and_read_no_more_than_is_allowed(
    stores: tuple[RamStore, SqliteStore], text: str, most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "POSTINGS", most)
        found = [store.weigh(terms(text)) for store in stores]

    first, second = ([term._replace(weight=0.0) for term in one] for one in found)
    assert first == second
    assert entries_of(stores[0], [term for term in first if not term.prefix]) <= most
    kept = [tuple(term for term in one if not term.cut) for one in found]
    assert [one[:2] for one in stores[0].by_keyword(kept[0], EVERYTHING, ALL)] == [
        one[:2] for one in stores[1].by_keyword(kept[1], EVERYTHING, ALL)
    ]


@given(queries)
def test_who_reads_less_than_is_allowed_is_not_cut(stores: tuple[RamStore, SqliteStore], text: str) -> None:
    assert not any(term.cut for store in stores for term in store.weigh(terms(text)))


@pytest.mark.parametrize("times", [250, 1_000, 2_250])
@pytest.mark.parametrize("part", ["a_b_", "zebra.giraffe.", '"zebra giraffe lion" ', "zebra/"])
def test_a_query_of_one_pattern_reads_no_more_the_longer_it_is(
    stores: tuple[RamStore, SqliteStore], monkeypatch: pytest.MonkeyPatch, part: str, times: int
) -> None:
    monkeypatch.setattr(postings, "POSTINGS", 200)
    text = (part * times)[:9_999]
    found: list[Term] = []

    told = statements(stores[1], lambda: found.extend(stores[1].weigh(terms(text))))

    asked = [bound[0] for sql, bound in told if "match ?" in sql]
    words = [token for one in asked for token in stems(one)]
    assert len(words) * 40 <= 200 * postings.PREFIX + 40 * 6, "each word is in 40 chunks at most"
    assert entries_of(stores[0], found) <= 200


def test_a_search_says_that_it_was_cut_short(tmp_path_factory: pytest.TempPathFactory, monkeypatch) -> None:
    monkeypatch.setattr(postings, "POSTINGS", 20)
    with Engine(RamStore(), Config(), lasting=False) as engine:
        for number in range(15):
            engine.save(Draft(kind=Kind.INPUT_PROMPT, body=f"zebra giraffe {number}", session_id="s", session_iter=1))
        whole = engine.search(Query("zebra", mode=Mode.KEYWORD))
        part = engine.search(Query("zebra giraffe", mode=Mode.KEYWORD))

    assert whole.hits
    assert not any("cut short" in notice.text for notice in whole.notices)
    assert part.hits
    assert [notice.text for notice in part.notices if "cut short" in notice.text] == [
        "the answer is cut short: 1 of 2 words or phrases of the query were not looked for"
    ]
    assert [step.note for step in part.steps if step.name == "terms"] == ["cut short by 1"]
    assert [term.text for term in part.terms] == ["zebra"]
