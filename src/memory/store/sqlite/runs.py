"""Research runs, and the tools used in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.kinds import RESEARCH_KINDS
from memory.schema.times import iso
from memory.store import Run, ToolCall
from memory.store.sqlite import sessions
from memory.store.sqlite.database import Part, reading, writing
from memory.store.sqlite.rows import moment, packed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from memory.store.sqlite.rows import Row, Values

_RESEARCH = "kind in ('" + "', '".join(RESEARCH_KINDS) + "')"

_CALL = "uid, query_id, agent_name, tool_type, tool_name, parameters, result, success, timestamp"


class SqliteRuns(Part):
    """See `memory.store.runs.Runs`."""

    @reading
    def latest(self, db: apsw.Connection, limit: int) -> tuple[Sequence[Run], int]:
        rows = db.execute(
            f"""with kept (run, active) as materialized (
                    select query_id, max(updated_at) from memories
                    where query_id is not null and {_RESEARCH} group by query_id
                )
                select run, active from kept
                union all
                select query_id, max(timestamp) from tool_calls
                where query_id is not null and query_id not in (select run from kept) group by query_id
                order by active desc, run"""
        )
        ids: list[str] = [run for run, _ in rows]
        found = [_summary(db, id) for id in ids[:limit]]
        return [one for one in found if one is not None], len(ids)

    @reading
    def any(self, db: apsw.Connection) -> bool:
        first = f"select 1 from memories indexed by memories_by_run where query_id is not null and {_RESEARCH} limit 1"
        return db.execute(first).get is not None

    @reading
    def summary(self, db: apsw.Connection, id: str) -> Run | None:
        return _summary(db, id)

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


def _summary(db: apsw.Connection, id: str) -> Run | None:
    """See `Runs.summary`."""
    of = f"query_id = ? and {_RESEARCH}"
    count, *times = db.execute(f"select count(*), min(created_at), max(updated_at) from memories where {of}", (id,)).get
    used, failed, *times_of_calls = db.execute(
        """select count(*), count(*) filter (where success = 0), min(timestamp), max(timestamp)
           from tool_calls where query_id = ?""",
        (id,),
    ).get
    if not count and not used:
        return None
    earliest, latest = map(moment, times if count else times_of_calls)
    return Run(
        id=id,
        memories=count,
        calls=used,
        failed_calls=failed,
        earliest=earliest,
        latest=latest,
        kinds=sessions.tally(db, "kind", of, [id]),
        agents=sessions.tally(db, "agent_id", of, [id]),
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
