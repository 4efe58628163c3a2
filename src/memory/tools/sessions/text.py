"""Sessions and documents as text for a person, and an envelope as text for an agent."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from memory.schema.kinds import RULES, Kind
from memory.schema.memory import INSTRUCTIONS, Memory, MemoryId
from memory.schema.moments import ago, dated, minute
from memory.text.display import BOLD, DIM, MARK, bracketed, escape_controls, fact, fenced, one_line, origin, styled
from memory.tools.render.recall import nearness
from memory.tools.render.text import counted, plain, shares, short_row, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memory.engine.sessions import Aged, Session
    from memory.schema.memory import Expanded, Resumed

LONGEST = 20_000
"""Characters of one text among several; `reconstruct_document` shows one alone, whole."""

ALTOGETHER = 60_000
"""Characters of several texts; after that only their headings and sizes are shown."""

_GROUPS = (
    "results",
    "session_context",
    "input_prompts",
    "recent_reports",
    "recent_report_observations",
    "recent_working_memory",
    "memory",
    "chunks",
)
_ONE = "memory"
"""A memory that was asked for by its id: it is shown whole, with all its fields."""

_FIELDS = ("uid", "description", "tags", "metadata", "content_hash", "updated_at", "accessed_at", "access_count")
"""What is shown of such a memory besides its origin."""

_TEXTS = ("chunk_content", "section_content", "content")
_LABELS = {
    "memory_type": "",
    "agent_id": "by ",
    "session_id": "session ",
    "session_iter": "iteration ",
    "task_code": "task ",
    "category": "about ",
    "created_at": "",
}
"""Where a memory is from, and the word before it."""

_NAMES = ("sessions", "agent_counts")
"""Fields with names that others chose: they belong inside the fence."""

_OUTSIDE = {
    *(*_GROUPS, *_NAMES, "success", "message", "error", "flags"),
    *("expanded_content", "content", "title", "query", "filters", "worth"),
}


def stats(found: Session) -> str:
    rows = [
        ("session", plain(found.id)),
        ("memories", f"{found.memories:,} ({shares(found.kinds)})"),
        ("chunks", f"{found.chunks:,}"),
        ("agents", shares(found.agents)),
        ("iterations", f"up to {found.iteration}" if found.iteration else ""),
        ("made", f"{minute(found.earliest)} to {minute(found.latest)}"),
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
        head = styled(f"iteration {iteration}" if iteration else "no iteration", BOLD)
        blocks.append("\n".join([head, *(row for _, row in group)]))
    return "\n\n".join(blocks)


def context(id: str, found: Resumed, bodies: Mapping[MemoryId, str]) -> str:
    """
    What an agent needs to resume a session, fenced as data; empty if there is nothing.

    Every line of a memory is indented, so that none can pass for the beginning of another memory.
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


def expanded(found: Expanded) -> str:
    """A chunk between its neighbours, each below its id and its headings; the one that was asked for has the mark."""
    memory = found.memory
    head = f"{plain(memory.title) or memory.kind}  {memory.kind} · {ago(memory.happened)} · {memory.short_id}"
    blocks = [head]
    for piece in found.pieces:
        target = piece.chunk.index == found.target.index
        place = " › ".join(plain(header).lstrip("# ") for header in piece.chunk.header_path)
        label = f"chunk {piece.id}" + (f"  {place}" if place else "")
        said = label if target else styled(label, DIM)
        text = "\n".join(f"    {part}".rstrip() for part in escape_controls(piece.text).strip("\n").split("\n"))
        blocks.append(f"{'>' if target else ' '} {said}\n{text}")
    return "\n\n".join(blocks)


def cleaned(gone: Mapping[Kind, Aged], before: datetime, *, dry_run: bool) -> str:
    """What is deleted, by kind."""
    rows = [
        (str(name), counted(aged.memories, "memory", "memories"), counted(aged.chunks, "chunk"))
        for name, aged in gone.items()
        if aged.memories
    ]
    if not rows:
        return f"nothing to delete: no memory of a session was made before {minute(before)}"
    total = counted(sum(aged.memories for aged in gone.values()), "memory", "memories")
    done = "would be deleted" if dry_run else "deleted"
    last = f"{total} made before {minute(before)} {done}"
    return "\n".join([table(rows), last])


# For an agent -------------------------------------------------------------


def answer(envelope: Mapping[str, Any]) -> str:
    """The result in one line, the short facts, then every memory, chunk or section with its origin."""
    if not envelope["success"]:
        return f"Not done, {envelope['error']}: {one_line(envelope['message']).rstrip('.')}.\n"
    facts = [f"{name}: {_short(value)}" for name, value in envelope.items() if name not in _OUTSIDE and _said(value)]
    head = f"Done: {one_line(envelope['message'])}" if envelope["message"] else "Done."
    body = fenced("\n".join(_recalled(envelope)))
    return "\n".join(filter(None, [head, "; ".join(map(one_line, facts)), body])).rstrip() + "\n"


def _said(value: object) -> bool:
    return value not in (None, "", [], {})


def _short(value: object) -> str:
    match value:
        case dict():
            return ", ".join(f"{name} {_short(said)}" for name, said in value.items() if _said(said))
        case list():
            return ", ".join(map(_short, value))
        case True | False:
            return str(value).lower()
    return str(value)


def _recalled(envelope: Mapping[str, Any]) -> Iterator[str]:
    yield from _marked(envelope)
    for name in _NAMES:
        said = envelope.get(name)
        for one in filter(None, said if isinstance(said, list) else [said]):
            yield f"{name}: {one_line(_short(one))}"
            yield from _exactly(one)
    used = 0
    for group in _GROUPS:
        found = envelope.get(group)
        rows: Iterable[Mapping[str, Any]] = found if isinstance(found, list) else [found] if found else []
        for number, row in enumerate(rows, start=1):
            label = "" if group == "results" else f"{group} "
            yield f"{label}{number}. {_origin(row)}"
            yield from (*_exactly(row), *_marked(row))
            content = next((row[name] for name in _TEXTS if row.get(name)), "")
            if group == _ONE:
                yield from (f"{name}: {one_line(_short(row[name]))}" for name in _FIELDS if _said(row.get(name)))
                yield f"{content}\n"
                continue
            used += min(len(content), LONGEST)
            id = row.get("memory_id") or envelope.get("memory_id")
            yield _cut(content, id) if used <= ALTOGETHER else f"({len(content):,} characters: {_whole(id)})\n"
    if content := envelope.get("content"):
        yield _origin(envelope)
        yield f"{content}\n"


def _origin(row: Mapping[str, Any]) -> str:
    """The origin of a text: its ids, its place, its heading, its scores."""
    facts = [f"memory {row['memory_id']}"] if row.get("memory_id") else []
    facts += [f"chunk {row['chunk_id']}"] if row.get("chunk_id") else []
    facts += [f"{word}{row[name]}" for name, word in _LABELS.items() if row.get(name)]
    facts += [dated(datetime.fromisoformat(row["created_at"]))] if row.get("created_at") else []
    facts += [str(row[name]) for name in ("title", "header_path") if row.get(name) not in (None, "", "/")]
    facts += _numbers(row)
    if row.get("sections_in_chunk", 1) > 1:
        facts.append(f"its chunk holds {row['sections_in_chunk']} sections")
    if row.get("matched_chunks"):
        facts.append(f"{row['matched_chunks']} of {row['chunks_in_section']} chunks match")
    return bracketed(facts)


def _exactly(row: Mapping[str, Any]) -> Iterator[str]:
    """Names that are not shown exactly, as JSON: other tools need the exact name."""
    for name in ("agent_id", "session_id", "task_code", "category"):
        if (value := row.get(name)) and fact(value) != value:
            yield f"{name}: {json.dumps(value, ensure_ascii=False)}"


def _numbers(row: Mapping[str, Any]) -> list[str]:
    """The relevance, similarity and distance of a row of a search, or that it only fills up."""
    if "relevance" not in row:
        return []
    facts = [f"fills up, {row['topup']}"] if row["topup"] else [f"relevance {row['relevance']:.2f}"]
    return [*facts, *nearness(row["similarity"], row["distance"])]


def _marked(row: Mapping[str, Any]) -> list[str]:
    return [MARK] if INSTRUCTIONS in row.get("flags", ()) else []


def _cut(said: str, id: object) -> str:
    if len(said) <= LONGEST:
        return f"{said.rstrip()}\n"  # a chunk ends with the blank lines before the next one
    return f"{said[:LONGEST]}…\n({len(said) - LONGEST:,} more characters: {_whole(id)})\n"


def _whole(id: object) -> str:
    return f"reconstruct_document shows memory {id} whole"
