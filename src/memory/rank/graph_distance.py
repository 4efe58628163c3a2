"""Similarity in meaning and distance in a graph as one score."""

from __future__ import annotations


def distance_score(distance: int | None) -> float:
    """1 / 2^distance (CAP E17); 0 for what is too far away. 0..1."""
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

    w · similarity + (1 - w) / 2^distance (CAP E17), of which a keyword score takes its share (CAP X47).

    Args:
        similarity: In meaning, 0..1.
        distance: Relations between the entity and the closest one of the context; None if it is too far away.
        keyword: By keyword, 0..1.
        vector_weight: 0 is the graph alone, 1 the meaning alone.
        keyword_weight: 0 leaves keywords out, 1 leaves all else out.
    """
    score = vector_weight * similarity + (1 - vector_weight) * distance_score(distance)
    return (1 - keyword_weight) * score + keyword_weight * keyword
