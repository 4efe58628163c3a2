"""How near strangers come to the vectors of a generation: kept up to date with each vector that comes or goes."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, TypeAlias

from memory.schema import NamedTuple, np
from memory.store.records import key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memory.schema.space import Plain, Vectors
    from memory.store.shared import Connection

    Rows: TypeAlias = NDArray[np.int64]
    Sums: TypeAlias = NDArray[np.float64]

BLOCK = 4096  # vectors read at a time


_COSINES = "coalesce(length(n.rising), length(n.nearest))"

SOUND = f"""
    {_COSINES} > 0
    and length(n.nearest) in ({_COSINES}, case when n.rising is null then -1 else 0 end)
    and length(s.embeddings) = {_COSINES} / 4 * {{bytes}}
"""
"""
SQL: of strangers s of a generation and their nearness n, that what is kept has the lengths that belong together. `bytes` is
`memory.store.shared.Connection.BYTES` of the dimension.
"""


class Kept(NamedTuple):
    """
    What is kept of a generation's strangers.

    Attributes:
        strangers: Shape (n, dimension).
        nearest, rising: Shape (n,) each; of length 0 where there is none.
    """

    strangers: Vectors
    nearest: Vectors
    rising: Vectors


def kept(db: Connection, generation: int) -> Kept | None:
    """None if there are no strangers, or not whole; of a generation that is there."""
    sound = SOUND.format(bytes=db.BYTES.format(count="dimension"))
    rows = db.rows(
        f"""select s.embeddings, dimension, n.nearest, n.rising
            from generations {db.JOIN} strangers s on s.generation = id
            {db.JOIN} nearness n on n.generation = id where {sound} and id = ?""",
        (generation,),
    )
    for embeddings, dimension, *noted in rows:
        return Kept(db.unpacked(embeddings, dimension), *(np.frombuffer(one or b"", "<f4") for one in noted))
    return None


def compared_with(db: Connection, generation: int) -> Vectors | None:
    """The strangers, shape (n, dimension), once it is known how near they come; None before, or if that is damaged."""
    held = kept(db, generation)
    return held.strangers if held and len(held.nearest) and bool(np.isfinite(held.nearest).all()) else None


def keep(db: Connection, generation: int, vectors: Vectors, right: float, stamp: int) -> None:
    """Keep these strangers, which are known after a comparison, in place of those that were there."""
    forget(db, generation)
    # In the order of the columns: not every store calls the third one the same.
    db.change("insert into strangers values (?, ?, ?, ?)", (generation, stamp, right, db.packed(vectors)))
    db.change(
        "insert into nearness (generation, nearest, products, loose, rising) values (?, ?, 0, 0, ?)",
        (generation, b"", farthest(len(vectors)).tobytes()),
    )


def fault(db: Connection, generation: int) -> str:
    """What is wrong with the strangers of a generation; empty if nothing is, or there are none."""
    if (held := kept(db, generation)) is None:
        there = db.value("select 1 from strangers where generation = ?", (generation,))
        return "have embeddings or cosines of another length" if there else ""
    if not len(held.nearest):
        return ""  # the first comparison has not ended
    true = _compared(db, generation, against(held.strangers)).nearest
    if bool((true > held.nearest + ROUNDING).any()):
        return "are nearer to it than is noted"
    return "" if bool(np.isfinite(held.nearest).all()) else "have cosines that are no numbers"


def meet_anew(db: Connection, generation: int, centre: Vectors | Sums | Plain, done: Comparison | None = None) -> bool:
    """
    Compare the strangers of a generation with all its vectors, in one transaction; whether it has strangers.

    Args:
        centre: The sum of the vectors.
        done: A comparison that goes on from here.
    """
    if (comparison := begin(db, generation)) is None:
        return False
    comparison = done._replace(id=comparison.id) if done else comparison
    return ended(db, generation, _compared(db, generation, comparison), centre)


def begin(db: Connection, generation: int) -> Comparison | None:
    """Begin a comparison. From now on vectors that come are noted apart. None if there are no strangers."""
    if (held := kept(db, generation)) is None:
        return None
    id = int.from_bytes(os.urandom(7), "little")
    loose = db.value(
        "update nearness set rising = ?, comparison = ? where generation = ? returning loose",
        (farthest(len(held.strangers)).tobytes(), id, generation),
    )
    return against(held.strangers, id, loose)


def compared(db: Connection, generation: int, comparison: Comparison) -> Comparison | None:
    """Go on with the next block of vectors; None if there are no more."""
    rows, block = db.vectors(generation, f"number > ? order by number limit {BLOCK}", (comparison.last,))
    db.unmap()
    return _further(comparison, [number for number, *_ in rows], block) if rows else None


def _compared(db: Connection, generation: int, comparison: Comparison) -> Comparison:
    """A comparison with all vectors, gone on with to its end."""
    while (further := compared(db, generation, comparison)) is not None:
        comparison = further
    return comparison


def ended(db: Connection, generation: int, comparison: Comparison, total: Sums | Vectors | Plain) -> bool:
    """
    Note what a comparison with all vectors found; whether there are strangers.

    Nothing is noted if another began meanwhile, of these strangers or of others: that one notes it all.
    """
    if (held := kept(db, generation)) is None:
        return False
    [(id, loose)] = db.rows("select comparison, loose from nearness where generation = ?", (generation,))
    if id != comparison.id:
        return True
    lost = _lost(db, generation, comparison) & (comparison.nearest > held.rising)
    with np.errstate(over="ignore", invalid="ignore"):
        products = float(held.strangers.sum(axis=0, dtype=np.float64) @ np.asarray(total))
    db.change(
        """update nearness set nearest = ?, products = ?, loose = ?, rising = null, comparison = null
           where generation = ?""",
        (
            np.maximum(comparison.nearest, held.rising).astype("<f4").tobytes(),
            products if math.isfinite(products) else 0.0,  # of damaged vectors
            min(len(held.strangers), int(lost.sum()) + max(0, loose - comparison.loose)),
            generation,
        ),
    )
    return True


def _lost(db: Connection, generation: int, comparison: Comparison) -> NDArray[np.bool_]:
    """Which strangers were nearest to a vector that has gone since it was compared. Another may have its number."""
    wanted = comparison.rows.tolist()
    rows, vectors = db.vectors(generation, f"number {db.IN}", (db.ids(wanted),))
    there = {number: vector for (number, *_), vector in zip(rows, vectors, strict=True)}

    def gone(stranger: Vectors, cosine: float, number: int) -> bool:
        return number not in there or abs(float(stranger @ there[number]) - cosine) > ROUNDING

    each = zip(comparison.strangers, comparison.nearest.tolist(), wanted, strict=True)
    return np.array([number > 0 and gone(stranger, cosine, number) for stranger, cosine, number in each])


def met(db: Connection, generation: int, vectors: Vectors) -> None:
    """Compare vectors that were added."""
    if not len(vectors) or (held := kept(db, generation)) is None:
        return
    cosines = _cosines_of(held.strangers, vectors)
    highest = cosines.max(axis=1)
    nearest, rising = (np.maximum(noted, highest).astype("<f4").tobytes() if len(noted) else None for noted in held[1:])
    db.change(
        """update nearness set nearest = coalesce(?, nearest), rising = ?, products = products + ?
           where generation = ?""",
        (nearest, rising, float(cosines.sum(dtype=np.float64)), generation),
    )


def missed(db: Connection, generation: int, vectors: Vectors) -> None:
    """Note which strangers have lost the vector that was nearest to them: only comparing all tells which is now."""
    if (held := kept(db, generation)) is None:
        return
    cosines = _cosines_of(held.strangers, vectors)
    db.change(
        "update nearness set products = products - ?, loose = loose + ? where generation = ?",
        (float(cosines.sum(dtype=np.float64)), _lost_to(cosines, held.nearest, held.rising), generation),
    )


def forget(db: Connection, generation: int) -> None:
    """Take the strangers of a generation away."""
    for table in ("nearness", "strangers"):  # also without foreign keys
        db.change(f"delete from {table} where generation = ?", (key(generation),))


# In numbers --------------------------------------------------------------------------

FEW = 16
"""Up to so many vectors are compared without BLAS, which may wait milliseconds for a second processor that is taken."""

ROUNDING = 1e-5
"""Sums of float32 taken in another order differ by less."""

LARGEST = 1.001
"""No number of a vector of length 1 is larger in amount, nor a product of two that were rounded."""


class Comparison(NamedTuple):
    """
    Strangers that are being compared with all vectors of a generation, a block at a time.

    Attributes:
        id: Tells it from others, which may begin before it ends.
        loose: How many were noted as loose when it began.
        strangers: Shape (n, dimension).
        nearest: Shape (n,): of each the highest cosine until now; -1 before the first block.
        rows: Shape (n,): the row of that vector, 0 if there is none.
        last: The last row that was compared; 0 before the first block.
    """

    id: int
    loose: int
    strangers: Vectors
    nearest: Vectors
    rows: Rows
    last: int = 0


def against(strangers: Vectors, id: int = 0, loose: int = 0) -> Comparison:
    """A comparison before the first block."""
    return Comparison(id, loose, strangers, farthest(len(strangers)), np.zeros(len(strangers), np.int64))


def _further(comparison: Comparison, ids: Sequence[int], block: Vectors) -> Comparison:
    """A comparison after the next block of vectors, in rows with these ids."""
    cosines = _cosines_of(comparison.strangers, block)
    highest = cosines.max(axis=1)
    nearer = highest > comparison.nearest
    return comparison._replace(
        nearest=np.where(nearer, highest, comparison.nearest),
        rows=np.where(nearer, np.array(ids)[cosines.argmax(axis=1)], comparison.rows),
        last=ids[-1],
    )


def _lost_to(cosines: Vectors, nearest: Vectors, rising: Vectors) -> int:
    """
    How many strangers lost what was nearest to them to vectors that go.

    Args:
        cosines: With these vectors, shape (strangers, vectors).
        nearest, rising: As they are noted, shape (strangers,) each, or of length 0.
    """
    loose = np.zeros(len(cosines), np.bool_)
    if len(nearest):
        loose |= cosines.max(axis=1) >= nearest - ROUNDING
    if len(rising):
        loose |= (np.abs(cosines - rising[:, None]) <= ROUNDING).any(axis=1)
    return int(loose.sum())


def farthest(count: int) -> Vectors:
    return np.full(count, -1, "<f4")


def _cosines_of(strangers: Vectors, vectors: Vectors) -> Vectors:
    """Shape (strangers, vectors); -1 where a vector's numbers are damaged."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.vecdot(strangers[:, None], vectors[None]) if len(vectors) <= FEW else strangers @ vectors.T
        cosines: Vectors = np.where(np.abs(found) <= LARGEST, found, np.float32(-1))
    return cosines
