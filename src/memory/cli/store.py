"""The command that keeps a text as a memory of a session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from memory.cli.options import PATH, as_json, given_text, named_project, opened, show, tell
from memory.config.files import TEXT_BYTES, contents, utf8
from memory.operations.render import data
from memory.operations.render.text import counted
from memory.operations.sessions.arguments import Filter, draft
from memory.schema.errors import Invalid, explained
from memory.schema.kinds import RULES, SESSION_KINDS, Kind, kind
from memory.text.outline import title

NEEDED = {"session_id": "--session ID", "session_iter": "--iter N", "agent_id": "--agent NAME", "title": "--title TEXT"}
"""What a kind may demand, as options."""


@click.command(short_help="Keep a text of a session: a report, a prompt, working memory.")
@click.argument("kind_name", metavar="KIND")
@click.argument("file", type=PATH, required=False, metavar="[FILE|-]")
@click.option("--session", "session_id", metavar="ID", help="The session; of all kinds but knowledge_base.")
@click.option("--iter", "session_iter", metavar="N", help="Iteration of the session: 1, v1.")
@click.option("--agent", "agent_id", metavar="NAME", help="Who wrote it.")
@click.option("--task", "task_code", metavar="CODE", help="The task it belongs to.")
@click.option("--title", metavar="TEXT", help="Its first heading by default.")
@click.option("--category", metavar="NAME", help="Of knowledge_base, `general` by default.")
@click.option(
    "--project", is_flag=False, flag_value=".", metavar="[NAME]", help="Its project; without a name, this folder's."
)
@click.option("--source", metavar="NAME", help="The program it comes from, e.g. claude-code.")
@as_json
@click.pass_context
def store(context: click.Context, /, kind_name: str, file: str | None, *, as_json: bool, **options: Any) -> None:
    """
    Keep a text as a memory of a session, from a file or from standard input, byte for byte but for secrets.

    KIND is session_context, input_prompt, system_memory, report, report_observation, working_memory or knowledge_base,
    which belongs to no session. The same text is not kept twice in one place, prompts aside.

    \b
        memory store report audit.md --session auth-rework --iter 1 --agent reviewer
        git diff | memory store working_memory --session auth-rework --agent coder --title "The diff"
    """
    named = _kind(kind_name)
    options = {name: value or None for name, value in options.items()}
    if lacking := [option for name, option in NEEDED.items() if name != "title" and _lacks(named, name, options)]:
        raise Invalid(f"{named} needs {' and '.join(lacking)}")
    content = _content(file, options["project"], context)
    if content.strip() and _lacks(named, "title", {"title": options["title"] or title(content)}):
        raise Invalid(f"{named} needs {NEEDED['title']}, since its text has no first heading")
    where = Filter(**{name: options[name] for name in Filter._fields})
    project = named_project(options["project"])
    made = draft(named, content, where, title=options["title"], project=project, source=options["source"])
    with opened(context) as engine:
        result = engine.save(made)
    if as_json:
        facts = {"known": result.known, "memory": data.whole(result.memory), "chunks": result.chunks}
        show(data.document("store", facts | {"notices": data.notices(result.notices)}))
        return
    done, memory = "already kept" if result.known else "kept", result.memory
    click.echo(f"{done} {memory.uid[:8]} (id {memory.id}), {memory.kind}, {counted(result.chunks, 'chunk')}")
    tell(result.notices)


def _kind(name: str) -> Kind:
    found = kind(name)
    if found not in SESSION_KINDS:
        hint = "`memory save` keeps notes." if found is Kind.NOTE else f"One of {', '.join(SESSION_KINDS)}."
        raise Invalid(f"a {found} is not of a session", hint=hint)
    return found


def _lacks(named: Kind, field: str, options: dict[str, str | None]) -> bool:
    return field in RULES[named].required and not (options[field] or "").strip()


def _content(file: str | None, project: str | None, context: click.Context) -> str:
    if file is None and project and Path(project).is_file():
        raise Invalid(
            "Missing argument 'FILE'.", hint=f"--project took {project!r} as its name; put it after the file."
        )
    if file is None and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError("Missing argument 'FILE'; - is standard input.", context)
    if file is None or file == "-":
        return given_text("-", "what is")
    with explained(Invalid, file[:200]):
        return utf8(contents(file, TEXT_BYTES), file, mark=True)
