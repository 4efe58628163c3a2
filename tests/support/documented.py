"""
What the documentation of the 28 session tools promises: parameters, defaults, and the fields of each
answer with the types of their values. More fields may come; none of these may go.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    Shape = Mapping[str, "type | tuple[type, ...]"]

TEXT, NUMBER, FLAG, REAL, LIST, RECORD = str, int, bool, (int, float), list, dict
TEXT_OR_NONE, NUMBER_OR_NONE, RECORD_OR_NONE = (str, NoneType), (int, NoneType), (dict, NoneType)
REAL_OR_NONE = (int, float, NoneType)  # a similarity that nobody knows


class Said(NamedTuple):
    """
    One tool as it is documented.

    Attributes:
        required: Parameters that must be given.
        optional: The others with their defaults.
        fields: Of its answer, beside `success`, `message` and `error`.
        rows: For each field that is a list of records, or one: their fields.
    """

    required: tuple[str, ...]
    optional: Mapping[str, Any]
    fields: Shape
    rows: Mapping[str, Shape] = {}


ENVELOPE: Shape = {"success": FLAG, "message": TEXT_OR_NONE, "error": TEXT_OR_NONE}

MEMORY: Shape = {
    "id": NUMBER,
    "memory_type": TEXT,
    "agent_id": TEXT_OR_NONE,
    "session_id": TEXT_OR_NONE,
    "session_iter": NUMBER_OR_NONE,
    "task_code": TEXT_OR_NONE,
    "content": TEXT,
    "title": TEXT_OR_NONE,
    "description": TEXT_OR_NONE,
    "tags": LIST,
    "metadata": RECORD,
    "content_hash": TEXT,
    "created_at": TEXT,
    "updated_at": TEXT,
    "accessed_at": TEXT_OR_NONE,
    "access_count": NUMBER,
}
FOUND: Shape = {**MEMORY, "similarity": REAL_OR_NONE, "source_type": TEXT}
CHUNK: Shape = {
    "chunk_id": NUMBER,
    "memory_id": NUMBER,
    "chunk_index": NUMBER,
    "chunk_content": TEXT,
    "chunk_type": TEXT,
    "header_path": TEXT,
    "level": NUMBER,
    "similarity": REAL_OR_NONE,
    "source": TEXT,
    "granularity": TEXT,
}
SECTION: Shape = {
    "memory_id": NUMBER,
    "section_header": TEXT,
    "section_content": TEXT,
    "header_path": TEXT,
    "chunks_in_section": NUMBER,
    "matched_chunks": NUMBER,
    "match_ratio": REAL,
    "auto_merged": FLAG,
    "similarity": REAL_OR_NONE,
    "source": TEXT,
    "granularity": TEXT,
}
NEIGHBOUR: Shape = {
    "chunk_id": NUMBER,
    "chunk_index": NUMBER,
    "content": TEXT,
    "chunk_type": TEXT,
    "header_path": TEXT,
    "level": NUMBER,
}
SESSION: Shape = {
    "session_id": TEXT,
    "agent_id": TEXT_OR_NONE,
    "memory_count": NUMBER,
    "latest_activity": TEXT,
    "memory_types": RECORD,
}

STORED: Shape = {
    "memory_id": NUMBER_OR_NONE,
    "memory_type": TEXT_OR_NONE,
    "agent_id": TEXT_OR_NONE,
    "session_id": TEXT_OR_NONE,
    "content_hash": TEXT_OR_NONE,
    "chunks_created": NUMBER_OR_NONE,
    "created_at": TEXT_OR_NONE,
}
SEARCHED: Shape = {
    "results": LIST,
    "total_results": NUMBER,
    "query": TEXT_OR_NONE,
    "filters": RECORD,
    "limit": NUMBER_OR_NONE,
    "latest_first": FLAG,
}
GRANULAR: Shape = {"results": LIST, "total_results": NUMBER, "granularity": TEXT}

_PLACE = {"agent_id": None, "session_id": None, "session_iter": None, "task_code": None}
_OF_AGENT = {"session_iter": None, "task_code": None}


def _keeps(*required: str, **optional: object) -> Said:
    return Said(required, optional, STORED)


def _family(name: str, place: Mapping[str, Any]) -> dict[str, Said]:
    """The three searches of a kind; a query may be left out for whole documents."""
    return {
        f"search_{name}_specific_chunks": Said(("query",), {**place, "limit": 10}, GRANULAR, {"results": CHUNK}),
        f"search_{name}_section_context": Said(("query",), {**place, "limit": 5}, GRANULAR, {"results": SECTION}),
        f"search_{name}_full_documents": Said(
            (), {"query": None, **place, "limit": 3}, {**SEARCHED, **GRANULAR}, {"results": FOUND}
        ),
    }


TOOLS: Mapping[str, Said] = {
    "store_session_context": _keeps("session_id", "session_iter", "content", task_code=None),
    "store_input_prompt": _keeps("session_id", "session_iter", "content", task_code=None),
    "store_system_memory": _keeps("agent_id", "session_id", "content", **_OF_AGENT),
    "store_report": _keeps("agent_id", "session_id", "content", **_OF_AGENT),
    "store_report_observation": _keeps("agent_id", "session_id", "content", **_OF_AGENT),
    "store_working_memory": _keeps("agent_id", "session_id", "content", **_OF_AGENT),
    "store_knowledge_base": _keeps("agent_id", "title", "content", category="general"),
    "search_session_context": Said(
        ("session_id",), {"session_iter": None, "limit": 5, "latest_first": True}, SEARCHED, {"results": FOUND}
    ),
    "search_input_prompts": Said(
        ("session_id",), {"session_iter": None, "limit": 5, "latest_first": True}, SEARCHED, {"results": FOUND}
    ),
    "search_system_memory": Said((), {"query": None, **_PLACE, "limit": 10}, SEARCHED, {"results": FOUND}),
    **_family("reports", _PLACE),
    **_family("working_memory", _PLACE),
    **_family("knowledge_base", {"agent_id": None, "category": None}),
    "load_session_context_for_task": Said(
        ("session_id", "session_iter"),
        {},
        {
            "session_context": RECORD_OR_NONE,
            "input_prompts": LIST,
            "recent_reports": LIST,
            "recent_working_memory": LIST,
        },
        dict.fromkeys(("session_context", "input_prompts", "recent_reports", "recent_working_memory"), MEMORY),
    ),
    "expand_chunk_context": Said(
        ("chunk_id",),
        {"surrounding_chunks": 2},
        {
            "memory_id": NUMBER_OR_NONE,
            "target_chunk_index": NUMBER_OR_NONE,
            "context_window": NUMBER_OR_NONE,
            "chunks_returned": NUMBER,
            "expanded_content": TEXT_OR_NONE,
            "chunks": LIST,
        },
        {"chunks": NEIGHBOUR},
    ),
    "reconstruct_document": Said(
        ("memory_id",),
        {},
        {
            "memory_id": NUMBER_OR_NONE,
            "content": TEXT_OR_NONE,
            "title": TEXT_OR_NONE,
            "memory_type": TEXT_OR_NONE,
            "chunk_count": NUMBER_OR_NONE,
        },
    ),
    "get_memory_by_id": Said(("memory_id",), {}, {"memory": RECORD_OR_NONE}, {"memory": MEMORY}),
    "get_session_stats": Said(
        ("session_id",),
        {},
        {
            "session_id": TEXT_OR_NONE,
            "memory_counts": RECORD,
            "agent_counts": RECORD,
            "total_memories": NUMBER,
            "total_chunks": NUMBER,
            "earliest_created": TEXT_OR_NONE,
            "latest_created": TEXT_OR_NONE,
        },
    ),
    "list_sessions": Said(
        (), {"limit": 20, "agent_id": None}, {"sessions": LIST, "total_sessions": NUMBER}, {"sessions": SESSION}
    ),
    "write_document_to_file": Said(
        ("memory_id", "output_path"),
        {},
        {"file_path": TEXT_OR_NONE, "memory_id": NUMBER_OR_NONE, "bytes_written": NUMBER_OR_NONE},
    ),
    "delete_memory": Said(("memory_id",), {}, {"memory_id": NUMBER_OR_NONE}),
    "cleanup_old_memories": Said(
        (), {"days_old": 90, "dry_run": True}, {"memories_deleted": NUMBER, "chunks_deleted": NUMBER, "dry_run": FLAG}
    ),
}


def promised(tool: str, answer: Mapping[str, Any]) -> None:
    """Fail if an answer lacks a documented field, or one has another type, in the envelope or in one of its rows."""
    said = TOOLS[tool]
    _has(answer, {**ENVELOPE, **said.fields}, tool)
    for field, shape in said.rows.items():
        found = answer[field]
        for row in found if isinstance(found, list) else [found] if found is not None else []:
            _has(row, shape, f"{tool}: {field}")


def refused(tool: str, answer: Mapping[str, Any], error: str = "ValidationError") -> str:
    """The message of an envelope that says it could not be done; fail if it is none, or says more."""
    promised(tool, answer)
    assert (answer["success"], answer["error"]) == (False, error), answer
    said = [answer[field] for field in TOOLS[tool].fields if field not in ("granularity", "latest_first", "dry_run")]
    assert not any(said), answer
    assert answer["message"], answer
    return answer["message"]


def _has(record: Mapping[str, Any], shape: Shape, where: str) -> None:
    assert not (missing := shape.keys() - record.keys()), f"{where}: no {', '.join(sorted(missing))}"
    for field, kind in shape.items():
        value, kinds = record[field], kind if isinstance(kind, tuple) else (kind,)
        assert isinstance(value, kinds), f"{where}: {field} is {value!r}"
        assert bool in kinds or not isinstance(value, bool), f"{where}: {field} is {value!r}"
