"""Entities and relations as JSON values; their fields go by the names that programs for such graphs know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.render.data import document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.document import Embedding
    from memory.schema.memory import Memory, MemoryId
    from memory.search.near import EntityHit
    from memory.store import GraphCounts, Relation

DIGITS = 4  # of a score (CAP X39)
STATES = ("generated", "pending", "outdated", "failed", "excluded")
"""Of an entity's vectors; see `status`."""


def entity(memory: Memory, embedding: Embedding, observations: Sequence[str] | None = None) -> dict[str, Any]:
    """
    An entity (CAP E4, E22, X4): times in seconds since 1970.

    Args:
        observations: None leaves them out.
    """
    known = {} if observations is None else {"observations": list(observations)}
    return {
        "id": memory.id,
        "uid": memory.uid,
        "name": memory.title,
        "entityType": memory.category,
        **known,
        "embedding_status": status(memory, embedding),
        "created_at": memory.created_at.timestamp(),
        "updated_at": memory.updated_at.timestamp(),
        "flags": list(memory.flags),
    }


def status(memory: Memory, embedding: Embedding) -> str:
    """
    Whether an entity can be found by its meaning (CAP E22): "generated", "pending", "failed", "excluded", or "outdated":
    it waits and was changed since it was made, or its vectors are of another model than the configured one.
    """
    if memory.keyword_only:
        return "excluded"
    state = "pending" if embedding.state == "none" else embedding.state
    return "outdated" if state == "pending" and memory.updated_at > memory.created_at else state


def scores(hit: EntityHit, *, hybrid: bool) -> dict[str, Any]:
    """
    What speaks for an entity that was found.

    Args:
        hybrid: Also by the graph.
    """
    similarity = None if hit.cosine is None else round(hit.cosine, DIGITS)
    if not hybrid:
        return {"score": round(hit.score, DIGITS), "similarity": similarity}
    keyword = round(hit.keyword, DIGITS)
    return {
        "score": round(hit.score, DIGITS),
        "similarity": similarity,
        "distance": hit.distance,
        "keyword": keyword,
    }


def relation(one: Relation, names: Mapping[MemoryId, str]) -> dict[str, Any]:
    """A relation by the names of its ends; by the id of one that went meanwhile."""
    return {
        "from": names.get(one.source, str(one.source)),
        "to": names.get(one.target, str(one.target)),
        "relationType": one.type,
    }


def stats(counts: GraphCounts, observations: int, embeddings: Mapping[str, int]) -> dict[str, Any]:
    return {
        "total_entities": counts.entities,
        "total_relations": counts.relations,
        "total_observations": observations,
        "linked_memories": counts.attached,
        "isolated_entities": counts.isolated,
        "entity_types": dict(counts.categories),
        "relation_types": dict(counts.types),
        "embedding_status": dict(embeddings),
    }


def graph(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What `memory.operations.graph.EntityGraph` answers, as a document of the command."""
    return document(f"graph-{name}", dict(values))
