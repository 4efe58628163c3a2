"""Memories by session and age."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.times import iso
from memory.store import Session
from memory.store.sqlite.database import Part, reading
from memory.store.sqlite.rows import listed, memories, moment, where

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import apsw

    from memory.schema.memory import Memory, MemoryId
    from memory.schema.query import Scope
    from memory.store.sqlite.rows import Row

ORDER = "m.session_iter {0}, m.created_at {0}, m.id {0}"
"""SQLite takes null for lower than any number."""


class SqliteSessions(Part):
    """See `memory.store.sessions.Sessions`."""

    @reading
    def by_iteration(
        self, db: apsw.Connection, scope: Scope, limit: int, *, latest_first: bool = True
    ) -> Sequence[Memory]:
        condition, values = where(scope)
        order = ORDER.format("desc" if latest_first else "asc")
        # The ids first: sorting whole rows of thousands of memories takes ten times as long.
        found = db.execute(f"select m.id from memories m where {condition} order by {order} limit ?", (*values, limit))
        ids: list[MemoryId] = [id for (id,) in found]
        known = {one.id: one for one in memories(db, "m.id in (select value from json_each(?))", [listed(ids)])}
        return [known[id] for id in ids]

    @reading
    def latest(self, db: apsw.Connection, limit: int, agent: str | None = None) -> tuple[Sequence[Session], int]:
        of, values = (
            ("session_id is not null", []) if agent is None else ("session_id is not null and +agent_id = ?", [agent])
        )
        total: int = db.execute(f"select count(distinct session_id) from memories where {of}", values).get
        latest: Iterable[Row] = db.execute(
            f"""select session_id from memories where {of}
                group by session_id order by max(updated_at) desc, session_id limit ?""",
            (*values, limit),
        )
        return [_session(db, id, agent) for (id,) in list(latest)], total

    @reading
    def summary(self, db: apsw.Connection, id: str) -> Session | None:
        there = db.execute("select 1 from memories where session_id = ? limit 1", (id,)).get
        return None if there is None else _session(db, id, None)

    @reading
    def aged(
        self, db: apsw.Connection, scope: Scope, before: datetime, limit: int | None = None
    ) -> Sequence[tuple[MemoryId, int]]:
        condition, values = where(scope)
        rows: Iterable[tuple[MemoryId, int]] = db.execute(
            f"""select m.id, (select count(*) from chunks c where c.memory_id = m.id)
                from memories m where m.created_at < ? and {condition} order by m.id limit ?""",
            (iso(before), *values, -1 if limit is None else limit),
        )
        return list(rows)


def _session(db: apsw.Connection, id: str, agent: str | None) -> Session:
    of, values = ("session_id = ?", [id]) if agent is None else ("session_id = ? and +agent_id = ?", [id, agent])

    def one(sql: str) -> Any:
        return db.execute(sql, values).get

    count, earliest, latest, active, iteration = one(
        f"select count(*), min(created_at), max(created_at), max(updated_at), max(session_iter) from memories where {of}"
    )
    return Session(
        id=id,
        agent_id=one(
            f"select agent_id from memories where {of} and agent_id is not null order by updated_at desc, id desc limit 1"
        ),
        memories=count,
        chunks=one(f"select count(*) from chunks where memory_id in (select id from memories where {of})"),
        earliest=moment(earliest),
        latest=moment(latest),
        active=moment(active),
        iteration=iteration,
        kinds=tally(db, "kind", of, values),
        agents=tally(db, "agent_id", of, values),
    )


def tally(db: apsw.Connection, column: str, of: str, values: list[str]) -> tuple[tuple[str, int], ...]:
    rows = db.execute(
        f"""select {column}, count(*) from memories where {of} and {column} is not null
            group by {column} order by 2 desc, 1""",
        values,
    )
    return tuple((name, count) for name, count in rows)
