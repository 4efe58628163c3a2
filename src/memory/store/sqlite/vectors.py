"""The vectors of chunks, exact nearest neighbours inside a scope, and the tables of each index version."""

from __future__ import annotations

import re
from math import isfinite
from struct import pack
from typing import TYPE_CHECKING, cast

from memory.schema.answer import Ranking
from memory.schema.query import EVERYTHING, Scope
from memory.store import State
from memory.store.generations import need, open_generation, renew
from memory.store.narrow import ZERO, size, widened
from memory.store.sqlite import signatures
from memory.store.sqlite.matrix import Matrix
from memory.store.sqlite.memories import add_vectors, forget_vectors
from memory.store.sqlite.rows import (
    BROAD,
    FEW,
    OWNER,
    Members,
    SqliteConnection,
    excerpts,
    inside,
    listed,
    rarest,
    where,
    within,
)
from memory.store.vectors import VectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.memory import ChunkId, Excerpt, MemoryId
    from memory.schema.space import Plain, Vectors, Window
    from memory.store.records import Row, Values
    from memory.store.sqlite.database import Database
    from memory.store.sqlite.held import Inside

SLACK = 20  # chunks ranked beyond k in a broad scope, for the few that it leaves out

DISTANCE = "vec_distance_cosine(vec_sub(raised(embedding), ?), ?)"
"""
What lies between an embedding and `compared`: a cosine is of directions, so that it needs no step. `raised` is that of
`memory.store.narrow`.
"""


def compared(vector: bytes) -> tuple[bytes, bytes]:
    """The values of `DISTANCE` for a vector in float32."""
    return pack("<f", ZERO) * (len(vector) // 4), vector


class SqliteVectors(VectorIndex):
    """See `memory.store.vectors.VectorIndex`."""

    _db: Database

    def __init__(
        self,
        database: Database,
        *,
        exact: bool = False,
        members: Members = lambda _db, _scope: None,
    ) -> None:
        """
        Args:
            exact: See `Matrix`.
            members: See `memory.store.sqlite.postings.Postings.members`.
        """
        super().__init__(database)
        self._members = members
        self._matrix = Matrix(database, exact=exact)
        self._signs = not exact

    def pending(self, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        with self._db.read() as db:
            need(db, generation)
            db.unmap()
            return excerpts(
                db,
                f"""chunks c {OWNER}
                    where c.id > ? and m.keyword_only = 0 and not exists (select 1 from vectors_{generation} v where v.chunk_id = c.id)
                    order by c.id limit ?""",
                (after, limit),
            )

    def set_vectors(self, generation: int, vectors: Vectors | None, windows: Sequence[Window]) -> int:
        with self._db.write(durable=False) as db:  # lost vectors can be made again
            if (into := open_generation(db, generation)) is None:
                return 0
            named = listed({window.chunk for window in windows})
            rows = db.execute(
                """select c.id from chunks c cross join memories m on m.id = c.memory_id
                   where c.id in (select value from json_each(?)) and m.keyword_only = 0""",
                (named,),
            )
            alive = {int(id) for (id,) in rows}
            forget_vectors(db, generation, alive)
            if vectors is None:
                if into.state is State.ACTIVE:
                    renew(db, generation)
                return 0
            gone = "delete from begun where generation = ? and chunk_id in (select value from json_each(?))"
            db.execute(gone, (generation, listed(alive)))
            into = open_generation(db, generation) or into  # without the vectors that were there
            add_vectors(db, into, vectors, [window for window in windows if window.chunk in alive])
            if into.state is State.ACTIVE:
                db.execute(
                    "delete from embed_queue where chunk_id in (select value from json_each(?))", (listed(alive),)
                )
            return len(alive)

    def by_vector(self, generation: int, vector: Vectors | Plain, scope: Scope, k: int) -> Ranking:
        with self._db.read(vectors=True) as db:
            query = vector.tobytes()
            looks: list[tuple[int, Callable[[], Inside] | None, Scope]] = [
                (k, lambda: self._inside(db, scope), EVERYTHING)
            ]
            if scope in BROAD:  # it leaves out a few; too many where much was superseded
                looks[:0] = [(count, None, scope) for count in (k + SLACK, 8 * k + SLACK)[: 1 + self._matrix.signed]]
            for count, some, further in looks:
                among, ranking = self._matrix.most_similar(db, generation, query, count, inside=some)
                if some is None or among is not None:
                    if ranking is None:
                        ranking = _ranked(db, generation, query, count, among=among)
                    found = inside(db, ranking, further)
                    if len(ranking.chunks) < count or len(found.chunks) >= k:
                        return found if len(found.chunks) <= k else found[:k]
                if among is None:  # to look twice in one search would make the copy
                    break
            condition, values = _narrowed(db, scope, self._members(db, scope))
            rows = db.execute(
                f"""select v.chunk_id, c.memory_id, 1 - min({DISTANCE}) as cosine
                    from memories m
                    cross join chunks c on c.memory_id = m.id
                    cross join vectors_{generation} v on v.chunk_id = c.id
                    where {condition}
                    group by v.chunk_id order by cosine desc, v.chunk_id desc limit ?""",
                (*compared(query), *values, k),
            ).fetchall()
            return _ranking(rows)

    def _inside(self, db: SqliteConnection, scope: Scope) -> Inside:
        members = self._members(db, scope)
        return within(db, scope) or [] if members is None else members

    def memory_similarities(self, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        with self._db.read(vectors=True) as db:
            exactly = scope.among is not None and scope == EVERYTHING._replace(among=scope.among)
            ids = list(scope.among or ()) if exactly else within(db, scope) or []
            found = self._matrix.memory_similarities(db, generation, vector.tobytes(), ids)
            if found is None:
                rows: Iterable[Row] = db.execute(
                    f"""select c.memory_id, 1 - min({DISTANCE})
                        from json_each(?) wanted
                        cross join chunks c on c.memory_id = wanted.value
                        cross join vectors_{generation} v on v.chunk_id = c.id
                        group by c.memory_id""",
                    (*compared(vector.tobytes()), listed(ids)),
                )
                found = dict(rows)
            return cast("dict[MemoryId, float]", {id: cosine for id, cosine in found.items() if _known(cosine)})

    def cosines(
        self,
        generation: int,
        vector: Vectors | Plain,
        ids: Sequence[ChunkId],
        *,
        other: Vectors | Plain | None = None,
        shown: Vectors | Plain | None = None,
    ) -> Mapping[ChunkId, tuple[float, float, float]]:
        with self._db.read(vectors=True) as db:
            queries = [(vector if one is None else one).tobytes() for one in (vector, other, shown)]
            held = self._matrix.cosines(db, generation, queries, ids)
            found = _cosines(db, generation, queries, ids) if held is None else held
            return cast("dict[ChunkId, tuple[float, float, float]]", found)

    def heads(self, generation: int, after: MemoryId, limit: int) -> tuple[Sequence[MemoryId], Vectors]:
        with self._db.read() as db:
            need(db, generation)
            dimension = db.execute("select dimension from generations where id = ?", (generation,)).get
            found: list[Row] = db.execute(
                f"""select c.memory_id, v.embedding from chunks c
                    cross join vectors_{generation} v on v.chunk_id = c.id and v.window = 0
                    where c.chunk_index = 0 and c.memory_id > ? order by c.memory_id limit ?""",
                (after, limit),
            ).fetchall()
            return [id for id, _ in found], widened(b"".join([embedding for _, embedding in found]), dimension)

    def unsigned(self) -> bool:
        if not self._signs or self._db.frozen is not None:
            return False
        return self._matrix.unusable is not None or signatures.worth(self._db)

    def sign(self, going: Callable[[], bool] = lambda: True) -> bool:
        if not self.unsigned():
            return False
        self._matrix.unusable, self._signs = None, False  # not again at the next save, if the disk is full
        made = signatures.make(self._db, going)
        self._signs = True
        return made

    def signed(self, generation: int) -> int:
        with self._db.read() as db:
            return signatures.signed(db, self._db.path, generation) if self._signs else 0


def _narrowed(db: SqliteConnection, scope: Scope, members: NDArray[np.int64] | None) -> tuple[str, Values]:
    """A condition on memories as m, and its values: those of a scope, of which the members are known if they are few."""
    if members is None or len(members) > FEW:
        return where(scope, rarest(db, scope))
    return "m.id in (select value from json_each(?))", [listed(members.tolist())]


def _cosines(
    db: SqliteConnection, generation: int, queries: Sequence[bytes], ids: Sequence[ChunkId]
) -> dict[int, tuple[float, float, float]]:
    """
    Of each chunk's window that is most similar to the first of three vectors: its cosine with that and with the second; and
    of the one that is most similar to the third, its cosine with that.
    """
    zero, first = compared(queries[0])
    rows: Iterable[Row] = db.execute(
        # With one min(), SQLite takes the bare columns from the row that has it. An embedding is raised once.
        f"""with v as materialized (
                select chunk_id, vec_sub(raised(embedding), ?1) as direction
                from vectors_{generation} where chunk_id in (select value from json_each(?2))
            ), d as materialized (
                select chunk_id, vec_distance_cosine(direction, ?3) as one, vec_distance_cosine(direction, ?4) as other,
                    vec_distance_cosine(direction, ?5) as shown from v
            )
            select n.chunk_id, 1 - n.one, 1 - n.other, 1 - s.shown
            from (select chunk_id, min(one) as one, other from d group by chunk_id) n
            cross join (select chunk_id, min(shown) as shown from d group by chunk_id) s on s.chunk_id = n.chunk_id""",
        (zero, listed(ids), first, *queries[1:]),
    )
    return {id: tuple(cosines) for id, *cosines in rows if all(map(_known, cosines))}


def _ranked(db: SqliteConnection, generation: int, query: bytes, k: int, *, among: NDArray[np.int64] | None) -> Ranking:
    """
    The k most similar of all chunks.

    Args:
        among: Chunks that are known to hold them; None looks at all.
    """
    named = [] if among is None else [listed(among.tolist())]
    rows = db.execute(
        f"""select v.chunk_id, c.memory_id, v.cosine
            from (
                select chunk_id, 1 - min({DISTANCE}) as cosine
                from vectors_{generation}
                {"where chunk_id in (select value from json_each(?))" if named else ""}
                group by chunk_id order by cosine desc, chunk_id desc limit ?
            ) v
            cross join chunks c on c.id = v.chunk_id
            cross join memories m on m.id = c.memory_id
            order by v.cosine desc, v.chunk_id desc""",
        (*compared(query), *named, k),
    ).fetchall()
    return _ranking(rows)


def _ranking(rows: Sequence[Row]) -> Ranking:
    if not (known := [row for row in rows if _known(row[2])]):
        return Ranking()
    chunks, memories, cosines, *_ = zip(*known, strict=True)
    return Ranking(chunks, memories, cosines, cosines=cosines)


def _known(cosine: float | None) -> bool:
    """Whether a vector is like another or not: one of damaged numbers is neither, and is as if it were not there."""
    return cosine is not None and isfinite(cosine)


# Their tables ------------------------------------------------------------

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


def lone_rows(id: int) -> dict[str, str]:
    """Which rows of a generation's tables, by their names, make no vector: rows without a block, blocks without a row."""
    return {
        f"vector_rows_{id}": f"row < 0 or row / 6 not in (select block from vector_blocks_{id})",
        f"vector_blocks_{id}": f"not exists (select 1 from vector_rows_{id} where row between 6 * block and 6 * block + 5)",
    }


def mend_table(db: apsw.Connection, id: int, dimension: int) -> None:
    """Make what is missing of the tables of a generation's vectors, and take away what makes no vector."""
    table(db, id, dimension)
    db.execute(f"drop trigger vector_{id}_gone")  # it would write beside the block of a row below 0
    for name, condition in lone_rows(id).items():
        db.execute(f"delete from {name} where {condition}")
    table(db, id, dimension)


def drop_table(db: apsw.Connection, generation: int) -> None:
    """Take away the tables of the vectors of a generation that is gone."""
    db.execute(
        f"drop view if exists vectors_{generation}; drop table if exists vector_blocks_{generation}; drop table if exists vector_rows_{generation}"
    )
