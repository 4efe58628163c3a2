"""A walk through the graph sees one state of it, though somebody else changes it on the way."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING

import apsw
import pytest
from graph_suite import entities, related

from memory.keep.rules import delete_memories, join
from memory.schema.errors import StoreDamaged
from memory.search.near import distances, path
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memory.schema.memory import MemoryId
    from memory.store import Relation

TURNS = range(1, 10)  # statements of the longest walk below


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        yield store


@pytest.fixture
def other(store: SqliteStore) -> Iterator[SqliteStore]:
    """The same file, as another process has it."""
    with closing(SqliteStore(store.path)) as other:
        yield other


def meanwhile(store: SqliteStore, turn: int, change: Callable[[], object]) -> None:
    """Make a change before the store's statement of this number, from 1, that reads entities or relations."""
    turns = iter(range(turn))

    def listen(_cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
        if sql != "begin" and next(turns, None) == turn - 1:
            change()
        return True

    store._db.connection.exec_trace = listen


def related_in_turn(store: SqliteStore, *ids: MemoryId) -> list[Relation]:
    relations = [related(*pair) for pair in pairwise(ids)]
    join(store, relations)
    return relations


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("station", [1, 2, 3])
def test_a_path_is_that_of_one_moment_where_an_entity_on_it_is_deleted(store, other, station, turn) -> None:
    a, b, c, d, e, *more = ids = entities(store, *"abcdevwxy")
    short, long = related_in_turn(store, a, b, c, d, e), related_in_turn(store, a, *more, e)
    meanwhile(store, turn, lambda: delete_memories(other, [ids[station]]))

    assert path(store, a, e, 9) == (long if turn == 1 else short)
    store._db.connection.exec_trace = None
    assert path(store, a, e, 9) == long


@pytest.mark.parametrize("turn", TURNS)
def test_there_is_no_path_where_the_only_one_was_cut_before(store, other, turn) -> None:
    ids = entities(store, *"abcde")
    chain = related_in_turn(store, *ids)
    meanwhile(store, turn, lambda: other.graph.remove(chain[1:2]))

    assert path(store, ids[0], ids[-1], 9) == (None if turn == 1 else chain)


@pytest.mark.parametrize("turn", TURNS)
def test_what_is_near_is_that_of_one_moment(store, other, turn) -> None:
    ids = entities(store, *"abcde")
    related_in_turn(store, *ids)
    meanwhile(store, turn, lambda: delete_memories(other, [ids[2]]))

    found = distances(store, ids[:1], 9)

    assert found == dict(zip(ids[:2] if turn == 1 else ids, range(5), strict=False))


def test_a_path_that_an_index_has_lost_is_said_to_be_damaged(store, tmp_path) -> None:
    """An index that lost a row says again and again that a path ends on the way."""
    ids = entities(store, *"abc")
    related_in_turn(store, *ids)
    store.close()
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as db:
        db.execute("pragma writable_schema = on")
        db.execute("update sqlite_schema set sql = sql || ' where source <> 2' where name = 'relations_by_target'")
        db.execute("pragma writable_schema = reset")
        db.execute("reindex relations_by_target")
        db.execute("pragma writable_schema = on")
        lost = (
            "update sqlite_schema set sql = replace(sql, ' where source <> 2', '') where name = 'relations_by_target'"
        )
        db.execute(lost)

    with closing(SqliteStore(tmp_path / "memory.db")) as opened:
        with pytest.raises(StoreDamaged, match="relations_by_target"):
            path(opened, ids[0], ids[-1], 9)
