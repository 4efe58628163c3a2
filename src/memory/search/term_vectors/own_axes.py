"""Axes of a store's own: those along which its first passages differ, to which all that is known is turned once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.search.term_vectors.axes import AXES, axes, basis
from memory.search.term_vectors.rows import Rows
from memory.search.term_vectors.step import centre

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memory.schema.space import Vectors
    from memory.store import Learned, Store

SETTLED = 400
"""From so many passages on a store has axes of its own: fewer say little about where others will differ."""


class OwnAxes(NamedTuple):
    """
    Attributes:
        basis: As in `Learned`.
        spread: The same of so many passages.
        passages: Those whose vectors are not damaged.
    """

    basis: Vectors
    spread: NDArray[np.float64]
    passages: int


def due(learned: Learned | None) -> bool:
    """Whether there are enough passages for axes of the store's own, which it does not have."""
    return learned is not None and learned.passages >= SETTLED and learned.basis is None


def own_axes(store: Store, generation: int) -> OwnAxes:
    """Those along which the passages differ that were learned from first."""
    lessons = store.term_vectors.lessons(generation, SETTLED, learned=True)
    vectors = np.stack([vectors.mean(axis=0) for _, vectors in lessons])
    vectors = vectors[np.isfinite(vectors).all(axis=1)]
    differences = vectors - centre(vectors.sum(axis=0, dtype=np.float64), len(vectors))
    own = axes(differences.astype(np.float32), AXES).astype(np.float16).astype(np.float32)  # they are kept in half
    return OwnAxes(own, np.sum((differences @ own.T).astype(np.float64) ** 2, axis=0), len(differences))


def settled(store: Store, generation: int, former: Learned, own: OwnAxes, dimension: int) -> Learned:
    """Turn all that is known to the axes of the store's own passages."""
    learned = former._replace(spread=own.spread * (former.passages / max(1, own.passages)), basis=own.basis)
    # In one order, in whichever a store has them: how BLAS rounds a row depends on where in the matrix it stands.
    known = dict(sorted(store.term_vectors.of_terms(generation, None).items()))
    turned = Rows(known, (), len(former.spread))
    turned.turn(basis(former, dimension) @ own.basis.T)
    commonest_first = sorted(turned.term_vectors(), key=lambda one: (-one.passages, one.term))  # then on few pages
    store.term_vectors.learn(generation, learned, commonest_first)
    return learned
