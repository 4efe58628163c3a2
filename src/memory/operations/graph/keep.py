"""What changes the graph, and embeds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memory.operations.graph import given
from memory.operations.graph.given import Described
from memory.operations.graph.rows import Rows, unique
from memory.operations.render import data
from memory.schema.answer import Notice
from memory.schema.draft import Draft
from memory.schema.errors import Ambiguous, Invalid, NotFound
from memory.schema.kinds import Kind
from memory.schema.limits import BODY_LIMIT, check_text, clipped_repr
from memory.schema.memory import MemoryId
from memory.text.observations import listed, together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.engine import Engine
    from memory.engine.graph import Observed
    from memory.operations.graph.given import Rows as Given
    from memory.operations.graph.rows import Name, Values
    from memory.schema.draft import Saved
    from memory.schema.memory import Memory

WITHOUT = frozenset({"pending", "failed", "outdated"})
"""The states of an entity that has no vectors, or not of what it says now."""


class Created(NamedTuple):
    """
    What became of entities.

    Attributes:
        known: Of those that were there, what is new.
    """

    created: tuple[Memory, ...]
    known: tuple[Observed, ...]
    notices: tuple[Notice, ...]


class Keeping:
    """Of `memory.operations.graph.EntityGraph`."""

    def __init__(self, engine: Engine, *, source: str | None, agent: str | None) -> None:
        self.engine, self._rows = engine, Rows(engine)
        self._source, self._agent = source, agent

    def create_entities(self, entities: Given) -> Values:
        """
        Make entities, the new ones in one transaction.

        One whose name is there stays as it is and gets the observations that are new to it: see `duplicates`.

        Args:
            entities: Each with `name`, `entityType`, `observations`, and `embed`: false keeps it from being embedded
                (it is found by keyword only, its text goes to no model), also if it is there already; true takes that back.

        Raises:
            Invalid: One of them is none, or too long. Nothing was kept.
        """
        found = self.create_described(given.entities(entities))
        duplicates = self._rows.entities([one.saved.memory for one in found.known], observations=False)
        more = [_observed(one.changed, one.others) for one in found.known]
        return {
            "created": self._rows.entities(found.created, observations=False),
            "duplicates": [row | said for row, said in zip(duplicates, more, strict=True)],
            "notices": data.notices(found.notices),
        }

    def create_described(self, entities: Sequence[Described]) -> Created:
        """What `create_entities` does."""
        wanted = _merged(entities)
        self._check_room({one.name: one.observations for one in wanted})
        saved = self.engine.save_all([self._draft(one) for one in wanted])
        known = [self._told_again(kept.memory, one) for one, kept in zip(wanted, saved, strict=True) if kept.known]
        return Created(
            tuple(one.memory for one in saved if not one.known),
            tuple(known),
            unique(notice for one in (*filter(_new, saved), *(one.saved for one in known)) for notice in one.notices),
        )

    def _check_room(self, more: Mapping[str, Sequence[str]]) -> None:
        """
        Look whether observations could be added to all of these entities, by their names, before the first is changed.

        Raises:
            Invalid: One is none, or what is known of one of them would be too long.
        """
        graph = self.engine.graph
        ids = graph.named(list(more))
        known = graph.known(list(graph.there(ids.values()).values()))
        for name, texts in more.items():
            whole = dict.fromkeys((*known.get(ids.get(name, MemoryId(0)), ()), *graph.worded(texts)))
            check_text(f"what is known of {clipped_repr(name)}", listed(together(tuple(whole))), BODY_LIMIT)

    def _draft(self, one: Described) -> Draft:
        try:
            return Draft(
                kind=Kind.ENTITY,
                title=one.name,
                category=one.type,
                body=listed(self.engine.graph.worded(one.observations)),
                agent_id=self._agent,
                source=self._source,
                keyword_only=one.embed is False,
            )
        except Invalid as error:
            raise Invalid(f"entity {clipped_repr(one.name)}: {error}", hint=error.hint) from error

    def _told_again(self, memory: Memory, one: Described) -> Observed:
        """Add to an entity that is there. First it is excluded, if it is to be: what is new may be for no model."""
        if one.embed is not None and one.embed is memory.keyword_only:
            self.engine.documents.update(memory.id, keyword_only=not one.embed)
        return self.engine.graph.observe(memory.id, one.observations)

    def create_relations(self, relations: Given) -> Values:
        """
        Relate entities, all or none; what is there already is reported.

        Args:
            relations: Each with `from`, `to` (names or ids of entities) and `relationType`.

        Raises:
            NotFound, Ambiguous: One of the entities is not there, or could be several. Nothing was related.
            Invalid: One of them is none. Nothing was related.
        """
        return self._relations(self.engine.graph.relate(given.relations(relations)), "created", "duplicates")

    def delete_relations(self, relations: Given) -> Values:
        """Take relations away, given as in `create_relations`; those that are not there are reported."""
        return self._relations(self.engine.graph.unrelate(given.relations(relations)), "deleted", "unknown")

    def _relations(self, found: Sequence[tuple[Any, bool]], done: str, other: str) -> Values:
        rows = self._rows.relations([relation for relation, _ in found])
        sorted_out: Values = {done: [], other: []}
        for row, (_, changed) in zip(rows, found, strict=True):
            sorted_out[done if changed else other].append(row)
        return sorted_out | {"notices": []}

    def add_observations(self, observations: Given) -> Values:
        """
        Add to what is known of entities; what is known already is reported.

        Args:
            observations: Each with `entityName` and `contents`, a list of texts.

        Raises:
            NotFound, Ambiguous: One of the entities is not there, or could be several. Nothing was added.
            Invalid: One of them is none. Nothing was added.
        """
        wanted = given.told("observations", observations)
        entities = self.engine.graph.entities([one.entity for one in wanted])
        texts: dict[str, tuple[str, ...]] = {}
        for entity, one in zip(entities, wanted, strict=True):
            texts[entity.title] = texts.get(entity.title, ()) + one.texts
        self._check_room(texts)
        found = [self.engine.graph.observe(entity.id, one.texts) for entity, one in zip(entities, wanted, strict=True)]
        rows = self._rows.entities([one.saved.memory for one in found], observations=False)
        more = [_observed(one.changed, one.others) for one in found]
        return {
            "results": [row | said for row, said in zip(rows, more, strict=True)],
            "notices": data.notices(unique(notice for one in found for notice in one.saved.notices)),
        }

    def delete_observations(self, deletions: Given) -> Values:
        """
        Remove observations by their text; those that are not there are reported. The entity's history keeps them.

        Args:
            deletions: Each with `entityName` and `observations`, a list of texts.

        Raises:
            NotFound, Ambiguous: One of the entities is not there, or could be several. Nothing was removed.
            Invalid: One of them is none. Nothing was removed.
        """
        wanted = given.told("deletions", deletions)
        entities = self.engine.graph.entities([one.entity for one in wanted])
        found = [self.engine.graph.forget(entity.id, one.texts) for entity, one in zip(entities, wanted, strict=True)]
        rows = self._rows.entities([one.saved.memory for one in found], observations=False)
        more = [{"deleted": list(one.changed), "unknown": list(one.others)} for one in found]
        return {"results": [row | said for row, said in zip(rows, more, strict=True)], "notices": []}

    def delete_entities(self, names: Sequence[Name]) -> Values:
        """
        Remove entities for good, with their observations, relations and links; unknown names are reported.

        Raises:
            Ambiguous: One could be several. Nothing was removed.
        """
        wanted = given.references("names", names)
        found = [one if isinstance(one, NotFound) else _sure(one) for one in self.engine.graph.looked_up(wanted)]
        deleted, unknown = [], []
        seen: set[int] = set()
        for name, one in zip(wanted, found, strict=True):
            if isinstance(one, NotFound):
                unknown.append(name)
            elif one.id in seen:
                continue  # by another of its names
            elif not self._deleted(one):
                unknown.append(name)
            else:
                seen.add(one.id)
                deleted.append({"id": one.id, "uid": one.uid, "name": one.title})
        return {"deleted": deleted, "unknown": unknown, "notices": self._rows.unknown(unknown)}

    def _deleted(self, entity: Memory) -> bool:
        """False if it is gone already: others were faster."""
        try:
            self.engine.documents.delete(entity.id)
        except NotFound:
            return False
        return True

    def rename_entity(self, name: Name, new_name: str) -> Values:
        """
        Give an entity another name; its observations, relations and links stay.

        Raises:
            NotFound, Ambiguous: It is not there, or could be several.
            Invalid: The new name is in use, blank, too long, or not one line.
        """
        entity = self.engine.graph.entity(name)
        if not isinstance(new_name, str):
            raise Invalid(f"new_name must be text, not {clipped_repr(new_name)}")
        saved = self.engine.documents.update(entity.id, title=given.called("new_name", new_name))
        (row,) = self._rows.entities([saved.memory], observations=False)
        return {"entity": row, "former_name": entity.title, "notices": data.notices(saved.notices)}

    def link_memories(self, entity: Name, memory_ids: Sequence[Name]) -> Values:
        """
        Say that memories are about an entity, all or none; links that are there already are reported.

        Raises:
            NotFound, Ambiguous: The entity, or one of the memories, is not there, or could be several.
            Invalid: One of the memories is an entity itself: those are related.
        """
        return self._linked(entity, memory_ids, "linked", "duplicates")

    def unlink_memories(self, entity: Name, memory_ids: Sequence[Name]) -> Values:
        """Take that back; links that are not there are reported. Raises what `link_memories` does, but Invalid."""
        return self._linked(entity, memory_ids, "unlinked", "unknown")

    def _linked(self, name: Name, references: Sequence[Name], done: str, other: str) -> Values:
        entity = self.engine.graph.entity(name)
        wanted = given.references("memory_ids", references)
        memories = {memory.id: memory for memory in map(self.engine.documents.get, wanted)}
        change = self.engine.graph.attach if done == "linked" else self.engine.graph.detach
        rows = zip(memories.values(), change(entity.id, list(memories)), strict=True)
        sorted_out: Values = {"entity": entity.title, done: [], other: []}
        for memory, changed in rows:
            sorted_out[done if changed else other].append(data.pointer(memory))
        return sorted_out | {"notices": []}

    def generate_embeddings(
        self,
        entity_ids: Sequence[Name] = (),
        force_refresh: bool = False,  # noqa: FBT001, FBT002  # as it is documented
        *,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> Values:
        """
        Embed entities that have no vectors, or none of what they say now (CAP E14).

        Args:
            entity_ids: Names or ids; empty means all.
            force_refresh: Also those that have vectors; until new ones are made, the former answer.
            progress: Told how many chunks of how many are done.

        Raises:
            NotFound, Ambiguous: One of the entities is not there, or could be several.
            EmbedError: The model cannot be used; what was embedded is kept.
            SpaceMismatch: The stored vectors are of another model: `memory reindex` makes all of them anew.
        """
        given.flag("force_refresh", force_refresh)
        graph, chosen = self.engine.graph, given.references("entity_ids", entity_ids)
        entities = {one.id: one for one in (graph.entities(chosen) if chosen else graph.every())}
        before = self._rows.states(list(entities.values()))
        states = WITHOUT | ({"generated"} if force_refresh else set())
        wanted = [id for id, state in before.items() if state in states]
        result = self.engine.vectors.embed(progress, memories=wanted)
        there = list(graph.there(wanted).values())
        after = self.engine.vectors.embeddings(there)
        failed = [one for one in there if after[one.id].state == "failed"]
        untaken = Notice(f"the model did not take {result.failed:,} of the texts: {result.error}")
        return {
            "generated": sum(found.state == "generated" for found in after.values()),
            "failed": [{"id": one.id, "name": one.title, "error": after[one.id].error} for one in failed],
            "unchanged": sum(state == "generated" for state in before.values()) if not force_refresh else 0,
            "excluded": sum(state == "excluded" for state in before.values()),
            "model": result.model or None,
            "notices": data.notices((untaken,) if result.failed else ()),
        }


def _new(saved: Saved) -> bool:
    return not saved.known


def _sure(one: Memory | Ambiguous) -> Memory:
    if isinstance(one, Ambiguous):
        raise one
    return one


def _observed(added: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
    return {"added": list(added), "known": list(known)}


def _merged(found: Sequence[Described]) -> list[Described]:
    """Each name once, with all that is said of it; the first type counts, and a wish not to be embedded."""
    entities: dict[str, Described] = {}
    for one in found:
        first = entities.setdefault(one.name, one)
        if first is not one:
            embed = False if False in (first.embed, one.embed) else first.embed or one.embed
            known = (*first.observations, *one.observations)
            entities[one.name] = Described(one.name, first.type or one.type, known, embed)
    return list(entities.values())
