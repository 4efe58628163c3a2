"""Where the session tools keep and look."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.errors import Invalid
from memory.limits import NAME_LIMIT, check_text, iteration
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
            Invalid: The iteration is none, or a name is no text.
        """
        number = iteration(self.session_iter)
        return Scope(
            kinds=frozenset({kind}),
            agents=_one("agent_id", self.agent_id),
            sessions=_one("session_id", self.session_id),
            iterations=frozenset() if number is None else frozenset({number}),
            tasks=_one("task_code", self.task_code),
            categories=_one("category", self.category),
        )


def _one(field: str, given: object) -> frozenset[str]:
    found = named(field, given)
    return frozenset() if found is None else frozenset({found})


def named(field: str, given: object) -> str | None:
    """
    A name as it is kept, without blanks around it; blank ones count as left out, as programs pass them for nothing.

    Raises:
        Invalid: It is no text, or none that could be a name.
    """
    if given is None:
        return None
    check_text(field, given, NAME_LIMIT)
    return str(given).strip() or None


def needed(field: str, given: object) -> str:
    """
    A name that must be given.

    Raises:
        Invalid: It is blank, or none.
    """
    if (found := named(field, given)) is None:
        raise Invalid(f"{field} is blank")
    return found
