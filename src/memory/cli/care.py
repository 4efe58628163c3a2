"""Commands that look after the memory itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from memory.cli.flags import flags
from memory.cli.model import YES, offer
from memory.cli.options import named_file, opened, settings, settings_file
from memory.config.config import load
from memory.config.edit import example
from memory.config.files import write_file
from memory.schema.errors import ConfigError, EmbedError, Error, Invalid, explained
from memory.text.display import escape_controls
from memory.tools import upkeep
from memory.tools.operation import Call, Given, Option, Shown, command
from memory.tools.render import care_text, data
from memory.tools.render.text import counted, notice
from memory.vectors.local.weights import INSTALL

if TYPE_CHECKING:
    from memory.engine import Engine


@command("init", YES)
def init(_call: Call, a: Given) -> Shown:
    """
    Create the folder, the database and a settings file that explains every setting. Changes nothing that exists.

    At a terminal it asks whether to install the local model, if that is missing: `memory model install`.
    """
    named, file = named_file(), settings_file()  # one that was named need not be there yet
    config = settings() if named is None or named.exists() else load(os.devnull, flags=flags().settings)
    offered = offer(yes=a["yes"])
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


@command("status")
def status(call: Call, _: Given) -> Shown:
    """Show how much is stored, which vectors there are, what is wrong and how to fix it."""
    from memory.config.adopt import beside

    found, config = call.engine.maintenance.status(), call.engine.config
    if not config.begun:
        found = found._replace(counts=found.counts._replace(bytes=0))
    found = found._replace(problems=(*found.problems, *beside(str(settings_file().parent), config)))
    notes = [notice(one) for one in found.problems if one not in config.former]  # `settings` has told those
    return Shown(upkeep.status(found, config.place), care_text.status(found, config.place), notes)


@command(
    "reindex",
    Option("--dry-run", "Only estimate what it would take: chunks, tokens, cost, time."),
    Option("--rollback", "Go back to the vectors from before the last reindex."),
    Option("--keep", "Keep the vectors of all earlier models, not only of the last one."),
    Option("--resume", "Continue where it was interrupted, which it does in any case."),
    progress="embedding",
)
def reindex(call: Call, a: Given) -> Shown:
    """
    Embed everything with the configured model; needed after you change it.

    Until it is done the old vectors answer, with their own model. You can interrupt it at any time: the next call
    continues from there. The old vectors are kept until the next reindex to another model.
    """
    if a["dry_run"] + a["rollback"] + (a["keep"] or a["resume"]) > 1:
        raise Invalid("--dry-run, --rollback and --keep or --resume cannot be combined")
    if a["dry_run"]:
        found = call.engine.vectors.estimate()
        return Shown(upkeep.forecast(found), care_text.estimate(found))
    return _rolled_back(call.engine) if a["rollback"] else _reindexed(call, keep=a["keep"])


def _reindexed(call: Call, *, keep: bool) -> Shown:
    try:
        result = call.engine.vectors.reindex(call.progress, keep=keep)
        call.engine.vectors.make_words(call.progress)
    except (KeyboardInterrupt, EmbedError):
        click.echo("memory: what was embedded is kept; `memory reindex` continues from there", err=True)
        raise
    done = f"{counted(result.embedded, 'chunk')} embedded" if result.embedded else "nothing to do"
    lines = [f"{done}; searches use {result.after}"]
    if result.before not in (None, result.after):
        lines.append(f"before: {result.before}; `memory reindex --rollback` goes back")
    notes = []
    if result.exchanged:
        notes.append("the model behind this name has changed; what the former one had embedded was embedded again")
    if result.failed:
        notes.append(f"the model did not take {counted(result.failed, 'chunk')}: {escape_controls(result.error)}")
    return Shown(upkeep.reindexed(result), "\n".join(lines), notes)


def _rolled_back(engine: Engine) -> Shown:
    result = engine.vectors.roll_back()
    lines = [f"searches use {result.after} again"]
    if result.missing:
        lines.append(f"{counted(result.missing, 'chunk')} saved since then without a vector in it: `memory embed`")
    provider, model, _, dimension = result.after
    wide = f" embedding.dimensions {dimension}" if result.before[:2] == result.after[:2] else ""
    lines += [
        f"to stay with it: memory config set embedding.provider {provider} embedding.model {model}{wide}",
        f"to undo this at once: memory reindex, while the settings name {result.before}",
    ]
    return Shown(data.document("rollback", data.row(result, "before after missing:number")), "\n".join(lines))


@command("completion", Option("SHELL", takes=("bash", "zsh", "fish")))
def completion(_call: Call, a: Given) -> Shown:
    """
    Print a script that completes `memory` commands in a shell: bash, zsh or fish.

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


COMMANDS = (init, status, reindex, completion)
