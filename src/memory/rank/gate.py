"""The gate: how far a tiered search goes, and whether it pays for an embedding."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memory.rank.relevance import NEIGHBOURS, coverage, held_by_memory, strengths
from memory.schema.answer import Tier, Verdict
from memory.schema.query import Gate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId
    from memory.schema.query import Term

DEPTH = 30
"""Chunks the gate looks at. More would hardly change its verdicts and would slow down every search."""

KEYWORD_COVERAGE = 0.5
"""Share of the query's weight the best candidate must hold: in a small store a poor result can stand out too."""

SHORT_QUERY = 3
"""A query with at most this many terms looks for words, not for an answer."""

KEYWORD_MARGIN = 0.4
"""Keywords are enough if the first result stands out by this margin, at an effort of 0.5."""

DISTILLED_MARGIN = 0.15
"""The same margin for the distilled tier."""

GOOD_FIT, LEAST_FIT = 0.75, 0.05
"""
The fit of term vectors learned from thousands of passages, and the floor for lower ones.

The margin needed grows with the square of GOOD_FIT / fit: a small store teaches less, and more stands out in it.
"""

DISTILLED_COVERAGE = 0.35
"""Share of the query's weight the best candidate must hold then. Below it, only a model can tell whether it fits."""


class GateOptions(NamedTuple):
    """
    Attributes:
        enough: With COUNT: memories the keyword retriever must find, from 1.
        effort: With AUTO: 0..1; 0 never calls a model, 1 always does.
    """

    gate: Gate = Gate.AUTO
    enough: int = 3
    effort: float = 0.5

    @property
    def never_hybrid(self) -> bool:
        """Whether no search may call a model."""
        return self.gate is Gate.NEVER or (self.gate is Gate.AUTO and not self.effort)


def judge(
    terms: Sequence[Term],
    ranking: Ranking,
    options: GateOptions,
    *,
    proximity: Mapping[ChunkId, float] = MappingProxyType({}),
    fit: float | None = None,
) -> Verdict:
    """
    Decide how far to go, from what the keyword retriever found.

    AUTO goes by what was found, not by how much: nearly every question shares a word with three memories.
    One number decides between all tiers: how far the first keyword result stands out (`first_margin`).
    It predicts whether the *distilled* answer will do better than that answer itself does
    (docs/ranking.md, "The gate").

    Args:
        terms: The query's terms; the bits of `matched` in the ranking stand for them.
        proximity: For each chunk, the share of the query's weight whose words are adjacent in it, 0..1.
        fit: How well the term vectors fit, -1..1; None if there is no distilled tier.
    """
    top = ranking[:DEPTH]
    held = held_by_memory(ranking[: max(DEPTH, options.enough)])
    every = (1 << len(terms)) - 1
    complete = sum(bits == every for bits in held.values())
    margin = first_margin(terms, top, proximity)
    best = max((coverage(terms, scored.matched) for scored in top), default=0.0)
    verdict = Verdict(False, "", len(held), complete, margin, best)
    tier, why = _decided(verdict, terms, top, options, fit)
    return verdict._replace(enough=tier is Tier.KEYWORD, why=why, tier=tier)


def _decided(
    verdict: Verdict, terms: Sequence[Term], top: Ranking, options: GateOptions, fit: float | None
) -> tuple[Tier, str]:
    cheap = Tier.KEYWORD if fit is None else Tier.DISTILLED
    match options.gate:
        case Gate.ALWAYS:
            return Tier.HYBRID, "the gate is set to always"
        case Gate.NEVER:
            return cheap, "the gate is set to never"
        case Gate.COUNT:
            enough = verdict.found >= options.enough
            return (
                Tier.KEYWORD if enough else Tier.HYBRID,
                f"{_memories(verdict.found)} found, {options.enough} are enough",
            )
        case Gate.AUTO:
            tier, why = _auto(verdict, terms, top, options.effort, fit)
            return (cheap, "the effort is set to 0") if options.never_hybrid and tier is Tier.HYBRID else (tier, why)


def _auto(  # noqa: PLR0911  # one answer a case
    verdict: Verdict, terms: Sequence[Term], top: Ranking, effort: float, fit: float | None
) -> tuple[Tier, str]:
    # From the surest sign to the weakest: the first that applies decides.
    cheap = Tier.KEYWORD if fit is None else Tier.DISTILLED
    if effort >= 1:
        return Tier.HYBRID, "the effort is set to 1"
    if not verdict.found:
        return Tier.HYBRID, "no memory in scope holds any of the words"
    if _exactly(terms, top) and verdict.coverage >= KEYWORD_COVERAGE:
        return Tier.KEYWORD, "the names and quoted words of the query were found as they are"
    if len(terms) <= SHORT_QUERY and verdict.complete:
        return Tier.KEYWORD if len(
            terms
        ) < SHORT_QUERY else cheap, f"{_memories(verdict.complete)} with every word of a short query"
    factor = (effort / (1 - effort)) ** 0.5
    sure = KEYWORD_MARGIN * (factor if fit is None else max(1.0, factor))
    if verdict.mass >= sure and verdict.coverage >= KEYWORD_COVERAGE:
        return Tier.KEYWORD, _standing(verdict.mass, sure)
    likely = min(
        KEYWORD_MARGIN * factor, DISTILLED_MARGIN * factor * max(1.0, GOOD_FIT / max(fit or 0.0, LEAST_FIT)) ** 2
    )
    if fit is not None and verdict.mass >= likely and verdict.coverage >= DISTILLED_COVERAGE:
        return cheap, _standing(verdict.mass, likely, " enough to do without the model")
    needed, share = (sure, KEYWORD_COVERAGE) if fit is None else (likely, DISTILLED_COVERAGE)
    if verdict.mass >= needed:
        return Tier.HYBRID, f"the best result holds only {verdict.coverage:.0%} of the query, under {share:.0%}"
    return Tier.HYBRID, f"no result stands out ({verdict.mass:.2f} of the weight, {needed:.2f} would be enough)"


def _standing(margin: float, needed: float, so: str = "") -> str:
    return f"the first result stands out{so} ({margin:.2f} of the weight, {needed:.2f} is enough)"


def _exactly(terms: Sequence[Term], top: Ranking) -> bool:
    """Whether the query has names or quoted words, and one chunk holds all of them."""
    wanted = sum(1 << i for i, term in enumerate(terms) if term.exact)
    return bool(wanted) and any(scored.matched & wanted == wanted for scored in top)


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def first_margin(
    terms: Sequence[Term], ranking: Ranking, proximity: Mapping[ChunkId, float] = MappingProxyType({})
) -> float:
    """
    How far the best candidate stands out, 0..1: the largest softmax(2 · s) over the candidates; 1 for a single one.

    s = 2 · coverage + BM25 / best BM25 + 0.65 · proximity (docs/ranking.md, "The gate").
    """
    if not ranking:
        return 0.0
    best = max(scored.keyword or 0.0 for scored in ranking)
    sums = [(3 + NEIGHBOURS) * share for share in strengths(terms, ranking, best=best, proximity=proximity)]
    highest = max(sums)
    return 1 / sum(math.exp(2 * (one - highest)) for one in sums)
