"""The verbs that show one memory: in full, as a person and an agent read it, and as the index sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.moments import minute
from memory.text.display import INTRODUCTION, escape_controls, fenced, in_short, one_line
from memory.tools.arguments import ID, Parameter
from memory.tools.operation import Call, Given, Option, Result, Shown, command, reading
from memory.tools.render import data, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.engine.inspection import Explanation, InspectedChunk, Inspection
    from memory.schema.memory import Details, Memory


PAGE = 20_000  # characters of details at a time

_VERSION = "memory:whole details=body"
"""A memory as it is, or as it was."""


@reading(
    "Read a memory in full",
    f"about {_VERSION} start:number remaining:number notices:notices",
    ID,
    Parameter("start", "integer", "First character; default 0.", low=0, high=500_000, also=("offset",), plain=True),
    Parameter("length", "integer", f"Maximum characters; default {PAGE}.", low=1, high=100_000, hidden=True),
)
def memory_details(call: Call, given: Given) -> Result:
    """Read a memory in full. Long details come in parts: continue with `start`."""
    found = call.engine.documents.details(given["id"])
    start = given.get("start", 0)
    part = found.body[start : start + given.get("length", PAGE)]
    place = {"start": start, "remaining": max(0, len(found.body) - start - len(part))}
    values = data.row(found._replace(body=part), f"{_VERSION} notices:notices")
    return Result({"about": INTRODUCTION} | values | place, recalled(found, part, start))


@command("details ID")
def details(call: Call, a: Given) -> Shown:
    """
    Show a memory in full, with its earlier versions. ID is the short id that is shown, or all 32 digits.

    \b
        memory details 6225d224
    """
    found = call.engine.documents.details(a["id"])
    history = [data.row(one, f"replaced_at {_VERSION}") for one in found.history]
    values = data.row(found, _VERSION) | {"history": history} | data.row(found, "embedding:object notices:notices")
    return Shown(values, shown(found), [*map(text.notice, found.notices)])


def recalled(found: Details, part: str, start: int = 0) -> str:
    """A memory with a part of its body, from `start`, as an agent reads it."""
    from memory.tools.render.recall import notices  # 4 ms that no command needs

    files = ", ".join(map(one_line, found.memory.related_files))
    head = in_short(found.memory._replace(body_size=0)).removeprefix("- ") + (f"  Files: {files}\n" if files else "")
    lines = [fenced(f"{head}\n{part}").rstrip()]
    end, size = start + len(part), len(found.body)
    if start or end < size:
        more = f" Go on from start={end}." if end < size else ""
        lines.append(f"Details: characters {start:,} to {end:,} of {size:,}.{more}")
    if found.history:
        lines.append(f"It was corrected {text.counted(len(found.history), 'time')}.")
    return "\n".join([*lines, *notices(found.notices)]) + "\n"


def shown(found: Details) -> str:
    """A memory in full, as a person reads it."""
    memory = text.escaped(found.memory)
    what = "" if text.speaks_for_body(found.memory) else memory.what  # the body follows
    facts = {"Superseded by": memory.successor, "What": what, "Why": memory.why, "Impact": memory.impact}
    facts |= {"Happened": minute(memory.happened_at) if memory.happened_at else ""}
    facts |= {"Files": ", ".join(memory.related_files), "Source": memory.source}
    if found.embedding and found.embedding.state not in ("generated", "none"):
        facts["Embedding"] = f"{found.embedding.state} {escape_controls(found.embedding.error)}".rstrip()
    lines = [text.headline(memory), f"id {memory.uid} · {memory.status}"]
    lines += [f"{label}: {words}" for label, words in facts.items() if words]
    return "\n\n".join(filter(None, ["\n".join(lines), escape_controls(found.body), *_history(found)]))


def _history(found: Details) -> list[str]:
    """For each revision, latest first, how it differs from the next one."""
    said = [(found.memory, found.body)] + [(revision.memory, revision.body) for revision in found.history]
    lines = []
    for revision, after, before in zip(found.history, said, said[1:], strict=False):
        changes = "; ".join(_changes(before, after)) or "the same in all that is shown here"
        lines.append(f"Until {minute(revision.replaced_at)}: {changes}")
    return lines


def _changes(before: tuple[Memory, str], after: tuple[Memory, str]) -> list[str]:
    (old, body), (new, later) = before, after
    found = []
    for name in text.SHOWN:
        derived = name == "what" and text.speaks_for_body(old) and text.speaks_for_body(new)
        if getattr(old, name) != getattr(new, name) and not derived:
            said = escape_controls(getattr(old, name) or "")
            found.append(f"{name.capitalize()} was " + (f'"{said}"' if said else "empty"))
    for label, moment, now in (
        ("It had happened", old.happened_at, new.happened_at),
        ("It held until", old.valid_until, new.valid_until),
    ):
        if moment != now:
            found.append(f"{label} {minute(moment)}" if moment else f"{label}: not said")
    for label, were, are in (("Tags", old.tags, new.tags), ("Files", old.related_files, new.related_files)):
        if were != are:
            found.append(f"{label} were {escape_controls(', '.join(were)) or 'empty'}")
    if body != later:
        found.append(f"Details were {text.counted(len(body), 'character')}")
    return found


# What the index sees of a memory ---------------------------------------------------------------------


@command("inspect ID", Option("--question TEXT", "Say why this question finds it, or does not."))
def inspect(call: Call, a: Given) -> Shown:
    """
    Show what the index sees of a memory. These are its chunks, their rarest terms with weights, its vectors, and its
    nearest neighbours.

    \b
        memory inspect 6225d224
        memory inspect 6225d224 --question "how do people log in"
    """
    from memory.engine.inspection import inspected  # to read a memory does without

    found = inspected(call.engine, a["id"], a["question"])
    return Shown(_seen(found), "\n\n".join(_parts(found)))


def _seen(found: Inspection) -> dict[str, Any]:
    memory, sought = found.memory, found.sought
    values: dict[str, Any] = {
        "memory": {"id": memory.uid, "title": memory.title, "kind": str(memory.kind), "status": str(memory.status)},
        "embedding": {"state": found.embedding.state, "error": found.embedding.error, "space": found.space},
        "chunks": [
            {
                "chunk_id": one.id,
                "index": one.chunk.index,
                "type": str(one.chunk.type),
                "heading": list(one.chunk.header_path),
                "start": one.chunk.start,
                "stop": one.chunk.stop,
                "tokens": one.chunk.token_count,
                "vector": one.vector,
                "terms": [{"term": t.text, "chunks": t.rows, "weight": round(t.weight, 4)} for t in one.terms],
            }
            for one in found.chunks
        ],
        "neighbours": [{"id": one.uid, "title": one.title, "cosine": round(by, 4)} for one, by in found.neighbours],
    }
    if sought is not None:
        values["question"] = {
            "text": sought.answer.query.text,
            "rank": sought.rank,
            "hits": sought.hits,
            "tier": str(sought.answer.tier),
            "held": list(sought.held),
            "lacking": list(sought.lacking),
            "coverage": round(sought.coverage, 4),
            "similarity": None if sought.similarity is None else round(sought.similarity, 4),
            "why": list(sought.why),
        }
    return values


def _parts(found: Inspection) -> Iterator[str]:
    state = found.embedding.state + (f" {text.plain(found.embedding.error)}" if found.embedding.error else "")
    space = f" ({text.plain(found.space)})" if found.space else ""
    yield f"{text.headline(text.escaped(found.memory))}\n{text.counted(len(found.chunks), 'chunk')} · vectors: {state}{space}"
    yield from map(_chunk, found.chunks)
    if found.neighbours:
        rows = [(f"{by:.2f}", one.short_id, text.plain(one.title)) for one, by in found.neighbours]
        yield f"Nearest by meaning\n{text.table(rows, right=[0])}"
    if found.sought is not None:
        yield _question(found.sought)


def _chunk(one: InspectedChunk) -> str:
    from memory.engine.inspection import head

    size = f"characters {one.chunk.start:,} to {one.chunk.stop:,}, {text.counted(one.chunk.token_count, 'token')}"
    line = f"Chunk {one.id} · {text.plain(head(one.chunk))} · {size} · {'a vector' if one.vector else 'no vector'}"
    rows = [
        (f"{term.weight:.2f}", text.plain(term.text), f"in {text.counted(term.rows, 'chunk')}") for term in one.terms
    ]
    return f"{line}\n{text.table(rows, right=[0])}" if rows else line


def _question(sought: Explanation) -> str:
    numbers = [f"coverage {sought.coverage:.2f}"]
    numbers += [f"similarity {sought.similarity:.2f}"] if sought.similarity is not None else []
    lines = [
        f"Asked {text.plain(sought.answer.query.text)!r}: {text.counted(sought.hits, 'hit')}, tier {sought.answer.tier}"
    ]
    lines += [f"holds {', '.join(map(text.plain, sought.held))}"] if sought.held else []
    lines += [f"lacks {', '.join(map(text.plain, sought.lacking))}"] if sought.lacking else []
    return "\n".join([*lines, " · ".join(numbers), *sought.why])


COMMANDS = (details, inspect)
