"""The vectors of chunks, and exact nearest neighbours inside a scope."""

from __future__ import annotations

from math import isfinite
from struct import pack
from typing import TYPE_CHECKING, cast

from memory.schema.answer import Ranking
from memory.schema.query import EVERYTHING, Scope
from memory.store import State
from memory.store.generations import need, open_generation, renew
from memory.store.narrow import ZERO, widened
from memory.store.sqlite import signatures
from memory.store.sqlite.matrix import Matrix
from memory.store.sqlite.memories import add_vectors, forget_vectors
from memory.store.sqlite.rows import OWNER, SqliteConnection, excerpts, listed
from memory.store.sqlite.scopes import BROAD, FEW, Members, inside, rarest, where, within
from memory.store.vectors import VectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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
