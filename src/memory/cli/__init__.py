"""The `memory` command. Each command reads arguments, calls one verb and prints what it returns."""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import sys
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from memory.schema.errors import ConfigError, Error, Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "save": "memory.operations.notes",
    "store": "memory.cli.store",
    "update": "memory.operations.notes",
    "delete": "memory.operations.notes",
    "search": "memory.cli.find:search",
    "details": "memory.operations.notes",
    "expand": "memory.operations.sessions.operations",
    "reconstruct": "memory.operations.sessions.operations",
    "list": "memory.cli.find:list_",
    "context": "memory.cli.find:context",
    "session": "memory.operations.sessions.operations",
    "run": "memory.operations.research.operations",
    "graph": "memory.operations.graph memory.cli.graph",
    "import": "memory.cli.transfer",
    "watch": "memory.cli.watch",
    "export": "memory.cli.transfer",
    "init": "memory.cli.care",
    "model": "memory.cli.model",
    "embed": "memory.operations.upkeep",
    "reindex": "memory.cli.care",
    "status": "memory.cli.care",
    "stats": "memory.operations.upkeep",
    "eval": "memory.cli.evaluate",
    "cleanup": "memory.operations.sessions.operations",
    "doctor": "memory.operations.upkeep",
    "ledger": "memory.operations.upkeep",
    "config": "memory.cli.settings:config",
    "setup": "memory.cli.setup",
    "mcp": "memory.cli.agents:mcp",
    "hook": "memory.cli.agents:hook",
    "completion": "memory.cli.care",
    "demo": "memory.cli.demo",
}
"""
Where each command is, or the modules that declare it. They are imported when it is called, so that a search does not pay
for the others.
"""


class Commands(click.Group):
    """Commands found by the table, in its order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        place, _, name = COMMANDS[cmd_name].partition(":")
        if name:
            command: click.Command = getattr(importlib.import_module(place), name)
            return command
        from memory.cli.made import made

        return made(cmd_name, *place.split())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from memory.schema.errors import did_you_mean

            ctx.fail(f"no command {args[0]!r}. {did_you_mean(args[0], COMMANDS, '')}".rstrip())
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--home",
    type=click.Path(readable=False),
    metavar="FOLDER",
    help="Folder of the database; overrides MEMORY_HOME and the settings.",
)
@click.option(
    "--config",
    "file",
    type=click.Path(readable=False),
    metavar="FILE",
    help="Settings file; overrides MEMORY_CONFIG.",
)
@click.version_option(package_name="tiered-memory", message="memory %(version)s", help="Show the version.")
@click.pass_context
def cli(context: click.Context, home: str | None, file: str | None) -> None:
    """Long-term memory for agents, in one file: found by keyword first, by meaning when needed."""
    context.obj = (home, file)
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":  # https://no-color.org
        context.color = False


def run() -> NoReturn:
    """
    The process: run the command, then leave at once.

    Collecting cycles while modules are imported and taking the interpreter apart at the end would cost a search 13 ms
    of 90. What was registered for the end still happens; the engine is closed by then.
    """
    gc.disable()
    status = main(sys.argv[1:])
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # `main` has reported it, or there is no reader
            status = status or 1
    os._exit(status)


def main(arguments: Sequence[str]) -> int:  # noqa: PLR0911  # each way to end has its code
    """
    The exit code: 0 success (also if nothing is found), 1 failure, 2 usage error, 130 interrupted.

    The only place where errors become output.
    """
    arguments = arguments or ["--help"]
    as_json = "--json" in arguments
    sys.stdout, sys.stderr = (stream or _nowhere() for stream in (sys.stdout, sys.stderr))
    try:
        status = cli.main(args=list(arguments), prog_name="memory", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        click.echo("memory: interrupted", err=True)
        return 130
    except click.ClickException as error:
        message = error.format_message().replace(
            "is not a valid integer range", "is not a whole number"
        )  # its own words are a programmer's
        _report(Invalid(message, hint=_usage(error)), as_json=as_json)
        return 2
    except Error as error:
        _report(error, as_json=as_json)
        return 2 if isinstance(error, (ConfigError, Invalid)) else 1
    except BrokenPipeError:
        # The reader has left (`memory export | head`); what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a full disk behind a redirection, most likely
        _report(Error(f"cannot write the output: {error.strerror or error}"), as_json=as_json)
        return 1
    except SystemExit as left:  # click exits this way when a pipe is closed
        return left.code if isinstance(left.code, int) else 1
    return status if isinstance(status, int) else 0


def _nowhere() -> TextIO:
    """A stand-in for a stream that the caller has closed (`>&-`)."""
    from pathlib import Path

    return Path(os.devnull).open("w", encoding="utf-8")


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    project = context.params.get("project") if context is not None else None
    if isinstance(error, click.MissingParameter) and isinstance(project, str) and project.strip("."):
        return f"--project took {project!r} as the name of the project; put --project last."
    return f"See `{context.command_path} --help`." if context is not None else ""


def _report(error: Error, *, as_json: bool) -> None:
    if as_json:
        from memory.operations.render.data import error as rendered

        click.echo(json.dumps(rendered(error)), err=True)
        return
    from memory.text.display import escape_controls

    for line in filter(None, (str(error), error.hint)):
        click.echo(f"memory: {escape_controls(line)}", err=True)
