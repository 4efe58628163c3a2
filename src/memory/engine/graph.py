"""Entities, their relations, and the memories about them: the part of an engine for the graph."""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.keep.jsonl import EdgesAdded, add_edges
from memory.keep.rules import join, part
from memory.schema.errors import (
    DISTANCE_LIMIT,
    Ambiguous,
    Error,
    NotFound,
    check_distance,
    checked_name,
    clipped_repr,
)
from memory.schema.kinds import Kind
from memory.schema.memory import Memory, MemoryId
from memory.search import near
from memory.search.fuse import relevance
from memory.search.near import ENTITIES, EntityAnswer, EntityHit, NearQuery
from memory.store import Attached, Relation, Store
from memory.store.export import PAGE, EdgeLine, RelationLine, pages
from memory.store.records import short_id
from memory.text.markdown import checked, listed, observations, together

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from memory.engine.documents import Documents
    from memory.schema.draft import Saved
    from memory.schema.memory import Details
    from memory.vectors.adapter import Generating as Generating

__all__ = [
    "ENTITIES",
    "Entities",
    "EntityAnswer",
    "EntityHit",
    "NearQuery",
    "Observed",
    "Relation",
    "Triple",
    "relevance",
    "short_id",
]
"""Includes what tools use of lower rooms."""

NAMES = 5_000
"""Most names with which an unknown name is compared."""

Triple: TypeAlias = "tuple[int | str, int | str, str]"
"""A relation as callers pass it: source and target, each by name, id or uid, and the type."""

BEGINNING = 40
"""Characters of each name that are compared: comparing whole names takes seconds."""


class Observed(NamedTuple):
    """
    The result of adding or removing observations.

    Attributes:
        saved: The entity; `known` if nothing changed.
        changed: The observations that were added or removed.
        others: Those that the entity already had, or did not have.
    """

    saved: Saved
    changed: tuple[str, ...]
    others: tuple[str, ...]


class Entities:
    """
    The graph: entities, their observations, their relations, and the memories about them.

    `memory.engine.Engine.graph` makes it. An entity is a memory of kind ENTITY: `Engine.save` adds one, and
    `Engine.delete` removes it with its relations.
    """

    def __init__(
        self,
        store: Store,
        now: Callable[[], datetime],
        *,
        documents: Documents,
        search: Callable[[near.NearQuery], near.EntityAnswer],
    ) -> None:
        self._store, self._now, self._documents = store, now, documents
        self.nearby = search
        """Searches entities by meaning and by distance from others; takes a `memory.search.near.NearQuery`."""

    def entity(self, name: int | str) -> Memory:
        """
        An entity by its name, else by its id or uid.

        Raises:
            NotFound, Ambiguous: It does not exist, or the reference fits several.
        """
        return self.entities([name])[0]

    def entities(self, names: Sequence[int | str]) -> list[Memory]:
        """
        Entities by name, id or uid, in the order of the names.

        Raises:
            NotFound, Ambiguous: One does not exist, or its reference fits several.
        """
        found = self.looked_up(names)
        for name, one in zip(names, found, strict=True):
            if isinstance(one, Error):
                one.hint = one.hint or self.suggestion(name)
                raise one
        return [one for one in found if not isinstance(one, Error)]

    def looked_up(self, names: Sequence[int | str]) -> list[Memory | NotFound | Ambiguous]:
        """For each name, id or uid, its entity or the reason why there is none; see `entities`."""
        texts = [name.strip() for name in names if isinstance(name, str)]
        named = self._store.graph.named(texts) if texts else {}
        ids = [named.get(name.strip()) if isinstance(name, str) else MemoryId(name) for name in names]
        read = self._store.memories.by_id([id for id in ids if id is not None])
        found = {id: one for id, one in read.items() if one.kind is Kind.ENTITY}
        return [
            found[id] if id is not None and id in found else self._by_reference(name)
            for name, id in zip(names, ids, strict=True)
        ]

    def _by_reference(self, name: int | str) -> Memory | NotFound | Ambiguous:
        try:
            memory = self._documents.get(name)
        except NotFound:
            return NotFound(f"no entity {clipped_repr(name)}")
        except Ambiguous as error:
            return error
        if memory.kind is not Kind.ENTITY:
            said = f"memory {memory.short_id} is a {memory.kind}, not an entity"
            return NotFound(said, hint="Entities go by their names.")
        return memory

    def suggestion(self, name: int | str) -> str:
        """The hint for a name that no entity has."""
        known = {known.casefold()[:BEGINNING]: known for known in self._store.graph.named(limit=NAMES)}
        suggestions = get_close_matches(str(name).strip().casefold()[:BEGINNING], known, n=1)
        if suggestions:
            return f"Did you mean {clipped_repr(known[suggestions[0]])}?"
        return "`memory graph show` lists those there are; `memory graph add` makes one."

    def every(self) -> Iterator[Memory]:
        """Every entity by name, read a page at a time."""
        after = ""
        while page := self._store.graph.named(after=after, limit=PAGE):
            yield from self._page(page.values())
            *_, after = page

    def some(self, offset: int, limit: int) -> list[Memory]:
        """A page of the entities, by name."""
        return self._page([*self._store.graph.named(limit=offset + limit).values()][offset:])

    def _page(self, ids: Collection[MemoryId]) -> list[Memory]:
        found = self._store.memories.by_id([*ids])
        return [found[id] for id in ids if id in found]

    def there(self, ids: Iterable[MemoryId]) -> Mapping[MemoryId, Memory]:
        """These entities or memories by their ids; those that do not exist are left out."""
        return self._store.memories.by_id(list(set(ids)))

    # Observations --------------------------------------------------------

    def known(self, entities: Sequence[Memory]) -> dict[MemoryId, tuple[str, ...]]:
        """The observations of entities, by their ids. This does not count as an access."""
        bodies = self._store.memories.bodies([one.id for one in entities])
        return {one.id: observations(bodies.get(one.id, "")) for one in entities}

    def worded(self, texts: Iterable[str]) -> tuple[str, ...]:
        """
        Observations as they are saved: each once, without surrounding white space and without secrets.

        Raises:
            Invalid: One is blank, too long, or not text.
        """
        return tuple(dict.fromkeys(self._documents.clean(text) for text in checked(texts)))

    def observe(self, name: int | str, texts: Iterable[str]) -> Observed:
        """
        Add observations to an entity; the result also lists those that it already had.

        Raises:
            NotFound, Ambiguous: The entity does not exist, or its name fits several.
            Invalid: One is blank, or together they are too long. Nothing was added.
        """
        wanted = self.worded(texts)

        def more(known: tuple[str, ...]) -> tuple[str, ...]:
            there = set(known)
            return together((*known, *(text for text in wanted if text not in there)))

        return self._observed(name, wanted, more)

    def forget(self, name: int | str, texts: Iterable[str]) -> Observed:
        """
        Remove observations from an entity, by their text; its history keeps them.

        Raises:
            NotFound, Ambiguous: The entity does not exist, or its name fits several.
            Invalid: One is blank, too long, or not text. Nothing was removed.
        """
        clean = {text: self._documents.clean(text) for text in checked(texts)}
        either = dict.fromkeys((*clean, *clean.values()))  # a text saved before a rule existed still has its secret
        found = self._observed(name, [*either], lambda known: tuple(text for text in known if text not in either))
        done = set(found.changed)
        others = (kept for text, kept in clean.items() if done.isdisjoint({text, kept}))
        return found._replace(others=tuple(dict.fromkeys(others)))

    def _observed(
        self, name: int | str, wanted: Sequence[str], change: Callable[[tuple[str, ...]], tuple[str, ...]]
    ) -> Observed:
        entity = self.entity(name)
        known: tuple[str, ...] = ()
        after: tuple[str, ...] = ()

        def changes(former: Details) -> dict[str, str]:
            nonlocal known, after
            known = observations(former.body)
            after = change(known)
            return {"body": former.body if after == known else listed(after)}

        saved = self._documents.revise(entity.id, changes)
        changed = set(known) ^ set(after)
        some = tuple(text for text in wanted if text in changed)
        others = tuple(text for text in wanted if text not in changed)
        return Observed(saved, some, others)

    # Relations -----------------------------------------------------------

    def relate(self, triples: Sequence[Triple]) -> tuple[list[Relation], Sequence[bool]]:
        """
        Add relations between entities, all or none; returns them, and for each whether it is new.

        Raises:
            NotFound, Ambiguous: An entity does not exist, or its name fits several. Nothing was added.
            Invalid: A type is blank or too long.
        """
        clean = [(source, target, self._documents.clean(type)) for source, target, type in triples]
        with self._store.transaction():  # nothing deletes the entities in between
            found = self._relations(clean)
            return found, join(self._store, found)

    def unrelate(self, triples: Sequence[Triple]) -> tuple[list[Relation], Sequence[bool]]:
        """Remove relations; returns them, and for each whether it existed. Errors as for `relate`."""
        found = self._relations(triples)
        # Types are stored without secrets, so the cleaned type is looked for. A type stored before a rule existed still
        # has its secret, so the caller's text is looked for too; either removal counts.
        clean = [one._replace(type=self._documents.clean(one.type)) for one in found]
        gone = part(self._store, [*clean, *found])
        return clean, [any(gone[place :: len(found)]) for place in range(len(found))]

    def _relations(self, triples: Sequence[Triple]) -> list[Relation]:
        types = [checked_name("the type of a relation", type, 'Say how: "depends_on".') for *_, type in triples]
        ends = iter(self.entities([end for *ends, _ in triples for end in ends]))
        return [Relation(next(ends).id, next(ends).id, type, self._now()) for type in types]  # from, then to

    def relations(self, ids: Sequence[MemoryId], *, inside: bool = False) -> Sequence[Relation]:
        """The relations that begin or end at one of these entities; with `inside`, those that do both."""
        return self._store.graph.edges(Relation, ids, inside=inside)

    def all_relations(self) -> Iterator[Relation]:
        """Every relation, read a page at a time."""
        return chain.from_iterable(pages(partial(self._store.graph.edges, Relation)))

    def distances(self, ids: Sequence[MemoryId], most: int = 3) -> Mapping[MemoryId, int]:
        """
        The distance of each entity from the nearest of these, in relations, in either direction.

        Args:
            most: The greatest distance, 0..10.

        Raises:
            Invalid: `most` is not in that range.
        """
        return near.distances(self._store, ids, check_distance(most))

    def path(self, source: int | str, target: int | str, most: int = DISTANCE_LIMIT) -> Sequence[Relation] | None:
        """
        The relations of a shortest path, in either direction; None if there is none of at most `most` relations.

        Raises:
            NotFound, Ambiguous: An entity does not exist, or its name fits several.
            Invalid: `most` is not 0..10.
        """
        ends = self.entities([source, target])
        return near.path(self._store, ends[0].id, ends[1].id, check_distance(most))

    # Memories ------------------------------------------------------------

    def attach(self, name: int | str, references: Sequence[int | str]) -> list[bool]:
        """
        Link memories to the entity they are about, all or none; returns for each whether the link is new.

        Raises:
            NotFound, Ambiguous: The entity or a memory does not exist, or its name fits several.
            Invalid: A memory is itself an entity: relate the two instead.
        """
        return list(join(self._store, self._links(name, references)))

    def detach(self, name: int | str, references: Sequence[int | str]) -> list[bool]:
        """Remove links to an entity; returns for each whether it existed. Errors as for `attach`, except Invalid."""
        return list(part(self._store, self._links(name, references)))

    def _links(self, name: int | str, references: Sequence[int | str]) -> list[Attached]:
        entity, moment = self.entity(name), self._now()
        return [Attached(entity.id, self._documents.resolve(reference), moment) for reference in references]

    def attached(self, entities: Sequence[MemoryId] = (), memories: Sequence[MemoryId] = ()) -> Sequence[Attached]:
        """The links of any of these entities, or of any of these memories."""
        return self._store.graph.edges(Attached, [*entities, *memories])

    def all_attached(self) -> Iterator[Attached]:
        """Every link between an entity and a memory, read a page at a time."""
        return chain.from_iterable(pages(partial(self._store.graph.edges, Attached)))

    def near(self, names: Sequence[int | str], most: int = 1) -> frozenset[MemoryId]:
        """
        The entities within a distance of these, and the memories about any of them: `Scope.among` takes the result.

        Raises:
            NotFound, Ambiguous: An entity does not exist, or its name fits several.
            Invalid: `most` is not 0..10.
        """
        entities = self.distances([one.id for one in self.entities(names)], most)
        return frozenset(entities) | {link.memory for link in self.attached(list(entities))}

    def add_edges(self, lines: Sequence[EdgeLine], ids: Mapping[str, MemoryId]) -> EdgesAdded:
        """
        Add the relations and links of an export; see `memory.keep.jsonl.add_edges`.

        Raises:
            NotFound: An end of a relation is not an entity. Nothing was added.
        """
        clean = [
            one._replace(type=self._documents.clean(one.type)) if isinstance(one, RelationLine) else one
            for one in lines
        ]
        return add_edges(self._store, clean, ids)
