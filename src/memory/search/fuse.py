"""Several signals as one: two rankings merged, age and corrections, meaning with distance in a graph, two vectors of a query."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema.answer import Ranking, Scored, coverages
from memory.schema.query import Merge, Term
from memory.search.gate import largest_share, match_strengths

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from memory.schema.memory import ChunkId, MemoryId
    from memory.schema.space import Vectors

RRF_K = 60
"""The constant of reciprocal rank fusion; Cormack, Clarke and Büttcher, SIGIR 2009, found 60 best."""


class Fusing(NamedTuple):
    """
    How a hybrid search weighs its retrievers (see `fuse`), and how deep it looks into their rankings.

    Attributes:
        documented: Take the first 2 · limit results of each retriever, and neither more nor fewer: memories,
            where the answer shows memories. Keywords alone are then scored by BM25.
        candidates: Chunks to take from each retriever, at least.
        deepen: Take more if those cover fewer memories or sections than the query asks for.
        neighbours: Whether adjacent words of the query count (`memory.search.keywords`).
        distilled: Whether the distilled tier may answer.
        combined: Whether a hybrid search compares with the `combined` vector, where there is a distilled tier.
        half_life: Days after which a memory's score counts for three quarters (`aged`); 0 ignores age.
    """

    weights: tuple[float, float] = (0.3, 0.7)
    merge: Merge = Merge.MINMAX
    candidates: int = 100
    deepen: bool = True
    neighbours: bool = True
    distilled: bool = True
    combined: bool = True
    half_life: float = 0.0
    documented: bool = False


DOCUMENTED = Fusing(merge=Merge.MAX, deepen=False, neighbours=False, distilled=False, combined=False, documented=True)
"""The documented hybrid search as it is printed: nothing but its two lists and its merge."""


Proximity: TypeAlias = "Callable[[Sequence[ChunkId]], Mapping[ChunkId, float]]"
"""
Asked once with the candidates, best first without it: the share of the query's weight whose words are adjacent in a
chunk, 0..1 (see `memory.search.keywords`).
"""


def fuse(
    pool: Ranking,
    similarities: Mapping[ChunkId, float],
    *,
    terms: Sequence[Term] = (),
    weights: tuple[float, float] = (0.3, 0.7),
    merge: Merge = Merge.MINMAX,
    proximity: Proximity = lambda _: {},
) -> Ranking:
    """
    Rank candidates by the scores of both retrievers.

    Args:
        pool: The candidates: the union of both rankings, each chunk once, with every score that is known, in any order.
        similarities: The cosine of each chunk with the query after centring, -1..1; none for a chunk without a vector.
        terms: The keyword retriever's terms; the bits of `matched` stand for them.
        weights: Of keywords and vectors.
        proximity: See `Proximity`; it counts with MINMAX.

    Returns:
        The candidates with new scores, best first; at most 1 if the weights sum to 1, and with MINMAX and RRF at least 0.
        MINMAX: see `_from_minimum`.
        MAX: each score divided by the best of its retriever, a missing one 0: the documented rule to the digit, so
        that cosines below 0 count against a chunk, and a best cosine below 0 turns their order round.
        RRF: `w / (60 + rank)`, summed over the retrievers.
    """
    match merge:
        case Merge.MINMAX:
            scores = _from_minimum(pool, similarities, terms, weights, proximity)
        # MAX and RRF score a missing vector 0, as their sources do; only MINMAX knows a neutral value.
        case Merge.MAX:
            scores = _weighed(weights, *_by_largest(pool, similarities))
        case Merge.RRF:
            scores = _weighed(weights, *_reciprocal(pool, similarities))
    order = _best_first(pool.chunks, scores)
    return pool.at(order, [scores[place] for place in order])


def _weighed(weights: tuple[float, float], keywords: Sequence[float], vectors: Sequence[float]) -> list[float]:
    keyword, vector = weights
    return [keyword * one + vector * other for one, other in zip(keywords, vectors, strict=True)]


def _best_first(chunks: Sequence[ChunkId], scores: Sequence[float]) -> list[int]:
    """The places of candidates; ties by chunk, highest first."""
    keys = zip([-score for score in scores], [-chunk for chunk in chunks], range(len(chunks)), strict=True)
    return [place for *_, place in sorted(keys)]


SHARPNESS = 10
"""Scores of a merge lie within 0..1, and those of good candidates some tenths apart."""


def merged_margin(
    pool: Ranking,
    similarities: Mapping[ChunkId, float],
    *,
    terms: Sequence[Term],
    weights: tuple[float, float],
    proximity: Mapping[ChunkId, float] = MappingProxyType({}),
) -> float:
    """
    How far the first stands out in a merge of both rankings, 0..1: the largest softmax(10 · score).

    Args:
        pool, similarities, terms, weights, proximity: See `fuse`.
    """
    scores = _from_minimum(pool, similarities, terms, weights, lambda _: proximity)
    return largest_share([SHARPNESS * score for score in sorted(scores, reverse=True)])


def _from_minimum(
    pool: Ranking,
    similarities: Mapping[ChunkId, float],
    terms: Sequence[Term],
    weights: tuple[float, float],
    proximity: Proximity,
) -> list[float]:
    """
    `(2 · coverage + BM25 / best BM25 + 0.65 · proximity) / 3.65` and `(n + 1) / (best n + 1)`, n being the similarity,
    by their weights.

    Each retriever counts from its theoretical minimum (Bruch, Gai and Ingber, TOIS 2023). BM25 / best BM25 is 1 for the
    best however poor it is, so coverage weighs twice as much. A chunk without a vector gets n = 0, neither like the
    query nor unlike it: waiting for a vector must not make it the worst.
    """
    held = coverages(terms, pool.matched)
    keywords = _of_best([keyword or 0.0 for keyword in pool.keywords])
    similar = _of_best([max(0.0, similarities.get(chunk, 0.0) + 1.0) for chunk in pool.chunks])
    scores = _weighed(weights, match_strengths(held, keywords), similar)
    # Which chunks come first, so that their texts are read, is known only now.
    adjacent = proximity([pool.chunks[place] for place in _best_first(pool.chunks, scores)])
    if any(adjacent.values()):
        beside = [adjacent.get(chunk, 0.0) for chunk in pool.chunks]
        scores = _weighed(weights, match_strengths(held, keywords, beside), similar)
    return scores


def _by_largest(pool: Ranking, similarities: Mapping[ChunkId, float]) -> tuple[list[float], list[float]]:
    keywords = _of_best([keyword or 0.0 for keyword in pool.keywords])
    # Of the list alone, for a missing score is not its best.
    highest = max((similarities[chunk] for chunk in pool.chunks if chunk in similarities), default=1.0) or 1.0
    return keywords, [similarities.get(chunk, 0.0) / highest for chunk in pool.chunks]


def _of_best(scores: Sequence[float]) -> list[float]:
    best = max(scores, default=0.0) or 1.0
    return [score / best for score in scores]


def _reciprocal(pool: Ranking, similarities: Mapping[ChunkId, float]) -> tuple[list[float], list[float]]:
    known = zip(pool.chunks, pool.keywords, strict=True)
    keywords = _places({chunk: keyword for chunk, keyword in known if keyword is not None})
    vectors = _places({chunk: similarities[chunk] for chunk in pool.chunks if chunk in similarities})
    keyword_shares, vector_shares = ([ranks.get(chunk, 0.0) for chunk in pool.chunks] for ranks in (keywords, vectors))
    return keyword_shares, vector_shares


def _places(scores: Mapping[ChunkId, float]) -> dict[ChunkId, float]:
    order = sorted(scores, key=lambda chunk: (-scores[chunk], -chunk))
    return {chunk: 1 / (RRF_K + rank) for rank, chunk in enumerate(order, start=1)}


def by_one_chunk(vectors: Ranking, keywords: Ranking) -> Ranking:
    """
    A ranking by vector with one chunk for each memory, of which those that keywords ranked stand for the memory in it too:
    merged by chunk, the scores of a memory are then added up.

    Args:
        vectors, keywords: At most one chunk of each memory.
    """
    ranked = dict(zip(keywords.memories, keywords.chunks, strict=True))
    chunks = [ranked.get(memory, chunk) for chunk, memory in zip(vectors.chunks, vectors.memories, strict=True)]
    return Ranking(chunks, *vectors.columns[1:-1], cosines=vectors.cosines)


# What time does to a ranking: a correction comes before what it corrects, and newer memories may weigh more ------


def successors_first(ranking: Ranking, successors: Mapping[MemoryId, Sequence[MemoryId]]) -> Ranking:
    """
    A ranking in which every memory comes after its successors, as far as they are ranked.

    A successor's best chunk moves right before the memory, with at least its score; nothing else moves.

    Args:
        successors: For each memory that others replaced, those, the newest first.
    """
    items = [*ranking]
    best: dict[MemoryId, Scored] = {}
    for scored in items:
        best.setdefault(scored.memory, scored)
    done: set[MemoryId] = set()
    found: list[Scored] = []
    for scored in items:
        if scored.memory in done:
            if scored is not best[scored.memory]:
                found.append(scored)
            continue
        for memory in _line(scored.memory, successors, set()):
            if memory in best and memory not in done:
                done.add(memory)
                found.append(best[memory]._replace(score=max(best[memory].score, scored.score)))
    return Ranking.of(found)


def _line(
    memory: MemoryId, successors: Mapping[MemoryId, Sequence[MemoryId]], passed: set[MemoryId]
) -> Iterator[MemoryId]:
    """A memory behind its successors, and each of those behind its own."""
    passed.add(memory)
    for later in successors.get(memory, ()):
        if later not in passed:
            yield from _line(later, successors, passed)
    yield memory


def aged(ranking: Ranking, changed: Mapping[MemoryId, datetime], moment: datetime, half_life: float) -> Ranking:
    """
    A ranking in which newer memories weigh more: score · (1 + 0.5^(age / half life)) / 2.

    Age never takes more than half. A negative score, which a cosine may be, drops by the same amount.

    Args:
        changed: When each memory was last changed; a memory that is missing here counts as new.
        half_life: Days, above 0.
    """

    def weighed(memory: MemoryId, score: float) -> float:
        days = max(0.0, (moment - changed.get(memory, moment)).total_seconds() / 86_400)
        kept: float = 0.5 ** (days / half_life)
        return score - abs(score) * (1 - kept) / 2

    scores = [*map(weighed, ranking.memories, ranking.scores)]
    order = _best_first(ranking.chunks, scores)
    return ranking.at(order, [scores[place] for place in order])


STALE, WORDS = 0.25, 3
"""
From which share of the score of a memory that has ended on, or from one in how many of the words it was found by, what
holds comes before it: less is no answer in its place. In a small store words that all share have next to no score.
"""


def ended_behind(ranking: Ranking, ended: Collection[MemoryId]) -> Ranking:
    """
    A ranking in which what has ended stands behind what holds, but for what hardly answers: see `STALE`. Its score is that
    share of what it was, and no higher than the one before it; what holds stays as it is.
    """
    from bisect import bisect_left

    holding = [place for place, memory in enumerate(ranking.memories) if memory not in ended]
    best = [*accumulate((ranking.scores[place] for place in reversed(holding)), max)]  # of the last, the last two, ...

    @cache
    def alike(terms: int) -> int:
        """Behind how many that hold something stands that holds these terms."""
        least, several = terms.bit_count() / WORDS, enumerate(holding, start=1)
        return max(
            (n for n, place in several if terms and (ranking.matched[place] & terms).bit_count() >= least), default=0
        )

    order = {place: (float(number), 0.0) for number, place in enumerate(holding, start=1)}
    for place, memory in enumerate(ranking.memories):
        if memory in ended:
            score = ranking.scores[place]
            score -= abs(score) * (1 - STALE)
            before = max(
                len(holding) - bisect_left(best, score), bisect_left(holding, place), alike(ranking.matched[place])
            )
            order[place] = (before + 0.5, -min(score, ranking.scores[holding[before - 1]] if before else score))
    places = sorted(order, key=lambda place: (order[place], place))
    scores = [-order[place][1] if ranking.memories[place] in ended else ranking.scores[place] for place in places]
    return ranking.at(places, scores)


# Entities: meaning and distance in the graph -----------------------------------


def distance_score(distance: int | None) -> float:
    """1 / 2^distance, 0..1; 0 if the distance is None."""
    return 0.0 if distance is None else 0.5**distance


def relevance(
    similarity: float,
    distance: int | None,
    keyword: float = 0.0,
    *,
    vector_weight: float = 0.5,
    keyword_weight: float = 0.0,
) -> float:
    """
    Similarity, graph distance and keywords as one score, 0..1.

    w · similarity + (1 - w) / 2^distance, blended with the keyword score by its weight.

    Args:
        similarity: Similarity in meaning, 0..1.
        distance: Relations between the entity and the closest entity of the context; None if it is too far away.
        keyword: Keyword score, 0..1.
        vector_weight: 0 uses the graph alone, 1 the meaning alone.
        keyword_weight: 0 ignores keywords, 1 uses nothing else.
    """
    score = vector_weight * similarity + (1 - vector_weight) * distance_score(distance)
    return (1 - keyword_weight) * score + keyword_weight * keyword


# The vector of a query between the one that its model makes and the one that its store's term vectors make -----

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
