"""Memories with their bodies: saved, changed, and read by reference, scope and age; no searching."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from memory.schema.answer import Notice, Searched
from memory.schema.errors import (
    Ambiguous,
    ConfigError,
    Invalid,
    NotFound,
    StoreBusy,
    StoreError,
    StoreReadOnly,
    clipped_repr,
)
from memory.schema.kinds import PREFERENCE
from memory.schema.memory import Document
from memory.schema.query import ACTIVE, Granularity, Scope, check_limit, normalised
from memory.store import Order, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from memory.config import Config
    from memory.engine.maintenance import SearchLog
    from memory.engine.vectors import Vectors
    from memory.keep.entry import Cutting, Sanitizer
    from memory.keep.jsonl import MemoryLine
    from memory.keep.save import Writer
    from memory.schema.draft import Draft, Saved
    from memory.schema.memory import Chunk, ChunkId, Details, Expanded, Memory, MemoryId, Reference

R = TypeVar("R")

SCOPED = "scoped"
"""The tier in the log of a call without a query, which shows everything in scope."""

PAGE = 500
"""Memories that `Documents.pages` reads at once."""

UPDATES = 50
"""How often an update starts over when others change the memory meanwhile."""


class Documents:
    """Saves, changes and reads memories with their bodies. `memory.engine.Engine.documents` is one."""

    def __init__(
        self, store: Store, config: Config, now: Callable[[], datetime], *, vectors: Vectors, searches: SearchLog
    ) -> None:
        self._store, self._config, self.now = store, config, now
        self._vectors, self._searches = vectors, searches

    @cached_property
    def sanitizer(self) -> Sanitizer:
        """Removes secrets before saving. Made at first use: a search needs none."""
        from memory.keep.entry import Sanitizer

        return Sanitizer(self._config.folder, self._aliases)

    @cached_property
    def _cutting(self) -> Cutting:
        """How bodies are cut into chunks, by the settings."""
        from memory.keep.entry import Cutting

        return Cutting.configured(self._config.chunking, self._vectors.embedders)

    # Keeping -------------------------------------------------------------

    def keep(
        self,
        drafts: Sequence[Draft],
        *,
        supersedes: MemoryId | None = None,
        entities: tuple[MemoryId, ...] = (),
        renews: tuple[str, ...] = (),
        patient: bool = False,
        shared: bool = False,
    ) -> list[Saved]:
        """
        Save drafts in one transaction; see `memory.keep.save.Writer`.

        Args:
            shared: Include a preference without a project in everybody's contexts, instead of its author's alone.
            supersedes, entities, renews: For each draft; see `memory.store.Entry`.
            patient: Wait longer if saving embeds the chunks, because there are many.
        """
        writer = self.writer(patient=patient)
        saved = writer.save(
            [self._signed(one, shared=shared) for one in drafts],
            supersedes=supersedes,
            entities=entities,
            renews=renews,
        )
        self._vectors.saved(_ids(saved), embeds=bool(writer.waiting))
        return saved

    def _signed(self, draft: Draft, *, shared: bool) -> Draft:
        """A draft with its author and owner, if several people share the store."""
        if not (self._store.shared or self._config.user):
            return draft
        author = draft.author or self._config.author or None
        owner = None if shared else draft.owner or self._owner(draft.category, draft.project, author)
        return replace(draft, author=author, owner=owner)

    def _owner(self, category: str | None, project: str | None, author: str | None) -> str | None:
        """The owner of a memory: a preference without a project is only for its author."""
        return author if self._store.shared and category == PREFERENCE and project is None else None

    def restore(self, lines: Sequence[MemoryLine]) -> list[Saved]:
        """Save the memories of an export in one transaction; existing ones are left as they are."""
        saved = self.writer().save(lines)
        self._vectors.saved(_ids(saved))
        return saved

    def update(self, /, reference: Reference, **changes: Any) -> Saved:
        """
        Change fields of a memory; its history keeps the earlier version.

        Args:
            reference: Its id, its uid, or the first 8 or more characters of the uid.
            changes: Fields of a `Draft` with their new values. `shared` decides whether a preference without a project
                is in everybody's contexts or only in its author's; by default that does not change.

        Raises:
            NotFound, Ambiguous: The reference matches no memory, or several.
            Invalid: There is no such field, or its value is not valid for a draft.
        """
        from memory.schema.draft import SHARED

        shared = changes.pop("shared", None)
        known = (*SHARED, "body")
        if unknown := sorted(set(changes).difference(known)):
            raise Invalid(f"a memory has no {', '.join(unknown)}", hint=f"It has {', '.join(known)}.")

        def revised(former: Details) -> Mapping[str, Any]:
            now = former.memory
            category, project = changes.get("category", now.category), changes.get("project", now.project)
            if shared is None and (category, project) == (now.category, now.project):
                return changes
            return changes | {"owner": None if shared else self._owner(category, project, now.author)}

        return self.revise(self.resolve(reference), revised)

    def revise(self, id: MemoryId, changes: Callable[[Details], Mapping[str, Any]]) -> Saved:
        """
        Change a memory depending on its current content; starts over if others change it meanwhile.

        Args:
            changes: Returns the fields of a draft with their new values, from the memory's current content.

        Raises:
            NotFound: There is no such memory.
            Invalid: A value is not valid for a draft.
            StoreBusy: Other processes kept changing it.
        """
        for _ in range(UPDATES):
            former = self._store.memories.details(id)
            if former is None:
                raise NotFound(f"no memory {id}")
            if saved := self.writer().update(former, changes(former)):
                self._vectors.saved(_ids([saved]))
                return saved
        raise StoreBusy(f"memory {self.get(id).short_id} is being changed by other processes", hint="Try again.")

    def revise_all(self, changes: Callable[[], Sequence[tuple[Details, Mapping[str, Any]]]], what: str) -> list[Saved]:
        """
        Change several memories in one transaction, depending on their current content; starts over if others change
        one.

        Args:
            changes: Returns the memories to change, each with the fields of a draft and their new values.
            what: What the error begins with: "the items are".

        Raises:
            Invalid: A value is not valid for a draft.
            StoreBusy: Other processes kept changing one of them.
        """
        for _ in range(UPDATES):
            if (saved := self.writer().update_all(changes())) is not None:
                self._vectors.saved(_ids(saved))
                return saved
        raise StoreBusy(f"{what} being changed by other processes", hint="Try again.")

    def writer(self, *, patient: bool = False) -> Writer:
        """A writer with the current settings and time."""
        from memory.keep.save import Writer

        embedders, backfill = self._vectors.embedders, self._vectors.backfill_policy(patient=patient)
        return Writer(self._store, embedders, backfill, self.sanitizer, self.now(), [], self._cutting)

    def clean(self, text: str) -> str:
        """
        A text without its secrets, as a save would store it.

        Raises:
            Invalid: A `<redacted>` in it is not closed.
            ConfigError: A rule of `.memoryignore` cannot be used.
        """
        return self.sanitizer.text(text)

    def pin(self, references: Sequence[Reference], *, pinned: bool = True) -> list[Memory]:
        """
        Pin memories to the top of every context, or unpin them, all or none.

        Raises:
            NotFound, Ambiguous: A reference matches no memory, or several.
            Invalid: A memory to pin was superseded.
        """
        from memory.keep.rules import pin_memories

        return pin_memories(self._store, [self.get(one).id for one in references], self.now(), pinned=pinned)

    # Reading -------------------------------------------------------------

    def resolve(self, reference: Reference) -> MemoryId:
        """
        The id of the memory that a reference matches.

        Raises:
            NotFound, Ambiguous: The reference matches no memory, or several. It is never a pattern.
        """
        found = list(self._store.memories.resolve(str(reference).strip()))
        if isinstance(reference, int):  # a number is an id, never the beginning of a uid
            found = [(id, uid) for id, uid in found if id == reference]
        match found:
            case []:
                raise NotFound(
                    f"no memory {clipped_repr(reference)}",
                    hint="Use the id that `memory list` shows.",
                )
            case [(id, _)]:
                return id
            case several:
                raise Ambiguous(str(reference), [uid for _, uid in several])

    def get(self, reference: Reference) -> Memory:
        """
        The memory with this id, uid or beginning of a uid (from 8 characters).

        Raises:
            NotFound, Ambiguous: The reference matches no memory, or several.
        """
        id = self.resolve(reference)
        if (found := self._store.memories.by_id([id]).get(id)) is None:
            raise NotFound(f"no memory {clipped_repr(reference)}")
        return found

    def details(self, reference: Reference, *, count: bool = True) -> Details:
        """
        A memory with its body, its history and the state of its embedding.

        Args:
            count: Count this call as an access of the memory.

        Raises:
            NotFound, Ambiguous: The reference matches no memory, or several.
        """
        id = self.resolve(reference)
        notices = self.accessed([id]) if count else ()
        if (found := self._store.memories.details(id)) is None:
            raise NotFound(f"no memory {clipped_repr(reference)}")
        return found._replace(notices=notices, embedding=self._vectors.embedding(id))

    def read(self, memories: Sequence[Memory]) -> tuple[tuple[Document, ...], tuple[Notice, ...]]:
        """
        Memories with their bodies, in order, and notices. Memories deleted meanwhile are left out. Counts an access of
        each.
        """
        ids = [memory.id for memory in memories]
        notices = self.accessed(ids)
        found, bodies = self._store.memories.by_id(ids), self._store.memories.bodies(ids)
        return tuple(Document(found[id], bodies[id]) for id in ids if id in found and id in bodies), notices

    def accessed(self, ids: Sequence[MemoryId]) -> tuple[Notice, ...]:
        """Count an access of each memory; returns a notice if the database was busy."""
        if not ids:
            return ()
        try:
            self._store.memories.touch(ids, self.now())
        except StoreReadOnly:
            return ()  # a read-only user counts nothing
        except StoreError as error:
            return (Notice(f"this access was not counted: {error}", error.hint),)
        return ()

    def outline(self, reference: Reference) -> Sequence[tuple[ChunkId, Chunk]]:
        """
        The chunks of a memory, in order.

        Raises:
            NotFound, Ambiguous: The reference matches no memory, or several.
        """
        return self._store.memories.outlines([id := self.resolve(reference)]).get(id, [])

    def expand(self, chunk_id: int | str, around: int = 2) -> Expanded:
        """
        A chunk with its neighbours.

        Args:
            chunk_id: The `chunk_id` of a hit.
            around: Number of neighbours on either side, 0..100; fewer at the ends of the body.

        Raises:
            NotFound: There is no such chunk.
            Invalid: An argument is not a valid number.
        """
        from memory.search.context import expand

        return expand(self._store, chunk_id, around)

    def reconstruct(self, reference: Reference) -> Document:
        """
        A memory with its body; `whole` is whether its chunks still make up the body.

        Raises:
            NotFound, Ambiguous: The reference matches no memory, or several.
        """
        from memory.search.context import reconstruct

        return reconstruct(self._store, self.resolve(reference))

    # By place and age ----------------------------------------------------

    def recent(self, scope: Scope = ACTIVE, limit: int = 20, *, after: Memory | None = None) -> Sequence[Memory]:
        """
        A page of the memories in scope, last changed first.

        Args:
            limit: Maximum number, 1..10,000.
            after: The last memory of the page before; None starts at the first page.

        Raises:
            Invalid: The limit is out of range.
        """
        check_limit(limit)
        return self.met(self.scope(scope), lambda scope: self._store.memories.page(scope, limit, after=after), bool)

    def pages(self, scope: Scope = ACTIVE, limit: int = PAGE) -> Iterator[Sequence[Memory]]:
        """All memories in scope, last changed first, in pages of at most `limit`."""
        after = None
        while page := self.recent(scope, limit, after=after):
            yield page
            after = page[-1]

    def unreadable(self, memories: Sequence[Memory]) -> tuple[Notice, ...]:
        """Notices about memories with unreadable fields; see `memory.search.shape.unreadable`."""
        from memory.search.shape import unreadable

        return unreadable(memories)

    def conflicts(self) -> Sequence[tuple[Memory, Memory | None]]:
        """
        Conflicts of a mirror: memories that are the other version of a memory that was changed on both sides.

        Returns:
            Pairs of the other version and the memory that it belongs to, or None if that was deleted.
        """
        from memory.engine.mirror_sides import conflicts

        return conflicts(self)

    def by_iteration(self, scope: Scope = ACTIVE, limit: int = 20, *, latest_first: bool = True) -> Sequence[Memory]:
        """
        Memories in scope, sorted by session iteration, highest first, then by time, latest first.

        Args:
            limit: Maximum number, 1..10,000.
            latest_first: False reverses the order.

        Raises:
            Invalid: The limit is out of range.
        """
        check_limit(limit)
        order = Order.ITERATION if latest_first else Order.ASCENDING
        return self.met(self.scope(scope), lambda scope: self._store.memories.page(scope, limit, order=order), bool)

    def listed(
        self, scope: Scope, limit: int, *, latest_first: bool = True
    ) -> tuple[tuple[Document, ...], tuple[Notice, ...]]:
        """
        The memories of `by_iteration` with their bodies, and notices. Logged as a search.

        Args:
            limit: Maximum number, 1..10,000.
            latest_first: False reverses the order.

        Raises:
            Invalid: The limit is out of range.
        """
        begun = perf_counter()
        found, notices = self.read(self.by_iteration(scope, limit, latest_first=latest_first))
        (type, filters), seconds = scope.remembered(Granularity.COARSE), perf_counter() - begun
        one = Searched(self.now(), type, SCOPED, seconds, limit, len(found), filters)
        self._searches.record(one, mode=SCOPED, outcome="listed")
        return found, notices or self.unmet(scope) if not found else notices

    __call__ = listed

    def scope(self, scope: Scope) -> Scope:
        """
        A scope with normalised values, and with all names of its projects; see the setting `project_aliases`.

        Raises:
            Invalid: There is no such kind.
        """
        scope = normalised(scope)
        if not (scope.projects and self._aliases):
            return scope
        from memory.config.project import names

        return scope._replace(projects=frozenset().union(*(names(name, self._aliases) for name in scope.projects)))

    def met(self, scope: Scope, ask: Callable[[Scope], R], anything: Callable[[R], bool]) -> R:
        """
        Ask for something in a scope. If nothing is there, ask in the scope as its values would have been saved.

        Args:
            ask: Returns the result for a scope.
            anything: Whether a result contains something.
        """
        found = ask(scope)
        if anything(found) or (saved := self.as_saved(scope)) == scope:
            return found
        return ask(saved)

    def as_saved(self, scope: Scope) -> Scope:
        """A scope whose unknown values are written as a save would have written them; see `memory.engine.scopes`."""
        if scope == ACTIVE:
            return scope
        from memory.engine import scopes

        try:
            return scopes.as_saved(self._store, scope, self.clean)
        except (Invalid, ConfigError):  # such a name cannot have been saved
            return scope

    def unmet(self, scope: Scope) -> tuple[Notice, ...]:
        """A notice for each value of a scope that no memory has, with the nearest existing values."""
        if scope == ACTIVE:
            return ()
        from memory.engine.scopes import unmet

        return unmet(self._store, self.as_saved(self.scope(scope)))

    def project(self, name: str) -> str:
        """The main name of a project, given any of its names; see the setting `project_aliases`."""
        return self._aliases.get(name, name)

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        from memory.config.project import aliases

        return aliases(self._config.project_aliases)


def _ids(saved: Sequence[Saved]) -> list[MemoryId]:
    return [one.memory.id for one in saved]
