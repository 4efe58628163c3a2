"""The gate: how far a tiered search goes, and whether it pays for an embedding, judged by how well chunks match the query."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema.answer import Ranking, Tier, Verdict, coverages, held_by_memory
from memory.schema.query import CallPrice, Gate, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.memory import ChunkId

NEIGHBOURS = 0.65
"""Weight of proximity in the keyword part, where BM25 has 1."""

DEPTH = 30
"""Chunks the gate looks at. More would hardly change its verdicts and would slow down every search."""

KEYWORD_MARGIN = 0.5
"""Where there is a distilled tier, keywords are enough if the first result weighs as much as all others, at an effort of 0.5."""

ENOUGH = 0.4
"""The margin of keywords from which on no model is needed, where there is no distilled tier."""

NEAR_ENOUGH, OF_FEW = 0.8, 1.0
"""
What the nearest cosine and both margins come to, if no model is needed, in a store of `SEVERAL` vectors or more, and of `FEW`.

Between them the bound falls with the logarithm of their number: of few vectors a smaller share of what they have in common is
taken away (`memory.schema.space.shrunk`), so that all cosines are higher.
"""

FEW, SEVERAL = 5, 40

KEYWORD_WEIGHT, DISTILLED_WEIGHT = 0.5, 1.5
"""What the margins of keywords and of the distilled answer count beside the cosine of what is nearest to the guessed vector."""

MANY = 100
"""Vectors from which on keywords alone may be enough beside a distilled tier: among fewer it costs next to nothing."""

MET = 40
"""
A word that the term vectors met in so many chunks is half known to them (Bühlmann's credibility, m / (m + 40)).

A store of forty notes teaches little about any word, so its own vectors say little about which note is meant.
"""

LEAST_COVERAGE = 0.45
"""Share of the query's weight the best candidate must hold, if keywords are to be enough."""

CANDIDATES, CHANCE = 12, 0.8
"""
A first result stands out from so many at least; those that were not found score what a word of four gives by chance.

Of two candidates the better would have half of the weight in any case.
"""

SCALE = 2.1
"""How sharply the margin tells strengths apart: so sharply that it is 0.5 for as many questions as with all of BM25 and 2."""

UNKNOWN = "the store's own vectors know less than a quarter of the query"

SHORT_QUERY = 2
"""A query with at most this many terms looks for words, not for an answer."""


Sign: TypeAlias = "Callable[[float, float], float | None]"
"""
How near the distilled answer comes to the guessed vector, and how far its first stands out: the highest cosine after centring
plus a weight times the margin. Called with that weight and with what is enough: exact if that is reached.

None if the term vectors know less than a quarter of the query.
"""


EFFORTS = {CallPrice.LOADED: 0.6, CallPrice.LOADING: 0.5, CallPrice.SERVER: 0.5, CallPrice.AWAY: 0.35}
"""
The effort that a call is worth, by what it takes: 7 ms in this process, some 100 to load the model or to ask a server.

A server elsewhere takes longer, may take money, and gets to know what was asked.
"""


class GateOptions(NamedTuple):
    """
    Attributes:
        enough: With COUNT: memories the keyword retriever must find, from 1.
        effort: With AUTO: 0..1; 0 never calls a model, 1 always does. None until `priced` has chosen it; 0.5 stands for it.
        why: Why it was chosen; empty if a number is set.
        lasting: Whether the process lives on after the search, so that a model it loads serves other searches too.
    """

    gate: Gate = Gate.AUTO
    enough: int = 3
    effort: float | None = 0.5
    why: str = ""
    lasting: bool = True

    @property
    def never_hybrid(self) -> bool:
        """Whether no search may call a model."""
        return self.gate is Gate.NEVER or (self.gate is Gate.AUTO and self.effort == 0)

    def priced(self, price: CallPrice) -> GateOptions:
        """The same with the effort that a call is worth. A process that ends with the search loads no model for it."""
        loads = price is CallPrice.LOADING and not self.lasting
        return self._replace(effort=0.0 if loads else EFFORTS[price], why=price.value)


def judge(
    terms: Sequence[Term],
    ranking: Ranking,
    options: GateOptions,
    *,
    proximity: Mapping[ChunkId, float] = MappingProxyType({}),
    distilled: Sign | None = None,
    vectors: int = MANY,
) -> Verdict:
    """
    Decide how far to go, from what the keyword retriever found.

    AUTO goes by what was found, not by how much: nearly every question shares a word with three memories.
    How far the first result stands out decides: of keywords (`first_margin`), then together with how near the distilled
    answer comes (docs/ranking.md, "The gate").

    Args:
        terms: The query's terms; the bits of `matched` in the ranking stand for them.
        proximity: For each chunk, the share of the query's weight whose words are adjacent in it, 0..1.
        distilled: See `Sign`; None if the store has no distilled tier. Called only if keywords are not enough.
        vectors: How many the store has.
    """
    top = ranking if len(ranking.chunks) <= DEPTH else ranking[:DEPTH]
    held = held_by_memory(ranking, max(DEPTH, options.enough))
    every = (1 << len(terms)) - 1
    complete = sum(bits == every for bits in held.values())
    shares = coverages(terms, top.matched)
    margin = first_margin(top, shares, proximity)
    best = max(shares, default=0.0)
    verdict = Verdict(False, "", len(held), complete, margin, best)
    # Of these only the first counts: what the words find is not a memory that stands third.
    first = bool(held) and next(iter(held.values())) == every
    tier, why = _decided(verdict, terms, options, (distilled, vectors), complete=first)
    if options.why and options.gate is Gate.AUTO:
        why = f"{why} (effort {options.effort:g}: {options.why})"
    return verdict._replace(enough=tier is Tier.KEYWORD, why=why, tier=tier)


def _decided(
    verdict: Verdict, terms: Sequence[Term], options: GateOptions, known: tuple[Sign | None, int], *, complete: bool
) -> tuple[Tier, str]:
    cheap = Tier.KEYWORD if known[0] is None else Tier.DISTILLED
    match options.gate:
        case Gate.ALWAYS:
            return Tier.HYBRID, "the gate is set to always"
        case Gate.NEVER:
            return cheap, "the gate is set to never"
        case Gate.COUNT:
            tier = Tier.KEYWORD if verdict.found >= options.enough else Tier.HYBRID
            return tier, f"{_memories(verdict.found)} found, {options.enough} are enough"
        case Gate.AUTO:
            effort = 0.5 if options.effort is None else options.effort
            tier, why = _auto(verdict, terms, effort, known, complete=complete)
            if options.never_hybrid and tier is Tier.HYBRID:
                return cheap, "no model is asked" if options.why else "the effort is set to 0"
            return tier, why


def _auto(
    verdict: Verdict, terms: Sequence[Term], effort: float, known: tuple[Sign | None, int], *, complete: bool
) -> tuple[Tier, str]:
    # From the surest sign to the weakest: the first that applies decides.
    if effort >= 1:
        return Tier.HYBRID, "the effort is set to 1"
    if not verdict.found:
        return Tier.HYBRID, "no memory contains any of these words"
    names = all(term.exact for term in terms)
    if complete and (names or len(terms) <= SHORT_QUERY):
        return Tier.KEYWORD, f"{_memories(verdict.complete)} with every {'name and quoted phrase' if names else 'word'}"
    distilled, vectors = known
    factor = (effort / (1 - effort)) ** 0.5
    by_words = _by_words(verdict, ENOUGH * factor, factor)
    return by_words if distilled is None else _by_vectors(verdict, terms, factor, by_words, (distilled, vectors))


def _by_vectors(
    verdict: Verdict, terms: Sequence[Term], factor: float, by_words: tuple[Tier, str], known: tuple[Sign, int]
) -> tuple[Tier, str]:
    """The same beside a distilled tier. It costs no call either, so with it less effort leaves keywords as they are."""
    distilled, vectors = known
    clear = _by_words(verdict, KEYWORD_MARGIN * max(1.0, factor))
    if clear[0] is Tier.KEYWORD and vectors >= MANY:
        return clear
    if by_words[0] is Tier.KEYWORD:
        return Tier.DISTILLED, by_words[1]
    enough, counted = near_enough(vectors) * factor ** (1 / 3), KEYWORD_WEIGHT * verdict.mass
    if (sign := distilled(DISTILLED_WEIGHT * credibility(terms), enough - counted)) is None:
        return by_words[0], f"{UNKNOWN}; {by_words[1]}"
    said = f"with the store's own vectors: {sign + counted:.2f}, {enough:.2f}"
    if sign + counted < enough:
        return Tier.HYBRID, f"no result is near enough {said} would be enough"
    return Tier.DISTILLED, f"the first result is near and stands out {said} is enough"


def _by_words(verdict: Verdict, enough: float, factor: float = 1.0) -> tuple[Tier, str]:
    """Whether keywords are enough, or the model is asked."""
    share = LEAST_COVERAGE * min(1.0, factor)
    if verdict.coverage < share:
        return (
            Tier.HYBRID,
            f"no result matches enough words: {verdict.coverage:.0%} by weight, {share:.0%} would be enough",
        )
    if verdict.mass < enough:
        return Tier.HYBRID, f"no result stands out: {verdict.mass:.2f}, {enough:.2f} would be enough"
    return Tier.KEYWORD, f"the first result stands out: {verdict.mass:.2f}, {enough:.2f} is enough"


def near_enough(vectors: int) -> float:
    """What is enough at an effort of 0.5 in a store of so many vectors; see `NEAR_ENOUGH`."""
    few = math.log(SEVERAL / min(max(vectors, FEW), SEVERAL)) / math.log(SEVERAL / FEW)
    return NEAR_ENOUGH + (OF_FEW - NEAR_ENOUGH) * few


def credibility(terms: Sequence[Term]) -> float:
    """How far to believe what term vectors say of these words, 0..1: m / (m + 40), where a word is met in m chunks on average."""
    total = sum(term.weight for term in terms)
    met = sum(term.weight * term.rows for term in terms) / total if total else 0.0
    return met / (met + MET)


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def first_margin(
    ranking: Ranking, shares: Sequence[float], proximity: Mapping[ChunkId, float] = MappingProxyType({})
) -> float:
    """
    How far the best candidate stands out, 0..1: the largest softmax(2.1 · s) over at least 12 candidates; 0 without any.

    s = 2.8 · coverage + 0.2 · BM25 / best BM25 + 0.65 · proximity, and 0.8 for each that is missing (docs/ranking.md, "The
    gate"). BM25 counts less than in `match_strengths`, because it changes with what else is in the store: whether a result
    stands out should not.

    Args:
        shares: The `coverages` of its chunks.
    """
    if not ranking.chunks:  # where those that are missing are all there is
        return 0.0
    best = max(keyword or 0.0 for keyword in ranking.keywords) or 1.0
    scores = [
        SCALE * (2.8 * share + 0.2 * (keyword or 0.0) / best + NEIGHBOURS * proximity.get(chunk, 0.0))
        for chunk, share, keyword in zip(ranking.chunks, shares, ranking.keywords, strict=True)
    ]
    return largest_share([*scores, *[SCALE * CHANCE] * (CANDIDATES - len(scores))])


def largest_share(scores: Sequence[float]) -> float:
    """The largest softmax of some scores, 0..1; 0 of none."""
    highest = max(scores, default=0.0)
    return 1 / sum(math.exp(one - highest) for one in scores) if scores else 0.0


def match_strengths(
    coverages: Sequence[float], keywords: Sequence[float], proximities: Sequence[float] | None = None
) -> list[float]:
    """
    How well chunks match the words of a query, 0..1.

    Args:
        coverages: Share of the query's weight that each holds, 0..1.
        keywords: BM25 over the best BM25, 0..1.
        proximities: Share of the query's weight whose words are adjacent in it, 0..1; None stands for 0 in each.
    """
    beside = [0.0] * len(coverages) if proximities is None else proximities
    return [
        (2 * share + keyword + NEIGHBOURS * adjacent) / (3 + NEIGHBOURS)
        for share, keyword, adjacent in zip(coverages, keywords, beside, strict=True)
    ]
