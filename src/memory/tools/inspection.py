"""The verb that shows what the index sees of a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.engine.inspection import head, inspected
from memory.tools.operation import Call, Given, Option, Shown, command
from memory.tools.render.text import counted, escaped, headline, plain, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.engine.inspection import Explanation, InspectedChunk, Inspection


@command("inspect ID", Option("--question TEXT", "Say why this question finds it, or does not."))
def inspect(call: Call, a: Given) -> Shown:
    """
    Show what the index sees of a memory. These are its chunks, their rarest terms with weights, its vectors, and its
    nearest neighbours.

    \b
        memory inspect 6225d224
        memory inspect 6225d224 --question "how do people log in"
    """
    found = inspected(call.engine, a["id"], a["question"])
    return Shown(_values(found), "\n\n".join(_parts(found)))


def _values(found: Inspection) -> dict[str, Any]:
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
    state = found.embedding.state + (f" {plain(found.embedding.error)}" if found.embedding.error else "")
    space = f" ({plain(found.space)})" if found.space else ""
    yield f"{headline(escaped(found.memory))}\n{counted(len(found.chunks), 'chunk')} · vectors: {state}{space}"
    yield from map(_chunk, found.chunks)
    if found.neighbours:
        rows = [(f"{by:.2f}", one.short_id, plain(one.title)) for one, by in found.neighbours]
        yield f"Nearest by meaning\n{table(rows, right=[0])}"
    if found.sought is not None:
        yield _question(found.sought)


def _chunk(one: InspectedChunk) -> str:
    size = f"characters {one.chunk.start:,} to {one.chunk.stop:,}, {counted(one.chunk.token_count, 'token')}"
    line = f"Chunk {one.id} · {plain(head(one.chunk))} · {size} · {'a vector' if one.vector else 'no vector'}"
    rows = [(f"{term.weight:.2f}", plain(term.text), f"in {counted(term.rows, 'chunk')}") for term in one.terms]
    return f"{line}\n{table(rows, right=[0])}" if rows else line


def _question(sought: Explanation) -> str:
    numbers = [f"coverage {sought.coverage:.2f}"]
    numbers += [f"similarity {sought.similarity:.2f}"] if sought.similarity is not None else []
    lines = [f"Asked {plain(sought.answer.query.text)!r}: {counted(sought.hits, 'hit')}, tier {sought.answer.tier}"]
    lines += [f"holds {', '.join(map(plain, sought.held))}"] if sought.held else []
    lines += [f"lacks {', '.join(map(plain, sought.lacking))}"] if sought.lacking else []
    return "\n".join([*lines, " · ".join(numbers), *sought.why])


COMMANDS = (inspect,)
