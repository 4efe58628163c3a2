"""The JSON Schemas of what the tools give. They name what a reader can count on; more fields may come."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.operations.tool import Schema

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
    outcome=TEXT,
    worth=TEXT,
    verdict={"type": ["object", "null"]},
    hits=several(HIT),
    seconds={"type": "number"},
    notices=NOTICES,
)
CONTEXT: Schema = record(
    about=TEXT,
    project=MAYBE,
    tier=MAYBE,
    outcome=MAYBE,
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
_ANSWERED: dict[str, Schema] = {"granularity": TEXT, "tier": MAYBE, "outcome": MAYBE, "worth": MAYBE}
GRANULAR: Schema = enveloped(results=ROWS, total_results=NUMBER, **_ANSWERED)
_SEARCHED: dict[str, Schema] = {
    "results": ROWS,
    "total_results": NUMBER,
    "query": MAYBE,
    "filters": {"type": "object"},
    "limit": MAYBE_NUMBER,
    "latest_first": FLAG,
}
SCOPED: Schema = enveloped(**_SEARCHED)
DOCUMENTS: Schema = enveloped(**_SEARCHED, **_ANSWERED)
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

# Tools of the entity graph.

REAL: Schema = {"type": "number"}
MAYBE_REAL: Schema = {"type": ["number", "null"]}
NAMES: Schema = several({"type": ["string", "integer"]})
ENTITY: Schema = record(
    id=NUMBER,
    uid=TEXT,
    name=TEXT,
    entityType=MAYBE,
    embedding_status=TEXT,
    created_at=REAL,
    updated_at=REAL,
    flags=TEXTS,
)
_KNOWN: dict[str, Schema] = {**ENTITY["properties"], "observations": TEXTS}
KNOWN: Schema = record(**_KNOWN)
FOUND: Schema = record(**_KNOWN, score=REAL)
RELATION: Schema = record(**{"from": TEXT, "to": TEXT, "relationType": TEXT})
RELATIONS: Schema = several(RELATION)


def told(**properties: Schema) -> Schema:
    return record(about=TEXT, **properties, notices=NOTICES)


CREATED: Schema = told(
    created=several(ENTITY), duplicates=several(record(**ENTITY["properties"], added=TEXTS, known=TEXTS))
)
RELATED: Schema = told(created=RELATIONS, duplicates=RELATIONS)
UNRELATED: Schema = told(deleted=RELATIONS, unknown=RELATIONS)
OBSERVED: Schema = told(results=several(ENTITY))
RENAMED: Schema = told(entity=ENTITY, former_name=TEXT)
LINKED: Schema = told(entity=TEXT, linked=several(POINTER), duplicates=several(POINTER))
UNLINKED: Schema = told(entity=TEXT, unlinked=several(POINTER), unknown=several(POINTER))
REMOVED: Schema = told(deleted=several(record(id=NUMBER, uid=TEXT, name=TEXT)), unknown=NAMES)
GENERATED: Schema = told(
    generated=NUMBER,
    failed=several(record(id=NUMBER, name=TEXT, error=TEXT)),
    unchanged=NUMBER,
    excluded=NUMBER,
    model=MAYBE,
)
OPENED: Schema = told(entities=several(KNOWN), relations=RELATIONS, total_relations=NUMBER, unknown=NAMES)
READ: Schema = told(
    entities=several(KNOWN), relations=RELATIONS, total_entities=NUMBER, total_relations=NUMBER, offset=NUMBER
)
_SOUGHT: dict[str, Schema] = {"query": TEXT, "tier": TEXT, "outcome": TEXT, "worth": TEXT}
NODES: Schema = told(**_SOUGHT, entities=several(FOUND), relations=RELATIONS)
ALIKE: Schema = told(
    query=TEXT,
    tier=TEXT,
    threshold=MAYBE_REAL,
    outcome=MAYBE,
    worth=TEXT,
    entities=several(record(**ENTITY["properties"], score=REAL, similarity=MAYBE_REAL)),
)
NEAR: Schema = told(
    query=TEXT,
    tier=TEXT,
    context_nodes=TEXTS,
    entities=several(
        record(**FOUND["properties"], similarity=MAYBE_REAL, distance=MAYBE_NUMBER, keyword=REAL),
    ),
)
AROUND: Schema = told(**_SOUGHT, entity=TEXT, max_distance=NUMBER, near=NUMBER, hits=several(HIT))
PATH: Schema = told(source=TEXT, target=TEXT, found=FLAG, length=MAYBE_NUMBER, path=TEXTS, relations=RELATIONS)
ABOUT: Schema = told(entity=TEXT, memories=several(POINTER), total_memories=NUMBER)
GRAPH: Schema = told(
    total_entities=NUMBER,
    total_relations=NUMBER,
    total_observations=NUMBER,
    linked_memories=NUMBER,
    isolated_entities=NUMBER,
    entity_types={"type": "object"},
    relation_types={"type": "object"},
    embedding_status={"type": "object"},
)

# Tools of research runs.

SAID: Schema = record(
    id=TEXT,
    memory_id=NUMBER,
    query_id=TEXT,
    type=TEXT,
    agent=MAYBE,
    content=TEXT,
    size=NUMBER,
    metadata={"type": "object"},
    created_at=TEXT,
    flags=TEXTS,
)
LATEST: Schema = told(query_id=TEXT, memories=several(SAID), more=FLAG)
SHARED: Schema = record(
    known=FLAG,
    renewed=FLAG,
    memory=NAME,
    query_id=TEXT,
    type=TEXT,
    agent=TEXT,
    created_at=TEXT,
    notices=NOTICES,
)
BRIEFING: Schema = record(
    query_id=TEXT, context=TEXT, tokens=NUMBER, memories=several(POINTER), omitted=NUMBER, notices=NOTICES
)
LOGGED: Schema = record(call_id=NUMBER, query_id=TEXT, notices=NOTICES)
