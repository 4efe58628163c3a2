"""How near strangers come to the vectors of a generation: kept up to date with each vector that comes or goes."""

from __future__ import annotations

import math
from secrets import randbits
from typing import TYPE_CHECKING

from memory.store.nearness import ROUNDING, Comparison, against, cosines_of, farthest, further, lost_to
from memory.store.postgres.database import many, one
from memory.store.postgres.rows import read_vectors
from memory.store.records import key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.space import Plain, Vectors
    from memory.store.postgres.opening import Db

BLOCK = 4096  # vectors read at a time


def keep(db: Db, generation: int, vectors: Vectors, right: float, stamp: int) -> None:
    """Keep these strangers, which are known after a comparison, in place of those that were there."""
    forget(db, generation)
    db.execute(
        "insert into strangers (generation, stamp, fit, embeddings) values (%s, %s, %s, %s)",
        (generation, stamp, right, vectors.astype("<f4").tobytes()),
    )
    db.execute(
        "insert into nearness (generation, nearest, products, loose, rising) values (%s, '', 0, 0, %s)",
        (generation, farthest(len(vectors)).tobytes()),
    )


def fault(db: Db, generation: int) -> str:
    """What is wrong with the strangers of a generation; empty if nothing is, or there are none."""
    if (strangers := embeddings(db, generation)) is None:
        return ""
    nearest, _ = _noted(db, generation)
    if not len(nearest):
        return ""  # the first comparison has not ended
    done = _compared(db, generation, against(strangers))
    return "are nearer to it than is noted" if bool((done.nearest > nearest + ROUNDING).any()) else ""


def meet_anew(db: Db, generation: int, centre: NDArray[np.float64] | Plain, done: Comparison | None = None) -> bool:
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


def begun(db: Db, generation: int) -> Comparison | None:
    """Begin a comparison. From now on vectors that come are noted apart. None if there are no strangers."""
    if (strangers := embeddings(db, generation)) is None:
        return None
    id = randbits(62)
    loose = one(
        db,
        "update nearness set rising = %s, comparison = %s where generation = %s returning loose",
        (farthest(len(strangers)).tobytes(), id, generation),
    )
    return against(strangers, id, loose)


def compared(db: Db, generation: int, comparison: Comparison) -> Comparison | None:
    """Go on with the next block of vectors; None if there are no more."""
    rows = many(
        db,
        f"select id, vector_send(embedding) from vectors_{generation} where id > %s order by id limit {BLOCK}",
        (comparison.last,),
    )
    if not rows:
        return None
    ids, block = zip(*rows, strict=True)
    return further(comparison, ids, read_vectors(block, comparison.strangers.shape[1]))


def _compared(db: Db, generation: int, comparison: Comparison) -> Comparison:
    """A comparison with all vectors, gone on with to its end."""
    while (more := compared(db, generation, comparison)) is not None:
        comparison = more
    return comparison


def ended(db: Db, generation: int, comparison: Comparison, total: NDArray[np.float64] | Plain) -> bool:
    """
    Note what a comparison with all vectors found; whether there are strangers.

    Nothing is noted if another began meanwhile, of these strangers or of others: that one notes it all.
    """
    import numpy as np

    if (strangers := embeddings(db, generation)) is None:
        return False
    [(held, loose)] = many(db, "select comparison, loose from nearness where generation = %s", (generation,))
    if held != comparison.id:
        return True
    _, rising = _noted(db, generation)
    lost = _lost(db, generation, comparison) & (comparison.nearest > rising)
    products = float(strangers.sum(axis=0, dtype=np.float64) @ np.asarray(total))
    db.execute(
        """update nearness set nearest = %s, products = %s, loose = %s, rising = null, comparison = null
           where generation = %s""",
        (
            np.maximum(comparison.nearest, rising).astype("<f4").tobytes(),
            products if math.isfinite(products) else 0.0,
            min(len(strangers), int(lost.sum()) + max(0, loose - comparison.loose)),
            generation,
        ),
    )
    return True


def _lost(db: Db, generation: int, comparison: Comparison) -> NDArray[np.bool_]:
    """Which strangers were nearest to a vector that has gone since it was compared; no other gets its id."""
    import numpy as np

    wanted = comparison.rows.tolist()
    there = {id for (id,) in many(db, f"select id from vectors_{generation} where id = any(%s)", (wanted,))}
    return np.array([row > 0 and row not in there for row in wanted])


def met(db: Db, generation: int, vectors: Vectors) -> None:
    """Compare vectors that were added."""
    import numpy as np

    if not len(vectors) or (strangers := embeddings(db, generation)) is None:
        return
    cosines = cosines_of(strangers, vectors)
    highest = cosines.max(axis=1)
    nearest, rising = (
        np.maximum(noted, highest).astype("<f4").tobytes() if len(noted) else None for noted in _noted(db, generation)
    )
    db.execute(
        """update nearness set nearest = coalesce(%s, nearest), rising = %s, products = products + %s
           where generation = %s""",
        (nearest, rising, float(cosines.sum(dtype=np.float64)), generation),
    )


def missed(db: Db, generation: int, vectors: Vectors) -> None:
    """Note which strangers have lost the vector that was nearest to them: only comparing all tells which is now."""
    if (strangers := embeddings(db, generation)) is None:
        return
    cosines = cosines_of(strangers, vectors)
    db.execute(
        "update nearness set products = products - %s, loose = loose + %s where generation = %s",
        (float(cosines.sum(dtype="f8")), lost_to(cosines, *_noted(db, generation)), generation),
    )


def forget(db: Db, generation: int) -> None:
    """Take the strangers of a generation away."""
    db.execute("delete from strangers where generation = %s", (key(generation),))


def embeddings(db: Db, generation: int) -> Vectors | None:
    """The strangers of a generation, shape (n, dimension); None if there are none."""
    found = many(
        db,
        "select embeddings, dimension from strangers s join generations g on g.id = s.generation where g.id = %s",
        (key(generation),),
    )
    if not found:
        return None
    import numpy as np

    [(rows, dimension)] = found
    return np.frombuffer(rows, "<f4").reshape(-1, dimension)


def _noted(db: Db, generation: int) -> tuple[Vectors, Vectors]:
    """`nearest` and `rising`, shape (n,) each; of length 0 where there is none."""
    import numpy as np

    [(nearest, rising)] = many(db, "select nearest, rising from nearness where generation = %s", (generation,))
    return np.frombuffer(nearest, "<f4"), np.frombuffer(rising or b"", "<f4")
