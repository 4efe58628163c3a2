"""The vector of a query between the one that its model makes and the one that its store's term vectors make."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.schema.space import Vectors

DISTILLED_SHARE = 0.3
"""What the distilled direction weighs at most in a combined vector, where the model's weighs 1."""

GOOD_FIT = 0.70
"""The fit of term vectors learned from thousands of passages; those that fit worse weigh less."""

HALF = 400
"""Passages from which term vectors are half believed: so many give a store axes of its own."""


def credibility(passages: int) -> float:
    """
    How far to believe what was learned from so many passages, 0..1, rather than what was known before.

    n / (n + k), as insurers weigh the claims of a customer against those of all (Bühlmann, ASTIN Bulletin 4, 1967).
    The fit alone does not tell: words begin with what the model makes of them, which fits at once and adds nothing to
    the model's own vector.
    """
    return passages / (passages + HALF)


def distilled_share(fit: float, passages: int) -> float:
    """
    What the distilled direction weighs in a combined vector, 0 to 0.3, by the fit of the term vectors, -1..1.

    Two estimates of one thing are best weighed by the inverse of their variances. A direction whose cosine with the
    right one is f has the variance (1 - f²) / f² for each unit that is right.

    Args:
        passages: How many the term vectors learned from.
    """
    inverse, good = (max(0.0, one) ** 2 / max(1e-9, 1 - one**2) for one in (fit, GOOD_FIT))
    return DISTILLED_SHARE * min(1.0, inverse / good) * credibility(passages)


def combined(vector: Vectors, distilled: Vectors, centre: Vectors, share: float) -> Vectors:
    """
    The vector of a query between the one its model makes and the one its store's term vectors make.

    Seen from the centre they point in the directions m and z, of length 1. The result is where a ray from the centre
    in the direction m + β z meets the unit sphere, on which all vectors lie:
    q = c + t · u, u = (m + β z) / |m + β z|, t = √((c · u)² + 1 - c · c) - c · u.

    Args:
        vector, distilled: Shape (dimension,), length 1.
        centre: Shape (dimension,), shorter than 1.
        share: β, 0..1; see `distilled_share`.

    Returns:
        Shape (dimension,), length 1; `vector` itself where one of both has no direction.
    """
    own, other = vector - centre, distilled - centre
    lengths = float(own @ own) ** 0.5, float(other @ other) ** 0.5
    if not all(lengths):
        return vector
    direction = own / lengths[0] + share / lengths[1] * other
    direction /= float(direction @ direction) ** 0.5
    along = float(centre @ direction)
    reach = (along**2 + max(0.0, 1 - float(centre @ centre))) ** 0.5 - along
    found: Vectors = (centre + reach * direction).astype(vector.dtype)
    return found
