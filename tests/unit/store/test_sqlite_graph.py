"""The graph in SQLite: what it is asked, and by which index it answers."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from entries import note, write
from graph_suite import entities, linked, related
from plans import statements, steps

from memory.keep.rules import join
from memory.schema.memory import MemoryId
from memory.search.near import distances, path
from memory.store import Attached, Relation
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOW = "2026-01-01T00:00:00.000000Z"


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        yield store


def star(store: SqliteStore, spokes: int) -> list[MemoryId]:
    """Entities around the first, each with one more behind it; a memory is about each."""
    hub, *ids = entities(store, *(f"{spokes} {n}" for n in range(2 * spokes + 1)))
    near, far = ids[:spokes], ids[spokes:]
    join(store, [related(*((hub, id) if id % 2 else (id, hub))) for id in near])
    join(store, [related(*pair) for pair in zip(near, far, strict=True)])
    memory = write(store, note()).memory.id
    join(store, [linked(id, memory) for id in ids])
    return [hub, *ids]


CALLS: dict[str, Callable[[SqliteStore, list[MemoryId]], object]] = {
    "named": lambda store, ids: store.graph.named([str(id) for id in ids]),
    "names": lambda store, ids: store.graph.named(after="1", limit=len(ids)),
    "relate": lambda store, ids: join(store, [related(id, ids[0], "new") for id in ids]),
    "unrelate": lambda store, ids: store.graph.remove([related(ids[0], id) for id in ids]),
    "relations": lambda store, ids: store.graph.edges(Relation, ids),
    "relations inside": lambda store, ids: store.graph.edges(Relation, ids, inside=True),
    "all relations": lambda store, ids: store.graph.edges(Relation, after=related(2, 0), limit=len(ids)),
    "neighbours": lambda store, ids: store.graph.neighbours(ids[:1]),
    "neighbours of many": lambda store, ids: store.graph.neighbours(ids, besides=ids[::2]),
    "distances": lambda store, ids: distances(store, ids[:1], 3),
    "distances from outside": lambda store, ids: distances(store, ids[-1:], 9),
    "distances of many": lambda store, ids: distances(store, ids[::2], 9),
    "path": lambda store, ids: path(store, ids[-1], ids[-2], 9),
    "attach": lambda store, ids: join(store, [linked(id, ids[-1] + 1, 9) for id in ids]),
    "detach": lambda store, ids: store.graph.remove([linked(id, ids[-1] + 1) for id in ids]),
    "attached": lambda store, ids: store.graph.edges(Attached, ids),
    "all attached": lambda store, ids: store.graph.edges(Attached, after=linked(2, 0), limit=len(ids)),
}
WRITES = {"relate": 2, "unrelate": 1, "attach": 1, "detach": 1}
"""Statements an edge: it is written, and noted in the journal."""


@pytest.mark.parametrize("name", CALLS)
def test_sqlite_is_not_asked_once_for_each_entity_but_told(sqlite: SqliteStore, name: str) -> None:
    few, many = (star(sqlite, spokes) for spokes in (30, 60))

    told = [len(statements(sqlite, lambda ids=ids: CALLS[name](sqlite, ids))) for ids in (few, many)]

    if name in WRITES:
        told = [number - WRITES[name] * len(ids) for number, ids in zip(told, (few, many), strict=True)]
    assert told[0] == told[1] <= 20


@pytest.mark.parametrize("name", CALLS)
def test_sqlite_looks_up_the_ends_of_relations_and_links_in_an_index(sqlite: SqliteStore, name: str) -> None:
    ids = star(sqlite, 30)

    found = steps(sqlite, lambda: CALLS[name](sqlite, ids))

    assert [step for step in found if step.startswith("SEARCH")]
    whole = [step for step in found if step.startswith("SCAN")]
    assert not [step for step in whole if "COVERING INDEX one_entity_a_name" not in step and "CONSTANT ROW" not in step]


def test_sqlite_finds_relations_in_an_index_from_both_ends(sqlite: SqliteStore) -> None:
    ids = star(sqlite, 30)

    found = {step.split(" <- ")[0] for step in steps(sqlite, lambda: distances(sqlite, ids[-1:], 2))}

    assert "SEARCH relations USING PRIMARY KEY (source=?)" in found
    assert "SEARCH relations USING COVERING INDEX relations_by_target (target=?)" in found


def test_sqlite_does_not_look_for_each_source_with_each_target(sqlite: SqliteStore) -> None:
    ids = star(sqlite, 30)

    found = {step.split(" <- ")[0] for step in steps(sqlite, lambda: sqlite.graph.edges(Relation, ids, inside=True))}

    assert "SEARCH relations USING PRIMARY KEY (source=?)" in found


def test_a_path_is_looked_for_from_the_end_with_fewer_to_go_on_from(sqlite: SqliteStore) -> None:
    hub, *ids = star(sqlite, 60)

    for ends in ((hub, ids[-1]), (ids[-1], hub), (ids[60], ids[-1])):
        told = statements(sqlite, lambda ends=ends: path(sqlite, *ends, 9))
        assert max(len(json.loads(ids)) for _, (ids, *_) in told) <= 5


def test_ten_thousand_neighbours_of_a_hub_are_near(sqlite: SqliteStore) -> None:
    with sqlite._db.write() as db:
        db.execute(
            """with recursive n (id) as (select 1 union all select id + 1 from n where id < 10005)
               insert into memories (id, uid, kind, title, what, why, impact, description, tags, related_files,
                                     metadata, content_hash, created_at, updated_at, body_size)
               select id, id, 'entity', 'entity ' || id, '', '', '', '', '[]', '[]', '{}', '', ?1, ?1, 0 from n""",
            (NOW,),
        )
        db.execute(
            """insert into relations select iif(id % 2, 1, id), iif(id % 2, id, 1), 'x', ?1 from memories
               where id between 2 and 10001""",
            (NOW,),
        )
        db.execute("insert into relations values (10001, 10002, 'x', ?1), (10002, 10003, 'x', ?1)", (NOW,))

    near = distances(sqlite, [MemoryId(1)], 3)
    outside = distances(sqlite, [MemoryId(10_003)], 4)

    assert near == dict.fromkeys(range(2, 10_002), 1) | {1: 0, 10_002: 2, 10_003: 3}
    assert outside == dict.fromkeys(range(2, 10_001), 4) | {10_003: 0, 10_002: 1, 10_001: 2, 1: 3}
    assert path(sqlite, MemoryId(7), MemoryId(8), 2) == [related(1, 7, "x"), related(8, 1, "x")]
    assert path(sqlite, MemoryId(7), MemoryId(10_004), 9) is None
