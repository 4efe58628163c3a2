"""The JSON Schemas of what the tools give. They name what a reader can count on; more fields may come."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.mcp.tool import Schema

TEXT: Schema = {"type": "string"}
MAYBE: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}


def record(**properties: Schema) -> Schema:
    """An object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def several(item: Schema) -> Schema:
    return {"type": "array", "items": item}


POINTER: Schema = record(
    id=TEXT,
    memory_id=NUMBER,
    kind=TEXT,
    title=TEXT,
    what=TEXT,
    why=TEXT,
    impact=TEXT,
    category=MAYBE,
    tags=TEXTS,
    project=MAYBE,
    source=MAYBE,
    agent_id=MAYBE,
    has_details=FLAG,
    flags=TEXTS,
    created_at=TEXT,
)
NOTICES: Schema = several(record(text=TEXT, hint=TEXT))


HIT: Schema = record(**POINTER["properties"], rank=NUMBER, score={"type": "number"}, text=TEXT)
SEARCH: Schema = record(
    about=TEXT,
    query=TEXT,
    tier=TEXT,
    verdict={"type": ["object", "null"]},
    hits=several(HIT),
    seconds={"type": "number"},
    notices=NOTICES,
)
CONTEXT: Schema = record(
    about=TEXT,
    project=MAYBE,
    tier=MAYBE,
    memories=several(POINTER),
    tokens=NUMBER,
    omitted=NUMBER,
    more=NUMBER,
    notices=NOTICES,
)
NAME: Schema = record(id=TEXT, memory_id=NUMBER, title=TEXT)
SAVE: Schema = record(known=FLAG, memory=NAME, notices=NOTICES)
DETAILS: Schema = record(about=TEXT, memory=POINTER, details=TEXT, start=NUMBER, remaining=NUMBER, notices=NOTICES)
DELETE: Schema = record(memory=NAME, notices=NOTICES)
STATS: Schema = record(memories=NUMBER, superseded=NUMBER, chunks=NUMBER, queued=NUMBER)
REINDEX: Schema = record(chunks=NUMBER, embedded=NUMBER)
