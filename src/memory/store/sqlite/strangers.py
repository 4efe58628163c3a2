"""How near strangers come to the vectors of a generation: kept up to date with each vector that comes or goes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from memory.store.nearness import ROUNDING, Comparison, against, cosines_of, farthest, further, known, lost_to
from memory.store.records import key
from memory.store.sqlite.halves import BYTES, halved, widened
from memory.store.sqlite.opening import unmap

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.space import Plain, Strangers, Vectors

    Sums: TypeAlias = NDArray[np.float64]

BLOCK = 4096  # vectors read at a time

_SOUND = f"""
    from generations
    cross join strangers s on s.generation = generations.id
    cross join nearness n on n.generation = generations.id
    where ifnull(length(n.rising), length(n.nearest)) > 0
    and length(n.nearest) in (ifnull(length(n.rising), length(n.nearest)), iif(n.rising is null, -1, 0))
    and length(s.embeddings) in {BYTES.format(count="(ifnull(length(n.rising), length(n.nearest)) / 4 * dimension)")}
"""


def read(db: apsw.Connection) -> dict[int, Strangers]:
    """What is known of the strangers of each generation that has any; those of damaged numbers are as if not there."""
    rows = db.execute(
        f"""select s.generation, s.stamp, s.right, n.nearest, n.products, n.loose, vectors {_SOUND}
            and length(n.nearest) > 0"""
    )
    return known(rows)


def keep(db: apsw.Connection, generation: int, vectors: Vectors, right: float, stamp: int) -> None:
    """Keep these strangers, which are known after a comparison, in place of those that were there."""
    forget(db, generation)
    db.execute(
        "insert into strangers (generation, stamp, right, embeddings) values (?, ?, ?, ?)",
        (generation, stamp, right, halved(vectors)),
    )
    db.execute(
        "insert into nearness (generation, nearest, products, loose, rising) values (?, x'', 0, 0, ?)",
        (generation, farthest(len(vectors)).tobytes()),
    )


def fault(db: apsw.Connection, generation: int) -> str:
    """What is wrong with the strangers of a generation; empty if nothing is, or there are none."""
    import numpy as np

    if (strangers := _strangers(db, generation)) is None:
        there = db.execute("select 1 from strangers where generation = ?", (generation,)).get
        return "have embeddings or cosines of another length" if there else ""
    nearest, _ = _noted(db, generation)
    if not len(nearest):
        return ""  # the first comparison has not ended
    true = _compared(db, generation, against(strangers)).nearest
    if bool((true > nearest + ROUNDING).any()):
        return "are nearer to it than is noted"
    return "" if bool(np.isfinite(nearest).all()) else "have cosines that are no numbers"


def embeddings(db: apsw.Connection, generation: int) -> Vectors | None:
    """The strangers of a generation that are known, shape (n, dimension); None if there are none."""
    return _strangers(db, generation) if generation in read(db) else None


def meet_anew(
    db: apsw.Connection, generation: int, centre: Vectors | Sums | Plain, done: Comparison | None = None
) -> bool:
    """
    Compare the strangers of a generation with all its vectors, in one transaction; whether it has strangers.

    Args:
        centre: The sum of the vectors.
        done: A comparison that goes on from here.
    """
    if (comparison := begun(db, generation)) is None:
        return False
    comparison = done._replace(id=comparison.id) if done else comparison
    return ended(db, generation, _compared(db, generation, comparison), centre)


def begun(db: apsw.Connection, generation: int) -> Comparison | None:
    """Begin a comparison. From now on vectors that come are noted apart. None if there are no strangers."""
    if (strangers := _strangers(db, generation)) is None:
        return None
    id, loose = db.execute(
        "update nearness set rising = ?, comparison = random() where generation = ? returning comparison, loose",
        (farthest(len(strangers)).tobytes(), generation),
    ).get
    return against(strangers, id, loose)


def compared(db: apsw.Connection, generation: int, comparison: Comparison) -> Comparison | None:
    """Go on with the next block of vectors; None if there are no more."""
    import numpy as np

    rows: list[tuple[int, bytes]] = db.execute(
        f"select row, embedding from vectors_{generation} where row > ? order by row limit {BLOCK}",
        (comparison.last,),
    ).fetchall()  # type: ignore[assignment]  # as the columns are declared
    unmap(db)
    if not rows:
        return None
    ids, block = zip(*rows, strict=True)
    return further(comparison, ids, np.frombuffer(b"".join(block), "<f4").reshape(len(ids), -1))


def ended(db: apsw.Connection, generation: int, comparison: Comparison, total: Sums | Vectors | Plain) -> bool:
    """
    Note what a comparison with all vectors found; whether there are strangers.

    Nothing is noted if another began meanwhile, of these strangers or of others: that one notes it all.
    """
    import numpy as np

    if (strangers := _strangers(db, generation)) is None:
        return False
    held, loose = db.execute("select comparison, loose from nearness where generation = ?", (generation,)).get
    if held != comparison.id:
        return True
    _, rising = _noted(db, generation)
    lost = _lost(db, generation, comparison) & (comparison.nearest > rising)
    with np.errstate(over="ignore", invalid="ignore"):
        products = float(strangers.sum(axis=0, dtype=np.float64) @ np.asarray(total))
    db.execute(
        """update nearness set nearest = ?, products = ?, loose = ?, rising = null, comparison = null
           where generation = ?""",
        (
            np.maximum(comparison.nearest, rising).astype("<f4").tobytes(),
            products if math.isfinite(products) else 0.0,  # of damaged vectors
            min(len(strangers), int(lost.sum()) + max(0, loose - comparison.loose)),
            generation,
        ),
    )
    return True


def _lost(db: apsw.Connection, generation: int, comparison: Comparison) -> NDArray[np.bool_]:
    """Which strangers were nearest to a vector that has gone since it was compared. Another may have its row."""
    import numpy as np

    def there(stranger: Vectors, cosine: float, row: int) -> bool:
        held: bytes | None = db.execute(f"select embedding from vectors_{generation} where row = ?", (row,)).get
        return held is not None and abs(float(stranger @ np.frombuffer(held, "<f4")) - cosine) <= ROUNDING

    each = zip(comparison.strangers, comparison.nearest.tolist(), comparison.rows.tolist(), strict=True)
    return np.array([row > 0 and not there(stranger, cosine, row) for stranger, cosine, row in each])


def _compared(db: apsw.Connection, generation: int, comparison: Comparison) -> Comparison:
    """A comparison with all vectors, gone on with to its end."""
    while (further := compared(db, generation, comparison)) is not None:
        comparison = further
    return comparison


def met(db: apsw.Connection, generation: int, vectors: Vectors) -> None:
    """Compare vectors that were added."""
    if (strangers := _strangers(db, generation)) is not None and len(vectors):
        _raise(db, generation, cosines_of(strangers, vectors))


def missed(db: apsw.Connection, generation: int, vectors: Vectors) -> None:
    """Note which strangers have lost the vector that was nearest to them: only comparing all tells which is now."""
    if (strangers := _strangers(db, generation)) is None:
        return
    cosines = cosines_of(strangers, vectors)
    nearest, rising = _noted(db, generation)
    db.execute(
        "update nearness set products = products - ?, loose = loose + ? where generation = ?",
        (float(cosines.sum(dtype="f8")), lost_to(cosines, nearest, rising), generation),
    )


def forget(db: apsw.Connection, generation: int) -> None:
    """Take the strangers of a generation away."""
    for table in ("nearness", "strangers"):  # also without foreign keys
        db.execute(f"delete from {table} where generation = ?", (key(generation),))


def _strangers(db: apsw.Connection, generation: int) -> Vectors | None:
    """Shape (n, dimension); None if there are none."""
    found: list[tuple[bytes, int]] = db.execute(
        f"select s.embeddings, dimension {_SOUND} and s.generation = ?", (generation,)
    ).fetchall()  # type: ignore[assignment]  # as the columns are declared
    if not found:
        return None
    import numpy as np

    ((embeddings, dimension),) = found
    return np.frombuffer(widened(embeddings), "<f4").reshape(-1, dimension)


def _noted(db: apsw.Connection, generation: int) -> tuple[Vectors, Vectors]:
    """`nearest` and `rising`, shape (n,) each; of length 0 where there is none."""
    import numpy as np

    nearest, rising = db.execute("select nearest, rising from nearness where generation = ?", (generation,)).get
    return np.frombuffer(nearest, "<f4"), np.frombuffer(rising or b"", "<f4")


def _raise(db: apsw.Connection, generation: int, cosines: Vectors) -> None:
    import numpy as np

    highest = cosines.max(axis=1)
    nearest, rising = (
        np.maximum(noted, highest).astype("<f4").tobytes() if len(noted) else None for noted in _noted(db, generation)
    )
    db.execute(
        """update nearness set nearest = ifnull(?, nearest), rising = ?, products = products + ?
           where generation = ?""",
        (nearest, rising, float(cosines.sum(dtype=np.float64)), generation),
    )
