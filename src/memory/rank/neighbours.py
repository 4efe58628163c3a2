"""Words that stand together in a query and in a text: a sign of the same thing said, which BM25 does not see."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId
    from memory.schema.query import Term

DEPTH = 30
"""Chunks that are looked at: reading a hundred changed no judged set by more than 0.0001 of nDCG@10."""

KEYWORD_SHARE = 0.4
"""What a chunk that has all pairs of a query gains in the keyword ranking, in shares of the best BM25."""

_WORD = re.compile(r"\w+")


def neighbours(text: str, terms: Sequence[Term]) -> Mapping[str, float]:
    """
    The pairs of words that stand together in a query, as ` a b `, with the share of its weight that each is worth.

    A pair weighs the mean of its words' weights; stop words weigh nothing themselves, yet "is the" tells nothing and "in
    memory" something.
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
    For each text the share of the query's weight whose pairs it has, 0..1 and less than 1 by the words at both ends.

    Words are compared as they are written, but for capitals: inflected neighbours gained nothing more on judged sets.
    """
    found = {}
    for chunk, text in texts.items():
        plain = f" {' '.join(_WORD.findall(text.lower()))} "
        found[chunk] = min(1.0, sum(share for pair, share in pairs.items() if pair in plain))
    return found


def lifted(ranking: Ranking, proximity: Mapping[ChunkId, float]) -> Ranking:
    """
    A keyword ranking with what neighbours add: score = BM25 + 0.4 · best BM25 · share, for the first `DEPTH`; the others
    stay behind them, in their order.
    """
    if not ranking or not proximity:
        return ranking
    best = max(scored.score for scored in ranking)
    first = [
        scored._replace(score=scored.score + KEYWORD_SHARE * best * proximity.get(scored.chunk, 0.0))
        for scored in ranking[:DEPTH]
    ]
    return (*sorted(first, key=lambda scored: (-scored.score, scored.chunk)), *ranking[DEPTH:])
