"""The verbs of tags: list and rename."""

from __future__ import annotations

from memory.operations.operation import Call, Given, Option, Shown, command, group
from memory.operations.render import data
from memory.operations.render.text import counted, notice, plain, table
from memory.schema.query import ACTIVE


@group("tags", "list")
def tags() -> None:
    """
    List the tags and how many memories have each, or rename one.

    \b
        memory tags
        memory tags --project my-app
        memory tags rename db database
    """


@command(
    "tags list",
    Option("--project [NAME]", "Only of this project; without a name, that of this folder.", narrows=True),
)
def list_(call: Call, a: Given) -> Shown:
    """List the tags and how many memories have each, most first."""
    project = a["project"]
    found = call.engine.tags.counted(ACTIVE._replace(projects=frozenset({project})) if project else ACTIVE)
    values = {"tags": [{"tag": tag, "memories": count} for tag, count in found]}
    among = f"of project {plain(project)} " if project else ""
    notes = [] if found else [f"no memory {among}has a tag yet; `memory save` takes them: --tag NAME"]
    return Shown(values, table([(f"{count:,}", plain(tag)) for tag, count in found], right=[0]), notes)


@command("tags rename OLD NEW")
def rename(call: Call, a: Given) -> Shown:
    """
    Rename a tag wherever it is, in one step. A memory that has both tags keeps NEW; `memory details` shows what a
    memory had before.
    """
    new, count, notices = call.engine.tags.rename(a["old"], a["new"])
    said = f"{plain(a['old'])} is now {plain(new)} on {counted(count, 'memory', 'memories')}"
    values = {"old": a["old"], "new": new, "memories": count, "notices": data.notices(notices)}
    return Shown(values, said, [*map(notice, notices)])


COMMANDS = (tags, list_, rename)
