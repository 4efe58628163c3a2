"""
How far an answer can be trusted: whether its hits are nearer to the query than a stranger's are, and hold more of it.

No number here is of one model: what a cosine means is read off questions that are strangers to the store
(`memory.vectors.baseline_questions`). docs/ranking.md, "What an answer is worth", has the rule in words and where it comes from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memory.schema.answer import Outcome, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.schema.space import Strangers

ANSWERED_MIN_COVERAGE, WEAK_MIN_COVERAGE = 0.5, 0.35
"""
Where no model was asked, an answer is ANSWERED from the first best coverage on, and nothing fits below the second.

Where a model was asked whose cosines tell nothing, it is ANSWERED from the second on.
"""

LONG_QUERY = 12
"""
A query with more terms than this describes a task: it names much that no memory mentions,
so low coverage says little.
"""

FEW, MANY = 250, 2_000
"""
Up to the first number of vectors a store counts as small, from the second on as large, in between by the logarithm.

People ask a small store of notes little, in words of their own; so there it takes less not to be denied.
"""

NEARER = (0.03, 0.18)
"""How far the nearest hit should lie above strangers, as a share of the way to 1, in a small and in a large store."""

TINY = (10, 30)
"""Up to the first number of vectors it is enough not to lie below strangers; from the second on, `NEARER` holds in full."""

OBSERVED = (50, FEW)
"""The same where single observations were compared too, which is not done in larger stores."""

ASTRAY, LED = 0.33, 0.1
"""
Among so few, a query that is nearer to a stranger than to the nearest hit, by the first number as a difference of cosines,
is likely a stranger too: its nearest hit should lie above strangers by the second, on the scale of `NEARER`.
"""

HELD = (0.0, 0.3)
"""The share of the query's weight that the best hit should hold, in a small and in a large store."""

BY_CHANCE = 1 / 8
"""The same in a small store where cosines tell nothing: so much is shared by chance, by a common word of a question."""

WORDS = 0.2
"""What the whole of a query's weight is worth, on the scale of `NEARER`."""

TELLING = 0.15
"""
A model's cosines count in full if its right answers lie this far above strangers, as a share of the way to 1.

They count for nothing if its right answers are no nearer than strangers, as with hashed words or a million memories.
"""

ALL = 0.999
"""A coverage that is all of the query's weight, however its parts were rounded."""

SURE = (0.05, 0.15)
"""The evidence from which an answer is ANSWERED: where cosines tell nothing, and where they count in full."""

BY_FAR = 0.15
"""
The nearest hit stands out if it lies this far above the mean of the others, as a share of the way to 1.

Before strangers are known.
"""

SMALL_SIZE, USUAL_SIZE = 300, 5_000
"""Where no model was asked: how many memories deny nothing, and from how many on the thresholds hold in full."""


class Signals(Protocol):
    """What a hit is trusted by; see `memory.schema.answer.Hit`."""

    @property
    def coverage(self) -> float: ...

    @property
    def cosine(self) -> float | None: ...


class Measure(NamedTuple):
    """
    What the cosines of an answer are measured by.

    Attributes:
        strangers: What is known of them; None if they were not embedded yet.
        vectors: How many there are in the generation.
        inside: How many of these are in scope, 1..vectors.
        stranger: The cosine of the query with the nearest stranger, -1..1; -1 if they were not compared.
        each: How many cosines each one is the mean of: 2 where that of an entity's nearest observation counts too.
            Strangers were compared so with `vectors` entities, of which there may be more in scope.
    """

    strangers: Strangers | None = None
    vectors: int = 0
    inside: int = 0
    stranger: float = -1.0
    each: int = 1

    @property
    def usual(self) -> float:
        """
        How near a stranger usually comes to what is in scope, -1..1.

        The highest of n cosines grows about as ln(1 + n), from their mean on.
        """
        if self.strangers is None:
            return 1.0
        mean, nearest = self.strangers.mean, sorted(self.strangers.nearest)
        grown = nearest[len(nearest) // 2] - mean
        return mean + grown * math.log1p(self.inside) / math.log1p(self.vectors) if self.vectors else mean

    @property
    def telling(self) -> float:
        """How much the cosines tell, 0..1; see `TELLING`."""
        if self.strangers is None:
            return 0.0
        return min(1.0, max(0.0, _way(self.usual, self.strangers.right) / TELLING))


def confidence(
    hits: Sequence[Signals],
    tier: Tier,
    terms: int,
    measure: Callable[[], Measure],
    memories: Callable[[], int] = lambda: USUAL_SIZE,
) -> tuple[Outcome, str]:
    """
    How far the hits can be trusted, and why, as a clause.

    Not for an answer whose scope is empty or whose model failed.

    Args:
        terms: How many terms the query has; 0 if no word was looked for.
        measure: For cosines of a model. Called only if one was asked.
        memories: How many memories there are. Called only if none was asked, and the number matters.
    """
    asked = tier in {Tier.HYBRID, Tier.VECTOR}
    if not hits:
        why = _missing(tier, terms)
        if asked or not terms or largeness(memories()):
            return Outcome.NOTHING_RELEVANT, why
        return Outcome.WEAK, f"{why}, which says little in so small a store"
    coverage = max(hit.coverage for hit in hits)
    words_clause = f"the best result matches {coverage:.0%} of the words by weight"
    if not asked:
        return _by_words(coverage, terms, memories), words_clause
    by = measure()
    # What has no vector is neither near nor far.
    cosines = sorted((0.0 if hit.cosine is None else hit.cosine for hit in hits), reverse=True)
    short = 0 < terms <= LONG_QUERY
    nearest = "the highest cosine is" if by.each == 1 else "the nearest entity and observation have a mean cosine of"
    cosine_clause = f"{nearest} {cosines[0]:z.2f}"
    if not by.telling:
        why = words_clause if terms else f"{cosine_clause}, which may be high or low for this model"
        return _by_words_first(coverage, cosines, by, short=short), why
    cosine_clause += f", unrelated questions reach {by.usual:z.2f}"
    why = f"{words_clause}, {cosine_clause}" if short else cosine_clause
    return _by_strangers(coverage, cosines[0], by, short=short), why


def largeness(memories: int) -> float:
    """How large a store without a model is: 0 up to `SMALL_SIZE` memories, 1 from `USUAL_SIZE` on, linear in between."""
    return min(1.0, max(0.0, (memories - SMALL_SIZE) / (USUAL_SIZE - SMALL_SIZE)))


def _by_words(coverage: float, terms: int, memories: Callable[[], int]) -> Outcome:
    if coverage >= ANSWERED_MIN_COVERAGE:
        return Outcome.ANSWERED
    irrelevant = terms <= LONG_QUERY and coverage < WEAK_MIN_COVERAGE and coverage < 2 * largeness(memories())
    return Outcome.NOTHING_RELEVANT if irrelevant else Outcome.WEAK


def _by_strangers(coverage: float, cosine: float, by: Measure, *, short: bool) -> Outcome:
    """
    Judge by how far the nearest lies above strangers, and by words as far as the query is `short`.

    A hit with all words of a short query is never denied, however near strangers come.
    """
    telling = by.telling
    nearer = telling * (_likeness(cosine, by) - _nearer(cosine, by))
    held = coverage - _between(HELD, by.inside)
    words = WORDS * (held if short else max(0.0, held) + 1 - telling)
    evidence = nearer + words
    if evidence >= SURE[0] + (SURE[1] - SURE[0]) * telling:
        return Outcome.ANSWERED
    return Outcome.WEAK if evidence >= 0 or (short and coverage >= ALL) else Outcome.NOTHING_RELEVANT


def _by_words_first(coverage: float, cosines: Sequence[float], by: Measure, *, short: bool) -> Outcome:
    """Judge where cosines tell nothing: deny what holds too little of a short query and is not nearer than others are."""
    if short and coverage >= WEAK_MIN_COVERAGE:
        return Outcome.ANSWERED
    least = 0.0 if by.strangers is None else _between((BY_CHANCE, HELD[1]), by.inside)
    denied = short and coverage <= least and not _near(cosines, by)
    return Outcome.NOTHING_RELEVANT if denied else Outcome.WEAK


def _near(cosines: Sequence[float], by: Measure) -> bool:
    """Whether the nearest hit lies above strangers, or before these are known, above the other hits."""
    if by.strangers is not None:
        return _likeness(cosines[0], by) >= _nearer(cosines[0], by)
    others = sum(cosines[1:]) / max(1, len(cosines) - 1)
    return len(cosines) < 2 or _way(others, cosines[0]) >= BY_FAR  # alone, it is the nearest by far


def _likeness(cosine: float, by: Measure) -> float:
    """How far a cosine lies above strangers; what two cosines tell is added up."""
    return by.each * _way(by.usual, cosine)


def _way(low: float, cosine: float) -> float:
    """How far a cosine lies above another, as a share of the way to 1."""
    return (cosine - low) / max(1e-6, 1 - low)


def _nearer(cosine: float, by: Measure) -> float:
    """How far the nearest hit, of this cosine, should lie above strangers."""
    share = _share(by.inside, *(TINY if by.each == 1 else OBSERVED))
    few = LED if by.stranger - cosine > ASTRAY else 0.0
    return share * _between(NEARER, by.inside) + (1 - share) * few


def _between(bounds: tuple[float, float], vectors: int) -> float:
    """The bound for a store of this size, between those of a small and of a large one."""
    return bounds[0] + (bounds[1] - bounds[0]) * _share(vectors, FEW, MANY)


def _share(vectors: int, few: int, many: int) -> float:
    """How far a number of vectors lies between two others, by the logarithm, 0..1."""
    return min(1.0, max(0.0, math.log(max(1, vectors) / few) / math.log(many / few)))


def _missing(tier: Tier, terms: int) -> str:
    if tier is Tier.VECTOR:
        return "no memory in scope has a vector"
    return "no memory contains any of these words" if terms else "the query has no word to look for"
