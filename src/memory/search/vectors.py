"""The vector retriever: the query's vector, what is like it, and its ranking merged with that of keywords."""

from __future__ import annotations

from array import array
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple
from weakref import proxy

from memory.rank.combined import combined, distilled_share
from memory.rank.fuse import centred, dot, fuse, merged_margin, shrunk
from memory.schema.answer import Notice, Ranking
from memory.schema.errors import EmbedError, Error, NotFound, SpaceMismatch, StoreError, Unembedded
from memory.schema.query import EVERYTHING, Merge, Mode, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.embed.registry import MeteredEmbedder
    from memory.schema.memory import ChunkId, MemoryId
    from memory.schema.space import Plain, Vectors
    from memory.search.retrievers import Retrievers
    from memory.search.term_vectors import Guess
    from memory.store import Generation

KNOWN = 0.25
"""Share of the query's weight that needs term vectors: they know nothing about other words."""

BESIDE = "They are embedded in the background."
LATER = "The next searches that need vectors go on with them; `memory embed` does it now."
"""Hints: who embeds what waits."""

BETWEEN = "between the model's vector and the distilled one"


class _Near(NamedTuple):
    """
    The cosines of chunks with a vector in a generation's space, of those that were looked at and have one.

    A guessed vector gives an order, not a cosine worth showing, and neither does a combined one.

    Attributes:
        cosines: As they are.
        similar: After centring.
        shown: With the model's vector.
    """

    vector: Vectors | Plain | None
    cosines: dict[ChunkId, float]
    similar: dict[ChunkId, float]
    shown: dict[ChunkId, float]


def _nothing(vector: Vectors | Plain | None = None) -> _Near:
    return _Near(vector, {}, {}, {})


class VectorRetriever:
    """Finds by similarity: with the vector that the query's model makes, or with one that term vectors guess."""

    def __init__(self, words: Retrievers) -> None:
        self._query, self._store, self._fusing, self._trace = words.query, words.store, words.fusing, words.trace
        self._near, self._failed = _nothing(), False
        self._words: Retrievers = proxy(words)  # in a cycle, a search would keep the model's file open until collected

    def make(self, *, fill: bool = True) -> None:
        """
        Make the query's vector, shape (dimension,), in the space that is searched.

        Args:
            fill: Embed queued chunks along with it.
        """
        self._near = _nothing()  # in another snapshot
        if self._trace.made is not None:
            return
        embedders = self._words.embedders
        embedders.check_circuit(self._query.text)
        generation, embedder = self._answering() if fill else embedders.answering()
        vector, whole = embedders.query(embedder, self._query.text)
        if not whole:
            self._notice("the query is longer than the model reads: its beginning was embedded")
        self._trace.made = (generation, vector)
        self._trace.step("embed", 1, str(generation.space))
        try:
            if fill:
                self._embed_queue()
        except (EmbedError, SpaceMismatch, StoreError) as error:  # most chunks have a vector to compare with
            self._notice(f"chunks wait for their vectors: {error}", error.hint)

    def make_passages(self, texts: Sequence[str]) -> None:
        """Make the vectors of passages that are not stored, once the query has one, with its model."""
        if self._trace.made is None:
            return
        embedders, (generation, _) = self._words.embedders, self._trace.made
        made = embedders.vectors(embedders.of(generation.space), texts, "passage")
        self._trace.passages |= zip(texts, made, strict=True)
        self._trace.step("observations", len(made))

    def _answering(self) -> tuple[Generation, MeteredEmbedder]:
        """The active generation and its embedder; if nothing has been embedded yet, embeds the queue first."""
        try:
            return self._words.embedders.answering()
        except Unembedded:
            self._embed_queue()
            return self._words.embedders.answering()

    def _embed_queue(self) -> None:
        """Embed queued chunks as far as that is worth a search's time."""
        if not (queued := self._store.queue.queued()):
            return
        if (backfilled := self._words.backfill(queued)) is None:
            self._notice(self._waiting(queued), "Run `memory embed`.")
            self._trace.partial = True
            return
        if backfilled.embedded or backfilled.failed:
            self._trace.step("fill", backfilled.embedded, backfilled.error)
        if backfilled.more:
            self._trace.partial = True
            self._notice(self._waiting(backfilled.left), BESIDE if backfilled.beside else LATER)

    def _waiting(self, chunks: int) -> str:
        known = "are left out" if self._query.mode is Mode.VECTOR else "are found by keyword only"
        return f"{chunks:,} chunks have no vector yet and {known}"

    def _notice(self, text: str, hint: str = "") -> None:
        self._trace.notices.append(Notice(text, hint))

    @cached_property
    def _guess(self) -> Guess | None:
        """
        The query's vector by the term vectors, without a model; None if less than a quarter of the query's weight has
        some, or if the distilled tier is off.
        """
        from memory.search.term_vectors import TermEmbedder

        if self._words.fit is None:
            return None
        guess = TermEmbedder(self._store, self._words.learned[0]).ask(self._query.text, self._words.terms)
        self._trace.step("distil", 0 if guess is None else round(guess.known * len(self._words.terms)))
        return guess if guess is not None and guess.known >= KNOWN else None

    def distilled(self, depth: int) -> Ranking | None:
        """The retriever that calls no model; None if less than a quarter of the query's weight has term vectors."""
        if (guess := self._guess) is None:
            return None
        self._trace.compared = (self._words.learned[0], guess.vector)
        return self._compared("distilled", depth)

    def margin(self, ranking: Ranking) -> float | None:
        """
        How far the first of these chunks stands out in a merge of keywords and the distilled vector, 0..1; None if less
        than a quarter of the query's weight has term vectors.

        Args:
            ranking: With keyword scores. Few chunks: the first of a ranking.
        """
        if (guess := self._guess) is None:
            return None
        near = self._similarities(ranking.chunks, (self._words.learned[0], guess.vector))
        terms, proximity = self._words.terms, self._words.proximity(ranking.chunks)
        return merged_margin(ranking, near.similar, terms=terms, weights=self._fusing.weights, proximity=proximity)

    def combined(self, depth: int) -> Ranking:
        """
        The vector retriever of a hybrid search: with the `combined` vector where term vectors know the query.

        Raises:
            VectorNeeded: See `by_vector`.
        """
        generation, vector = self._trace.vector()
        known = self._fusing.combined and self._words.learned[0] == generation
        if not known or (fit := self._words.fit) is None or fit <= 0 or (guess := self._guess) is None:
            return self.by_vector(depth)
        import numpy as np

        centre, distilled = shrunk(*self._store.vectors.centre(generation)).vector, np.asarray(guess.vector)
        between = combined(vector, distilled, np.asarray(centre), distilled_share(fit, guess.passages))
        self._trace.compared = (generation, between)
        return self._compared("vector", depth, BETWEEN)

    def by_vector(self, depth: int) -> Ranking:
        """
        The vector retriever.

        Raises:
            VectorNeeded: It compares nothing before the query has a vector.
        """
        self._trace.compared = self._trace.vector()
        return self._compared("vector", depth)

    def _compared(self, retriever: str, depth: int, note: str = "") -> Ranking:
        nearest = partial(self._store.vectors.by_vector, *self._compared_with, self._query.scope)
        ranking = self._words.listed(nearest, depth)
        self._trace.step(retriever, len(ranking), note)
        return ranking

    def memory_similarities(self, scope: Scope) -> Mapping[MemoryId, float]:
        """The cosines of memories with the query; memories without vectors are left out."""
        found = self._store.vectors.memory_similarities(*self._trace.vector(), scope)
        self._trace.step("likeness", len(found))
        return found

    def made(self) -> bool:
        """
        Make the query's vector to compare with, by a server only if the query says so; whether it was made. Not inside a
        snapshot.

        A model that fails is a notice, and is not asked again.
        """
        try:
            if not self._failed and self._words.two:
                self._make_shown()
        except (EmbedError, SpaceMismatch, NotFound) as error:
            self.unknown(error)
        return self._trace.made is not None

    def unknown(self, error: Error) -> None:
        """Say why no similarity is shown, and compare with none."""
        self._notice(f"no similarity is known: {error}", error.hint)
        self._trace.made, self._failed = None, True

    def cosines(self, chunks: Sequence[ChunkId]) -> Mapping[ChunkId, float]:
        """Cosines of chunks with the query's vector; empty, with a notice, if its generation was retired meanwhile."""
        try:
            found = self._store.vectors.cosines(*self._trace.vector(), chunks)
        except NotFound as error:
            self.unknown(error)
            return {}
        self._trace.step("compare", len(found))
        return {chunk: cosine for chunk, (cosine, *_) in found.items()}

    def similar(self, depth: int) -> Ranking:
        """The chunks in scope that are nearest to the query's vector."""
        return self._store.vectors.by_vector(*self._trace.vector(), self._query.scope, depth)

    def nearness(self, texts: Sequence[str]) -> list[float]:
        """
        How near texts are to the query, -1..1, by the term vectors of their own words; 0 where these know none of them.

        All are 0 if the store has no distilled tier.
        """
        from memory.search.term_vectors import TermEmbedder

        if self._words.fit is None:
            return [0.0] * len(texts)
        generation, made = self._words.learned[0], self._trace.made
        query = made[1] if made and made[0].id == generation else self._guess and self._guess.vector
        embedder = TermEmbedder(self._store, generation)
        guesses = [None if query is None else embedder.ask(text, ()) for text in texts]
        own = array("f", b"" if query is None else query.tobytes())
        return [0.0 if guess is None else dot(own, guess.vector) for guess in guesses]

    def _make_shown(self) -> None:
        """Make the query's vector for the numbers alone, as far as the query lets it."""
        embedders = self._words.embedders
        if self._query.asked:
            self.make()
        elif embedders.inside and not embedders.answering()[1].host:
            self.make(fill=False)

    def fused(self, vector_ranking: Ranking, keyword_ranking: Ranking, others: Mapping[ChunkId, MemoryId]) -> Ranking:
        """Both rankings merged, together with `others`, which neither retriever found."""
        fusing = self._fusing
        pool = self._pool(vector_ranking, keyword_ranking, others)
        largest = fusing.merge is Merge.MAX  # as documented: no score from a list that a chunk is not in
        near = self._similarities(vector_ranking.chunks if largest else pool.chunks, self._compared_with)
        own = dict(zip(vector_ranking.chunks, vector_ranking.scores, strict=True)) if largest else near.similar
        if self._trace.made is not None:
            pool.cosines = [near.shown.get(chunk) for chunk in pool.chunks]
        return fuse(
            pool,
            own,
            terms=self._words.terms,
            weights=fusing.weights,
            merge=fusing.merge,
            proximity=self._words.proximity,
        )

    def _pool(self, vectors: Ranking, words: Ranking, others: Mapping[ChunkId, MemoryId]) -> Ranking:
        """
        The candidates, each once, with their keyword scores: what only vectors found is looked up, a missing score is not 0.

        With MAX it is: nothing is looked up.
        """
        ranked, largest = {*words.chunks}, self._fusing.merge is Merge.MAX
        further = {**({} if largest else others), **dict(zip(vectors.chunks, vectors.memories, strict=True))}
        unknown = [chunk for chunk in further if chunk not in ranked]
        more = Ranking()
        if not self._words.exhausted and not largest:
            more = self._store.keywords.by_keyword(self._words.terms, EVERYTHING, len(unknown), ids=unknown)
        known = {*more.chunks}
        rest = [chunk for chunk in unknown if chunk not in known]
        none = [None] * len(rest)
        return Ranking(
            [*words.chunks, *more.chunks, *rest],
            [*words.memories, *more.memories, *[further[chunk] for chunk in rest]],
            [*words.scores, *more.scores, *([0.0] * len(rest))],
            [*words.matched, *more.matched, *([0] * len(rest))],
            [*words.keywords, *more.keywords, *none],
        )

    @property
    def _compared_with(self) -> tuple[int, Vectors | Plain]:
        assert self._trace.compared is not None  # noqa: S101  # a retriever came first
        return self._trace.compared

    def _similarities(self, chunks: Sequence[ChunkId], compared: tuple[int, Vectors | Plain]) -> _Near:
        """
        The cosines of chunks, and of others that were looked at before: the gate looks at some of those that are merged.

        Args:
            compared: The generation and the vector.
        """
        if compared[1] is not self._near.vector:
            self._near = _nothing(compared[1])
        if unknown := [chunk for chunk in chunks if chunk not in self._near.cosines]:
            self._look(unknown, *compared)
        return self._near

    def _look(self, chunks: Sequence[ChunkId], generation: int, vector: Vectors | Plain) -> None:
        centre = shrunk(*self._store.vectors.centre(generation))
        # One look of the store compares all: with the centre at length 1, so x · m is its cosine times the centre's length.
        found = self._store.vectors.cosines(
            generation,
            vector,
            chunks,
            other=centre.unit if centre.square else None,
            shown=self._trace.made and self._trace.made[1],
        )
        if not found:
            return
        cosines, units, shown = zip(*found.values(), strict=True)
        length, query_centre = centre.square**0.5, dot(array("f", vector.tobytes()), centre.vector)
        similar = centred(cosines, query_centre, [length * unit for unit in units], centre.square)
        for known, column in zip(self._near[1:], (cosines, similar, shown), strict=True):
            known.update(zip(found, column, strict=True))

    def scored(self, chunks: Mapping[ChunkId, MemoryId]) -> Ranking:
        """Chunks with their cosines as scores; without those that have no vector."""
        near = self._similarities(list(chunks), self._compared_with)
        found = [chunk for chunk in chunks if chunk in near.cosines]
        scores = [near.cosines[chunk] for chunk in found]
        return Ranking(found, [chunks[id] for id in found], scores, cosines=scores)
