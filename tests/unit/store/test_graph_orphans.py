"""Relations and links whose ends were taken away by a program that knows nothing of foreign keys."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import apsw
import pytest
from entries import kept, note
from graph_suite import entity, linked, related
from sound import sound

from memory.keep.rules import join
from memory.store import Attached, Relation
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

GONE = {
    "an entity": (
        2,
        {
            "1 row of entity_memories belong to something that is gone",
            "4 rows of relations belong to something that is gone",  # the one from it to itself at both ends
        },
        [related(1, 3)],
        [linked(1, 4)],
    ),
    "a memory": (
        4,
        {"2 rows of entity_memories belong to something that is gone"},
        [related(1, 2), related(1, 3), related(2, 2), related(3, 2)],
        [],
    ),
}


@pytest.mark.parametrize("what", GONE)
def test_what_joined_something_that_is_gone_goes_too(tmp_path: Path, what: str) -> None:
    id, told, relations, links = GONE[what]
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        assert kept(store, entity("a"), entity("b"), entity("c"), note()) == [1, 2, 3, 4]
        join(store, [related(1, 2), related(1, 3), related(2, 2), related(3, 2)])
        join(store, [linked(1, 4), linked(2, 4)])
    with closing(apsw.Connection(str(path))) as db:
        db.pragma("foreign_keys", 0)
        db.execute("delete from memories where id = ?", (id,))
        db.execute("delete from bodies where memory_id = ?", (id,))
        db.execute("delete from embed_queue where chunk_id not in (select id from chunks)")

    with closing(SqliteStore(path)) as store:
        assert set(store.check()) == told

        store.repair()

        assert store.check() == ()
        assert store.graph.edges(Relation) == relations
        assert store.graph.edges(Attached) == links
    sound(path)
