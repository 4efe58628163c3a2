"""What is asked to be kept of a session, as a draft."""

from __future__ import annotations

from memory.operations.sessions.filter import named
from memory.schema.draft import Draft, article
from memory.schema.errors import Invalid
from memory.schema.kinds import GENERAL, RULES, Kind
from memory.schema.limits import BODY_LIMIT, check_text, iteration
from memory.text.title import title as titled

ORCHESTRATOR = "main-orchestrator"
"""Who writes the context and the prompts of a session unless somebody else is named (CAP D9, X26)."""

VERBATIM = (Kind.SESSION_CONTEXT, Kind.INPUT_PROMPT)


def draft(
    kind: Kind,
    content: str,
    *,
    title: str | None = None,
    agent_id: str | None = None,
    session_id: str | None = None,
    session_iter: int | str | None = None,
    task_code: str | None = None,
    category: str | None = None,
    project: str | None = None,
    source: str | None = None,
) -> Draft:
    """
    A draft of a session kind. What a person or a program leaves out gets the documented default.

    Args:
        title: None takes the first heading of the text, of kinds that are documents.
        session_iter: 1, "1" or "v1".

    Raises:
        Invalid: A value that is none, what the kind demands is missing, or the kind belongs to no session.
    """
    if RULES[kind].family != "session":
        raise Invalid(f"a {kind} is not of a session", hint="`memory save` keeps notes.")
    check_text("content", content, BODY_LIMIT)
    if not content.strip():
        raise Invalid(f"{article(kind)} needs content")
    if kind in VERBATIM:
        agent_id = agent_id or ORCHESTRATOR
    else:
        title = titled(content) if title is None else title
    if kind is Kind.KNOWLEDGE_BASE:
        category = category or GENERAL
    return Draft(
        kind=kind,
        body=content,
        title=title or "",
        agent_id=named("agent_id", agent_id),
        session_id=named("session_id", session_id),
        session_iter=iteration(session_iter),
        task_code=named("task_code", task_code),
        category=named("category", category),
        project=project,
        source=source,
    )
