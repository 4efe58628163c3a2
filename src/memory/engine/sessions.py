"""Sessions and research runs: what a team of agents works on under one name. Two parts of an engine."""

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
    from memory.schema.document import Resumed
    from memory.schema.draft import Draft, Saved
    from memory.schema.memory import Memory, MemoryId

__all__ = ["Logged", "Run", "Runs", "Session", "Sessions", "ToolCall"]
"""With what tools need of the rooms below."""

PAGE = 1000  # calls or memories read or removed at once


class Sessions:
    """What is kept of sessions. `memory.engine.Engine.sessions` is one, and calling it is `latest`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def latest(self, limit: int = 20, *, agent: str | None = None) -> tuple[Sequence[Session], int]:
        """
        The sessions with the latest activity, latest first, and how many there are.

        Args:
            agent: Counts only what this agent wrote.

        Raises:
            Invalid: The limit is not 1..10,000.
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
        """A name for a run that nothing is kept of: "query_1767225600_4711"."""
        while True:
            number = int.from_bytes(os.urandom(4)) % 1_000_000
            if not self._store.runs.latest(1, id=(name := f"query_{self._now().timestamp():.0f}_{number}"))[0]:
                return name

    def renew(self, draft: Draft) -> Saved:
        """
        Keep a draft in place of what the same agent said last of this kind in the same run.

        Raises:
            StoreBusy, StoreFull: Nothing was saved.
        """
        return self._documents.keep([draft], renews=BY_AUTHOR)[0]

    def memories(
        self, run: str | None, kinds: Sequence[Kind] = RESEARCH_KINDS, limit: int = 10_000
    ) -> Sequence[Memory]:
        """
        What a run has of some kinds, last said first.

        Args:
            run: None takes all runs.

        Raises:
            Invalid: The limit is not 1..10,000, or no run can have such a name.
        """
        check_limit(limit)
        check_text("run", run or "", NAME_LIMIT)
        runs = frozenset(() if run is None else (run,))
        return self._store.memories.page(normalised(Scope(kinds=frozenset(kinds), runs=runs)), limit)

    def bodies(self, memories: Sequence[Memory]) -> Mapping[MemoryId, str]:
        """What memories say in full. It is not counted as an access: agents look into a run every few seconds."""
        return self._store.memories.bodies([memory.id for memory in memories])

    def latest(self, limit: int = 20) -> tuple[Sequence[Run], int]:
        """
        The runs with the latest activity, latest first, and how many there are.

        Raises:
            Invalid: The limit is not 1..10,000.
        """
        check_limit(limit)
        return self._store.runs.latest(limit)

    def run(self, id: str) -> Run:
        """
        What is kept of a run.

        Raises:
            NotFound: The run has nothing.
            Invalid: No run can have such a name.
        """
        check_text("run", id, NAME_LIMIT)
        found, _ = self._store.runs.latest(1, id=id)
        if not found:
            raise NotFound(f"there is no run {clipped_repr(id)}", hint="`memory run list` shows the runs.")
        return found[0]

    def name(self, given: str) -> str:
        """
        The name of a run as it is kept.

        Raises:
            Invalid: It is not a name, or it looks like a secret, which would be removed,
                so that nothing could be found under it.
        """
        found = checked_name("the name of the run", given)
        if self._documents.clean(found) != found:
            raise Invalid("the name of the run looks like a secret, and secrets are never saved", hint="Take another.")
        return found

    def clear(self, run: str | None, *, calls: bool = False) -> Cleared:
        """
        Remove what a run found out, and nothing else; it can be restored, see `Engine.trash`. What others keep meanwhile
        may stay.

        Args:
            run: None clears all runs.
            calls: Remove the tool calls too, for good.

        Raises:
            Invalid: No run can have such a name.
        """
        from memory.keep.removing import Cleared, clear_run  # a search does without

        check_text("run", run or "", NAME_LIMIT)
        gone, keep = Cleared(0, 0), self._trash.keep
        with kept_before(
            lambda: f"{sum(gone):,} were removed before that; the same call goes on." if any(gone) else ""
        ):
            while True:
                some = clear_run(self._store, run, keep, calls=calls, limit=PAGE)
                gone = Cleared(gone.memories + some.memories, gone.calls + some.calls)
                if max(some) < PAGE:  # everything found at that time: do not chase those who keep writing
                    break
        self._trash.wipe(keep, sum(gone))
        return gone

    def log(self, **said: Any) -> Logged:
        """
        Keep that a tool was used. Secrets are taken out of what it was given and gave, and what is too long is cut.

        Args:
            said: Fields of a `memory.store.ToolCall`, all but `uid` and `moment`.

        Raises:
            Invalid: One of them is not valid.
        """
        from uuid import uuid4  # a search does without

        call, notices = self.checked(ToolCall(uid=uuid4().hex, moment=self._now(), **said))
        return Logged(self._store.runs.log([call])[0], notices)

    def log_all(self, calls: Sequence[ToolCall]) -> Sequence[int]:
        """
        Keep calls as `log` does, all or none, but with their uids and moments; their ids.
        A known one is not kept again.

        Raises:
            Invalid: One of them is not valid.
        """
        return self._store.runs.log([self.checked(call)[0] for call in calls])

    def calls(self, run: str | None = None, *, agent: str | None = None) -> Iterator[tuple[int, ToolCall]]:
        """
        Calls with their ids, oldest first, of a run, of an agent; read a page at a time.

        Raises:
            Invalid: No run, or no agent, can have such a name.
        """
        check_text("run", run or "", NAME_LIMIT)
        check_text("agent", agent or "", NAME_LIMIT)
        after = 0
        while page := self._store.runs.calls(run, agent=agent, after=after, limit=PAGE):
            yield from page
            after = page[-1][0]

    def checked(self, call: ToolCall) -> tuple[ToolCall, tuple[Notice, ...]]:
        """
        A call as it is kept, and what became of it.

        Raises:
            Invalid: It is not valid.
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
        clean = self._documents.sanitizer.quoted(text)  # before cutting: half a secret is not recognised
        clean = clean.encode(errors="backslashreplace").decode()  # JSON escapes may spell lone surrogates
        if len(clean) <= BODY_LIMIT:
            return clean
        notices.append(Notice(f"{name} of {len(clean):,} characters was cut to {BODY_LIMIT:,}"))
        mark = f"\n[cut here, of {len(clean):,} characters]"
        return clean[: BODY_LIMIT - len(mark)] + mark
