"""What a process ranks from the postings it has read is what the server ranks, whatever was saved and removed since."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

import postgres
import pytest
from entries import note, words
from hypothesis import example, given, strategies as st
from profiles import examples

from memory.schema.memory import ChunkId
from memory.schema.query import ACTIVE, EVERYTHING, Scope, Term
from memory.store import bm25
from memory.store.postgres import keywords, posting_lists, postings
from memory.store.postgres.store import PostgresStore
from memory.text.terms import terms
from memory.write.rules import delete_memories, write_entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.memory import MemoryId

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

SAID = (
    *("auth", "authentication", "authorise", "token", "tokens", "running", "run", "x", "1.2.3", "Ärger", "arger"),
    *("foo_bar", "fooBar", "path/to.py", "parseHTTP", "C++", "日本語", "日本", "ภาษาไทย", "aぁed", "naïve", "v" * 300),
)
SCOPES = (ACTIVE, EVERYTHING, Scope(projects=frozenset({"p"})))
texts = st.lists(st.sampled_from(SAID), min_size=1, max_size=9).map(" ".join)
actions = st.lists(
    st.tuples(st.just("save"), texts)
    | st.tuples(st.just("delete"), st.integers(0, 9))
    | st.tuples(st.just("supersede"), st.integers(0, 9))
    | st.tuples(st.sampled_from(["derive", "repair", "fail"]), st.none()),
    min_size=1,
    max_size=8,
)
prefixes = st.lists(st.sampled_from([Term(text, prefix=True) for text in ("a", "au", "tok", "日", "foo b", "zz")]))


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    """Postings for stores of any size, and made anew after few changes; few candidates are looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posting_lists, "LEAST", 1)
        patch.setattr(posting_lists, "STALE", 3)
        patch.setattr(postings, "AT_ONCE", 4)
        patch.setattr(keywords, "LOOKED_AT", 4)
        patch.setattr(keywords, "SLACK", 1)
        patch.setattr(bm25, "ROOM", 1)
        yield


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    with postgres.opened() as store:
        yield store


def save(store: PostgresStore, *said: str, supersedes: MemoryId | None = None) -> list[MemoryId]:
    entries = [
        note(text, body=text, size=8, project="p" if n % 2 else "q", unless_known=False)._replace(supersedes=supersedes)
        for n, text in enumerate(said)
    ]
    return [saved.memory.id for saved in write_entries(store, entries)]


def asked(store: PostgresStore, wanted: Sequence[Term]) -> list[Ranking]:
    by_keyword, ids = store.keywords.by_keyword, [ChunkId(id) for id in range(1, 60, 2)]
    return [
        *(by_keyword(wanted, scope, k) for scope in SCOPES for k in (2, 99)),
        *(by_keyword(wanted, scope, 99, ids=ids) for scope in SCOPES),
    ]


def is_what_the_server_says(store: PostgresStore, wanted: Sequence[Term]) -> None:
    with store.transaction():  # in which the server is asked, as it may be rolled back
        expected = asked(store, wanted)

    for _ in range(9):  # so that all that came is read
        found = asked(store, wanted)
    for own, others in zip(found, expected, strict=True):
        assert own.scores == pytest.approx(others.scores, abs=1e-5)
        assert {*own.chunks} == {*others.chunks} or own.scores[-1] == pytest.approx(others.scores[-1], abs=1e-5)
        assert sorted(own.matched) == sorted(others.matched) or len(own) == 2


def undone(store: PostgresStore) -> None:
    with store.transaction():
        save(store, "auth auth auth")
        store.keywords.by_keyword(words("auth"), ACTIVE, 9)
        raise ZeroDivisionError


@example([("save", "foo_bar 日本語"), ("derive", None), ("save", "auth"), ("delete", 0)], "foo_bar", [])
@example([("save", "auth"), ("derive", None), ("repair", None), ("delete", 0), ("save", "auth")], "auth", [])
@example([("save", "x"), ("save", "x x"), ("derive", None), ("supersede", 1), ("fail", None)], "x", [])
@given(actions, texts, prefixes)
@examples(0.4)
def test_whatever_came_and_went_the_ranking_is_that_of_the_server(done, query, others) -> None:
    ids: list[MemoryId] = []
    with postgres.opened() as store:
        for action, given_ in done:
            match action:
                case "save":
                    ids += save(store, given_)
                case "delete" if ids:
                    delete_memories(store, [ids.pop(given_ % len(ids))])
                case "supersede" if ids:
                    ids += save(store, "auth token", supersedes=ids.pop(given_ % len(ids)))
                case "derive":
                    store.derive()
                case "repair":
                    store.repair()
                case "fail":
                    with pytest.raises(ZeroDivisionError):
                        undone(store)
            is_what_the_server_says(store, [*store.keywords.weigh(terms(query)), *others])


def ranked_by_the_server(store: PostgresStore, monkeypatch, wanted: Sequence[Term]) -> bool:
    asked: list[int] = []
    with monkeypatch.context() as patch:
        ranked = keywords._ranked
        patch.setattr(keywords, "_ranked", lambda *given: asked.append(1) or ranked(*given))
        store.keywords.by_keyword(wanted, ACTIVE, 9)
    return bool(asked)


def test_a_process_ranks_by_itself_what_it_has_read(store, monkeypatch) -> None:
    save(store, *SAID)
    wanted = [Term("auth"), Term("tok", prefix=True)]

    assert ranked_by_the_server(store, monkeypatch, wanted)  # more came than one search reads
    assert store.derive()
    assert not ranked_by_the_server(store, monkeypatch, wanted)
    [id] = save(store, "auth again")
    assert not ranked_by_the_server(store, monkeypatch, wanted)
    delete_memories(store, [id])
    assert not ranked_by_the_server(store, monkeypatch, wanted)
    is_what_the_server_says(store, wanted)


def test_postings_are_made_when_they_are_old_by_one_process_at_a_time(store) -> None:
    save(store, *SAID)
    assert store.outdated()
    with store._db.alone() as db:
        db.execute("select pg_advisory_lock(%s)", (posting_lists.POSTINGS,))
        assert not store.derive()
        db.execute("select pg_advisory_unlock(%s)", (posting_lists.POSTINGS,))

    assert store.derive()
    assert (store.outdated(), store.derive()) == (False, False)
    assert store.counts().postings == store.counts().chunks
    save(store, *"ab" * 9)
    assert store.outdated()


def test_what_another_machine_saves_is_ranked_at_once(store) -> None:
    save(store, *SAID)
    store.derive()
    other = PostgresStore(postgres.URL)
    for machine in (store, other, store):
        [id] = save(machine, "rareword")
        for asking in (store, other):
            assert id in asking.keywords.by_keyword(asking.keywords.weigh(words("rareword")), ACTIVE, 5).memories
    other.close()


def test_wiped_postings_hold_no_word_of_what_was_removed(store) -> None:
    [id, *_] = save(store, "secretword", *SAID)
    store.derive()
    delete_memories(store, [id])
    assert store.wipe()

    assert store.counts().postings == 0
    assert not store.keywords.by_keyword(words("secretword"), EVERYTHING, 5)


def test_whoever_makes_postings_while_something_is_taken_for_good_leaves_no_word_of_it(store, monkeypatch) -> None:
    [id, *_] = save(store, "secretword", *SAID)
    due, wiped = posting_lists.due, list[bool]()

    def take() -> None:
        with closing(PostgresStore(postgres.URL)) as other:
            delete_memories(other, [id])
            removed.set()
            wiped.append(other.wipe())

    def begun(db) -> bool:
        found = due(db)  # now it has its snapshot
        beside.start()
        assert removed.wait(300)
        beside.join(0.2)  # as long as it would take
        return found

    removed, beside = threading.Event(), threading.Thread(target=take)
    monkeypatch.setattr(posting_lists, "due", begun)
    assert store.derive()
    beside.join()

    assert wiped == [True]
    with store._db.alone() as db:
        assert db.execute("select count(*) from posting_lists where word like 'secret%'").fetchone() == (0,)
