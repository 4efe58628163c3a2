"""How much there is in a database, what is wrong with it, and how what is derived in it is made anew."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import apsw

from memory.schema.errors import StoreDamaged, StoreReadOnly
from memory.store import UNSEEN, Counts, Generation
from memory.store.sqlite import damage, derived, generations, lexicons, posting_file, removals, strangers
from memory.store.sqlite.opening import missing
from memory.store.sqlite.room import cut_log, without_room
from memory.store.sqlite.rows import chunks, read
from memory.store.sqlite.translate import no_room, translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from memory.store.records import Row
    from memory.store.sqlite.database import Database

ROUNDING = 1e-6
"""A sum of vectors of length 1, kept up to date by adding and taking away, is off by less."""

BLOCK = 4096  # vectors read at a time
TOLD = 20  # texts that cannot be read that are named
NAMED = 3  # faults of the file that are quoted


def counts(db: apsw.Connection, path: str) -> Counts:
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
        chunks=chunks(db),
        keyword_only=one(f"select count(*) from ({generations.KEYWORD_ONLY})"),
        queued=queued,
        failed=failed,
        last_error=one(f"select last_error from embed_queue {latest}") or "",
        waiting_memories=waiting_memories,
        failed_memories=failed_memories,
        kinds=tuple((name, count) for name, count in kinds),
        projects=tuple((name, count) for name, count in projects),
        bytes=one("pragma page_count") * one("pragma page_size"),
        postings=posting_file.size(db, path),
        trashed=one("select count(*) from trash where not replaced"),
        trash_bytes=one("select ifnull(sum(length(cast(line as blob))), 0) from trash"),
        unwiped=bool(one("select count(*) from unwiped")),
    )


def wipe(database: Database) -> bool:
    """
    See `Store.wipe`.

    `pragma secure_delete` alone would not do: cells that were moved from page to page leave copies behind, and the
    keyword index keeps the words of what was removed until its segments are merged.
    """
    with database.write() as db:
        derived.forget(db, database.path)
        db.execute("insert into passages_fts (passages_fts) values ('optimize')")
    with translated(database.path):
        db = database.writable()
        try:
            db.execute("vacuum")
        except apsw.Error as error:
            full = without_room(db, error)
            cut_log(db)  # the log holds what was written of the new file until then
            if full:
                raise no_room(database.path) from error
            raise
        busy, _, _ = db.execute("pragma wal_checkpoint(truncate)").get
    if busy:
        return False
    with database.write(durable=False, frees=True) as db:
        derived.forget(
            db, database.path
        )  # who made one meanwhile may have read what was removed; now nobody reads that
        db.execute("delete from unwiped")
    return True


def cut(database: Database) -> tuple[str, ...]:
    """See `Store.check`, quick."""
    with database.read() as db:
        lacking = missing(db, database.path)
    return (f"the database is cut: its last {lacking:,} bytes are missing",) if lacking else ()


def check(database: Database) -> tuple[str, ...]:
    """
    See `Store.check`. Of a file that is damaged nothing else is said.

    In two transactions: only the last, for the keyword index, keeps others from writing.
    """
    with database.read() as db:
        found = _damage(db, "integrity_check")
        harm = [f"the file is damaged in {_many(len(found), 'place')}: {'; '.join(found[:NAMED])}"] if found else []
        if harm := [*harm, *_unreadable(db)] or [*_misfits(db)]:
            return tuple(harm)
        found = [*_orphans(db), *_incomplete(db), *_miscounted(db)]
        for generation in generations.every(db):
            found += _generation_faults(db, generation)
        found += [f"the lexicon of generation {id} {what}" for id, what in lexicons.term_faults(db)]
        found += [f"the table vectors_{id} belongs to no generation" for id in _stray(db)]
        found += _misqueued(db)
        found += derived.faults(db, database.path)
    try:
        with database.write(durable=False) as db:
            return (*found, *_drifted(db))
    except StoreReadOnly:
        return (*found, UNSEEN)


def _drifted(db: apsw.Connection) -> Iterator[str]:
    try:
        # Formally a write. With rank 1, it compares with what the view says.
        db.execute("insert into passages_fts (passages_fts, rank) values ('integrity-check', 1)")
    except apsw.CorruptError:
        yield "the keyword index differs from the memories it should hold"


def _damage(db: apsw.Connection, check: str) -> list[str]:
    """What SQLite says of its file, less what it says of the keyword index, which is looked at by itself."""
    try:
        rows: list[Row] = db.execute(f"pragma {check}").fetchall()
    except (apsw.SQLError, UnicodeDecodeError) as error:  # a condition of a table stumbled over what stands there
        return [str(error)]
    lines = [line for (text,) in rows for line in str(text).splitlines()]
    return [line for line in lines if line != "ok" and not line.startswith("***") and "fts5" not in line.lower()]


def _unreadable(db: apsw.Connection) -> Iterator[str]:
    """The first texts and memories that cannot be read, and how many more there are."""
    lines = 0
    try:
        for lines, fault in enumerate(damage.faults(db), start=1):
            if lines <= TOLD:
                yield fault
    except apsw.CorruptError as error:
        yield f"not every text can be read: {error}"
    if lines > TOLD:
        yield f"and {lines - TOLD:,} more texts or memories cannot be read"


def first_fault(db: apsw.Connection) -> str:
    """What is wrong with the file or what stands in it, if something is; empty if all can be read."""
    if found := _damage(db, "quick_check(1)"):
        return found[0]
    return next(chain(damage.faults(db), _misfits(db)), "")


def _misfits(db: apsw.Connection) -> Iterator[str]:
    """What keeps the vectors of a generation from being read whole."""
    sizes: list[tuple[int, int]] = list(db.execute("select id, dimension from generations"))  # as they are declared
    for id, dimension in sizes:
        if not generations.has_table(db, id):
            continue
        held = db.execute(f"select length(embeddings) / 12 from vector_blocks_{id} limit 1").get
        if held not in {None, dimension}:
            yield f"the vectors of generation {id} have {held:,} numbers, not {dimension:,}"
        for table, condition in generations.lone(id).items():
            if count := _count(db, f"{table} where {condition}"):
                yield f"{_many(count, 'row')} of {table} make no vector"


def _orphans(db: apsw.Connection) -> Iterator[str]:
    tables = [str(table) for table, *_ in db.execute("pragma foreign_key_check")]
    for table in sorted(set(tables)):
        yield f"{_many(tables.count(table), 'row')} of {table} belong to something that is gone"


def _incomplete(db: apsw.Connection) -> Iterator[str]:
    for table, what in (("chunks", "chunks"), ("bodies", "a body")):
        if count := _count(db, f"memories where id not in (select memory_id from {table})"):
            yield f"{_many(count, 'memory', 'memories')} without {what}"


def _miscounted(db: apsw.Connection) -> Iterator[str]:
    for name, value in db.execute("select name, value from counters").fetchall():
        if (count := _count(db, str(name))) != value:
            yield f"{name} are counted as {value:,}, there are {count:,}"


def _generation_faults(db: apsw.Connection, generation: Generation) -> Iterator[str]:
    if not generations.has_table(db, generation.id):
        yield f"generation {generation.id} has not all tables and triggers of its vectors"
        return
    import numpy as np

    stored, vectors_stored = generations.total(db, generation.id)
    total, count = _summed(db, generation)
    if count != vectors_stored:
        yield f"the vectors of generation {generation.id} are counted as {vectors_stored:,}, there are {count:,}"
    if len(stored) != len(total) or not np.allclose(stored, total, rtol=0, atol=ROUNDING):
        yield f"the total of generation {generation.id} is not the sum of its vectors"
    if fault := strangers.fault(db, generation.id):
        yield f"the strangers of generation {generation.id} {fault}"


def _summed(db: apsw.Connection, generation: Generation) -> tuple[NDArray[np.float64], int]:
    """The sum of the vectors of a generation, float64, and how many there are."""
    import numpy as np

    dimension, count = generation.space.dimension, 0
    total = np.zeros(dimension)
    rows = iter(db.execute(f"select embedding from vectors_{generation.id}"))
    while block := list(islice(rows, BLOCK)):
        joined = b"".join([embedding for (embedding,) in block])
        total += np.frombuffer(joined, "<f4").reshape(len(block), -1).sum(axis=0, dtype=np.float64)
        count += len(block)
    return total, count


def _misqueued(db: apsw.Connection) -> Iterator[str]:
    active = generations.active(db)
    if active and not generations.has_table(db, active):
        return  # said of the generation
    embedded = f"select chunk_id from vectors_{active}" if active else "select 0"
    absent = _count(
        db,
        f"chunks where id not in ({embedded}) and id not in ({generations.KEYWORD_ONLY}) and id not in (select chunk_id from embed_queue)",
    )
    if absent:
        yield f"{_many(absent, 'chunk')} with neither a vector in the active generation nor a place in the queue"
    if surplus := _count(db, f"embed_queue where chunk_id in ({embedded})"):
        yield f"{_many(surplus, 'chunk')} in the queue although they have a vector in the active generation"
    if surplus := _count(db, f"embed_queue where chunk_id in ({generations.KEYWORD_ONLY})"):
        yield f"{_many(surplus, 'chunk')} in the queue although they are never to be embedded"


def _stray(db: apsw.Connection) -> list[int]:
    """Generations that are gone, and whose tables of vectors are not."""
    rows = db.execute(
        """select cast(substr(name, 9) as integer) as id from sqlite_schema where name glob 'vectors_[0-9]*'
           and id not in (select id from generations) order by id"""
    )
    return [int(id) for (id,) in rows]


def _count(db: apsw.Connection, rows: str) -> int:
    return int(db.execute(f"select count(*) from {rows}").get)


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def repair(db: apsw.Connection, path: str) -> None:
    """
    See `Store.repair`. What belongs to something that is gone goes too, as if it had been there when that went.

    Raises:
        StoreDamaged: The file itself is damaged: to write into it could destroy more.
    """
    db.execute("reindex")
    if found := _damage(db, "quick_check"):
        raise StoreDamaged(
            f"{path} is damaged ({found[0]})", hint="It was left as it is. Restore it from a copy or an export."
        )
    derived.forget(db, path)
    for generation in generations.every(db):
        generations.mend(db, generation.id, generation.space.dimension)
    _remove_orphans(db)
    for id in _stray(db):
        generations.drop_table(db, id)
    for generation in generations.every(db):
        _sum_anew(db, generation)
    generations.renew(db, generations.active(db))
    db.execute("insert into passages_fts (passages_fts) values ('rebuild')")
    removals.note_all(db)
    for id, _ in lexicons.term_faults(db):
        lexicons.forget_terms(db, id)
    for name in [name for (name,) in db.execute("select name from counters")]:
        db.execute(f"update counters set value = (select count(*) from {name}) where name = ?", (name,))


def _remove_orphans(db: apsw.Connection) -> None:
    """Do what the foreign keys say of a parent that goes; programs that switch them off leave it undone."""
    rows = db.execute("pragma foreign_key_check").fetchall()
    if any(table == "chunks" for table, *_ in rows):
        db.execute("delete from lexicons")  # nobody knows what they said
    for table, row in {(table, row) for table, row, *_ in rows}:
        if table == "memories":  # both at once: SQLite refuses to mend one while the other is broken
            db.execute(
                """update memories set parent_id = (select p.id from memories p where p.id = memories.parent_id),
                       superseded_by = (select s.id from memories s where s.id = memories.superseded_by)
                   where id = ?""",
                (row,),
            )
        elif row is None:  # a table without rowids: all of it that has no parent
            for _, _, parent, column, *_ in db.execute(f"pragma foreign_key_list({table})").fetchall():
                db.execute(f"delete from {table} where {column} not in (select rowid from {parent})")
        else:
            db.execute(f"delete from {table} where rowid = ?", (row,))


def _sum_anew(db: apsw.Connection, generation: Generation) -> None:
    """Count and sum up its vectors, and let copies of them in memory be read again."""
    removals.note_all(db, generation.id)
    total, count = _summed(db, generation)
    db.execute(
        "update generations set total = ?, vectors = ?, changes = changes + 1 where id = ?",
        (total.astype("<f8").tobytes(), count, generation.id),
    )
    if not strangers.meet_anew(db, generation.id, total):
        strangers.forget(db, generation.id)  # of another length
