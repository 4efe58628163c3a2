"""Whether the keyword ranking is enough: the one place where a search decides to pay for an embedding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from memory.query import Gate, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.query import Ranking, Scored, Term
    from memory.record import MemoryId

DEPTH = 30
"""Chunks the gate looks at. More change its verdicts little and cost time in every search."""

HALF = 0.5
"""Share of the query's weight the best candidate must hold to stand out: in a small store anything stands out."""


class Tuning(NamedTuple):
    """
    Attributes:
        enough: Memories the keyword leg must find (COUNT), or find with every term of the query (AUTO), from 1.
        mass: AUTO: share of the softmax from which the first result stands out, 0..1.
    """

    gate: Gate = Gate.AUTO
    enough: int = 3
    mass: float = 0.3


def judge(terms: Sequence[Term], ranking: Ranking, tuning: Tuning) -> Verdict:
    """
    Decide whether a keyword ranking answers a query.

    AUTO looks at what was found and not at how many: nearly every question shares some word with three memories.

    Args:
        terms: What was looked for; `matched` of the ranking speaks of them.
    """
    top = ranking[:DEPTH]
    held = held_by_memory(ranking[: max(DEPTH, tuning.enough)])
    every = (1 << len(terms)) - 1
    complete = sum(bits == every for bits in held.values())
    mass = first_mass(terms, top)
    best = max((coverage(terms, scored.matched) for scored in top), default=0.0)
    enough, why = _decision(Verdict(False, "", len(held), complete, mass, best), tuning)
    return Verdict(enough, why, len(held), complete, mass, best)


def _decision(seen: Verdict, tuning: Tuning) -> tuple[bool, str]:  # noqa: PLR0911  # one answer a case
    found, complete, mass = seen.found, seen.complete, seen.mass
    match tuning.gate:
        case Gate.ALWAYS:
            return False, "the gate is set to always"
        case Gate.NEVER:
            return True, "the gate is set to never"
        case Gate.COUNT:
            return found >= tuning.enough, f"{_memories(found)} found, {tuning.enough} are enough"
        case Gate.AUTO if not found:
            return False, "no memory in scope holds any of the words"
        case Gate.AUTO if complete >= tuning.enough:
            return True, f"{_memories(complete)} with every word of the query, {tuning.enough} are enough"
        case Gate.AUTO if mass >= tuning.mass and seen.coverage >= HALF:
            return True, f"the first result stands out ({mass:.2f} of the weight, {tuning.mass:.2f} is enough)"
        case Gate.AUTO if mass >= tuning.mass:
            return False, f"the first result holds only {seen.coverage:.0%} of the query, under {HALF:.0%}"
    return False, (
        f"{_memories(complete)} with every word of the query ({tuning.enough} would be enough) "
        f"and none that stands out ({mass:.2f} of the weight, {tuning.mass:.2f} would be enough)"
    )


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def held_by_memory(ranking: Ranking) -> Mapping[MemoryId, int]:
    """For each memory, best first: the terms that its chunks hold together, as in `Scored.matched`."""
    held: dict[MemoryId, int] = {}
    for scored in ranking:
        held[scored.memory] = held.get(scored.memory, 0) | scored.matched
    return held


def coverage(terms: Sequence[Term], matched: int) -> float:
    """Share of the terms' weight that a set of them has, 0..1."""
    total = sum(term.weight for term in terms)
    held = sum(term.weight for i, term in enumerate(terms) if matched >> i & 1)
    return held / total if total else 0.0


def likeness(terms: Sequence[Term], scored: Scored) -> float:
    """
    How near a chunk is to the query, 0..1: its cosine, what is below 0 taken as 0 (CAP A13, X17); of one whose vector
    was not looked at, the share of the terms' weight that it holds.
    """
    if scored.cosine is None:
        return coverage(terms, scored.matched)
    return min(1.0, max(0.0, scored.cosine))


def first_mass(terms: Sequence[Term], ranking: Ranking) -> float:
    """
    How far the best candidate stands above the others: the largest softmax(2 · s), with
    s = 2 · coverage + BM25 / best BM25, over the candidates (FACTS "Gates"). 0..1; 1 for a single candidate.
    """
    if not ranking:
        return 0.0
    best = max(scored.score for scored in ranking)
    cache: dict[int, float] = {}
    strengths = []
    for scored in ranking:
        if (held := cache.get(scored.matched)) is None:
            held = cache[scored.matched] = coverage(terms, scored.matched)
        strengths.append(2 * held + scored.score / best)
    highest = max(strengths)
    return 1 / sum(math.exp(2 * (strength - highest)) for strength in strengths)
