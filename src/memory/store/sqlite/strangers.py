"""How near strangers come to the vectors of a generation: kept up to date with each vector that comes or goes."""

from __future__ import annotations

import math
import struct
from itertools import islice
from typing import TYPE_CHECKING

from memory.store.sqlite.rows import Row, key

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from memory.schema.space import Strangers, Vectors

BLOCK = 4096  # vectors read at a time

FEW = 16
"""Up to so many vectors are compared without BLAS, which may wait milliseconds for a second processor that is taken."""

ROUNDING = 1e-5
"""Sums of float32 taken in another order differ by less."""

_SOUND = """
    from generations
    cross join strangers s on s.generation = generations.id
    cross join nearness n on n.generation = generations.id
    where length(n.nearest) > 0 and length(n.nearest) * dimension = length(s.embeddings)
"""


def read(db: apsw.Connection) -> dict[int, Strangers]:
    """What is known of the strangers of each generation that has any; those of damaged numbers are as if not there."""
    from memory.schema.space import Strangers

    rows = db.execute(f"select s.generation, s.stamp, s.right, n.nearest, n.products, n.loose, vectors {_SOUND}")
    found = {}
    for id, stamp, right, nearest, products, loose, vectors in rows:
        cosines = struct.unpack(f"<{len(nearest) // 4}f", nearest)
        mean = products / (len(cosines) * vectors) if vectors else 0.0
        if math.isfinite(sum(cosines) + mean):
            found[id] = Strangers(stamp, right, cosines, mean, loose)
    return found


def keep(db: apsw.Connection, generation: int, vectors: Vectors, right: float, stamp: int) -> None:
    """Keep these strangers, which have met no vector yet, in place of those that were there."""
    import numpy as np

    forget(db, generation)
    db.execute(
        "insert into strangers (generation, stamp, right, embeddings) values (?, ?, ?, ?)",
        (generation, stamp, right, vectors.astype("<f4").tobytes()),
    )
    db.execute(
        "insert into nearness (generation, nearest, products, loose) values (?, ?, 0, 0)",
        (generation, np.full(len(vectors), -1, "<f4").tobytes()),
    )


def fault(db: apsw.Connection, generation: int) -> str:
    """What is wrong with the strangers of a generation; empty if nothing is, or there are none."""
    import numpy as np

    if (strangers := _strangers(db, generation)) is None:
        there = db.execute("select 1 from strangers where generation = ?", (generation,)).get
        return "have embeddings or cosines of another length" if there else ""
    nearest = _nearest(db, generation)
    for block in _blocks(db, generation, strangers.shape[1]):
        if bool((_cosines(strangers, block).max(axis=1) > nearest + ROUNDING).any()):
            return "are nearer to it than is noted"
    return "" if bool(np.isfinite(nearest).all()) else "have cosines that are no numbers"


def meet_anew(db: apsw.Connection, generation: int) -> bool:
    """Compare the strangers of a generation with all its vectors; whether it has strangers."""
    import numpy as np

    if (strangers := _strangers(db, generation)) is None:
        return False
    db.execute(
        "update nearness set nearest = ?, products = 0, loose = 0 where generation = ?",
        (np.full(len(strangers), -1, "<f4").tobytes(), generation),
    )
    for block in _blocks(db, generation, strangers.shape[1]):
        _raise(db, generation, _cosines(strangers, block))
    return True


def _blocks(db: apsw.Connection, generation: int, dimension: int) -> Iterator[Vectors]:
    import numpy as np

    rows: Iterator[Row] = iter(db.execute(f"select embedding from vectors_{generation}"))
    while block := b"".join([embedding for (embedding,) in islice(rows, BLOCK)]):
        yield np.frombuffer(block, "<f4").reshape(-1, dimension)


def met(db: apsw.Connection, generation: int, vectors: Vectors) -> None:
    """Compare vectors that were added."""
    if (strangers := _strangers(db, generation)) is not None and len(vectors):
        _raise(db, generation, _cosines(strangers, vectors))


def missed(db: apsw.Connection, generation: int, vectors: Vectors) -> None:
    """Note which strangers have lost the vector that was nearest to them: only comparing all tells which is now."""
    import numpy as np

    if (strangers := _strangers(db, generation)) is None:
        return
    cosines, nearest = _cosines(strangers, vectors), _nearest(db, generation)
    db.execute(
        "update nearness set products = products - ?, loose = min(?, loose + ?) where generation = ?",
        (
            float(cosines.sum(dtype=np.float64)),
            len(nearest),
            int((cosines.max(axis=1) >= nearest - ROUNDING).sum()),
            generation,
        ),
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
    return np.frombuffer(embeddings, "<f4").reshape(-1, dimension)


def _nearest(db: apsw.Connection, generation: int) -> Vectors:
    import numpy as np

    held: bytes = db.execute("select nearest from nearness where generation = ?", (generation,)).get
    return np.frombuffer(held, "<f4")


def _cosines(strangers: Vectors, vectors: Vectors) -> Vectors:
    """Shape (strangers, vectors); -1 where a vector's numbers are damaged."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        found = np.vecdot(strangers[:, None], vectors[None]) if len(vectors) <= FEW else strangers @ vectors.T
        cosines: Vectors = np.where(np.abs(found) <= 1 + ROUNDING, found, np.float32(-1))
    return cosines


def _raise(db: apsw.Connection, generation: int, cosines: Vectors) -> None:
    import numpy as np

    nearest = np.maximum(_nearest(db, generation), cosines.max(axis=1)).astype("<f4").tobytes()
    db.execute(
        "update nearness set nearest = ?, products = products + ? where generation = ?",
        (nearest, float(cosines.sum(dtype=np.float64)), generation),
    )
