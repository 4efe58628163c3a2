"""Entities and relations as rows of an answer; their fields go by the names that programs for such graphs know."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from memory.operations.render import data
from memory.operations.render.data import row
from memory.operations.shapes import record, several
from memory.schema.answer import Notice
from memory.schema.limits import clipped_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memory.engine import Engine
    from memory.schema.document import Embedding
    from memory.schema.memory import Memory, MemoryId
    from memory.search.near import EntityHit
    from memory.store import GraphCounts, Relation

One = TypeVar("One")

PAGE = 1000  # entities, relations, links that are read together

Name: TypeAlias = "int | str"
"""An entity's name, its id, its uid or the beginning of its uid (CAP X45); names come first."""

Values: TypeAlias = "dict[str, Any]"
"""JSON values by name."""

HINTS = 3
"""Unknown names for which the nearest is looked up."""

DIGITS = 4  # of a score (CAP X39)
STATES = ("generated", "pending", "outdated", "failed", "excluded")
"""Of an entity's vectors; see `status`."""

_ENTITY = "id:number uid name entityType:text? embedding_status created_at:real updated_at:real flags:texts"
_RELATION = record("from to relationType")
SHAPES = {
    "entity": record(_ENTITY),
    "entities": several(record(_ENTITY)),
    "grown": several(record(f"{_ENTITY} added:texts known:texts")),
    "known": several(record(f"{_ENTITY} observations:texts")),
    "found": several(record(f"{_ENTITY} observations:texts score:real")),
    "alike": several(record(f"{_ENTITY} score:real similarity:real?")),
    "near": several(record(f"{_ENTITY} observations:texts score:real similarity:real? distance:number? keyword:real")),
    "relations": several(_RELATION),
    "names": several(record("id:number uid name")),
    "failed": several(record("id:number name error")),
    "references": several({"type": ["string", "integer"]}),
}
"""What rows of the graph have, by the names that declarations use."""


class Rows:
    """What is asked of an engine to answer in rows."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def entities(self, entities: Sequence[Memory], *, observations: bool = True) -> list[Values]:
        embeddings = self._engine.vectors.embeddings(entities)
        known: Mapping[MemoryId, Sequence[str]] = self._engine.graph.known(entities) if observations else {}
        return [entity(one, embeddings[one.id], known.get(one.id)) for one in entities]

    def states(self, entities: Sequence[Memory]) -> dict[MemoryId, str]:
        embeddings = self._engine.vectors.embeddings(entities)
        return {one.id: status(one, embeddings[one.id]) for one in entities}

    def relations(self, relations: Iterable[Relation]) -> list[Values]:
        """Relations by the names of their ends; by the id of one that went meanwhile."""
        found = list(relations)
        ends = self._engine.graph.there(end for one in found for end in (one.source, one.target))
        names = {id: memory.title for id, memory in ends.items()}
        return [
            {
                "from": names.get(one.source, str(one.source)),
                "to": names.get(one.target, str(one.target)),
                "relationType": one.type,
            }
            for one in found
        ]

    def unknown(self, names: Sequence[Name]) -> list[Values]:
        """Notices of names that are none, with the nearest that there is."""
        suggestion = self._engine.graph.suggestion
        return data.notices(
            tuple(Notice(f"no entity {clipped_repr(name)}", suggestion(name)) for name in names[:HINTS])
        )


def unique(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    return tuple(dict.fromkeys(notices))


def paged(found: Iterator[One]) -> Iterator[list[One]]:
    """A page at a time: what belongs to each is asked for together."""
    while page := list(islice(found, PAGE)):
        yield page


def entity(memory: Memory, embedding: Embedding, observations: Sequence[str] | None = None) -> dict[str, Any]:
    """
    An entity (CAP E4, E22, X4): times in seconds since 1970.

    Args:
        observations: None leaves them out.
    """
    known = {} if observations is None else {"observations": list(observations)}
    return {
        **row(memory, "id:number uid name=title entityType=category:text?"),
        **known,
        "embedding_status": status(memory, embedding),
        **row(memory, "created_at:real updated_at:real flags:texts"),
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


def stats(counts: GraphCounts, observations: int, embeddings: Mapping[str, int]) -> dict[str, Any]:
    return {
        **row(counts, "total_entities=entities:number total_relations=relations:number"),
        "total_observations": observations,
        **row(counts, "linked_memories=attached:number isolated_entities=isolated:number"),
        **row(counts, "entity_types=categories:object relation_types=types:object"),
        "embedding_status": dict(embeddings),
    }
