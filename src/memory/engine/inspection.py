"""How a memory is indexed, and why a question finds it or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.schema.memory import ChunkType, Standing
from memory.schema.query import ACTIVE, EVERYTHING, Query
from memory.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.engine import Engine
    from memory.schema.answer import Answer, Hit
    from memory.schema.memory import Chunk, ChunkId, Embedding, Memory, MemoryId, Reference
    from memory.schema.query import Term
    from memory.schema.space import Plain
    from memory.store import Store

HEAVIEST = 10  # terms shown for a chunk
READ = 2_000  # characters of a chunk whose terms are weighed
NEAREST = 5  # neighbours shown
AROUND = 50  # chunks read to find them; several may be of one memory
DEPTH = 1_000  # hits among which the memory is looked for


class InspectedChunk(NamedTuple):
    """
    A chunk as it is indexed.

    Attributes:
        terms: The terms of the first 2,000 indexed characters, rarest first, with their statistics.
        vector: Whether it has a vector in the active index version.
    """

    id: ChunkId
    chunk: Chunk
    terms: tuple[Term, ...]
    vector: bool


class Explanation(NamedTuple):
    """
    Why a question finds a memory, or does not.

    Attributes:
        rank: The memory's place among the hits, from 1; None if it is not among the first 1,000.
        hits: Number of hits.
        held, lacking: The words of the search that the memory contains, and those it does not.
        coverage: Share of the question's term weight that it contains, 0..1.
        similarity: Cosine with the question, -1..1; None if that would need a server.
        answer: The answer to the question.
        why: The reasons for its place, a sentence each.
    """

    rank: int | None
    hits: int
    held: tuple[str, ...]
    lacking: tuple[str, ...]
    coverage: float
    similarity: float | None
    answer: Answer
    why: tuple[str, ...]


class Inspection(NamedTuple):
    """
    The result of `inspected`.

    Attributes:
        space: The model of the active index version; empty if there is none.
        neighbours: The memories nearest to its first chunk, with their cosines, nearest first.
    """

    memory: Memory
    embedding: Embedding
    space: str
    chunks: tuple[InspectedChunk, ...]
    neighbours: tuple[tuple[Memory, float], ...]
    sought: Explanation | None = None


def inspected(engine: Engine, reference: Reference, question: str | None = None) -> Inspection:
    """
    Explain how a memory is indexed.

    Args:
        question: Also explain why this question finds the memory or not. Two searches are made, and not logged.

    Raises:
        NotFound, Ambiguous: The reference matches no memory, or several.
        Invalid: The question is blank or too long.
    """
    memory = engine.documents.get(reference)
    store = engine.store
    with store.snapshot():
        generation = store.generations.active()
        outline = store.memories.outlines([memory.id]).get(memory.id, ())
        texts = store.keywords.texts([id for id, _ in outline])
        vectors = [store.vectors.first_window(generation.id, id) if generation else None for id, _ in outline]
        chunks = tuple(
            InspectedChunk(id, chunk, _heaviest(store, texts.get(id, "")), vector is not None)
            for (id, chunk), vector in zip(outline, vectors, strict=True)
        )
        first = next((vector for vector in vectors if vector is not None), None)
        near = () if generation is None or first is None else _neighbours(store, generation.id, memory.id, first)
    space = f"{generation.space.provider}:{generation.space.model}" if generation else ""
    sought = None if question is None else _sought(engine, memory, question)
    return Inspection(memory, engine.embedding(memory.id), space, chunks, near, sought)


def _heaviest(store: Store, text: str) -> tuple[Term, ...]:
    """The rarest terms of a text."""
    words = [term for term in terms(text[:READ].replace('"', " ")) if not term.gram]
    weighed = {term.text: term for term in store.keywords.weigh(words) if term.rows}
    return tuple(sorted(weighed.values(), key=lambda term: (-term.weight, term.text))[:HEAVIEST])


def _neighbours(store: Store, generation: int, own: MemoryId, vector: Plain) -> tuple[tuple[Memory, float], ...]:
    ranking = store.vectors.by_vector(generation, vector, ACTIVE, AROUND).by_memory()
    nearest = [one for one in ranking if one.memory != own][:NEAREST]
    there = store.memories.by_id([one.memory for one in nearest])
    return tuple((there[one.memory], one.score) for one in nearest if one.memory in there)


def _sought(engine: Engine, memory: Memory, question: str) -> Explanation:
    answer = engine.search(Query(question, DEPTH, duplicates=True), recorded=False)
    found = [hit for hit in answer.hits if not hit.topup]
    rank = next((place for place, hit in enumerate(found, 1) if hit.memory.id == memory.id), None)
    alone = EVERYTHING._replace(among=frozenset({memory.id}))
    own = engine.search(Query(question, 1, scope=alone, compared=True, time=False), recorded=False)
    hit = next(iter(own.hits), None)
    held, lacking = _words(engine.store, memory.id, question)
    why = tuple(_reasons(engine, memory, answer, hit, rank=rank, held=held))
    coverage, similarity = (0.0, None) if hit is None else (hit.coverage, hit.similarity)
    return Explanation(rank, len(found), held, lacking, coverage, similarity, answer, why)


def _words(store: Store, id: MemoryId, question: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a search, divided into those that a memory contains and those it does not."""
    words = store.keywords.weigh(terms(question))
    ranking = store.keywords.by_keyword(words, EVERYTHING._replace(among=frozenset({id})), AROUND)
    bits = 0
    for matched in ranking.matched:
        bits |= matched
    held = tuple(term.text for place, term in enumerate(words) if bits >> place & 1)
    return held, tuple(term.text for term in words if term.text not in held)


def _reasons(
    engine: Engine, memory: Memory, answer: Answer, hit: Hit | None, *, rank: int | None, held: Sequence[str]
) -> list[str]:
    limit = engine.config.search.limit
    if memory.status is Standing.SUPERSEDED:
        return [f"It was superseded by {memory.successor}: only a search with --superseded shows it."]
    if rank is not None and rank <= limit:
        return [f"It is found: hit {rank}."]
    reasons = [] if rank is None else [f"It is found as hit {rank}; a search shows {limit} (--limit)."]
    if memory.ended(engine.now()):
        reasons.append(f"It ended {memory.valid_until:%Y-%m-%d}: what holds stands before it.")
    if not held:
        reasons.append("It holds none of the words that are looked for.")
    embedding = engine.embedding(memory.id)
    if embedding.state != "generated":
        reasons.append(f"It is not found by meaning: its vectors are {embedding.state}.")
    elif answer.verdict is not None and answer.verdict.enough:
        reasons.append(f"Meaning was not asked for, since words were enough: {answer.verdict.why}.")
    elif hit is not None and hit.similarity is not None and answer.hits and answer.hits[0].similarity is not None:
        best = answer.hits[0]
        reasons.append(f"Its cosine is {hit.similarity:.2f}, that of the best hit {best.similarity:.2f}.")
    return reasons or ["Others fit better."]


def head(chunk: Chunk) -> str:
    """A chunk's name for display: its type, or its innermost heading."""
    if chunk.header_path:
        return chunk.header_path[-1].lstrip("# ")
    return "head" if chunk.type is ChunkType.HEAD else str(chunk.type)
