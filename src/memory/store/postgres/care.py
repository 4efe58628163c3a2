"""How much there is in a database, what is wrong with it, and how what is derived in it is made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import StoreDamaged
from memory.store import Counts, Salvaged, care, sessions
from memory.store.memories import details
from memory.store.postgres import generations, index
from memory.store.postgres.opening import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.schema.memory import MemoryId
    from memory.store.postgres.rows import Db


def counts(db: Db) -> Counts:
    """See `Store.counts`."""
    size = "select sum(pg_total_relation_size(oid))::bigint from pg_class where relkind = 'r' and relnamespace = to_regnamespace(%s)"
    return sessions.counts(
        db,
        chunks=index.totals(db).chunks,
        bytes=db.value(size, (SCHEMA,)),
    )


def check(db: Db) -> Iterator[str]:
    """See `Store.check`. The server looks after its own files: `amcheck` and its checksums tell of those."""
    if missing := generations.missing(db):
        yield from (f"the table vectors_{id} is missing, in which generation {id} has its vectors" for id in missing)
        return  # all else is compared with these
    yield from care.faults(db)
    if index.drifted(db):
        yield "the keyword index differs from the memories it should hold"


def repair(db: Db) -> None:
    """See `Store.repair`."""
    index.anew(db)
    care.mend(db)


def salvaged(db: Db, after: MemoryId, limit: int) -> list[Salvaged]:
    """See `Store.salvaged`."""
    ids = db.rows("select id from memories where id > %s order by id limit %s", (after, limit))
    return [_salvaged(db, id) for (id,) in ids]


def _salvaged(db: Db, id: MemoryId) -> Salvaged:
    try:
        return Salvaged(id, details(db, id))
    except StoreDamaged as error:
        return Salvaged(id, None, fault=error)
