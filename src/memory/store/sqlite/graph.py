"""Relations between entities, and links from entities to memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.store import Attached, Edge, GraphCounts, Relation
from memory.store.records import Row, key, moment, packed
from memory.store.sqlite import sessions
from memory.store.sqlite.database import Part, reading, writing
from memory.store.sqlite.rows import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence, Set as AbstractSet

    import apsw

    from memory.schema.memory import MemoryId
    from memory.store.graph import E

# `kind = 'entity'` stands in plain text everywhere: SQLite takes the index of the names for no bound value. Left to
# itself it takes that of all kinds, and reads every entity.
_NAMED = "memories indexed by one_entity_a_name where kind = 'entity'"
_TABLES = {Relation: ("relations", "source, target, type"), Attached: ("entity_memories", "entity, memory")}
"""Of each kind of edge the table and its key."""

# A statement an edge: many edges as one JSON text take SQLite half as long again, and a single one thrice as long.
_ADD = {
    Relation: "insert into relations (source, target, type, created_at) values (?, ?, ?, ?) on conflict do nothing",
    Attached: "insert into entity_memories (entity, memory, created_at) values (?, ?, ?) on conflict do nothing",
}
_REMOVE = {
    Relation: "delete from relations where source = ? and target = ? and type = ?",
    Attached: "delete from entity_memories where entity = ? and memory = ?",
}

_AMONG = "in (select value from json_each(?1))"


class SqliteGraph(Part):
    """See `memory.store.graph.Graph`."""

    @reading
    def named(
        self, db: apsw.Connection, names: Sequence[str] | None = None, *, after: str = "", limit: int | None = None
    ) -> Mapping[str, MemoryId]:
        found: Iterable[Row]
        if names is None:
            page = f"select title, id from {_NAMED} and title > ? order by title limit ?"
            found = db.execute(page, (after, _most(limit)))
        else:  # few, which are quicker sorted here
            wanted = packed([name for name in names if name.isascii() or _encodable(name)])
            rows = db.execute(f"select title, id from {_NAMED} and title {_AMONG}", (wanted,))
            found = sorted(row for row in rows if row[0] > after)[:limit]
        return dict(found)

    @writing()
    def add(self, db: apsw.Connection, edges: Sequence[Edge]) -> Sequence[bool]:
        return [_changed(db, _ADD[type(one)], one, iso(one.created_at)) for one in edges]

    @writing()
    def remove(self, db: apsw.Connection, edges: Sequence[Edge]) -> Sequence[bool]:
        return [_changed(db, _REMOVE[type(one)], one) for one in edges]

    @reading
    def edges(
        self,
        db: apsw.Connection,
        kind: type[E],
        ids: Sequence[MemoryId] | None = None,
        *,
        inside: bool = False,
        after: E | None = None,
        limit: int | None = None,
    ) -> Sequence[E]:
        table, columns = _TABLES[kind]
        names = columns.split(", ")
        first, second = names[:2]
        start: Row = (0, 0, "")[: len(names)] if after is None else after[:-1]
        behind = f"({', '.join(f'?{number}' for number in range(2, len(names) + 2))})"
        if ids is None:
            either = [f"({columns}) > {behind}"]
        else:
            ends = [f"{first} {_AMONG}", f"{second} {_AMONG}"]
            if inside:
                # +: to look for each first end with each second would take as many steps as there are pairs of them.
                ends = [f"{first} {_AMONG} and +{second} {_AMONG}"]
            # +: by the ends, not from a place on
            either = [f"{end} and ({', '.join(f'+{name}' for name in names)}) > {behind}" for end in ends]
        union = " union ".join(f"select {columns}, created_at from {table} where {condition}" for condition in either)
        rows: Iterable[Row] = db.execute(
            f"{union} order by {columns} limit ?{len(names) + 2}", (listed(ids or ()), *start, _most(limit))
        )
        return [kind._make((*ends, moment(at))) for *ends, at in rows]

    @reading
    def neighbours(
        self, db: apsw.Connection, ids: Collection[MemoryId], *, besides: Collection[MemoryId] = ()
    ) -> AbstractSet[MemoryId]:
        if besides and _fewer(db, len(ids) + len(besides)):  # behind a hub: see `_next_to`
            every = {id for (id,) in db.execute("select id from memories where kind = 'entity'")}
            return _next_to(db, every.difference(besides), ids)
        found = _other_ends(db, ids)
        found.difference_update(besides)
        return found

    @reading
    def counts(self, db: apsw.Connection) -> GraphCounts:

        def one(sql: str) -> int:
            return int(db.execute(f"select count(*) from {sql}").get)

        types = db.execute("select type, count(*) from relations group by type order by 2 desc, 1")
        return GraphCounts(
            entities=one("memories where kind = 'entity'"),
            relations=one("relations"),
            attached=one("entity_memories"),
            isolated=one(
                """memories m where m.kind = 'entity'
                   and not exists (select 1 from relations r where r.source = m.id)
                   and not exists (select 1 from relations r where r.target = m.id)"""
            ),
            types=tuple((type, count) for type, count in types),
            categories=sessions.tally(db, "category", "kind = 'entity'", []),
        )


def _fewer(db: apsw.Connection, number: int) -> bool:
    """Whether there are fewer entities than that; no more are counted."""
    return db.execute(f"select 1 from {_NAMED} limit 1 offset ?", (number - 1,)).get is None


def _next_to(db: apsw.Connection, ids: Iterable[MemoryId], others: Iterable[MemoryId]) -> set[MemoryId]:
    """
    Those of these that have a relation to one of the others.

    Where fewer are left than were found last, it is quicker to ask what is left: S. Beamer, K. Asanović and D. Patterson,
    "Direction-Optimizing Breadth-First Search", SC 2012, section III.
    """
    rows = db.execute(
        f"""select source from relations where source {_AMONG} and +target in (select value from json_each(?2))
            union all
            select target from relations where target {_AMONG} and +source in (select value from json_each(?2))""",
        (listed(ids), listed(others)),
    )
    return {id for (id,) in rows}


def _other_ends(db: apsw.Connection, ids: Iterable[MemoryId]) -> set[MemoryId]:
    """The other ends of all relations of these."""
    rows = db.execute(
        f"select target from relations where source {_AMONG} union all select source from relations where target {_AMONG}",
        (listed(ids),),
    )
    return {id for (id,) in rows}


def _changed(db: apsw.Connection, statement: str, one: Edge, *more: str) -> bool:
    """Whether a statement with the key of an edge, and more values, added or removed it."""
    db.execute(statement, (*map(key, one[:2]), *one[2:-1], *more))
    return db.changes() > 0


def _most(limit: int | None) -> int:
    return -1 if limit is None else limit


def _encodable(name: str) -> bool:
    """Whether it is Unicode; what is not has no name here."""
    return name == name.encode(errors="ignore").decode()
