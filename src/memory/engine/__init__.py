"""The library in one object: `Engine` makes the parts that a configuration names and offers the verbs."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from memory.config.config import load
from memory.engine.documents import Archive
from memory.engine.maintenance import Care
from memory.rank.fuse import Fusing
from memory.rank.gate import Tuning
from memory.schema.errors import Ambiguous, Invalid, NotFound, StoreError
from memory.schema.limits import short
from memory.schema.query import ACTIVE, Answer, Gate, Merge, Mode, Notice, Query, Scope, check_limit, named_kinds
from memory.search.search import search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

    from memory.config.config import Config
    from memory.embed import Embedder
    from memory.engine.status import Embedding
    from memory.schema.draft import Draft
    from memory.schema.memory import Memory, MemoryId
    from memory.search.context import Beside, Context
    from memory.store import Revision, Store
    from memory.write.background import Background
    from memory.write.save import Saved

Reference: TypeAlias = "int | str"
"""A memory's id, its uid, or at least 8 characters of the beginning of its uid."""


class Details(NamedTuple):
    """A memory with its body, what it said before, and whether it can be found by its meaning."""

    memory: Memory
    body: str
    history: tuple[Revision, ...]
    notices: tuple[Notice, ...] = ()
    embedding: Embedding | None = None


class Engine(Archive, Care):
    """
    Memories that can be found again.

        >>> with Engine.open() as engine:
        ...     engine.save(Draft(title="WAL", what="Readers never block the writer", project="db"))
        ...     engine.search("do readers block").hits[0].memory.title

    Safe to use from several threads, and beside other processes on the same database.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        *,
        embedder: Embedder | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        lasting: bool = True,
        key: str | None = None,
    ) -> None:
        """
        Takes a store that is open already; `open` makes one from a configuration.

        Args:
            embedder: Takes the place of the configured one.
            key: Of the provider, in place of that in the environment.
            lasting: Whether there is time for a thread that embeds what waits; a command has none.
        """
        self._store, self.config, self._now = store, config, now
        self._given, self._key = embedder, key
        settings = config.search
        self._tuning = Tuning(Gate(settings.gate), settings.min_fts_results, settings.effort)
        weights = (settings.keyword_weight, settings.vector_weight)
        self._fusing = Fusing(
            weights,
            Merge(settings.merge),
            settings.candidates,
            settings.deepen,
            settings.neighbours,
            settings.distilled == "auto",
            settings.half_life_days,
        )
        self._lasting = lasting
        self._background: Background | None = None

    @classmethod
    def open(
        cls,
        config: Config | None = None,
        *,
        home: str | Path | None = None,
        embedder: Embedder | None = None,
        lasting: bool = True,
        key: str | None = None,
        damaged: bool = False,
    ) -> Self:
        """
        Open the user's memory, made if it is missing.

        Args:
            config: None loads the user's settings.
            home: The folder of the database, in place of the configured one.
            damaged: Open what SQLite refuses as well, to export what can be read.
            embedder, lasting, key: See `Engine`. If none is given, what `set_embedding_provider` chose comes first.

        Raises:
            ConfigError: The settings cannot be used.
            StoreError: The database cannot be used; it was not touched.
        """
        from memory.store.sqlite.store import SqliteStore

        config = config or load(flags={"home": str(home) if home is not None else None})
        folder = config.folder
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            hint = "Choose another place with MEMORY_HOME or `home` in config.yaml."
            raise StoreError(f"cannot make the folder {folder}: {error.strerror}", hint=hint) from error
        store = SqliteStore(config.database, busy_seconds=config.store.busy_seconds, damaged=damaged)
        if embedder is None and key is None and (adapter := sys.modules.get("memory.engine.adapter")) is not None:
            config, embedder, key = adapter.chosen(config)  # where nobody imported it, nothing was chosen
        return cls(store, config, embedder=embedder, lasting=lasting, key=key)

    # Keeping -------------------------------------------------------------

    def save(self, draft: Draft, *, supersedes: Reference | None = None, entities: Sequence[Reference] = ()) -> Saved:
        """
        Keep a draft. When this returns, the memory survives whatever happens to this process.

        The same content in the same kind and scope is not kept twice: the answer then is the one that is known.

        Args:
            supersedes: The memory that no longer holds; it is retired in the same transaction.
            entities: What it is about, by name or id.

        Raises:
            NotFound, Ambiguous, Invalid: Of `supersedes` or `entities`. Nothing was kept.
            StoreBusy, StoreFull: Nothing was kept.
        """
        from memory.write.save import Plan

        old = None if supersedes is None else self.resolve(supersedes)
        about = tuple(one.id for one in self.graph.entities(entities)) if entities else ()
        return self._keep([Plan(draft, old, entities=about)], self._backfill())[0]

    def save_all(self, drafts: Sequence[Draft]) -> list[Saved]:
        """Keep drafts in one transaction: all of them or none. Meant for some hundreds at a time."""
        from memory.write.save import Plan

        return self._keep([Plan(draft) for draft in drafts], self._backfill()._replace(seconds=None))

    def update(self, reference: Reference, **changes: Any) -> Saved:
        """
        Correct a memory in place; its history keeps what it said before.

        Args:
            changes: Fields of a `Draft` with their new values.

        Raises:
            NotFound, Ambiguous: No such memory.
            Invalid: No such field, or a value that a draft does not take.
        """
        from dataclasses import fields

        from memory.schema.draft import SHARED, Draft

        if unknown := sorted(set(changes) - {field.name for field in fields(Draft)}):
            raise Invalid(f"a memory has no {', '.join(unknown)}", hint=f"It has {', '.join((*SHARED, 'body'))}.")
        return self._revised(self.resolve(reference), lambda _former: changes)

    def delete(self, reference: Reference) -> Memory:
        """
        Remove a memory with everything derived from it. It cannot be undone.

        Raises:
            NotFound, Ambiguous: It names no memory, or several.
        """
        memory = self.get(reference)
        if not self._store.delete(memory.id):
            raise NotFound(f"no memory {short(reference)}")
        return memory

    # Finding -------------------------------------------------------------

    def search(
        self,
        query: Query | str,
        *,
        limit: int | None = None,
        project: str | None = None,
        source: str | None = None,
    ) -> Answer:
        """
        Find memories, by keyword first and by meaning if that is not enough.

        Args:
            query: A text is asked with the configured limit and mode.
            limit, project, source: For a text; a `Query` says them itself.

        Raises:
            Invalid: The query is blank or too long.
            EmbedError, SpaceMismatch: Only in mode VECTOR or HYBRID.
        """
        if isinstance(query, str):
            scope = Scope(
                projects=frozenset({project} if project else ()), sources=frozenset({source} if source else ())
            )
            limit = self.config.search.limit if limit is None else limit
            query = Query(query, limit, mode=Mode(self.config.search.mode), scope=scope)
        elif (limit, project, source) != (None, None, None):
            raise Invalid("limit, project and source belong into the Query")
        if self._aliases:
            query = replace(query, scope=self._known_as(query.scope))
        answer = search(
            query, self._store, lambda: self._embedders, self._tuning, self._fusing, backfill=self._backfill_queued
        )
        self._remember(answer)
        return answer

    def context(
        self,
        about: str = "",
        *,
        scope: Scope = ACTIVE,
        limit: int | None = None,
        tokens: int | None = None,
        semantic: str | None = None,
        topup_recent: bool | None = None,
        beside: Beside | None = None,
    ) -> Context:
        """
        What an agent should read before it starts: what is known about a task, then what is recent. Nothing of a research
        run is among it, unless the scope names a run or a kind.

        Args:
            about: The task; empty takes recent memories alone.
            semantic: "auto", "always" or "never" use vectors; None does as configured.
            beside: What is said after the text, by how many more memories there are and the notices: it is to fit too.
        """
        from memory.search.context import Room, context

        settings = self.config.context
        room = Room(
            settings.limit if limit is None else limit,
            settings.tokens if tokens is None else tokens,
            settings.topup_recent if topup_recent is None else topup_recent,
            beside,
        )
        semantic = settings.semantic if semantic is None else semantic
        scope = self._known_as(scope)
        return context(self._store, self._embedders, self.search, scope, about=about, semantic=semantic, room=room)

    def recent(self, scope: Scope = ACTIVE, limit: int = 20, *, after: Memory | None = None) -> Sequence[Memory]:
        """
        Memories in scope, last changed first; `after` continues behind the last one of a page.

        Raises:
            Invalid: The limit is not 1..10,000.
        """
        check_limit(limit)
        return self._store.recent(self._known_as(scope), limit, after)

    def project(self, name: str) -> str:
        """The name of a project that counts, given any of them; see the setting `project_aliases`."""
        return self._aliases.get(name, name)

    def _known_as(self, scope: Scope) -> Scope:
        """A scope that knows its kinds, and its projects by all their names."""
        scope = named_kinds(scope)
        if not (self._aliases and scope.projects):
            return scope
        from memory.config.project import names

        every = (names(name, self._aliases) for name in scope.projects)
        return scope._replace(projects=frozenset().union(*every))

    def get(self, reference: Reference) -> Memory:
        """
        Raises:
            NotFound, Ambiguous: It names no memory, or several.
        """
        id = self.resolve(reference)
        found = self._store.memories([id]).get(id)
        if found is None:
            raise NotFound(f"no memory {short(reference)}")
        return found

    def details(self, reference: Reference, *, count: bool = True) -> Details:
        """
        A memory with its body and its history.

        Args:
            count: Whether this is an access, which the memory remembers.

        Raises:
            NotFound, Ambiguous: It names no memory, or several.
        """
        id = self.resolve(reference)
        notices = self.accessed([id]) if count else ()
        if (found := self._store.whole(id)) is None:
            raise NotFound(f"no memory {short(reference)}")
        return Details(*found, notices, self.embedding(id))

    def resolve(self, reference: Reference) -> MemoryId:
        """
        The id that a reference means.

        Raises:
            NotFound, Ambiguous: None, or several. A reference is never a pattern.
        """
        found = list(self._store.resolve(str(reference).strip()))
        if isinstance(reference, int):  # a number is an id, and never the beginning of a uid
            found = [(id, uid) for id, uid in found if id == reference]
        match found:
            case []:
                raise NotFound(
                    f"no memory {short(reference)}", hint="Give its id, its uid, or at least 8 characters of the uid."
                )
            case [(id, _)]:
                return id
            case several:
                raise Ambiguous(str(reference), [f"{uid} (id {id})" for id, uid in several])

    def close(self) -> None:
        try:
            if self._background is not None:
                self._background.close()
            if "_embedders" in self.__dict__:
                self._embedders.close()
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
