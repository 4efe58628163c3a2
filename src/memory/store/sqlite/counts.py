"""How much there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.store import Counts
from memory.store.sqlite.generations import KEYWORD_ONLY
from memory.store.sqlite.rows import read

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from memory.store.sqlite.rows import Row


def counts(db: apsw.Connection) -> Counts:
    """See `Store.counts`."""

    def one(sql: str) -> Any:
        return db.execute(sql).get

    memories, superseded = one("select count(*), count(*) filter (where status = 'superseded') from memories")
    queued, failed = one("select count(*), count(*) filter (where attempts > 0) from embed_queue")
    waiting_memories, failed_memories = one(
        """select count(distinct c.memory_id), count(distinct c.memory_id) filter (where q.attempts > 0)
           from embed_queue q cross join chunks c on c.id = q.chunk_id"""
    )
    latest = "where tried_at is not null order by tried_at desc, chunk_id desc limit 1"
    kinds: Iterable[Row] = read(db, "select kind, count(*) from memories group by kind order by 2 desc, 1")
    projects: Iterable[Row] = read(
        db,
        "select project, count(*) from memories where project is not null group by project order by 2 desc, 1 limit 20",
    )
    return Counts(
        memories=memories,
        superseded=superseded,
        chunks=one("select value from counters where name = 'chunks'"),
        keyword_only=one(f"select count(*) from ({KEYWORD_ONLY})"),
        queued=queued,
        failed=failed,
        last_error=one(f"select last_error from embed_queue {latest}") or "",
        waiting_memories=waiting_memories,
        failed_memories=failed_memories,
        kinds=tuple((name, count) for name, count in kinds),
        projects=tuple((name, count) for name, count in projects),
        bytes=one("pragma page_count") * one("pragma page_size"),
    )
