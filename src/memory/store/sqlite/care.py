"""How much there is in a database, what is wrong with it, and how what is derived in it is made anew."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import apsw

from memory.schema.errors import StoreDamaged, StoreReadOnly
from memory.store import UNSEEN, Counts, care, sessions
from memory.store.generations import every
from memory.store.narrow import numbers_in
from memory.store.sqlite import damage, derived, posting_file, vectors
from memory.store.sqlite.opening import missing
from memory.store.sqlite.rows import SqliteConnection, chunks
from memory.store.sqlite.translate import cut_log, no_room, translated, without_room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.store.records import Row
    from memory.store.sqlite.database import Database

TOLD = 20  # texts that cannot be read that are named
NAMED = 3  # faults of the file that are quoted


def counts(db: SqliteConnection, path: str) -> Counts:
    """See `Store.counts`."""
    pages, size = db.value("pragma page_count"), db.value("pragma page_size")
    postings = posting_file.size(db, path)
    return sessions.counts(db, chunks=chunks(db), bytes=pages * size, postings=postings)


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
    return (f"the database is truncated: its last {lacking:,} bytes are missing",) if lacking else ()


def check(database: Database) -> tuple[str, ...]:
    """
    See `Store.check`. Of a file that is damaged nothing else is said.

    In two transactions: only the last, for the keyword index, keeps others from writing.
    """
    with database.read() as db:
        found = _damage(db, "integrity_check")
        harm = [f"the file is damaged in {care.many(len(found), 'place')}: {'; '.join(found[:NAMED])}"] if found else []
        if harm := [*harm, *_unreadable(db)] or [*_misfits(db)]:
            return tuple(harm)
        torn = [one.id for one in every(db) if not vectors.has_table(db, one.id)]
        found = [*_orphans(db), *(f"index version {id} lacks tables or triggers of its vectors" for id in torn)]
        found += care.faults(db, torn)
        found += [f"the table vectors_{id} belongs to no index version" for id in _stray(db)]
        found += derived.faults(db, database.path)
    try:
        with database.write(durable=False) as db:
            return (*found, *_drifted(db))
    except StoreReadOnly:
        return (*found, UNSEEN)


def _drifted(db: SqliteConnection) -> Iterator[str]:
    try:
        # Formally a write. With rank 1, it compares with what the view says.
        db.execute("insert into passages_fts (passages_fts, rank) values ('integrity-check', 1)")
    except apsw.CorruptError:
        yield "the keyword index differs from the memories it should hold"


def _damage(db: SqliteConnection, check: str) -> list[str]:
    """What SQLite says of its file, less what it says of the keyword index, which is looked at by itself."""
    try:
        rows: list[Row] = db.execute(f"pragma {check}").fetchall()
    except (apsw.SQLError, UnicodeDecodeError) as error:  # a condition of a table stumbled over what stands there
        return [str(error)]
    lines = [line for (text,) in rows for line in str(text).splitlines()]
    return [line for line in lines if line != "ok" and not line.startswith("***") and "fts5" not in line.lower()]


def _unreadable(db: SqliteConnection) -> Iterator[str]:
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


def first_fault(db: SqliteConnection) -> str:
    """What is wrong with the file or what stands in it, if something is; empty if all can be read."""
    if found := _damage(db, "quick_check(1)"):
        return found[0]
    return next(chain(damage.faults(db), _misfits(db)), "")


def _misfits(db: SqliteConnection) -> Iterator[str]:
    """What keeps the vectors of a generation from being read whole."""
    sizes: list[tuple[int, int]] = list(db.execute("select id, dimension from generations"))  # as they are declared
    for id, dimension in sizes:
        if not vectors.has_table(db, id):
            continue
        held = db.execute(f"select length(embeddings) / 6 from vector_blocks_{id} limit 1").get
        if held is not None and numbers_in(held) != dimension:
            yield f"the vectors of index version {id} have {numbers_in(held):,} numbers, not {dimension:,}"
        for table, condition in vectors.lone_rows(id).items():
            if count := care.count(db, f"{table} where {condition}"):
                yield f"{care.many(count, 'row')} of {table} make no vector"


def _orphans(db: SqliteConnection) -> Iterator[str]:
    tables = [str(table) for table, *_ in db.execute("pragma foreign_key_check")]
    for table in sorted(set(tables)):
        yield f"{care.many(tables.count(table), 'row')} of {table} belong to something that is gone"


def _stray(db: SqliteConnection) -> list[int]:
    """Generations that are gone, and whose tables of vectors are not."""
    rows = db.execute(
        """select cast(substr(name, 9) as integer) as id from sqlite_schema where name glob 'vectors_[0-9]*'
           and id not in (select id from generations) order by id"""
    )
    return [int(id) for (id,) in rows]


def repair(db: SqliteConnection, path: str) -> None:
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
    for generation in every(db):
        vectors.mend_table(db, generation.id, generation.space.dimension)
        derived.note_all(db, generation.id)
    _remove_orphans(db)
    for id in _stray(db):
        vectors.drop_table(db, id)
    db.execute("insert into passages_fts (passages_fts) values ('rebuild')")
    derived.note_all(db)
    care.mend(db)
    for name in [name for (name,) in db.execute("select name from counters")]:
        db.execute(f"update counters set value = (select count(*) from {name}) where name = ?", (name,))


def _remove_orphans(db: SqliteConnection) -> None:
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
