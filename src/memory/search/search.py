"""Search: keywords first, vectors if they are not enough, merged and widened to the granularity."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memory.rank.hits import SECTIONS_OF, by_words, confidence, relevances, rollup
from memory.rank.match import DEPTH, GateOptions, coverage, held_by_memory, judge
from memory.schema.answer import Answer, Hit, Notice, Outcome, Tier, Verdict
from memory.schema.errors import EmbedError, NotFound, SpaceMismatch
from memory.schema.query import Gate, Granularity, Mode
from memory.search.retrievers import Retrievers, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from memory.embed.registry import Embedders
    from memory.rank.fuse import Fusing
    from memory.rank.hits import Passage
    from memory.schema.answer import Ranking
    from memory.schema.holder import Backfilled
    from memory.schema.memory import ChunkId, MemoryId
    from memory.schema.query import Query
    from memory.store import Store

ATTEMPTS = 20
"""
How often a search starts over when others change its results before they are read.

Beside a process that writes without pause, every second attempt may fail.
"""


class _Found(NamedTuple):
    """A ranking, and the retrievers' rankings that it was made from, by name."""

    tier: Tier
    ranking: Ranking
    rankings: Mapping[str, Ranking]
    more: bool  # looking deeper would find more
    verdict: Verdict | None = None
    proximity: Mapping[ChunkId, float] = MappingProxyType({})  # of its first chunks, if no vector was compared
    later: Mapping[MemoryId, MemoryId] = MappingProxyType({})  # the successor of each superseded memory, if asked for


def search(
    query: Query,
    store: Store,
    embedders: Callable[[], Embedders],
    gate_options: GateOptions,
    fusing: Fusing,
    *,
    now: Callable[[], datetime],
    backfill: Callable[[int], Backfilled | None],
) -> Answer:
    """
    Answer a query. If it needs vectors, queued chunks are embedded first, as far as `backfill` allows.

    Args:
        embedders, backfill: Called only if keywords are not enough; many searches need neither.

    Raises:
        EmbedError, SpaceMismatch: Only in mode VECTOR or HYBRID. A tiered search answers by keyword, with a notice.
        StoreError: The store cannot be read.
    """
    return _Search(query, store, embedders, gate_options, fusing, now=now, backfill=backfill).answer()


class _Search:
    def __init__(
        self,
        query: Query,
        store: Store,
        embedders: Callable[[], Embedders],
        gate_options: GateOptions,
        fusing: Fusing,
        *,
        now: Callable[[], datetime],
        backfill: Callable[[int], Backfilled | None],
    ) -> None:
        self._query, self._store, self._gate_options, self._fusing, self._now = query, store, gate_options, fusing, now
        self._trace = Trace()
        self._retrievers = Retrievers(query, store, embedders, fusing, backfill=backfill, trace=self._trace)
        self._stuck = False  # the vector retriever failed: a deeper look must not wait for it again

    def answer(self) -> Answer:
        """
        Rank and read; start over if others changed the results in between, or reindexed.

        Raises:
            NotFound: The generation was replaced in every attempt.
        """
        if self._query.mode is not Mode.VECTOR:
            self._retrievers.plan()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer, complete = self._attempt()
            except NotFound:  # the generation was retired
                if attempt == ATTEMPTS:
                    raise
                self._retrievers.renew(vector=True)
                continue
            if complete:
                break
            self._retrievers.renew(vector=False)
        else:
            text = "others changed again and again what was found, so some of it is not shown"
            answer = answer._replace(notices=(*answer.notices, Notice(text, "Ask again.")))
        return answer

    def _attempt(self) -> tuple[Answer, bool]:
        """
        Look as deep as it takes to fill the limit, because many chunks may belong to one memory.

        Returns:
            The answer, and whether everything in it still existed when it was read.
        """
        limit, medium = self._query.limit, self._query.granularity is Granularity.MEDIUM
        depth = max(DEPTH, limit * SECTIONS_OF if medium else limit, self._gate_options.enough)
        while True:
            found = self._in_time(self._found(depth))
            last = not (found.more and self._fusing.deepen)
            passages = (
                self._sections(found, last=last) if medium else rollup(found.ranking, self._query.granularity, limit)
            )
            if last or len(passages) >= limit:
                break
            depth *= 4
        hits = self._hits(passages, found)
        self._trace.step("read", len(hits))
        outcome, why = self._confidence(hits, found.tier)
        if self._query.topup and len(passages) < limit:
            more = self._topup(passages, found)
            passages, hits = [*passages, *more], (*hits, *self._hits(more, found))
        hits = self._compared(hits, passages)
        steps, notices = tuple(self._trace.steps), self._trace.notices
        if flagged := [hit.memory for hit in hits if hit.memory.flags]:
            from memory.search.documents import unreadable

            notices = [*notices, *unreadable(flagged)]  # of these hits: the next attempt may show others
        answer = Answer(
            self._query,
            hits,
            found.tier,
            found.verdict,
            self._retrievers.terms,
            steps,
            tuple(dict.fromkeys(notices)),  # attempts repeat their notices
            outcome=outcome,
            worth=why,
        )
        return answer, len(hits) == len(passages)

    def _topup(self, passages: Sequence[Passage], found: _Found) -> list[Passage]:
        from memory.search.topup import topup

        more = topup(self._query, self._store, self._retrievers, passages, distilled=found.tier is Tier.KEYWORD)
        self._trace.step("topup", len(more))
        return more

    def _compared(self, hits: tuple[Hit, ...], passages: Sequence[Passage]) -> tuple[Hit, ...]:
        """Hits with their similarity, if the query has a vector: numbers to show, which do not change the order."""
        matching = {
            passage.best.chunk: [scored.chunk for scored in passage.matching or (passage.best,)] for passage in passages
        }
        cosines = {hit.chunk_id: hit.cosine for hit in hits if hit.cosine is not None}
        unknown = [chunk for hit in hits for chunk in matching[hit.chunk_id] if chunk not in cosines]
        if unknown and (self._query.compared or self._trace.made):
            cosines |= self._retrievers.cosines(unknown, make=self._query.compared)
        measured = []
        for hit in hits:
            known = [cosines[chunk] for chunk in matching[hit.chunk_id] if chunk in cosines]
            mean = sum(known) / len(known) if known else None
            measured.append(hit._replace(cosine=cosines.get(hit.chunk_id), similarity=mean))
        return tuple(measured)

    def _confidence(self, hits: tuple[Hit, ...], tier: Tier) -> tuple[Outcome, str]:
        if not hits and self._retrievers.bare():
            return Outcome.NOTHING_SAVED, "nothing is in scope"
        if self._stuck:
            return Outcome.DEGRADED, "the model was needed and did not answer"
        outcome, why = confidence(hits, tier, self._trace.model, len(self._retrievers.terms), self._retrievers.vectors)
        if outcome is Outcome.NOTHING_RELEVANT and self._trace.partial:
            return Outcome.DEGRADED, "many chunks have no vector yet"
        return outcome, why

    def _sections(self, found: _Found, *, last: bool) -> list[Passage]:
        """The sections to show, best first; none if there are fewer than requested and this is not the `last` look."""
        from memory.rank.sections import sections, shown

        limit = self._query.limit
        first = {scored.memory for scored in found.ranking[: SECTIONS_OF * limit]}
        outlines = self._store.memories.outlines(list(first))
        held = sections(
            found.ranking,
            lambda memory: outlines.get(memory) or self._store.memories.outlines([memory]).get(memory, ()),
            limit,
        )
        if len(held) < limit and not last:
            return []
        scores = {scored.chunk: scored for scored in found.ranking}
        unranked = {id: one.best.memory for one in held for id in one.chunks if id not in scores}
        scores |= {scored.chunk: scored for scored in self._retrievers.scored(found.rankings, unranked)}
        self._trace.step("sections", len(held))
        passages = shown(held, scores, self._retrievers.terms, found.ranking, limit)
        return (_corrected(passages, found.later) if found.later else passages)[:limit]

    def _found(self, depth: int) -> _Found:
        match self._query.mode:
            case Mode.VECTOR | Mode.HYBRID if self._retrievers.bare():
                return _Found(Tier(self._query.mode), (), {}, more=False)
            case Mode.VECTOR:
                depth = max(depth, self._fusing.candidates)
                ranking = self._retrievers.by_vector(depth)
                return _Found(Tier.VECTOR, ranking, {"vector": ranking}, len(ranking) >= depth)
            case Mode.HYBRID:
                return self._hybrid(depth, None)
            case Mode.KEYWORD:
                ranking = self._retrievers.keywords(depth)
                proximity = self._retrievers.proximity(ranking)
                return _Found(Tier.KEYWORD, ranking, {"keyword": ranking}, len(ranking) >= depth, proximity=proximity)
            case Mode.TIERED:
                return self._tiered(depth)

    def _in_time(self, found: _Found) -> _Found:
        """Corrections before what they correct, and newer memories higher, if the query and the settings say so."""
        statuses, half_life = self._query.scope.statuses, self._fusing.half_life
        mixed = not statuses or len(statuses) > 1
        if not found.ranking or not (mixed or half_life):
            return found
        from memory.rank.fuse import aged, corrected

        ranking = found.ranking
        memories = self._store.memories.by_id(list({scored.memory for scored in ranking}))
        if half_life:
            changed = {id: memory.updated_at for id, memory in memories.items()}
            ranking = aged(ranking, changed, self._now(), half_life)
        later = {id: memory.superseded_by for id, memory in memories.items() if memory.superseded_by is not None}
        ranking = corrected(ranking, later) if later else ranking
        proximity = self._retrievers.proximity(ranking) if found.tier is Tier.KEYWORD else found.proximity
        return found._replace(ranking=ranking, proximity=proximity, later=later)

    def _tiered(self, depth: int) -> _Found:
        ranking, more, proximity, fit = self._retrievers.evidence(depth)
        verdict = judge(self._retrievers.terms, ranking, self._gate_options, proximity=proximity, fit=fit)
        if not ranking and verdict.tier is not Tier.KEYWORD and self._retrievers.bare():
            verdict = verdict._replace(enough=True, why="nothing is in scope", tier=Tier.KEYWORD)
        found = _Found(Tier.KEYWORD, ranking, {"keyword": ranking}, more, verdict, proximity)
        if verdict.tier is Tier.DISTILLED:
            if (distilled := self._distilled(depth, verdict)) is not None:
                return distilled
            why = "the store's own vectors know less than half of the query"
            onward = Tier.KEYWORD if self._gate_options.never_hybrid else Tier.HYBRID
            found = found._replace(verdict=verdict._replace(enough=onward is Tier.KEYWORD, why=why, tier=onward))
        if verdict.enough or self._gate_options.never_hybrid:
            return found
        return self._asked(depth, found)

    def _asked(self, depth: int, cheap: _Found) -> _Found:
        """The hybrid answer; if the model fails, the best answer without it."""
        if self._retrievers.two and not self._stuck:
            try:
                return self._hybrid(depth, cheap.verdict)
            except (EmbedError, SpaceMismatch) as error:
                self._stuck = True
                self._trace.notices.append(Notice(f"without the model: {error}", error.hint))
        if (
            self._gate_options.gate is not Gate.COUNT
            and (distilled := self._distilled(depth, cheap.verdict)) is not None
        ):
            return distilled
        return cheap

    def _distilled(self, depth: int, verdict: Verdict | None) -> _Found | None:
        """Keyword and distilled rankings merged; None if the term vectors know too little of the query."""
        depth = max(depth, self._fusing.candidates)
        if (vector_ranking := self._retrievers.distilled(depth)) is None:
            return None
        return self._merged(Tier.DISTILLED, "distilled", vector_ranking, depth, verdict)

    def _hybrid(self, depth: int, verdict: Verdict | None) -> _Found:
        depth = max(depth, self._fusing.candidates)
        return self._merged(Tier.HYBRID, "vector", self._retrievers.by_vector(depth), depth, verdict)

    def _merged(
        self, tier: Tier, retriever: str, vector_ranking: Ranking, depth: int, verdict: Verdict | None
    ) -> _Found:
        words = self._retrievers.keywords(depth)
        ranking = self._retrievers.fused(vector_ranking, words, {})
        self._trace.step("fuse", len(ranking))
        deeper = max(len(vector_ranking), len(words)) >= depth
        return _Found(tier, ranking, {"keyword": words, retriever: vector_ranking}, deeper, verdict)

    def _scores(self, passages: Sequence[Passage], found: _Found) -> list[float]:
        if found.tier is not Tier.KEYWORD:
            return [passage.score for passage in passages]
        best = max((scored.keyword or 0.0 for scored in found.ranking), default=0.0)
        return by_words(passages, self._retrievers.terms, best=best, proximity=found.proximity)

    def _hits(self, passages: Sequence[Passage], found: _Found) -> tuple[Hit, ...]:
        """Passages with their memories; leaves out what was deleted since it was ranked."""
        memories = self._store.memories.by_id([passage.best.memory for passage in passages])
        excerpts = self._store.memories.excerpts([passage.best.chunk for passage in passages])
        medium = self._query.granularity is Granularity.MEDIUM
        bodies = self._store.memories.bodies(list(memories)) if medium else {}
        held = held_by_memory(found.ranking)
        fusing, scores = self._fusing, self._scores(passages, found)
        first = coverage(self._retrievers.terms, held.get(passages[0].best.memory, 0)) if passages else 0.0
        relevance = relevances(scores, found.tier, coverage=first, weights=fusing.weights, merge=fusing.merge)
        places = {
            retriever: {scored.chunk: rank for rank, scored in enumerate(ranking, start=1)}
            for retriever, ranking in found.rankings.items()
        }
        hits = []
        for passage, score, relevant in zip(passages, scores, relevance, strict=True):
            best = passage.best
            if best.memory not in memories or best.chunk not in excerpts:
                continue
            excerpt = excerpts[best.chunk]
            section = bodies.get(best.memory, "")[passage.start : passage.stop] if medium else ""
            ranks = tuple((retriever, place[best.chunk]) for retriever, place in places.items() if best.chunk in place)
            hits.append(
                Hit(
                    memory=memories[best.memory],
                    chunk=excerpt.chunk,
                    chunk_id=best.chunk,
                    text=section or excerpt.text,
                    score=score,
                    coverage=coverage(self._retrievers.terms, held.get(best.memory, 0)),
                    keyword=best.keyword,
                    cosine=best.cosine,
                    ranks=ranks,
                    relevance=relevant,
                    matched=len(passage.matching),
                    chunks=len(passage.chunks),
                    topup=passage.topup,
                )
            )
        return tuple(hits)


def _corrected(passages: Sequence[Passage], later: Mapping[MemoryId, MemoryId]) -> list[Passage]:
    """`memory.rank.fuse.corrected` for sections, which have an order and scores of their own."""
    from memory.rank.fuse import corrected

    sections = {passage.best.chunk: passage for passage in passages}
    ranking = corrected(tuple(passage.best._replace(score=passage.score) for passage in passages), later)
    return [sections[scored.chunk]._replace(score=scored.score) for scored in ranking]
