"""The parts of an engine for sessions and research runs, in which several agents work under one name."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.answer import Notice
from memory.schema.errors import (
    BODY_LIMIT,
    NAME_LIMIT,
    Invalid,
    NotFound,
    check_text,
    checked_name,
    clipped_repr,
    iteration as numbered,
    kept_before,
)
from memory.schema.kinds import BY_AUTHOR, RESEARCH_KINDS, TOOL_TYPES, Kind
from memory.schema.query import Scope, check_limit, normalised
from memory.store import Run, Session, Store, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from memory.engine.documents import Documents
    from memory.engine.trash import Trash
    from memory.keep.removing import Aged as Aged, Cleared as Cleared
    from memory.schema.draft import Draft, Saved
    from memory.schema.memory import Memory, MemoryId, Resumed

__all__ = ["Logged", "Run", "Runs", "Session", "Sessions", "ToolCall"]
"""Includes what tools use of lower rooms."""

PAGE = 1000  # calls or memories read or removed at once


class Sessions:
    """The memories of sessions. `memory.engine.Engine.sessions` is one; calling it is `latest`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def latest(self, limit: int = 20, *, agent: str | None = None) -> tuple[Sequence[Session], int]:
        """
        The sessions with the latest activity, latest first, and how many there are.

        Args:
            agent: Count only memories of this agent.

        Raises:
            Invalid: The limit is out of range.
        """
        check_limit(limit)
        return self._store.sessions.latest(limit, agent=agent and agent.strip())

    __call__ = latest

    def one(self, id: str) -> Session:
        """
        Counts and times of a session's memories.

        Raises:
            NotFound: The session has no memories.
        """
        found, _ = self._store.sessions.latest(1, id=id.strip())
        if not found:
            raise NotFound(f"there is no session {clipped_repr(id)}", hint="`memory session list` shows the sessions.")
        return found[0]

    def resume(self, session: str, iteration: int | str | None = None) -> Resumed:
        """
        Everything to continue a session: its latest context, all prompts, recent reports and working memory.

        Args:
            iteration: 1, "1" or "v1" takes the newest context up to this iteration; None takes the newest of all.

        Raises:
            NotFound: The session has no memories.
            Invalid: The iteration is not a valid number.
        """
        from memory.search.context import resume

        return resume(self._store, self.one(session).id, numbered(iteration))


class Logged(NamedTuple):
    """A recorded tool call, by its id."""

    id: int
    notices: tuple[Notice, ...] = ()


class Runs:
    """The memories and tool calls of research runs. `memory.engine.Engine.runs` makes it."""

    def __init__(self, store: Store, now: Callable[[], datetime], *, documents: Documents, trash: Trash) -> None:
        self._store, self._now, self._documents, self._trash = store, now, documents, trash

    def new(self) -> str:
        """A new name for a run, e.g. "query_1767225600_4711"; saves nothing."""
        while True:
            number = int.from_bytes(os.urandom(4)) % 1_000_000
            if not self._store.runs.latest(1, id=(name := f"query_{self._now().timestamp():.0f}_{number}"))[0]:
                return name

    def renew(self, draft: Draft) -> Saved:
        """
        Replace the agent's latest memory of the draft's kind in its run, or save the first one.

        Raises:
            StoreBusy, StoreFull: Nothing was saved.
        """
        return self._documents.keep([draft], renews=BY_AUTHOR)[0]

    def memories(
        self, run: str | None, kinds: Sequence[Kind] = RESEARCH_KINDS, limit: int = 10_000
    ) -> Sequence[Memory]:
        """
        Memories of a run, most recently updated first.

        Args:
            run: Its name; None takes all runs.
            kinds: Only these kinds.
            limit: Maximum number, 1..10,000.

        Raises:
            Invalid: The limit is out of range, or the name is not valid.
        """
        check_limit(limit)
        check_text("run", run or "", NAME_LIMIT)
        runs = frozenset(() if run is None else (run,))
        return self._store.memories.page(normalised(Scope(kinds=frozenset(kinds), runs=runs)), limit)

    def bodies(self, memories: Sequence[Memory]) -> Mapping[MemoryId, str]:
        """The bodies of memories, by id. Not counted as an access: agents read a run every few seconds."""
        return self._store.memories.bodies([memory.id for memory in memories])

    def latest(self, limit: int = 20) -> tuple[Sequence[Run], int]:
        """
        The runs with the latest activity, latest first, and how many there are.

        Raises:
            Invalid: The limit is out of range.
        """
        check_limit(limit)
        return self._store.runs.latest(limit)

    def run(self, id: str) -> Run:
        """
        Counts and times of a run.

        Raises:
            NotFound: The run has no memories and no tool calls.
            Invalid: The name is not valid.
        """
        check_text("run", id, NAME_LIMIT)
        found, _ = self._store.runs.latest(1, id=id)
        if not found:
            raise NotFound(f"there is no run {clipped_repr(id)}", hint="`memory run list` shows the runs.")
        return found[0]

    def name(self, given: str) -> str:
        """
        The name of a run as it is saved.

        Raises:
            Invalid: The name is not valid, or looks like a secret, which a save would remove.
        """
        found = checked_name("the name of the run", given)
        if self._documents.clean(found) != found:
            raise Invalid("the name of the run looks like a secret, and secrets are never saved", hint="Take another.")
        return found

    def clear(self, run: str | None, *, calls: bool = False) -> Cleared:
        """
        Move the research memories of a run to the trash; returns how many memories and tool calls.

        Memories that other processes save meanwhile may remain.

        Args:
            run: Its name; None clears all runs.
            calls: Also delete the tool calls, permanently.

        Raises:
            Invalid: The name is not valid.
        """
        from memory.keep.removing import Cleared, clear_run  # not needed by a search

        check_text("run", run or "", NAME_LIMIT)
        gone, keep = Cleared(0, 0), self._trash.keep
        with kept_before(
            lambda: f"{sum(gone):,} were removed before that; the same call goes on." if any(gone) else ""
        ):
            while True:
                some = clear_run(self._store, run, keep, calls=calls, limit=PAGE)
                gone = Cleared(gone.memories + some.memories, gone.calls + some.calls)
                if max(some) < PAGE:  # all memories of that time are moved: do not chase agents that keep writing
                    break
        self._trash.wipe(keep, sum(gone))
        return gone

    def log(self, **said: Any) -> Logged:
        """
        Record a tool call. Secrets in parameters and result are removed, and long texts are cut.

        Args:
            said: Fields of a `memory.store.ToolCall`, all but `uid` and `moment`.

        Raises:
            Invalid: A field is not valid.
        """
        from uuid import uuid4  # not needed by a search

        call, notices = self.checked(ToolCall(uid=uuid4().hex, moment=self._now(), **said))
        return Logged(self._store.runs.log([call])[0], notices)

    def log_all(self, calls: Sequence[ToolCall]) -> Sequence[int]:
        """
        Record tool calls like `log`, but with their own uids and moments, all or none; returns their ids.
        A known call is not recorded again.

        Raises:
            Invalid: A call is not valid.
        """
        return self._store.runs.log([self.checked(call)[0] for call in calls])

    def calls(self, run: str | None = None, *, agent: str | None = None) -> Iterator[tuple[int, ToolCall]]:
        """
        Tool calls with their ids, oldest first, read a page at a time.

        Args:
            run: Only calls of this run.
            agent: Only calls of this agent.

        Raises:
            Invalid: A name is not valid.
        """
        check_text("run", run or "", NAME_LIMIT)
        check_text("agent", agent or "", NAME_LIMIT)
        after = 0
        while page := self._store.runs.calls(run, agent=agent, after=after, limit=PAGE):
            yield from page
            after = page[-1][0]

    def checked(self, call: ToolCall) -> tuple[ToolCall, tuple[Notice, ...]]:
        """
        A tool call as it is saved, and notices of what was removed or cut.

        Raises:
            Invalid: The call is not valid.
        """
        if call.type not in TOOL_TYPES:
            raise Invalid(f"no tool type {clipped_repr(call.type)}", hint=f"One of {', '.join(TOOL_TYPES)}.")
        if not isinstance(call.success, bool):
            raise Invalid(f"success is true or false, not {call.success!r}")
        notices: list[Notice] = []
        checked = call._replace(
            run=None if call.run is None else self._clean("query_id", call.run),
            agent=self._clean("agent_name", call.agent),
            tool=self._clean("tool_name", call.tool),
            parameters=self._cut("parameters", call.parameters, notices),
            result=self._cut("result", call.result, notices),
        )
        return checked, tuple(notices)

    def _clean(self, name: str, value: str) -> str:
        return checked_name(name, self._documents.clean(checked_name(name, value)))

    def _cut(self, name: str, text: str, notices: list[Notice]) -> str:
        """A text without its secrets, cut to `BODY_LIMIT` characters; a mark and a notice say so."""
        check_text(name, text, sys.maxsize)
        clean = self._documents.sanitizer.quoted(text)  # before cutting, because half a secret is not recognised
        clean = clean.encode(errors="backslashreplace").decode()  # JSON escapes may spell lone surrogates
        if len(clean) <= BODY_LIMIT:
            return clean
        notices.append(Notice(f"{name} of {len(clean):,} characters was cut to {BODY_LIMIT:,}"))
        mark = f"\n[cut here, of {len(clean):,} characters]"
        return clean[: BODY_LIMIT - len(mark)] + mark
