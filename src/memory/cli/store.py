"""The command that stores a text of a session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from memory.cli.options import given_text, text_of
from memory.config.files import TEXT_BYTES
from memory.schema.errors import Invalid
from memory.schema.kinds import RULES, SESSION_KINDS, Kind, kind
from memory.schema.step import USER, step
from memory.text.markdown import title
from memory.tools.operation import Call, Given, Option, Shown, command
from memory.tools.render import data
from memory.tools.render.text import counted, notice
from memory.tools.sessions.rows import Filter, draft

NEEDED = {"session_id": "--session ID", "session_iter": "--iter N", "agent_id": "--agent NAME", "title": "--title TEXT"}
"""What a kind may require, as options."""

FIELDS = {"session": "session_id", "iter": "session_iter", "agent": "agent_id", "task": "task_code"}
"""Fields by the short names of their options."""


@command(
    "store KIND",
    Option("[FILE|-]"),
    Option("--session ID", "The session, for all kinds but knowledge_base."),
    Option("--iter N", "The iteration of the session: 1, v1."),
    Option("--agent NAME", "Who wrote it."),
    Option("--task CODE", "The task it belongs to."),
    Option("--title TEXT", "Its title; by default its first heading."),
    Option("--category NAME", "For knowledge_base; `general` by default."),
    Option("--project [NAME]", "Its project; without a name, that of the current folder."),
    Option("--source NAME", "The program it comes from, e.g. claude-code."),
)
def store(call: Call, a: Given) -> Shown:
    """
    Save a text of a session: a report, a prompt or working memory. The text comes from a file or from standard input,
    and is saved byte for byte, except for secrets.

    KIND is session_context, input_prompt, system_memory, report, report_observation, working_memory or knowledge_base,
    which belongs to no session. A text is not saved twice in the same place, unless it is a prompt.

    \b
        memory store report audit.md --session auth-rework --iter 1 --agent reviewer
        git diff | memory store working_memory --session auth-rework --agent coder --title "The diff"
    """
    named = _kind(a["kind"])
    options = {FIELDS.get(name, name): value or None for name, value in a.items() if name not in ("kind", "file")}
    if lacking := [option for name, option in NEEDED.items() if name != "title" and _lacks(named, name, options)]:
        raise Invalid(f"{named} needs {' and '.join(lacking)}")
    content = _content(a["file"])
    if content.strip() and _lacks(named, "title", {"title": options["title"] or title(content)}):
        raise Invalid(f"{named} needs {NEEDED['title']}, since its text has no first heading")
    where = Filter(**{name: options.pop(name) for name in Filter._fields})
    with step("store", a["agent"] or a["source"] or USER):
        result = call.engine.save(draft(named, content, where, **options))
    done, memory = "Already saved" if result.known else "Saved", result.memory
    facts = {"known": result.known, "memory": data.whole(memory), "chunks": result.chunks}
    return Shown(
        facts | {"notices": data.notices(result.notices)},
        f"{done} {memory.short_id}, {memory.kind}, {counted(result.chunks, 'chunk')}",
        [*map(notice, result.notices)],
    )


def _kind(name: str) -> Kind:
    found = kind(name)
    if found not in SESSION_KINDS:
        hint = "`memory save` saves notes." if found is Kind.NOTE else f"One of {', '.join(SESSION_KINDS)}."
        raise Invalid(f"a {found} does not belong to a session", hint=hint)
    return found


def _lacks(named: Kind, field: str, options: dict[str, Any]) -> bool:
    return field in RULES[named].required and not (options[field] or "").strip()


def _content(file: str | None) -> str:
    if file is not None and file != "-":
        return text_of(file, TEXT_BYTES, mark=True)
    context = click.get_current_context()
    project = context.params["project"]
    if file is None and project and Path(project).is_file():
        raise Invalid(
            "Missing argument 'FILE'.",
            hint=f"--project took {project!r} as the name of the project; put --project after the file.",
        )
    if file is None and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError("Missing argument 'FILE'; - is standard input.", context)
    return given_text("-", "what is")


COMMANDS = (store,)
