"""Relations between entities, and links from entities to memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from memory.schema.errors import iso
from memory.store.records import Row, key, moment, most
from memory.store.shared import Connection, Part, tally
from memory.store.values import Attached, Edge, GraphCounts, Relation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence, Set as AbstractSet

    from memory.schema.memory import MemoryId

E = TypeVar("E", Relation, Attached)

_TABLES = {Relation: ("relations", ("source", "target", "type")), Attached: ("entity_memories", ("entity", "memory"))}
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


class Graph(Part):
    """
    Relations between entities, and links from entities to memories. Both go with what they join.

    An entity is a memory of kind ENTITY; its name is its title, and no two have the same. For neighbourhoods it does
    not matter which way a relation points. No reading asks the database once for each entity.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def named(
        self, names: Sequence[str] | None = None, *, after: str = "", limit: int | None = None
    ) -> Mapping[str, MemoryId]:
        """
        Entities that are there, by name, in the order of the code points.

        Args:
            names: Only those of these names.
            after, limit: A page of them: of names above `after`, so many.
        """
        with self._db.read() as db:
            entities = f"select title, id from {_entities(db)}"
            if names is None:
                return dict(db.rows(f"{entities} and title > ? order by title limit ?", (after, most(limit))))
            rows = db.rows(f"{entities} and title {db.IN}", (db.texts(names),))  # few, which are quicker sorted here
            return dict(sorted(row for row in rows if row[0] > after)[:limit])

    def add(self, edges: Sequence[Edge]) -> Sequence[bool]:
        """
        Add relations and links, all in one transaction; for each whether it is new. One that is there stays as it is.

        What may be joined is said in `memory.keep.rules.join`.
        """
        with self._db.write() as db:
            return [db.changed(_ADD[type(edge)], (*_key(edge), iso(edge.created_at))) > 0 for edge in edges]

    def remove(self, edges: Sequence[Edge]) -> Sequence[bool]:
        """
        Remove relations by source, target and type, and links by entity and memory, all in one transaction; for each
        whether it was there.
        """
        with self._db.write() as db:
            return [db.changed(_REMOVE[type(edge)], _key(edge)) > 0 for edge in edges]

    def edges(
        self,
        kind: type[E],
        ids: Sequence[MemoryId] | None = None,
        *,
        inside: bool = False,
        after: E | None = None,
        limit: int | None = None,
    ) -> Sequence[E]:
        """
        Edges of a kind: relations by source, target, type, or links by entity, memory.

        Args:
            ids: Only those that begin or end at one of these; `inside`: that begin and end at one of them.
            after, limit: A page of them: behind this edge, which may be gone, so many.
        """
        with self._db.read() as db:
            rows = _edges(db, kind, ids, after, inside=inside, limit=limit)
            return [kind._make((*ends, moment(at))) for *ends, at in rows]

    def neighbours(self, ids: Collection[MemoryId], *, besides: Collection[MemoryId] = ()) -> AbstractSet[MemoryId]:
        """The entities that a relation joins to one of these, whichever way it points, less those `besides`."""
        with self._db.read() as db:
            if besides and _fewer(db, len(ids) + len(besides)):  # behind a hub: see `_next_to`
                every = {id for (id,) in db.rows("select id from memories where kind = 'entity'")}
                return _next_to(db, every.difference(besides), ids)
            rows = db.rows(
                f"""select target from relations where source {db.IN}
                    union all
                    select source from relations where target {db.IN}""",
                [db.ids(ids)] * 2,
            )
            return {id for (id,) in rows}.difference(besides)

    def counts(self) -> GraphCounts:
        with self._db.read() as db:

            def count(rows: str) -> int:
                return int(db.value(f"select count(*) from {rows}"))

            types = db.rows("select type, count(*) from relations group by type order by 2 desc, 1")
            return GraphCounts(
                entities=count("memories where kind = 'entity'"),
                relations=count("relations"),
                attached=count("entity_memories"),
                isolated=count(
                    """memories m where m.kind = 'entity'
                       and not exists (select 1 from relations r where r.source = m.id)
                       and not exists (select 1 from relations r where r.target = m.id)"""
                ),
                types=tuple((type, count) for type, count in types),
                categories=tally(db, "category", "kind = 'entity'"),
            )


def _entities(db: Connection) -> str:
    # `kind = 'entity'` stands in plain text everywhere: SQLite takes the index of the names for no bound value. Left to
    # itself it takes that of all kinds, and reads every entity.
    return f"memories {db.indexed('one_entity_a_name')} where kind = 'entity'"


def _key(edge: Edge) -> Row:
    return (*map(key, edge[:2]), *edge[2:-1])


def _edges(
    db: Connection,
    kind: type[Edge],
    ids: Sequence[MemoryId] | None,
    after: Edge | None,
    *,
    inside: bool,
    limit: int | None,
) -> list[Row]:
    """The rows of `Graph.edges`."""
    table, names = _TABLES[kind]
    first, second, *_ = names
    columns, scanned = ", ".join(names), db.SCANNED  # by the ends, not from a place on
    ends = [db.ids(ids or ())]
    either = [(f"{first} {db.IN} and", ends), (f"{second} {db.IN} and", ends)]
    if inside:  # to look for each first end with each second would take as many steps as there are pairs of them
        either = [(f"{first} {db.IN} and {scanned}{second} {db.IN} and", ends * 2)]
    if ids is None:
        scanned, either = "", [("", [])]
    behind = f"({', '.join(scanned + name for name in names)}) > ({', '.join('?' * len(names))})"
    start: Row = (0, 0, "")[: len(names)] if after is None else _key(after)
    union = " union ".join(f"select {columns}, created_at from {table} where {end} {behind}" for end, _ in either)
    values = [value for _, bound in either for value in (*bound, *start)]
    return db.rows(f"{union} order by {columns} limit ?", (*values, most(limit)))


def _fewer(db: Connection, number: int) -> bool:
    """Whether there are fewer entities than that; no more are counted."""
    return not db.rows(f"select 1 from {_entities(db)} limit 1 offset ?", (number - 1,))


def _next_to(db: Connection, ids: Iterable[MemoryId], others: Iterable[MemoryId]) -> set[MemoryId]:
    """
    Those of these that have a relation to one of the others.

    Where fewer are left than were found last, it is quicker to ask what is left: S. Beamer, K. Asanović and D. Patterson,
    "Direction-Optimizing Breadth-First Search", SC 2012, section III.
    """
    rows = db.rows(
        f"""select source from relations where source {db.IN} and {db.SCANNED}target {db.IN}
            union all
            select target from relations where target {db.IN} and {db.SCANNED}source {db.IN}""",
        [db.ids(ids), db.ids(others)] * 2,
    )
    return {id for (id,) in rows}
