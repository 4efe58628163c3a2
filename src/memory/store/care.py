"""What is wrong with what every store keeps, and how what is derived of vectors is made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema import np
from memory.store import generations, learned, strangers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from memory.store.shared import Connection
    from memory.store.values import Generation

ROUNDING = 1e-6
"""A sum of vectors of length 1, kept up to date by adding and taking away, is off by less."""

BLOCK = 4096  # vectors read at a time


def faults(db: Connection, without: Collection[int] = ()) -> Iterator[str]:
    """
    A sentence each.

    Args:
        without: Generations that have not all tables of their vectors.
    """
    for table, what in (("chunks", "chunks"), ("bodies", "a body")):
        if absent := count(db, f"memories where id not in (select memory_id from {table})"):
            yield f"{many(absent, 'memory', 'memories')} without {what}"
    counted = db.value("select value from counters where name = 'chunks'")
    if counted is not None and (there := count(db, "chunks")) != counted:
        yield f"chunks are counted as {counted:,}, there are {there:,}"
    for generation in generations.every(db):
        if generation.id not in without:
            yield from _generation_faults(db, generation)
    yield from (f"the term vectors of index version {id} {what}" for id, what in _lexicon_faults(db))
    if generations.active(db) not in without:
        yield from _misqueued(db)


def _generation_faults(db: Connection, generation: Generation) -> Iterator[str]:
    stored, vectors_stored = generations.total(db, generation.id)
    total, there = _summed(db, generation)
    if there != vectors_stored:
        yield f"the vectors of index version {generation.id} are counted as {vectors_stored:,}, there are {there:,}"
    if len(stored) != len(total) or not np.allclose(stored, total, rtol=0, atol=ROUNDING):
        yield f"the sum of index version {generation.id} is not the sum of its vectors"
    if fault := strangers.fault(db, generation.id):
        yield f"the baseline questions of index version {generation.id} {fault}"


def _summed(db: Connection, generation: Generation) -> tuple[NDArray[np.float64], int]:
    """The sum of the vectors of a generation, float64, and how many there are."""
    total = np.zeros(generation.space.dimension)
    there = last = 0
    while True:
        rows, block = db.vectors(generation.id, f"number > ? order by number limit {BLOCK}", (last,))
        if not rows:
            return total, there
        total += block.sum(axis=0, dtype=np.float64)
        there, last = there + len(rows), rows[-1][0]


def _misqueued(db: Connection) -> Iterator[str]:
    active, never = generations.active(db), generations.keyword_only(db)
    embedded = f"select chunk_id from vectors_{active}" if active else "select 0"
    queued = "select chunk_id from embed_queue"
    if absent := count(db, f"chunks where id not in ({embedded}) and id not in ({never}) and id not in ({queued})"):
        yield f"{many(absent, 'chunk')} with neither a vector in the active index version nor a place in the queue"
    if surplus := count(db, f"embed_queue where chunk_id in ({embedded})"):
        yield f"{many(surplus, 'chunk')} in the queue although they have a vector in the active index version"
    if surplus := count(db, f"embed_queue where chunk_id in ({never})"):
        yield f"{many(surplus, 'chunk')} in the queue although they are never to be embedded"


def _lexicon_faults(db: Connection) -> list[tuple[int, str]]:
    """Generations whose term vectors are not as `memory.store.term_vectors.TermVectors` promises, and what is wrong with each."""
    counts = db.rows(
        f"""select l.generation, 'has codes or a basis of another length' from lexicons l
            where not coalesce({generations.legible(db.BYTES)}, false) or exists (
                select 1 from lexicon_terms t where t.generation = l.generation and length(t.code) <> l.axes
            )
            union all
            select l.generation, 'has miscounted its terms' from lexicons l
            where terms <> (select count(*) from lexicon_terms t where t.generation = l.generation)"""
    )
    return [*counts, *((generation, "knows a word that no chunk holds") for generation in db.outlived())]


def count(db: Connection, rows: str) -> int:
    return int(db.value(f"select count(*) from {rows}"))


def many(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def mend(db: Connection) -> None:
    """Count and sum up the vectors of each generation, compare its strangers anew, and queue what has no vector."""
    for generation in generations.every(db):
        total, there = _summed(db, generation)
        generations.set_total(db, generation.id, total, there)
        if not strangers.meet_anew(db, generation.id, total):
            strangers.forget(db, generation.id)  # of another length
    generations.renew(db, generations.active(db))
    for id, _ in _lexicon_faults(db):
        learned.forget_terms(db, id)
