"""The verbs of tags: list and rename."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.operations.operation import Call, Given, Option, Shown, command, group
from memory.operations.render.text import counted, plain, table
from memory.schema.query import ACTIVE

if TYPE_CHECKING:
    from memory.schema.query import Scope


@group("tags", "list")
def tags() -> None:
    """
    List the tags and how many memories have each, or rename one.

    \b
        memory tags
        memory tags --project my-app
        memory tags rename db database
    """


@command("tags list", Option("--project [NAME]", "Only of this project; without a name, that of this folder."))
def list_(call: Call, a: Given) -> Shown:
    """List the tags and how many memories have each, most first."""
    found = call.engine.tags.counted(_scope(a["project"]))
    values = {"tags": [{"tag": tag, "memories": count} for tag, count in found]}
    notes = [] if found else ["no memory has a tag yet; `memory save` takes them: --tag NAME"]
    return Shown(values, table([(f"{count:,}", plain(tag)) for tag, count in found], right=[0]), notes)


def _scope(project: str | None) -> Scope:
    return ACTIVE._replace(projects=frozenset({project})) if project else ACTIVE


@command("tags rename OLD NEW")
def rename(call: Call, a: Given) -> Shown:
    """
    Rename a tag wherever it is, in one step. A memory that has both tags keeps NEW; `memory details` shows what a
    memory had before.
    """
    count = call.engine.tags.rename(a["old"], a["new"])
    said = f"{plain(a['old'])} is now {plain(a['new'])} on {counted(count, 'memory', 'memories')}"
    return Shown({"old": a["old"], "new": a["new"], "memories": count}, said)


COMMANDS = (tags, list_, rename)
