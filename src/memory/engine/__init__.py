"""The whole library in one object: `Engine` builds the parts that a configuration names and offers their methods."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

from memory.config import Config, load
from memory.engine.background import quiet
from memory.engine.documents import Documents
from memory.engine.maintenance import Maintenance, SearchLog
from memory.engine.vectors import Vectors
from memory.schema.answer import Outcome
from memory.schema.errors import Invalid, StoreDamaged, StoreError, explained
from memory.schema.moments import last_moment
from memory.schema.query import ACTIVE, NONE, Gate, Merge, Mode, Query, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from pathlib import Path

    from memory.engine.graph import Entities
    from memory.engine.mirror import Mirror
    from memory.engine.scopes import Tags
    from memory.engine.sessions import Runs, Sessions
    from memory.engine.statistics import Statistics
    from memory.engine.status import Finding, Status
    from memory.engine.trash import Trash
    from memory.engine.vectors import Progress
    from memory.keep.removing import Aged
    from memory.schema.answer import Answer
    from memory.schema.draft import Draft, Saved
    from memory.schema.holder import Backfilled
    from memory.schema.memory import Details, Document, Embedding, Expanded, Memory, MemoryId, Reference, Resumed
    from memory.schema.space import UsageEntry
    from memory.search.context import Beside, Context as Context
    from memory.search.fuse import Fusing
    from memory.search.gate import GateOptions
    from memory.search.near import EntityAnswer, NearQuery
    from memory.store import Session, Store
    from memory.store.tables import Movable
    from memory.vectors import Embedder
    from memory.vectors.reindex import Forecast, Reindexed, RolledBack


class Engine:
    """
    A memory store with everything that saves, searches and maintains it.

        >>> with Engine.open() as engine:
        ...     engine.save(Draft(title="WAL", what="Readers never block the writer", project="db"))
        ...     engine.search("do readers block").hits[0].memory.title

    Safe to use from several threads, and alongside other processes on the same database.

    Methods of a part are called there (`engine.tags.rename`), the most common ones also here (`engine.update`).

    Attributes:
        store: The open database.
        config: The settings.
        now: The clock, which returns the time in UTC. It dates every write and every comparison with stored times.
        documents: The part that saves, changes and reads memories.
        vectors: The part that embeds, and replaces vectors when the model changes.
        searches: The search log.
        maintenance: The part for status, doctor, export and import.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        *,
        embedder: Embedder | None = None,
        now: Callable[[], datetime] | None = None,
        lasting: bool = True,
        key: str | None = None,
    ) -> None:
        """
        Build an engine over an open store; `Engine.open` opens the store too.

        Args:
            store: The open database; the engine closes it.
            config: The settings.
            embedder: Replaces the configured embedding model.
            now: Replaces the store's clock.
            key: The provider's API key; replaces the one in the environment.
            lasting: Whether the process runs long enough for a background thread that embeds waiting chunks; False for
                a command.
        """
        # Made here is what every call needs; what finds, saves or embeds is imported and made at first use.
        now = store.now if now is None else now
        self.store, self.config, self.now = store, config, now
        store.user = config.author
        self.searches = SearchLog(store.path, now, config.search.slow_seconds)
        self.vectors = Vectors(store, config, now, embedder=embedder, key=key, lasting=lasting)
        self.documents = Documents(store, config, now, vectors=self.vectors, searches=self.searches)
        self._lasting = lasting
        self._damage: StoreDamaged | None = None  # the damage that a search has found
        self.maintenance = Maintenance(store, config, documents=self.documents, vectors=self.vectors)

    @property
    def sessions(self) -> Sessions:
        """The part for sessions of agents; `engine.sessions()` lists them, most recently active first."""
        from memory.engine.sessions import Sessions

        return Sessions(self.store)

    @property
    def graph(self) -> Entities:
        """The part for entities and their relations."""
        from memory.engine.graph import Entities

        return Entities(self.store, self.now, documents=self.documents, search=self._nearby)

    def mirror(self, folder: Path, project: str | None = None) -> Mirror:
        """A folder of Markdown files to sync with the memories of a project, or of all; see `memory.engine.mirror`."""
        from memory.config.walk import Own
        from memory.engine.mirror import Mirror

        parts = self.store, self.documents, self.graph, self.trash
        return Mirror(folder, *parts, project=project, now=self.now, own=Own(self.config.folder))

    def similar(self, memory: Memory) -> Memory | None:
        """A near-duplicate of a memory, or None; see `memory.search.similar`. Calls no model and is not logged."""
        from memory.search.similar import similar

        return similar(self.store, memory)

    def outdated(self, memory: Memory) -> Memory | None:
        """An older note that this one outdates, or None; see `memory.search.newer`. Calls no model."""
        from memory.search.newer import outdated

        return outdated(self.store, memory)

    def replaceable(self, memory: Memory) -> Memory | None:
        """The memory that a new one may replace: a near-duplicate, else an outdated older note, else None."""
        with self.store.snapshot():
            return self.similar(memory) or self.outdated(memory)

    def renewed(self, memories: Sequence[Memory]) -> list[tuple[MemoryId, MemoryId, float]]:
        """
        Pairs of notes among these in which the newer outdates the older; see `memory.search.newer`. Calls no model.

        Returns:
            For each pair the older id, the newer id and the share of words in common, 0..1.
        """
        from memory.search.newer import renewed

        return renewed(memories)

    @property
    def tags(self) -> Tags:
        """The part that counts and renames tags."""
        from memory.engine.scopes import Tags

        return Tags(self.store, self.documents)

    @property
    def runs(self) -> Runs:
        """The part for research runs."""
        from memory.engine.sessions import Runs

        return Runs(self.store, self.now, documents=self.documents, trash=self.trash)

    @property
    def trash(self) -> Trash:
        """The part that deletes, restores and undoes."""
        from memory.engine.trash import Trash

        return Trash(self.store, self.now, self.config.trash.days, documents=self.documents, vectors=self.vectors)

    @classmethod
    def open(
        cls,
        config: Config | str | None = None,
        *,
        home: str | Path | None = None,
        embedder: Embedder | None = None,
        lasting: bool = True,
        key: str | None = None,
        damaged: bool = False,
    ) -> Self:
        """
        Open the user's memory; create it if it does not exist.

        Args:
            config: None loads the user's settings. The URL of a PostgreSQL database replaces the one in the settings.
            home: The folder of the database; replaces the configured one.
            damaged: Open even a file that SQLite refuses, to export its readable memories.
            embedder, lasting, key: See `Engine`. Without embedder and key, the choice of `set_embedding_provider`
                applies.

        Raises:
            ConfigError: The settings cannot be used.
            StoreError: The database cannot be used; it was not changed.
        """
        if isinstance(config, Config):
            used = config
        else:
            used = load(flags={"home": None if home is None else str(home), "store.url": config})
        folder = used.folder
        hint = "Choose another place with MEMORY_HOME or `home` in config.yaml."
        with explained(StoreError, f"cannot make the folder {folder}", hint):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        store = stored(used, damaged=damaged)
        if embedder is None and key is None and (adapter := sys.modules.get("memory.vectors.adapter")) is not None:
            used, embedder, key = adapter.chosen(used)  # not imported: nothing was set
        return cls(store, used, embedder=embedder, lasting=lasting, key=key)

    # Keeping -------------------------------------------------------------

    def save(
        self,
        draft: Draft,
        *,
        supersedes: Reference | None = None,
        entities: Sequence[Reference] = (),
        shared: bool = False,
    ) -> Saved:
        """
        Save a draft durably: once this returns, a crash of the process does not lose the memory.

        The same content of the same kind in the same scope is not saved twice; the result then has `known` set and the
        earlier memory.

        Args:
            draft: The memory to save. Secrets in it are replaced by markers.
            supersedes: A memory that the new one replaces, in the same transaction: its id, uid or the first 8
                characters of its uid.
            entities: The entities that the memory is about, by name or id.
            shared: Include a preference without a project in everybody's contexts, instead of its author's alone. Only
                matters if several people share the store.

        Raises:
            NotFound, Ambiguous, Invalid: `supersedes` or `entities` is not valid. Nothing was saved.
            StoreBusy, StoreFull, StoreReadOnly: The database could not be written. Nothing was saved.
        """
        old = None if supersedes is None else self.documents.resolve(supersedes)
        about = tuple(one.id for one in self.graph.entities(entities)) if entities else ()
        return self.documents.keep([draft], supersedes=old, entities=about, shared=shared)[0]

    def save_all(self, drafts: Sequence[Draft]) -> list[Saved]:
        """Save up to some hundreds of drafts, all or none, in one transaction. Errors as for `save`."""
        return self.documents.keep(drafts, patient=True)

    # Finding -------------------------------------------------------------

    def search(
        self,
        query: Query | str,
        *,
        limit: int | None = None,
        project: str | None = None,
        source: str | None = None,
        as_of: datetime | str | None = None,
        recorded: bool = True,
    ) -> Answer:
        """
        Find memories by keyword first, and by meaning if keywords are not enough.

            >>> engine.search("how do people log in", limit=3, project="my-app").hits
            >>> engine.search(Query("tokens", mode=Mode.HYBRID, scope=Scope(tags=frozenset({"auth"}))))

        Args:
            query: Text, searched in the configured mode, or a `Query`.
            limit: Maximum number of hits, 1..10,000; None takes the setting. This and the next three only for text.
            project, source: Only memories of this project or source.
            as_of: Search the memories as they were at a moment: a datetime, or text with a date (its end, in local
                time), a time in ISO format or an age such as "2w".
            recorded: Log the search for `search_statistics`; False for text that is still being typed.

        Raises:
            Invalid: The query is blank or too long, or a `Query` is combined with the arguments for text.
            EmbedError, SpaceMismatch: The model cannot be used; only in mode VECTOR or HYBRID.
            StoreDamaged: The database is damaged. This engine then refuses every further search, because a damaged file
                may return incomplete results.
        """
        from memory.search.search import search

        if self._damage is not None:
            hint = f"{self._damage.hint} Then start this program again: until then it searches no more."
            raise StoreDamaged(str(self._damage), hint=hint)
        if isinstance(query, str):
            projects, sources = (frozenset({name} if name else ()) for name in (project, source))
            scope = Scope(projects=projects, sources=sources)
            limit = self.config.search.limit if limit is None else limit
            moment = last_moment(as_of) if isinstance(as_of, str) else as_of
            query = Query(query, limit, mode=Mode(self.config.search.mode), scope=scope, as_of=moment)
        elif (limit, project, source, as_of) != (None, None, None, None):
            raise Invalid("limit, project, source and as_of belong into the Query")
        if self.config.project_aliases:
            query = replace(query, scope=self.documents.scope(query.scope))
        vectors = self.vectors
        if query.asked and query.mode is Mode.VECTOR:
            vectors.renew_baseline()
        backfill = vectors.backfill_awaited if query.asked else vectors.backfill_queued
        find = partial(
            search,
            store=self.store,
            embedders=lambda: vectors.embedders,
            gate_options=self._gate_options,
            fusing=self._fusing,
            now=self.now,
            backfill=backfill,
        )
        try:
            answer = self._answered(query, find)
            if (
                answer.outcome is Outcome.NOTHING_SAVED
                and (saved := self.documents.as_saved(query.scope)) != query.scope
            ):
                answer = self._answered(replace(query, scope=saved), find)
            answer = answer._replace(query=query)
            if answer.outcome is Outcome.NOTHING_SAVED:
                answer = answer._replace(notices=(*answer.notices, *self.documents.unmet(query.scope)))
        except StoreDamaged as error:
            self._damage = StoreDamaged(str(error), hint=error.hint)  # a copy: the traceback would keep rows alive
            raise
        if recorded:
            self.searches.record(answer.searched(self.now()), answer.steps, mode=query.mode, outcome=answer.outcome)
        if self._lasting:
            vectors.searched()
        return answer

    def _answered(self, query: Query, find: Callable[[Query], Answer]) -> Answer:
        return self._as_of(query) or self._in_time(query, find) or find(query)

    def _as_of(self, query: Query) -> Answer | None:
        """The answer from memories as they were at `query.as_of`; None if that is not set."""
        if query.as_of is None:
            return None
        from memory.engine.scopes import states
        from memory.search.as_of import answered

        return answered(query, states(self.store, query.scope, query.as_of, self.now()))

    def _in_time(self, query: Query, find: Callable[[Query], Answer]) -> Answer | None:
        """The answer to a question that names a time; None if it names none."""
        settings, scope = self.config.search, query.scope
        bounds = (scope.since, scope.until, scope.happened_since, scope.happened_until)
        read = query.time and settings.time and settings.profile != "documented" and not any(bounds)
        if not read:
            return None
        from memory.text.terms import may_name_a_time

        if not may_name_a_time(query.text):
            return None
        from memory.search.when import in_time

        return in_time(query, find, self.store, self.now(), model=self.vectors.embedders.enabled)

    @cached_property
    def _gate_options(self) -> GateOptions:
        """How far a search goes, by the settings."""
        from memory.search.gate import GateOptions

        settings = self.config.search
        gate = Gate.COUNT if settings.profile == "documented" else Gate(settings.gate)
        effort = None if isinstance(settings.effort, str) else settings.effort
        return GateOptions(gate, settings.min_fts_results, effort, lasting=self._lasting)

    @cached_property
    def _fusing(self) -> Fusing:
        """How a hybrid search weighs its retrievers, by the settings."""
        from memory.search.fuse import DOCUMENTED, Fusing

        settings = self.config.search
        weights = round(1 - settings.vector_weight, 9), settings.vector_weight  # 1 - 0.7 is not quite 0.3
        if settings.profile == "documented":
            return DOCUMENTED._replace(weights=weights)
        return Fusing(
            weights,
            Merge(settings.merge),
            settings.candidates,
            settings.deepen,
            settings.neighbours,
            settings.distilled == "auto",
            settings.combined == "auto",
            settings.half_life_days,
        )

    def _nearby(self, wanted: NearQuery) -> EntityAnswer:
        from memory.search.near import search_entities

        vectors = self.vectors
        if wanted.judged:
            vectors.renew_baseline()
        found = search_entities(
            wanted, self.store, lambda: vectors.embedders, self._fusing, backfill=vectors.backfill_awaited
        )
        steps, outcome = found.steps, found.outcome or "not judged"
        self.searches.record(found.searched(self.now()), steps, mode="nearby", outcome=outcome)
        return found

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
        Build the text that an agent reads before it starts: memories about the task, then recent ones.

        Memories of research runs are left out unless the scope names a run or a kind. In a shared store, other people's
        preferences are left out unless they were saved for everybody.

            >>> engine.context("fix the login", tokens=1500).text

        Args:
            about: The task; "" shows recent memories only.
            scope: Which memories may be included.
            limit: Maximum number of memories; None takes the setting.
            tokens: Maximum size of the text, estimated; None takes the setting.
            semantic: Whether to use vectors: "auto", "always" or "never"; None takes the setting.
            topup_recent: Whether to fill up with recent memories; None takes the setting.
            beside: Returns text to append, given the number of omitted memories and the notices; it counts towards
                `tokens`.
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
        scope = self.documents.scope(scope)
        if self.store.shared:
            scope = scope._replace(owners=frozenset({self.config.author, NONE}))
        asked = partial(
            context,
            self.store,
            lambda: self.vectors.embedders,  # imported only if there is a task
            self.search,
            about=about,
            semantic=semantic,
            room=room,
            now=self.now(),
        )
        found = self.documents.met(scope, asked, lambda found: bool(found.memories or found.omitted))
        if found.memories or found.omitted or found.answer:  # then the search has reported what is missing
            return found
        return replace(found, notices=(*found.notices, *self.documents.unmet(scope)))

    def close(self) -> None:
        """Stop the background thread and close the database."""
        try:
            self.vectors.close()
        finally:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Methods of the parts under short names; documented there -----------------------------------

    def update(self, /, reference: Reference, **changes: Any) -> Saved:
        """Change fields of a memory; its history keeps the earlier version. See `Documents.update`."""
        return self.documents.update(reference, **changes)

    def delete(self, reference: Reference, *, purge: bool = False) -> Memory:
        """Move a memory to the trash, restorable for `trash.days`, or purge it. See `Trash.delete`."""
        return self.trash.delete(reference, purge=purge)

    def cleanup(self, days: int = 90, *, kinds: Iterable[str] = (), dry_run: bool = True) -> Aged:
        """
        Move session memories older than some days to the trash; by default only count them.

        See `Trash.cleanup`.
        """
        return self.trash.cleanup(days, kinds=kinds, dry_run=dry_run)

    def get(self, reference: Reference) -> Memory:
        """
        The memory with this id, uid or beginning of a uid (from 8 characters). Raises NotFound or Ambiguous.

        See `Documents.get`.
        """
        return self.documents.get(reference)

    def details(self, reference: Reference, *, count: bool = True) -> Details:
        """A memory with its body, its history and the state of its embedding. See `Documents.details`."""
        return self.documents.details(reference, count=count)

    def recent(self, scope: Scope = ACTIVE, limit: int = 20, *, after: Memory | None = None) -> Sequence[Memory]:
        """
        A page of the memories in scope, last changed first; `after` is the last memory of the page before.

        See `Documents.recent`.
        """
        return self.documents.recent(scope, limit, after=after)

    def by_iteration(self, scope: Scope = ACTIVE, limit: int = 20, *, latest_first: bool = True) -> Sequence[Memory]:
        """
        Memories in scope, sorted by session iteration, highest first, then by time, latest first.

        See `Documents.by_iteration`.
        """
        return self.documents.by_iteration(scope, limit, latest_first=latest_first)

    def expand(self, chunk_id: int | str, around: int = 2) -> Expanded:
        """A chunk with its neighbours, by the `chunk_id` of a hit. See `Documents.expand`."""
        return self.documents.expand(chunk_id, around)

    def reconstruct(self, reference: Reference) -> Document:
        """A memory with its body, checked against its chunks. See `Documents.reconstruct`."""
        return self.documents.reconstruct(reference)

    def session(self, id: str) -> Session:
        """Counts and times of a session's memories. See `Sessions.one`."""
        return self.sessions.one(id)

    def resume(self, session: str, iteration: int | str | None = None) -> Resumed:
        """
        Everything to continue a session: its latest context, all prompts, recent reports and working memory.

        See `Sessions.resume`.
        """
        return self.sessions.resume(session, iteration)

    def embed(self, progress: Progress = quiet, *, memories: Sequence[MemoryId] | None = None) -> Backfilled:
        """Embed all waiting chunks, including those that failed before. See `Vectors.embed`."""
        return self.vectors.embed(progress, memories=memories)

    def reindex(self, progress: Progress = quiet, *, keep: bool = False) -> Reindexed:
        """
        Embed everything with the configured model, then switch searches to the new vectors.

        See `Vectors.reindex`.
        """
        return self.vectors.reindex(progress, keep=keep)

    def roll_back(self) -> RolledBack:
        """Switch searches back to the vectors, and the model, from before the last reindex. See `Vectors.roll_back`."""
        return self.vectors.roll_back()

    def forecast(self) -> Forecast:
        """Estimate the cost of `reindex`. Changes nothing and sends nothing. See `Vectors.estimate`."""
        return self.vectors.estimate()

    def ledger(self, days: int = 30, *, each: bool = False) -> Sequence[UsageEntry]:
        """Embedding usage, latest first: one entry for each day (UTC), or for each request. See `Vectors.ledger`."""
        return self.vectors.ledger(days, each=each)

    def embedding(self, id: MemoryId) -> Embedding:
        """
        The state of a memory's embedding: "generated", "pending", "failed", "outdated", "none" or "excluded".

        See `Vectors.embedding`.
        """
        return self.vectors.embedding(id)

    def learn(self, *, anew: bool = False, whole: bool = True, going: Callable[[], bool] = lambda: True) -> int:
        """
        Learn term vectors from the model's vectors, so that fewer searches call the model (docs/ranking.md).

        See `Vectors.learn`.
        """
        return self.vectors.learn(anew=anew, whole=whole, going=going)

    def search_statistics(self, days: int | None = None) -> Statistics:
        """Search statistics: counts, latency, tiers. See `SearchLog.statistics`."""
        return self.searches.statistics(days)

    def status(self) -> Status:
        """
        Counts of memories, the stored vectors, spending and problems.

        See `Maintenance.status`.
        """
        return self.maintenance.status()

    def doctor(self, *, fix: bool = False) -> tuple[Finding, ...]:
        """
        Check the database, the settings and the model; repair problems if asked.

        See `Maintenance.doctor`.
        """
        return self.maintenance.doctor(fix=fix)


def stored(config: Config, *, damaged: bool = False, older: bool = False) -> Movable:
    """
    Open the store that the settings name: a file or a server. The modules of the other are not imported.

    Args:
        damaged: Open even a file that SQLite refuses.
        older: Open even a file of an older format, to move its rows.

    Raises:
        StoreError: It cannot be used, or needs a package that is not installed.
    """
    how: dict[str, Any] = {"busy_seconds": config.store.busy_seconds, "exact": config.search.exact}
    if not config.store.url:
        from memory.store.sqlite import SqliteStore

        return SqliteStore(config.database, damaged=damaged, older=older, **how)
    try:
        from memory.store.postgres import PostgresStore
    except ImportError as error:
        hint = "Install the extra: pip install 'tiermem[postgres]'."
        raise StoreError(f"store.url needs a package that is not installed: {error.name}", hint=hint) from error
    return PostgresStore(config.store.url, folder=config.folder, **how)
