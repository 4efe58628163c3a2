"""Relations between entities, and links from entities to memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.store import Attached, Edge, GraphCounts, Relation
from memory.store.postgres import sessions
from memory.store.postgres.database import Part, many, one, reading, writing
from memory.store.postgres.rows import keys, storable
from memory.store.records import key, moment

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet

    from memory.schema.memory import MemoryId
    from memory.store.graph import E
    from memory.store.postgres.opening import Db
    from memory.store.records import Row, Values

_TABLES = {Relation: ("relations", ("source", "target", "type")), Attached: ("entity_memories", ("entity", "memory"))}
"""Of each kind of edge the table and its key."""


class PostgresGraph(Part):
    """See `memory.store.graph.Graph`."""

    @reading
    def named(
        self, db: Db, names: Sequence[str] | None = None, *, after: str = "", limit: int | None = None
    ) -> Mapping[str, MemoryId]:
        wanted = "kind = 'entity' and title > %s"
        values: Values = [after]
        if names is not None:
            wanted += " and title = any(%s)"
            values.append([name for name in names if storable(name)])
        page = f"select title, id from memories where {wanted} order by title limit %s"
        return dict(many(db, page, [*values, limit]))

    @writing()
    def add(self, db: Db, edges: Sequence[Edge]) -> Sequence[bool]:
        return [_add(db, edge) for edge in edges]

    @writing()
    def remove(self, db: Db, edges: Sequence[Edge]) -> Sequence[bool]:
        return [_remove(db, edge) for edge in edges]

    @reading
    def edges(
        self,
        db: Db,
        kind: type[E],
        ids: Sequence[MemoryId] | None = None,
        *,
        inside: bool = False,
        after: E | None = None,
        limit: int | None = None,
    ) -> Sequence[E]:
        table, names = _TABLES[kind]
        columns = ", ".join(names)
        condition = "true"
        values: Values = []
        if ids is not None:
            both = f"{names[0]} = any(%s) {'and' if inside else 'or'} {names[1]} = any(%s)"
            condition, values = f"({both})", [keys(ids)] * 2
        if after is not None:
            condition += f" and ({columns}) > ({', '.join(['%s'] * len(names))})"
            ends: Row = after[:-1]
            values += [*map(key, ends[:2]), *ends[2:]]
        rows = many(
            db,
            f"select {columns}, created_at from {table} where {condition} order by {columns} limit %s",
            [*values, limit],
        )
        return [kind._make((*ends, moment(at))) for *ends, at in rows]

    @reading
    def neighbours(
        self, db: Db, ids: Collection[MemoryId], *, besides: Collection[MemoryId] = ()
    ) -> AbstractSet[MemoryId]:
        rows = many(
            db,
            """select target from relations where source = any(%s)
               union
               select source from relations where target = any(%s)""",
            [keys(ids)] * 2,
        )
        return {id for (id,) in rows}.difference(besides)

    @reading
    def counts(self, db: Db) -> GraphCounts:
        types = many(db, "select type, count(*) from relations group by type order by 2 desc, 1")
        isolated = """
            memories m where m.kind = 'entity'
            and not exists (select 1 from relations r where r.source = m.id or r.target = m.id)
        """
        return GraphCounts(
            entities=_count(db, "memories where kind = 'entity'"),
            relations=_count(db, "relations"),
            attached=_count(db, "entity_memories"),
            isolated=_count(db, isolated),
            types=tuple((type, count) for type, count in types),
            categories=sessions.tally(db, "category", "kind = 'entity'"),
        )


def _count(db: Db, rows: str) -> int:
    return int(one(db, f"select count(*) from {rows}"))


def _add(db: Db, edge: Edge) -> bool:
    table, names = _TABLES[type(edge)]
    places = ", ".join(["%s"] * (len(names) + 1))
    return _changed(
        db,
        f"insert into {table} ({', '.join(names)}, created_at) values ({places}) on conflict do nothing",
        [*map(key, edge[:2]), *edge[2:-1], iso(edge.created_at)],
    )


def _remove(db: Db, edge: Edge) -> bool:
    table, names = _TABLES[type(edge)]
    return _changed(
        db,
        f"delete from {table} where {' and '.join(f'{name} = %s' for name in names)}",
        [*map(key, edge[:2]), *edge[2:-1]],
    )


def _changed(db: Db, statement: str, values: Values) -> bool:
    return db.execute(statement, values).rowcount > 0
