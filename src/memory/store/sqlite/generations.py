"""The tables of a generation's vectors in a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.store.narrow import size

if TYPE_CHECKING:
    import apsw


# Ordinary tables: they cascade with their chunks and take any k, which a vec0 table does not. A block has the embeddings
# of six rows, see narrow.py: of 384 numbers they fill a page.
_TABLES = """
create table if not exists vector_rows_{id} (
    row      integer primary key,                     -- in the order in which they were written
    chunk_id integer not null references chunks on delete cascade,
    window   integer not null,
    unique (chunk_id, window)
) strict;

-- Before the blocks: `integrity_check` leaves free pages out where a view is the last of all tables.
create view if not exists vectors_{id} as
select r.row, r.chunk_id, r.window, substr(b.embeddings, r.row % 6 * {bytes} + 1, {bytes}) as embedding
from vector_rows_{id} r
cross join vector_blocks_{id} b on b.block = r.row / 6;

create table if not exists vector_blocks_{id} (
    block      integer primary key,                   -- of the rows 6 * block and the five behind it
    embeddings blob not null check (length(embeddings) = 6 * {bytes})  -- zeros where there is no row
) strict;

create trigger if not exists vector_{id}_added instead of insert on vectors_{id} begin
    insert into vector_rows_{id} (row, chunk_id, window) values (new.row, new.chunk_id, new.window);
    insert into vector_blocks_{id} (block, embeddings)
    select row / 6, zeroblob(6 * {bytes}) from vector_rows_{id} where chunk_id = new.chunk_id and window = new.window
    on conflict do nothing;
    update vectors_{id} set embedding = new.embedding where chunk_id = new.chunk_id and window = new.window;
end;

create trigger if not exists vector_{id}_changed instead of update of embedding on vectors_{id} begin
    update vector_blocks_{id}
    set embeddings = cast(
        substr(embeddings, 1, old.row % 6 * {bytes}) || new.embedding || substr(embeddings, (old.row % 6 + 1) * {bytes} + 1)
        as blob
    )
    where block = old.row / 6;
end;

create trigger if not exists vector_{id}_removed instead of delete on vectors_{id} begin
    delete from vector_rows_{id} where row = old.row;
end;

-- Also where a chunk goes by itself: no vector outlives it.
create trigger if not exists vector_{id}_gone after delete on vector_rows_{id} begin
    delete from vector_blocks_{id} where block = old.row / 6
    and not exists (select 1 from vector_rows_{id} where row between old.row / 6 * 6 and old.row / 6 * 6 + 5);
    update vector_blocks_{id}
    set embeddings = cast(
        substr(embeddings, 1, old.row % 6 * {bytes}) || zeroblob({bytes}) || substr(embeddings, (old.row % 6 + 1) * {bytes} + 1)
        as blob
    )
    where block = old.row / 6;
end;
"""


def table(db: apsw.Connection, generation: int, dimension: int) -> None:
    """Make the tables of a generation's vectors, as far as they are not there."""
    db.execute(_TABLES.format(id=generation, bytes=size(dimension)))


def has_table(db: apsw.Connection, id: int) -> bool:
    """Whether the tables of a generation's vectors are there, with their view and its triggers."""
    parts = re.findall(r"if not exists (\w+)", _TABLES.format(id=id, bytes=0))
    return {name for (name,) in db.execute("select name from sqlite_schema")}.issuperset(parts)


def lone(id: int) -> dict[str, str]:
    """Which rows of a generation's tables, by their names, make no vector: rows without a block, blocks without a row."""
    return {
        f"vector_rows_{id}": f"row < 0 or row / 6 not in (select block from vector_blocks_{id})",
        f"vector_blocks_{id}": f"not exists (select 1 from vector_rows_{id} where row between 6 * block and 6 * block + 5)",
    }


def mend(db: apsw.Connection, id: int, dimension: int) -> None:
    """Make what is missing of the tables of a generation's vectors, and take away what makes no vector."""
    table(db, id, dimension)
    db.execute(f"drop trigger vector_{id}_gone")  # it would write beside the block of a row below 0
    for name, condition in lone(id).items():
        db.execute(f"delete from {name} where {condition}")
    table(db, id, dimension)


def drop_table(db: apsw.Connection, generation: int) -> None:
    """Take away the tables of the vectors of a generation that is gone."""
    db.execute(
        f"drop view if exists vectors_{generation}; drop table if exists vector_blocks_{generation}; drop table if exists vector_rows_{generation}"
    )
