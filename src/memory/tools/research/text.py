"""Results about research runs as text: fenced lines for an agent, tables for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.memory import INSTRUCTIONS, Memory
from memory.schema.moments import minute
from memory.text.display import MARK, escape_invisible, fenced, one_line
from memory.tools.render.recall import nearness, notices, verdict
from memory.tools.render.text import counted, shares, short_row, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.keep.removing import Cleared
    from memory.schema.answer import Answer
    from memory.schema.document import Document
    from memory.schema.draft import Saved
    from memory.store import Run

SHOWN = 2_000  # characters of one content among several
WHOLE = 20_000  # of the latest, which is read to be followed
MORE = "(not found, but near by what the run says, or its latest:)"


def said(run: str, found: Iterable[Document], most: int = SHOWN) -> str:
    """Lines such as "Discovery by worker-1: … (memory 12)", fenced; empty without any."""
    text = fenced("\n".join(_line(f"{one.memory.kind.capitalize()} by", one.memory, one.body, most) for one in found))
    return text and f"Run {one_line(run)}:\n{text}"


def answer(found: Answer, *, missing: str, run: str | None) -> str:
    """
    Lines such as "[discovery] by worker-1: … (memory 12; similarity 0.62; distance 0.38)", best first, fenced;
    what fills up is below a line of its own.

    Args:
        missing: What to say if nothing was found.
        run: What was searched; None is all runs, and of each memory is said of which one it is.
    """
    head = verdict(found) if run is None else f"Run {one_line(run)}: {verdict(found)}"
    shown = [
        _line(
            f"[{hit.memory.kind}] by",
            hit.memory,
            hit.text,
            SHOWN,
            nearness(hit.similarity, hit.distance),
            run=run is None,
        )
        for hit in found.hits
    ]
    if len(shown) > found.found:
        shown.insert(found.found, MORE)
    text = fenced("\n".join(shown))
    return "\n".join([head, (text or missing).rstrip(), *notices(found.notices)]) + "\n"


def _line(head: str, memory: Memory, body: str, most: int, numbers: Sequence[str] = (), *, run: bool = False) -> str:
    """
    Who said what, and by which id it can be read; further lines are indented, so that none begins another memory.

    The id stands last, where nothing that the memory says can take its place.
    """
    mark = f"{MARK} " if INSTRUCTIONS in memory.flags else ""
    text = escape_invisible(body.strip())
    if len(text) > most:
        text = f"{text[:most].rstrip()}… [{len(body):,} characters; memory_details shows all]"
    place = f" in run {one_line(memory.query_id or '')}" if run else ""
    tags = "".join(f" #{one_line(tag)}" for tag in memory.tags)
    who = one_line(memory.agent_id or "somebody")
    origin = "; ".join([f"memory {memory.short_id}{tags}", *numbers])
    return "\n  ".join(f"{head} {who}{place}: {mark}{text} ({origin})".splitlines())


def kept(result: Saved) -> str:
    memory = result.memory
    done = "Kept in place of the former" if result.renewed else "Kept"
    if result.known:
        done = "Already kept, nothing was written"
    where = (
        f"{memory.kind} {memory.short_id} by {one_line(memory.agent_id or '')} in run {one_line(memory.query_id or '')}"
    )
    return "\n".join([f"{done}: {where}.", *notices(result.notices)]) + "\n"


def runs(found: Sequence[Run]) -> str:
    """A table, one run a line."""
    rows = [
        (
            one_line(one.id),
            minute(one.latest),
            counted(one.memories, "memory", "memories"),
            counted(one.calls, "tool call") if one.calls else "",
            shares(one.kinds),
        )
        for one in found
    ]
    return table(rows)


def stats(found: Run) -> str:
    calls = f"{found.calls:,}" + (f" ({found.failed_calls:,} without success)" if found.failed_calls else "")
    rows = [
        ("run", one_line(found.id)),
        ("memories", f"{found.memories:,}" + (f" ({shares(found.kinds)})" if found.kinds else "")),
        ("agents", shares(found.agents)),
        ("tool calls", calls if found.calls else ""),
        ("made", f"{minute(found.earliest)} to {minute(found.latest)}"),
    ]
    return table([row for row in rows if row[1]])


def shown(found: Run, memories: Sequence[Memory]) -> str:
    """The numbers of a run, then memories."""
    return "\n\n".join(
        filter(None, [stats(found), table([short_row(memory) for memory in memories]) if memories else ""])
    )


def cleared(id: str | None, gone: Cleared) -> str:
    """
    Args:
        id: None is all runs.
    """
    return f"deleted {amount(*gone)} of {'all runs' if id is None else f'run {one_line(id)}'}"


def amount(memories: int, calls: int) -> str:
    return f"{counted(memories, 'memory', 'memories')} and {counted(calls, 'tool call')}"
