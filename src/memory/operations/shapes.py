"""The JSON Schemas of what operations give. They name what a reader can count on; more fields may come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.operations.render.data import parsed

if TYPE_CHECKING:
    from memory.operations.arguments import Schema


def several(item: Schema) -> Schema:
    return {"type": "array", "items": item}


_SHAPES: dict[str, Schema] = {
    "text": {"type": "string"},
    "text?": {"type": ["string", "null"]},
    "number": {"type": "integer"},
    "number?": {"type": ["integer", "null"]},
    "real": {"type": "number"},
    "real?": {"type": ["number", "null"]},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "object?": {"type": ["object", "null"]},
    "texts": several({"type": "string"}),
    "rows": several({"type": "object"}),
}


def record(fields: str, **shapes: Schema) -> Schema:
    """
    An object that has all of these fields.

    Args:
        fields: "title tags:texts project:text?", see `memory.operations.render.data.row`.
        shapes: Those that go by names of their own.
    """
    known = _SHAPES | shapes
    properties = {name: known[shape] for name, _, shape in parsed(fields)}
    return {"type": "object", "properties": properties, "required": list(properties)}


def more(schema: Schema, fields: str, **shapes: Schema) -> Schema:
    """A record of the same fields and some others."""
    properties = schema["properties"] | record(fields, **shapes)["properties"]
    return schema | {"properties": properties, "required": list(properties)}


_POINTER = (
    "id memory_id:number kind title what why impact category:text? tags:texts project:text? source:text? agent_id:text? "
    "has_details:flag flags:texts created_at"
)
_HIT = record(f"{_POINTER} rank:number score:real text")

SHAPES: dict[str, Schema] = {
    "pointer": record(_POINTER),
    "pointers": several(record(_POINTER)),
    "hits": several(_HIT),
    "name": record("id memory_id:number title"),
    "notices": several(record("text hint")),
}
"""What answers of several toolsets have: a memory in short, what was found, what should be known besides."""


def answer(fields: str, **shapes: Schema) -> Schema:
    """A record of memories, whose shapes go by the names in `SHAPES`."""
    return record(fields, **SHAPES, **shapes)
