"""
Vectors of entities, and a search along the graph that compares them, by the names other programs know (CAP E10, E16).

    store = SQLiteVectorStore(engine)
    store.add("Python", provider.generate("Python: high-level language"))
    store.search(provider.generate("programming language"), k=10)  # [("Python", 0.62)]

`EntityGraph.search_entities_semantic` and `search_hybrid` do the same in one call, and embed what waits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from memory.rank.fuse import relevance
from memory.schema.errors import Invalid
from memory.schema.limits import check_distance
from memory.schema.query import MOST, check_limit
from memory.search.near import ENTITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike

    from memory.engine import Engine
    from memory.engine.adapter import Generating
    from memory.schema.space import Vectors

__all__ = ["ContextSearch", "SQLiteVectorStore", "VectorContextSearch", "VectorStore"]


class VectorStore(ABC):
    """What keeps a vector for each entity. Nothing else is asked of a store of another make."""

    @abstractmethod
    def add(self, entity_id: str, embedding: ArrayLike) -> None:
        """Keep a vector, shape (dimension,), in place of the one that the entity has."""

    @abstractmethod
    def search(self, query_embedding: ArrayLike, k: int = 10, threshold: float = 0.0) -> list[tuple[str, float]]:
        """The k most similar entities with their cosines, nearest first; `threshold` is the least cosine, -1..1."""

    @abstractmethod
    def delete(self, entity_id: str) -> None:
        """Remove the vector of an entity."""


class SQLiteVectorStore(VectorStore):
    """
    The vectors by which an engine finds its entities. Entities go by name, or by id; answers name them.

    A vector stands until the entity is changed or embedded anew; what has none waits for one, which the engine's next search
    by meaning makes.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def add(self, entity_id: str, embedding: ArrayLike) -> None:
        """
        See `VectorStore.add`. Its length is made 1.

        Raises:
            NotFound, Ambiguous: There is no such entity, or there are several.
            DimensionMismatch: Of another width than the vectors that are kept.
            Invalid: It is no vector, or the entity is never to be embedded.
            EmbedError: Nothing is embedded yet, and the configured model cannot say in which space it embeds.
        """
        entity = self.engine.graph.entity(entity_id)
        if entity.keyword_only:
            raise Invalid(f"{entity.title!r} is never embedded", hint="`memory graph add NAME --embed` allows it.")
        self.engine.vectors.set_vector(entity.id, _unit(embedding))

    def search(self, query_embedding: ArrayLike, k: int = 10, threshold: float = 0.0) -> list[tuple[str, float]]:
        """
        See `VectorStore.search`. Exact, and nothing is embedded for it.

        Raises:
            DimensionMismatch: Of another width than the vectors that are kept.
            Invalid: It is no vector, or k is not 1..10,000.
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
    """What is near some nodes of a graph and matches a query; the graph and the match are given as functions."""

    def __init__(
        self,
        get_neighbors: Callable[[str], Iterable[str]],
        match: Callable[[str, str], float] = lambda _node, _query: 0.0,
    ) -> None:
        """
        Args:
            get_neighbors: The nodes that a node is related to, whichever way.
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
        Nodes with their scores (CAP E17), best first: those at most so many relations away, and those that match.

        Raises:
            Invalid: A number is out of its range.
        """
        check_limit(limit)
        if not 0 <= vector_weight <= 1:
            raise Invalid(f"vector_weight is 0..1, not {vector_weight!r}")
        distances = self._distances(context_nodes, check_distance(max_distance))
        matches = {node: self._match(node, query) for node in distances} | self._matches(query)
        scores = {
            node: relevance(min(1.0, max(0.0, match)), distances.get(node), vector_weight=vector_weight)
            for node, match in matches.items()
        }
        return sorted(((node, score) for node, score in scores.items() if score > 0), key=lambda one: -one[1])[:limit]

    def _distances(self, nodes: Iterable[str], most: int) -> dict[str, int]:
        ring = dict.fromkeys(nodes)
        found = dict.fromkeys(ring, 0)
        for distance in range(1, most + 1):
            ring = dict.fromkeys(near for node in ring for near in self._neighbors(node) if near not in found)
            found |= dict.fromkeys(ring, distance)
        return found

    def _matches(self, query: str) -> dict[str, float]:
        """Nodes that match whatever they are near to, with how well; none are known here."""
        del query
        return {}


class VectorContextSearch(ContextSearch):
    """
    The same by vectors: a node matches as far as its vector is like the query's.

    The query is embedded once, and all nodes are compared at once (the plan embedded it for each node and looked at the
    first result alone, so that one node at most ever matched). Vectors that came since the last search count.
    """

    def __init__(
        self, get_neighbors: Callable[[str], Iterable[str]], vector_store: VectorStore, embedding_provider: Generating
    ) -> None:
        super().__init__(get_neighbors)
        self.vector_store, self.embedding_provider = vector_store, embedding_provider
        self._asked: tuple[str, dict[str, float]] = "", {}

    def _vector_match(self, node_id: str, query: str) -> float:
        """How well a node matches, as the plan calls it; a query that was searched for is not embedded again."""
        asked, matches = self._asked
        return (matches if asked == query else self._matches(query)).get(node_id, 0.0)

    def _matches(self, query: str) -> dict[str, float]:
        found = dict(self.vector_store.search(self.embedding_provider.generate(query), k=MOST))
        self._asked = query, found
        return found


def _unit(embedding: ArrayLike) -> Vectors:
    """
    A vector of length 1, shape (dimension,), float32.

    Raises:
        Invalid: It is none: of another shape, not finite, or zero.
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
