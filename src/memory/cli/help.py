"""Commands that say what there is: help and version."""

from __future__ import annotations

import click

from memory.config.installation import COMMANDS as COMMAND_NAMES
from memory.schema import __version__
from memory.tools.operation import Call, Given, Option, Shown, command


@command("help", Option("[COMMAND]..."))
def help_(_call: Call, a: Given) -> Shown:
    """
    Show what a command does and takes, as `memory COMMAND --help` does.

    \b
        memory help
        memory help save
        memory help session list
    """
    context = click.get_current_context().find_root()
    rest = [*a["command"]]
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
    """Show the version."""
    return Shown({"version": __version__}, f"memory {__version__}")


COMMANDS = (help_, version)
