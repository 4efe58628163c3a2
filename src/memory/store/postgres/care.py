"""How much there is in a database, what is wrong with it, and how what is derived in it is made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import StoreDamaged
from memory.store import Counts, Generation, Salvaged
from memory.store.postgres import chunks, generations, index, lexicons, memories, strangers
from memory.store.postgres.database import many, one
from memory.store.postgres.opening import SCHEMA
from memory.store.postgres.rows import read_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.memory import MemoryId
    from memory.store.postgres.opening import Db

ROUNDING = 1e-6
"""A sum of vectors of length 1, kept up to date by adding and taking away, is off by less."""

BLOCK = 4096  # vectors read at a time


def counts(db: Db) -> Counts:
    """See `Store.counts`."""
    [(every, superseded)] = many(db, "select count(*), count(*) filter (where status = 'superseded') from memories")
    [(queued, failed)] = many(db, "select count(*), count(*) filter (where attempts > 0) from embed_queue")
    [(waiting_memories, failed_memories)] = many(
        db,
        """select count(distinct c.memory_id), count(distinct c.memory_id) filter (where q.attempts > 0)
           from embed_queue q join chunks c on c.id = q.chunk_id""",
    )
    latest = "where tried_at is not null order by tried_at desc, chunk_id desc limit 1"
    kinds = many(db, "select kind, count(*) from memories group by kind order by 2 desc, 1")
    projects = many(
        db,
        "select project, count(*) from memories where project is not null group by project order by 2 desc, 1 limit 20",
    )
    size = "select sum(pg_total_relation_size(oid))::bigint from pg_class where relkind = 'r' and relnamespace = to_regnamespace(%s)"
    return Counts(
        memories=every,
        superseded=superseded,
        chunks=index.totals(db).chunks,
        keyword_only=one(db, f"select count(*) from ({generations.KEYWORD_ONLY}) never"),
        queued=queued,
        failed=failed,
        last_error=one(db, f"select last_error from embed_queue {latest}") or "",
        waiting_memories=waiting_memories,
        failed_memories=failed_memories,
        kinds=tuple((name, count) for name, count in kinds),
        projects=tuple((name, count) for name, count in projects),
        bytes=one(db, size, (SCHEMA,)),
        trashed=one(db, "select count(*) from trash where not replaced"),
        trash_bytes=one(db, "select coalesce(sum(octet_length(line)), 0)::bigint from trash"),
        unwiped=bool(_count(db, "unwiped")),
    )


def check(db: Db) -> Iterator[str]:
    """See `Store.check`. The server looks after its own files: `amcheck` and its checksums tell of those."""
    if missing := generations.missing(db):
        yield from (f"the table vectors_{id} is missing, in which generation {id} has its vectors" for id in missing)
        return  # all else is compared with these
    for table, what in (("chunks", "chunks"), ("bodies", "a body")):
        if count := _count(db, f"memories where id not in (select memory_id from {table})"):
            yield f"{_many(count, 'memory', 'memories')} without {what}"
    if (count := _count(db, "chunks")) != (value := index.totals(db).chunks):
        yield f"chunks are counted as {value:,}, there are {count:,}"
    for generation in generations.every(db):
        yield from _generation_faults(db, generation)
    yield from (f"the lexicon of generation {id} {what}" for id, what in lexicons.term_faults(db))
    yield from _misqueued(db)
    if index.drifted(db):
        yield "the keyword index differs from the memories it should hold"


def _generation_faults(db: Db, generation: Generation) -> Iterator[str]:
    import numpy as np

    stored, vectors_stored = chunks.total(db, generation.id)
    total, count = _summed(db, generation)
    if count != vectors_stored:
        yield f"the vectors of generation {generation.id} are counted as {vectors_stored:,}, there are {count:,}"
    if len(stored) != len(total) or not np.allclose(stored, total, rtol=0, atol=ROUNDING):
        yield f"the total of generation {generation.id} is not the sum of its vectors"
    if fault := strangers.fault(db, generation.id):
        yield f"the strangers of generation {generation.id} {fault}"


def _summed(db: Db, generation: Generation) -> tuple[NDArray[np.float64], int]:
    """The sum of the vectors of a generation, float64, and how many there are."""
    import numpy as np

    total = np.zeros(generation.space.dimension)
    count = after = 0
    block = f"select id, vector_send(embedding) from vectors_{generation.id} where id > %s order by id limit {BLOCK}"
    while rows := many(db, block, (after,)):
        read = read_vectors([sent for _, sent in rows], generation.space.dimension)
        total += read.sum(axis=0, dtype=np.float64)
        count, after = count + len(rows), rows[-1][0]
    return total, count


def _misqueued(db: Db) -> Iterator[str]:
    active = generations.active(db)
    embedded = f"select chunk_id from vectors_{active}" if active else "select 0"
    absent = _count(
        db,
        f"""chunks where id not in ({embedded}) and id not in ({generations.KEYWORD_ONLY})
            and id not in (select chunk_id from embed_queue)""",
    )
    if absent:
        yield f"{_many(absent, 'chunk')} with neither a vector in the active generation nor a place in the queue"
    if surplus := _count(db, f"embed_queue where chunk_id in ({embedded})"):
        yield f"{_many(surplus, 'chunk')} in the queue although they have a vector in the active generation"
    if surplus := _count(db, f"embed_queue where chunk_id in ({generations.KEYWORD_ONLY})"):
        yield f"{_many(surplus, 'chunk')} in the queue although they are never to be embedded"


def _count(db: Db, rows: str) -> int:
    return int(one(db, f"select count(*) from {rows}"))


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def repair(db: Db) -> None:
    """See `Store.repair`."""
    for generation in generations.every(db):
        total, count = _summed(db, generation)
        chunks.set_total(db, generation.id, total, count)
        strangers.meet_anew(db, generation.id, total)
    generations.renew(db, generations.active(db))
    index.anew(db)
    for id, _ in lexicons.term_faults(db):
        lexicons.forget_terms(db, id)


def salvaged(db: Db, after: MemoryId, limit: int) -> list[Salvaged]:
    """See `Store.salvaged`."""
    ids = many(db, "select id from memories where id > %s order by id limit %s", (after, limit))
    return [_salvaged(db, id) for (id,) in ids]


def _salvaged(db: Db, id: MemoryId) -> Salvaged:
    try:
        return Salvaged(id, memories.details(db, id))
    except StoreDamaged as error:
        return Salvaged(id, None, fault=error)
