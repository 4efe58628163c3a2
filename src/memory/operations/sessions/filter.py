"""Of whom, of which session, iteration and task the session tools keep and look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.errors import Invalid
from memory.schema.limits import NAME_LIMIT, check_text, iteration
from memory.schema.query import Scope

if TYPE_CHECKING:
    from memory.operations.sessions.envelope import Iteration, Name
    from memory.schema.kinds import Kind


class Filter(NamedTuple):
    """Who, in which session, iteration and task; None does not restrict."""

    agent_id: Name = None
    session_id: Name = None
    session_iter: Iteration = None
    task_code: Name = None
    category: Name = None

    def fields(self) -> dict[str, str | int]:
        """
        What restricts, as it is understood.

        Raises:
            Invalid: The iteration is none, or a name is no text.
        """
        values: dict[str, str | int | None] = {
            name: iteration(value) if name == "session_iter" else named(name, value)
            for name, value in self._asdict().items()
        }
        return {name: value for name, value in values.items() if value is not None}

    def scope(self, kind: Kind) -> Scope:
        """
        Raises:
            Invalid: See `fields`.
        """
        fields = self.fields()
        one: dict[str, Any] = {field: frozenset({fields[name]}) for name, field in _FIELDS.items() if name in fields}
        return Scope(kinds=frozenset({kind}))._replace(**one)


_FIELDS = {
    "agent_id": "agents",
    "session_id": "sessions",
    "session_iter": "iterations",
    "task_code": "tasks",
    "category": "categories",
}


def named(field: str, value: object) -> str | None:
    """
    A name as it is kept, without blanks around it; blank ones count as left out, as programs pass them for nothing.

    Raises:
        Invalid: It is no text, or none that could be a name.
    """
    if value is None:
        return None
    check_text(field, value, NAME_LIMIT)
    return str(value).strip() or None


def needed(field: str, value: object) -> str:
    """
    A name that must be given.

    Raises:
        Invalid: It is blank, or none.
    """
    if (name := named(field, value)) is None:
        raise Invalid(f"{field} is blank")
    return name
