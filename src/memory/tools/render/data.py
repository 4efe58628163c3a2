"""
Results as JSON values.

What a command prints is a document that says its `schema`, name and version: within a version fields are added, never
removed or changed. A tool has a schema of its own.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from memory.schema.errors import Error, iso
from memory.schema.query import Granularity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memory.engine import Context
    from memory.schema.answer import Answer, Hit, Notice
    from memory.schema.draft import Saved
    from memory.schema.memory import Memory


def document(name: str, values: dict[str, Any], version: int = 1) -> dict[str, Any]:
    return {"schema": f"memory.{name}/{version}", **values}


def row(thing: object, fields: str) -> dict[str, Any]:
    """
    What a thing is, as JSON values.

    Args:
        fields: Its attributes, with the shapes of `memory.tools.arguments`: text where none is named, "?" may be null.
            "memory_id=memory.id:number" is another attribute than its name. Of a moment a text is ISO 8601, a number the
            seconds since 1970; "texts" is a list, "object" what pairs or a named tuple are, by name. A "real4" is rounded to
            four digits, a "real6" to six; "filled" is null where it is empty. A memory is a "pointer" or "whole".
    """
    return {name: value(get(thing)) for name, get, value in _readers(fields)}


@cache
def parsed(fields: str) -> tuple[tuple[str, str, str], ...]:
    """The name, attribute and shape of each field: the language of `row`, of schemas and of empty answers."""
    found = []
    for field in fields.split():
        place, _, shape = field.partition(":")
        name, _, attribute = place.partition("=")
        found.append((name, attribute or name, shape or "text"))
    return tuple(found)


_EMPTY: dict[str, Callable[[], object]] = {"number": int, "object": dict, "rows": list, "flag": lambda: True}


def blank(fields: str) -> dict[str, Any]:
    """An answer that has nothing: zero, an empty object or list, true; null for every other shape."""
    return {name: _EMPTY[shape]() if shape in _EMPTY else None for name, _, shape in parsed(fields)}


@cache
def _readers(fields: str) -> tuple[tuple[str, Callable[[object], Any], Callable[[Any], Any]], ...]:
    """For each field its name, how its attribute is read, and how that becomes a value."""
    return tuple(
        (name, attrgetter(attribute), _VALUES.get(shape.rstrip("?"), lambda value: value))
        for name, attribute, shape in parsed(fields)
    )


def _text(value: object) -> str | None:
    """
    Raises:
        TypeError: It is a number without a named shape.
    """
    if type(value) is str or value is None:  # nearly always
        return value
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, int | float):
        raise TypeError(f"{value!r} is not text")
    return str(value)


def _number(value: Any) -> int | None:
    if value is None:
        return None
    return int(value.timestamp() if isinstance(value, datetime) else value)


def _nullable(made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a value of what is there, and null of nothing."""
    return lambda value: None if value is None else made(value)


def pointer(memory: Memory) -> dict[str, Any]:
    """A memory in short; `id` is its uid, `memory_id` its number."""
    return row(memory, POINTER)


def pointers(memories: Iterable[Memory]) -> list[dict[str, Any]]:
    return [pointer(memory) for memory in memories]


def whole(memory: Memory) -> dict[str, Any]:
    """A memory with all its fields but the body."""
    return row(memory, WHOLE)


def notices(found: tuple[Notice, ...]) -> list[dict[str, str]]:
    return [{"text": notice.text, "hint": notice.hint} for notice in found]


_VALUES: dict[str, Callable[[Any], Any]] = {
    "text": _text,
    "number": _number,
    "real": lambda value: value.timestamp() if isinstance(value, datetime) else value,
    "real4": _nullable(partial(round, ndigits=4)),
    "real6": _nullable(partial(round, ndigits=6)),
    "filled": lambda value: value or None,
    "texts": _nullable(list),
    "object": _nullable(lambda value: value._asdict() if hasattr(value, "_asdict") else dict(value)),
    "pointer": pointer,
    "pointers": pointers,
    "whole": whole,
    "notices": notices,
}


POINTER = (
    "id=uid memory_id=id:number kind title what why impact category:text? tags:texts project:text? source:text? "
    "agent_id:text? author:text? has_details:flag flags:texts status superseded_by=successor_uid:text? created_at "
    "happened_at:text? valid_until:text?"
)
WHOLE = (
    f"{POINTER} description related_files:texts metadata:object session_id:text? session_iter:number? task_code:text? "
    "query_id:text? parent_id=parent_uid:text? content_hash updated_at accessed_at:text? access_count:number body_size:number "
    "keyword_only:flag pinned:flag"
)

HIT = (
    "relevance:real4 score:real4 coverage:real4 keyword:real cosine:real4 similarity:real4 topup:filled ranks:object "
    "chunk_id:number chunk_index=chunk.index:number chunk_type=chunk.type header_path=chunk.header_path:texts text "
    "match_ratio:real sections_in_chunk=sections:number newer_than:filled duplicates:number"
)


def saved(result: Saved) -> dict[str, Any]:
    return row(result, "known:flag renewed:flag memory:pointer notices:notices")


def answer(found: Answer, *, explain: bool = False) -> dict[str, Any]:
    values: dict[str, Any] = {
        **row(found, "query=query.text tier outcome worth"),
        "verdict": found.verdict
        and row(found.verdict, "tier enough:flag why found:number complete:number mass:real4 coverage:real4"),
        "hits": [
            {
                **pointer(hit.memory),
                "rank": rank,
                **row(hit, HIT),
                "keyword": hit.keyword if hit.keyword is None else float(f"{hit.keyword:.4g}"),
                "header_path": [*headings(found, hit)],
            }
            for rank, hit in enumerate(found.hits, start=1)
        ],
        **row(found, "seconds:real6 notices:notices"),
    }
    if explain:
        values["terms"] = [row(term, "text prefix:flag rows:number weight:real4") for term in found.terms]
        values["steps"] = [row(step, "name found:number seconds:real6 note") for step in found.steps]
    return values


def headings(found: Answer, hit: Hit) -> tuple[str, ...]:
    """The headings above a hit: of its section if sections were asked for, else of its chunk."""
    return hit.chunk.section if found.query.granularity is Granularity.MEDIUM else hit.chunk.header_path


def listing(memories: list[Memory], told: tuple[Notice, ...]) -> dict[str, Any]:
    return {"memories": [whole(memory) for memory in memories], "notices": notices(told)}


def context(found: Context) -> dict[str, Any]:
    values = row(found, "text tokens:number omitted:number more:number")
    values |= row(found.answer, "tier outcome") if found.answer else {"tier": None, "outcome": None}
    return values | row(found, "memories:pointers notices:notices")


def error(problem: Error) -> dict[str, Any]:
    values = {"error": type(problem).__name__, "message": str(problem)}
    return document("error", values | row(problem, "hint retryable:flag"))
