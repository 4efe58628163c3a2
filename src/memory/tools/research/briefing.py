"""
What a worker should know before it begins, as the beginning of its prompt.

Plan and feedback are what the run asks of its workers, so they stand there as directions. Discoveries and dead ends are
what agents brought back from elsewhere, so they are fenced as data. No text of a memory can pass for a line of the frame.
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
from memory.text.display import MARK, WIDEST, escape_invisible, fenced
from memory.text.tokens import tokens
from memory.tools.research.rows import every, latest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.engine import Engine
    from memory.schema.document import Document

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
