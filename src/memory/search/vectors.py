"""The vector retriever: the query's vector, made by a model or guessed, what is like it, and the merge with keywords."""

from __future__ import annotations

from array import array
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Ranking, Tier
from memory.schema.errors import EmbedError, Error, NotFound, SpaceMismatch, StoreError, Unembedded
from memory.schema.query import EVERYTHING, Granularity, Merge, Mode
from memory.schema.space import dot, shrunk
from memory.search.fuse import by_one_chunk, combined, credibility, distilled_share, fuse, merged_margin
from memory.search.keywords import listed, ranked
from memory.search.search import Evidence, Look, model_answers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.memory import ChunkId, MemoryId
    from memory.schema.space import Plain, Vectors
    from memory.store import Outset
    from memory.vectors.term_vectors import Guess

KNOWN = 0.25
"""Share of the query's weight that needs term vectors: they know nothing about other words."""

IN_BACKGROUND = "They are embedded in the background."
"""A hint: who embeds what waits."""

NONE = Ranking()

BETWEEN = "between the model's vector and the distilled one"


class Near(NamedTuple):
    """
    The cosines of chunks with a vector in a generation's space, of those that were looked at and have one.

    A guessed vector gives an order, not a cosine worth showing, and neither does a combined one.

    Attributes:
        cosines: As they are.
        similar: After centring.
        shown: With the model's vector.
    """

    generation: int
    vector: Vectors | Plain
    cosines: Mapping[ChunkId, float] = MappingProxyType({})
    similar: Mapping[ChunkId, float] = MappingProxyType({})
    shown: Mapping[ChunkId, float] = MappingProxyType({})


# Guess: the query's vector without a model --------------------------------------


def guessed(evidence: Evidence, known: Outset) -> Guess | None:
    """
    The query's vector by the term vectors, without a model; None if less than a quarter of the query's weight has
    some, or if the distilled tier is off.
    """
    from memory.vectors.term_vectors import TermEmbedder

    if known.fit is None:
        return None
    made = TermEmbedder(evidence.store, known.generation).ask(evidence.query.text, evidence.terms)
    evidence.trace.step("distil", 0 if made is None else round(made.known * len(evidence.terms)))
    return made if made is not None and made.known >= KNOWN else None


def near_guess(evidence: Evidence) -> Near | None:
    """What to compare with instead of the model's vector; None if the term vectors know too little of the query."""
    made = evidence.guess()
    return None if made is None else Near(evidence.outset().generation, made.vector)


def guess(evidence: Evidence, look: Look) -> tuple[Evidence, Look]:
    """The distilled answer, if the look is not that already, and term vectors know the query."""
    if look.tier is Tier.DISTILLED or (near := near_guess(evidence)) is None:
        return evidence, look
    return merged_with(evidence, near)


def sign(evidence: Evidence, near: Near, ranking: Ranking, weight: float) -> tuple[float, Near]:
    """
    How near the nearest of these chunks comes to the distilled vector, -1..1, plus a weight times how far the first stands
    out in a merge with keywords, 0..1; and their cosines.

    Args:
        ranking: With keyword scores. Few chunks: the first of a ranking.
    """
    near, terms = looked_at(evidence, near, ranking.chunks), evidence.terms
    proximity, weights = evidence.proximity(ranking.chunks), evidence.fusing.weights
    margin = merged_margin(ranking, near.similar, terms=terms, weights=weights, proximity=proximity)
    nearest, guess = max((near.similar.get(chunk, 0.0) for chunk in ranking.chunks), default=0.0), evidence.guess()
    # Words that did not begin with what the model makes of them lead nowhere but to the few passages they come from.
    trust = 1.0 if guess and guess.begun else credibility(2 * guess.passages if guess else 0)
    return trust * nearest + weight * margin, near


def nearness(evidence: Evidence, texts: Sequence[str]) -> list[float]:
    """
    How near texts are to the query, -1..1, by the term vectors of their own words; 0 where these know none of them.

    All are 0 if the store has no distilled tier.
    """
    from memory.vectors.term_vectors import TermEmbedder

    generation, fit, *_ = evidence.outset()
    if fit is None:
        return [0.0] * len(texts)
    if evidence.vector and evidence.vector[0].id == generation:
        query: Vectors | Plain | None = evidence.vector[1]
    else:
        query = (made := evidence.guess()) and made.vector
    embedder = TermEmbedder(evidence.store, generation)
    others = [None if query is None else embedder.ask(text, ()) for text in texts]
    own = array("f", b"" if query is None else query.tobytes())
    return [0.0 if other is None else dot(own, other.vector) for other in others]


# Ask: the model makes the query's vector, outside of any snapshot ---------------


def ask(evidence: Evidence) -> Evidence:
    """
    The evidence with the query's vector, or with the `failure` of the model, which is not asked again.

    Raises:
        EmbedError, SpaceMismatch: Only in mode VECTOR or HYBRID, unless the query is `asked`.
    """
    evidence, query = evidence._replace(carried=True, depth=evidence.first), evidence.query
    try:
        return _embedded(evidence)
    except (EmbedError, SpaceMismatch) as error:
        if query.mode in {Mode.VECTOR, Mode.HYBRID} and not query.asked:
            raise
        return evidence._replace(failure=error)


def _embedded(evidence: Evidence, *, fill: bool = True) -> Evidence:
    """
    The evidence with the query's vector, shape (dimension,), in the space that is searched.

    Args:
        fill: Embed queued chunks along with it.
    """
    if evidence.vector is not None:
        return evidence
    embedders, text = evidence.embedders(), evidence.query.text
    try:
        generation, vector, whole = embedders.query(text)
    except Unembedded:
        if not fill:
            raise
        _embed_queue(evidence)
        generation, vector, whole = embedders.query(text)
    if not whole:
        evidence.trace.notice("the query is longer than the model reads: its beginning was embedded")
    evidence.trace.step("embed", 1, str(generation.space))
    try:
        if fill:
            _embed_queue(evidence)
    except (EmbedError, SpaceMismatch, StoreError) as error:  # most chunks have a vector to compare with
        evidence.trace.notice(f"chunks wait for their vectors: {error}", error.hint)
    return evidence._replace(vector=(generation, vector))


def _embed_queue(evidence: Evidence) -> None:
    """Embed queued chunks as far as that is worth a search's time."""
    trace = evidence.trace
    if not (evidence.outset().waits and (queued := evidence.store.queue.queued())):
        return
    if (backfilled := evidence.backfill(queued)) is None:
        trace.notice(_waiting(evidence, queued), "Run `memory embed`.")
        trace.partial = True
        return
    if backfilled.embedded or backfilled.failed:
        trace.step("fill", backfilled.embedded, backfilled.error)
    if backfilled.more:
        from memory.vectors.backfill import LATER

        trace.partial = True
        trace.notice(_waiting(evidence, backfilled.left), IN_BACKGROUND if backfilled.background else LATER)


def _waiting(evidence: Evidence, chunks: int) -> str:
    known = "are left out" if evidence.query.mode is Mode.VECTOR else "are found by keyword only"
    return f"{chunks:,} chunks have no vector yet and {known}"


def ask_passages(evidence: Evidence, texts: Sequence[str]) -> tuple[Evidence, Mapping[str, Vectors]]:
    """The vectors of passages that are not stored, made by the model of the query's; none, with the failure, if it fails."""
    assert evidence.vector is not None  # noqa: S101  # the query's comes first
    embedders = evidence.embedders()
    try:
        made = embedders.vectors(embedders.of(evidence.vector[0].space), texts, "passage")
    except (EmbedError, SpaceMismatch) as error:
        return evidence._replace(failure=error), {}
    evidence.trace.step("observations", len(made))
    return evidence, made


def ask_for_numbers(evidence: Evidence) -> Evidence:
    """
    The evidence with the query's vector to compare with, made by a server only if the query says so. Not inside a
    snapshot.

    A model that fails is a notice, and is not asked again.
    """
    try:
        if evidence.vector is None and model_answers(evidence):
            embedders = evidence.embedders()
            if evidence.query.asked:
                return _embedded(evidence)
            if embedders.inside and not embedders.answering()[1].host:
                return _embedded(evidence, fill=False)  # for the numbers alone
    except (EmbedError, SpaceMismatch, NotFound) as error:
        return incomparable(evidence, error)
    return evidence


def cosines_of(evidence: Evidence, chunks: Sequence[ChunkId]) -> Mapping[ChunkId, float]:
    """The cosines of chunks with the query's vector; none, with a notice, if its generation was retired meanwhile."""
    evidence = ask_for_numbers(evidence)
    if evidence.vector is None:
        return {}
    try:
        found = evidence.store.vectors.cosines(*evidence.compared, chunks)
    except NotFound as error:
        incomparable(evidence, error)
        return {}
    evidence.trace.step("compare", len(found))
    return {chunk: cosine for chunk, (cosine, *_) in found.items()}


def incomparable(evidence: Evidence, error: Error) -> Evidence:
    """Say why no similarity is shown; the evidence that compares with none."""
    evidence.trace.notice(f"no similarity is known: {error}", error.hint)
    return evidence._replace(vector=None, failure=error)


# Merge: the chunks nearest to the query's vector, and those found by keyword ----


def merge(evidence: Evidence, tier: Tier) -> tuple[Evidence, Look]:
    """What is nearest to the query's vector: alone (VECTOR), or merged with keywords (HYBRID)."""
    if evidence.vector is None:  # nothing is in scope, so no model was asked
        return evidence, Look(tier, Ranking(), {}, more=False)
    generation, vector = evidence.vector
    if tier is Tier.HYBRID:
        near, note = _between(evidence, generation.id, vector)
        return merged_with(evidence, near, tier=tier, note=note)
    depth, near = max(evidence.depth, evidence.fusing.candidates), Near(generation.id, vector)
    ranking = nearest(evidence, "vector", near, depth)
    return evidence, Look(tier, ranking, {"vector": ranking}, len(ranking.chunks) >= depth, near)


def _between(evidence: Evidence, generation: int, vector: Vectors) -> tuple[Near, str]:
    """What a hybrid search compares with, and how: the `combined` vector where term vectors know the query."""
    known = evidence.fusing.combined and evidence.outset().generation == generation
    if not known or (fit := evidence.outset().fit) is None or fit <= 0 or (made := evidence.guess()) is None:
        return Near(generation, vector), ""
    import numpy as np

    centre = shrunk(*evidence.store.generations.centre(generation)).vector
    share = distilled_share(fit, made.passages)
    return Near(generation, combined(vector, np.asarray(made.vector), np.asarray(centre), share)), BETWEEN


def nearest(evidence: Evidence, retriever: str, near: Near, depth: int, note: str = "") -> Ranking:
    """The chunks in scope that are nearest to a vector."""
    by_vector = partial(evidence.store.vectors.by_vector, near.generation, near.vector, evidence.query.scope)
    ranking = listed(evidence, by_vector) if evidence.fusing.documented else by_vector(depth)
    evidence.trace.step(retriever, len(ranking.chunks), note)
    return ranking


def merged_with(
    evidence: Evidence, near: Near, *, tier: Tier = Tier.DISTILLED, note: str = ""
) -> tuple[Evidence, Look]:
    """Keywords merged with what is nearest to a vector."""
    depth = max(evidence.depth, evidence.fusing.candidates)
    retriever = "vector" if tier is Tier.HYBRID else "distilled"
    by_vector = nearest(evidence, retriever, near, depth, note)
    evidence = evidence._replace(words=ranked(evidence, depth))
    words = evidence.words.ranking
    if evidence.fusing.documented and evidence.query.granularity is Granularity.COARSE:
        by_vector = by_one_chunk(by_vector, words)
    near, ranking = fused(evidence, near, by_vector, words)
    evidence.trace.step("fuse", len(ranking.chunks))
    deeper = max(len(by_vector.chunks), len(words.chunks)) >= depth
    return evidence, Look(tier, ranking, {"keyword": words, retriever: by_vector}, deeper, near)


def fused(
    evidence: Evidence,
    near: Near,
    by_vector: Ranking,
    by_keyword: Ranking,
    *,
    others: Mapping[ChunkId, MemoryId] = MappingProxyType({}),
) -> tuple[Near, Ranking]:
    """Both rankings merged, together with `others`, which neither retriever found; and the cosines of all."""
    fusing = evidence.fusing
    pool = _pool(evidence, by_vector, by_keyword, others)
    largest = fusing.merge is Merge.MAX  # as documented: no score from a list that a chunk is not in
    near = looked_at(evidence, near, by_vector.chunks if largest else pool.chunks)
    own = dict(zip(by_vector.chunks, by_vector.scores, strict=True)) if largest else near.similar
    if evidence.vector is not None:
        pool.cosines = [near.shown.get(chunk) for chunk in pool.chunks]
    terms, weights = evidence.terms, fusing.weights
    return near, fuse(pool, own, terms=terms, weights=weights, merge=fusing.merge, proximity=evidence.proximity)


def _pool(evidence: Evidence, vectors: Ranking, words: Ranking, others: Mapping[ChunkId, MemoryId]) -> Ranking:
    """
    The candidates, each once, with their keyword scores: what only vectors found is looked up, a missing score is not 0.

    With MAX it is: nothing is looked up.
    """
    found, largest = {*words.chunks}, evidence.fusing.merge is Merge.MAX
    further = {**({} if largest else others), **dict(zip(vectors.chunks, vectors.memories, strict=True))}
    unknown = [chunk for chunk in further if chunk not in found]
    more = NONE
    if len(evidence.words.ranking.chunks) >= evidence.words.depth and not largest:  # else it has all that hold a term
        more = evidence.store.keywords.by_keyword(evidence.terms, EVERYTHING, len(unknown), ids=unknown)
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


def looked_at(evidence: Evidence, near: Near, chunks: Sequence[ChunkId]) -> Near:
    """The cosines known so far and those of these chunks: the gate looks at some of the chunks that are merged."""
    if not (unknown := [chunk for chunk in chunks if chunk not in near.cosines]):
        return near
    centre = shrunk(*evidence.store.generations.centre(near.generation))
    # One look of the store compares all: with the centre at length 1, so x · m is its cosine times the centre's length.
    found = evidence.store.vectors.cosines(
        near.generation,
        near.vector,
        unknown,
        other=centre.unit if centre.square else None,
        shown=evidence.vector and evidence.vector[1],
    )
    if not found:
        return near
    cosines, units, shown = zip(*found.values(), strict=True)
    length, query_centre = centre.square**0.5, dot(array("f", near.vector.tobytes()), centre.vector)
    similar = centred(cosines, query_centre, [length * unit for unit in units], centre.square)
    columns = zip(near[2:], (cosines, similar, shown), strict=True)
    return Near(*near[:2], *[{**known, **dict(zip(found, column, strict=True))} for known, column in columns])


def centred(
    cosines: Sequence[float], query_centre: float, chunk_centres: Sequence[float], centre_length: float
) -> list[float]:
    """
    The cosines of unit vectors with another after a centre is subtracted from all, computed from dot products alone.

    All vectors of a model share a large common part; without it their differences show (Mu and Viswanath, ICLR 2018).

    Args:
        cosines: q · x, for the query q and each chunk x.
        query_centre: q · m, for the centre m.
        chunk_centres: x · m.
        centre_length: m · m.
    """
    reach = 1 - 2 * query_centre + centre_length
    squares = [reach * (1 - 2 * along + centre_length) for along in chunk_centres]
    found = [
        (cosine - query_centre - along + centre_length) / square**0.5 if square > 1e-12 else 0.0
        for cosine, along, square in zip(cosines, chunk_centres, squares, strict=True)
    ]
    return [max(-1.0, min(1.0, one)) for one in found] if found and (max(found) > 1 or min(found) < -1) else found
