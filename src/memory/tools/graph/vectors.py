"""
Vectors of entities, and a search along the graph that compares them, with documented names.

    store = SQLiteVectorStore(engine)
    store.add("Python", provider.generate("Python: high-level language"))
    store.search(provider.generate("programming language"), k=10)  # [("Python", 0.62)]

`EntityGraph.search_entities_semantic` and `search_hybrid` do the same in one call, and embed waiting entities first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from memory.engine.graph import ENTITIES, relevance
from memory.schema.errors import Invalid, check_distance
from memory.schema.query import MOST, check_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike

    from memory.engine import Engine
    from memory.engine.graph import Generating
    from memory.schema.space import Vectors


class VectorStore(ABC):
    """A store with a vector for each entity. Another implementation needs these three methods only."""

    @abstractmethod
    def add(self, entity_id: str, embedding: ArrayLike) -> None:
        """Save a vector, shape (dimension,); it replaces the entity's former one."""

    @abstractmethod
    def search(self, query_embedding: ArrayLike, k: int = 10, threshold: float = 0.0) -> list[tuple[str, float]]:
        """The k most similar entities with their cosines, nearest first; `threshold` is the least cosine, -1..1."""

    @abstractmethod
    def delete(self, entity_id: str) -> None:
        """Remove the vector of an entity."""


class SQLiteVectorStore(VectorStore):
    """
    The vectors by which an engine finds its entities. Entities are given by name or id, and returned by name.

    A vector is valid until the entity is changed or embedded again. The engine's next search by meaning embeds entities
    without one.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def add(self, entity_id: str, embedding: ArrayLike) -> None:
        """
        See `VectorStore.add`. The vector is scaled to length 1.

        Raises:
            NotFound, Ambiguous: There is no such entity, or there are several.
            DimensionMismatch: Its width differs from that of the stored vectors.
            Invalid: It is not a vector, or the entity must never be embedded.
            EmbedError: Nothing is embedded yet, and the configured model cannot tell its space.
        """
        entity = self.engine.graph.entity(entity_id)
        if entity.keyword_only:
            raise Invalid(f"{entity.title!r} is never embedded", hint="`memory graph add NAME --embed` allows it.")
        self.engine.vectors.set_vector(entity.id, _unit(embedding))

    def search(self, query_embedding: ArrayLike, k: int = 10, threshold: float = 0.0) -> list[tuple[str, float]]:
        """
        See `VectorStore.search`. Exact; embeds nothing.

        Raises:
            DimensionMismatch: Its width differs from that of the stored vectors.
            Invalid: It is not a vector, or k is not 1..10,000.
        """
        check_limit(k)
        found = self.engine.vectors.similarities(_unit(query_embedding), ENTITIES)
        near = sorted((-cosine, id) for id, cosine in found.items() if cosine >= threshold)[:k]
        entities = self.engine.graph.there(id for _, id in near)
        return [(entities[id].title, -cosine) for cosine, id in near if id in entities]

    def delete(self, entity_id: str) -> None:
        """
        See `VectorStore.delete`.

        Raises:
            NotFound, Ambiguous: There is no such entity, or there are several.
        """
        self.engine.vectors.drop_vectors(self.engine.graph.entity(entity_id).id)


class ContextSearch:
    """A search for nodes near given nodes that match a query; the graph and the match are functions."""

    def __init__(
        self,
        get_neighbors: Callable[[str], Iterable[str]],
        match: Callable[[str, str], float] = lambda _node, _query: 0.0,
    ) -> None:
        """
        Args:
            get_neighbors: The nodes related to a node, in either direction.
            match: How well a node matches a query, 0..1.
        """
        self._neighbors, self._match = get_neighbors, match

    def search(
        self,
        query: str,
        context_nodes: Iterable[str] = (),
        max_distance: int = 3,
        vector_weight: float = 0.5,
        limit: int = 10,
    ) -> list[tuple[str, float]]:
        """
        Nodes with their scores, best first: those within `max_distance` relations, and those that match.

        Raises:
            Invalid: A number is out of its range.
        """
        check_limit(limit)
        if not 0 <= vector_weight <= 1:
            raise Invalid(f"vector_weight is 0..1, not {vector_weight!r}")
        ring = dict.fromkeys(context_nodes)
        distances = dict.fromkeys(ring, 0)
        for distance in range(1, check_distance(max_distance) + 1):
            ring = dict.fromkeys(near for node in ring for near in self._neighbors(node) if near not in distances)
            distances |= dict.fromkeys(ring, distance)
        matches = {node: self._match(node, query) for node in distances} | self._matches(query)
        scores = {
            node: relevance(min(1.0, max(0.0, match)), distances.get(node), vector_weight=vector_weight)
            for node, match in matches.items()
        }
        return sorted(((node, score) for node, score in scores.items() if score > 0), key=lambda one: -one[1])[:limit]

    def _matches(self, query: str) -> dict[str, float]:
        """Nodes that match wherever they are in the graph, with how well; none here."""
        del query
        return {}


class VectorContextSearch(ContextSearch):
    """
    The same by vectors: a node matches as far as its vector is similar to the query's.

    The query is embedded once, and all nodes are compared at once. (The plan embedded it for each node and looked only at
    the first result, so that at most one node ever matched.) Vectors added since the last search count.
    """

    def __init__(
        self, get_neighbors: Callable[[str], Iterable[str]], vector_store: VectorStore, embedding_provider: Generating
    ) -> None:
        super().__init__(get_neighbors)
        self.vector_store, self.embedding_provider = vector_store, embedding_provider
        self._asked: tuple[str, dict[str, float]] = "", {}

    def _vector_match(self, node_id: str, query: str) -> float:
        """How well a node matches, by the documented name. A query that was just searched for is not embedded again."""
        asked, matches = self._asked
        return (matches if asked == query else self._matches(query)).get(node_id, 0.0)

    def _matches(self, query: str) -> dict[str, float]:
        found = dict(self.vector_store.search(self.embedding_provider.generate(query), k=MOST))
        self._asked = query, found
        return found


def hybrid_relevance(vector_score: float, graph_distance: int | None, vector_weight: float = 0.5) -> float:
    """The documented name of `memory.search.fuse.relevance`."""
    return relevance(vector_score, graph_distance, vector_weight=vector_weight)


def _unit(embedding: ArrayLike) -> Vectors:
    """
    A vector of length 1, shape (dimension,), float32.

    Raises:
        Invalid: It has another shape, is not finite, or is zero.
    """
    import numpy as np

    try:
        vector = np.asarray(embedding, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise Invalid(f"an embedding is a row of numbers: {error}") from error
    length = float(np.linalg.norm(vector)) if vector.ndim == 1 and vector.size else 0.0
    if not 0 < length < float("inf"):
        raise Invalid(f"an embedding is a row of finite numbers, not all 0; this has the shape {vector.shape}")
    found: Vectors = vector / np.float32(length)
    return found
