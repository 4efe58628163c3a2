"""Searching: keywords first; vectors when they are not enough; fuse; widen to the granularity."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache, cached_property
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from memory.errors import EmbedError, NotFound, SpaceMismatch, StoreBusy, Unembedded
from memory.query import Answer, Granularity, Hit, Merge, Mode, Notice, Step, Tier, Verdict
from memory.rank.fuse import centred, fuse
from memory.rank.judge import DEPTH, Tuning, coverage, held_by_memory, judge
from memory.rank.rollup import rollup
from memory.text.lexical import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.embed import Embedder
    from memory.embed.books import Stored
    from memory.embed.pool import Embedders
    from memory.fill import Filling
    from memory.query import Query, Ranking, Scored, Term
    from memory.rank.rollup import Passage
    from memory.record import ChunkId
    from memory.space import Vectors
    from memory.store import Store

POOL = 100
"""Candidates taken from each leg before they are fused, at least."""

TERMS = 64
"""Terms the keyword leg takes; of a longer query the most telling."""

ATTEMPTS = 5
"""How often a search begins anew when others change what it found before it was read."""

SHRINK = 50
"""The centre of n vectors is their sum over n + this: a store of three is hardly centred on itself."""


class Fusing(NamedTuple):
    """How a hybrid answer weighs its legs: see `memory.rank.fuse`."""

    weights: tuple[float, float] = (0.3, 0.7)
    merge: Merge = Merge.MINMAX


class _Trace:
    """What was done so far."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.notices: list[Notice] = []
        self.begun = perf_counter()

    def step(self, name: str, found: int, note: str = "") -> None:
        now = perf_counter()
        self.steps.append(Step(name, found, now - self.begun, note))
        self.begun = now


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
        self._made, self._filling = embedders, filling
        self._trace = _Trace()
        self._terms: tuple[Term, ...] = ()
        self._vector: tuple[Stored, Vectors] | None = None
        self._stuck = False  # the vector leg failed: looking deeper must not wait for it again

    @cached_property
    def _embedders(self) -> Embedders:
        return self._made()

    def answer(self) -> Answer:
        """
        Rank and read; again if others changed what was ranked before it was read, or reindexed.

        Raises:
            NotFound: The vectors were replaced again and again.
        """
        if self._query.mode is not Mode.VECTOR:
            self._plan()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer, complete = self._attempt()
            except NotFound:  # the generation
                if attempt == ATTEMPTS:
                    raise
                self._vector = None
                continue
            if complete:
                break
        return answer

    def _attempt(self) -> tuple[Answer, bool]:
        """Look as deep as it takes to fill the limit, for many chunks may belong to one memory; and was all still there."""
        depth = max(DEPTH, self._query.limit, self._tuning.enough)
        outline = cache(self._store.outline)
        while True:
            found = self._found(depth)
            passages = rollup(found.ranking, outline, self._query.granularity, self._query.limit)
            if len(passages) >= self._query.limit or not found.more:
                break
            depth *= 4
        hits = self._hits(passages, found)
        trace = self._trace
        trace.step("read", len(hits))
        steps, notices = tuple(trace.steps), tuple(dict.fromkeys(trace.notices))  # what was begun anew is said once
        answer = Answer(self._query, hits, found.tier, found.verdict, self._terms, steps, notices)
        return answer, len(hits) == len(passages)

    def _plan(self) -> None:
        weighed = self._store.weigh(terms(self._query.text))
        if len(weighed) > TERMS:
            rarest = sorted(weighed, key=lambda term: -term.weight)[:TERMS]
            self._trace.notices.append(
                Notice(f"the query has {len(weighed)} words; the {TERMS} rarest were looked for")
            )
            weighed = tuple(term for term in weighed if term in rarest)
        self._terms = weighed
        self._trace.step("terms", len(weighed))

    def _found(self, depth: int) -> _Found:
        match self._query.mode:
            case Mode.VECTOR | Mode.HYBRID if self._bare():
                return _Found(Tier(self._query.mode), (), {}, more=False)
            case Mode.VECTOR:
                depth = max(depth, POOL)
                ranking = self._nearest(depth)
                return _Found(Tier.VECTOR, ranking, {"vector": ranking}, len(ranking) >= depth)
            case Mode.HYBRID:
                return self._hybrid(max(depth, POOL), None)
            case Mode.KEYWORD:
                ranking = self._keywords(depth)
                return _Found(Tier.KEYWORD, ranking, {"keyword": ranking}, len(ranking) >= depth)
            case Mode.TIERED:
                return self._tiered(depth)

    def _tiered(self, depth: int) -> _Found:
        ranking = self._keywords(depth)
        verdict = judge(self._terms, ranking, self._tuning)
        if not ranking and not verdict.enough and self._bare():
            verdict = Verdict(True, "nothing is in scope")
        cheap = _Found(Tier.KEYWORD, ranking, {"keyword": ranking}, len(ranking) >= depth, verdict)
        if verdict.enough or self._stuck or not self._embedders.enabled:
            return cheap
        try:
            return self._hybrid(max(depth, POOL), verdict)
        except (EmbedError, SpaceMismatch) as error:
            self._trace.notices.append(Notice(f"keywords only: {error}", error.hint))
            self._stuck = True
            return cheap

    def _bare(self) -> bool:
        """Whether nothing is in scope: then there is nothing to compare with, and nothing amiss."""
        return not self._store.recent(self._query.scope, 1)

    def _keywords(self, depth: int) -> Ranking:
        ranking = self._store.by_keyword(self._terms, self._query.scope, depth)
        self._trace.step("keyword", len(ranking))
        return ranking

    def _nearest(self, depth: int) -> Ranking:
        """The vector leg; the query is embedded once however deep the search goes."""
        if self._vector is None:
            self._embedders.let(self._query.text)
            generation, embedder = self._answering()
            vector, whole = self._embedders.query(embedder, self._query.text)
            if not whole:
                self._trace.notices.append(
                    Notice("the query is longer than the model reads: its beginning was embedded")
                )
            self._vector = (generation, vector)
            self._trace.step("embed", 1, str(generation.space))
            self._fill_on()
        generation, vector = self._vector
        ranking = self._store.by_vector(generation.id, vector, self._query.scope, depth)
        self._trace.step("vector", len(ranking))
        return ranking

    def _answering(self) -> tuple[Stored, Embedder]:
        """The active generation and its embedder; what waits is embedded first if nothing else was yet."""
        try:
            return self._embedders.answering()
        except Unembedded:
            self._fill()
            return self._embedders.answering()

    def _fill_on(self) -> None:
        """Embed what waits, or say why not: the query has its vector, and most of what is kept does."""
        try:
            self._fill()
        except (EmbedError, SpaceMismatch, StoreBusy) as error:
            self._trace.notices.append(Notice(f"chunks wait for their vectors: {error}", error.hint))

    def _fill(self) -> None:
        """Embed what waits for a vector, as far as that is worth a search's time."""
        if not (queued := self._store.queued()):
            return
        from memory.fill import drain

        filling = self._filling()
        if queued > filling.threshold:
            said = f"{queued:,} chunks have no vector yet and are found by keyword only"
            self._trace.notices.append(Notice(said, "Run `memory embed`."))
            return
        filled = drain(self._store, self._embedders, filling, moment=datetime.now(UTC))
        if filled.embedded or filled.failed:
            self._trace.step("fill", filled.embedded, filled.error)
        if filled.more:
            said = f"{filled.left:,} chunks have no vector yet and are found by keyword only"
            self._trace.notices.append(Notice(said, "The next searches go on with them; `memory embed` does it now."))

    def _hybrid(self, depth: int, verdict: Verdict | None) -> _Found:
        near = self._nearest(depth)
        words = self._keywords(depth)
        fusing = self._fusing
        candidates, nearness = (self._as_listed if fusing.merge is Merge.MAX else self._looked_up)(near, words)
        ranking = fuse(candidates, nearness, terms=self._terms, weights=fusing.weights, merge=fusing.merge)
        self._trace.step("fuse", len(ranking))
        deeper = max(len(near), len(words)) >= depth
        return _Found(Tier.HYBRID, ranking, {"keyword": words, "vector": near}, deeper, verdict)

    def _looked_up(self, near: Ranking, words: Ranking) -> tuple[list[Scored], dict[ChunkId, float]]:
        """Both legs, and for what only one of them found the other's score: a missing score is not a zero."""
        known = {scored.chunk for scored in words}
        unknown = [scored.chunk for scored in near if scored.chunk not in known]
        more = self._store.keyword_scores(self._terms, unknown)
        pool: dict[ChunkId, Scored] = {scored.chunk: scored for scored in (*near, *more, *words)}
        cosines, nearness = self._nearness(list(pool))
        return [item._replace(cosine=cosines.get(chunk)) for chunk, item in pool.items()], nearness

    def _as_listed(self, near: Ranking, words: Ranking) -> tuple[list[Scored], dict[ChunkId, float]]:
        """Both legs as the seed system takes them (CAP B16): what a list does not hold has no score in it."""
        nearness = {scored.chunk: scored.score for scored in near}
        pool: dict[ChunkId, Scored] = {scored.chunk: scored for scored in (*near, *words)}
        return [item._replace(cosine=nearness.get(chunk)) for chunk, item in pool.items()], nearness

    def _nearness(self, chunks: Sequence[ChunkId]) -> tuple[dict[ChunkId, float], dict[ChunkId, float]]:
        """The cosines of chunks with the query, as they are and after centring."""
        assert self._vector is not None  # noqa: S101  # `_nearest` came first
        generation, vector = self._vector
        total, count = self._store.centre(generation.id)
        centre = (total / (count + SHRINK)).astype(vector.dtype)
        length = float(centre @ centre)
        other = centre / length**0.5 if length else vector
        found = self._store.cosines(generation.id, vector, other, chunks)
        query_centre = float(vector @ centre)
        cosines = {chunk: cosine for chunk, (cosine, _) in found.items()}
        nearness = {
            chunk: centred(cosine, query_centre, with_other * length**0.5, length)
            for chunk, (cosine, with_other) in found.items()
        }
        return cosines, nearness

    def _hits(self, passages: Sequence[Passage], found: _Found) -> tuple[Hit, ...]:
        """Passages with their memories; what was deleted since it was ranked is left out."""
        memories = self._store.memories([passage.best.memory for passage in passages])
        excerpts = self._store.excerpts([passage.best.chunk for passage in passages])
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
            if self._query.granularity is Granularity.MEDIUM and passage.stop > passage.start:
                text = (self._store.body(best.memory) or "")[passage.start : passage.stop]
            ranks = tuple((leg, place[best.chunk]) for leg, place in places.items() if best.chunk in place)
            hits.append(
                Hit(
                    memory=memories[best.memory],
                    chunk=excerpt.chunk,
                    chunk_id=best.chunk,
                    text=text,
                    score=best.score,
                    coverage=coverage(self._terms, held[best.memory]),
                    keyword=best.keyword,
                    cosine=best.cosine,
                    ranks=ranks,
                    match_ratio=passage.match_ratio if self._query.granularity is Granularity.MEDIUM else None,
                )
            )
        return tuple(hits)
