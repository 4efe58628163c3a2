"""Vectors as they come into generations and go, with all that is kept up to date of them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.space import Space
from memory.store import State
from memory.store.postgres import lexicons, strangers
from memory.store.postgres.database import many
from memory.store.postgres.opening import Embeddings
from memory.store.postgres.rows import read_vectors
from memory.store.records import key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.space import Embedded, Plain, Vectors, Window
    from memory.store.postgres.opening import Db
    from memory.store.records import Row

    Sums: TypeAlias = NDArray[np.float64]


class Target(NamedTuple):
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


_TARGET = """
    select g.id, g.provider, g.model, g.recipe, g.dimension, g.state, g.total, g.vectors,
        exists (select 1 from lexicons l where l.made_of = g.id),
        exists (select 1 from strangers s where s.generation = g.id)
    from generations g where
"""

LIVING = f"{_TARGET} g.state <> 'retired' order by g.id"
"""Rows of `targets`: the generations that are active or being built."""


def targets(rows: Iterable[Row]) -> list[Target]:
    return [
        Target(id, Space(provider, model, recipe, dimension), State(state), array("d", total), *rest)
        for id, provider, model, recipe, dimension, state, total, *rest in rows
    ]


def target(db: Db, generation: int) -> Target | None:
    """None if the generation is gone."""
    return next(iter(targets(many(db, f"{_TARGET} g.id = %s", (key(generation),)))), None)


def add(db: Db, into: Target, vectors: Vectors, windows: Sequence[Window], owners: Mapping[int, int]) -> None:
    """
    Write vectors of chunks that are there and have none in the generation.

    Args:
        owners: The memories of the chunks.
    """
    import numpy as np

    if not windows:
        return
    added = vectors[[window.row for window in windows]]
    chunks = [window.chunk for window in windows]
    db.execute(
        f"""insert into vectors_{into.id} (chunk_id, memory_id, place, embedding)
            select * from unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b)""",
        (chunks, [owners[chunk] for chunk in chunks], [window.window for window in windows], Embeddings(added)),
    )
    if into.taught:
        lexicons.teach(db, into.id, {*chunks})
    set_total(db, into.id, added.sum(axis=0, dtype=np.float64) + into.total, into.vectors + len(windows))
    if into.met:
        strangers.met(db, into.id, added)


def add_all(db: Db, living: Sequence[Target], made: Sequence[tuple[Embedded, Sequence[int], int]]) -> set[int]:
    """
    Write the vectors of new chunks, as far as their space lives; those that have one in the active generation now.

    Args:
        made: Of each memory what is embedded, its chunks, and its id.
    """
    import numpy as np

    answered: set[int] = set()
    for into in living:
        own = [one for one in made if one[0].space == into.space]
        windows: list[Window] = []
        first = 0
        for embedded, ids, _ in own:
            windows += [one._replace(chunk=ids[one.chunk], row=first + one.row) for one in embedded.windows]
            first += len(embedded.vectors)
        if windows:
            vectors = np.concatenate([embedded.vectors for embedded, _, _ in own])
            add(db, into, vectors, windows, {id: memory for _, ids, memory in own for id in ids})
        if into.state is State.ACTIVE:
            answered = {window.chunk for window in windows}
    return answered


def forget(db: Db, generation: int, ids: Collection[int]) -> None:
    """Take away the vectors of chunks, also from the generation's total."""
    rows = many(
        db,
        f"delete from vectors_{generation} where chunk_id = any(%s) returning vector_send(embedding)",
        (list(ids),),
    )
    if rows:
        lexicons.forget_chunks(db, generation, ids)
        removed = read_vectors([sent for (sent,) in rows], (len(rows[0][0]) - 4) // 4)
        before, vectors = total(db, generation)
        set_total(db, generation, before - removed.sum(axis=0, dtype="f8"), vectors - len(rows))
        strangers.missed(db, generation, removed)


def set_total(db: Db, generation: int, sums: Sums, count: int) -> None:
    db.execute(
        "update generations set total = %s, vectors = %s where id = %s",
        (sums.astype("<f8").tobytes(), count, generation),
    )


def total(db: Db, generation: int) -> tuple[Plain, int]:
    """The sum of a generation's vectors and how many there are, as they are kept up to date."""
    [(summed, vectors)] = many(db, "select total, vectors from generations where id = %s", (generation,))
    return array("d", summed), vectors
