"""The whole library in one object: `Engine` builds the parts that a configuration names and offers their methods."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

from memory.config.config import Config, load
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
    from memory.schema.document import Details, Document, Embedding, Expanded, Resumed
    from memory.schema.draft import Draft, Saved
    from memory.schema.holder import Backfilled
    from memory.schema.memory import Memory, MemoryId, Reference
    from memory.schema.space import UsageEntry
    from memory.search.context import Beside, Context as Context
    from memory.search.fuse import Fusing
    from memory.search.match import GateOptions
    from memory.search.near import EntityAnswer, NearQuery
    from memory.store import Session, Store
    from memory.store.tables import Movable
    from memory.vectors import Embedder
    from memory.vectors.reindex import Forecast, Reindexed, RolledBack


class Engine:
    """
    Memories that can be found again.

        >>> with Engine.open() as engine:
        ...     engine.save(Draft(title="WAL", what="Readers never block the writer", project="db"))
        ...     engine.search("do readers block").hits[0].memory.title

    Safe to use from several threads, and alongside other processes on the same database.

    It is made of parts: `documents`, `tags`, `sessions`, `graph`, `runs`, `trash`, `vectors`, `searches`, `maintenance`.
    What needs several of them is here; what one of them does is called there, or by the short names at the end.

    Attributes:
        store, config: What it was built with.
        now: The clock: it dates all that is stored, and all that is compared with what is stored.
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
        Takes an open store; `open` makes one from a configuration.

        Args:
            embedder: Replaces the configured one.
            now: Replaces the clock, which is the store's.
            key: The provider's key; replaces the one in the environment.
            lasting: Whether the process lives long enough for a thread that embeds the queue; a command does not.
        """
        # Made here is what every call needs; what finds, saves or embeds is imported and made at first use.
        now = store.now if now is None else now
        self.store, self.config, self.now = store, config, now
        store.user = config.author
        self.searches = SearchLog(store.path, now, config.search.slow_seconds)
        self.vectors = Vectors(store, config, now, embedder=embedder, key=key, lasting=lasting)
        self.documents = Documents(store, config, now, vectors=self.vectors, searches=self.searches)
        self._lasting = lasting
        self._damage: StoreDamaged | None = None  # what the first search that met it said
        self.maintenance = Maintenance(store, config, documents=self.documents, vectors=self.vectors)

    @property
    def sessions(self) -> Sessions:
        """Its part for sessions."""
        from memory.engine.sessions import Sessions

        return Sessions(self.store)

    @property
    def graph(self) -> Entities:
        """Its part for entities and their relations."""
        from memory.engine.graph import Entities

        return Entities(self.store, self.now, documents=self.documents, search=self._nearby)

    def mirror(self, folder: Path, project: str | None = None) -> Mirror:
        """A folder of Markdown kept in step with the memories, of one project or all; see `memory.engine.mirror`."""
        from memory.config.walk import Own
        from memory.engine.mirror import Mirror

        parts = self.store, self.documents, self.graph, self.trash
        return Mirror(folder, *parts, project=project, now=self.now, own=Own(self.config.folder))

    def similar(self, memory: Memory) -> Memory | None:
        """The memory that says nearly the same; see `memory.search.similar`. No model is asked, nothing is recorded."""
        from memory.search.similar import similar

        return similar(self.store, memory)

    def outdated(self, memory: Memory) -> Memory | None:
        """The older note of which this one says something else; see `memory.search.newer`. No model is asked."""
        from memory.search.newer import outdated

        return outdated(self.store, memory)

    def replaceable(self, memory: Memory) -> Memory | None:
        """What a memory that was just saved may replace: one that says nearly the same, else an older note that is outdated."""
        with self.store.snapshot():
            return self.similar(memory) or self.outdated(memory)

    def renewed(self, memories: Sequence[Memory]) -> list[tuple[MemoryId, MemoryId, float]]:
        """Pairs of these of which the second says something else of the same thing; see `memory.search.newer`."""
        from memory.search.newer import renewed

        return renewed(memories)

    @property
    def tags(self) -> Tags:
        """Its part for tags."""
        from memory.engine.scopes import Tags

        return Tags(self.store, documents=self.documents, vectors=self.vectors)

    @property
    def runs(self) -> Runs:
        """Its part for research runs."""
        from memory.engine.sessions import Runs

        return Runs(self.store, self.now, documents=self.documents, trash=self.trash)

    @property
    def trash(self) -> Trash:
        """Its part for what is deleted and what can be undone."""
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
        Open the user's memory, made if it is missing.

        Args:
            config: None loads the user's settings; the URL of a PostgreSQL database is put in place of the one in them.
            home: The folder of the database; replaces the configured one.
            damaged: Open even a file that SQLite refuses, to export what can be read.
            embedder, lasting, key: See `Engine`. If neither embedder nor key is given, the choice of
                `set_embedding_provider` applies.

        Raises:
            ConfigError: The settings cannot be used.
            StoreError: The database cannot be used; it was not touched.
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
            used, embedder, key = adapter.chosen(used)  # if nobody imported it, nothing was chosen
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
        Keep a draft. When this returns, the memory survives whatever happens to this process.

        The same content of the same kind in the same scope is not saved twice; the answer then holds the known memory.

        Args:
            supersedes: The memory that no longer holds; it is retired in the same transaction.
            entities: The entities it is about, by name or id.
            shared: Of a preference of no project, where several people share the store: it stands in everybody's contexts,
                not in its author's alone.

        Raises:
            NotFound, Ambiguous, Invalid: About `supersedes` or `entities`. Nothing was saved.
            StoreBusy, StoreFull: Nothing was saved.
        """
        old = None if supersedes is None else self.documents.resolve(supersedes)
        about = tuple(one.id for one in self.graph.entities(entities)) if entities else ()
        return self.documents.keep([draft], supersedes=old, entities=about, shared=shared)[0]

    def save_all(self, drafts: Sequence[Draft]) -> list[Saved]:
        """Keep drafts in one transaction: all of them or none. Meant for some hundreds at a time."""
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
        Find memories, by keyword first and by meaning if that is not enough.

        Args:
            query: A text is asked with the configured limit and mode.
            limit, project, source, as_of: Only for a text; a `Query` has its own. As of a moment, a date (its end, in local
                time) or an age, memories are found as they were then; see `Query`.
            recorded: Count it among the searches, see `search_statistics`; not what somebody is still typing.

        Raises:
            Invalid: The query is blank or too long.
            EmbedError, SpaceMismatch: Only in mode VECTOR or HYBRID.
            StoreDamaged: The database is, or was when this engine searched it before: it is not read again, since what a
                damaged file answers may lack something each time.
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
            self._damage = StoreDamaged(str(error), hint=error.hint)  # without its traceback, which would keep the rows
            raise
        if recorded:
            self.searches.record(answer.searched(self.now()), answer.steps, mode=query.mode, outcome=answer.outcome)
        if self._lasting:
            vectors.searched()
        return answer

    def _answered(self, query: Query, find: Callable[[Query], Answer]) -> Answer:
        return self._as_of(query) or self._in_time(query, find) or find(query)

    def _as_of(self, query: Query) -> Answer | None:
        """The answer from memories as they were at a moment; None if it is asked of now."""
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
        from memory.search.match import GateOptions

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
        What an agent should read before it starts: what is known about a task, then what is recent. Nothing of a research
        run is included, unless the scope names a run or a kind; and no preference of somebody else's, where several people
        share the store, unless it was saved for everybody.

        Args:
            about: The task; if empty, only recent memories are shown.
            semantic: Whether to use vectors: "auto", "always" or "never"; None uses the setting.
            beside: Makes the text that follows, from how many more memories there are and the notices;
                it counts towards the budget.
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
            lambda: self.vectors.embedders,  # without a question nothing of them is imported
            self.search,
            about=about,
            semantic=semantic,
            room=room,
            now=self.now(),
        )
        found = self.documents.met(scope, asked, lambda found: bool(found.memories or found.omitted))
        if found.memories or found.omitted or found.answer:  # whose search has said what is missing
            return found
        return replace(found, notices=(*found.notices, *self.documents.unmet(scope)))

    def close(self) -> None:
        try:
            self.vectors.close()
        finally:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Methods of one part, under a short name: each is told of there -----------------------------------

    def update(self, /, reference: Reference, **changes: Any) -> Saved:
        """Correct a memory in place; its history keeps what it said before. See `Documents.update`."""
        return self.documents.update(reference, **changes)

    def delete(self, reference: Reference, *, purge: bool = False) -> Memory:
        """Remove a memory with everything derived from it. It can be restored for `trash.days`. See `Trash.delete`."""
        return self.trash.delete(reference, purge=purge)

    def cleanup(self, days: int = 90, *, kinds: Iterable[str] = (), dry_run: bool = True) -> Aged:
        """
        Remove memories of sessions that were made more than some days ago. They can be restored for `trash.days`.

        See `Trash.cleanup`.
        """
        return self.trash.cleanup(days, kinds=kinds, dry_run=dry_run)

    def get(self, reference: Reference) -> Memory:
        """
        The memory that a reference names. NotFound if there is none, Ambiguous if there are several.

        See `Documents.get`.
        """
        return self.documents.get(reference)

    def details(self, reference: Reference, *, count: bool = True) -> Details:
        """A memory with its body and its history. See `Documents.details`."""
        return self.documents.details(reference, count=count)

    def recent(self, scope: Scope = ACTIVE, limit: int = 20, *, after: Memory | None = None) -> Sequence[Memory]:
        """
        Memories in scope, last changed first; `after` continues behind the last one of a page.

        See `Documents.recent`.
        """
        return self.documents.recent(scope, limit, after=after)

    def by_iteration(self, scope: Scope = ACTIVE, limit: int = 20, *, latest_first: bool = True) -> Sequence[Memory]:
        """
        Memories in scope, the highest iteration of the session first, then the latest; nothing is searched.

        See `Documents.by_iteration`.
        """
        return self.documents.by_iteration(scope, limit, latest_first=latest_first)

    def expand(self, chunk_id: int | str, around: int = 2) -> Expanded:
        """A chunk with its neighbours. See `Documents.expand`."""
        return self.documents.expand(chunk_id, around)

    def reconstruct(self, reference: Reference) -> Document:
        """A memory with its body, and whether its chunks still tile it. See `Documents.reconstruct`."""
        return self.documents.reconstruct(reference)

    def session(self, id: str) -> Session:
        """What is kept of a session. See `Sessions.one`."""
        return self.sessions.one(id)

    def resume(self, session: str, iteration: int | str | None = None) -> Resumed:
        """
        What an agent needs to go on with a session: its latest context, all prompts, recent reports and working memory.

        See `Sessions.resume`.
        """
        return self.sessions.resume(session, iteration)

    def embed(self, progress: Progress = quiet, *, memories: Sequence[MemoryId] | None = None) -> Backfilled:
        """Embed all that waits for a vector, also what failed before. See `Vectors.embed`."""
        return self.vectors.embed(progress, memories=memories)

    def reindex(self, progress: Progress = quiet, *, keep: bool = False) -> Reindexed:
        """
        Embed what has no vector in the configured model's space, then let that space answer.

        See `Vectors.reindex`.
        """
        return self.vectors.reindex(progress, keep=keep)

    def roll_back(self) -> RolledBack:
        """Let the vectors answer that did before the last reindex, with their own model. See `Vectors.roll_back`."""
        return self.vectors.roll_back()

    def forecast(self) -> Forecast:
        """What `reindex` would take. Nothing is changed and nothing leaves the process. See `Vectors.estimate`."""
        return self.vectors.estimate()

    def ledger(self, days: int = 30, *, each: bool = False) -> Sequence[UsageEntry]:
        """What was embedded, latest first: summed over each day (UTC), or each request. See `Vectors.ledger`."""
        return self.vectors.ledger(days, each=each)

    def embedding(self, id: MemoryId) -> Embedding:
        """
        Whether a memory can be found by its meaning: "generated", "pending", "failed" or "outdated", and why.

        See `Vectors.embedding`.
        """
        return self.vectors.embedding(id)

    def learn(self, *, anew: bool = False, whole: bool = True, going: Callable[[], bool] = lambda: True) -> int:
        """
        Learn what the words of this store mean to its model, so that fewer searches need the model (docs/ranking.md).

        See `Vectors.learn`.
        """
        return self.vectors.learn(anew=anew, whole=whole, going=going)

    def search_statistics(self, days: int | None = None) -> Statistics:
        """How many searches there were, how long they took and how far they went. See `SearchLog.statistics`."""
        return self.searches.statistics(days)

    def status(self) -> Status:
        """
        How much is kept, which vectors there are, and what keeps the engine from doing all it could.

        See `Maintenance.status`.
        """
        return self.maintenance.status()

    def doctor(self, *, fix: bool = False) -> tuple[Finding, ...]:
        """
        Look at everything there is, also whether the model answers, and mend what can be mended.

        See `Maintenance.doctor`.
        """
        return self.maintenance.doctor(fix=fix)


def stored(config: Config, *, damaged: bool = False, older: bool = False) -> Movable:
    """
    The store that the settings name, open. Nothing of the other is imported.

    Args:
        damaged: Open even a file that SQLite refuses.
        older: Open even a file of an older format, of which only the rows are read, to move them.

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
