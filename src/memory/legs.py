"""The two legs of a search: what each finds, what either says of what the other found, and both as one ranking."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from memory.errors import EmbedError, SpaceMismatch, StoreBusy, Unembedded
from memory.query import Merge, Notice, Scored, Step
from memory.rank.fuse import centred, fuse
from memory.text.lexical import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.embed import Embedder
    from memory.embed.books import Stored
    from memory.embed.pool import Embedders
    from memory.fill import Filling
    from memory.query import Query, Ranking, Scope, Term
    from memory.record import ChunkId, MemoryId
    from memory.space import Vectors
    from memory.store import Store

TERMS = 64
"""Terms the keyword leg takes; of a longer query the most telling."""

COSTLY = 4_000
"""Rows of all terms together. Ranking them takes some 2 ms, 70 candidates more a tenth of that."""

SHRINK = 50
"""The centre of n vectors is their sum over n + this: a store of three is hardly centred on itself."""


class Fusing(NamedTuple):
    """
    How a hybrid answer weighs its legs (see `memory.rank.fuse`), and how deep it looks into them.

    Attributes:
        candidates: Chunks taken from each leg, at least.
        deepen: Take more if those are of fewer memories or sections than asked for.
    """

    weights: tuple[float, float] = (0.3, 0.7)
    merge: Merge = Merge.MINMAX
    candidates: int = 100
    deepen: bool = True


class Trace:
    """What was done so far."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.notices: list[Notice] = []
        self.begun = perf_counter()

    def step(self, name: str, found: int, note: str = "") -> None:
        now = perf_counter()
        self.steps.append(Step(name, found, now - self.begun, note))
        self.begun = now


class Legs:
    """The legs of one query. The query is embedded once, when the vector leg first runs."""

    def __init__(
        self,
        query: Query,
        store: Store,
        embedders: Callable[[], Embedders],
        fusing: Fusing,
        *,
        filling: Callable[[], Filling],
        trace: Trace,
    ) -> None:
        self._query, self._store, self._fusing = query, store, fusing
        self._made, self._filling, self._trace = embedders, filling, trace
        self.terms: tuple[Term, ...] = ()
        self._vector: tuple[Stored, Vectors] | None = None
        self._words: tuple[int, Ranking] | None = None

    @property
    def two(self) -> bool:
        """Whether the configuration names an embedder, so that there is a vector leg at all."""
        return self._embedders.enabled

    def renew(self, *, vector: bool) -> None:
        """
        Begin anew, after others changed what was ranked.

        Args:
            vector: Also with the query's vector: another generation may answer by now.
        """
        self._words = None
        self._vector = None if vector else self._vector

    @cached_property
    def _embedders(self) -> Embedders:
        return self._made()

    def plan(self) -> None:
        weighed = self._store.weigh(terms(self._query.text))
        if len(weighed) > TERMS:
            rarest = sorted(weighed, key=lambda term: -term.weight)[:TERMS]
            self._trace.notices.append(
                Notice(f"the query has {len(weighed)} words; the {TERMS} rarest were looked for")
            )
            weighed = tuple(term for term in weighed if term in rarest)
        self.terms = weighed
        self._trace.step("terms", len(weighed))

    def bare(self) -> bool:
        """Whether nothing is in scope: then there is nothing to compare with, and nothing amiss."""
        return not self._store.recent(self._query.scope, 1)

    def keywords(self, depth: int) -> Ranking:
        """The best chunks by keyword; looked for once at each depth."""
        if self._words is None or self._words[0] != depth:
            self._words = (depth, self._store.by_keyword(self.terms, self._query.scope, depth))
            self._trace.step("keyword", len(self._words[1]))
        return self._words[1]

    def costly(self) -> bool:
        """Whether the keyword leg has so much to rank that it should not have to do it again for more candidates."""
        return sum(term.rows for term in self.terms) >= COSTLY

    def nearest(self, depth: int) -> Ranking:
        """The vector leg; the query is embedded once however deep the search goes."""
        generation, vector = self._embedded()
        ranking = self._store.by_vector(generation.id, vector, self._query.scope, depth)
        self._trace.step("vector", len(ranking))
        return ranking

    def likeness(self, scope: Scope) -> Mapping[MemoryId, float]:
        """The cosines of memories with the query, as far as they have vectors."""
        generation, vector = self._embedded()
        found = self._store.likeness(generation.id, vector, scope)
        self._trace.step("likeness", len(found))
        return found

    def _embedded(self) -> tuple[Stored, Vectors]:
        """The generation that answers, and the query in its space."""
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
        return self._vector

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

    def fused(self, near: Ranking, words: Ranking, others: Mapping[ChunkId, MemoryId]) -> Ranking:
        """Both legs as one ranking, with `others` in it, which neither leg found."""
        fusing = self._fusing
        if fusing.merge is Merge.MAX:
            candidates, nearness = self._as_listed(near, words)
        else:
            candidates, nearness = self._looked_up(near, words, others)
        return fuse(candidates, nearness, terms=self.terms, weights=fusing.weights, merge=fusing.merge)

    def _looked_up(
        self, near: Ranking, words: Ranking, others: Mapping[ChunkId, MemoryId]
    ) -> tuple[list[Scored], dict[ChunkId, float]]:
        """Both legs, and for what only one of them found the other's score: a missing score is not a zero."""
        known = {scored.chunk for scored in words}
        unknown = [*(scored.chunk for scored in near if scored.chunk not in known), *others]
        every = self._words is not None and len(words) < self._words[0]  # that holds a term is among the words
        more = () if every else self._store.keyword_scores(self.terms, unknown)
        neither = (Scored(chunk, memory, 0.0) for chunk, memory in others.items())
        pool: dict[ChunkId, Scored] = {scored.chunk: scored for scored in (*neither, *near, *more, *words)}
        cosines, nearness = self._nearness(list(pool))
        return [item._replace(cosine=cosines.get(chunk)) for chunk, item in pool.items()], nearness

    def _as_listed(self, near: Ranking, words: Ranking) -> tuple[list[Scored], dict[ChunkId, float]]:
        """Both legs as the seed system takes them (CAP B16): what a list does not hold has no score in it."""
        nearness = {scored.chunk: scored.score for scored in near}
        pool: dict[ChunkId, Scored] = {scored.chunk: scored for scored in (*near, *words)}
        return [item._replace(cosine=nearness.get(chunk)) for chunk, item in pool.items()], nearness

    def _nearness(self, chunks: Sequence[ChunkId]) -> tuple[dict[ChunkId, float], dict[ChunkId, float]]:
        """The cosines of chunks with the query, as they are and after centring."""
        assert self._vector is not None  # noqa: S101  # `nearest` came first
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

    def scored(self, legs: Mapping[str, Ranking], chunks: Mapping[ChunkId, MemoryId]) -> Ranking:
        """What the legs that made a ranking say of chunks that are not in it."""
        match sorted(legs):
            case ["keyword"]:
                return self._store.keyword_scores(self.terms, list(chunks))
            case ["vector"]:
                cosines, _ = self._nearness(list(chunks))
                return tuple(Scored(id, chunks[id], cosine, cosine=cosine) for id, cosine in cosines.items())
            case ["keyword", "vector"]:
                return self.fused(legs["vector"], legs["keyword"], chunks)
        return ()
