"""Sessions and research runs: what is kept of them, what of it is old, and the tools used in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.schema.kinds import RESEARCH_KINDS
from memory.store import Run, Session, ToolCall
from memory.store.postgres.database import Part, many, one, reading, writing
from memory.store.postgres.rows import where
from memory.store.records import Row, Values, moment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.memory import MemoryId
    from memory.schema.query import Scope
    from memory.store.postgres.opening import Db


class PostgresSessions(Part):
    """See `memory.store.memories.Sessions`."""

    @reading
    def latest(
        self, db: Db, limit: int, *, id: str | None = None, agent: str | None = None
    ) -> tuple[Sequence[Session], int]:
        of, values = _narrowed("session_id", id, agent)
        rows = many(
            db,
            f"""select session_id, count(*) over () from memories where {of}
                group by session_id order by max(updated_at) desc, session_id limit %s""",
            [*values, limit],
        )
        return [_session(db, id, agent) for id, _ in rows], rows[0][1] if rows else 0

    @reading
    def aged(self, db: Db, scope: Scope, before: datetime, limit: int | None = None) -> Sequence[tuple[MemoryId, int]]:
        condition, values = where(scope)
        return [
            (id, chunks)
            for id, chunks in many(
                db,
                f"""select m.id, (select count(*) from chunks c where c.memory_id = m.id)
                    from memories m where m.created_at < %s and {condition} order by m.id limit %s""",
                [iso(before), *values, limit],
            )
        ]


def _narrowed(column: str, name: str | None, agent: str | None = None) -> tuple[str, Values]:
    """Of a session or a run, or of any, and by an agent, or by any."""
    of, values = (f"{column} is not null", []) if name is None else (f"{column} = %s", [name])
    return (of, values) if agent is None else (f"{of} and agent_id = %s", [*values, agent])


def _session(db: Db, id: str, agent: str | None) -> Session:
    of, values = _narrowed("session_id", id, agent)
    [(count, earliest, latest, active, iteration)] = many(
        db,
        f"""select count(*), min(created_at), max(created_at), max(updated_at), max(session_iter)
            from memories where {of}""",
        values,
    )
    author = (
        f"select agent_id from memories where {of} and agent_id is not null order by updated_at desc, id desc limit 1"
    )
    chunks = f"select count(*) from chunks where memory_id in (select id from memories where {of})"
    return Session(
        id=id,
        agent_id=one(db, author, values),
        memories=count,
        chunks=one(db, chunks, values),
        earliest=moment(earliest),
        latest=moment(latest),
        active=moment(active),
        iteration=iteration,
        kinds=tally(db, "kind", of, values),
        agents=tally(db, "agent_id", of, values),
    )


def tally(db: Db, column: str, of: str, values: Sequence[object] = ()) -> tuple[tuple[str, int], ...]:
    rows = many(
        db,
        f"""select {column}, count(*) from memories where {of} and {column} is not null
            group by {column} order by 2 desc, 1""",
        list(values),
    )
    return tuple((name, count) for name, count in rows)


# Research runs ---------------------------------------------------------------

_RESEARCH = "kind in ('" + "', '".join(RESEARCH_KINDS) + "')"

_CALL = "uid, query_id, agent_name, tool_type, tool_name, parameters, result, success, timestamp"


class PostgresRuns(Part):
    """See `memory.store.memories.Runs`."""

    @reading
    def latest(self, db: Db, limit: int, *, id: str | None = None) -> tuple[Sequence[Run], int]:
        of, values = _narrowed("query_id", id)
        rows = many(
            db,
            f"""with kept (run, active) as materialized (
                    select query_id, max(updated_at) from memories where {of} and {_RESEARCH} group by query_id
                )
                select run, active from kept
                union all
                select query_id, max(timestamp) from tool_calls
                where {of} and query_id not in (select run from kept) group by query_id
                order by active desc, run""",
            values * 2,
        )
        return [_run(db, run) for run, _ in rows[:limit]], len(rows)

    @writing()
    def log(self, db: Db, calls: Sequence[ToolCall]) -> Sequence[int]:
        ids: dict[str, int] = dict(
            many(db, "select uid, id from tool_calls where uid = any(%s)", ([call.uid for call in calls],))
        )
        for call in calls:
            if call.uid not in ids:
                ids[call.uid] = one(
                    db,
                    f"insert into tool_calls ({_CALL}) values (%s, %s, %s, %s, %s, %s, %s, %s, %s) returning id",
                    (*call[:-1], iso(call.moment)),
                )
        return [ids[call.uid] for call in calls]

    @reading
    def calls(
        self, db: Db, run: str | None = None, *, agent: str | None = None, after: int = 0, limit: int = 1000
    ) -> Sequence[tuple[int, ToolCall]]:
        conditions = ["id > %s"]
        values: Values = [after]
        for column, name in (("query_id", run), ("agent_name", agent)):
            if name is not None:
                conditions.append(f"{column} = %s")
                values.append(name)
        rows = many(
            db,
            f"select id, {_CALL} from tool_calls where {' and '.join(conditions)} order by id limit %s",
            [*values, limit],
        )
        return [_call(row) for row in rows]

    @writing()
    def forget_calls(self, db: Db, run: str | None, limit: int) -> int:
        of, values = ("true", [limit]) if run is None else ("query_id = %s", [run, limit])
        gone = f"delete from tool_calls where id in (select id from tool_calls where {of} order by id limit %s)"
        return db.execute(gone, values).rowcount


def _run(db: Db, id: str) -> Run:
    of = f"query_id = %s and {_RESEARCH}"
    [(count, *times)] = many(db, f"select count(*), min(created_at), max(updated_at) from memories where {of}", (id,))
    [(used, failed, *times_of_calls)] = many(
        db,
        """select count(*), count(*) filter (where not success), min(timestamp), max(timestamp)
           from tool_calls where query_id = %s""",
        (id,),
    )
    earliest, latest = map(moment, times if count else times_of_calls)
    return Run(
        id=id,
        memories=count,
        calls=used,
        failed_calls=failed,
        earliest=earliest,
        latest=latest,
        kinds=tally(db, "kind", of, [id]),
        agents=tally(db, "agent_id", of, [id]),
    )


def _call(row: Row) -> tuple[int, ToolCall]:
    id, *values, at = row
    return id, ToolCall._make([*values, moment(at)])
