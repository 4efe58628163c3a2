"""Search: keywords first, vectors if they are not enough, merged and widened to the granularity."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memory.rank.fuse import Fusing, aged, by_one_chunk, corrected
from memory.rank.hits import SECTIONS_OF, Passage, behind, measured, rollup
from memory.rank.match import DEPTH, UNKNOWN, GateOptions, judge
from memory.schema.answer import LONGER, Answer, Hit, Notice, Outcome, Ranking, Tier, Verdict
from memory.schema.errors import NotFound
from memory.schema.memory import ChunkId, Memory, MemoryId, unread
from memory.schema.query import Gate, Granularity, Mode, Query
from memory.search.retrievers import Retrievers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from memory.embed.registry import Embedders
    from memory.rank.match import Margin
    from memory.schema.holder import Backfilled
    from memory.search.outlines import Outlines
    from memory.store import Store


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
        EmbedError, SpaceMismatch: Only in mode VECTOR or HYBRID, unless the query is `asked`. Other searches answer by
            keyword, with a notice.
        StoreError: The store cannot be read.
    """
    return _Search(Retrievers(query, store, embedders, fusing, backfill=backfill), gate_options, now).answer()


def unreadable(memories: Iterable[Memory]) -> tuple[Notice, ...]:
    """A notice for each memory shown although some of its fields cannot be read."""
    return tuple(
        Notice(
            f"memory {memory.id} ({memory.uid}) is damaged: its {', '.join(fields)} cannot be read",
            "`memory export` writes what can be read; then import that into a new place.",
        )
        for memory in memories
        if memory.flags and (fields := unread(memory))
    )


class _Search:
    def __init__(self, retrievers: Retrievers, gate_options: GateOptions, now: Callable[[], datetime]) -> None:
        self._retrievers, self._gate_options, self._now = retrievers, gate_options, now
        self._query, self._store, self._fusing = retrievers.query, retrievers.store, retrievers.fusing
        self._trace = retrievers.trace
        self._verdict: Verdict | None = None
        query = retrievers.query
        self._required = query.mode in {Mode.VECTOR, Mode.HYBRID} and not query.asked

    def answer(self) -> Answer:
        words = self._query.mode is not Mode.VECTOR
        found, passages, hits, confidence = self._retrievers.answered(
            self._attempt, words=words, required=self._required
        )
        if self._query.topup and len(passages) < self._query.limit:
            passages, hits = self._filled(found, passages, hits)
        hits = self._compared(hits, passages)
        notices = dict.fromkeys((*self._trace.notices, *unreadable(hit.memory for hit in hits)))
        terms, steps = self._retrievers.terms, tuple(self._trace.steps)
        return Answer(self._query, hits, found.tier, found.verdict, terms, steps, tuple(notices), *confidence)

    def _attempt(self) -> tuple[_Found, Sequence[Passage], tuple[Hit, ...], tuple[Outcome, str]]:
        self.__dict__.pop("_outlines", None)  # of another snapshot
        ranked, found, passages = self._deepened(self._found)
        hits = self._hits(passages, found)
        if len(hits) < len(passages) and self._retrievers.carried:  # changed while the model was at work
            self._retrievers.forget()
            return self._attempt()
        self._trace.step("read", len(hits))
        confidence = self._confidence(hits, found.tier)
        longer = self._query.longer and self._retrievers.terms and not (self._fusing.documented or ranked.more)
        if longer and len(passages) < self._query.limit:
            _, further, more = self._deepened(lambda depth: self._longer(ranked, depth))
            if len(more) > len(passages):
                found, passages, hits = further, more, self._hits(more, further)
                confidence = confidence if ranked.ranking else self._confidence(hits, found.tier)
        return found, passages, hits, confidence

    def _deepened(self, look: Callable[[int], _Found]) -> tuple[_Found, _Found, Sequence[Passage]]:
        """
        Look as deep as it takes to fill the limit, because many chunks may belong to one memory.

        Returns:
            What was found, the same in the order of time, and its passages.
        """
        limit, medium = self._query.limit, self._query.granularity is Granularity.MEDIUM
        depth = max(DEPTH, limit * SECTIONS_OF if medium else limit, self._gate_options.enough)
        while True:
            ranked = look(depth)
            found, last = self._in_time(ranked), not (ranked.more and self._fusing.deepen)
            passages = (
                self._sections(found, last=last) if medium else rollup(found.ranking, self._query.granularity, limit)
            )
            if last or len(passages) >= limit:
                return ranked, found, passages
            depth *= 4

    def _longer(self, found: _Found, depth: int) -> _Found:
        """What was found, and behind it chunks that hold longer words than those of the query."""
        depth += len(found.ranking)
        ranking = self._retrievers.longer(depth)
        further = behind(found.ranking, ranking)
        both = zip(found.ranking.columns, further.columns, strict=True)
        return found._replace(
            ranking=Ranking.of_columns([[*one, *other] for one, other in both]),
            rankings={**found.rankings, LONGER: further},
            more=len(ranking) >= depth,
        )

    def _filled(
        self, found: _Found, passages: Sequence[Passage], hits: tuple[Hit, ...]
    ) -> tuple[Sequence[Passage], tuple[Hit, ...]]:
        """Passages and hits, filled up to the limit."""
        from memory.search.topup import topup

        retrievers, distilled = self._retrievers, found.tier is Tier.KEYWORD
        similar = not retrievers.bare() and self._has_vector()
        with self._store.snapshot():
            self.__dict__.pop("_outlines", None)
            try:
                more = topup(retrievers, passages, similar=similar, distilled=distilled)
            except NotFound as error:  # the generation of the query's vector was retired meanwhile
                retrievers.vector.unknown(error)
                more = topup(retrievers, passages, similar=False, distilled=False)
            self._trace.step("topup", len(more))
            return [*passages, *more], (*hits, *self._hits(more, found))

    def _compared(self, hits: tuple[Hit, ...], passages: Sequence[Passage]) -> tuple[Hit, ...]:
        """Hits with their similarity, if the query has a vector: numbers to show, which do not change the order."""
        matching = {
            passage.best.chunk: [scored.chunk for scored in passage.matching or (passage.best,)] for passage in passages
        }
        cosines = {hit.chunk_id: hit.cosine for hit in hits if hit.cosine is not None}
        unknown = [chunk for hit in hits for chunk in matching[hit.chunk_id] if chunk not in cosines]
        if unknown and self._has_vector():
            cosines |= self._retrievers.vector.cosines(unknown)
        measured = []
        for hit in hits:
            known = [cosines[chunk] for chunk in matching[hit.chunk_id] if chunk in cosines]
            mean = sum(known) / len(known) if known else None
            measured.append(hit._replace(cosine=cosines.get(hit.chunk_id), similarity=mean))
        return tuple(measured)

    def _has_vector(self) -> bool:
        """Whether the query has a vector to compare with: one that a retriever needed, or one for its numbers."""
        wanted = self._query.compared or self._query.asked
        return self._trace.made is not None or (wanted and self._retrievers.vector.made())

    def _confidence(self, hits: tuple[Hit, ...], tier: Tier) -> tuple[Outcome, str]:
        if self._retrievers.failure and (hits or not self._retrievers.bare()):
            return Outcome.DEGRADED, "the model was needed and did not answer"
        return self._retrievers.confidence(hits, tier, empty="nothing is in scope")

    def _sections(self, found: _Found, *, last: bool) -> list[Passage]:
        """The sections to show, best first; none if there are fewer than requested and this is not the `last` look."""
        from memory.rank.sections import in_time, sections, shown

        limit, outlines = self._query.limit, self._outlines
        outlines.read({*found.ranking.memories[: SECTIONS_OF * limit]})
        held = sections(found.ranking, outlines.of, limit, outlines.found)
        if len(held) < limit and not last:
            return []
        # What longer words add makes sections of its own, and changes no other.
        rankings = {name: ranking for name, ranking in found.rankings.items() if name != LONGER}
        further = {*found.rankings.get(LONGER, Ranking()).chunks}
        ranking = found.ranking.at([n for n, chunk in enumerate(found.ranking.chunks) if chunk not in further])
        scores = {scored.chunk: scored for scored in ranking}
        unranked = {id: one.best.memory for one in held for id in one.chunks if id not in scores}
        scores |= {scored.chunk: scored for scored in self._retrievers.scored(rankings, unranked)}
        self._trace.step("sections", len(held))
        passages = shown(held, scores, self._retrievers.terms, ranking, limit)
        return (in_time(passages, found.later) if found.later else passages)[:limit]

    def _found(self, depth: int) -> _Found:
        match self._query.mode:
            case Mode.VECTOR | Mode.HYBRID if not self._trace.made and self._retrievers.bare():
                return _Found(Tier(self._query.mode), Ranking(), {}, more=False)
            case Mode.VECTOR | Mode.HYBRID if not (self._required or self._retrievers.two):
                self._retrievers.plan()
                self._trace.notices.append(self._retrievers.without)
                return self._tiered(depth)
            case Mode.VECTOR:
                depth = max(depth, self._fusing.candidates)
                ranking = self._retrievers.vector.by_vector(depth)
                return _Found(Tier.VECTOR, ranking, {"vector": ranking}, len(ranking) >= depth)
            case Mode.HYBRID:
                return self._hybrid(depth, None)
            case Mode.KEYWORD:
                ranking = self._retrievers.keywords(depth)
                proximity = self._retrievers.proximity(ranking.chunks)
                return _Found(Tier.KEYWORD, ranking, {"keyword": ranking}, len(ranking) >= depth, proximity=proximity)
            case Mode.TIERED:
                return self._tiered(depth)

    @cached_property
    def _outlines(self) -> Outlines:
        from memory.search.outlines import Outlines  # a search for memories does without

        return Outlines(self._retrievers)

    def _in_time(self, found: _Found) -> _Found:
        """Corrections before what they correct, and newer memories higher, if the query and the settings say so."""
        ranking, half_life = found.ranking, self._fusing.half_life
        if not ranking or (len(self._query.scope.statuses) == 1 and not half_life):
            return found
        memories = self._store.memories.by_id(list({*ranking.memories}))
        if half_life:
            ranking = aged(ranking, {id: one.updated_at for id, one in memories.items()}, self._now(), half_life)
        later = {id: one.superseded_by for id, one in memories.items() if one.superseded_by is not None}
        ranking = corrected(ranking, later) if later else ranking
        proximity = self._retrievers.proximity(ranking.chunks) if found.tier is Tier.KEYWORD else found.proximity
        return found._replace(ranking=ranking, proximity=proximity, later=later)

    def _tiered(self, depth: int) -> _Found:
        ranking, more = self._retrievers.candidates(depth)
        verdict, distilled = self._judged(depth, ranking)
        proximity = self._retrievers.proximity(ranking.chunks)
        if not ranking and verdict.tier is not Tier.KEYWORD and self._retrievers.bare():
            verdict = verdict._replace(enough=True, why="nothing is in scope", tier=Tier.KEYWORD)
        if verdict.tier is Tier.DISTILLED:
            if (distilled := distilled or self._distilled(depth, verdict)) is not None:
                return distilled._replace(verdict=verdict)
            verdict = self._judge(self._retrievers.evidence(ranking), None)
            verdict = verdict._replace(why=f"{UNKNOWN}; {verdict.why}")
        found = _Found(Tier.KEYWORD, ranking, {"keyword": ranking}, more, verdict, proximity)
        if verdict.enough or self._gate_options.never_hybrid:
            return found
        return self._asked(depth, found)

    def _judged(self, depth: int, ranking: Ranking) -> tuple[Verdict, _Found | None]:
        """The verdict on a ranking by keyword, and the distilled answer if that had to be looked at."""
        if self._verdict is not None and self._retrievers.carried:
            return self._verdict, None  # it was why the model was asked
        distilled: _Found | None = None
        evidence = self._retrievers.evidence(ranking)

        def margin(enough: float) -> float | None:
            nonlocal distilled
            # What keywords found stands out less once there is more beside it, so most answers need not be made.
            first = self._retrievers.vector.margin(evidence[:DEPTH])
            if first is None or first < enough or (distilled := self._distilled(depth, None)) is None:
                return first
            return min(first, self._retrievers.vector.margin(distilled.ranking[:DEPTH]) or 0.0)

        self._verdict = self._judge(evidence, None if self._retrievers.fit is None else margin)
        return self._verdict, distilled

    def _judge(self, evidence: Ranking, distilled: Margin | None) -> Verdict:
        words = [term._replace(weight=term.longer or term.weight) for term in self._retrievers.terms]
        proximity = self._retrievers.proximity(evidence.chunks)
        return judge(words, evidence, self._gate_options, proximity=proximity, distilled=distilled)

    def _asked(self, depth: int, cheap: _Found) -> _Found:
        """The hybrid answer; if the model fails, the best answer without it."""
        if self._retrievers.two:
            return self._hybrid(depth, cheap.verdict)
        if self._retrievers.failure:
            self._trace.notices.append(self._retrievers.without)
        if self._gate_options.gate is Gate.COUNT:
            return cheap
        return self._distilled(depth, cheap.verdict) or cheap

    def _distilled(self, depth: int, verdict: Verdict | None) -> _Found | None:
        """Keyword and distilled rankings merged; None if the term vectors know too little of the query."""
        depth = max(depth, self._fusing.candidates)
        if (vector_ranking := self._retrievers.vector.distilled(depth)) is None:
            return None
        return self._merged(Tier.DISTILLED, "distilled", vector_ranking, depth, verdict)

    def _hybrid(self, depth: int, verdict: Verdict | None) -> _Found:
        depth = max(depth, self._fusing.candidates)
        return self._merged(Tier.HYBRID, "vector", self._retrievers.vector.combined(depth), depth, verdict)

    def _merged(
        self, tier: Tier, retriever: str, vector_ranking: Ranking, depth: int, verdict: Verdict | None
    ) -> _Found:
        words = self._retrievers.keywords(depth)
        if self._fusing.documented and self._query.granularity is Granularity.COARSE:
            vector_ranking = by_one_chunk(vector_ranking, words)
        ranking = self._retrievers.vector.fused(vector_ranking, words, {})
        self._trace.step("fuse", len(ranking))
        deeper = max(len(vector_ranking), len(words)) >= depth
        return _Found(tier, ranking, {"keyword": words, retriever: vector_ranking}, deeper, verdict)

    def _hits(self, passages: Sequence[Passage], found: _Found) -> tuple[Hit, ...]:
        """Passages with their memories; leaves out what was deleted since it was ranked."""
        memories = self._store.memories.by_id([passage.best.memory for passage in passages])
        excerpts = self._store.memories.excerpts([passage.best.chunk for passage in passages])
        medium = self._query.granularity is Granularity.MEDIUM
        bodies = self._store.memories.bodies(list(memories)) if medium else {}
        terms, fusing = self._retrievers.terms, self._fusing
        numbers = measured(passages, found.ranking, terms, found.tier, proximity=found.proximity, fusing=fusing)
        places = {
            retriever: {chunk: rank for rank, chunk in enumerate(ranking.chunks, start=1)}
            for retriever, ranking in found.rankings.items()
        }
        hits = []
        for passage, (score, coverage, relevance) in zip(passages, numbers, strict=True):
            best = passage.best
            if best.memory not in memories or best.chunk not in excerpts:
                continue
            excerpt, part, sections = excerpts[best.chunk], passage.part, passage.sections
            if self._query.granularity is Granularity.FINE:
                part, sections = self._outlines.part(memories[best.memory], excerpt)
            chunk = replace(excerpt.chunk, header_path=part.header_path, level=part.level) if part else excerpt.chunk
            section = bodies.get(best.memory, "")[passage.start : passage.stop] if medium else ""
            ranks = tuple((retriever, place[best.chunk]) for retriever, place in places.items() if best.chunk in place)
            hits.append(
                Hit(
                    memory=memories[best.memory],
                    chunk=chunk,
                    chunk_id=best.chunk,
                    text=section or excerpt.text,
                    score=score,
                    coverage=coverage,
                    keyword=best.keyword,
                    cosine=best.cosine,
                    ranks=ranks,
                    relevance=relevance,
                    matched=len(passage.matching),
                    chunks=len(passage.chunks),
                    topup=passage.topup,
                    sections=sections,
                )
            )
        return tuple(hits)
