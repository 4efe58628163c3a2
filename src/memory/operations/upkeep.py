"""The tools that look after a memory: how much is kept, and embedding again for another model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations import shapes
from memory.operations.arguments import Parameter
from memory.operations.operation import Operation, Result
from memory.operations.render import care_data, care_text
from memory.operations.render.hints import for_agents
from memory.text.fence import fenced

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory.operations.operation import Call


def stats(call: Call, _given: Mapping[str, Any]) -> Result:
    found = call.engine.maintenance.status()
    values = care_data.status(found, call.engine.config.database)
    lines = [care_text.status(found, call.engine.config.database)]
    lines += [f"Note: {problem.text}. {for_agents(problem.hint)}".rstrip() for problem in found.problems]
    return Result(values, fenced("\n".join(lines)))


def _reindex(call: Call, given: Mapping[str, Any]) -> Result:
    if given.get("dry_run"):
        plan = call.engine.vectors.estimate()
        values = care_data.estimate(plan) | {"embedded": 0}
        return Result(values, f"{plan.chunks:,} chunks, about {plan.tokens:,} tokens, with {plan.model}.\n")
    result = call.engine.vectors.reindex(call.progress)
    values = care_data.reindexed(result) | {"chunks": result.embedded + result.failed}
    said = f"{result.embedded:,} chunks embedded; {result.after} answers from now on.\n"
    failed = f"Note: {result.failed:,} were not taken by the model: {result.error}\n" if result.failed else ""
    return Result(values, said + failed)


OPERATIONS = (
    Operation(
        name="memory_stats",
        toolset="care",
        title="State of the memory",
        description=(
            "How much is kept, of which kinds and projects, which model's vectors there are, what waits for one, and "
            "what is wrong with what would mend it. Call it when recall seems incomplete or the user asks about the memory."
        ),
        parameters=(),
        returns=shapes.STATS,
        run=stats,
        reads=True,
        repeats=True,
    ),
    Operation(
        name="memory_reindex",
        toolset="care",
        title="Embed everything again",
        description=(
            "Embed everything with the configured model; needed once after another model was set, and said so by a "
            "note in search results. Searches go on meanwhile; interrupted, it continues the next time. It may take "
            "minutes and, with a paid server, money: ask the user, and show them `dry_run` first."
        ),
        parameters=(Parameter("dry_run", "boolean", "Only say what it would take."),),
        returns=shapes.REINDEX,
        run=_reindex,
        repeats=True,
    ),
)
