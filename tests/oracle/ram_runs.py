"""`RamRuns`: research runs and the tools used in them, the obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.kinds import RESEARCH_KINDS
from memory.store import Run
from oracle.ram_data import Part, tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.memory import Memory
    from memory.store import ToolCall


class RamRuns(Part):
    """See `memory.store.sessions.RunRows`."""

    def latest(self, limit: int, *, id: str | None = None) -> tuple[Sequence[Run], int]:
        with self.data.lock:
            names = {one.query_id for one in self._memories(None)} | {call.run for _, call in self._calls(None)}
            found = [
                run
                for name in names
                if name is not None and id in (None, name) and (run := self._run(name)) is not None
            ]
        return sorted(sorted(found, key=lambda one: one.id), key=lambda one: one.latest, reverse=True)[:limit], len(
            found
        )

    def _run(self, id: str) -> Run | None:
        with self.data.lock:
            memories = self._memories(id)
            calls = [call for _, call in self._calls(id)]
        if not memories and not calls:
            return None
        return Run(
            id=id,
            memories=len(memories),
            calls=len(calls),
            failed_calls=sum(not call.success for call in calls),
            earliest=min([one.created_at for one in memories] or [call.moment for call in calls]),
            latest=max([one.updated_at for one in memories] or [call.moment for call in calls]),
            kinds=tally(one.kind for one in memories),
            agents=tally(one.agent_id for one in memories if one.agent_id is not None),
        )

    def log(self, calls: Sequence[ToolCall]) -> Sequence[int]:
        with self.data.change() as data:
            ids = {call.uid: id for id, call in data.calls.items()}
            for one in calls:
                if one.uid not in ids:
                    ids[one.uid] = data.next("call")
                    data.calls[ids[one.uid]] = one
            return [ids[one.uid] for one in calls]

    def calls(
        self, run: str | None = None, *, agent: str | None = None, after: int = 0, limit: int = 1000
    ) -> Sequence[tuple[int, ToolCall]]:
        with self.data.lock:
            found = self._calls(run)
        return [(id, call) for id, call in found if id > after and agent in (None, call.agent)][:limit]

    def forget_calls(self, run: str | None, limit: int) -> int:
        with self.data.change() as data:
            used = self._calls(run)[:limit]
            for id, _ in used:
                del data.calls[id]
            return len(used)

    def _memories(self, run: str | None) -> list[Memory]:
        """Of a research kind, of this run or of any; lowest id first."""
        every = sorted(self.data.memories.values(), key=lambda one: one.id)
        return [
            one
            for one in every
            if one.kind in RESEARCH_KINDS and one.query_id is not None and run in (None, one.query_id)
        ]

    def _calls(self, run: str | None) -> list[tuple[int, ToolCall]]:
        """Of this run, or of any and of none; lowest id first."""
        return [(id, call) for id, call in sorted(self.data.calls.items()) if run in (None, call.run)]
