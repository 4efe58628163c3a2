"""From a ranking to hits: passages of the size asked for, and what they show."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from memory.schema import NamedTuple
from memory.schema.answer import LONGER, Hit, Notice, Ranking, Scored, Tier, coverage_by_memory, coverages
from memory.schema.errors import TITLE_LIMIT, iso
from memory.schema.kinds import Kind
from memory.schema.memory import ChunkId, Memory, MemoryId, unread
from memory.schema.query import EVERYTHING, Granularity, Merge, Term
from memory.search.fuse import RRF_K, Fusing, aged, ended_behind, successors_first
from memory.search.gate import match_strengths
from memory.search.keywords import SECTIONS_OF, longer
from memory.search.newer import newest_first
from memory.text.fold import said
from memory.text.lookup import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from memory.schema.memory import Chunk
    from memory.search.search import Evidence, Look


class Passage(NamedTuple):
    """
    What one hit shows.

    Attributes:
        best: Its best chunk.
        score: What it is ranked by: the score of its best chunk, or the mean of the matching ones.
        matching: Its matching chunks, with their scores; empty if it only fills up an answer.
        chunks: All its chunks, in order.
        start, stop: Code points into the body; equal if only the chunk is shown.
        topup: See `memory.schema.answer.Hit`.
        part: The part of the best chunk that it was found by; None if that chunk has no parts.
        sections: How many sections the best chunk holds.
    """

    best: Scored
    score: float
    matching: tuple[Scored, ...]
    chunks: tuple[ChunkId, ...]
    start: int = 0
    stop: int = 0
    topup: str = ""
    part: Chunk | None = None
    sections: int = 1


class Selection(NamedTuple):
    """
    What an answer shows.

    Attributes:
        look: The ranking, in the order in which it is shown.
        passages: Best first, at most as many as are wanted.
        hits: One for each passage whose chunk is still there.
        own: Those of them that hold words of the query or are near to it, without those of longer words.
    """

    look: Look
    passages: Sequence[Passage]
    hits: tuple[Hit, ...]
    own: tuple[Hit, ...]


def alone(scored: Scored, topup: str = "") -> Passage:
    """A passage of one chunk."""
    return Passage(scored, scored.score, () if topup else (scored,), (scored.chunk,), topup=topup)


def rollup(ranking: Ranking, granularity: Granularity, limit: int) -> list[Passage]:
    """At most `limit` chunks (FINE), or the best chunk of each memory (COARSE), best first."""
    return [alone(scored) for scored in ranking.first(limit, by_memory=granularity is Granularity.COARSE)]


def behind(ranking: Ranking, other: Ranking) -> Ranking:
    """
    What another ranking by keyword has beside a ranking, to come behind all of that.

    Scores of two rankings do not compare: these are so far below the lowest that no age (`memory.search.fuse.aged`) brings
    them before it. There is no BM25 to show, since it is not of the query's own words.
    """
    known, lowest, best = {*ranking.chunks}, min(ranking.scores, default=1.0), max(other.scores, default=1.0)
    places = [place for place, chunk in enumerate(other.chunks) if chunk not in known]
    shares = [other.scores[place] / best for place in places]
    found = other.at(places, [lowest / 2 * share if lowest > 0 else 2 * lowest - 1 + share for share in shares])
    found.keywords = [None] * len(places)
    return found


def measured(
    passages: Sequence[Passage],
    ranking: Ranking,
    terms: Sequence[Term],
    tier: Tier,
    *,
    proximity: Mapping[ChunkId, float],
    fusing: Fusing,
) -> list[tuple[float, float, float]]:
    """
    The score, the coverage and the relevance of each passage, best first, as hits have them.

    Args:
        ranking: All results.
        proximity: See `match_strengths`.
    """
    held = coverage_by_memory(terms, ranking)
    shares = [held.get(passage.best.memory, 0.0) for passage in passages]
    if tier is Tier.KEYWORD and not fusing.documented:
        best = max((keyword or 0.0 for keyword in ranking.keywords), default=0.0)
        scores = by_words(passages, terms, best=best, proximity=proximity)
    else:
        scores = [passage.score for passage in passages]
    first = shares[0] if shares else 0.0
    relevance = relevances(scores, tier, coverage=first, weights=fusing.weights, merge=fusing.merge)
    return list(zip(scores, shares, relevance, strict=True))


def by_words(
    passages: Sequence[Passage], terms: Sequence[Term], *, best: float, proximity: Mapping[ChunkId, float]
) -> list[float]:
    """
    How well passages found by keyword alone match the query, 0..1, best first.

    The mean `match_strengths` of the chunks that match, as in the merge. BM25 itself says nothing in a small store,
    where it is 0.000001.
    BM25 decides the order, so no passage scores above the one before it. One without a matching chunk scores 0.

    Args:
        passages: Best first.
        best: The best BM25 of all results.
        proximity: See `match_strengths`.
    """
    matching = [one for passage in passages for one in passage.matching]
    keywords = [(one.keyword or 0.0) / (best or 1.0) for one in matching]
    adjacent = [proximity.get(one.chunk, 0.0) for one in matching]
    parts = iter(match_strengths(coverages(terms, [one.matched for one in matching]), keywords, adjacent))
    scores: list[float] = []
    for passage in passages:
        mean = sum(islice(parts, len(passage.matching))) / (len(passage.matching) or 1)
        scores.append(min(mean, scores[-1] if scores else 1.0))
    return scores


def relevances(
    scores: Sequence[float], tier: Tier, *, coverage: float, weights: tuple[float, float], merge: Merge
) -> list[float]:
    """
    The scores of one answer as shares of the best possible score, 0..1, in the same order.

    KEYWORD: the first hit gets its coverage, the others proportionally less. VECTOR: the cosine,
    or 0 if that is negative.
    HYBRID, DISTILLED: the merged score divided by the sum of the weights; with RRF,
    by what ranking first in both gives.

    Args:
        scores: Highest first.
        coverage: Share of the query's weight that the first hit holds, 0..1.
        weights, merge: See `memory.search.fuse.fuse`.
    """
    match tier:
        case Tier.KEYWORD:
            scale = coverage / scores[0] if scores and scores[0] > 0 else 0.0
        case Tier.VECTOR:
            scale = 1.0
        case Tier.HYBRID | Tier.DISTILLED:
            scale = (RRF_K + 1 if merge is Merge.RRF else 1) / (sum(weights) or 1.0)
    return [min(1.0, max(0.0, score * scale)) for score in scores]


def shape(evidence: Evidence, look: Look) -> tuple[Evidence, Selection | None]:
    """What is shown of a look; None where it is to be taken again, with the evidence that is handed on."""
    ranked, passages = ordered(evidence, look)
    if len(passages) < evidence.query.limit and look.more and evidence.fusing.deepen:
        return evidence._replace(depth=4 * evidence.depth), None  # many chunks may be of one memory: look deeper
    hits = hits_of(evidence, ranked, passages)
    if len(hits) < len(passages) and evidence.carried:
        # What was deleted while the model was at work leaves its place to what comes next.
        return evidence.without_words(), None
    evidence.trace.step("read", len(hits))
    return evidence, with_longer_words(evidence, look, Selection(ranked, passages, hits, hits))


def ordered(evidence: Evidence, look: Look) -> tuple[Look, Sequence[Passage]]:
    """What was found, what the question names first, then in the order of time, and its passages, best first."""
    look, query = _in_time(evidence, _titled(evidence, look)), evidence.query
    if look.ranking.memories and not evidence.fusing.documented:
        look = newest_first(evidence, look)
    first_end = evidence.outset().ends
    if first_end is not None and first_end <= iso(now := evidence.now()):
        look = _ended(evidence, look, now)
    if query.granularity is Granularity.MEDIUM:
        return look, _sections(evidence, look)
    return look, rollup(look.ranking, query.granularity, query.limit)


def _ended(evidence: Evidence, look: Look, moment: datetime) -> Look:
    """What has ended behind what holds; an item that has is gone, though nobody has swept it yet."""
    store, ranking = evidence.store.memories, look.ranking
    if not (ended := store.ended({*ranking.memories}, moment)):
        return look
    gone = {id for id, one in store.by_id([*ended]).items() if one.kind is Kind.ITEM}
    there = [place for place, memory in enumerate(ranking.memories) if memory not in gone]
    return look._replace(ranking=ended_behind(ranking.at(there) if gone else ranking, ended))


def with_longer_words(evidence: Evidence, look: Look, shown: Selection) -> Selection:
    """
    What is shown, and where places are left, behind it what holds longer words than those of the query: it is weaker
    evidence than any word asked for.

    Args:
        look: Before it was shaped.
    """
    query, depth = evidence.query, evidence.first
    wanted = query.longer and evidence.terms and not evidence.fusing.documented
    if not wanted or len(shown.passages) >= query.limit or look.more:
        return shown
    while True:
        most = depth + len(look.ranking.chunks)
        if (ranking := longer(evidence, most)) is None:
            return shown
        further, more = behind(look.ranking, ranking), len(ranking.chunks) >= most
        together, rankings = look.ranking.followed_by(further), {**look.rankings, LONGER: further}
        filled, passages = ordered(evidence, look._replace(ranking=together, rankings=rankings, more=more))
        if not (more and evidence.fusing.deepen) or len(passages) >= query.limit:
            if len(passages) > len(shown.passages):
                return shown._replace(look=filled, passages=passages, hits=hits_of(evidence, filled, passages))
            return shown
        depth *= 4


TITLED = 30
"""Memories whose titles are compared with the question."""


def _titled(evidence: Evidence, look: Look) -> Look:
    """What has the question as its title, word for word, before all else: that is what it is called."""
    ranking, question = look.ranking, evidence.query.text
    if len(question) > TITLE_LIMIT or evidence.fusing.documented:
        return look
    # Titles are indexed with each chunk, so one that is the question holds all its words, and most titles need not be read.
    every = 0 if evidence.fusing.merge is Merge.MAX else _words_of(evidence.terms)  # for MAX not all are looked up
    held = zip(ranking.memories[:TITLED], ranking.matched[:TITLED], strict=True)
    likely = [*dict.fromkeys([id for id, matched in held if matched & every == every])]
    if not likely or likely == [ranking.memories[0]]:
        return look
    titles, asked = evidence.store.memories.titles(likely), _words(question)
    own = tuple([id for id in likely if id in titles and _words(titles[id]) == asked])
    if not own or not asked or own == (*dict.fromkeys(ranking.memories),)[: len(own)]:
        return look
    return look._replace(ranking=successors_first(ranking, {ranking.memories[0]: own}))


def _words_of(terms: Sequence[Term]) -> int:
    """The terms that are words, as bits like `Scored.matched`; not pairs of letters, which depend on the signs between."""
    return sum([1 << place for place, term in enumerate(terms) if not term.gram])


def _words(text: str) -> list[str]:
    plain, _, signs = said(text)
    return [*spelled(plain), *signs]


def _in_time(evidence: Evidence, look: Look) -> Look:
    """Corrections before what they correct, and newer memories higher, if the query and the settings say so."""
    ranking, half_life = look.ranking, evidence.fusing.half_life
    if not ranking.chunks or (len(evidence.query.scope.statuses) == 1 and not half_life):
        return look
    memories = evidence.store.memories.by_id(list({*ranking.memories}))
    if half_life:
        ranking = aged(ranking, {id: one.updated_at for id, one in memories.items()}, evidence.now(), half_life)
    later = {id: (one.superseded_by,) for id, one in memories.items() if one.superseded_by is not None}
    ranking = successors_first(ranking, later) if later else ranking
    proximity = evidence.proximity(ranking.chunks) if look.tier is Tier.KEYWORD else look.proximity
    return look._replace(ranking=ranking, proximity=proximity, later=later)


def _sections(evidence: Evidence, look: Look) -> list[Passage]:
    """The sections to show, best first; none if there are fewer than requested and a deeper look finds more."""
    # A search for memories does without.
    from memory.search.sections import Outlines, in_time, sections, shown

    limit, outlines = evidence.query.limit, Outlines(evidence)
    outlines.read({*look.ranking.memories[: SECTIONS_OF * limit]})
    held = sections(look.ranking, outlines.of, limit, outlines.found)
    if len(held) < limit and look.more and evidence.fusing.deepen:
        return []
    # What longer words add makes sections of its own, and changes no other.
    further = {*look.rankings.get(LONGER, Ranking()).chunks}
    ranking = look.ranking.at([n for n, chunk in enumerate(look.ranking.chunks) if chunk not in further])
    scores = {scored.chunk: scored for scored in ranking}
    unranked = {id: one.best.memory for one in held for id in one.chunks if id not in scores}
    scores |= {scored.chunk: scored for scored in _scored(evidence, look, unranked)}
    evidence.trace.step("sections", len(held))
    passages = shown(held, scores, evidence.terms, ranking, limit)
    return (in_time(passages, look.later) if look.later else passages)[:limit]


def _scored(evidence: Evidence, look: Look, chunks: Mapping[ChunkId, MemoryId]) -> Ranking:
    """The scores that the retrievers of a look give to chunks that none of them found."""
    if look.near is None:
        return evidence.store.keywords.by_keyword(evidence.terms, EVERYTHING, len(chunks), ids=list(chunks))
    from memory.search.vectors import fused, looked_at

    if look.tier is not Tier.VECTOR:
        by_vector = look.rankings["vector" if look.tier is Tier.HYBRID else "distilled"]
        return fused(evidence, look.near, by_vector, look.rankings["keyword"], others=chunks)[1]
    cosines = looked_at(evidence, look.near, list(chunks)).cosines
    found = [chunk for chunk in chunks if chunk in cosines]
    scores = [cosines[chunk] for chunk in found]
    return Ranking(found, [chunks[id] for id in found], scores, cosines=scores)


def hits_of(evidence: Evidence, look: Look, passages: Sequence[Passage]) -> tuple[Hit, ...]:
    """Passages with their memories; leaves out what was deleted since it was ranked."""
    store, granularity, newest = evidence.store.memories, evidence.query.granularity, look.newest
    shown = [passage.best.memory for passage in passages]
    replaced = [newest.than[id] for id in shown if id in newest.than]
    excerpts, memories = store.shown([passage.best.chunk for passage in passages], replaced)
    bodies = store.bodies(shown) if granularity is Granularity.MEDIUM else {}
    parts = None
    if granularity is Granularity.FINE:
        from memory.search.sections import Outlines

        parts = Outlines(evidence)
    standing = [_in_place(passage, newest.places) for passage in passages]
    numbers = measured(
        standing, look.ranking, evidence.terms, look.tier, proximity=look.proximity, fusing=evidence.fusing
    )
    places = {
        retriever: {chunk: rank for rank, chunk in enumerate(ranking.chunks, start=1)}
        for retriever, ranking in look.rankings.items()
    }
    hits = []
    for passage, (score, coverage, relevance) in zip(passages, numbers, strict=True):
        best = passage.best
        if best.chunk not in excerpts:
            continue
        older = memories.get(newest.than[best.memory]) if best.memory in newest.than else None
        excerpt, part, sections = excerpts[best.chunk], passage.part, passage.sections
        if parts:
            part, sections = parts.part(memories[best.memory], excerpt)
        hits.append(
            Hit(
                memory=memories[best.memory],
                chunk=replace(excerpt.chunk, header_path=part.header_path, level=part.level) if part else excerpt.chunk,
                chunk_id=best.chunk,
                text=bodies.get(best.memory, "")[passage.start : passage.stop] or excerpt.text,
                score=score,
                coverage=coverage,
                keyword=best.keyword,
                cosine=best.cosine,
                ranks=tuple([(name, place[best.chunk]) for name, place in places.items() if best.chunk in place]),
                relevance=relevance,
                matched=len(passage.matching),
                chunks=len(passage.chunks),
                topup=passage.topup,
                sections=sections,
                newer_than=older.short_id if older else "",
                duplicates=newest.same.get(best.memory, 0),
            )
        )
    return tuple(hits)


def _in_place(passage: Passage, places: Mapping[MemoryId, Scored]) -> Passage:
    """A passage with the matching chunk of the older one whose place it took, by which its numbers are measured."""
    older = places.get(passage.best.memory)
    return passage if older is None or passage.topup else passage._replace(best=older, matching=(older,))


def completed(evidence: Evidence, shown: Selection) -> tuple[Hit, ...]:
    """
    Hits with their similarity, if the query has a vector, or one is to be made for its numbers: they are shown, and do not
    change the order. Of hits that are damaged a notice says so. Not inside a snapshot.
    """
    query, hits = evidence.query, shown.hits
    matching = {one.best.chunk: [scored.chunk for scored in one.matching or (one.best,)] for one in shown.passages}
    cosines = {hit.chunk_id: hit.cosine for hit in hits if hit.cosine is not None}
    unknown = [chunk for hit in hits for chunk in matching[hit.chunk_id] if chunk not in cosines]
    if unknown and (evidence.vector or query.compared or query.asked):
        from memory.search.vectors import cosines_of

        cosines |= cosines_of(evidence, unknown)
    similar = []
    for hit in hits:
        known = [cosines[chunk] for chunk in matching[hit.chunk_id] if chunk in cosines]
        mean = sum(known) / len(known) if known else None
        similar.append(hit._replace(cosine=cosines.get(hit.chunk_id), similarity=mean))
    evidence.trace.notices += unreadable([hit.memory for hit in hits])
    return tuple(similar)


def unreadable(memories: Iterable[Memory]) -> tuple[Notice, ...]:
    """A notice for each memory shown although some of its fields cannot be read."""
    return tuple(
        Notice(
            f"memory {memory.id} ({memory.uid}) is damaged: its {', '.join(fields)} cannot be read",
            "`memory export` writes what can be read; then import that into a new database.",
        )
        for memory in memories
        if memory.flags and (fields := unread(memory))
    )
