"""The memory of agents as a graph: entities, what is known of them, how they are related, by the documented names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.graph.find import Finding
from memory.operations.graph.keep import Keeping
from memory.rank.fuse import relevance
from memory.schema.delegate import delegate

if TYPE_CHECKING:
    from memory.engine import Engine
    from memory.operations.graph.vectors import ContextSearch, SQLiteVectorStore, VectorContextSearch, VectorStore

__all__ = [
    "ContextSearch",
    "EntityGraph",
    "SQLiteVectorStore",
    "VectorContextSearch",
    "VectorStore",
    "hybrid_relevance",
]


class EntityGraph:
    """
    The documented tools over an engine (CAP E12 to E15), and those of other memory servers.

        >>> with Engine.open() as engine:
        ...     graph = EntityGraph(engine)
        ...     graph.create_entities([{"name": "Python", "entityType": "language", "obs": ["high-level language"]}])
        ...     graph.create_entities([{"name": "CPython", "obs": ["the usual interpreter"]}])
        ...     graph.create_relations([{"from": "CPython", "to": "Python", "relationType": "runs"}])
        ...     graph.search_hybrid("programming language", context_nodes=["CPython"])["entities"]

    Answers are JSON values; what cannot be done raises an error of `memory.schema.errors`. Safe to use from several threads.
    """

    def __init__(self, engine: Engine, *, source: str | None = None, agent: str | None = None) -> None:
        """
        Args:
            source: The program that keeps, e.g. "claude-code".
            agent: The agent that does.
        """
        self._engine = engine
        self._keeping = Keeping(engine, source=source, agent=agent)
        self._finding = Finding(engine)

    @property
    def engine(self) -> Engine:
        """What it stands on."""
        return self._engine

    create_entities = delegate("_keeping", Keeping.create_entities)
    create_described = delegate("_keeping", Keeping.create_described)
    create_relations = delegate("_keeping", Keeping.create_relations)
    delete_relations = delegate("_keeping", Keeping.delete_relations)
    add_observations = delegate("_keeping", Keeping.add_observations)
    delete_observations = delegate("_keeping", Keeping.delete_observations)
    delete_entities = delegate("_keeping", Keeping.delete_entities)
    rename_entity = delegate("_keeping", Keeping.rename_entity)
    link_memories = delegate("_keeping", Keeping.link_memories)
    unlink_memories = delegate("_keeping", Keeping.unlink_memories)
    generate_embeddings = delegate("_keeping", Keeping.generate_embeddings)

    open_nodes = delegate("_finding", Finding.open_nodes)
    read_graph = delegate("_finding", Finding.read_graph)
    search_nodes = delegate("_finding", Finding.search_nodes)
    search_entities_semantic = delegate("_finding", Finding.search_entities_semantic)
    search_hybrid = delegate("_finding", Finding.search_hybrid)
    search_near = delegate("_finding", Finding.search_near)
    find_path = delegate("_finding", Finding.find_path)
    entity_memories = delegate("_finding", Finding.entity_memories)
    get_stats = delegate("_finding", Finding.get_stats)


def hybrid_relevance(vector_score: float, graph_distance: int | None, vector_weight: float = 0.5) -> float:
    """The documented name (CAP E17) of `memory.rank.fuse.relevance`."""
    return relevance(vector_score, graph_distance, vector_weight=vector_weight)


def __getattr__(name: str) -> Any:
    """What only programs of their own use is imported when they do."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from memory.operations.graph import vectors

    return getattr(vectors, name)
