"""Searching: keywords first; vectors when they are not enough; fuse; widen to the granularity."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.errors import EmbedError, NotFound, SpaceMismatch
from memory.legs import Fusing, Legs, Trace
from memory.query import Answer, Granularity, Hit, Mode, Notice, Tier, Verdict
from memory.rank.judge import DEPTH, Tuning, coverage, held_by_memory, judge, likeness
from memory.rank.rollup import SECTIONS_OF, rollup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.embed.pool import Embedders
    from memory.fill import Filling
    from memory.query import Query, Ranking
    from memory.rank.rollup import Passage
    from memory.store import Store

ATTEMPTS = 5
"""How often a search begins anew when others change what it found before it was read."""


class _Found(NamedTuple):
    """A ranking with the places of its chunks in each leg."""

    tier: Tier
    ranking: Ranking
    legs: Mapping[str, Ranking]
    more: bool  # a deeper look would find more
    verdict: Verdict | None = None


def search(
    query: Query,
    store: Store,
    embedders: Callable[[], Embedders],
    tuning: Tuning,
    fusing: Fusing,
    *,
    filling: Callable[[], Filling],
) -> Answer:
    """
    Answer a query. One that needs vectors embeds first what waits for them, as far as `filling` allows.

    Args:
        embedders, filling: Asked for only if keywords are not enough: many a search does without either.

    Raises:
        EmbedError, SpaceMismatch: Only in mode VECTOR or HYBRID. A tiered search then answers with keywords and
            says so in a notice.
        StoreError: The store cannot be read.
    """
    return _Search(query, store, embedders, tuning, fusing, filling=filling).answer()


class _Search:
    def __init__(
        self,
        query: Query,
        store: Store,
        embedders: Callable[[], Embedders],
        tuning: Tuning,
        fusing: Fusing,
        *,
        filling: Callable[[], Filling],
    ) -> None:
        self._query, self._store, self._tuning, self._fusing = query, store, tuning, fusing
        self._trace = Trace()
        self._legs = Legs(query, store, embedders, fusing, filling=filling, trace=self._trace)
        self._stuck = False  # the vector leg failed: looking deeper must not wait for it again

    def answer(self) -> Answer:
        """
        Rank and read; again if others changed what was ranked before it was read, or reindexed.

        Raises:
            NotFound: The vectors were replaced again and again.
        """
        if self._query.mode is not Mode.VECTOR:
            self._legs.plan()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer, complete = self._attempt()
            except NotFound:  # the generation
                if attempt == ATTEMPTS:
                    raise
                self._legs.renew(vector=True)
                continue
            if complete:
                break
            self._legs.renew(vector=False)
        return answer

    def _attempt(self) -> tuple[Answer, bool]:
        """Look as deep as it takes to fill the limit, for many chunks may belong to one memory; and was all still there."""
        limit, medium = self._query.limit, self._query.granularity is Granularity.MEDIUM
        depth = max(DEPTH, limit * SECTIONS_OF if medium else limit, self._tuning.enough)
        while True:
            found = self._found(depth)
            last = not (found.more and self._fusing.deepen)
            passages = (
                self._sections(found, last=last)
                if medium
                else rollup(found.ranking, self._legs.terms, self._query.granularity, limit)
            )
            if last or len(passages) >= limit:
                break
            depth *= 4
        hits = self._hits(passages, found)
        trace = self._trace
        trace.step("read", len(hits))
        steps, notices = tuple(trace.steps), tuple(dict.fromkeys(trace.notices))  # what was begun anew is said once
        answer = Answer(self._query, hits, found.tier, found.verdict, self._legs.terms, steps, notices)
        return answer, len(hits) == len(passages)

    def _sections(self, found: _Found, *, last: bool) -> list[Passage]:
        """The sections to show, best first; none if there are fewer than asked for and it is not the `last` look."""
        from memory.rank.sections import sections, shown

        limit = self._query.limit
        first = {scored.memory for scored in found.ranking[: SECTIONS_OF * limit]}
        outlines = self._store.outlines(list(first))
        held = sections(found.ranking, lambda memory: outlines.get(memory) or self._store.outline(memory), limit)
        if len(held) < limit and not last:
            return []
        scores = {scored.chunk: scored for scored in found.ranking}
        unranked = {id: one.best.memory for one in held for id in one.chunks if id not in scores}
        scores |= {scored.chunk: scored for scored in self._legs.scored(found.legs, unranked)}
        nearest = max((likeness(self._legs.terms, scored) for scored in found.ranking), default=0.0)
        self._trace.step("sections", len(held))
        return shown(held, scores, self._legs.terms, limit, nearest=nearest)

    def _found(self, depth: int) -> _Found:
        match self._query.mode:
            case Mode.VECTOR | Mode.HYBRID if self._legs.bare():
                return _Found(Tier(self._query.mode), (), {}, more=False)
            case Mode.VECTOR:
                depth = max(depth, self._fusing.candidates)
                ranking = self._legs.nearest(depth)
                return _Found(Tier.VECTOR, ranking, {"vector": ranking}, len(ranking) >= depth)
            case Mode.HYBRID:
                return self._hybrid(depth, None)
            case Mode.KEYWORD:
                ranking = self._legs.keywords(depth)
                return _Found(Tier.KEYWORD, ranking, {"keyword": ranking}, len(ranking) >= depth)
            case Mode.TIERED:
                return self._tiered(depth)

    def _tiered(self, depth: int) -> _Found:
        if self._legs.costly():
            depth = max(depth, self._fusing.candidates)  # as many as the other leg would be fused with
        ranking = self._legs.keywords(depth)
        verdict = judge(self._legs.terms, ranking, self._tuning)
        if not ranking and not verdict.enough and self._legs.bare():
            verdict = Verdict(True, "nothing is in scope")
        cheap = _Found(Tier.KEYWORD, ranking, {"keyword": ranking}, len(ranking) >= depth, verdict)
        if verdict.enough or self._stuck or not self._legs.two:
            return cheap
        try:
            return self._hybrid(depth, verdict)
        except (EmbedError, SpaceMismatch) as error:
            self._trace.notices.append(Notice(f"keywords only: {error}", error.hint))
            self._stuck = True
            return cheap

    def _hybrid(self, depth: int, verdict: Verdict | None) -> _Found:
        depth = max(depth, self._fusing.candidates)
        near = self._legs.nearest(depth)
        words = self._legs.keywords(depth)
        ranking = self._legs.fused(near, words, {})
        self._trace.step("fuse", len(ranking))
        deeper = max(len(near), len(words)) >= depth
        return _Found(Tier.HYBRID, ranking, {"keyword": words, "vector": near}, deeper, verdict)

    def _hits(self, passages: Sequence[Passage], found: _Found) -> tuple[Hit, ...]:
        """Passages with their memories; what was deleted since it was ranked is left out."""
        memories = self._store.memories([passage.best.memory for passage in passages])
        excerpts = self._store.excerpts([passage.best.chunk for passage in passages])
        medium = self._query.granularity is Granularity.MEDIUM
        bodies = self._store.bodies(list(memories)) if medium else {}
        held = held_by_memory(found.ranking)
        places = {
            leg: {scored.chunk: rank for rank, scored in enumerate(ranking, start=1)}
            for leg, ranking in found.legs.items()
        }
        hits = []
        for passage in passages:
            best = passage.best
            if best.memory not in memories or best.chunk not in excerpts:
                continue
            excerpt = excerpts[best.chunk]
            text = excerpt.text
            if medium and passage.stop > passage.start:
                text = bodies.get(best.memory, "")[passage.start : passage.stop]
            ranks = tuple((leg, place[best.chunk]) for leg, place in places.items() if best.chunk in place)
            hits.append(
                Hit(
                    memory=memories[best.memory],
                    chunk=excerpt.chunk,
                    chunk_id=best.chunk,
                    text=text,
                    score=passage.score,
                    coverage=coverage(self._legs.terms, held[best.memory]),
                    keyword=best.keyword,
                    cosine=best.cosine,
                    ranks=ranks,
                    similarity=passage.similarity,
                    matched=passage.matched,
                    chunks=passage.chunks,
                )
            )
        return tuple(hits)
