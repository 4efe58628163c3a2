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

# Session tools: the documented envelope, whose fields are there whatever happened.

MAYBE_NUMBER: Schema = {"type": ["integer", "null"]}
ROWS: Schema = several({"type": "object"})


def enveloped(**properties: Schema) -> Schema:
    return record(success=FLAG, **properties, message=MAYBE, error=MAYBE)


STORED: Schema = enveloped(
    memory_id=MAYBE_NUMBER,
    memory_type=MAYBE,
    agent_id=MAYBE,
    session_id=MAYBE,
    content_hash=MAYBE,
    chunks_created=MAYBE_NUMBER,
    created_at=MAYBE,
)
GRANULAR: Schema = enveloped(results=ROWS, total_results=NUMBER, granularity=TEXT, tier=MAYBE)
_SEARCHED: dict[str, Schema] = {
    "results": ROWS,
    "total_results": NUMBER,
    "query": MAYBE,
    "filters": {"type": "object"},
    "limit": MAYBE_NUMBER,
    "latest_first": FLAG,
}
SCOPED: Schema = enveloped(**_SEARCHED)
DOCUMENTS: Schema = enveloped(**_SEARCHED, granularity=TEXT, tier=MAYBE)
LOADED: Schema = enveloped(
    session_context={"type": ["object", "null"]},
    input_prompts=ROWS,
    recent_reports=ROWS,
    recent_report_observations=ROWS,
    recent_working_memory=ROWS,
)
EXPANDED: Schema = enveloped(
    memory_id=MAYBE_NUMBER,
    target_chunk_index=MAYBE_NUMBER,
    context_window=MAYBE_NUMBER,
    chunks_returned=NUMBER,
    expanded_content=MAYBE,
    chunks=ROWS,
)
RECONSTRUCTED: Schema = enveloped(
    memory_id=MAYBE_NUMBER, content=MAYBE, title=MAYBE, memory_type=MAYBE, chunk_count=MAYBE_NUMBER
)
FETCHED: Schema = enveloped(memory={"type": ["object", "null"]})
COUNTED: Schema = enveloped(
    session_id=MAYBE,
    memory_counts={"type": "object"},
    agent_counts={"type": "object"},
    total_memories=NUMBER,
    total_chunks=NUMBER,
    earliest_created=MAYBE,
    latest_created=MAYBE,
)
LISTED: Schema = enveloped(sessions=ROWS, total_sessions=NUMBER)
WRITTEN: Schema = enveloped(file_path=MAYBE, memory_id=MAYBE_NUMBER, bytes_written=MAYBE_NUMBER)
DELETED: Schema = enveloped(memory_id=MAYBE_NUMBER)
CLEANED: Schema = enveloped(memories_deleted=NUMBER, chunks_deleted=NUMBER, dry_run=FLAG)
