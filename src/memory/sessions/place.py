"""Where the session tools keep and look."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.limits import iteration
from memory.query import Scope

if TYPE_CHECKING:
    from memory.kinds import Kind
    from memory.sessions.envelope import Iteration, Name


class Place(NamedTuple):
    """Who, in which session, iteration and task; None does not restrict."""

    agent_id: Name = None
    session_id: Name = None
    session_iter: Iteration = None
    task_code: Name = None
    category: Name = None

    def scope(self, kind: Kind) -> Scope:
        """
        Raises:
            Invalid: The iteration is none.
        """
        number = iteration(self.session_iter)
        return Scope(
            kinds=frozenset({kind}),
            agents=_one(self.agent_id),
            sessions=_one(self.session_id),
            iterations=frozenset() if number is None else frozenset({number}),
            tasks=_one(self.task_code),
            categories=_one(self.category),
        )


def _one(name: Name) -> frozenset[str]:
    return frozenset({name.strip()} if name and name.strip() else ())
