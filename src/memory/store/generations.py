"""Generations, the versions of the index of vectors: which one answers, and the queue of what has no vector in it."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema import np
from memory.schema.errors import NotFound, iso
from memory.store.records import key
from memory.store.shared import Connection, Part
from memory.store.values import LEAST, UNAIDED, Generation, Outset, Size, State

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from memory.schema.space import Plain, Space, Strangers, Vectors
    from memory.store.records import Row

    Sums: TypeAlias = NDArray[np.float64]


class Generations(Part):
    """
    Generations of vectors. At most one is active: it answers. One that is gone is NotFound, where nothing else is said.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def every(self) -> Sequence[Generation]:
        """Oldest first."""
        return list(self._db.ask(every, once="generations"))

    def active(self) -> Generation | None:
        """The one that answers; None if nothing was embedded yet."""
        return next((one for one in self.every() if one.state is State.ACTIVE), None)

    def begin(self, space: Space, moment: datetime, *, alone: bool = False) -> Generation:
        """
        The living (active, else building) generation of a space, made if there is none: active if no other is,
        else building. Only one is being built: another that was begun is dropped. A retired generation of the
        space, the latest, is taken up again with its vectors and its fingerprint instead of making one.

        Args:
            alone: Retired generations of other spaces are dropped: removed with their vectors.
        """
        with self._db.write() as db:
            if alone:
                for old in every(db):
                    if old.state is State.RETIRED and old.space != space:
                        _drop(db, old.id)
            id = begin(db, space, iso(moment))
            return next(found for found in every(db) if found.id == id)

    def activate(self, generation: int, *, instead_of: int | None, former: State = State.RETIRED) -> bool:
        """
        Let a generation answer, if the active one is still the one named (compare and set).

        Chunks that have no vector in it are queued; what failed for another generation has not failed for this.
        To activate the active one changes nothing.

        Args:
            former: What becomes of the one that answered until now: RETIRED, or BUILDING, so that it can be taken
                up again; another that was being built is then dropped.
        """
        with self._db.write() as db:
            need(db, generation)
            if (before := active(db)) != instead_of:
                return False
            if before == generation:
                return True
            unfinished = active(db, State.BUILDING)
            if former is State.BUILDING and unfinished is not None and unfinished != generation:
                _drop(db, unfinished)
            # One after the other: at no moment may two be active, or two being built.
            for id, state in ((before, State.RETIRED), (generation, State.ACTIVE), (before, former)):
                db.change("update generations set state = ? where id = ?", (str(state), id))
            db.change("delete from embed_queue")  # the failures were those of the former model
            renew(db, generation)
            return True

    def centre(self, generation: int) -> tuple[Plain, int]:
        """The sum of all vectors of a generation, an array of "d", and how many there are."""
        return self._db.ask(lambda db: total(db, generation), once=("centre", generation))

    def strangers(self, generation: int) -> Vectors | None:
        """
        The questions that `VectorIndex.set_strangers` kept, shape (n, dimension), once they are among `every`; None if there
        are none.
        """
        from memory.store import strangers  # a search by keyword does without

        with self._db.read() as db:
            return strangers.compared_with(db, generation)

    def outset(self) -> Outset:
        """What a search asks before all else; remembered together, as long as nobody writes."""
        return self._db.ask(_outset, once="outset")

    def answering(self) -> tuple[int, float | None]:
        """
        The active generation, 0 if there is none, and how well its term vectors fit, as `learned` says; None if it has
        none, or they learned from fewer passages than `memory.store.values.LEAST` says.
        """
        return self._db.ask(_answering, once="answering")

    def size(self, generation: int) -> Size:
        """How large it is; nothing if it is gone."""
        with self._db.read() as db:
            if not there(db, generation):
                return Size(0, 0)
            chunks = db.value(f"select count(distinct chunk_id) from vectors_{generation}")
            return Size(chunks, db.value("select terms from lexicons where generation = ?", (generation,)) or 0)

    def mark(self, generation: int, fingerprint: bytes, *, instead_of: bytes = b"") -> None:
        """
        Remember how its model answers a fixed text, if it is known as `instead_of` until now (compare and set).

        Args:
            instead_of: Empty if it is not known. Otherwise the model is another one now: what the former one made goes,
                all vectors and term vectors of the generation, and of the active one all chunks are queued.
        """
        with self._db.write(durable=False) as db:
            marked = db.changed(
                "update generations set fingerprint = ? where id = ? and coalesce(fingerprint, ?) = ?",
                (fingerprint, key(generation), b"", instead_of),
            )
            if marked and instead_of:
                from memory.store import learned, strangers

                db.empty_vectors(generation)
                strangers.forget(db, generation)
                db.change("delete from begun where generation = ?", (generation,))
                learned.forget_terms(db, generation)
                learned.forget_terms(db, -generation)
                set_total(db, generation, bytes(8 * len(total(db, generation)[0])), 0)
                if generation == active(db):
                    renew(db, generation)


def every(db: Connection) -> list[Generation]:
    from memory.schema.space import Space
    from memory.store import strangers

    sound = strangers.SOUND.format(bytes=db.BYTES.format(count="dimension"))
    rows = db.rows(  # not every store calls the third column of strangers the same
        f"""with s (generation, stamp, fit, embeddings) as (select * from strangers)
            select id, provider, model, recipe, dimension, state, fingerprint,
                s.stamp, s.fit, n.nearest, n.products, n.loose, vectors
            from generations left join s on s.generation = id
            left join nearness n on n.generation = id and length(n.nearest) > 0 and {sound}
            order by id""",
        strict=True,
    )
    return [
        Generation(id, Space(*space), State(state), sign or b"", _strangers(known))
        for id, *space, state, sign, known in ((*row[:7], row[7:]) for row in rows)
    ]


def _strangers(known: Row) -> Strangers | None:
    """
    What is known of the strangers of a generation; None if there are none, and if their numbers are damaged.

    Args:
        known: Stamp, right, nearest, products, loose, and how many vectors the generation has.
    """
    from struct import unpack

    from memory.schema.space import Strangers

    stamp, right, nearest, products, loose, vectors = known
    if nearest is None:
        return None
    cosines = unpack(f"<{len(nearest) // 4}f", nearest)
    mean = products / (len(cosines) * vectors) if vectors else 0.0
    if not math.isfinite(sum(cosines) + mean):
        return None
    # It is counted on beyond how many there are: a comparison asks how many were added since it began.
    return Strangers(stamp, right, cosines, mean, min(len(cosines), loose), vectors)


def _outset(db: Connection) -> Outset:
    first = "select min(valid_until) from memories where valid_until is not null"  # one look into an index
    [(ends, waits)] = db.rows(f"select ({first}), exists (select 1 from embed_queue)")
    return Outset(*_answering(db), ends, bool(waits))


def _answering(db: Connection) -> tuple[int, float | None]:
    least = f"case when words > 0 then {LEAST} else {UNAIDED} end"
    fit = f"select fit from lexicons l where l.generation = g.id and passages >= {least} and {legible(db.BYTES)}"
    # Few, and an index may be damaged.
    active = f"select g.id, ({fit}) from generations g where {db.SCANNED}g.state = 'active'"
    return next(((id, fit) for id, fit in db.rows(active)), (0, None))


@cache
def legible(size: str) -> str:
    """
    SQL: of a row of `lexicons` as l, that it can be read. Damaged term vectors are as if not there: they are learned again.

    Args:
        size: `memory.store.shared.Connection.BYTES`.
    """
    return f"""
        l.passages >= 0 and abs(l.fit) <= 1.001 and abs(l.along) < 1.7e308 and l.square between 0 and 1.7e308
        and length(l.spread) = 8 * l.axes and (l.basis_sum is null or exists (
            select 1 from lexicon_axes a join generations g on g.id = l.made_of
            where a.generation = l.generation and length(a.basis) = l.axes * {size.format(count="g.dimension")}
        ))
    """


def there(db: Connection, generation: int) -> bool:
    return db.value("select 1 from generations where id = ?", (key(generation),)) is not None


def need(db: Connection, generation: int) -> None:
    """
    Raises:
        NotFound: The generation is gone, perhaps since the caller was told of it.
    """
    if not there(db, generation):
        raise gone(generation)


def gone(generation: int) -> NotFound:
    """What is raised of a generation that is not there any more."""
    return NotFound(f"there is no index version {generation}", hint="Another process may have reindexed. Try again.")


def active(db: Connection, state: State = State.ACTIVE) -> int | None:
    """The id of the generation that answers, or of the one that is in another state of which there is one."""
    found: int | None = db.value(f"select id from generations where state = '{state}'")
    return found


def begin(db: Connection, space: Space, now: str) -> int:
    """See `Generations.begin`."""
    rows = db.rows("select state, id, provider, model, recipe, dimension from generations order by id")
    every: dict[State, int] = {State(state): id for state, id, *_ in rows}  # the latest in each state
    own: dict[State, int] = {State(state): id for state, id, *named in rows if tuple(named) == space}
    if (found := own.get(State.ACTIVE, own.get(State.BUILDING))) is not None:
        return found
    state = State.BUILDING if State.ACTIVE in every else State.ACTIVE
    if State.BUILDING in every:
        _drop(db, every[State.BUILDING])
    if (retired := own.get(State.RETIRED)) is not None:
        db.change("update generations set state = ? where id = ?", (str(state), retired))
        if state is State.ACTIVE:
            renew(db, retired)
        return retired
    id: int = db.value(
        """insert into generations (provider, model, recipe, dimension, state, total, created_at)
           values (?, ?, ?, ?, ?, ?, ?) returning id""",
        (*space, str(state), bytes(8 * space.dimension), now),
    )
    db.make_vectors(id, space.dimension)
    return id


def _drop(db: Connection, id: int) -> None:
    if db.changed("delete from generations where id = ? and state <> 'active'", (key(id),)):
        db.drop_vectors(id)


def total(db: Connection, generation: int) -> tuple[Plain, int]:
    """
    The sum of a generation's vectors and how many there are, as they are kept up to date.

    Raises:
        NotFound: See `need`.
    """
    for summed, vectors, dimension in db.rows(
        "select total, vectors, dimension from generations where id = ?", (key(generation),)
    ):
        return sums(summed, dimension), vectors
    raise gone(generation)


def sums(summed: bytes, dimension: int) -> Plain:
    """A sum of another length is damaged and counts as zero, so that memories are saved and found; the doctor makes it anew."""
    from array import array

    return array("d", summed if len(summed) == 8 * dimension else bytes(8 * dimension))


def set_total(db: Connection, generation: int, sums: Sums | bytes, count: int) -> None:
    """Note the sum of a generation's vectors, shape (dimension,), and how many there are now."""
    numbers = sums if isinstance(sums, bytes) else sums.astype("<f8").tobytes()
    db.change(f"update generations set total = ?, vectors = ?{db.CHANGED} where id = ?", (numbers, count, generation))


def keyword_only(db: Connection) -> str:
    """SQL of the chunks that are never to be embedded."""
    return f"select id from chunks where memory_id in (select id from memories where {db.KEYWORD_ONLY})"


def renew(db: Connection, active: int | None) -> None:
    """
    Queue the chunks that have no vector in the active generation, and no others; failures that hold stay noted. Chunks
    that are never embedded are not queued.
    """
    embedded = "false" if active is None else f"exists (select 1 from vectors_{active} v where v.chunk_id = {{0}})"
    db.change(
        f"""delete from embed_queue where chunk_id in ({keyword_only(db)}) or {embedded.format("embed_queue.chunk_id")}
            or not exists (select 1 from chunks c where c.id = embed_queue.chunk_id)"""
    )
    db.change(
        f"""insert into embed_queue (chunk_id) select c.id from chunks c join memories m on m.id = c.memory_id
            where not m.{db.KEYWORD_ONLY} and not {embedded.format("c.id")} on conflict do nothing"""
    )


# Vectors that come and go -----------------------------------------------------


class OpenGeneration(NamedTuple):
    """
    A generation as whoever writes vectors needs it; it is no longer true once somebody has.

    Attributes:
        total, vectors: The sum of its vectors, and how many there are.
        taught: Whether term vectors were learned from it.
        met: Whether it has strangers.
    """

    id: int
    space: Space
    state: State
    total: Plain
    vectors: int
    taught: bool
    met: bool


OPEN = """
    select id, provider, model, recipe, dimension, state, total, vectors,
        exists (select 1 from lexicons l where l.generation in (generations.id, -generations.id)),
        exists (select 1 from strangers s where s.generation = generations.id)
    from generations where
"""
"""SQL of what `open_generations` takes, up to a condition."""

LIVING = f"{OPEN} state <> 'retired' order by id"
"""The same of the generations that are active or being built."""


def open_generations(rows: Iterable[Row]) -> list[OpenGeneration]:
    """From rows of `OPEN`."""
    from memory.schema.space import Space

    return [
        OpenGeneration(id, Space(*space), State(state), sums(total, space[-1]), vectors, bool(taught), bool(met))
        for id, *space, state, total, vectors, taught, met in rows
    ]


def open_generation(db: Connection, generation: int) -> OpenGeneration | None:
    """None if the generation is gone."""
    return next(iter(open_generations(db.rows(f"{OPEN} id = ?", (key(generation),)))), None)


def note_added(db: Connection, into: OpenGeneration, added: Vectors, chunks: Collection[int]) -> None:
    """
    Note that chunks got vectors: in the sum, for the strangers, and as pending, if anything was learned (otherwise all
    chunks are).

    Args:
        added: Shape (n, dimension).
    """
    if into.taught:  # one after the other: a list takes SQLite three times as long for the one chunk of a note
        db.each(
            """insert into lexicon_lessons (chunk_id, generation)
               select ?, generation from lexicons where generation in (?, ?) on conflict do nothing""",
            [(chunk, into.id, -into.id) for chunk in chunks],
        )
    set_total(db, into.id, added.sum(axis=0, dtype=np.float64) + into.total, into.vectors + len(added))
    if into.met:
        from memory.store import strangers

        strangers.met(db, into.id, added)


def note_removed(db: Connection, generation: int, removed: Vectors, chunks: Collection[int]) -> None:
    """
    Note that chunks lost their vectors: they are not pending, and what they were the first to say is not known.

    Args:
        removed: Shape (n, dimension); fewer than there were where a file is damaged.
    """
    for table in ("lexicon_lessons", "lexicon_pairs"):
        db.change(
            f"delete from {table} where generation in (?, ?) and chunk_id {db.IN}",
            (generation, -generation, db.ids(chunks)),
        )
    if len(removed):
        from memory.store import strangers

        whole = (np.abs(removed) <= strangers.LARGEST).all(axis=1)  # a damaged vector was never added to the sum
        before, count = total(db, generation)
        left = before - removed[whole].sum(axis=0, dtype=np.float64)
        set_total(db, generation, left, count - len(removed))
        strangers.missed(db, generation, removed)
