"""Sessions and research runs: what is kept of them, what of it is old, and the tools used in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.errors import iso
from memory.schema.kinds import RESEARCH_KINDS
from memory.store import Run, Session, ToolCall
from memory.store.records import Row, Values, moment, packed
from memory.store.sqlite.database import Part, reading, writing
from memory.store.sqlite.scopes import where

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import apsw

    from memory.schema.memory import MemoryId
    from memory.schema.query import Scope


class SqliteSessions(Part):
    """See `memory.store.memories.Sessions`."""

    @reading
    def latest(
        self, db: apsw.Connection, limit: int, *, id: str | None = None, agent: str | None = None
    ) -> tuple[Sequence[Session], int]:
        of, values = _narrowed("session_id", id, agent)
        latest = f"""select session_id, count(*) over () from memories where {of}
            group by session_id order by max(updated_at) desc, session_id limit ?"""
        rows: list[Row] = db.execute(latest, (*values, limit)).fetchall()
        return [_session(db, id, agent) for id, _ in rows], rows[0][1] if rows else 0

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


def _narrowed(column: str, name: str | None, agent: str | None = None) -> tuple[str, Values]:
    """Of a session or a run, or of any, and by an agent, or by any."""
    of, values = (f"{column} is not null", []) if name is None else (f"{column} = ?", [name])
    return (of, values) if agent is None else (f"{of} and +agent_id = ?", [*values, agent])


def _session(db: apsw.Connection, id: str, agent: str | None) -> Session:
    of, values = _narrowed("session_id", id, agent)

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


# Research runs ---------------------------------------------------------------

_RESEARCH = "kind in ('" + "', '".join(RESEARCH_KINDS) + "')"

_CALL = "uid, query_id, agent_name, tool_type, tool_name, parameters, result, success, timestamp"


class SqliteRuns(Part):
    """See `memory.store.memories.Runs`."""

    @reading
    def latest(self, db: apsw.Connection, limit: int, *, id: str | None = None) -> tuple[Sequence[Run], int]:
        of, values = _narrowed("query_id", id)
        rows = db.execute(
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
        ids: list[str] = [run for run, _ in rows]
        return [_run(db, id) for id in ids[:limit]], len(ids)

    @writing()
    def log(self, db: apsw.Connection, calls: Sequence[ToolCall]) -> Sequence[int]:
        uids = packed([one.uid for one in calls])
        rows: Iterable[Row] = db.execute(
            "select uid, id from tool_calls where uid in (select value from json_each(?))", (uids,)
        )
        ids: dict[str, int] = dict(rows)
        for one in calls:
            if one.uid not in ids:
                ids[one.uid] = _log(db, one)
        return [ids[one.uid] for one in calls]

    @reading
    def calls(
        self,
        db: apsw.Connection,
        run: str | None = None,
        *,
        agent: str | None = None,
        after: int = 0,
        limit: int = 1000,
    ) -> Sequence[tuple[int, ToolCall]]:
        condition = "id > ?"
        values: Values = [after]
        if run is not None:
            condition += " and query_id = ?"
            values.append(run)
        if agent is not None:  # +: the calls of a run are fewer than those of an agent
            condition += f" and {'' if run is None else '+'}agent_name = ?"
            values.append(agent)
        rows = db.execute(f"select id, {_CALL} from tool_calls where {condition} order by id limit ?", (*values, limit))
        return [_call(row) for row in rows]

    @writing()
    def forget_calls(self, db: apsw.Connection, run: str | None, limit: int) -> int:
        of, values = ("1", (limit,)) if run is None else ("query_id = ?", (run, limit))
        return len(
            db.execute(
                f"""delete from tool_calls where id in (select id from tool_calls where {of} order by id limit ?)
                    returning 1""",
                values,
            ).fetchall()
        )


def _run(db: apsw.Connection, id: str) -> Run:
    of = f"query_id = ? and {_RESEARCH}"
    count, *times = db.execute(f"select count(*), min(created_at), max(updated_at) from memories where {of}", (id,)).get
    used, failed, *times_of_calls = db.execute(
        """select count(*), count(*) filter (where success = 0), min(timestamp), max(timestamp)
           from tool_calls where query_id = ?""",
        (id,),
    ).get
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


def _log(db: apsw.Connection, call: ToolCall) -> int:
    id: int = db.execute(
        f"insert into tool_calls ({_CALL}) values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning id",
        (*call[:-1], iso(call.moment)),
    ).get
    return id


def _call(row: Row) -> tuple[int, ToolCall]:
    id, *values, success, at = row
    return id, ToolCall._make([*values, bool(success), moment(at)])
