"""
The keyword retriever: which words of a query to look for, and the chunks that hold them, best first, those higher in which
words of the query are adjacent.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from memory.schema.answer import LONGER, Ranking
from memory.schema.query import Granularity, Mode, Term
from memory.search.confidence import LONG_QUERY
from memory.text.fold import fold
from memory.text.lookup import beginnings
from memory.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.memory import ChunkId
    from memory.search.fuse import Proximity
    from memory.search.search import Evidence, Ranked
    from memory.store import Outset, Store
    from memory.vectors.term_vectors import Guess

SECTIONS_OF = 5
"""Chunks to rank for each section requested."""

TERMS = 64
"""Terms the keyword retriever looks for; of a longer query the rarest."""

CORRECTED = 0.8
"""What a word that was mistyped weighs, as a share of what it would if it were not: it may have been right."""

COSTLY = 4_000
"""
Matching rows, summed over the terms, from which ranking is costly: about 2 ms.

Seventy more candidates cost a tenth of that.
"""

AHEAD = 2_000
"""Candidates that take hardly longer than a few. One long memory may fill hundreds of places before the next."""


def look_up(evidence: Evidence) -> Evidence:
    """The evidence with the words of the query as the store knows them: their weights, and which of them stand together."""
    query, trace, weigh = evidence.query, evidence.trace, evidence.store.keywords.weigh
    found = weigh(terms(query.text))
    unknown = len(found) <= LONG_QUERY and any(not (term.rows or term.exact or term.gram) for term in found)
    if unknown and not evidence.fusing.documented:
        from memory.search.corrections import corrected  # a query whose words are all found does without

        text, words = corrected(query, found, evidence.store.keywords, trace)
        if words:
            query, known = replace(query, text=text), {term.text for term in found}
            weaker = {word for word in words if word not in known}
            found = tuple(
                term._replace(weight=CORRECTED * term.weight) if term.text in weaker else term
                for term in weigh(terms(text))
            )
    weighed = tuple(term for term in found if not term.cut)
    if cut := len(found) - len(weighed):
        text = f"the answer is cut short: {cut} of {len(found)} words or phrases of the query were not looked for"
        hint = "So many chunks hold them that it would take too long. Ask for rarer words, or for fewer."
        trace.notice(text, hint)
    if len(weighed) > TERMS:
        rarest = sorted(weighed, key=lambda term: -term.weight)[:TERMS]
        trace.notice(f"the query has {len(weighed)} words; the {TERMS} rarest were looked for")
        weighed = tuple(term for term in weighed if term in rarest)
    trace.step("terms", len(weighed), f"cut short by {cut}" if cut else "")
    wanted = tuple(sorted(weighed, key=lambda term: term.longer > 0))  # so that the bits of words come first
    pairs = neighbours(query.text, weighed) if evidence.fusing.neighbours else {}
    proximity = _proximity(evidence.store, pairs)
    return with_term_vectors(evidence._replace(query=query, planned=True, terms=wanted, proximity=proximity))


def with_term_vectors(evidence: Evidence) -> Evidence:
    """The evidence with what the active generation's term vectors say, which is asked at first use and only once."""

    @cache
    def outset() -> Outset:
        known = evidence.store.generations.outset()
        return known if evidence.fusing.distilled else known._replace(fit=None)

    @cache
    def guess() -> Guess | None:
        from memory.search.vectors import guessed  # an answer by keyword does without

        return guessed(evidence, outset())

    return evidence._replace(outset=outset, guess=guess)


def ranked(evidence: Evidence, depth: int) -> Ranked:
    """
    The best chunks by keyword, adjacent words counted; searched once for each depth.

    Where to rank again would be costly, as deep as what is merged.
    """
    words = evidence.words
    if evidence.query.mode is not Mode.KEYWORD and _costly(evidence.terms):
        depth = max(depth, evidence.fusing.candidates)
    if words.depth == depth:
        return words

    def best(depth: int) -> Ranking:
        nonlocal words
        words = _searched(evidence, words, depth)
        return words.matches[:depth] if len(words.matches.chunks) > depth else words.matches

    found = listed(evidence, best) if evidence.fusing.documented else best(depth)
    proximity = evidence.proximity(found.chunks)
    ranking = lifted(found, proximity)
    evidence.trace.step("keyword", len(ranking.chunks))
    return words._replace(depth=depth, ranking=ranking, proximity=proximity)


def _searched(evidence: Evidence, words: Ranked, depth: int) -> Ranked:
    """
    The best chunks by BM25, at least to this depth.

    Ranking takes as long for many as for few. So the first search takes what is fused too, where the distilled tier
    answers most queries; and the second takes more than asked for, where it is costly.
    """
    if not len(words.matches.chunks) == words.known < depth:
        return words
    least = 0
    if words.known:
        least = AHEAD if _costly(evidence.terms) else 0
    elif evidence.query.mode is Mode.TIERED and evidence.outset().fit is not None:
        least = evidence.fusing.candidates
    known = max(depth, least)
    matches = evidence.store.keywords.by_keyword(evidence.terms, evidence.query.scope, known)
    return words._replace(known=known, matches=matches)


def listed(evidence: Evidence, ask: Callable[[int], Ranking]) -> Ranking:
    """
    The results of a retriever that are merged with `Fusing.documented`, whatever the depth.

    Args:
        ask: The retriever: its best chunks, at most as many as it is given.
    """
    query = evidence.query
    wanted = depth = 2 * query.limit * (SECTIONS_OF if query.granularity is Granularity.MEDIUM else 1)
    while True:
        found = ask(depth)
        results = found.by_memory() if query.granularity is Granularity.COARSE else found
        if len(results) >= wanted or len(found) < depth:
            return results[:wanted]
        depth *= 4  # several chunks are of one memory


def _costly(terms: Sequence[Term]) -> bool:
    """Whether so many rows match that they should not be ranked again for more candidates."""
    return sum([term.rows for term in terms]) >= COSTLY


def widened(evidence: Evidence, depth: int) -> Evidence:
    """
    The evidence with other terms, where no memory in scope holds one of the query or a longer one: see
    `memory.search.corrections.otherwise`. They are weak evidence, as longer words are.
    """
    keywords, query = evidence.store.keywords, evidence.query
    if not evidence.terms or not query.longer or evidence.fusing.documented:
        return evidence
    begun = _begun(evidence)
    if begun and keywords.by_keyword(begun, query.scope, 1).chunks:
        return evidence
    from memory.search.corrections import otherwise  # a query of which a word is found does without

    if not (found := otherwise(evidence.terms, keywords, query.scope)):
        return evidence
    named = " and ".join([f'"{term.text}"' for term in found])
    evidence.trace.notice(f"also showing results for {named}", NOTHING)
    terms = tuple(term._replace(weight=CORRECTED * term.weight, longer=term.weight) for term in found)
    other = evidence._replace(terms=terms, words=evidence.words._replace(known=0, depth=0))
    return other._replace(words=ranked(other, depth))


NOTHING = "No memory in scope contains a word of the query as it is written. Put it in quotation marks to look for nothing else."


def without_longer(evidence: Evidence, count: int) -> tuple[Ranking, Mapping[ChunkId, float]]:
    """So many chunks by keyword without the words of which only longer ones were found, and the proximity of the first."""
    words = [term for term in evidence.terms if not term.longer]
    found = evidence.store.keywords.by_keyword(words, evidence.query.scope, count)
    proximity = evidence.proximity(found.chunks)
    return lifted(found, proximity), proximity


def longer(evidence: Evidence, depth: int) -> Ranking | None:
    """
    The best chunks by keyword where any word of the query may also be the beginning of a longer one; None if none is.

    Their scores are BM25 by these words, and comparable with those of no other ranking.
    """
    if not (wanted := _begun(evidence)):
        return None
    ranking = evidence.store.keywords.by_keyword(wanted, evidence.query.scope, depth)
    evidence.trace.step(LONGER, len(ranking.chunks))
    return ranking if ranking.chunks else None


def _begun(evidence: Evidence) -> list[Term]:
    """The terms, also as beginnings of longer words; none if there are no longer ones."""
    terms = evidence.terms
    begun = [*zip(terms, beginnings(terms), strict=True)]
    # A word that no chunk holds was weighed as a beginning already: see `memory.store.memories.Keywords.weigh`.
    if not (unknown := [one for term, one in begun if one is not term and term.rows]):
        return []
    weighed = evidence.store.keywords.weigh(unknown)
    found = {term.text: term for term in weighed if not term.cut}
    wanted = [term if one is term else found.get(term.text, term) for term, one in begun]
    return [] if sum([term.rows for term in wanted]) == sum([term.rows for term in terms]) else wanted


# Adjacent words: evidence for the same phrase, which BM25 does not see ----------

PROXIMITY_DEPTH = 30
"""Chunks to look at: reading a hundred changed no judged set by more than 0.0001 of nDCG@10."""

KEYWORD_SHARE = 0.4
"""What a chunk that has all pairs of a query gains in the keyword ranking, as a share of the best BM25."""

_WORD = re.compile(r"\w+")
_FOLLOWING = re.compile(r"\W+(\w+)")


def _proximity(store: Store, pairs: Mapping[str, float]) -> Proximity:
    """
    For the first of some ranked chunks: the share of the query's weight whose words are adjacent, 0..1.

    Each text is read once: the gate, the merge and the hits ask for mostly the same chunks.
    """
    known: dict[ChunkId, float] = {}

    def proximity(chunks: Sequence[ChunkId]) -> Mapping[ChunkId, float]:
        first = chunks[:PROXIMITY_DEPTH] if pairs else ()
        if unknown := [chunk for chunk in first if chunk not in known]:
            known.update(proximities(pairs, store.keywords.texts(unknown)))
        return {chunk: share for chunk in first if (share := known.get(chunk, 0.0))}

    return proximity


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
    words = _WORD.findall(fold(text).lower())
    pairs = {f" {a} {b} ": (weights.get(a, 0.0) + weights.get(b, 0.0)) / 2 / total for a, b in pairwise(words)}
    return {pair: share for pair, share in pairs.items() if share > 0}


def proximities(pairs: Mapping[str, float], texts: Mapping[ChunkId, str]) -> Mapping[ChunkId, float]:
    """
    For each folded text, the share of the query's weight whose pairs it has, 0..1; the first and last word count half,
    so it stays below 1.

    Words must be equal but for case: matching inflected forms too gained nothing on the judged sets.
    """
    wanted = [(first, second, share) for pair, share in pairs.items() for first, second in [pair.split()]]
    found = {}
    for chunk, text in texts.items():
        small = text.lower()
        held = [
            share
            for first, second, share in wanted
            if second in small and first in small and _adjacent(small, first, second)
        ]
        found[chunk] = min(1.0, sum(held))
    return found


def _adjacent(text: str, first: str, second: str) -> bool:
    """Whether two words follow one another somewhere. To cut the whole text into words takes twice as long."""
    start = text.find(first)
    while start >= 0:
        following = _FOLLOWING.match(text, start + len(first))
        if following and following[1] == second and not (start and _WORD.match(text[start - 1])):
            return True
        start = text.find(first, start + 1)
    return False


def lifted(ranking: Ranking, proximity: Mapping[ChunkId, float]) -> Ranking:
    """
    A keyword ranking with the bonus for adjacent words: score = BM25 + 0.4 · best BM25 · share.

    Only the first `PROXIMITY_DEPTH` are rescored; the others stay behind them in their order.
    """
    if not ranking.chunks or not proximity:
        return ranking
    best, depth = max(ranking.scores), min(len(ranking.chunks), PROXIMITY_DEPTH)
    scores = [*ranking.scores]
    for place, chunk in enumerate(ranking.chunks[:depth]):
        if chunk in proximity:
            scores[place] += KEYWORD_SHARE * best * proximity[chunk]
    first = sorted(range(depth), key=lambda place: (-scores[place], -ranking.chunks[place]))
    order = [*first, *range(depth, len(ranking.chunks))]
    return ranking.at(order, [scores[place] for place in order])
