"""Commands that agents run by themselves, when a session begins and when it ends."""

from __future__ import annotations

import os
import sys
from typing import Any

import click
from click.exceptions import Exit

from memory.config.config import load
from memory.integrations.hook import ALIASES, FORMS, STDIN_LIMIT, Call, begun, call, ended, form
from memory.schema.errors import Error


class Harmless(click.Group):
    """
    Commands that never end with 2, whatever is wrong with them.

    2 is how most agents are told that they may not go on, and anything but 0 and 1 is how Gemini is. 1 is shown to the
    user, and the session continues.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            raise Exit(_told(error.format_message())) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            return _told(error.format_message())
        except Error as error:
            return _told(str(error), error.hint)


def _told(*lines: str) -> int:
    """1, after saying why."""
    from memory.text.display import escape_controls

    for line in map(escape_controls, filter(None, lines)):
        click.echo(line if line.startswith("Usage: ") else f"memory: {line}", err=True)
    return 1


AGENT = click.option(
    "--agent",
    default="plain",
    show_default=True,
    metavar="NAME",
    help=f"Whose form to speak: {', '.join((*FORMS, *ALIASES))}.",
)


@click.group(cls=Harmless, short_help="What agents run at the start and the end of a session.")
def hook() -> None:
    """
    What agents run at the start and the end of a session; `memory setup` registers it.

    Each reads what the agent says about itself, JSON on standard input, and answers in the agent's form. They fail with
    1, which stops no session.
    """


@hook.command("session-start", short_help="Give a session that begins what is kept about its project.")
@AGENT
@click.pass_context
def session_start(context: click.Context, /, agent: str) -> None:
    """
    Print what is kept about the project, for an agent whose session begins.

    The latest memories of the project in the agent's folder, within `context.limit` and `context.tokens`, fenced as
    data. Keywords only: no model and no network. Prints nothing when there is nothing, and makes no database.
    """
    speak = form(agent).context
    if text := begun(_said(), _config(context)):
        click.echo(speak(text).encode())


@hook.command("session-end", short_help="Remind an agent to save what it learned.")
@AGENT
@click.pass_context
def session_end(context: click.Context, /, agent: str) -> None:
    """
    Remind an agent to save what it learned, when a turn of it ends.

    Once in a session at most, and only if the session began ten minutes ago or more, nothing about its project was
    kept or corrected since, and the turn was neither broken off nor prolonged by a hook. When a session began is
    remembered for seven days, in an empty file in the folder `hooks` of the database's folder.

    Prints nothing for agents that cannot be reminded: codex, plain.
    """
    speak = form(agent).reminder
    if speak is not None and (text := ended(_said(), _config(context))):
        click.echo(speak(text).encode())


def _said() -> Call:
    waiting = sys.stdin is not None and not sys.stdin.isatty()
    return call(sys.stdin.buffer.read(STDIN_LIMIT + 1) if waiting else b"", os.environ)


def _config(context: click.Context) -> Any:
    home, file = context.find_root().obj
    return load(file, flags={"home": home})
