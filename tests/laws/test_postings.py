"""A query reads so much of the keyword index at most, and says what it did not look for."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from entries import note
from hypothesis import given, strategies as st
from plans import statements
from profiles import examples

from memory import Config, Draft, Engine, Query
from memory.keep.rules import write_entries
from memory.schema.kinds import Kind
from memory.schema.query import EVERYTHING, Mode, Term
from memory.search import keywords as retriever
from memory.store.sqlite import SqliteStore, keywords
from memory.text import lookup as postings
from memory.text.lookup import forms, stems
from memory.text.terms import terms
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from memory.schema.answer import Answer

WORDS = ["zebra", "zebras", "giraffe", "lion", "a_b", "user_id", "userId", "zeb", "x"]
ALL = 1 << 20


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RamStore, SqliteStore]]:
    entries = [note(" ".join(WORDS[: n % len(WORDS) + 1] * (n % 5 + 1))) for n in range(40)]
    ram = RamStore()
    with closing(SqliteStore(tmp_path_factory.mktemp("postings") / "memory.db")) as sqlite:
        for store in (ram, sqlite):
            write_entries(store, [entry._replace(uid=f"{number:032x}") for number, entry in enumerate(entries)])
        yield ram, sqlite


def entries_of(store: RamStore, found: Sequence[Term]) -> int:
    """What terms read, a word of a phrase at a time."""
    return read_of(store, [form.text for form in forms([term for term in found if not term.cut])])


def read_of(store: RamStore, phrases: Sequence[str]) -> int:
    """The places of each word of each phrase, and `CHUNK` for each chunk that holds it."""
    often = [
        sum(column.count(token) for column in piece.words)
        for piece in store.data.pieces.values()
        for phrase in phrases
        for token in stems(phrase)
    ]
    return sum(places + postings.CHUNK for places in often if places)


queries = st.lists(
    st.sampled_from(WORDS) | st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(lambda w: f'"{" ".join(w)}"'),
    max_size=8,
).map(" ".join)


@given(queries, st.integers(0, 4_000))
@examples(1.5)
def test_two_stores_cut_alike_and_read_no_more_than_is_allowed(
    stores: tuple[RamStore, SqliteStore], text: str, most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "POSTINGS", most)
        found = [store.keywords.weigh(terms(text)) for store in stores]

    first, second = ([term._replace(weight=0.0) for term in one] for one in found)
    assert first == second
    assert entries_of(stores[0], [term for term in first if not term.prefix]) <= most
    kept = [tuple(term for term in one if not term.cut) for one in found]
    assert [one[:2] for one in stores[0].keywords.by_keyword(kept[0], EVERYTHING, ALL)] == [
        one[:2] for one in stores[1].keywords.by_keyword(kept[1], EVERYTHING, ALL)
    ]


@given(queries)
def test_who_reads_less_than_is_allowed_is_not_cut(stores: tuple[RamStore, SqliteStore], text: str) -> None:
    assert not any(term.cut for store in stores for term in store.keywords.weigh(terms(text)))


@pytest.mark.parametrize("times", [250, 1_000, 2_250])
@pytest.mark.parametrize("part", ["a_b_", "zebra.giraffe.", '"zebra giraffe lion" ', "zebra/"])
def test_a_query_of_one_pattern_reads_no_more_the_longer_it_is(
    stores: tuple[RamStore, SqliteStore], monkeypatch: pytest.MonkeyPatch, part: str, times: int
) -> None:
    monkeypatch.setattr(postings, "POSTINGS", 1_000)
    text = (part * times)[:9_999]
    found: list[Term] = []

    told = statements(stores[1], lambda: found.extend(stores[1].keywords.weigh(terms(text))))

    asked = [bound[0] for sql, bound in told if "match ?" in sql]
    assert read_of(stores[0], asked) <= 1_000
    assert entries_of(stores[0], found) <= 1_000


def test_a_short_phrase_is_cut_for_the_places_of_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    often, once = RamStore(), RamStore()
    write_entries(often, [note("a_b " * 500)])
    write_entries(once, [note("a_b")])
    monkeypatch.setattr(postings, "POSTINGS", 1_500)

    assert [[term.cut for term in store.keywords.weigh(terms("a_b_a_b"))] for store in (often, once)] == [
        [True],
        [False],
    ]


def test_where_not_all_fits_the_commonest_words_are_cut(stores: tuple[RamStore, SqliteStore], monkeypatch) -> None:
    asked = [Term("zebra"), Term("giraffe"), Term("x"), Term("lion")]
    needed = {term.text: entries_of(stores[0], [term]) for term in asked}
    most = needed["zebra"]
    assert needed["lion"] + needed["x"] <= most < needed["giraffe"] + needed["lion"] + needed["x"]
    monkeypatch.setattr(postings, "POSTINGS", most)

    for store in stores:
        found = [(term.text, term.cut) for term in store.keywords.weigh(asked)]
        assert found == [("zebra", True), ("giraffe", True), ("x", False), ("lion", False)]


def test_a_phrase_that_comes_twice_is_read_once(stores: tuple[RamStore, SqliteStore], monkeypatch) -> None:
    same, longer = [Term("giraffe lion"), Term("Giraffe Lion"), Term("giraffe-lion")], Term("giraffe lion lion")
    monkeypatch.setattr(postings, "POSTINGS", entries_of(stores[0], [same[0], longer]))
    found: list[Term] = []

    with closing(SqliteStore(stores[1].path)) as fresh:  # one that was asked already remembers what was counted
        told = statements(fresh, lambda: found.extend(fresh.keywords.weigh([*same, longer])))

    assert [(term.text, term.cut) for term in found] == [("giraffe lion", False), ("giraffe lion lion", False)]
    assert len([sql for sql, _ in told if "match ?" in sql]) == 2
    assert [(term.text, term.cut) for term in stores[0].keywords.weigh([*same, longer])] == [
        (term.text, term.cut) for term in found
    ]


def test_weighing_and_ranking_count_the_chunks_of_a_name_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keywords, "MANY", 0)  # so that ranking looks at how many chunks hold each form
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        write_entries(store, [note("a_b c_d"), note("c")])

        told = statements(
            store, lambda: store.keywords.by_keyword(store.keywords.weigh(terms("a_b c_d")), EVERYTHING, 5)
        )

    assert len([sql for sql, _ in told if "count(*) from passages_fts" in sql]) == 2


def test_a_search_of_long_memories_ranks_twice_where_that_takes_long(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(retriever, "COSTLY", 1)
    store = SqliteStore(tmp_path / "memory.db")
    config = replace(Config(), embedding=replace(Config().embedding, provider="none"))
    with Engine(store, config, lasting=False) as engine:
        for number in range(3):
            body = f"zebra {number} " * 10_000
            engine.save(
                Draft(kind=Kind.REPORT, body=body, session_id="s", session_iter=number + 1, agent_id="a", task_code="t")
            )
        query = Query("zebra", mode=Mode.KEYWORD)
        found: list[Answer] = []
        told = [statements(store, lambda: found.append(engine.search(query)))]
        monkeypatch.setattr(retriever, "AHEAD", 0)
        told.append(statements(store, lambda: found.append(engine.search(query))))

    ranked, before = (len([sql for sql, _ in one if "order by score" in sql]) for one in told)
    assert ranked == 2 < before
    assert [hit.memory.id for hit in found[0].hits] == [hit.memory.id for hit in found[1].hits]
    assert len(found[0].hits) == 3


def test_a_search_says_that_it_was_cut_short(tmp_path_factory: pytest.TempPathFactory, monkeypatch) -> None:
    monkeypatch.setattr(postings, "POSTINGS", 90)
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


def test_of_a_long_query_the_rarest_words_are_looked_for(tmp_path: Path) -> None:
    common = [f"q{first}{second}" for first in "abcdefgh" for second in "abcdefgh"]
    with Engine(SqliteStore(tmp_path / "memory.db"), Config(), lasting=False) as engine:
        for number in range(3):
            engine.save(Draft(title=f"{number}", what=" ".join(common)))
        engine.save(Draft(title="zebra"))

        found = engine.search(Query(" ".join([*common, "zebra"]), mode=Mode.KEYWORD))

    assert [notice.text for notice in found.notices] == ["the query has 65 words; the 64 rarest were looked for"]
    assert "zebra" in {hit.memory.title for hit in found.hits}
    assert len(found.terms) == 64
