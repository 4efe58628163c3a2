"""The `memory` command. Each command reads arguments, calls one verb and prints what it returns."""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from memory.cli.later import later
from memory.cli.streams import heedless, prepare
from memory.schema import __version__
from memory.schema.errors import ConfigError, Error, Invalid, did_you_mean

with later("inspect"):  # 5 ms
    import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from click.shell_completion import CompletionItem

    from memory.config import Flags

GROUPS = {
    "Notes": {
        "save": "memory.tools.notes",
        "search": "memory.cli.find:search",
        "details": "memory.tools.details",
        "list": "memory.cli.find:list_",
        "update": "memory.tools.notes",
        "delete": "memory.tools.trash",
        "context": "memory.cli.find:context",
        "pin": "memory.tools.notes",
        "unpin": "memory.tools.notes",
        "tags": "memory.tools.upkeep",
        "undo": "memory.tools.trash",
        "redo": "memory.tools.trash",
        "history": "memory.tools.trash",
        "trash": "memory.tools.trash",
        "ui": "memory.web",
    },
    "Agents": {
        "setup": "memory.tools.setup",
        "mcp": "memory.cli.agents:mcp",
        "hook": "memory.cli.agents:hook",
        "review": "memory.tools.review",
    },
    "Import and export": {
        "import": "memory.tools.bring",
        "export": "memory.cli.transfer",
        "mirror": "memory.cli.mirror",
        "watch": "memory.cli.mirror",
        "migrate": "memory.cli.transfer",
    },
    "Sessions and research": {
        "session": "memory.tools.sessions",
        "store": "memory.cli.store",
        "expand": "memory.tools.sessions",
        "reconstruct": "memory.tools.sessions",
        "cleanup": "memory.tools.sessions",
        "run": "memory.tools.research.operations",
        "graph": "memory.tools.graph memory.cli.transfer",
    },
    "Maintenance": {
        "init": "memory.cli.care",
        "status": "memory.tools.upkeep",
        "doctor": "memory.tools.upkeep",
        "inspect": "memory.tools.details",
        "config": "memory.cli.care:config",
        "model": "memory.tools.model",
        "embed": "memory.tools.upkeep",
        "reindex": "memory.tools.upkeep",
        "ledger": "memory.tools.upkeep",
        "stats": "memory.tools.upkeep",
        "eval": "memory.cli.demo",
        "demo": "memory.cli.demo",
        "completion": "memory.cli.care",
        "help": "memory.cli.care",
        "version": "memory.cli.care",
    },
}
"""
Where each command is, or the modules that declare it, by the heading of the help it stands under. They are imported when
it is called, so that a search does not pay for the others.
"""

THREADS = "OPENBLAS_NUM_THREADS"
"""Read when numpy is imported."""

COMMANDS = {name: place for commands in GROUPS.values() for name, place in commands.items()}

ALIASES = {
    "add": "save",
    "remember": "save",
    "find": "search",
    "show": "details",
    "get": "details",
    "rm": "delete",
    "sessions": "session list",
    "uninstall": "setup --remove",
    "config get": "config show",
    "config list": "config show",
    "config init": "init",
    "config set-home": "config set home",
    "config clear-home": "config unset home",
}
"""Other words for a command: what people type, and what EchoVault calls it."""


MEANT = {
    **dict.fromkeys(("recall", "lookup", "query", "ask", "grep"), "search"),
    **dict.fromkeys(("forget", "remove", "del", "erase"), "delete"),
    **dict.fromkeys(("new", "create", "note", "write"), "save"),
    **dict.fromkeys(("edit", "change", "correct", "modify"), "update"),
    **dict.fromkeys(("read", "view", "open", "cat"), "details"),
    **dict.fromkeys(("ls", "all", "recent"), "list"),
    **dict.fromkeys(("restore", "undelete"), "trash restore"),
    **dict.fromkeys(("dump", "backup"), "export"),
    **dict.fromkeys(("load",), "import"),
    **dict.fromkeys(("settings", "set"), "config"),
    **dict.fromkeys(("web", "browse"), "ui"),
    **dict.fromkeys(("serve", "server"), "mcp"),
    **dict.fromkeys(("check", "fix"), "doctor"),
    "sync": "mirror",
    "install": "setup",
    "info": "status",
}
"""What words mean that are no commands and not spelled like one; they are only suggested."""


class _Option(click.Option):
    """One whose help is one line: to take off its margins, click would use `inspect`."""

    def __init__(self, names: Sequence[str], help: str | None = None, **how: Any) -> None:
        super().__init__(names, **how)
        self.help = help


option = partial(click.option, cls=_Option)


def telling(*names: str, help: str, text: Callable[[click.Context], str]) -> _Option:
    """An option that shows a text and ends; for click's own ones a catalog of translations would be looked for."""

    def shown(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            click.echo(text(context), color=context.color)
            context.exit()

    return _Option(names, help, is_flag=True, expose_value=False, is_eager=True, callback=shown)


class Plain(click.Command):
    """One whose option for help is made without looking for a translation."""

    helping: _Option | None = None

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        if self.helping is None and (names := self.get_help_option_names(ctx)):
            help = "Show this message and exit."
            self.helping = telling(*names, "helping", help=help, text=click.Context.get_help)
        return self.helping


class _Path(click.ParamType):  # type: ignore[type-arg]  # not before click 8.2
    """A path that a shell completes; whether it exists and can be used is checked where it is used."""

    name = "path"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


PATH = _Path()


class Commands(Plain, click.Group):
    """Commands found by the table, in its order and under its headings; aliases stand for them."""

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
        for words in (2, 1):
            if (name := ALIASES.get(" ".join(args[:words]))) is not None:
                args = [*name.split(), *args[words:]]
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            if ctx.resilient_parsing:  # a shell completes a word
                return None, None, []
            word = MEANT.get(args[0].lower(), args[0])
            hint = did_you_mean(word, [*COMMANDS, *ALIASES, *MEANT.values()], "See `memory --help`.")
            raise Invalid(f"no command {args[0]!r}", hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = {name: self.get_command(ctx, name) for name in COMMANDS}
        room = formatter.width - 6 - max(map(len, found))
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                rows = [(name, command.get_short_help_str(room)) for name in names if (command := found[name])]
                formatter.write_dl(rows, col_spacing=2)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="You can also type add or remember for save, find for search, show or get for details, and rm for delete.",
)
@option(
    "--home",
    type=PATH,
    metavar="FOLDER",
    help="Folder of the database; overrides MEMORY_HOME and the settings.",
)
@option(
    "--config",
    "file",
    type=PATH,
    metavar="FILE",
    help="Settings file; overrides MEMORY_CONFIG.",
)
@option("--store", metavar="URL", help="PostgreSQL database in place of the file; overrides MEMORY_STORE_URL.")
@option("--user", metavar="NAME", help="Your name in a shared store; overrides MEMORY_USER.")
@click.pass_context
def cli(context: click.Context, home: str | None, file: str | None, store: str | None, user: str | None) -> None:
    """
    Save and find memories of AI agents, in one file.

    \b
        memory setup                          connect your agent
        memory save "Switched to JWT auth"    save a note
        memory search "session cookies"       find it again
    """
    from memory.config import Flags  # what only shows a version needs none

    for option, value in (("--home", home), ("--config", file)):
        if value is not None and not value.strip():
            raise click.UsageError(f"{option} is blank; leave it out, or name a place.", context)
    context.obj = Flags(home, file, store, user)
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":  # https://no-color.org
        context.color = False


cli.params.append(telling("--version", help="Show the version.", text=lambda _: f"memory {__version__}"))


def root_flags() -> Flags:
    """What was named before the command."""
    named: Flags = click.get_current_context().find_root().obj
    return named


class OneThread:
    """
    A finder of modules that lets numpy, once it is imported, compute in the thread that asks: one text is too little to
    share, and threads of OpenBLAS would start and spin. What this process starts does not inherit it.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "numpy":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        if (spec := find_spec(name)) is None or spec.loader is None or THREADS in os.environ:
            return spec
        execute = spec.loader.exec_module

        def alone(module: ModuleType) -> None:
            os.environ[THREADS] = "1"
            try:
                execute(module)
            finally:
                del os.environ[THREADS]

        spec.loader.exec_module = alone  # type: ignore[method-assign]
        return spec


def run() -> NoReturn:
    """
    The process: run the command, then leave at once.

    Collecting cycles while modules are imported and taking the interpreter apart at the end would cost a search 13 ms
    of 90. What was registered for the end still happens; the engine is closed by then.
    """
    gc.disable()
    sys.meta_path.insert(0, OneThread())
    if sys.stderr:
        sys.stderr = heedless(sys.stderr)
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
    prepare()
    if "_MEMORY_COMPLETE" in os.environ:
        from memory.cli.completion import ask

        ask()
    try:
        status = cli.main(args=list(arguments), prog_name="memory", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        click.echo("memory: interrupted", err=True)
        return 130
    except click.ClickException as error:
        message = error.format_message()
        for theirs in ("is not a valid integer range", "is not a valid integer"):  # a programmer's words
            message = message.replace(theirs, "is not a whole number")
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


def _usage(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        return ""  # its message names them
    context = getattr(error, "ctx", None)
    project = context.params.get("project") if context is not None else None
    if isinstance(error, click.MissingParameter) and isinstance(project, str) and project.strip("."):
        return f"--project took {project!r} as the name of the project; put --project last."
    return f"See `{context.command_path} --help`." if context is not None else ""


def _report(error: Error, *, as_json: bool) -> None:
    if as_json:
        from memory.tools.render.data import error as rendered

        click.echo(json.dumps(rendered(error)), err=True)
        return
    from memory.text.display import escape_controls

    for line in filter(None, (str(error), error.hint)):
        click.echo(f"memory: {escape_controls(line)}", err=True)
