"""
What an agent reads: recalled text, fenced as data, with its author, time and place, and ids to read on; and hints that name
tools where a person has commands.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from memory.schema.answer import Answer, Hit, Notice, Outcome
from memory.schema.errors import WHAT_OF_BODY
from memory.schema.memory import INSTRUCTIONS, Memory
from memory.text.display import escape_invisible, fenced, holding, in_short, one_line
from memory.tools.render.data import headings
from memory.tools.render.text import HOW, counted, notice

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memory.engine import Context
    from memory.schema.draft import Saved

TITLE = 80  # characters of a title outside of the fence
PASSAGE = 700
"""Characters of a hit's passage: a chunk of usual length, cut where it is longer."""


def answer(found: Answer, *, elsewhere: str) -> str:
    """
    Args:
        elsewhere: What to say if nothing was found; empty says how it was searched.
    """
    head = verdict(found) if found.hits or not elsewhere else ""
    body = "".join(f"{rank}. {_hit(hit, headings(found, hit))}" for rank, hit in enumerate(found.hits, start=1))
    said = fenced(body) if found.hits else elsewhere
    return "\n".join([*filter(None, (head, said)), *notices(found.notices)]).rstrip() + "\n"


def verdict(found: Answer) -> str:
    """One sentence: whether anything fits, and how it was found."""
    how = f"found {HOW[found.tier]}"
    if not found.found:
        return f"Nothing {how}."
    match found.outcome:
        case Outcome.NOTHING_RELEVANT:
            return "Nothing saved fits this. The closest, which likely do not answer:"
        case Outcome.WEAK:
            return f"Possible matches, {how}; they may not answer:"
        case Outcome.DEGRADED:
            return "Found without the model, which did not answer; better memories may be missing:"
    return f"{counted(found.found, 'memory', 'memories')} {how}."


def _hit(hit: Hit, above: Sequence[str]) -> str:
    said = in_short(hit.memory).removeprefix("- ")
    if hit.remarks:
        said += f"  {', '.join(hit.remarks).capitalize()}\n"
    if hit.cosine is not None:
        said += f"  Similarity: {hit.cosine:.2f} of 1\n"
    if hit.chunk.start == hit.chunk.stop or _says_no_more(hit):
        return said
    place = " > ".join(one_line(header).lstrip("# ") for header in above)
    text = one_line(hit.text)
    shown = text if len(text) <= PASSAGE else f"{text[:PASSAGE].rstrip()}…"
    return f"{said}  Passage{f' ({place})' if place else ''}: {shown}\n"


def _says_no_more(hit: Hit) -> bool:
    """Whether the passage is the beginning of the body, which `what` shows already."""
    return hit.memory.kind != "note" and len(hit.text) <= WHAT_OF_BODY and hit.text.strip() in hit.memory.what


def nearness(similarity: float | None, distance: float | None) -> list[str]:
    """How near a row is, for an agent; nothing if no vector was compared."""
    if similarity is None or distance is None:
        return []
    return [f"similarity {similarity:.2f}", f"distance {distance:.2f}"]


def context(found: Context, *, project: str | None, empty: str) -> str:
    """
    Args:
        project: The project it is of; None is all of them.
        empty: What to say if nothing is there.
    """
    some = "further " if found.memories else ""
    return f"{found.text.rstrip() or empty}\n{beside(found.more, found.notices, project=project, some=some)}"


def beside(more: int, said: tuple[Notice, ...], *, project: str | None, some: str = "further ") -> str:
    """What follows the text of a context: how much more there is, and notices."""
    where = f" of {one_line(project)[:TITLE]!r}" if project else ""
    lines = [f"{more:,} {some}{'memory' if more == 1 else 'memories'}{where}: search for them."] if more else []
    return "".join(f"{line}\n" for line in (*lines, *notices(said)))


def saved(result: Saved, *, instead: Memory | None = None) -> str:
    """
    Args:
        instead: The memory that it replaces.
    """
    memory = result.memory
    done = "Already saved, nothing was written" if result.known else "Saved"
    where = f" in project {one_line(memory.project)[:TITLE]!r}" if memory.project else " for all projects"
    place = f", in place of {named(instead)}" if instead else ""
    end = f"; it {bound}" if (bound := holding(memory.valid_until)) else ""
    return "\n".join([f"{done}: `{memory.short_id}`{where}{place}{end}.", *notices(result.notices)]) + "\n"


def updated(result: Saved, *, pinned: bool | None = None) -> str:
    """
    Args:
        pinned: Whether it was pinned or unpinned; None if neither.
    """
    pin = "" if pinned is None else ", pinned" if pinned else ", no longer pinned"
    return "\n".join([f"Updated: {named(result.memory)}{pin}.", *notices(result.notices)]) + "\n"


def named(memory: Memory) -> str:
    """A memory by its id and its title, which is left out if the memory looks like orders."""
    title = "" if INSTRUCTIONS in memory.flags else f" {one_line(memory.title)[:TITLE]!r}"
    return f"`{memory.short_id}`{title}"


def notices(found: tuple[Notice, ...]) -> list[str]:
    return [f"Note: {for_agents(notice(one))}" for one in found]


def escape_all(value: Any) -> Any:
    """JSON without invisible characters in its texts; see `memory.text.display.escape_invisible`."""
    match value:
        case str():
            return escape_invisible(value)
        case list():
            return [escape_all(item) for item in value]
        case dict():
            return {escape_invisible(name): escape_all(item) for name, item in value.items()}
    return value


# Hints -------------------------------------------------------------------

SERVED: ContextVar[Collection[str] | None] = ContextVar("SERVED", default=None)
"""The names of the tools that the agent has, as its server sets them for each request; None is all of them."""

_TOOLS = {
    "reindex": "memory_reindex",
    "status": "memory_stats",
    "list": "memory_context",
    "save": "memory_save",
    "unpin": "memory_update",
    "search --granularity fine": "search_reports_specific_chunks",
    "run list": "memory_stats",
    "session list": "list_sessions",
    "graph export": "read_graph",
    "graph show": "read_graph",
    "graph add": "create_entities",
    "graph observe": "add_observations",
}
"""The tool that does what a command does, with these options or any."""

_COMMAND = re.compile(r"`memory (([a-z]+(?: [a-z]+)?)[^`]*)`")


def for_agents(text: str) -> str:
    """A sentence with commands replaced by tools that are served; other commands are marked as for the user."""
    served = SERVED.get()

    def told(found: re.Match[str]) -> str:
        tool = _TOOLS.get(found[1]) or _TOOLS.get(found[2])
        if tool is None or (served is not None and tool not in served):
            return f"{found[0]} (a command, for the user)"
        return tool

    return _COMMAND.sub(told, text)
