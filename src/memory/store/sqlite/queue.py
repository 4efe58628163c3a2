"""Chunks that wait for a vector in the active generation, and why they still do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from memory.schema.memory import MemoryId
from memory.schema.times import iso
from memory.store import Claim, Waiting
from memory.store.sqlite.rows import listed, moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import apsw

    from memory.schema.memory import ChunkId
    from memory.store.sqlite.rows import Row

# With one max(), SQLite takes the bare columns from the row that has it; the id decides between equal moments.
_WAITING = """
    c.memory_id, count(*), count(q.tried_at), q.last_error, q.tried_at,
    max(q.tried_at || printf('%020d', q.chunk_id))
"""


_RELEASED = "update embed_queue set claimed_until = null, claimed_by = null"


def queued(db: apsw.Connection) -> int:
    return int(db.execute("select count(*) from embed_queue").get)


def failed(db: apsw.Connection, ids: Sequence[ChunkId], error: str, at: datetime) -> None:
    """See `Store.failed`."""
    db.execute(
        """update embed_queue set attempts = attempts + 1, last_error = ?, tried_at = ?, claimed_until = null, claimed_by = null
           where chunk_id in (select value from json_each(?))""",
        (error, iso(at), listed(ids)),
    )


def claim(db: apsw.Connection, ids: Sequence[ChunkId], until: datetime, by: str) -> None:
    db.execute(
        "update embed_queue set claimed_until = ?, claimed_by = ? where chunk_id in (select value from json_each(?))",
        (iso(until), by, listed(ids)),
    )


def claims(db: apsw.Connection, now: datetime) -> list[Claim]:
    """See `Store.claims`."""
    rows: Iterable[Row] = db.execute(
        """select coalesce(claimed_by, ''), count(*), max(claimed_until) from embed_queue
           where claimed_until > ? group by 1 order by 1""",
        (iso(now),),
    )
    return [Claim(by, chunks, moment(until)) for by, chunks, until in rows]


def release(db: apsw.Connection, ids: Sequence[ChunkId]) -> None:
    """See `Store.release`."""
    db.execute(f"{_RELEASED} where chunk_id in (select value from json_each(?))", (listed(ids),))


def release_of(db: apsw.Connection, holders: Sequence[str]) -> None:
    """See `Store.release_of`."""
    db.execute(
        f"{_RELEASED} where claimed_until is not null and claimed_by in (select value from json_each(?))",
        (json.dumps(list(holders)),),
    )


def unembedded(db: apsw.Connection, ids: Sequence[MemoryId]) -> dict[MemoryId, Waiting]:
    """See `Store.unembedded`."""
    rows = db.execute(
        f"""select {_WAITING} from chunks c
            cross join embed_queue q on q.chunk_id = c.id
            where c.memory_id in (select value from json_each(?)) group by c.memory_id""",
        (listed(ids),),
    )
    return {found.memory: found for found in _waiting(rows)}


def failures(db: apsw.Connection, limit: int) -> list[Waiting]:
    """See `Store.failures`."""
    rows = db.execute(
        f"""select {_WAITING} from (
                select c.memory_id as id, max(q.tried_at) as latest from embed_queue q
                cross join chunks c on c.id = q.chunk_id
                where q.tried_at is not null group by c.memory_id order by latest desc, id limit ?
            ) f
            cross join chunks c on c.memory_id = f.id
            cross join embed_queue q on q.chunk_id = c.id
            group by c.memory_id order by f.latest desc, f.id""",
        (limit,),
    )
    return _waiting(rows)


def _waiting(rows: Iterable[Row]) -> list[Waiting]:
    return [
        Waiting(MemoryId(memory), chunks, failed, error, None if at is None else moment(at))
        for memory, chunks, failed, error, at, _ in rows
    ]


KEYWORD_ONLY = "select id from chunks where memory_id in (select id from memories where keyword_only = 1)"
"""Chunks that are never to be embedded."""


def renew(db: apsw.Connection, active: int | None) -> None:
    """
    Queue the chunks that have no vector in the active generation, and no others; failures that hold stay noted. Chunks
    that are never embedded are not queued.
    """
    db.execute(f"delete from embed_queue where chunk_id not in (select id from chunks) or chunk_id in ({KEYWORD_ONLY})")
    missing = f"insert or ignore into embed_queue (chunk_id) select id from chunks where id not in ({KEYWORD_ONLY})"
    if active is None:
        db.execute(missing)
        return
    db.execute(f"delete from embed_queue where chunk_id in (select chunk_id from vectors_{active})")
    db.execute(f"{missing} and id not in (select chunk_id from vectors_{active})")
