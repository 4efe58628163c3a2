"""What is kept as documents and sessions, read without searching, and the parts for runs and the graph: how `Engine` goes by place and age."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import NotFound, StoreError, StoreReadOnly
from memory.schema.limits import iteration as numbered, short
from memory.schema.query import ACTIVE, Granularity, Notice, Searched, check_limit, sort_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from memory.embed.pool import Embedders
    from memory.engine.graph import Entities
    from memory.engine.runs import Runs
    from memory.rank.fuse import Fusing
    from memory.schema.backfill import Backfilled
    from memory.schema.document import Document, Expanded, Resumed
    from memory.schema.memory import Chunk, ChunkId, Memory, MemoryId
    from memory.schema.query import Scope
    from memory.search.near import Nearby, Wanted
    from memory.store import Aged, Session, Store
    from memory.write.backfill import Backfill
    from memory.write.sanitize import Sanitizer
    from memory.write.save import Plan, Saved


SCOPED = "scoped"
"""In place of a tier: nothing was searched for, what is in scope was shown."""


class Read(NamedTuple):
    """A memory with its body."""

    memory: Memory
    body: str


class Archive:
    """Base of `memory.engine.Engine`."""

    _store: Store
    _now: Callable[[], datetime]
    resolve: Callable[[int | str], MemoryId]
    _known_as: Callable[[Scope], Scope]
    _counted: Callable[..., None]
    get: Callable[[int | str], Memory]
    _revised: Callable[..., Saved]
    _keep: Callable[[Sequence[Plan], Backfill], list[Saved]]
    _backfill: Callable[[], Backfill]
    _backfill_queued: Callable[[int], Backfilled | None]
    _embedders: Embedders
    _sanitizer: Sanitizer
    _fusing: Fusing

    @property
    def graph(self) -> Entities:
        """Its part for entities and what they have to do with each other."""
        from memory.engine.graph import Entities

        parts = (self._store, self._sanitizer, self._now)
        return Entities(*parts, get=self.get, resolve=self.resolve, revised=self._revised, search=self._nearby)

    @property
    def runs(self) -> Runs:
        """Its part for research runs."""
        from memory.engine.runs import Runs

        return Runs(self._store, self._sanitizer, self._now, keep=lambda plans: self._keep(plans, self._backfill()))

    def _nearby(self, wanted: Wanted) -> Nearby:
        from memory.search.near import nearby

        found = nearby(wanted, self._store, lambda: self._embedders, self._fusing, backfill=self._backfill_queued)
        self._counted(found.searched(self._now()), found.steps, mode="nearby", outcome=found.outcome or "not judged")
        return found

    def by_iteration(self, scope: Scope = ACTIVE, limit: int = 20, *, latest_first: bool = True) -> Sequence[Memory]:
        """
        Memories in scope, the highest iteration of the session first, then the latest; nothing is searched.

        Args:
            latest_first: False turns the order round.

        Raises:
            Invalid: The limit is not 1..10,000.
        """
        check_limit(limit)
        return self._store.by_iteration(self._known_as(scope), limit, latest_first=latest_first)

    def read(self, memories: Sequence[Memory]) -> tuple[tuple[Read, ...], tuple[Notice, ...]]:
        """Memories with their bodies, each counted as accessed; those deleted meanwhile are left out. And notices."""
        ids = [memory.id for memory in memories]
        notices = self.accessed(ids)
        found, bodies = self._store.memories(ids), self._store.bodies(ids)
        return tuple(Read(found[id], bodies[id]) for id in ids if id in found and id in bodies), notices

    def documents(
        self, scope: Scope, limit: int, *, latest_first: bool = True
    ) -> tuple[tuple[Read, ...], tuple[Notice, ...]]:
        """
        What `by_iteration` gives, read whole, as the tools for whole documents show it; it counts as a search.

        Raises:
            Invalid: The limit is not 1..10,000.
        """
        begun = perf_counter()
        found = self.read(self.by_iteration(scope, limit, latest_first=latest_first))
        type, seconds = sort_of(Granularity.COARSE, scope), perf_counter() - begun
        one = Searched(self._now(), type, SCOPED, seconds, limit, len(found[0]), scope.filters)
        self._counted(one, mode=SCOPED, outcome="listed")
        return found

    def outline(self, reference: int | str) -> Sequence[tuple[ChunkId, Chunk]]:
        """
        The chunks of a memory, in order.

        Raises:
            NotFound, Ambiguous: It names no memory, or several.
        """
        return self._store.outline(self.resolve(reference))

    def accessed(self, ids: Sequence[MemoryId]) -> tuple[Notice, ...]:
        """Count that memories were read whole; a notice if somebody else was writing."""
        if not ids:
            return ()
        try:
            self._store.touch(ids, self._now())
        except StoreReadOnly:
            return ()  # whoever may only read leaves no trace
        except StoreError as error:
            return (Notice(f"this access was not counted: {error}", error.hint),)
        return ()

    def expand(self, chunk_id: int | str, around: int = 2) -> Expanded:
        """
        A chunk with its neighbours.

        Args:
            around: How many on either side, 0..100; at the ends of the body there are fewer.

        Raises:
            NotFound: No such chunk.
            Invalid: One of the numbers is none.
        """
        from memory.search.documents import expand

        return expand(self._store, chunk_id, around)

    def reconstruct(self, reference: int | str) -> Document:
        """
        A memory with its body, and whether its chunks still tile it.

        Raises:
            NotFound, Ambiguous: It names no memory, or several.
        """
        from memory.search.documents import reconstruct

        return reconstruct(self._store, self.resolve(reference))

    def sessions(self, limit: int = 20, *, agent: str | None = None) -> tuple[Sequence[Session], int]:
        """
        The sessions with the latest activity, latest first, and how many there are.

        Args:
            agent: Counts what this agent wrote alone.

        Raises:
            Invalid: The limit is not 1..10,000.
        """
        check_limit(limit)
        return self._store.sessions(limit, agent)

    def session(self, id: str) -> Session:
        """
        What is kept of a session.

        Raises:
            NotFound: Nothing is.
        """
        if (found := self._store.session(id)) is None:
            raise NotFound(
                f"nothing is kept of session {short(id)}", hint="`memory session list` shows those there are."
            )
        return found

    def resume(self, session: str, iteration: int | str | None = None) -> Resumed:
        """
        What an agent needs to go on with a session: its latest context, all prompts, recent reports and working memory.

        Args:
            iteration: 1, "1" or "v1": the context is the latest up to this one; None takes the latest of all.

        Raises:
            NotFound: Nothing is kept of the session.
            Invalid: The iteration is none.
        """
        from memory.search.documents import resume

        return resume(self._store, self.session(session).id, numbered(iteration))

    def cleanup(self, days: int = 90, *, kinds: Iterable[str] = (), dry_run: bool = True) -> Aged:
        """
        Remove memories of sessions that were made more than some days ago.

        Args:
            days: From 0.
            kinds: In place of those that belong to a session: all session kinds but the knowledge base.
            dry_run: Only count them.

        Raises:
            Invalid: The days are no such number, or a kind is none.
        """
        from memory.write.cleanup import cleanup

        return cleanup(self._store, days, kinds, moment=self._now(), dry_run=dry_run)
