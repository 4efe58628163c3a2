"""
How well chunks match the words of a query, and whether that is enough: the gate.

A chunk matches by the share of the query's words it holds (coverage) and by the share that is adjacent in it
(proximity).
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Ranking, Scored, Tier, Verdict
from memory.schema.query import Gate, Term

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.memory import ChunkId, MemoryId

NEIGHBOURS = 0.65
"""Weight of proximity in the keyword part, where BM25 has 1."""


def coverage(terms: Sequence[Term], matched: int) -> float:
    """Share of the query's weight held by the terms whose bits are set in `matched`, 0..1."""
    total = sum(term.weight for term in terms)
    held = sum(term.weight for i, term in enumerate(terms) if matched >> i & 1)
    return held / total if total else 0.0


def coverages(terms: Sequence[Term], matched: Sequence[int]) -> list[float]:
    """`coverage` for each of these bits."""
    known = {bits: coverage(terms, bits) for bits in set(matched)}
    return [known[bits] for bits in matched]


def match_strength(coverage: float, keyword: float, proximity: float) -> float:
    """
    How well a chunk matches the words of a query, 0..1.

    Args:
        coverage: Share of the query's weight that it holds, 0..1.
        keyword: BM25 over the best BM25, 0..1.
        proximity: Share of the query's weight whose words are adjacent in it, 0..1.
    """
    return (2 * coverage + keyword + NEIGHBOURS * proximity) / (3 + NEIGHBOURS)


def strengths(
    terms: Sequence[Term], chunks: Sequence[Scored], *, best: float, proximity: Mapping[ChunkId, float]
) -> list[float]:
    """
    `match_strength` of each chunk.

    Args:
        best: The best BM25 of all results.
        proximity: For each chunk, the share of the query's weight whose words are adjacent in it, 0..1.
    """
    held = coverages(terms, [one.matched for one in chunks])
    return [
        match_strength(share, (one.keyword or 0.0) / (best or 1.0), proximity.get(one.chunk, 0.0))
        for one, share in zip(chunks, held, strict=True)
    ]


def held_by_memory(ranking: Ranking) -> Mapping[MemoryId, int]:
    """For each memory, best first: the terms that its chunks hold between them, as bits like `Scored.matched`."""
    held: dict[MemoryId, int] = {}
    for scored in ranking:
        held[scored.memory] = held.get(scored.memory, 0) | scored.matched
    return held


def coverage_by_memory(terms: Sequence[Term], ranking: Ranking) -> Mapping[MemoryId, float]:
    """For each memory, best first: the share of the query's weight that its chunks hold between them, 0..1."""
    held = held_by_memory(ranking)
    return dict(zip(held, coverages(terms, [*held.values()]), strict=True))


# Adjacent words: evidence for the same phrase, which BM25 does not see ----------

PROXIMITY_DEPTH = 30
"""Chunks to look at: reading a hundred changed no judged set by more than 0.0001 of nDCG@10."""

KEYWORD_SHARE = 0.4
"""What a chunk that has all pairs of a query gains in the keyword ranking, as a share of the best BM25."""

_WORD = re.compile(r"\w+")


def neighbours(text: str, terms: Sequence[Term]) -> Mapping[str, float]:
    """
    The pairs of adjacent words in a query, as ` a b `, each with its share of the query's weight.

    A pair weighs the mean of its words' weights. Stop words weigh nothing,
    so "is the" is dropped and "in memory" counts a little.
    """
    weights: dict[str, float] = {}
    for term in terms:
        words = _WORD.findall(term.text.lower())
        for word in words:
            weights[word] = max(weights.get(word, 0.0), term.weight / len(words))
    total = sum(term.weight for term in terms) or 1.0
    words = _WORD.findall(text.lower())
    pairs = {f" {a} {b} ": (weights.get(a, 0.0) + weights.get(b, 0.0)) / 2 / total for a, b in pairwise(words)}
    return {pair: share for pair, share in pairs.items() if share > 0}


def proximities(pairs: Mapping[str, float], texts: Mapping[ChunkId, str]) -> Mapping[ChunkId, float]:
    """
    For each text, the share of the query's weight whose pairs it has, 0..1; the first and last word count half,
    so it stays below 1.

    Words must be equal but for case: matching inflected forms too gained nothing on the judged sets.
    """
    found = {}
    for chunk, text in texts.items():
        plain = f" {' '.join(_WORD.findall(text.lower()))} "
        found[chunk] = min(1.0, sum(share for pair, share in pairs.items() if pair in plain))
    return found


def lifted(ranking: Ranking, proximity: Mapping[ChunkId, float]) -> Ranking:
    """
    A keyword ranking with the bonus for adjacent words: score = BM25 + 0.4 · best BM25 · share.

    Only the first `PROXIMITY_DEPTH` are rescored; the others stay behind them in their order.
    """
    if not ranking or not proximity:
        return ranking
    best = max(scored.score for scored in ranking)
    first = [
        scored._replace(score=scored.score + KEYWORD_SHARE * best * proximity.get(scored.chunk, 0.0))
        for scored in ranking[:PROXIMITY_DEPTH]
    ]
    return (*sorted(first, key=lambda scored: (-scored.score, scored.chunk)), *ranking[PROXIMITY_DEPTH:])


# The gate: how far a tiered search goes, and whether it pays for an embedding ---

DEPTH = 30
"""Chunks the gate looks at. More would hardly change its verdicts and would slow down every search."""

KEYWORD_MARGIN = 0.5
"""Keywords are enough if the first result weighs as much as all others together, at an effort of 0.5."""

KEYWORD_COVERAGE = 0.5
"""Share of the query's weight the best candidate must hold: in a small store a poor result can stand out too."""

DISTILLED_MARGIN = 0.14
"""The distilled tier is enough from this margin on, at an effort of 0.5."""

GOOD_FIT, LEAST_FIT = 0.70, 0.05
"""
The fit of term vectors learned from thousands of passages, and the floor for lower ones.

The margin needed grows with GOOD_FIT / fit: a small store teaches less, and more stands out in it.
"""

DISTILLED_COVERAGE = 0.35
"""Share of the query's weight the best candidate must hold then. Below it, only a model can tell whether it fits."""

SHORT_QUERY = 2
"""A query with at most this many terms looks for words, not for an answer."""


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
        fit: How well the term vectors fit, -1..1; None if there is no distilled tier for this query.
    """
    top = ranking[:DEPTH]
    held = held_by_memory(ranking[: max(DEPTH, options.enough)])
    every = (1 << len(terms)) - 1
    complete = sum(bits == every for bits in held.values())
    margin = first_margin(terms, top, proximity)
    best = max((coverage(terms, scored.matched) for scored in top), default=0.0)
    verdict = Verdict(False, "", len(held), complete, margin, best)
    tier, why = _decided(verdict, terms, options, fit)
    return verdict._replace(enough=tier is Tier.KEYWORD, why=why, tier=tier)


def _decided(verdict: Verdict, terms: Sequence[Term], options: GateOptions, fit: float | None) -> tuple[Tier, str]:
    cheap = Tier.KEYWORD if fit is None else Tier.DISTILLED
    match options.gate:
        case Gate.ALWAYS:
            return Tier.HYBRID, "the gate is set to always"
        case Gate.NEVER:
            return cheap, "the gate is set to never"
        case Gate.COUNT:
            tier = Tier.KEYWORD if verdict.found >= options.enough else Tier.HYBRID
            return tier, f"{_memories(verdict.found)} found, {options.enough} are enough"
        case Gate.AUTO:
            tier, why = _auto(verdict, terms, options.effort, fit)
            return (cheap, "the effort is set to 0") if options.never_hybrid and tier is Tier.HYBRID else (tier, why)


def _auto(verdict: Verdict, terms: Sequence[Term], effort: float, fit: float | None) -> tuple[Tier, str]:
    # From the surest sign to the weakest: the first that applies decides.
    if effort >= 1:
        return Tier.HYBRID, "the effort is set to 1"
    if not verdict.found:
        return Tier.HYBRID, "no memory contains any of these words"
    names = all(term.exact for term in terms)
    if verdict.complete and (names or len(terms) <= SHORT_QUERY):
        return Tier.KEYWORD, f"{_memories(verdict.complete)} with every {'name and quoted phrase' if names else 'word'}"
    for tier, needed, share, so in _bounds(effort, fit):
        if verdict.mass >= needed and verdict.coverage >= share:
            return tier, f"the first result stands out{so}: {verdict.mass:.2f}, {needed:.2f} is enough"
    if verdict.mass >= needed:
        return (
            Tier.HYBRID,
            f"no result matches enough words: {verdict.coverage:.0%} by weight, {share:.0%} would be enough",
        )
    return Tier.HYBRID, f"no result stands out: {verdict.mass:.2f}, {needed:.2f} would be enough"


def _bounds(effort: float, fit: float | None) -> list[tuple[Tier, float, float, str]]:
    """The tiers that call no model, each with the margin and the coverage it needs, and what that is enough for."""
    factor = (effort / (1 - effort)) ** 0.5
    # The distilled tier costs no call either, so with it less effort leaves keywords as they are.
    of_words = factor if fit is None else max(1.0, factor)
    bounds = [(Tier.KEYWORD, KEYWORD_MARGIN * of_words, KEYWORD_COVERAGE * min(1.0, of_words), "")]
    if fit is not None:
        margin = min(KEYWORD_MARGIN, DISTILLED_MARGIN * max(1.0, GOOD_FIT / max(fit, LEAST_FIT)))
        share = DISTILLED_COVERAGE * min(1.0, factor)
        bounds.append((Tier.DISTILLED, margin * factor, share, " enough to do without the model"))
    return bounds


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
