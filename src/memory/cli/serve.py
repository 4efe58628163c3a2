"""The command that agents start."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from memory.cli.options import flags
from memory.config.config import load, located
from memory.config.settings import McpSettings
from memory.schema.errors import ConfigError, Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.mcp.keeper import Keeper
    from memory.operations.operation import Operation

PORT = 8377


@click.command(short_help="Serve the memory to agents (MCP).")
@click.option("--http", is_flag=True, help="Over HTTP on 127.0.0.1 instead of standard input and output.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, metavar="N", help="With --http."
)
@click.option(
    "--toolset",
    "toolsets",
    multiple=True,
    metavar="NAME",
    help="Which tools: core, care, sessions, research, graph, all; several with commas, or repeated.",
)
@click.option("--run", metavar="ID", help="The research run that its tools mean unless they name another.")
@click.pass_context
def mcp(context: click.Context, /, port: int, toolsets: tuple[str, ...], *, run: str | None, http: bool) -> None:
    """
    Serve the memory to agents by the Model Context Protocol, on standard input and output.

    `memory setup AGENT` registers it; agents start it themselves. With --http it listens on this machine alone, and
    requests need the bearer token that it names.
    """
    if not http and context.get_parameter_source("port") is not click.core.ParameterSource.DEFAULT:
        raise Invalid("--port is of use with --http only")
    if not http and sys.stdin is None:
        raise Invalid(
            "standard input is closed", hint="An agent starts this and writes to it; `memory setup` says how."
        )
    if not http and sys.stdin.isatty():
        click.echo(
            "memory: waiting for an agent on standard input; `memory setup AGENT` registers this. Ctrl-C ends.",
            err=True,
        )
    keeper = _keeper(run)
    folder = keeper.config().folder if http else ""  # there is no token without settings
    from memory.operations.operation import chosen

    settings = _configured(keeper)
    named = toolsets or (settings.toolsets,)
    tools = chosen(name.strip() for some in named for name in some.split(","))
    structured = settings.structured == "always"
    if not http:
        from memory.mcp.stdio import serve

        serve(keeper, tools, structured=structured)
        return
    _over_http(keeper, tools, structured=structured, port=port, folder=folder)


def _over_http(keeper: Keeper, tools: Sequence[Operation], *, structured: bool, port: int, folder: str) -> None:
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
    What the settings say of the server.

    With settings that cannot be used the server starts all the same: its user sees what a tool says, hardly what an
    agent's program does with the end of a process.
    """
    try:
        return keeper.config().mcp
    except ConfigError as error:
        from memory.text.display import escape_controls

        click.echo(f"memory: {escape_controls(str(error))}", err=True)
        return McpSettings()


def _keeper(run: str | None) -> Keeper:
    from memory.mcp.keeper import Keeper

    home, file = flags()
    given = {"home": home, "research.run": run}
    return Keeper(lambda: load(file, flags=given), located(file, env=os.environ, flags={"home": home}))
