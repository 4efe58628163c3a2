"""
Research runs as text: what a worker should know, as the beginning of its prompt; fenced lines for an agent; tables for a
person.

Plan and feedback are what the run asks of its workers, so they stand in the prompt as directions. Discoveries and dead ends
are what agents brought back from elsewhere, so they are fenced as data. No text of a memory can pass for a line of the frame.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import checked_whole
from memory.schema.kinds import Kind
from memory.schema.memory import INSTRUCTIONS, Memory
from memory.schema.moments import minute
from memory.text.display import MARK, WIDEST, escape_invisible, fenced, one_line
from memory.text.tokens import tokens
from memory.tools.render.recall import nearness, notices, verdict
from memory.tools.render.text import counted, shares, short_row, table
from memory.tools.research.rows import every, latest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.engine import Engine
    from memory.engine.sessions import Cleared, Run
    from memory.schema.answer import Answer
    from memory.schema.draft import Saved
    from memory.schema.memory import Document

BEGIN = "========== RESEARCH CONTEXT =========="
PLAN = "📋 PLAN (your assigned scope):"
FEEDBACK = "👁️ SUPERVISOR FEEDBACK:"
DISCOVERIES = "🔍 RELEVANT DISCOVERIES (from other agents):"
DEADENDS = "⚠️ APPROACHES TO AVOID (deadends):"
END = "========== END CONTEXT =========="

_OURS = re.compile(r"(?m)^(?=[^\w\n]*(?:[=＝═]{5}|[<＜]{3}|[>＞]{3}|[📋👁🔍⚠]))")
"""
The beginning of a line that could be taken for one of the frame: also after other characters, since some are
invisible, and with letters that look like those of the frame.
"""

LEAST = 300  # tokens: the frame, and room for something in it
ROOM = 4000  # tokens, usually
AT_ONCE = 100  # discoveries that are read to find those of others


class Briefing(NamedTuple):
    """
    Attributes:
        text: The whole text with its frame, even if nothing is in it.
        tokens: Its estimated size; never more than allowed.
        memories: Those in it, in reading order.
        omitted: Discoveries and dead ends that did not fit; the text says so too.
    """

    text: str
    tokens: int
    memories: tuple[Memory, ...]
    omitted: int


def check_room(tokens: object, discoveries: object = 0, deadends: object = 0) -> None:
    """
    Raises:
        Invalid: A number is not valid, or there would be no room.
    """
    for name, value, low in (("discoveries", discoveries, 0), ("deadends", deadends, 0), ("tokens", tokens, LEAST)):
        checked_whole(value, low, sys.maxsize, f"{name} is a whole number from {low}")


def briefing(
    engine: Engine, run: str, agent: str | None = None, *, discoveries: int = 10, deadends: int = 5, room: int = ROOM
) -> Briefing:
    """
    The latest plan, feedback, discoveries and dead ends of a run.

    Args:
        agent: The worker, whose own discoveries are left out: it knows them.
        discoveries, deadends: How many of the latest, at most; 0 leaves them out.
        room: Maximum size in tokens, estimated (`memory.text.tokens`).

    Raises:
        Invalid: See `check_room`.
    """
    check_room(room, discoveries, deadends)
    left = room - _FRAME
    taken: list[Memory] = []
    blocks: list[str] = []
    for title, kind in ((PLAN, Kind.PLAN), (FEEDBACK, Kind.FEEDBACK)):
        for document in latest(engine, run, kind, 1):
            text = _direction(document, left // 2)  # so that the others have room too
            left -= tokens(text)
            taken.append(document.memory)
            blocks.append(f"{title}\n{text}")
    others = (one for one in every(engine, run, Kind.DISCOVERY, at_once=AT_ONCE) if one.memory.agent_id != agent)
    learned, passed, left = _fitting(islice(others, discoveries), left)
    avoided, missed, left = _fitting(islice(every(engine, run, Kind.DEADEND, at_once=AT_ONCE), deadends), left)
    lists = ((DISCOVERIES, learned), (DEADENDS, avoided))
    if data := fenced("\n\n".join("\n".join([title, *map(_item, some)]) for title, some in lists if some)):
        blocks.append(data.rstrip())
    if passed or missed:
        blocks.append(_omitted(passed, missed))
    taken += [document.memory for some in (learned, avoided) for document in some]
    text = "\n\n".join([BEGIN, *blocks, END]) + "\n\n"
    return Briefing(text, tokens(text), tuple(taken), passed + missed)


def _fitting(found: Iterable[Document], left: int) -> tuple[list[Document], int, int]:
    """Those that fit, how many do not, and the room that is left; one that is too long is skipped, not cut."""
    taken: list[Document] = []
    passed = 0
    for document in found:
        if (size := tokens(_item(document))) <= left:
            taken.append(document)
            left -= size
        else:
            passed += 1
    return taken, passed, left


def _direction(document: Document, room: int) -> str:
    """A plan or feedback, cut to a number of tokens."""
    text = _OURS.sub("> ", "\n".join(escape_invisible(document.body.strip()).splitlines()))
    if INSTRUCTIONS in document.memory.flags:
        text = f"{MARK}\n{text}"
    if tokens(text) <= room:
        return text
    mark = f"… [cut here, of {len(document.body):,} characters: memory {document.memory.short_id}]"
    text = text[: 16 * room]  # further than any that fits, so that not all of it is counted again and again
    room -= tokens(mark)
    stop = bisect_right(range(len(text)), room, key=lambda end: tokens(text[:end])) - 1
    return f"{text[: max(0, stop)].rstrip()}{mark}"


def _item(document: Document) -> str:
    """A list item; all lines but the first are indented, so that none can pass for another item."""
    mark = f"{MARK} " if INSTRUCTIONS in document.memory.flags else ""
    return "\n  ".join(f"- {mark}{escape_invisible(document.body.strip())}".splitlines())


def _omitted(discoveries: int, deadends: int) -> str:
    counts = ((discoveries, "discovery", "discoveries"), (deadends, "dead end", "dead ends"))
    parts = [f"{count:,} {one if count == 1 else more}" for count, one, more in counts if count]
    return f"Left out for want of room: {' and '.join(parts)}; search for them."


_FRAME = sum(map(tokens, (BEGIN, PLAN, FEEDBACK, DISCOVERIES, DEADENDS, END, WIDEST, _omitted(10_000, 10_000))))
"""Size of all that is not the text of a memory, in tokens."""


# Results ------------------------------------------------------------------------

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
    done = "Saved in place of the earlier one" if result.renewed else "Saved"
    if result.known:
        done = "Already saved, nothing was written"
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
    return f"Deleted {amount(*gone)} of {'all runs' if id is None else f'run {one_line(id)}'}"


def amount(memories: int, calls: int) -> str:
    return f"{counted(memories, 'memory', 'memories')} and {counted(calls, 'tool call')}"
