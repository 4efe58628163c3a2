"""Commands that set memory up and explain it: init, config, completion, help and version."""

from __future__ import annotations

import os
from pathlib import Path

import click

import memory
from memory import cli as root
from memory.cli import root_flags
from memory.cli.made import command_of
from memory.cli.options import named_file, opened, settings, settings_file
from memory.config import load
from memory.config.edit import example
from memory.config.files import write_file
from memory.config.installation import COMMANDS as COMMAND_NAMES
from memory.schema import __version__
from memory.schema.errors import ConfigError, Error, explained
from memory.tools.model import INSTALL, YES, offer
from memory.tools.operation import Call, Given, Option, Shown, command
from memory.tools.render.text import notice
from memory.tools.settings import import_, set_, show, unset


@command("init", YES)
def init(call: Call, a: Given) -> Shown:
    """
    Create the folder, the database and a settings file. The file explains every setting. What exists is left as it is.

    At a terminal it offers to install the local model, if that is missing.

    \b
        memory init
    """
    named, file = named_file(), settings_file()  # one that was named need not be there yet
    config = settings() if named is None or named.exists() else load(os.devnull, flags=root_flags().settings)
    offered = offer(call, yes=a["yes"])
    with opened(config) as engine:
        found = engine.maintenance.status()
    written = not file.exists()
    if written:
        with explained(ConfigError, f"cannot write {file}"):
            write_file(os.path.realpath(file), example().encode(), overwrite=False)
    lines = (
        f"database  {config.place}",
        f"settings  {file}{'' if written else ' (was there already)'}",
        'next      memory save "A title" --what "What you decided"',
    )
    values = {"database": config.place, "config": str(file), "written": written}
    untold = [one for one in found.problems if one not in config.former]
    problems = [notice(one) for one in untold if not (offered and one.hint == INSTALL)]
    return Shown(values, "\n".join(lines), [*offered, *problems])


@command("completion", Option("SHELL", takes=("bash", "zsh", "fish")))
def completion(_call: Call, a: Given) -> Shown:
    """
    Print a script that completes `memory` commands in your shell.

    \b
        memory completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    from memory.cli import cli

    kind = get_completion_class(a["shell"])
    if kind is None:
        raise Error(f"no completion for {a['shell']}")
    script = kind(cli, {}, "memory", "_MEMORY_COMPLETE").source()
    return Shown({"shell": a["shell"], "script": script}, script)


class _Settings(click.Group):
    """`memory config` and `memory config KEY` are `memory config show`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((arg for arg in args if arg[:1] != "-"), "")
        for_help = not first and {"-h", "--help"} & set(args)
        return super().parse_args(ctx, args if for_help or first in self.commands else ["show", *args])


@click.group(
    cls=_Settings,
    commands=[command_of(one) for one in (show, set_, unset, import_)],
    short_help="Show settings, or change one.",
)
def config() -> None:
    """
    Show settings, or change one.

    \b
        memory config                                show all
        memory config search                         show a section; search.limit shows one
        memory config set search.limit 10            change one in config.yaml
        memory config set embedding.provider ollama  try it first, and say what to do next
        memory config unset search.limit             go back to the default
        memory config import config.json             import the settings of another program
    """


def page(topic: str) -> str | None:
    """A page of the documentation, or their list; None if there is none of this name. They are in the wheel."""
    package = Path(memory.__file__).parent
    there = next((one for one in (package / "docs", package.parents[1] / "docs") if one.is_dir()), None)
    pages = {one.stem: one for one in sorted(there.glob("*.md"))} if there else {}
    if topic == "topics":
        width = max(map(len, pages), default=0)
        titles = {name: one.read_text("utf-8").partition("\n")[0].lstrip("# ") for name, one in pages.items()}
        return "\n".join(f"{name:{width}}  {title}" for name, title in titles.items())
    wanted = pages.get(topic.removesuffix(".md"))
    return None if wanted is None else wanted.read_text("utf-8")


@command("help", Option("[COMMAND]..."))
def help_(_call: Call, a: Given) -> Shown:
    """
    Show the help of a command, or a page of the documentation.

    \b
        memory help
        memory help save
        memory help session list
        memory help ranking         a page; memory help topics lists them
        memory help graph.md        one that has the name of a command
    """
    context = click.get_current_context().find_root()
    rest = [*a["command"]]
    if len(rest) == 1 and not {*rest} & {*root.COMMANDS, *root.ALIASES} and (text := page(rest[0])) is not None:
        return Shown({"topic": rest[0].removesuffix(".md"), "help": text}, text)
    if rest[:1] in ([name] for name in COMMAND_NAMES):  # "memory help memory save"
        del rest[0]
    while rest and isinstance(context.command, click.Group):
        _, found, rest = context.command.resolve_command(context, rest)
        if found is None:
            break
        context = click.Context(found, info_name=found.name, parent=context)
    return Shown({"command": context.command_path, "help": context.get_help()}, context.get_help())


@command("version")
def version(_call: Call, _: Given) -> Shown:
    """
    Show the version.

    \b
        memory version
    """
    return Shown({"version": __version__}, f"memory {__version__}")


COMMANDS = (init, completion, help_, version)
