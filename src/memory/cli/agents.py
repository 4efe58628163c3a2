"""Commands that agents start: the server, and what runs when a session begins or ends."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from memory.cli import Plain, option, root_flags
from memory.cli.later import later
from memory.config.settings import McpSettings
from memory.schema.errors import ConfigError, Error, Invalid
from memory.tools.hook import ALIASES, FORMS, STDIN_LIMIT, HookInput, begun, call, ended, form, impatient, reminder

if TYPE_CHECKING:
    from memory.config import Config
    from memory.engine.keeper import Keeper

PORT = 8377


@click.command(cls=Plain, short_help="Serve memories to agents over the Model Context Protocol (MCP).")
@option("--http", is_flag=True, help="Serve over HTTP on 127.0.0.1.")
@option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, metavar="N", help="With --http.")
@option(
    "--toolset",
    "toolsets",
    multiple=True,
    metavar="NAME",
    help="Which tools: core, care, sessions, research, graph, all; separate several with commas, or repeat the option.",
)
@option("--run", metavar="ID", help="The research run of its tools, unless they name another.")
@click.pass_context
def mcp(context: click.Context, /, port: int, toolsets: tuple[str, ...], *, run: str | None, http: bool) -> None:
    """
    Serve memories to agents over the Model Context Protocol (MCP). It speaks on standard input and output. `memory
    setup AGENT` registers it, and agents start it themselves. With --http it listens on this machine only, and requests
    need the bearer token that it names.

    \b
        memory mcp --toolset core,sessions
    """
    if not http and context.get_parameter_source("port") is not click.core.ParameterSource.DEFAULT:
        raise Invalid("--port needs --http")
    if not http and sys.stdin is None:
        raise Invalid(
            "standard input is closed", hint="An agent starts this and writes to it; `memory setup` says how."
        )
    if not http and sys.stdin.isatty():
        click.echo(
            "memory: waiting for an agent on standard input; `memory setup AGENT` registers this. press Ctrl-C to stop.",
            err=True,
        )
    from memory.config.installation import check_server

    check_server()
    keeper = _keeper(run)
    folder = keeper.config().folder if http else ""  # without settings there is no token
    from memory.tools.operation import chosen

    settings = _configured(keeper)
    named = toolsets or (settings.toolsets,)
    tools = chosen(name.strip() for some in named for name in some.split(","))
    structured = settings.structured == "always"
    if not http:
        with later("mcp", "mcp.server"):  # packages that import the client, HTTP and tools of their own: 90 ms, 11 MB
            from memory.mcp.stdio import serve

        serve(keeper, tools, structured=structured)
        return
    from memory.mcp import http as transport

    token, place = transport.token(folder)
    ready = f"the token (Authorization: Bearer ...) is in {place}"
    transport.serve(
        keeper,
        tools,
        structured=structured,
        port=port,
        token=token,
        ready=lambda url: click.echo(f"memory: {url}; {ready}", err=True),
    )


def _configured(keeper: Keeper) -> McpSettings:
    """
    The settings of the server.

    If the settings cannot be used the server starts anyway: its user sees what a tool answers, but hardly what an agent's
    program makes of a process that ends.
    """
    try:
        return keeper.config().mcp
    except ConfigError as error:
        from memory.text.display import escape_controls

        click.echo(f"memory: {escape_controls(str(error))}", err=True)
        return McpSettings()


def _keeper(run: str | None) -> Keeper:
    from memory.engine.keeper import Keeper

    given = root_flags()

    def config() -> Config:
        found = given.load()
        return replace(found, run=run.strip()) if run else found

    return Keeper(config, given.file)


# Hooks ---------------------------------------------------------------------------


class Harmless(Plain, click.Group):
    """
    Commands that never end with 2, whatever is wrong with them.

    To most agents 2 means that they must not continue; to Gemini anything but 0 and 1 does. With 1 the error is shown to
    the user, and the session continues.
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
    """Say why it failed; the exit code 1."""
    from memory.text.display import escape_controls

    for line in map(escape_controls, filter(None, lines)):
        click.echo(line if line.startswith("Usage: ") else f"memory: {line}", err=True)
    return 1


AGENT = option(
    "--agent",
    default="plain",
    show_default=True,
    metavar="NAME",
    help=f"The agent whose format to use: {', '.join((*FORMS, *ALIASES))}.",
)


@click.group(cls=Harmless, short_help="Answer an agent's hooks when a session starts or ends.")
def hook() -> None:
    """
    Answer an agent's hooks when a session starts or ends. `memory setup` registers them.

    Each hook reads what the agent says about itself, as JSON on standard input, and answers in the agent's format. A
    hook that fails exits with 1, which stops no session.

    \b
        memory hook session-start --agent claude-code
    """


@hook.command("session-start", cls=Plain, short_help="Print what is known about the project, for a new session.")
@AGENT
def session_start(agent: str) -> None:
    """
    Print what is known about the project, for a new session.

    It prints the latest memories of the project in the agent's folder, within `context.tokens`, marked as data. It uses
    keywords only: no model and no network. If nothing is known it prints nothing, and it creates no database.

    \b
        memory hook session-start --agent claude-code
    """
    speak = form(agent).context
    if text := begun(_said(), _config()):
        click.echo(speak(text).encode())


@hook.command("session-end", cls=Plain, short_help="Remind an agent to save what it learned, at the end of a turn.")
@AGENT
@option("--capture", is_flag=True, help="Also propose notes from the session, for `memory review`.")
def session_end(agent: str, *, capture: bool) -> None:
    """
    Remind an agent to save what it learned, at the end of a turn.

    It does so at most once in a session, and only if the session began at least ten minutes ago, nothing about its
    project was saved or corrected since, and the turn was neither interrupted nor prolonged by a hook. The start of a
    session is remembered for seven days, as an empty file in the folder `hooks` of the database's folder.

    It prints nothing for agents that cannot be reminded: plain, and codex before version 0.169.

    With --capture it also searches the last 16 MB of a Claude Code transcript for decisions, corrections and findings.
    They wait for `memory review`; none becomes a memory by itself. A problem with that is a sentence on standard error,
    and the exit code stays 0.

    \b
        memory hook session-end --agent claude-code --capture
    """
    said = _said()
    speak = reminder(form(agent), said)
    if speak is not None and (text := ended(said, _config())):
        click.echo(speak(text).encode())
    if capture:
        _captured(said)


def _captured(said: HookInput) -> None:
    """Propose what the session left; an error is told, and fails nothing."""
    from memory.config.project import project
    from memory.tools.review import inspection

    try:
        if said.transcript is None or said.folder is None or not said.transcript.is_file():
            return
    except (OSError, ValueError):  # a NUL in its name, or too long a name
        return
    try:
        inspection.propose(impatient(_config()), said.transcript, session=said.session, project=project(said.folder))
    except Error as error:
        _told(str(error), error.hint)


def _said() -> HookInput:
    waiting = sys.stdin is not None and not sys.stdin.isatty()
    return call(sys.stdin.buffer.read(STDIN_LIMIT + 1) if waiting else b"", os.environ)


def _config() -> Config:
    return root_flags().load()
