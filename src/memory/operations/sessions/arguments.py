"""Arguments of session tools as the engine takes them: names, filters, drafts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.errors import BODY_LIMIT, NAME_LIMIT, Invalid, check_text, iteration
from memory.schema.kinds import GENERAL, RULES, Kind
from memory.schema.query import Scope

if TYPE_CHECKING:
    from memory.operations.sessions.declare import Iteration, Name
    from memory.schema.draft import Draft

ORCHESTRATOR = "main-orchestrator"
"""The default author of the context and the prompts of a session (CAP D9, X26)."""

VERBATIM = (Kind.SESSION_CONTEXT, Kind.INPUT_PROMPT)


class Filter(NamedTuple):
    """Author, session, iteration, task and category; None does not restrict."""

    agent_id: Name = None
    session_id: Name = None
    session_iter: Iteration = None
    task_code: Name = None
    category: Name = None

    def fields(self) -> dict[str, str | int]:
        """
        The fields that restrict, as the engine takes them.

        Raises:
            Invalid: The iteration is not valid, or a name is not text.
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
    A name as it is saved, without blanks around it. A blank name counts as none: programs pass it for that.

    Raises:
        Invalid: It is not text, or cannot be a name.
    """
    if value is None:
        return None
    check_text(field, value, NAME_LIMIT)
    return str(value).strip() or None


def needed(field: str, value: object) -> str:
    """
    A name that must be given.

    Raises:
        Invalid: It is missing or blank.
    """
    if (name := named(field, value)) is None:
        raise Invalid(f"{field} is blank")
    return name


def draft(
    kind: Kind,
    content: str,
    where: Filter,
    *,
    title: str | None = None,
    project: str | None = None,
    source: str | None = None,
) -> Draft:
    """
    A draft of a session kind, with the documented defaults.

    Args:
        title: None takes the first heading of the text, for kinds that are documents.

    Raises:
        Invalid: A value is not valid, a field that the kind requires is missing, or the kind belongs to no session.
    """
    from memory.schema.draft import Draft, article  # with titles 2 ms of a command that only shows
    from memory.text.markdown import title as titled

    if RULES[kind].family != "session":
        raise Invalid(f"a {kind} is not of a session", hint="`memory save` keeps notes.")
    check_text("content", content, BODY_LIMIT)
    if not content.strip():
        raise Invalid(f"{article(kind)} needs content")
    if kind in VERBATIM:
        where = where._replace(agent_id=where.agent_id or ORCHESTRATOR)
    elif title is None:
        title = titled(content)
    if kind is Kind.KNOWLEDGE_BASE:
        where = where._replace(category=where.category or GENERAL)
    fields: dict[str, Any] = where.fields()
    return Draft(kind=kind, body=content, title=title or "", project=project, source=source, **fields)
