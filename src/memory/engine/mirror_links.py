"""The path of each page of a mirror, and its links, which are paths of other pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from memory.carry.pages import LINKS, Page, folded, link, link_paths, linked
from memory.keep.rules import note, set_links
from memory.schema.errors import Invalid, clipped_repr
from memory.schema.kinds import Kind
from memory.schema.memory import Json, Memory, MemoryId, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from memory.engine.graph import Entities
    from memory.store import Store

Targets: TypeAlias = "Mapping[str, frozenset[tuple[str, str]]]"
"""For each of `LINKS`, the (type, uid) pairs that a page points to."""


class Places:
    """
    Where the pages of a mirror are, and where their links lead.

    Attributes:
        paths: The path of each memory's page, existing or not yet written, by uid.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        graph: Entities,
        memories: Mapping[str, Memory],
        *,
        now: Callable[[], datetime],
    ) -> None:
        """
        Args:
            memories: All memories by uid; grows while pages are saved.
        """
        self._folder, self._store, self._graph, self._memories = folder, store, graph, memories
        self._now = now
        self.paths: dict[str, str] = {}
        self._named: dict[str, set[str]] = {}  # by path or file name, also former ones
        self._taken: dict[str, str] = {}
        self._edges: dict[MemoryId, dict[str, list[str]]] = {}

    # Paths ---------------------------------------------------------------

    def place(self, uid: str, path: str) -> None:
        """Set the path of a memory's page. Links to its former path still lead to it."""
        self.paths[uid] = path
        self.remember(uid, path)

    def remember(self, uid: str, path: str) -> None:
        """Resolve links to a path to this memory, unless another page has that path."""
        stem = _stem(path)
        for name in (stem, stem.rpartition("/")[2]):
            self._named.setdefault(name, set()).add(uid)

    def take(self, path: str, uid: str = "") -> None:
        """Mark a path as used, by a memory's page or another file."""
        self._taken.setdefault(folded(path), uid)

    def allotted(self, usual: str, uid: str) -> str:
        """A free path for a page, the usual one if it is free."""
        for path in (f"{usual}.md", *(f"{usual} ({uid[:size]}).md" for size in (8, 32))):
            if self._taken.setdefault(folded(path), uid) == uid and not (self._folder / path).is_dir():
                return path
        raise Invalid(f"the files for {clipped_repr(usual)} belong to other memories")

    # Links ---------------------------------------------------------------

    def read_edges(self, only: Memory | None = None) -> None:
        """Read the links of all memories, or of one."""
        known = {one.id: one.uid for one in self._memories.values() if one.uid in self.paths}
        if only is None:
            self._edges = {}
            relations, attached = self._graph.all_relations(), self._graph.all_attached()
        else:
            self._edges.pop(only.id, None)
            relations = (one for one in self._graph.relations([only.id]) if one.source == only.id)
            attached = (one for one in self._graph.attached(memories=[only.id]) if one.memory == only.id)

        def add(id: MemoryId, name: str, target: MemoryId, type: str = "") -> None:
            if id in known and target in known:
                self._edges.setdefault(id, {}).setdefault(name, []).append(self._link(known[target], type))

        for relation in relations:
            add(relation.source, "relations", relation.target, relation.type)
        for one in attached:
            add(one.memory, "about", one.entity)

    def links(self, memory: Memory) -> dict[str, Json]:
        """The links on the page of a memory, as front matter values."""
        found: dict[str, Json] = {name: [*sorted(some)] for name, some in self._edges.get(memory.id, {}).items()}
        for name, uid in (("superseded_by", memory.successor_uid), ("parent", memory.parent_uid)):
            if uid in self.paths and uid in self._memories:
                found[name] = self._link(uid)
        return found

    def target(self, text: Json, name: str) -> tuple[str, str]:
        """
        The type of a link and the uid it leads to.

        Raises:
            Invalid: The link leads nowhere, or to several pages.
        """
        type, inside = linked(text, name)
        several = False
        for wanted in map(folded, link_paths(inside)):
            there = {uid: _stem(self.paths[uid]) for uid in self._named.get(wanted, ()) if uid in self._memories}
            exact = [uid for uid, stem in there.items() if stem == wanted]
            short = [uid for uid, stem in there.items() if stem.rpartition("/")[2] == wanted]  # the form of Obsidian
            for found in (exact, short, list(there)):
                if len(found) == 1:
                    return type, found[0]
                several |= len(found) > 1
        raise Invalid(f"{name} has {clipped_repr(text)}, which is {'several pages' if several else 'no page'}")

    def targets(self, facts: Mapping[str, Json]) -> Targets:
        """
        The targets of a page's links.

        Raises:
            Invalid: A link leads nowhere, or to a page of the wrong kind.
        """
        found = {name: frozenset(self.target(text, name) for text in listed(facts.get(name))) for name in LINKS}
        entity = facts.get("kind") == Kind.ENTITY
        if found["relations"] and not entity:
            raise Invalid("only an entity has relations", hint="`about` links a memory to entities.")
        if found["about"] and entity:
            raise Invalid("an entity is about nothing else", hint="`relations` relate it to others.")
        for name in ("relations", "about"):
            for _, uid in found[name]:
                if self._memories[uid].kind is not Kind.ENTITY:
                    raise Invalid(f"{name} leads to {self.paths[uid]}, which is not an entity")
        return found

    def point(self, memory: Memory, page: Page, wanted: Targets, former: Targets) -> None:
        """
        Change a memory's links to the wanted ones; supersede and pin it as its page says.

        Args:
            former: Its links so far.
        """
        former = {name: former.get(name, frozenset()) for name in LINKS}
        if new := wanted["relations"] - former["relations"]:
            self._graph.relate([(memory.uid, uid, type) for type, uid in sorted(new)])
        if gone := former["relations"] - wanted["relations"]:
            self._graph.unrelate([(memory.uid, uid, type) for type, uid in sorted(gone)])
        for _, uid in sorted(wanted["about"] - former["about"]):
            self._graph.attach(uid, [memory.uid])
        for _, uid in sorted(former["about"] - wanted["about"]):
            self._graph.detach(uid, [memory.uid])
        status = Standing(str(page.facts.get("status", Standing.ACTIVE)))
        successor, parent = (
            next((self._memories[uid].id for _, uid in wanted[name]), None) for name in ("superseded_by", "parent")
        )
        superseded = status is Standing.SUPERSEDED
        now = memory._replace(status=status, superseded_by=successor if superseded else None)
        if wanted["parent"] != former["parent"]:
            now = now._replace(parent_id=parent)
        now = now._replace(pinned=bool(page.facts.get("pinned", False)) and not superseded)
        if now != memory:
            with self._store.transaction():
                note(self._store, set_links(self._store, [(memory, now)]), self._now())

    def _link(self, uid: str, type: str = "") -> str:
        return link(self.paths[uid].rpartition(".")[0], type)


def listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _stem(path: str) -> str:
    return folded(path.rpartition(".")[0])
