"""Merging two rankings into one."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memory.rank.relevance import RRF_K, coverage, match_strength
from memory.schema.query import Merge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.answer import Ranking, Scored
    from memory.schema.memory import ChunkId
    from memory.schema.query import Term
    from memory.schema.space import Vectors

SHRINK = 50
"""The centre of n vectors is their sum over n + SHRINK, because the mean of a few vectors is mostly those vectors."""


class Fusing(NamedTuple):
    """
    How a hybrid search weighs its retrievers (see `fuse`), and how deep it looks into their rankings.

    Attributes:
        candidates: Chunks to take from each retriever, at least.
        deepen: Take more if those cover fewer memories or sections than the query asks for.
        neighbours: Whether adjacent words of the query count (`memory.rank.relevance`).
        distilled: Whether the distilled tier may answer.
        half_life: Days after which a memory's score counts for three quarters (`memory.rank.order`); 0 ignores age.
    """

    weights: tuple[float, float] = (0.3, 0.7)
    merge: Merge = Merge.MINMAX
    candidates: int = 100
    deepen: bool = True
    neighbours: bool = True
    distilled: bool = True
    half_life: float = 0.0


def fuse(
    pool: Sequence[Scored],
    similarities: Mapping[ChunkId, float],
    *,
    terms: Sequence[Term] = (),
    weights: tuple[float, float] = (0.3, 0.7),
    merge: Merge = Merge.MINMAX,
    proximity: Mapping[ChunkId, float] = MappingProxyType({}),
) -> Ranking:
    """
    Rank candidates by the scores of both retrievers.

    Args:
        pool: The candidates: the union of both rankings, each chunk once, with every score that is known.
        similarities: The cosine of each chunk with the query after centring, -1..1; none for a chunk without a vector.
        terms: The keyword retriever's terms; the bits of `matched` stand for them.
        weights: Of keywords and vectors.
        proximity: For each chunk, the share of the query's weight whose words are adjacent in it, 0..1 (see
            `memory.rank.relevance`).

    Returns:
        The candidates with new scores, best first; 0..1 if the weights sum to 1.
        MINMAX: `w0 · (2 · coverage + BM25 / best BM25 + 0.65 · proximity) / 3.65 + w1 · (n + 1) / (best n + 1)`,
        where n is the similarity: each retriever counts from its theoretical minimum
        (Bruch, Gai and Ingber, TOIS 2023).
        BM25 / best BM25 is 1 for the best however poor it is, so coverage weighs twice as much.
        A chunk without a vector gets n = 0, neither like the query nor unlike it:
        waiting for a vector must not make it the worst.
        MAX: each score divided by the best, a missing one 0 (the seed's rule).
        RRF: `w / (60 + rank)`, summed over the retrievers.
    """
    match merge:
        case Merge.MINMAX:
            held = {matched: coverage(terms, matched) for matched in {item.matched for item in pool}}
            parts = [
                (match_strength(held[item.matched], keyword, proximity.get(item.chunk, 0.0)), vector)
                for item, (keyword, vector) in zip(pool, _relative(pool, similarities, floor=-1.0), strict=True)
            ]
        # MAX and RRF score a missing vector 0, as their sources do; only MINMAX knows a neutral value.
        case Merge.MAX:
            parts = _relative(pool, similarities, floor=0.0)
        case Merge.RRF:
            parts = _reciprocal(pool, similarities)
    scores = (weights[0] * keyword + weights[1] * vector for keyword, vector in parts)
    scored = (item._replace(score=score) for item, score in zip(pool, scores, strict=True))
    return tuple(sorted(scored, key=lambda item: (-item.score, item.chunk)))


def shrunk(total: Vectors, count: int) -> Vectors:
    """
    The centre of some vectors, float32, shape (dimension,).

    Args:
        total: The sum of the vectors, shape (dimension,).
    """
    return (total / (count + SHRINK)).astype("float32")


def _relative(
    pool: Sequence[Scored], similarities: Mapping[ChunkId, float], *, floor: float
) -> list[tuple[float, float]]:
    best_keyword = max((item.keyword or 0.0 for item in pool), default=0.0) or 1.0
    above = [max(0.0, similarities.get(item.chunk, 0.0) - floor) for item in pool]
    highest = max(above, default=0.0) or 1.0
    return [((item.keyword or 0.0) / best_keyword, one / highest) for item, one in zip(pool, above, strict=True)]


def _reciprocal(pool: Sequence[Scored], similarities: Mapping[ChunkId, float]) -> list[tuple[float, float]]:
    keywords = _places({item.chunk: item.keyword for item in pool if item.keyword is not None})
    vectors = _places({item.chunk: similarities[item.chunk] for item in pool if item.chunk in similarities})
    return [(keywords.get(item.chunk, 0.0), vectors.get(item.chunk, 0.0)) for item in pool]


def _places(scores: Mapping[ChunkId, float]) -> dict[ChunkId, float]:
    order = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))
    return {chunk: 1 / (RRF_K + rank) for rank, chunk in enumerate(order, start=1)}


def centred(cosine: float, query_centre: float, chunk_centre: float, centre_length: float) -> float:
    """
    The cosine of two unit vectors after a centre is subtracted from both, computed from dot products alone.

    All vectors of a model share a large common part; without it their differences show (Mu and Viswanath, ICLR 2018).

    Args:
        cosine: q · x, for the query q and a chunk x.
        cosine: q · x.
        query_centre: q · m, for the centre m.
        chunk_centre: x · m.
        centre_length: m · m.
    """
    numerator = cosine - query_centre - chunk_centre + centre_length
    squares = (1 - 2 * query_centre + centre_length) * (1 - 2 * chunk_centre + centre_length)
    return max(-1.0, min(1.0, numerator / squares**0.5)) if squares > 1e-12 else 0.0
