"""
The retrievers of a search: what each finds, the scores each gives to the other's results,
and the merged ranking.
"""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from memory.rank.fuse import centred, fuse, shrunk
from memory.rank.match import PROXIMITY_DEPTH, lifted, neighbours, proximities
from memory.schema.answer import Notice, Scored, Step
from memory.schema.query import EVERYTHING, Merge
from memory.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.embed.registry import Embedders
    from memory.rank.fuse import Fusing
    from memory.schema.answer import Ranking
    from memory.schema.holder import Backfilled
    from memory.schema.memory import ChunkId, MemoryId
    from memory.schema.query import Query, Scope, Term
    from memory.schema.space import Vectors
    from memory.search.query_vector import QueryVector
    from memory.search.term_vectors.ask import TermEmbedder
    from memory.store import Generation, Store

TERMS = 64
"""Terms the keyword retriever looks for; of a longer query the rarest."""

KNOWN = 0.5
"""Share of the query's weight that needs term vectors: they know nothing about other words."""

COSTLY = 4_000
"""
Matching rows, summed over the terms, from which ranking is costly: about 2 ms.

Seventy more candidates cost a tenth of that.
"""

AHEAD = 2_000
"""Candidates that take hardly longer than a few. One long memory may fill hundreds of places before the next."""


class Evidence(NamedTuple):
    """
    Attributes:
        ranking: By keyword.
        more: Whether looking deeper would find more.
        proximity: For its first chunks, the share of the query's weight whose words are adjacent in them, 0..1.
        fit: See `Retrievers.fit`.
    """

    ranking: Ranking
    more: bool
    proximity: Mapping[ChunkId, float]
    fit: float | None


class Trace:
    """
    What a search has done so far.

    Attributes:
        made: The generation that is searched, and the query's vector in its space; None if no model was asked.
        partial: Whether many chunks have no vector yet, so the most similar one may be missing.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.notices: list[Notice] = []
        self.made: tuple[Generation, Vectors] | None = None
        self.partial = False
        self.begun = perf_counter()

    @property
    def model(self) -> str:
        """Whose vector of the query was made; empty if no model was asked."""
        return self.made[0].space.model if self.made else ""

    def step(self, name: str, found: int, note: str = "") -> None:
        now = perf_counter()
        self.steps.append(Step(name, found, now - self.begun, note))
        self.begun = now


class Retrievers:
    """The retrievers of one query. The query is embedded at most once, when its vector is first needed."""

    def __init__(
        self,
        query: Query,
        store: Store,
        embedders: Callable[[], Embedders],
        fusing: Fusing,
        *,
        backfill: Callable[[int], Backfilled | None],
        trace: Trace,
    ) -> None:
        self._query, self._store, self._fusing = query, store, fusing
        self._made, self._backfill, self._trace = embedders, backfill, trace
        self.terms: tuple[Term, ...] = ()
        self._asked: tuple[int, Vectors] | None = None  # the generation and the vector that are compared
        self._ranked: tuple[int, Ranking] | None = None
        self._words: tuple[int, Ranking] | None = None
        self._pairs: Mapping[str, float] = {}
        self._proximity: dict[ChunkId, float] = {}

    @property
    def two(self) -> bool:
        """Whether the configuration names an embedder, so that there is a vector retriever at all."""
        return self._embedders.enabled

    def vectors(self) -> int:
        """How many vectors there are to compare with; if none were compared, how many memories there are."""
        return self._store.vectors.centre(self._asked[0])[1] if self._asked else self._store.memories.count(EVERYTHING)

    def renew(self, *, vector: bool) -> None:
        """
        Forget the rankings, because others changed what was ranked.

        Args:
            vector: Forget the query's vector too: another generation may be active by now.
        """
        self._ranked = self._words = None
        self._proximity = {}
        if vector:
            self._trace.made = None
            for name in ("_fit", "_term_embedder"):
                self.__dict__.pop(name, None)

    @cached_property
    def _embedders(self) -> Embedders:
        return self._made()

    @cached_property
    def _query_vector(self) -> QueryVector:
        from memory.search.query_vector import QueryVector  # a search that keywords answer does without

        return QueryVector(self._query.text, self._store, self._embedders, backfill=self._backfill, trace=self._trace)

    def plan(self) -> None:
        found = self._store.keywords.weigh(terms(self._query.text))
        weighed = tuple(term for term in found if not term.cut)
        if cut := len(found) - len(weighed):
            text = f"the answer is cut short: {cut} of {len(found)} words or phrases of the query were not looked for"
            hint = "So many chunks hold them that it would take too long. Ask for rarer words, or for fewer."
            self._trace.notices.append(Notice(text, hint))
        if len(weighed) > TERMS:
            rarest = sorted(weighed, key=lambda term: -term.weight)[:TERMS]
            self._trace.notices.append(
                Notice(f"the query has {len(weighed)} words; the {TERMS} rarest were looked for")
            )
            weighed = tuple(term for term in weighed if term in rarest)
        self.terms = weighed
        if self._fusing.neighbours:
            self._pairs = neighbours(self._query.text, weighed)
        self._trace.step("terms", len(weighed), f"cut short by {cut}" if cut else "")

    def bare(self) -> bool:
        """Whether nothing is in scope; then finding nothing is not a failure."""
        return not self._store.memories.page(self._query.scope, 1)

    def keywords(self, depth: int) -> Ranking:
        """The best chunks by keyword; searched once for each depth."""
        if self._words is None or self._words[0] != depth:
            found = self._best(depth)
            self._words = (depth, lifted(found, self.proximity(found)))
            self._trace.step("keyword", len(found))
        return self._words[1]

    def evidence(self, depth: int) -> Evidence:
        """What the gate decides by."""
        if self.costly():
            depth = max(depth, self._fusing.candidates)  # enough to be fused too, if it comes to that
        ranking = self.keywords(depth)
        return Evidence(ranking, len(ranking) >= depth, self.proximity(ranking), self.fit)

    def _best(self, depth: int) -> Ranking:
        """
        The best chunks by BM25.

        Ranking takes as long for many as for few, so where it is costly the second search takes more than asked for.
        """
        known, found = self._ranked or (0, ())
        if len(found) == known < depth:
            known = max(depth, AHEAD) if self._ranked and self.costly() else depth
            found = self._store.keywords.by_keyword(self.terms, self._query.scope, known)
            self._ranked = (known, found)
        return found[:depth]

    def proximity(self, ranking: Ranking) -> Mapping[ChunkId, float]:
        """For the first chunks of a ranking: the share of the query's weight whose words are adjacent, 0..1."""
        if not self._pairs:
            return {}
        first = [scored.chunk for scored in ranking[:PROXIMITY_DEPTH]]
        if unknown := [chunk for chunk in first if chunk not in self._proximity]:
            self._proximity |= proximities(self._pairs, self._store.keywords.texts(unknown))
        return {chunk: share for chunk in first if (share := self._proximity.get(chunk, 0.0))}

    def costly(self) -> bool:
        """Whether so many rows match that they should not be ranked again for more candidates."""
        return sum(term.rows for term in self.terms) >= COSTLY

    @property
    def fit(self) -> float | None:
        """How well the term vectors fit, -1..1; None if there are none or the distilled tier is off."""
        return self._fit[1] if self._fusing.distilled else None

    @cached_property
    def _fit(self) -> tuple[int, float | None]:
        """The active generation, and the fit of its term vectors."""
        return self._store.term_vectors.answering()

    @cached_property
    def _term_embedder(self) -> TermEmbedder:
        from memory.search.term_vectors.ask import TermEmbedder

        return TermEmbedder(self._store, self._fit[0])

    def distilled(self, depth: int) -> Ranking | None:
        """The retriever that calls no model; None if less than half of the query's weight has term vectors."""
        if self.fit is None:
            return None
        asked = self._term_embedder.ask(self._query.text, self.terms)
        self._trace.step("distil", 0 if asked is None else round(asked.known * len(self.terms)))
        if asked is None or asked.known < KNOWN:
            return None
        self._asked = (self._fit[0], asked.vector)
        return self._compared("distilled", depth)

    def by_vector(self, depth: int) -> Ranking:
        """The vector retriever; the query is embedded once, however deep the search goes."""
        generation, vector = self._query_vector.get()
        self._asked = (generation.id, vector)
        return self._compared("vector", depth)

    def _compared(self, retriever: str, depth: int) -> Ranking:
        assert self._asked is not None  # noqa: S101  # set right before
        ranking = self._store.vectors.by_vector(*self._asked, self._query.scope, depth)
        self._trace.step(retriever, len(ranking))
        return ranking

    def memory_similarities(self, scope: Scope) -> Mapping[MemoryId, float]:
        """The cosines of memories with the query; memories without vectors are left out."""
        generation, vector = self._query_vector.get()
        found = self._store.vectors.memory_similarities(generation.id, vector, scope)
        self._trace.step("likeness", len(found))
        return found

    def cosines(self, chunks: Sequence[ChunkId], *, make: bool) -> Mapping[ChunkId, float]:
        """
        Cosines of chunks with the query's vector; empty if there is none.

        Args:
            make: Make the vector if it does not exist yet and needs no server.
        """
        if not chunks:
            return {}
        made = self._query_vector.get_inside() if make else self._trace.made
        if made is None:
            return {}
        generation, vector = made
        found = self._store.vectors.cosines(generation.id, vector, vector, chunks)
        self._trace.step("compare", len(found))
        return {chunk: cosine for chunk, (cosine, _) in found.items()}

    def fused(self, vector_ranking: Ranking, keyword_ranking: Ranking, others: Mapping[ChunkId, MemoryId]) -> Ranking:
        """Both rankings merged, together with `others`, which neither retriever found."""
        fusing = self._fusing
        if fusing.merge is Merge.MAX:
            candidates, similarities = self._as_listed(vector_ranking, keyword_ranking)
        else:
            candidates, similarities = self._looked_up(vector_ranking, keyword_ranking, others)
        ranking = fuse(candidates, similarities, terms=self.terms, weights=fusing.weights, merge=fusing.merge)
        # The texts of the first chunks decide proximity, and which chunks come first is known only after a first
        # merge.
        if fusing.merge is not Merge.MINMAX or not (proximity := self.proximity(ranking)):
            return ranking
        return fuse(candidates, similarities, terms=self.terms, weights=fusing.weights, proximity=proximity)

    def _looked_up(
        self, vector_ranking: Ranking, keyword_ranking: Ranking, others: Mapping[ChunkId, MemoryId]
    ) -> tuple[list[Scored], dict[ChunkId, float]]:
        """
        The candidates with both retrievers' scores: what one did not find is looked up,
        for a missing score is not 0.
        """
        known = {scored.chunk for scored in keyword_ranking}
        unknown = [*(scored.chunk for scored in vector_ranking if scored.chunk not in known), *others]
        every = self._words is not None and len(keyword_ranking) < self._words[0]  # it has all chunks that hold a term
        more = () if every else self._store.keywords.keyword_scores(self.terms, unknown)
        neither = (Scored(chunk, memory, 0.0) for chunk, memory in others.items())
        # A later entry replaces an earlier one, so the keyword scores of `more` and of its own ranking win.
        pool: dict[ChunkId, Scored] = {
            scored.chunk: scored for scored in (*neither, *vector_ranking, *more, *keyword_ranking)
        }
        cosines, similarities = self._similarities(list(pool))
        shown = cosines if self._compares_model else {}  # a guessed vector gives an order, not a cosine worth showing
        return [item._replace(cosine=shown.get(chunk)) for chunk, item in pool.items()], similarities

    @property
    def _compares_model(self) -> bool:
        made = self._trace.made
        return made is not None and self._asked is not None and self._asked[1] is made[1]

    def _as_listed(
        self, vector_ranking: Ranking, keyword_ranking: Ranking
    ) -> tuple[list[Scored], dict[ChunkId, float]]:
        """Both rankings as the seed system merges them (CAP B16): a chunk has no score from a list it is not in."""
        similarities = {scored.chunk: scored.score for scored in vector_ranking}
        pool: dict[ChunkId, Scored] = {scored.chunk: scored for scored in (*vector_ranking, *keyword_ranking)}
        shown = similarities if self._compares_model else {}
        return [item._replace(cosine=shown.get(chunk)) for chunk, item in pool.items()], similarities

    def _similarities(self, chunks: Sequence[ChunkId]) -> tuple[dict[ChunkId, float], dict[ChunkId, float]]:
        """The cosines of chunks with the query, as they are and after centring."""
        assert self._asked is not None  # noqa: S101  # a retriever came first
        generation, vector = self._asked
        centre = shrunk(*self._store.vectors.centre(generation))
        length = float(centre @ centre)
        # One pass of the store compares two vectors: `other` is the centre at length 1,
        # so x · m is its cosine times the centre's length.
        other = centre / length**0.5 if length else vector
        found = self._store.vectors.cosines(generation, vector, other, chunks)
        query_centre = float(vector @ centre)
        cosines = {chunk: cosine for chunk, (cosine, _) in found.items()}
        similarities = {
            chunk: centred(cosine, query_centre, with_other * length**0.5, length)
            for chunk, (cosine, with_other) in found.items()
        }
        return cosines, similarities

    def scored(self, rankings: Mapping[str, Ranking], chunks: Mapping[ChunkId, MemoryId]) -> Ranking:
        """The scores that the retrievers of these rankings give to chunks that are in none of them."""
        match sorted(rankings):
            case ["keyword"]:
                return self._store.keywords.keyword_scores(self.terms, list(chunks))
            case ["vector"]:
                cosines, _ = self._similarities(list(chunks))
                return tuple(Scored(id, chunks[id], cosine, cosine=cosine) for id, cosine in cosines.items())
            case [other, "keyword"] | ["keyword", other]:
                return self.fused(rankings[other], rankings["keyword"], chunks)
        return ()
