"""Commands that carry memories out, and the graph out and in."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from memory.carry import export as lines
from memory.carry.export import SCHEMA, STRANGERS, TRASH, edge_lines, strangers_line
from memory.cli.options import (
    encoded,
    opened,
    text_of,
    write_lines,
)
from memory.config.files import BULK_BYTES, utf8
from memory.schema.answer import Notice
from memory.schema.errors import StoreDamaged, printable
from memory.tools.graph import EntityGraph
from memory.tools.operation import OUTPUT, Call, Given, Option, Shown, command
from memory.tools.render import data
from memory.tools.render.text import counted, notice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memory.engine import Engine


@command(
    "export",
    Option("--all", "Also what tells here whether an answer fits: the strangers, as this model embedded them."),
    Option("--trash", "Also what was deleted and can be had back."),
    Option("--author NAME", "Only what this person saved, or with --trash deleted.", blank=False),
    *OUTPUT,
)
def export(_call: Call, a: Given) -> Shown:
    """
    Print every memory as a line of JSON, for `memory import`. It has its details and its history; then come the
    relations and links between memories and the tool calls of research runs. From a damaged database it exports what
    can be read, names what cannot, and exits with 1.

    \b
        memory export > memories.jsonl
    """
    lost: list[str] = []
    sorts: Counter[str] = Counter()

    def lines(engine: Engine) -> Iterator[str]:
        for record in _records(engine, lost.append, strangers=a["all"], trash=a["trash"], author=a["author"]):
            sorts[record["schema"]] += 1
            yield encoded(record, None if a["output"] else sys.stdout)

    with opened(damaged=True, reads=True) as engine:
        write_lines(a["output"], lines(engine), engine.config.database, force=a["force"])
    memories, strangers, deleted = sorts.pop(SCHEMA, 0), sorts.pop(STRANGERS, 0), sorts.pop(TRASH, 0)
    more = f", with {counted(sorts.total(), 'relation, link or tool call', 'relations, links and tool calls')}"
    beside = f" and {counted(deleted, 'deleted memory', 'deleted memories')}" if deleted else ""
    warnings = [notice(Notice(f"lost: {what}")) for what in lost]
    if a["output"] is None:
        if not (memories or deleted or sorts or lost):
            warnings.append("nothing is saved yet, so nothing was written")
        return Shown(None, "", warnings, code=1 if lost else 0)
    return Shown(
        {
            "file": a["output"],
            "memories": memories,
            "joined": sorts.total(),
            "strangers": bool(strangers),
            "deleted": deleted,
            "lost": lost,
        },
        f"{counted(memories, 'memory', 'memories')}{beside}{more if sorts else ''} in {a['output']}",
        code=1 if lost else 0,
        warnings=warnings,
    )


def _records(
    engine: Engine, lost: Callable[[str], None], *, strangers: bool, trash: bool, author: str | None
) -> Iterator[dict[str, Any]]:
    """
    All that is kept, as JSON values.

    Args:
        lost: Told what cannot be read.
        strangers, trash: Whether those belong to it, if there are any.
        author: Only what this person saved, what joins that, and what they deleted; tool calls have no author.
    """
    uids: set[str] = set()
    for one in engine.maintenance.exported(lost):
        if author is None or one.memory.author == author:
            uids.add(one.memory.uid)
            yield lines.memory_line(one)
    whole = author is None
    edges = (one for one in edge_lines(engine.store) if whole or uids.issuperset(one[:2]))
    users = None if author is None else {author}
    joined: dict[str, Iterable[dict[str, Any]]] = {
        "relations and links": map(lines.edge, edges),
        "tool calls of research runs": (lines.tool_call(call) for _, call in (engine.runs.calls() if whole else ())),
        "strangers": _strangers(engine) if strangers else (),
        "trash": (json.loads(one.line) for one in engine.trash.rows(users)) if trash else (),
    }
    for what, records in joined.items():
        try:
            yield from records
        except StoreDamaged as error:
            lost(f"not all {what} can be read: {error}")


def _strangers(engine: Engine) -> Iterator[dict[str, Any]]:
    if (line := strangers_line(engine.store)) is not None:
        yield lines.strangers(line)


@command("graph export", Option("--format", takes=("json", "dot"), usual="json"), *OUTPUT)
def export_graph(call: Call, a: Given) -> Shown:
    """
    Print the graph as lines of JSON, or for Graphviz. A line is an entity, a relation or a link to a memory.

    `memory graph import` reads the lines back; so does the reference memory server.

    \b
        memory graph export --format dot | dot -Tsvg > graph.svg
    """
    from memory.tools.graph.carry import dot, exported

    form, graph = a["format"], call.engine.graph
    if form == "json":
        stream = None if a["output"] else sys.stdout
        lines: Iterator[str] = (encoded(one, stream) for one in exported(call.engine))
    else:
        lines = dot(graph.every(), graph.all_relations())
    count = write_lines(a["output"], lines, call.engine.config.database, force=a["force"])
    if a["output"] is None:
        return Shown(None, "")
    values = {"file": a["output"], "format": form, "lines": count}
    return Shown(values, f"{counted(count, 'line')} in {printable(a['output'])}")


@command("graph import FILE|-", progress="importing")
def import_graph(call: Call, a: Given) -> Shown:
    """
    Import a graph from a file: an export, or the memory file of the reference memory server.

    Nothing is stored twice: an import may be repeated. An entity that exists gets what is new.
    """
    from memory.tools.graph.carry import imported, parsed

    file = a["file"]
    graph = parsed(utf8(file, "-") if isinstance(file, bytes) else text_of(file, BULK_BYTES))
    found = imported(EntityGraph(call.engine, source="import"), graph, call.progress)
    new = (
        counted(found.entities, "entity", "entities"),
        counted(found.relations, "relation"),
        counted(found.links, "link"),
    )
    more = f", {counted(found.observations, 'observation')} added to others" if found.observations else ""
    return Shown(
        found._asdict() | {"notices": data.notices(found.notices)},
        f"{', '.join(new)} kept{more}; {found.known:,} already kept",
        [*map(notice, found.notices)],
    )


COMMANDS = (export, import_graph, export_graph)
