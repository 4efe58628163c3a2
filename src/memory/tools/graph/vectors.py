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
    """Interface of a store with one vector for each entity. An implementation needs only these three methods."""

    @abstractmethod
    def add(self, entity_id: str, embedding: ArrayLike) -> None:
        """Save the vector of an entity, shape (dimension,); it replaces the earlier one."""

    @abstractmethod
    def search(self, query_embedding: ArrayLike, k: int = 10, threshold: float = 0.0) -> list[tuple[str, float]]:
        """The k most similar entities as (entity, cosine), best first; `threshold` is the minimum cosine, -1..1."""

    @abstractmethod
    def delete(self, entity_id: str) -> None:
        """Delete the vector of an entity."""


class SQLiteVectorStore(VectorStore):
    """
    The vectors with which an engine searches its entities, in its own database. `search` returns entities by name.

        >>> store = SQLiteVectorStore(engine)
        >>> store.add("Python", provider.generate("Python: high-level language"))
        >>> store.search(provider.generate("programming language"), k=10)
        [("Python", 0.62)]

    A vector is used until its entity is changed or embedded again. The engine's next search by meaning embeds entities
    that have no vector.
    """

    def __init__(self, engine: Engine) -> None:
        """
        Args:
            engine: An open engine; the caller closes it.
        """
        self.engine = engine

    def add(self, entity_id: str, embedding: ArrayLike) -> None:
        """
        Save the vector of an entity, scaled to length 1; it replaces the earlier one.

        Args:
            entity_id: Name or id of an entity.
            embedding: Shape (dimension,), finite and not all zeros.

        Raises:
            NotFound, Ambiguous: There is no such entity, or there are several.
            DimensionMismatch: The width differs from that of the stored vectors.
            Invalid: This is not a vector, or the entity must never be embedded.
            EmbedError: The store has no vectors yet, and the configured model cannot be used to find their width.
        """
        entity = self.engine.graph.entity(entity_id)
        if entity.keyword_only:
            raise Invalid(f"{entity.title!r} is never embedded", hint="`memory graph add NAME --embed` allows it.")
        self.engine.vectors.set_vector(entity.id, _unit(embedding))

    def search(self, query_embedding: ArrayLike, k: int = 10, threshold: float = 0.0) -> list[tuple[str, float]]:
        """
        The most similar entities, best first, by exact comparison. Embeds nothing.

        Args:
            query_embedding: Shape (dimension,), finite and not all zeros.
            k: Maximum number, 1..10,000.
            threshold: Minimum cosine, -1..1.

        Returns:
            Pairs of an entity's name and its cosine.

        Raises:
            DimensionMismatch: The width differs from that of the stored vectors.
            Invalid: This is not a vector, or k is out of range.
        """
        check_limit(k)
        found = self.engine.vectors.similarities(_unit(query_embedding), ENTITIES)
        near = sorted((-cosine, id) for id, cosine in found.items() if cosine >= threshold)[:k]
        entities = self.engine.graph.there(id for _, id in near)
        return [(entities[id].title, -cosine) for cosine, id in near if id in entities]

    def delete(self, entity_id: str) -> None:
        """
        Delete the vector of an entity, given by name or id. The next search by meaning embeds it again.

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
        Nodes that match the query, or are at most `max_distance` relations from a context node, best first.

        Args:
            context_nodes: The nodes to be near to; without any, only the match counts.
            max_distance: Maximum number of relations, 0..10.
            vector_weight: Share of the match in the score, 0..1; the rest is nearness, 1 / 2^distance.
            limit: Maximum number of nodes, 1..10,000.

        Returns:
            Pairs of a node and its score, above 0 and at most 1.

        Raises:
            Invalid: A number is out of range.
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
    A search for nodes that are similar to a query, or near given nodes in a graph.

    The query is embedded once and compared with all nodes of the store. Vectors added since the last search count.

        >>> search = VectorContextSearch(neighbours, SQLiteVectorStore(engine), provider)
        >>> search.search("what is stored", context_nodes=["checkout"], vector_weight=0.5)
    """

    def __init__(
        self, get_neighbors: Callable[[str], Iterable[str]], vector_store: VectorStore, embedding_provider: Generating
    ) -> None:
        """
        Args:
            get_neighbors: Returns the nodes related to a node, in either direction.
            vector_store: Has the vectors of the nodes.
            embedding_provider: Embeds the query; of the same model as the vectors.
        """
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
    """
    The score of an entity, 0..1: w * similarity + (1 - w) / 2^distance.

    Args:
        vector_score: Similarity in meaning, 0..1.
        graph_distance: Number of relations to the nearest context node, from 0; None if it is not near.
        vector_weight: The weight w of the similarity, 0..1.
    """
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
