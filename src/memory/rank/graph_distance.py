"""Similarity in meaning and distance in a graph, combined into one score."""

from __future__ import annotations


def distance_score(distance: int | None) -> float:
    """1 / 2^distance (CAP E17), 0..1; 0 if the distance is None."""
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

    w · similarity + (1 - w) / 2^distance (CAP E17), blended with the keyword score by its weight (CAP X47).

    Args:
        similarity: Similarity in meaning, 0..1.
        distance: Relations between the entity and the closest entity of the context; None if it is too far away.
        keyword: Keyword score, 0..1.
        vector_weight: 0 uses the graph alone, 1 the meaning alone.
        keyword_weight: 0 ignores keywords, 1 uses nothing else.
    """
    score = vector_weight * similarity + (1 - vector_weight) * distance_score(distance)
    return (1 - keyword_weight) * score + keyword_weight * keyword
