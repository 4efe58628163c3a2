"""The verbs that look after a memory: how much is kept, what searches took, what is embedded and what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.operations.arguments import Parameter
from memory.operations.operation import Option, Result, Shown, command, reading, tool
from memory.operations.render import care_data, care_text
from memory.operations.render.recall import for_agents
from memory.operations.render.text import counted, width
from memory.schema.limits import iso
from memory.text.display import escape_controls, fenced

if TYPE_CHECKING:
    from memory.operations.operation import Call, Given


@reading(
    "State of the memory",
    "memories:number superseded:number chunks:number queued:number",
)
def memory_stats(call: Call, _: Given) -> Result:
    """
    How much is kept, of which kinds and projects, which model's vectors there are, what waits for one, and what is
    wrong with what would mend it. Call it when recall seems incomplete or the user asks about the memory.
    """
    found = call.engine.maintenance.status()
    values = care_data.status(found, call.engine.config.database)
    lines = [care_text.status(found, call.engine.config.database)]
    lines += [f"Note: {problem.text}. {for_agents(problem.hint)}".rstrip() for problem in found.problems]
    return Result(values, fenced("\n".join(lines)))


@tool(
    "Embed everything again",
    "chunks:number embedded:number",
    Parameter("dry_run", "boolean", "Only say what it would take."),
    repeats=True,
)
def memory_reindex(call: Call, given: Given) -> Result:
    """
    Embed everything with the configured model; needed once after another model was set, and said so by a note in search
    results. Searches go on meanwhile; interrupted, it continues the next time. It may take minutes and, with a paid
    server, money: ask the user, and show them `dry_run` first.
    """
    if given.get("dry_run"):
        plan = call.engine.vectors.estimate()
        values = care_data.estimate(plan) | {"embedded": 0}
        return Result(values, f"{plan.chunks:,} chunks, about {plan.tokens:,} tokens, with {plan.model}.\n")
    result = call.engine.vectors.reindex(call.progress)
    values = care_data.reindexed(result) | {"chunks": result.embedded + result.failed}
    said = f"{result.embedded:,} chunks embedded; {result.after} answers from now on.\n"
    failed = f"Note: {result.failed:,} were not taken by the model: {result.error}\n" if result.failed else ""
    return Result(values, said + failed)


@command(
    "stats",
    "How many searches there were, how long they took, how far they went.",
    Option("--days N", "How far back; else all that is remembered.", takes=(1, 36_500)),
)
def stats(call: Call, a: Given) -> Shown:
    """
    How many searches there were, how long they took, and how many of them keywords alone have answered.

    Of a search its moment, type, tier, time, results and the names of its filters are remembered, never its text; the
    last 10,000 at most.
    """
    found = call.engine.searches.statistics(a["days"])
    values = found._asdict() | {
        "since": found.since and iso(found.since),
        "tiers": [tier._asdict() for tier in found.tiers],
        "types": [type._asdict() for type in found.types],
        "times": [bin._asdict() for bin in found.times],
    }  # times in seconds, shares 0..1; the bins are those of `memory.engine.statistics.bins`
    when = "yet" if a["days"] is None else f"in the last {counted(a['days'], 'day')}"
    return Shown(values, care_text.statistics(found, width()) or f"nothing was searched {when}")


@command("embed", "Embed what waits for a vector.", progress="embedding")
def embed(call: Call, _: Given) -> Shown:
    """
    Embed what waits for a vector, as after a time without a model, also what failed before.

    It may be interrupted at any time: what was embedded is kept.
    """
    result = call.engine.vectors.embed(call.progress)
    left = f", {result.left:,} still wait" if result.left else ""
    by = f" with {result.model}" if result.embedded else ""
    untaken = f"the model did not take {counted(result.failed, 'chunk')}: {escape_controls(result.error)}"
    notes = [*map(str, result.held), *([untaken] if result.failed else [])]
    text = f"{counted(result.embedded, 'chunk')} embedded{by}{left}"
    return Shown(care_data.backfilled(result), text, notes, code=1 if result.failed else 0)


@command(
    "ledger",
    "What was embedded: by whom, what for, how much was sent, at what cost.",
    Option("--days N", "How far back.", takes=(1, 36_500), usual=30),
    Option("--each", "Every request, not sums of days."),
)
def ledger(call: Call, a: Given) -> Shown:
    """
    What was embedded: by which model, what for, how many texts and tokens, what was sent where, at what cost.

    Every request is entered before it is sent. Nothing sent is 0 bytes: the text stayed on this machine, in this
    process.
    """
    found = call.engine.vectors.ledger(a["days"], each=a["each"])
    return Shown(care_data.ledger(found), care_text.ledger(found, each=a["each"]) or "nothing was embedded")


@command(
    "doctor",
    "Look at everything, ask the model, and say what would mend it.",
    Option("--fix", "Mend it: rebuild what is derived, embed what waits."),
)
def doctor(call: Call, a: Given) -> Shown:
    """
    Look at the database, the model, its vectors and what waits for them. The exit code is 1 if something is amiss.

    A server is asked for one vector, also if it was left alone for giving no answer.
    """
    found = call.engine.maintenance.doctor(fix=a["fix"])
    return Shown(care_data.doctor(found), care_text.doctor(found), code=0 if all(one.well for one in found) else 1)


OPERATIONS = (memory_stats, memory_reindex)
COMMANDS = (stats, embed, ledger, doctor)
