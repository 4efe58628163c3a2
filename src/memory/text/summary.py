"""A memory in a few lines: what it says in short, after where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.memory import INSTRUCTIONS, Status
from memory.text.display import one_line
from memory.text.fence import MARK

if TYPE_CHECKING:
    from memory.schema.memory import Memory

_BRACKETS = str.maketrans("[]", "()")


def in_short(memory: Memory) -> str:
    """
    A memory as a few lines of Markdown: what it says without its details, after who said it, when and where.

    All that is said of it stands in brackets before its title, in which nothing that it says itself can stand.
    """
    tags = "".join(f" #{one_line(tag)}" for tag in memory.tags)
    lines = [f"- [{origin(memory)}] {one_line(memory.title) or memory.kind}{tags}"]
    if INSTRUCTIONS in memory.flags:
        lines.append(f"  {MARK}")
    for label, text in (("", memory.what), ("Why: ", memory.why), ("Impact: ", memory.impact)):
        if text.strip():
            lines.append(f"  {label}{one_line(text)}")
    if memory.has_details:
        lines.append(f"  Details: {memory.body_size:,} characters, by this id")
    return "\n".join(lines) + "\n"


def origin(memory: Memory) -> str:
    """A memory's id, what it is, where it belongs, when it was made, by whom, and whether it still holds."""
    writer = "/".join(filter(None, (memory.source, memory.agent_id)))
    parts = (memory.category or memory.kind, memory.project, f"{memory.created_at:%Y-%m-%d}", writer and f"by {writer}")
    facts = [memory.uid[:8], *(one_line(fact).translate(_BRACKETS) for fact in parts if fact)]
    if memory.status is Status.SUPERSEDED:
        facts.append(f"no longer holds: superseded by {memory.superseded_by or 'another'}")
    return " · ".join(facts)
