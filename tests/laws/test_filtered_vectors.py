"""Which memories a filter leaves is read from a file beside the database: vectors find in them what they find without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from entries import at, directions, embedded, found, kept, note, unit
from scopes_suite import SCOPES, narrowed

from memory.keep.rules import delete_memories, replace_memory, write_entries
from memory.schema.query import Scope
from memory.store import sqlite
from memory.store.sqlite import SqliteStore, signatures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.schema.memory import MemoryId
    from memory.store import Entry

COUNT = 900
VECTORS = directions(COUNT + 200)
WIDE = (Scope(agents=frozenset({"a1"})), Scope(agents=frozenset({"a1"}), tags=frozenset({"x"}), until=at(500)))


def one(n: int, moment: int | None = None) -> Entry:
    fields = {"project": (None, "p0", "p1", "p2")[n % 4], "source": f"s{n % 3}", "agent_id": f"a{int(n % 10 > 0)}"}
    fields |= {"category": ["bug", "decision", None][n % 3], "session_id": "s" if n % 2 else None}
    fields |= {"session_iter": n % 5 or None, "task_code": f"t{n % 300}", "query_id": f"r{n % 4}"}
    tags = [("x",), ("y", "x"), ("y",), ('q"uo,te',), ()][n % 5]
    own = embedded([VECTORS[n]])
    return note(f"word {n}", moment=at(n if moment is None else moment), tags=tags, embedded=own, **fields)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[SqliteStore]:
    """One with files of both sorts, and with what came, went and was rewritten since these were made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "FILED", 1)
        patch.setattr(signatures, "FROM", 1)
        store = SqliteStore(tmp_path_factory.mktemp("filtered") / "memory.db")
        ids = kept(store, *(one(n) for n in range(COUNT)))
        assert store.derive()
        assert store.vectors.sign()
        kept(store, *(one(n)._replace(supersedes=ids[n - COUNT]) for n in range(COUNT, COUNT + 100)))
        delete_memories(store, ids[200:260])
        for n in range(300, 340):
            replace_memory(store, ids[n], one(n + 701, 1))
        write_entries(store, [one(n) for n in range(COUNT + 150, COUNT + 160)])
        yield store
        store.close()


def asked(store: SqliteStore, scope: Scope, k: int) -> list[MemoryId]:
    return found(store.vectors.by_vector(1, unit(1, 2, 3), scope, k))


@pytest.mark.parametrize("scope", [*SCOPES, *WIDE], ids=narrowed)
def test_vectors_find_in_a_scope_what_the_database_finds_there(store, scope, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        other = SqliteStore(store.path, exact=True)
        patch.setattr(type(other.keywords), "members", lambda *_: None)
        expected = [asked(other, scope, k) for k in (1, 5, 200, 2000)]
        counts = (other.memories.count(scope), other.memories.count(scope, most=2))
        other.close()

    for _ in range(2):
        assert [asked(store, scope, k) for k in (1, 5, 200, 2000)] == expected
    assert (store.memories.count(scope), store.memories.count(scope, most=2)) == counts


def test_the_memories_of_a_scope_are_known_without_the_database(store) -> None:
    with store.snapshot() as db:
        members = store.keywords.members(db, WIDE[0])

    assert members is not None
    assert 500 < len(members) < COUNT + 200
    assert members.tolist() == sorted({*members.tolist()})
