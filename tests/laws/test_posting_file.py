"""Postings beside the database say what FTS5 says, to the last digit, whatever was saved and removed since."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from entries import at, note, words
from hypothesis import example, given, strategies as st
from profiles import examples

from memory.keep.rules import delete_memories, replace_memory, write_entries
from memory.schema.kinds import Kind
from memory.schema.memory import ChunkId, MemoryId, Standing
from memory.schema.query import ACTIVE, EVERYTHING, NONE, Scope, Term
from memory.store import sqlite
from memory.store.sqlite import SqliteStore, bm25, posting_file, postings
from memory.text import lookup
from memory.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memory.schema.answer import Ranking
    from memory.store import Entry, Store

SAID = (
    *("auth", "authentication", "authorise", "token", "tokens", "running", "run", "x", "1.2.3", "Ärger", "arger"),
    *("foo_bar", "fooBar", "path/to.py", "parseHTTP", "C++", "日本語", "日本", "ภาษาไทย", "aぁed", "aぁ", "naïve"),
    *("ещё", "еще", "Straße", "ﾃﾞｰﾀ", "게임을", "✅", "da\u200bta"),
)
texts = st.lists(st.sampled_from(SAID), min_size=1, max_size=9).map(" ".join)
SCOPES = (
    *(ACTIVE, EVERYTHING, Scope(projects=frozenset({"p1"})), Scope(projects=frozenset({NONE, "p2", "\ud800"}))),
    *(Scope(tags=frozenset({"x"})), Scope(tags=frozenset({"x", "odd"})), Scope(iterations=frozenset({1, 1 << 70}))),
    *(Scope(agents=frozenset({"a"}), sources=frozenset({"s"})), Scope(kinds=frozenset({Kind.NOTE}), since=at(4))),
    *(Scope(statuses=frozenset({Standing.SUPERSEDED})), Scope(pinned=True), Scope(until=at(3), tags=frozenset({"x"}))),
    *(Scope(among=frozenset({MemoryId(1), MemoryId(3)}), projects=frozenset({"p1"})), Scope(tasks=frozenset({"t"}))),
)
EXCLUDING = (
    Scope(happened_since=at(4), kinds=frozenset({Kind.NOTE})),
    Scope(without=frozenset({"token"})),
    Scope(without=frozenset({"auth token", "run"}), projects=frozenset({"p1"}), statuses=frozenset()),
)
"""FTS5 says what holds these words."""
actions = st.lists(
    st.tuples(st.just("save"), texts)
    | st.tuples(st.just("rewrite"), st.integers(0, 9))
    | st.tuples(st.just("delete"), st.integers(0, 9))
    | st.tuples(st.just("supersede"), st.integers(0, 9))
    | st.tuples(st.just("derive"), st.none()),
    min_size=1,
    max_size=12,
)
prefixes = st.lists(st.sampled_from([Term(text, prefix=True) for text in ("a", "au", "tok", "日", "foo b", "zz")]))


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    """Files for stores of any size, and made anew after few changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "FILED", 1)
        patch.setattr(posting_file, "STALE", 3)
        patch.setattr(posting_file, "AT_ONCE", 20)
        patch.setattr(postings, "AT_ONCE", 4)
        yield


@pytest.fixture
def store(tmp_path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


def said(text: str, number: int, **fields: object) -> Entry:
    """A note with fields by a number."""
    some = {
        "project": (None, "p1", "p2")[number % 3],
        "source": "s" if number % 2 else None,
        "session_iter": number % 4 or None,
    }
    tags = (("x",), ("x", "odd"), ())[number % 3]
    fields |= {"agent_id": "ab"[number % 2], "task_code": "t" if number == 1 else None, "tags": tags, **some}
    return note(text, body=text, size=8, moment=at(number), **fields)


def save(store: Store, *texts: str, supersedes: MemoryId | None = None) -> list[MemoryId]:
    first = store.highest()
    entries = [said(text, first + n)._replace(supersedes=supersedes) for n, text in enumerate(texts)]
    return [saved.memory.id for saved in write_entries(store, entries)]


def asked(store: Store, wanted: Sequence[Term], ids: Sequence[ChunkId]) -> list[Ranking]:
    by_keyword = store.keywords.by_keyword
    return [
        *(by_keyword(wanted, scope, k) for scope in (*SCOPES, *EXCLUDING) for k in (2, 99)),
        by_keyword(wanted, EVERYTHING, 99, ids=ids),
    ]


def is_what_fts5_says(store: Store, wanted: Sequence[Term]) -> None:
    ids = [ChunkId(id) for id in range(1, 60, 2)]
    with store.transaction():  # in which FTS5 is asked, as it may be rolled back
        expected = asked(store, wanted, ids)

    assert asked(store, wanted, ids) == expected


def weighs_as_fts5_does(store: Store, query: str) -> None:
    with store.transaction():
        expected = store.keywords.weigh(terms(query))

    assert store.keywords.weigh(terms(query)) == expected


def rolled_back(store: SqliteStore) -> None:
    with store.transaction():
        save(store, "auth auth auth")
        store.keywords.by_keyword(words("auth"), ACTIVE, 9)
        raise ZeroDivisionError


def without_fts5(store: SqliteStore, wanted: Sequence[Term], scope: Scope = ACTIVE) -> bool:
    """Whether a ranking came about without it."""
    seen: list[str] = []
    with store.snapshot() as db:
        db.exec_trace = lambda _cursor, sql, _values: not seen.append(sql)
        store.keywords.by_keyword(store.keywords.weigh(wanted), scope, 9)
        db.exec_trace = None
    return not any("passages_fts match" in sql or "from vocabulary" in sql for sql in seen)


@example([("save", "foo_bar 日本語"), ("derive", None), ("save", "auth"), ("delete", 0)], "foo_bar", [])
@example([("save", "auth"), ("derive", None), ("delete", 0)], "auth", [])
@example([*[("save", "auth x")] * 6, ("derive", None), ("rewrite", 1), ("rewrite", 5), ("save", "auth")], "auth", [])
@example([("save", "x"), ("save", "x x"), ("derive", None), ("supersede", 1)], "x", [])
@given(actions, texts, prefixes)
@examples(0.4)
def test_whatever_came_and_went_the_ranking_is_that_of_fts5(tmp_path_factory, done, query, others) -> None:
    store = SqliteStore(tmp_path_factory.mktemp("postings") / "memory.db")
    ids: list[MemoryId] = []
    for action, given_ in done:
        match action:
            case "save":
                ids += save(store, given_)
            case "delete" if ids:
                delete_memories(store, [ids.pop(given_ % len(ids))])
            case "supersede" if ids:
                ids += save(store, "auth token", supersedes=ids.pop(given_ % len(ids)))
            case "rewrite" if ids:
                replace_memory(store, ids[given_ % len(ids)], said("auth run", given_))
            case "derive":
                store.derive()
        weighs_as_fts5_does(store, query)
        is_what_fts5_says(store, [*store.keywords.weigh(terms(query)), *others])
    store.close()


def test_words_and_what_begins_them_are_ranked_without_asking_fts5(store) -> None:
    save(store, *SAID)
    wanted = [Term("auth"), Term("tok", prefix=True)]

    assert not without_fts5(store, wanted)
    assert store.derive()
    assert all(without_fts5(store, wanted, scope) for scope in SCOPES)
    save(store, "auth again")
    assert without_fts5(store, wanted)
    is_what_fts5_says(store, wanted)


def test_what_is_cut_of_a_query_is_cut_whoever_counts(store, monkeypatch) -> None:
    save(store, *SAID, "auth " * 30, "token run x")
    store.derive()
    save(store, "auth x x")

    for most in range(0, 400, 20):
        monkeypatch.setattr(lookup, "POSTINGS", most)
        weighs_as_fts5_does(store, "auth token x foo_bar runn* 日本")


def test_more_than_one_search_can_read_comes_in_over_several(store) -> None:
    save(store, *SAID)
    store.derive()
    save(store, *["auth"] * 5)

    answered = [without_fts5(store, words("auth")) for _ in range(6)]

    assert answered[0] is False
    assert answered[-1] is True
    is_what_fts5_says(store, words("auth"))


def test_a_file_is_made_where_there_is_none_and_when_much_changed(store) -> None:
    assert (store.outdated(), store.derive()) == (False, False)
    ids = save(store, *SAID)
    assert (store.outdated(), store.counts().postings) == (True, 0)
    assert store.derive()
    assert store.counts().postings == store.counts().chunks
    assert (store.outdated(), store.derive()) == (False, False)

    save(store, "one more")
    assert not store.outdated()
    delete_memories(store, ids[:4])

    assert store.outdated()
    assert store.derive()
    assert not store.outdated()


def test_however_little_is_in_a_scope_it_is_ranked_once(store, monkeypatch) -> None:
    save(store, *["auth"] * 50)
    store.derive()
    ranked: list[int] = []
    best = bm25.LivePostings.best

    def counted(self: bm25.LivePostings, terms: Sequence[bm25.Listed], count: int, *rest: object) -> Ranking:
        ranked.append(count)
        return best(self, terms, count, *rest)

    monkeypatch.setattr(bm25.LivePostings, "best", counted)
    scopes = [scope for scope in (*SCOPES, *EXCLUDING) if scope not in {ACTIVE, EVERYTHING}]
    for scope in scopes:
        store.keywords.by_keyword(words("auth"), scope, 2)

    assert ranked == [2] * len(scopes)


def test_values_that_are_no_texts_are_filtered_by_as_sqlite_does(store) -> None:
    ids = save(store, *["auth"] * 6)
    with store.transaction() as db:
        db.execute("drop trigger indexed_text_changed")
        for id, tags in zip(ids, ('["x", 5, "x"]', "[]", '["5"]', '["x\ny"]'), strict=False):
            db.execute("update memories set tags = ? where id = ?", (tags, id))
        db.execute("update memories set project = '' where id = ?", (ids[3],))
        db.execute("update memories set source = cast(x'80' as text) where id = ?", (ids[4],))
    store.derive()
    scopes = [Scope(tags=frozenset({tag})) for tag in ("x", "5", "x\ny", "y")]
    scopes += [Scope(projects=frozenset({NONE})), Scope(sources=frozenset({"s", "\ufffd"}))]

    for scope in scopes:
        with store.transaction():
            expected = store.keywords.by_keyword(words("auth"), scope, 9)
        assert without_fts5(store, words("auth"), scope)
        assert store.keywords.by_keyword(words("auth"), scope, 9) == expected


def test_a_snapshot_reads_what_was_there_though_others_saved(store, tmp_path) -> None:
    save(store, *SAID)
    store.derive()
    other = SqliteStore(tmp_path / "memory.db")
    with other.snapshot():
        before = other.keywords.by_keyword(words("auth"), ACTIVE, 9)
        save(store, "auth")
        assert store.keywords.by_keyword(words("auth"), ACTIVE, 9) != before
        assert other.keywords.by_keyword(words("auth"), ACTIVE, 9) == before
    is_what_fts5_says(other, words("auth"))
    other.close()


def test_a_snapshot_of_one_thread_is_answered_though_another_thread_is_ahead(store) -> None:
    save(store, *SAID)
    store.derive()
    with ThreadPoolExecutor(1) as thread, store.snapshot():
        before = store.keywords.by_keyword(words("auth"), ACTIVE, 9)
        thread.submit(save, store, "auth").result()
        assert thread.submit(without_fts5, store, words("auth")).result()
        assert store.keywords.by_keyword(words("auth"), ACTIVE, 9) == before
    assert without_fts5(store, words("auth"))
    is_what_fts5_says(store, words("auth"))


def test_a_search_that_was_interrupted_leaves_nothing_half_done(store, monkeypatch) -> None:
    save(store, *SAID)
    store.derive()
    wanted = words("auth", "run")
    store.keywords.by_keyword(wanted, ACTIVE, 9)
    save(store, "auth run")

    for name, method in (("_about", interrupted_the_second_time(bm25.LivePostings._about)), ("add", half_added)):
        with monkeypatch.context() as patch:
            patch.setattr(bm25.LivePostings, name, method)
            with pytest.raises(KeyboardInterrupt):
                store.keywords.by_keyword(wanted, ACTIVE, 9)
        is_what_fts5_says(store, wanted)
        save(store, "auth run again")
    assert without_fts5(store, wanted)


def half_added(self: bm25.LivePostings, *_: object, **__: object) -> None:
    self._later.add(self.count, {"auth": 2})
    raise KeyboardInterrupt


def interrupted_the_second_time(method: Callable[..., object]) -> Callable[..., object]:
    calls = []

    def called(*args: object) -> object:
        calls.append(args)
        found = method(*args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return found

    return called


def test_what_is_rolled_back_is_not_kept(store) -> None:
    save(store, *SAID)
    store.derive()
    is_what_fts5_says(store, words("auth"))
    with pytest.raises(ZeroDivisionError):
        rolled_back(store)

    is_what_fts5_says(store, words("auth"))
    save(store, "auth token")
    is_what_fts5_says(store, words("auth"))
