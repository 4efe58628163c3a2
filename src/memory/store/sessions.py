"""What is kept in all, of sessions and of research runs; what of it is old, and the tools used in runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.schema.kinds import RESEARCH_KINDS
from memory.store.generations import keyword_only
from memory.store.records import Values, moment, most
from memory.store.shared import Connection, Part, tally
from memory.store.values import Counts, Run, Session, ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.memory import MemoryId
    from memory.schema.query import Scope


class SessionRows(Part):
    """
    Where memories are read by session and age.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def latest(self, limit: int, *, id: str | None = None, agent: str | None = None) -> tuple[Sequence[Session], int]:
        """
        The sessions with the latest activity, latest first, of those at one moment by name; and how many there are.

        Args:
            id: Only the session of this name.
            agent: Counts the memories of this agent alone.
        """
        with self._db.read() as db:
            of, values = _narrowed(db, "session_id", id, agent)
            rows = db.rows(
                f"""select session_id, count(*) over () from memories where {of}
                    group by session_id order by max(updated_at) desc, session_id limit ?""",
                (*values, limit),
            )
            return [_session(db, id, agent) for id, _ in rows], rows[0][1] if rows else 0

    def aged(self, scope: Scope, before: datetime, limit: int | None = None) -> Sequence[tuple[MemoryId, int]]:
        """The memories in scope that were made before a moment, lowest id first, and how many chunks each has."""
        with self._db.read() as db:
            condition, values = db.where(scope)
            rows = db.rows(
                f"""select m.id, (select count(*) from chunks c where c.memory_id = m.id)
                    from memories m where m.created_at < ? and {condition} order by m.id limit ?""",
                (iso(before), *values, most(limit)),
            )
            return [(id, chunks) for id, chunks in rows]


def _narrowed(db: Connection, column: str, name: str | None, agent: str | None = None) -> tuple[str, Values]:
    """Of a session or a run, or of any, and by an agent, or by any."""
    of, values = (f"{column} is not null", []) if name is None else (f"{column} = ?", [name])
    return (of, values) if agent is None else (f"{of} and {db.SCANNED}agent_id = ?", [*values, agent])


def _session(db: Connection, id: str, agent: str | None) -> Session:
    of, values = _narrowed(db, "session_id", id, agent)
    [(count, earliest, latest, active, iteration)] = db.rows(
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
        agent_id=db.value(author, values),
        memories=count,
        chunks=db.value(chunks, values),
        earliest=moment(earliest),
        latest=moment(latest),
        active=moment(active),
        iteration=iteration,
        kinds=tally(db, "kind", of, values),
        agents=tally(db, "agent_id", of, values),
    )


def counts(db: Connection, *, chunks: int, bytes: int, postings: int = 0) -> Counts:
    """
    See `Store.counts`.

    Args:
        chunks, bytes, postings: As a store counts them itself.
    """
    [(memories, superseded)] = db.rows("select count(*), count(*) filter (where status = 'superseded') from memories")
    [(queued, failed)] = db.rows("select count(*), count(*) filter (where attempts > 0) from embed_queue")
    [(waiting_memories, failed_memories)] = db.rows(
        f"""select count(distinct c.memory_id), count(distinct c.memory_id) filter (where q.attempts > 0)
            from embed_queue q {db.JOIN} chunks c on c.id = q.chunk_id"""
    )
    latest = "where tried_at is not null order by tried_at desc, chunk_id desc limit 1"
    return Counts(
        memories=memories,
        superseded=superseded,
        chunks=chunks,
        keyword_only=db.value(f"select count(*) from ({keyword_only(db)}) never"),
        queued=queued,
        failed=failed,
        last_error=db.value(f"select last_error from embed_queue {latest}") or "",
        waiting_memories=waiting_memories,
        failed_memories=failed_memories,
        kinds=tally(db, "kind", "true"),
        projects=tally(db, "project", "true")[:20],
        bytes=bytes,
        postings=postings,
        trashed=db.value("select count(*) from trash where not replaced"),
        trash_bytes=int(db.value("select coalesce(sum(octet_length(line)), 0) from trash")),
        unwiped=bool(db.value("select count(*) from unwiped")),
    )


# Research runs ---------------------------------------------------------------

_RESEARCH = "kind in ('" + "', '".join(RESEARCH_KINDS) + "')"

_CALL = "uid, query_id, agent_name, tool_type, tool_name, parameters, result, success, timestamp"


class RunRows(Part):
    """
    Research runs, and the tools used in them. A run is there as long as a memory of a research kind or a call names it.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def latest(self, limit: int, *, id: str | None = None) -> tuple[Sequence[Run], int]:
        """
        The runs with the latest activity, latest first, of those at one moment by name; and how many there are.

        Args:
            id: Only the run of this name.
        """
        with self._db.read() as db:
            of, values = _narrowed(db, "query_id", id)
            rows = db.rows(
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

    def log(self, calls: Sequence[ToolCall]) -> Sequence[int]:
        """Keep calls, all in one transaction; their ids. One whose uid is there is not kept again."""
        with self._db.write() as db:
            uids = db.texts(call.uid for call in calls)
            ids: dict[str, int] = dict(db.rows(f"select uid, id from tool_calls where uid {db.IN}", (uids,)))
            for call in calls:
                if call.uid not in ids:
                    ids[call.uid] = db.value(
                        f"insert into tool_calls ({_CALL}) values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning id",
                        (*call[:-1], iso(call.moment)),
                    )
            return [ids[call.uid] for call in calls]

    def calls(
        self, run: str | None = None, *, agent: str | None = None, after: int = 0, limit: int = 1000
    ) -> Sequence[tuple[int, ToolCall]]:
        """
        Calls with an id above `after`, lowest first, with their ids.

        Args:
            run, agent: Only of this run, of this agent; None takes those of all, and of none.
        """
        with self._db.read() as db:
            condition = "id > ?"
            values: Values = [after]
            if run is not None:
                condition += " and query_id = ?"
                values.append(run)
            if agent is not None:  # the calls of a run are fewer than those of an agent
                condition += f" and {'' if run is None else db.SCANNED}agent_name = ?"
                values.append(agent)
            rows = db.rows(
                f"select id, {_CALL} from tool_calls where {condition} order by id limit ?", (*values, limit)
            )
            return [(id, ToolCall._make([*values, bool(success), moment(at)])) for id, *values, success, at in rows]

    def forget_calls(self, run: str | None, limit: int) -> int:
        """
        Remove calls, lowest ids first; how many there were.

        Args:
            run: Of this run; None takes those of all, and of none.
        """
        with self._db.write() as db:
            of, values = ("true", (limit,)) if run is None else ("query_id = ?", (run, limit))
            calls = f"select id from tool_calls where {of} order by id limit ?"
            return db.changed(f"delete from tool_calls where id in ({calls})", values)


def _run(db: Connection, id: str) -> Run:
    of = f"query_id = ? and {_RESEARCH}"
    [(count, *times)] = db.rows(f"select count(*), min(created_at), max(updated_at) from memories where {of}", (id,))
    [(used, failed, *times_of_calls)] = db.rows(
        """select count(*), count(*) filter (where not success), min(timestamp), max(timestamp)
           from tool_calls where query_id = ?""",
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
