"""The documented file of a run, read and checked before anything of it is saved."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.draft import SHARED, Draft, content_hash
from memory.schema.errors import Invalid, checked_whole, clipped_repr, placed
from memory.schema.kinds import RULES
from memory.schema.memory import Memory, MemoryId, Standing
from memory.store import ToolCall
from memory.tools.research.rows import draft, unix

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from memory.engine import Engine

NOBODY = "nobody"  # until it is left out: an export writes an empty name for who is not known
LAST = 253_402_300_799  # seconds: the last one of the year 9999


class RunFile(NamedTuple):
    """
    What a file contains. It has no uids: they are computed from the content, so that they are the same each time.

    Attributes:
        runs: The runs of its memories and calls, by name.
        memories: Without duplicates; `repeated` is how many duplicates the file had.
    """

    runs: tuple[str, ...]
    memories: tuple[tuple[Draft, Memory], ...]
    repeated: int
    calls: tuple[ToolCall, ...]


def said(memory: Memory, body: str) -> Hashable:
    """What makes two memories the same; the time counts only for kinds that may be saved twice."""
    second = unix(memory.updated_at) if RULES[memory.kind].repeats else None
    return (memory.kind, memory.query_id, memory.agent_id, body, second)


def document(engine: Engine, content: bytes, *, place: str) -> RunFile:
    """
    Raises:
        Invalid: It is not such a file; the message begins with `place` and names the place in it.
    """
    with placed(place):
        values = _object(_json(content))
        usual = values.get("query_id")
        memories, calls = _list(values, "memories"), _list(values, "tool_calls")
    found: dict[str, tuple[Draft, Memory]] = {}
    times: Counter[Hashable] = Counter()
    for number, one in enumerate(memories):
        with placed(f"{place}: memories[{number}]"):
            made, memory, key = _memory(engine, _object(one), usual)
        times[key] += RULES[memory.kind].repeats
        uid = _uid(key, times[key])
        found.setdefault(uid, (made, memory._replace(uid=uid)))
    used: Counter[ToolCall] = Counter()
    checked: list[ToolCall] = []
    for number, one in enumerate(calls):
        with placed(f"{place}: tool_calls[{number}]"):
            call = _call(_object(one), usual)
            used[call] += 1
            uid = _uid(call[:-1], unix(call.moment), used[call])
            checked.append(engine.runs.checked(call._replace(uid=uid))[0])
    runs = {memory.query_id for _, memory in found.values()} | {call.run for call in checked}
    named = tuple(sorted(filter(None, runs)))
    return RunFile(named, tuple(found.values()), len(memories) - len(found), tuple(checked))


def _uid(*said: object) -> str:
    return hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:32]


def _memory(engine: Engine, values: Mapping[str, Any], usual: object) -> tuple[Draft, Memory, Hashable]:
    """
    A memory without its uid, and what identifies it, from before secrets were removed.

    Args:
        usual: The run of a memory that names none itself.
    """
    run, content, author = _run(values, usual), _text(values, "content"), _text(values, "created_by")
    metadata = _metadata(values.get("metadata"))
    metadata.pop("query_id", None)  # the column says it
    clean = engine.documents.clean(content)
    made = draft(_text(values, "memory_type"), clean, author or NOBODY, run=run, metadata=metadata)
    made = made if author else replace(made, agent_id=None)
    moment = _moment(values, "created_at")
    memory = Memory(
        **{name: getattr(made, name) for name in SHARED},
        id=MemoryId(0),
        uid="",
        status=Standing.ACTIVE,
        superseded_by=None,
        content_hash=content_hash(made),
        created_at=moment,
        updated_at=moment,
        accessed_at=None,
        access_count=0,
        body_size=len(made.body),
    )
    return made, memory, said(memory, content)


def _call(values: Mapping[str, Any], usual: object) -> ToolCall:
    """A call without its uid, as in the file."""
    success = values.get("success")
    if not isinstance(success, int) or success not in {0, 1}:
        raise Invalid(f"success is 1 or 0, not {clipped_repr(success)}")
    return ToolCall(
        uid="",
        run=_run(values, usual),
        agent=_text(values, "agent_name"),
        type=_text(values, "tool_type"),
        tool=_text(values, "tool_name"),
        parameters=_text(values, "parameters"),
        result=_text(values, "result"),
        success=success == 1,
        moment=_moment(values, "timestamp"),
    )


def _run(values: Mapping[str, Any], usual: object) -> str:
    named = values.get("query_id")
    return _text({"query_id": usual if named is None else named}, "query_id")


def _json(content: bytes) -> object:
    try:
        return json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Invalid(f"not UTF-8 text: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise Invalid(f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from error
    except (RecursionError, ValueError) as error:  # a number of thousands of digits
        raise Invalid(f"not an export: {error}") from error


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise Invalid(f"an object is expected, not {clipped_repr(value)}", hint="`memory run export` writes such a file.")


def _list(values: Mapping[str, Any], name: str) -> list[object]:
    if isinstance(found := values.get(name), list):
        return found
    what = f"{name} is a list, not {clipped_repr(found)}" if name in values else f"no {name}"
    raise Invalid(what, hint="`memory run export` writes such a file.")


def _text(values: Mapping[str, Any], name: str) -> str:
    if isinstance(found := values.get(name), str):
        return found
    raise Invalid(f"{name} is text, not {clipped_repr(found)}" if found is not None else f"no {name}")


def _moment(values: Mapping[str, Any], name: str) -> datetime:
    seconds = checked_whole(values.get(name), 0, LAST, f"{name} is a time in whole seconds since 1970")
    return datetime.fromtimestamp(seconds, UTC)


def _metadata(value: object) -> dict[str, Any]:
    """Metadata as text, as the file has it, or as an object."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise Invalid(f"metadata is no JSON: {clipped_repr(value)}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Invalid(f"metadata is an object, not {clipped_repr(value)}")
    return dict(found)
