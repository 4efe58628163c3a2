"""The retrievers of a search: keywords here, vectors in `memory.search.vectors`, both in one snapshot of the store."""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from memory.rank.confidence import TINY, Evidence, Measure, confidence
from memory.rank.hits import SECTIONS_OF
from memory.rank.match import PROXIMITY_DEPTH, lifted, neighbours, proximities
from memory.schema.answer import LONGER, Notice, Outcome, Ranking, Step, Tier
from memory.schema.errors import EmbedError, NotFound, SpaceMismatch
from memory.schema.query import EVERYTHING, Granularity, Mode, Query, Term
from memory.text.lookup import begins
from memory.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.embed.registry import Embedders
    from memory.rank.fuse import Fusing
    from memory.schema.holder import Backfilled
    from memory.schema.memory import ChunkId, MemoryId
    from memory.schema.space import Plain, Vectors
    from memory.search.vectors import VectorRetriever
    from memory.store import Generation, Store

T = TypeVar("T")

TERMS = 64
"""Terms the keyword retriever looks for; of a longer query the rarest."""

COSTLY = 4_000
"""
Matching rows, summed over the terms, from which ranking is costly: about 2 ms.

Seventy more candidates cost a tenth of that.
"""

AHEAD = 2_000
"""Candidates that take hardly longer than a few. One long memory may fill hundreds of places before the next."""

ATTEMPTS = 20
"""How often an answer is begun anew because its generation of vectors was retired."""


class VectorNeeded(Exception):
    """
    The query has no vector yet, or these passages have none. It is made outside a snapshot, because a model may take
    seconds.
    """

    def __init__(self, *passages: str) -> None:
        super().__init__(*passages)
        self.passages = passages


class Trace:
    """
    What a search has done so far.

    Attributes:
        made: The generation that is searched, and the query's vector in its space; None if no model was asked.
        compared: The generation and the vector that chunks were compared with; None if they were not.
        passages: Vectors of passages that are not stored, in the same space.
        partial: Whether many chunks have no vector yet, so the most similar one may be missing.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.notices: list[Notice] = []
        self.made: tuple[Generation, Vectors] | None = None
        self.compared: tuple[int, Vectors | Plain] | None = None
        self.passages: dict[str, Vectors] = {}
        self.partial = False
        self.begun = perf_counter()

    def step(self, name: str, found: int, note: str = "") -> None:
        now = perf_counter()
        self.steps.append(Step(name, found, now - self.begun, note))
        self.begun = now

    def vector(self) -> tuple[int, Vectors]:
        """
        The generation that is searched, and the query's vector.

        Raises:
            VectorNeeded: It is not made yet.
        """
        if self.made is None:
            raise VectorNeeded
        generation, vector = self.made
        return generation.id, vector


class Retrievers:
    """
    The retrievers of one query. The query is embedded at most once, when its vector is first needed.

    Attributes:
        failure: Why the model that was needed did not answer; it is not asked again.
        carried: Whether the keyword rankings come from the snapshot before the model was asked.
    """

    def __init__(
        self,
        query: Query,
        store: Store,
        embedders: Callable[[], Embedders],
        fusing: Fusing,
        *,
        backfill: Callable[[int], Backfilled | None],
    ) -> None:
        self.query, self.store, self.fusing, self.backfill, self._made = query, store, fusing, backfill, embedders
        self.trace = Trace()
        self.terms: tuple[Term, ...] = ()
        self.failure: EmbedError | SpaceMismatch | None = None
        self._pairs: Mapping[str, float] = {}
        self._planned = False
        self.forget()

    def forget(self) -> None:
        """Forget the rankings by keyword, because others changed what was ranked."""
        self._ranked: tuple[int, Ranking] | None = None
        self._keywords: tuple[int, Ranking] | None = None
        self._proximity: dict[ChunkId, float] = {}
        self.carried = False

    def answered(self, attempt: Callable[[], T], *, words: bool = True, required: bool = False) -> T:
        """
        What `attempt` makes of one snapshot of the store; the model is asked between two.

        Args:
            words: Look for the words of the query.
            required: A model that fails is an error.

        Raises:
            EmbedError, SpaceMismatch: Only if `required`. Otherwise it is the `failure`.
            NotFound: The generation was retired in every attempt.
        """
        retired, needed = 0, None
        while True:
            try:
                if needed:
                    self._ask(needed.passages, required=required)
                    needed = None
                with self.store.snapshot():
                    if words:
                        self.plan()
                    return attempt()
            except VectorNeeded as error:
                needed = error
            except NotFound:
                needed = None
                if (retired := retired + 1) == ATTEMPTS:
                    raise
                self.forget()
                self.trace.made, self.trace.passages = None, {}
                for name in ("learned", "vector"):
                    self.__dict__.pop(name, None)

    def _ask(self, passages: Sequence[str], *, required: bool) -> None:
        try:
            if passages:
                self.vector.make_passages(passages)
            else:
                self.vector.make()
        except (EmbedError, SpaceMismatch) as error:
            if required:
                raise
            self.failure = error
        self.carried = True

    @property
    def two(self) -> bool:
        """Whether there is a vector retriever: the configuration names an embedder, and it has not failed."""
        return self.failure is None and self.embedders.enabled

    @property
    def without(self) -> Notice:
        """Why there is no vector retriever."""
        error = self.failure
        return Notice(f"without the model: {error or 'no embedder is configured'}", error.hint if error else "")

    def measure(self) -> Measure:
        """What the cosines of the generation that was searched are measured by."""
        if self.trace.made is None:
            return Measure()
        searched, vector = self.trace.vector()
        known = next((one.strangers for one in self.store.generations.every() if one.id == searched), None)
        if known is None:
            return Measure()
        vectors, scope = self.store.vectors.centre(searched)[1], self.query.scope
        if scope._replace(statuses=frozenset()) == EVERYTHING:  # hardly narrower, and counting it takes time
            inside = vectors
        else:
            inside = round(vectors * self.store.memories.count(scope) / max(1, self.store.memories.count(EVERYTHING)))
        near = self.store.vectors.strangers(searched) if inside < TINY[1] else None
        return Measure(known, vectors, inside, -1.0 if near is None else float((near @ vector).max()))

    def confidence(
        self, hits: Sequence[Evidence], tier: Tier, *, empty: str, measure: Measure | None = None
    ) -> tuple[Outcome, str]:
        """
        How far the hits can be trusted, and why.

        Args:
            empty: What is said if nothing is in scope.
            measure: What the cosines of the hits are measured by; None stands for `measure`.
        """
        if not hits and self.bare():
            return Outcome.NOTHING_SAVED, empty
        outcome, why = confidence(hits, tier, len(self.terms), lambda: measure or self.measure(), self._memories)
        if outcome is Outcome.NOTHING_RELEVANT and self.trace.partial:
            return Outcome.DEGRADED, "many chunks have no vector yet"
        return outcome, why

    def _memories(self) -> int:
        """How many memories there are; if vectors were compared, how many vectors."""
        if self.trace.compared:
            return self.store.vectors.centre(self.trace.compared[0])[1]
        return self.store.memories.count(EVERYTHING)

    @cached_property
    def embedders(self) -> Embedders:
        return self._made()

    @cached_property
    def vector(self) -> VectorRetriever:
        from memory.search.vectors import VectorRetriever  # a search that keywords answer does without

        return VectorRetriever(self)

    def plan(self) -> None:
        """Look up the words of the query, once."""
        if self._planned:
            return
        self._planned = True
        found = self.store.keywords.weigh(terms(self.query.text))
        weighed = tuple(term for term in found if not term.cut)
        if cut := len(found) - len(weighed):
            text = f"the answer is cut short: {cut} of {len(found)} words or phrases of the query were not looked for"
            hint = "So many chunks hold them that it would take too long. Ask for rarer words, or for fewer."
            self.trace.notices.append(Notice(text, hint))
        if len(weighed) > TERMS:
            rarest = sorted(weighed, key=lambda term: -term.weight)[:TERMS]
            self.trace.notices.append(Notice(f"the query has {len(weighed)} words; the {TERMS} rarest were looked for"))
            weighed = tuple(term for term in weighed if term in rarest)
        self.terms = tuple(sorted(weighed, key=lambda term: term.longer > 0))  # so that the bits of words come first
        if self.fusing.neighbours:
            self._pairs = neighbours(self.query.text, weighed)
        self.trace.step("terms", len(weighed), f"cut short by {cut}" if cut else "")

    def bare(self) -> bool:
        """Whether nothing is in scope; then finding nothing is not a failure."""
        return not self.store.memories.count(self.query.scope, most=1)

    def keywords(self, depth: int) -> Ranking:
        """The best chunks by keyword; searched once for each depth."""
        if self._keywords is None or self._keywords[0] != depth:
            found = self.listed(self._best, depth)
            self._keywords = (depth, lifted(found, self.proximity(found.chunks)))
            self.trace.step("keyword", len(found))
        return self._keywords[1]

    def listed(self, ask: Callable[[int], Ranking], depth: int) -> Ranking:
        """
        What a retriever finds at a depth; with `Fusing.documented` the results that are merged there, whatever the depth.

        Args:
            ask: The retriever: its best chunks, at most as many as it is given.
        """
        if not self.fusing.documented:
            return ask(depth)
        query = self.query
        wanted = depth = 2 * query.limit * (SECTIONS_OF if query.granularity is Granularity.MEDIUM else 1)
        while True:
            found = ask(depth)
            results = found.by_memory() if query.granularity is Granularity.COARSE else found
            if len(results) >= wanted or len(found) < depth:
                return results[:wanted]
            depth *= 4  # several chunks are of one memory

    @property
    def exhausted(self) -> bool:
        """Whether the ranking by keyword has every chunk that holds a term."""
        return self._keywords is not None and len(self._keywords[1]) < self._keywords[0]

    def candidates(self, depth: int) -> tuple[Ranking, bool]:
        """The ranking by keyword, for the gate and for a merge; and whether looking deeper would find more."""
        if self.costly():
            depth = max(depth, self.fusing.candidates)
        ranking = self.keywords(depth)
        return ranking, len(ranking) >= depth

    def evidence(self, ranking: Ranking) -> Ranking:
        """What the gate decides by: a ranking by keyword as it is without words of which only longer ones were found."""
        words = [term for term in self.terms if not term.longer]
        if len(words) == len(self.terms):
            return ranking
        found = self.store.keywords.by_keyword(words, self.query.scope, len(ranking))
        return lifted(found, self.proximity(found.chunks))

    def longer(self, depth: int) -> Ranking:
        """
        The best chunks by keyword where any word of the query may also be the beginning of a longer one; empty if none is.

        Their scores are BM25 by these words, and comparable with those of no other ranking.
        """
        weighed = self.store.keywords.weigh([term._replace(prefix=True) for term in self.terms if begins(term)])
        found = {term.text: term for term in weighed if not term.cut}
        wanted = [found.get(term.text, term) if begins(term) else term for term in self.terms]
        if sum(term.rows for term in wanted) == sum(term.rows for term in self.terms):
            return Ranking()
        ranking = self.store.keywords.by_keyword(wanted, self.query.scope, depth)
        self.trace.step(LONGER, len(ranking))
        return ranking

    def _best(self, depth: int) -> Ranking:
        """
        The best chunks by BM25.

        Ranking takes as long for many as for few. So the first search takes what is fused too, where the distilled tier
        answers most queries; and the second takes more than asked for, where it is costly.
        """
        known, found = self._ranked or (0, Ranking())
        if len(found) == known < depth:
            least = 0
            if self._ranked:
                least = AHEAD if self.costly() else 0
            elif self.query.mode is Mode.TIERED and self.fit is not None:
                least = self.fusing.candidates
            known = max(depth, least)
            found = self.store.keywords.by_keyword(self.terms, self.query.scope, known)
            self._ranked = (known, found)
        return found[:depth]

    def proximity(self, chunks: Sequence[ChunkId]) -> Mapping[ChunkId, float]:
        """For the first of some ranked chunks: the share of the query's weight whose words are adjacent, 0..1."""
        if not self._pairs:
            return {}
        first = chunks[:PROXIMITY_DEPTH]
        if unknown := [chunk for chunk in first if chunk not in self._proximity]:
            self._proximity |= proximities(self._pairs, self.store.keywords.texts(unknown))
        return {chunk: share for chunk in first if (share := self._proximity.get(chunk, 0.0))}

    def costly(self) -> bool:
        """Whether so many rows match that they should not be ranked again for more candidates."""
        return sum(term.rows for term in self.terms) >= COSTLY

    @property
    def fit(self) -> float | None:
        """How well the term vectors fit, -1..1; None if there are none or the distilled tier is off."""
        return self.learned[1] if self.fusing.distilled else None

    @cached_property
    def learned(self) -> tuple[int, float | None]:
        """The active generation, and the fit of its term vectors."""
        return self.store.term_vectors.answering()

    def scored(self, rankings: Mapping[str, Ranking], chunks: Mapping[ChunkId, MemoryId]) -> Ranking:
        """The scores that the retrievers of these rankings give to chunks that are in none of them."""
        match sorted(rankings):
            case ["keyword"]:
                return self.store.keywords.by_keyword(self.terms, EVERYTHING, len(chunks), ids=list(chunks))
            case ["vector"]:
                return self.vector.scored(chunks)
            case [other, "keyword"] | ["keyword", other]:
                return self.vector.fused(rankings[other], rankings["keyword"], chunks)
        return Ranking()
