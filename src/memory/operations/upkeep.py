"""The tools that look after a memory: how much is kept, and embedding again for another model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.operations.arguments import Parameter
from memory.operations.operation import Result, tool
from memory.operations.render import care_data, care_text
from memory.operations.render.hints import for_agents
from memory.text.fence import fenced

if TYPE_CHECKING:
    from memory.operations.operation import Call, Given


@tool(
    "care",
    "State of the memory",
    "memories:number superseded:number chunks:number queued:number",
    reads=True,
    repeats=True,
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
    "care",
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


OPERATIONS = (memory_stats, memory_reindex)
