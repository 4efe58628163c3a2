"""Commands that carry memories out, the graph out and in, and everything to another store."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from memory.cli.options import (
    encoded,
    opened,
    progress,
    settings,
    tell,
    text_of,
    write_lines,
)
from memory.config import FLAG, Config
from memory.config.files import BULK_BYTES, utf8
from memory.schema.answer import Notice
from memory.schema.errors import Invalid, printable
from memory.tools.bring import records
from memory.tools.graph import EntityGraph
from memory.tools.operation import OUTPUT, Call, Given, Option, Shown, command
from memory.tools.render import data
from memory.tools.render.text import counted, notice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.engine import Engine
    from memory.engine.move import Compared, Move, Moved


@command(
    "export",
    Option("--all", "Also the baseline questions with their vectors, by which this store judges answers."),
    Option("--trash", "Also deleted memories that can be restored."),
    Option("--author NAME", "Only memories saved by this person, or with --trash deleted by them.", blank=False),
    *OUTPUT,
)
def export(_call: Call, a: Given) -> Shown:
    """
    Export every memory as a line of JSON, for `memory import`. Each line has the details and the history. Then follow
    relations and links between memories, and the tool calls of research runs. From a damaged database it exports what
    can be read, names what cannot, and exits with 1.

    \b
        memory export > memories.jsonl
    """
    lost: list[str] = []
    sorts: Counter[str] = Counter()

    def lines(engine: Engine) -> Iterator[str]:
        found = records(engine, lost.append, strangers=a["all"], trash=a["trash"], author=a["author"])
        for sort, record in found:
            sorts[sort] += 1
            yield encoded(record, None if a["output"] else sys.stdout)

    with opened(damaged=True, reads=True) as engine:
        write_lines(a["output"], lines(engine), engine.config.database, force=a["force"])
    memories, strangers, deleted = (sorts.pop(sort, 0) for sort in ("memories", "strangers", "trash"))
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


@command("graph export", Option("--format", takes=("json", "dot"), usual="json"), *OUTPUT)
def export_graph(call: Call, a: Given) -> Shown:
    """
    Export the graph as lines of JSON, or for Graphviz. A line is an entity, a relation or a link to a memory.

    `memory graph import` reads the lines back; so does the reference memory server.

    \b
        memory graph export -o graph.jsonl
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
    Import a graph from an export, or from the reference memory server.

    FILE is the output of `memory graph export`, or the memory file of that server. Nothing is saved twice, so you may
    repeat it. An entity that exists gets what is new.

    \b
        memory graph import graph.jsonl
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
        f"{', '.join(new)} saved{more}; {found.known:,} already saved",
        [*map(notice, found.notices)],
    )


# To another store --------------------------------------------------------------

NAMED = 10
"""Memories that differ that are named."""


@command(
    "migrate FROM [TO]",
    Option("--verify", "Then compare both: the rows of each table and a hash of each memory."),
    Option("--switch", "Then write TO into the settings. End all programs that write to FROM first."),
    Option("--dry-run", "Only show what would be moved; TO is not opened."),
)
def migrate(call: Call, a: Given) -> Shown:
    """
    Move everything to another store: a file or a PostgreSQL server. All ids, times, history and vectors come along;
    nothing is embedded again, and FROM stays as it is.

    FROM and TO are folders with a database, or URLs of servers. Both may be read meanwhile. FROM may also be written
    to: the move catches up, and at the end its writers wait. TO must be empty, or hold the beginning of this move:
    interrupt it anywhere and run it again. At the end it says how to switch the settings; --switch does it.

    FROM may also be a file of an older version. Without TO the new file takes its place: end the programs that use it
    before. The old file stays beside it, as memory.db.format and its number.

    The exit code is 1 if --verify finds a difference, and 2 if TO holds something else, which is left as it is.

    \b
        memory migrate ~/.local/share/memory/memory.db
        memory migrate ~/.local/share/memory postgresql://me@host/memory --verify --switch
        memory migrate postgresql://me@host/memory ~/memory-copy --dry-run
    """
    from memory.engine.move import Move  # 20 ms that no other command needs

    config = settings()
    move = Move.of(config, a["from"], a["to"])
    if a["switch"]:
        _check_switch(config, move)
    if a["dry_run"]:
        return _dry(move)
    try:
        with progress("moving") as report:
            moved = move.run(report)
    except KeyboardInterrupt:
        tell([Notice("what was moved so far stays; the same command continues")])
        raise
    return _ended(call, config, move, moved, a)


def _ended(call: Call, config: Config, move: Move, moved: Moved, a: Given) -> Shown:
    """What is done once everything is there."""
    facts: dict[str, Any] = {"dry_run": False, **_places(move), **moved._asdict()}
    facts |= {"verified": None, "switched": {}, "kept": None, "next": []}
    lines = [] if move.predecessor else [_moved(move, moved)]
    if a["verify"] and not move.replaced:
        with progress("comparing") as report:
            found = move.compared(report)
        facts["verified"] = _facts(found)
        lines.append(_verified(found, moved.memories))
        if not found.same:
            return Shown(facts, "\n".join(lines), code=1)
    if a["switch"]:
        from memory.tools.settings import write_changes

        facts["switched"] = _changes(config, move.target)
        write_changes(call.flags.file, facts["switched"])
        lines += [f"switched: {key} = {new or 'the default'}" for key, new in facts["switched"].items()]
    if move.predecessor:
        move.take_place(move.predecessor)
        facts["kept"] = move.predecessor.kept
        memories = counted(moved.memories, "memory", "memories")
        lines.append(f"{memories} in {move.predecessor.path}, up to date; the old file is {move.predecessor.kept}")
        facts["next"] = ["start the programs again", "remove the old file once nothing is missing"]
    else:
        facts["next"] = _next(config, move.target, switched=a["switch"])
    return Shown(facts, "\n".join([*lines, "next:", *(f"  {line}" for line in facts["next"])]))


def _places(move: Move) -> dict[str, str]:
    return {"from": move.source.place, "to": (move.source if move.predecessor else move.target).place}


def _dry(move: Move) -> Shown:
    places = _places(move)
    if move.replaced:
        text = f"{places['from']} is up to date; would only take away {move.target.folder}"
        return Shown({"dry_run": True, **places, "rows": {}}, text)
    sizes = move.size()
    lines = [f"  {name:<16} {count:>9,}" for name, count in sizes.items() if count]
    what = f"bring {places['from']} up to date" if move.predecessor else f"move from {places['from']} to {places['to']}"
    first = f"would {what}, in rows:"
    return Shown({"dry_run": True, **places, "rows": dict(sizes)}, "\n".join([first, *lines]))


def _moved(move: Move, moved: Moved) -> str:
    source, target = _places(move).values()
    memories = counted(moved.memories, "memory", "memories")
    if moved.written or moved.removed:
        return f"{memories} moved from {source} to {target}"
    return f"nothing to do: {memories} of {source} are in {target} already"


def _facts(found: Compared) -> dict[str, Any]:
    return {
        "same": found.same,
        "rows": {name: list(pair) for name, pair in found.counts.items()},
        "memories": list(found.memories[:NAMED]),
        "differing": len(found.memories),
        "tables": list(found.tables),
    }


def _verified(found: Compared, memories: int) -> str:
    if found.same:
        return f"verified: both have {counted(memories, 'memory', 'memories')} with equal hashes, and all else is equal"
    differing = [f"the tables {', '.join(found.tables)}"] if found.tables else []
    if found.memories:
        named = ", ".join(map(str, found.memories[:NAMED]))
        more = ", …" if len(found.memories) > NAMED else ""
        differing.insert(0, f"{counted(len(found.memories), 'memory', 'memories')} ({named}{more})")
    return f"they differ in {' and in '.join(differing)}; if one of them is written to, end that and run this again"


def _changes(config: Config, target: Config) -> dict[str, str | None]:
    """The settings that lead to a store; None takes one out of the file."""
    if target.store.url:
        return {"store.url": target.place}
    changes: dict[str, str | None] = {"store.url": None} if config.store.url else {}
    return changes | ({"home": target.folder} if config.folder != target.folder else {})


def _check_switch(config: Config, move: Move) -> None:
    """
    Raises:
        Invalid: The settings name another store than FROM, or something comes before what would be written.
    """
    if move.predecessor:
        raise Invalid("--switch needs TO", hint="Leave out --switch.")
    if config.place != move.source.place:
        hint = "Without --switch it is moved, and the settings stay."
        raise Invalid(f"the settings name {config.place}, not FROM, so --switch would replace another store", hint=hint)
    origins = [config.origins.get(key, "") for key in _changes(config, move.target)]
    first = ["--home"] if config.origins.get("home") == FLAG else [one for one in origins if one.startswith("$")]
    if first:
        raise Invalid(f"{first[0]} overrides the settings that --switch writes", hint="Leave it out, or change it.")


def _next(config: Config, target: Config, *, switched: bool) -> list[str]:
    """What is left to do, so that programs use the store."""
    secret = target.store.url and target.store.url != target.place
    password = ["put the password into ~/.pgpass or $PGPASSWORD: it stands in no file of memory"] if secret else []
    if switched:
        return [*password, "start the programs again"]
    if os.environ.get("MEMORY_STORE_URL"):
        lines = ["change $MEMORY_STORE_URL, which comes before the settings"]
    else:
        lines = [
            f"memory config unset {key}" if new is None else f"memory config set {key} '{new}'"
            for key, new in _changes(config, target).items()
        ]
    first = "end the programs that write to FROM; if there are any, run this again, which brings what they wrote"
    return [first, *lines, *password, "start the programs again"]


COMMANDS = (export, import_graph, export_graph, migrate)
