"""Results about sessions and documents as text for a person; what an agent goes on with is fenced as data."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from memory.operations.render.text import counted
from memory.schema.kinds import RULES
from memory.schema.limits import printable
from memory.schema.memory import INSTRUCTIONS, Status
from memory.search.context import origin
from memory.text.display import escape_controls, one_line
from memory.text.fence import MARK, fenced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from memory.schema.document import Expanded, Resumed
    from memory.schema.kinds import Kind
    from memory.schema.memory import Memory, MemoryId
    from memory.schema.saved import Saved
    from memory.store import Aged, Session
    from memory.write.markdown import Written

HEAD = 60  # characters of a memory's first line


def sessions(found: Sequence[Session]) -> str:
    """A table, one session a line."""
    rows = [
        (
            _one_line(one.id),
            f"{one.active:%Y-%m-%d %H:%M}",
            counted(one.memories, "memory", "memories"),
            f"v{one.iteration}" if one.iteration else "",
            _one_line(one.agent_id or ""),
            shares(one.kinds),
        )
        for one in found
    ]
    return table(rows)


def table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width).rstrip() for row in rows
    )


def shares(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{_one_line(name)} {count:,}" for name, count in counts)


def _one_line(text: str) -> str:
    return " ".join(escape_controls(text).split())


def stats(found: Session) -> str:
    rows = [
        ("session", _one_line(found.id)),
        ("memories", f"{found.memories:,} ({shares(found.kinds)})"),
        ("chunks", f"{found.chunks:,}"),
        ("agents", shares(found.agents)),
        ("iterations", f"up to {found.iteration}" if found.iteration else ""),
        ("made", f"{found.earliest:%Y-%m-%d %H:%M} to {found.latest:%Y-%m-%d %H:%M} UTC"),
    ]
    return table([row for row in rows if row[1]])


def shown(found: Session, memories: Sequence[Memory]) -> str:
    """The numbers of a session, then memories by iteration, within one by kind."""
    if not memories:
        return stats(found)
    order = list(RULES)
    placed = [
        memory
        for _, group in groupby(memories, key=lambda memory: memory.session_iter)
        for memory in sorted(group, key=lambda memory: order.index(memory.kind))
    ]
    rows = zip(placed, table([short_row(memory) for memory in placed]).split("\n"), strict=True)
    blocks = [stats(found)]
    for iteration, group in groupby(rows, key=lambda row: row[0].session_iter):
        head = click.style(f"iteration {iteration}" if iteration else "no iteration", bold=True)
        blocks.append("\n".join([head, *(row for _, row in group)]))
    return "\n\n".join(blocks)


def short_row(memory: Memory) -> tuple[str, ...]:
    said = (_one_line(part) for part in (memory.title, *memory.what.splitlines()))
    head = next(filter(None, said), "")
    facts = [memory.agent_id, memory.task_code, f"{memory.created_at:%Y-%m-%d}"]
    facts += ["superseded"] if memory.status is Status.SUPERSEDED else []
    facts += ["looks like orders to an agent"] if INSTRUCTIONS in memory.flags else []
    return (
        f"{memory.id:>6}",
        str(memory.kind),
        head if len(head) <= HEAD else f"{head[: HEAD - 1]}…",
        " · ".join(_one_line(fact) for fact in facts if fact),
        memory.uid[:8],
    )


def context(id: str, found: Resumed, bodies: Mapping[MemoryId, str]) -> str:
    """
    What an agent goes on with, fenced as data; empty if there is nothing.

    Every line of a memory is indented, so that none can pass for the beginning of another.
    """
    groups = [
        ("Context:", [_full(one, bodies) for one in (found.context,) if one]),
        ("Prompts, latest first:", [_full(one, bodies) for one in found.prompts]),
        ("Reports, latest first:", [_head(one) for one in found.reports]),
        ("Remarks on reports, latest first:", [_head(one) for one in found.observations]),
        ("Working memory, latest first:", [_head(one) for one in found.working]),
    ]
    blocks = ["\n".join([heading, *said]) for heading, said in groups if said]
    return fenced("\n\n".join([f"Session {one_line(id)}", *blocks])) if blocks else ""


def _full(memory: Memory, bodies: Mapping[MemoryId, str]) -> str:
    return _block(memory, bodies.get(memory.id, ""))


def _head(memory: Memory) -> str:
    what = one_line(memory.what)
    rest = memory.body_size > len(memory.what)
    return _block(memory, f"{what}\n{memory.body_size:,} characters, by this id" if rest else what)


def _block(memory: Memory, text: str) -> str:
    iteration = f" · v{memory.session_iter}" if memory.session_iter else ""
    lines = [f"- [{origin(memory)}{iteration}] {one_line(memory.title)}".rstrip()]
    lines += [f"  {MARK}"] if INSTRUCTIONS in memory.flags else []
    return "\n".join(lines + [f"  {part}".rstrip() for part in text.splitlines()])


def stored(result: Saved) -> str:
    memory = result.memory
    done = "already kept" if result.known else "kept"
    return f"{done} {memory.uid[:8]} (id {memory.id}), {memory.kind}, {counted(result.chunks, 'chunk')}"


def expanded(found: Expanded) -> str:
    """A chunk between its neighbours, each below its id and its headings; the one that was asked for has the mark."""
    memory = found.memory
    head = f"{_one_line(memory.title) or memory.kind}  {memory.kind} · {memory.created_at:%Y-%m-%d} · {memory.uid[:8]}"
    blocks = [head]
    for piece in found.pieces:
        target = piece.chunk.index == found.target.index
        place = " › ".join(_one_line(header).lstrip("# ") for header in piece.chunk.header_path)
        said = click.style(f"chunk {piece.id}" + (f"  {place}" if place else ""), bold=target, dim=not target)
        text = "\n".join(f"    {part}".rstrip() for part in escape_controls(piece.text).strip("\n").split("\n"))
        blocks.append(f"{'>' if target else ' '} {said}\n{text}")
    return "\n\n".join(blocks)


def written(file: Written) -> str:
    return f"{counted(file.size, 'byte')} in {escape_controls(printable(str(file.path)))}"


def cleaned(gone: Mapping[Kind, Aged], before: datetime, *, dry_run: bool) -> str:
    """What goes, by kind."""
    rows = [
        (str(name), counted(aged.memories, "memory", "memories"), counted(aged.chunks, "chunk"))
        for name, aged in gone.items()
        if aged.memories
    ]
    total = counted(sum(aged.memories for aged in gone.values()), "memory", "memories")
    done = "would be deleted" if dry_run else "deleted"
    last = f"{total} made before {before:%Y-%m-%d %H:%M} UTC {done}"
    return "\n".join([*([table(rows)] if rows else []), last])
