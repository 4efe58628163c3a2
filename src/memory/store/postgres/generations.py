"""The tables of the vectors of generations on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store.postgres.opening import SCHEMA

if TYPE_CHECKING:
    from memory.store.postgres.rows import Db

_TABLE = """
drop table if exists vectors_{id};
create table vectors_{id} (
    id        bigint generated always as identity primary key,
    chunk_id  bigint not null references chunks on delete cascade,
    memory_id bigint not null,
    place     bigint not null,
    embedding vector({dimension}) not null,
    unique (chunk_id, place)
);
create index vectors_{id}_by_memory on vectors_{id} (memory_id)
"""

BESIDE = 1900
"""Vectors of more numbers do not fit into their rows, and are kept beside them."""


def table(db: Db, id: int, dimension: int) -> None:
    """Make the table of a generation's vectors."""
    for statement in _TABLE.format(id=id, dimension=dimension).split(";"):  # a pipeline takes one at a time
        db.execute(statement)
    if dimension <= BESIDE:
        db.execute(f"alter table vectors_{id} alter column embedding set storage plain")


_LEFT = """
select substring(c.relname from 9) from pg_class c
where c.relkind = 'r' and c.relnamespace = to_regnamespace(%s) and c.relname ~ '^vectors_[0-9]+$'
and not exists (select from generations g where 'vectors_' || g.id = c.relname)
"""

_DROP = """
do $$ begin
    lock table chunks, vectors_{id} in access exclusive mode {waiting};
    drop table vectors_{id};
exception when lock_not_available or undefined_table then null;
end $$
"""


def sweep(db: Db, *, patient: bool = False) -> None:
    """
    Drop the tables of generations that are gone, if nobody reads them or the chunks, to which they refer: whoever waits for
    a reader to end makes all others wait. What is left is taken when another generation goes, by `memory doctor --fix` and
    by `wipe`.

    Args:
        patient: Wait for readers, as long as for any lock.
    """
    for (id,) in db.rows(_LEFT, (SCHEMA,)):
        db.execute(_DROP.format(id=id, waiting="" if patient else "nowait"))


def missing(db: Db) -> list[int]:
    """Generations that have no table of vectors."""
    return [
        id for (id,) in db.rows("select id from generations where to_regclass('vectors_' || id) is null order by id")
    ]
