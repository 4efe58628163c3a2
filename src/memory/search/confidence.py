"""
How far an answer can be trusted: whether its hits are nearer to the query than a stranger's are, and hold more of it.

No number here is of one model: what a cosine means is read off questions that are strangers to the store
(`memory.vectors.baseline`). docs/ranking.md, "What an answer is worth", has the rule in words and where it comes from.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Protocol

from memory.schema import NamedTuple
from memory.schema.answer import Outcome, Tier
from memory.schema.memory import MemoryId
from memory.schema.query import EVERYTHING
from memory.text.fold import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.answer import Hit
    from memory.schema.space import Strangers, Vectors
    from memory.search.search import Evidence

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

TOLD = 0.65
"""
Share of the strangers that the nearest hit should be nearer than, in a store as small as `OBSERVED` says first.

Such a store is on one subject, and a stranger of that subject comes nearer than most. From the second number on it is half of
them, since a store on several subjects may answer some.
"""

NEARER = (0.02, 0.18)
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

DENIED = -0.02
"""The evidence below which nothing fits: hardly less than a stranger has, since who is denied does not look any further."""

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
        return self._reached(1 / 2)

    @property
    def least(self) -> float:
        """How near a hit should come at least, -1..1; see `TOLD`. Observations are measured by the median stranger."""
        beyond = 0.0 if self.each > 1 else (TOLD - 1 / 2) * (1 - _share(self.inside, *OBSERVED))
        return self._reached(1 / 2 + beyond)

    def _reached(self, share: float) -> float:
        """How near this share of the strangers stays to what is in scope."""
        if self.strangers is None:
            return 1.0
        mean, nearest = self.strangers.mean, sorted(self.strangers.nearest)
        grown = nearest[int(len(nearest) * share)] - mean
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
    if not asked:
        found = _by_words(max(hit.coverage for hit in hits), terms, memories)
        # What stands further down denies nothing, but it is the first that answers.
        answered = found is Outcome.ANSWERED and hits[0].coverage < ANSWERED_MIN_COVERAGE
        return Outcome.WEAK if answered else found, _matches("first", hits[0].coverage)
    by = measure()
    # What has no vector is neither near nor far.
    pairs = [(hit.coverage, 0.0 if hit.cosine is None else hit.cosine) for hit in hits]
    short = 0 < terms <= LONG_QUERY
    nearest = "the highest cosine is" if by.each == 1 else "the nearest entity and observation have a mean cosine of"
    if not by.telling:
        coverage, cosines = max(pairs)[0], sorted((cosine for _, cosine in pairs), reverse=True)
        unsure = f"{nearest} {cosines[0]:z.2f}, which may be high or low for this model"
        why = _matches("best", coverage) if terms else unsure
        return _by_words_first(coverage, cosines, by, short=short), why
    # Of one hit: a word that one shares with the question and the likeness of another are evidence of neither.
    evidence, coverage, cosine = max((_evidence(*pair, by, short=short), *pair) for pair in pairs)
    full = short and any(share >= ALL for share, _ in pairs)
    likeness = f"{'its cosine is' if short and by.each == 1 else nearest} {cosine:z.2f}"
    parts = [*([_matches("best", coverage)] if short else ()), likeness, f"unrelated questions reach {by.least:z.2f}"]
    return _by_strangers(evidence, by, full=full), ", ".join(parts)


def _matches(which: str, coverage: float) -> str:
    return f"the {which} result matches {coverage:.0%} of the words by weight"


def largeness(memories: int) -> float:
    """How large a store without a model is: 0 up to `SMALL_SIZE` memories, 1 from `USUAL_SIZE` on, linear in between."""
    return min(1.0, max(0.0, (memories - SMALL_SIZE) / (USUAL_SIZE - SMALL_SIZE)))


def _by_words(coverage: float, terms: int, memories: Callable[[], int]) -> Outcome:
    if coverage >= ANSWERED_MIN_COVERAGE:
        return Outcome.ANSWERED
    irrelevant = terms <= LONG_QUERY and coverage < WEAK_MIN_COVERAGE and coverage < 2 * largeness(memories())
    return Outcome.NOTHING_RELEVANT if irrelevant else Outcome.WEAK


def _evidence(coverage: float, cosine: float, by: Measure, *, short: bool) -> float:
    """How far a hit lies above strangers, and what its words add as far as the query is `short`; below 0 it may be one."""
    nearer = by.telling * (_likeness(cosine, by) - _nearer(cosine, by))
    held = coverage - _between(HELD, by.inside)
    return nearer + WORDS * (held if short else max(0.0, held) + 1 - by.telling)


def _by_strangers(evidence: float, by: Measure, *, full: bool) -> Outcome:
    """
    Judge by the evidence of the best hit.

    Args:
        full: A hit has all words of a short query: then it is not denied, however near strangers come.
    """
    if evidence >= SURE[0] + (SURE[1] - SURE[0]) * by.telling:
        return Outcome.ANSWERED
    return Outcome.WEAK if evidence >= DENIED or full else Outcome.NOTHING_RELEVANT


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
    return by.each * _way(by.least, cosine)


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


# Of a search ---------------------------------------------------------------------

READ = 3
"""Results that may have what is asked for: an answer is seldom further down."""

ASKING = frozenset(
    "how what which when who whose price prices cost costs turnover budget salary revenue percentage diameter width height date"
    " name duration period phone telephone".split()
)
"""One of these is among the first words of each question that asks for a kind of value, as a law holds."""

FIRST = 4
"""How many words those are: "what is the price"."""


def trusted(evidence: Evidence, hits: Sequence[Hit], tier: Tier) -> tuple[Outcome, str]:
    """How far the hits can be trusted, and why."""
    if not hits and evidence.bare:
        return Outcome.NOTHING_SAVED, "nothing is in scope"
    if evidence.failure:
        return Outcome.DEGRADED, "the model was needed and did not answer"
    worth, why = outcome(evidence, hits, tier)
    question = fold(evidence.query.text)
    asks = not ASKING.isdisjoint(re.findall(r"\w+", question.lower())[:FIRST])
    if not asks or worth not in {Outcome.ANSWERED, Outcome.WEAK} or not hits:
        return worth, why
    from memory.search.sought import missing  # most questions ask for no such value

    said = [f"{hit.memory.title}. {hit.memory.what} {hit.text}" for hit in hits[:READ]]
    if not (what := missing(question, map(fold, said))):
        return worth, why
    # What holds most of the question is about it in any case, and may say it in another way; words alone deny nothing.
    fits = tier is Tier.KEYWORD or max(hit.coverage for hit in hits) >= ANSWERED_MIN_COVERAGE
    return Outcome.WEAK if fits else Outcome.NOTHING_RELEVANT, f"no result of the first {len(said)} has {what}, {why}"


def outcome(evidence: Evidence, hits: Sequence[Signals], tier: Tier, by: Measure | None = None) -> tuple[Outcome, str]:
    """
    How far the hits can be trusted, and why. Something is in scope.

    Args:
        by: What the cosines of the hits are measured by; None stands for `measure_of`.
    """

    def memories() -> int:
        """How many memories there are; if guessed vectors were compared, how many vectors."""
        if tier is Tier.DISTILLED:
            return evidence.store.generations.centre(evidence.outset().generation)[1]
        return evidence.store.memories.count(EVERYTHING)

    worth, why = confidence(hits, tier, len(evidence.terms), lambda: by or measure_of(evidence), memories)
    if worth is Outcome.NOTHING_RELEVANT and evidence.trace.partial:
        return Outcome.DEGRADED, "many chunks have no vector yet"
    return worth, why


def measure_of(evidence: Evidence) -> Measure:
    """What the cosines of the generation that was searched are measured by."""
    if evidence.vector is None:
        return Measure()
    (generation, vector), store, scope = evidence.vector, evidence.store, evidence.query.scope
    known = next((one.strangers for one in store.generations.every() if one.id == generation.id), None)
    if known is None:
        return Measure()
    inside = known.vectors
    if scope._replace(statuses=frozenset()) != EVERYTHING:  # else hardly narrower, and counting it takes time
        inside = round(inside * store.memories.count(scope) / max(1, store.memories.count(EVERYTHING)))
    near = store.generations.strangers(generation.id) if inside < TINY[1] else None
    return Measure(known, known.vectors, inside, -1.0 if near is None else float((near @ vector).max()))


# Entities: each observation counts by itself ------------------------------------------

NEAREST = 10
"""Entities whose observations are compared: the local model takes a tenth of a second for short ones of ten, once a process."""

LATEST, LONGEST = 10, 200
"""Observations of one entity that are compared, and characters of each: a person waits for these to be embedded."""


class NeedsVectors(NamedTuple):
    """Observations that have no vector yet, or the query if there are none; a model makes them, outside a snapshot."""

    texts: tuple[str, ...] = ()


def nearness(
    evidence: Evidence, cosines: Mapping[MemoryId, float], vectors: Mapping[str, Vectors]
) -> tuple[Mapping[MemoryId, float], Measure] | NeedsVectors | None:
    """
    For each of the nearest entities the mean of two cosines with the query, that of its passage and that of its nearest
    observation; and what these means are measured by. None if strangers are unknown, a server would be asked, or the
    store is large: there the entity's cosine is enough, and each question would have other observations embedded.

    The passage of several observations is like their mean, so it may be hardly like a question about one of them. And a
    question that is like one observation by chance is not like the others.

    Args:
        cosines: Of entities with the query.
        vectors: Of observations; all that are needed, else the answer is which of them lack one.
    """
    import numpy as np

    from memory.text.markdown import observations

    store, (generation, query) = evidence.store, evidence.compared
    by, strangers = measure_of(evidence), store.generations.strangers(generation)
    if by.strangers is None or strangers is None or by.inside > FEW or not (cosines and evidence.embedders().inside):
        return None
    nearest = sorted(cosines, key=cosines.__getitem__, reverse=True)[:NEAREST]
    bodies = store.memories.bodies(nearest)
    facts = {id: [text[:LONGEST] for text in observations(bodies.get(id, ""))[-LATEST:]] for id in nearest}
    if unknown := dict.fromkeys(text for texts in facts.values() for text in texts if text not in vectors):
        return NeedsVectors(tuple(unknown))
    asked, means = np.vstack([query, strangers]), {}
    for id, texts in facts.items():
        found, passages = store.vectors.heads(generation, MemoryId(id - 1), 1)
        if [*found] == [id]:  # not if only a later chunk has a vector yet
            whole = asked @ passages[0]
            means[id] = (whole + np.max([asked @ vectors[text] for text in texts] or [whole], axis=0)) / 2
    if not means:
        return None
    compared = np.stack([*means.values()])[:, 1:]
    known = by.strangers._replace(nearest=tuple(compared.max(axis=0).tolist()), mean=float(compared.mean()))
    by = Measure(known, len(means), by.inside, float((strangers @ query).max()), each=2)
    return {id: float(mean[0]) for id, mean in means.items()}, by
