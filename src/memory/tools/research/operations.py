"""The verbs of research runs: the tools of their agents, and the commands of whoever leads them."""

from __future__ import annotations

from memory.schema.answer import Notice
from memory.schema.errors import Invalid, printable
from memory.schema.query import MOST
from memory.text.display import one_line
from memory.tools.operation import INSTEAD, OUTPUT, PAGE, Call, Given, Option, Shown, command, group
from memory.tools.render import data
from memory.tools.render.text import first, notice
from memory.tools.research import rows, text, transfer
from memory.tools.research.text import ROOM, briefing, check_room
from memory.tools.research.tools import OPERATIONS

__all__ = ["COMMANDS", "OPERATIONS"]

LEADER = "lead_coordinator"
"""The default author of a run's plan."""


def _named(call: Call, a: Given) -> str:
    """
    Raises:
        Invalid: Neither the command nor the settings name a run.
    """
    if found := (a["id"] or call.engine.config.run).strip():
        return found
    raise Invalid(
        "no run is named", hint="`memory run list` shows those there are; $MEMORY_RUN names one for all commands."
    )


@group("run", "list")
def runs() -> None:
    """
    List research runs, or show what agents found out in one.

    You may leave out ID if $MEMORY_RUN names a run, except for clear.

    \b
        RUN=$(memory run start --plan "Independent benchmarks first")
        MEMORY_RUN=$RUN memory mcp --toolset research
        memory run context $RUN        what a worker reads before it begins
        memory run export $RUN -o run.json
    """


@command(
    "run start",
    Option("--plan TEXT|-", "What to find out and how; - reads standard input.", blank=False),
    Option("--agent NAME", "Who wrote the plan.", usual=LEADER),
)
def start(call: Call, a: Given) -> Shown:
    """
    Start a research run. It prints the name of the run and saves the plan, if there is one.

    Only the name goes to standard output:

    \b
        RUN=$(memory run start --plan "Independent benchmarks first")
    """
    id = call.engine.runs.new()
    plan = None if a["plan"] is None else rows.draft("plan", a["plan"], a["agent"], run=id, project=call.project)
    saved = None if plan is None else call.engine.save(plan)
    notices = saved.notices if saved else ()
    facts = {"query_id": id, "plan": saved and data.pointer(saved.memory), "notices": data.notices(notices)}
    told = f"`export MEMORY_RUN={id}` makes commands, and agents with the toolset research, work in it"
    return Shown(facts, id, [told, *map(notice, notices)])


@command("run list", PAGE)
def list_(call: Call, a: Given) -> Shown:
    """
    List research runs, most recently active first.

    \b
        memory run list
    """
    found, total = call.engine.runs.latest(a["limit"])
    facts = {"runs": [rows.numbers(one) for one in found], "total_runs": total}
    notes = [] if found else ["there is no research run yet; `memory run start` begins one"]
    notes += [f"{total - len(found):,} more; -n {total} shows all"] if total > len(found) else []
    return Shown(facts, text.runs(found), notes)


@command("run show [ID]", PAGE, Option("--kind KIND", "Only this kind: discovery, insight, deadend, ..."))
def show(call: Call, a: Given) -> Shown:
    """
    Show a run's findings, latest first. Before them it counts findings by kind and by agent, and tool calls.

    \b
        memory run show $RUN --kind insight
    """
    found = call.engine.runs.run(_named(call, a))
    recent = call.engine.documents.recent(rows.scope(found.id, a["kind"]), min(a["limit"] + 1, MOST))
    memories, more = first(recent, a["limit"])
    facts = rows.numbers(found) | {"memories": [data.whole(memory) for memory in memories]}
    missing = "" if memories else "none of these is in it"
    return Shown(facts, text.shown(found, memories), [*filter(None, (missing, more))])


@command(
    "run context [ID]",
    Option("--agent NAME", "The worker, whose own discoveries are left out."),
    Option("--tokens N", "Maximum size, in tokens.", takes=int),
)
def context(call: Call, a: Given) -> Shown:
    """
    Show what a worker in a run should know. Put it before the worker's prompt.

    It has the plan, the latest feedback, ten discoveries and five dead ends. What agents wrote is marked as data.

    \b
        memory run context $RUN --agent worker-1
    """
    room = ROOM if a["tokens"] is None else a["tokens"]
    check_room(room)  # before a database is created
    name = _named(call, a)
    found = briefing(call.engine, name, a["agent"], room=room)
    notes = [] if call.engine.runs.memories(name, limit=1) else ["nothing is saved in this run yet"]
    return Shown(rows.context(name, found), found.text, notes, ends=False)


@command("run export [ID]", *OUTPUT)
def export(call: Call, a: Given) -> Shown:
    """
    Export a run with its tool calls as JSON. `memory run import` reads it back.

    \b
        memory run export $RUN -o run.json
    """
    found, output = call.engine.runs.run(_named(call, a)), a["output"]
    content, memories, calls = transfer.exported(call.engine, found.id)
    if output is not None and not transfer.write(call.engine, output, content, overwrite=a["force"]):
        raise Invalid(f"{printable(output)} already exists", hint=INSTEAD)
    left_out = Notice(
        f"superseded memories left out: {found.memories - memories:,}", "`memory export` has all of them."
    )
    notes = [notice(left_out)] if found.memories > memories else []
    if output is None:
        return Shown(None, content, notes, ends=False)
    facts = {"file": output, "exported_memories": memories, "exported_tool_calls": calls} | rows.numbers(found)
    return Shown(facts, f"{text.amount(memories, calls)} in {printable(output)}", notes)


@command("run import FILE|-")
def import_(call: Call, a: Given) -> Shown:
    """
    Import a run from its export, under the same name. Nothing is saved twice, so you may repeat it.

    \b
        memory run import run.json
    """
    if isinstance(a["file"], bytes):
        found = transfer.imported(call.engine, a["file"], place="standard input")
    else:
        found = transfer.import_from_json(call.engine, a["file"])
    new, known = (text.amount(*of) for of in ((found.memories, found.calls), (found.known, found.known_calls)))
    notes = [*(f"run {one_line(name)}" for name in found.runs), *map(notice, found.notices)]
    facts = found._asdict() | {"notices": data.notices(found.notices)}
    return Shown(facts, f"Saved {new}; already there: {known}", notes)


@command("run clear [ID]", Option("--calls", "Also its tool calls."), Option("--all", "All runs."))
def clear(call: Call, a: Given) -> Shown:
    """
    Delete a run's findings. Name the run, or pass --all. Its tool calls stay unless you pass --calls.

    \b
        memory run clear $RUN
    """
    if a["all"] == bool(a["id"] and a["id"].strip()):
        why = "name one run, or clear all" if a["all"] else "no run is named"
        raise Invalid(why, hint="Name it, or give --all.")
    name = None if a["id"] is None else a["id"].strip()
    gone = call.engine.runs.clear(name, calls=a["calls"])
    facts = {"query_id": name, "memories_deleted": gone.memories, "tool_calls_deleted": gone.calls}
    return Shown(facts, text.cleared(name, gone))


COMMANDS = (runs, start, list_, show, context, export, import_, clear)
