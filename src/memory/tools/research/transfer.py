"""A research run as the documented file, and back: read and checked before anything of it is saved."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memory.config.files import BULK_BYTES, contents, ordinary, write_file
from memory.engine.lines import MemoryLine
from memory.engine.sessions import ToolCall
from memory.schema.draft import SHARED, Draft, content_hash
from memory.schema.errors import Invalid, checked_whole, clipped_repr, kept_before, placed, printable
from memory.schema.kinds import BY_AUTHOR, RULES
from memory.schema.memory import Memory, MemoryId, Standing
from memory.text.display import escape_json
from memory.tools.research import rows
from memory.tools.research.rows import draft, unix

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from memory.engine import Engine
    from memory.schema.answer import Notice

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
        raise Invalid(f"metadata is not JSON: {clipped_repr(value)}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Invalid(f"metadata is an object, not {clipped_repr(value)}")
    return dict(found)


# In and out ---------------------------------------------------------------------

AT_ONCE = 500  # memories that are kept in one transaction

UNUSABLE = (OSError, ValueError, RuntimeError, TypeError)
"""What a path raises: nobody may read it; NUL or no Unicode; no such user, or links in a circle; no path at all."""

Item = TypeVar("Item")


class RunImport(NamedTuple):
    """
    The result of importing a file of research runs.

    Attributes:
        runs: The names of the runs in the file.
        memories, calls: Number of new memories and tool calls.
        known, known_calls: Number of those that already existed, or are in the file twice.
    """

    runs: tuple[str, ...]
    memories: int
    known: int
    calls: int
    known_calls: int
    notices: tuple[Notice, ...] = ()


class RunExport(NamedTuple):
    """The file of a run, UTF-8, and how much is in it."""

    content: bytes
    memories: int
    calls: int


def exported(engine: Engine, run: str) -> RunExport:
    """
    What still holds of a run, and its calls, in the order in which they were first kept.

    The file has no word for what was superseded: back from it, that would hold again. So it is left out.
    """
    documents = sorted(rows.every(engine, run), key=lambda document: document.memory.id)
    calls = list(engine.runs.calls(run))
    values = rows.export(run, documents, calls, engine.now())
    content = escape_json(json.dumps(values, ensure_ascii=False, indent=2)).encode() + b"\n"
    return RunExport(content, len(documents), len(calls))


def write(engine: Engine, path: str | Path, content: bytes, *, overwrite: bool = True) -> bool:
    """
    Put a file in place of what is there: all of it, or nothing changes. Only its owner may open it.

    Args:
        overwrite: Otherwise what is there stays.

    Returns:
        Whether it was written; False only if it was there and is not to be overwritten.

    Raises:
        Invalid: It cannot be written, or is the database or no ordinary file.
    """
    try:
        write_file(ordinary(path, engine.config.database), content, overwrite=overwrite, private=True)
    except FileExistsError:
        return False
    except UNUSABLE as error:
        raise Invalid(f"cannot write {printable(str(path))}: {getattr(error, 'strerror', None) or error}") from error
    return True


def write_beside(engine: Engine, content: bytes, second: int) -> None:
    """
    Write an export of this second into the working folder, under a name that no other has: agents of a run
    end together.

    Raises:
        Invalid: It cannot be written.
    """
    names = (f"memories_export_{second}{f'-{number}' if number > 1 else ''}.json" for number in count(1))
    next(name for name in names if write(engine, name, content, overwrite=False))


def import_from_json(engine: Engine, path: str | Path) -> RunImport:
    """
    Keep what a file of an export has, in the runs that it names.

    Ids of this database take the place of those in the file; times stay. Of a supervisor's feedback that is there
    already the later one counts.

    Raises:
        Invalid: It cannot be read, or is no such file; the sentence names the place, and nothing was kept.
        StoreError: Some may have been kept; the same call goes on there.
    """
    try:
        content = contents(Path(path).expanduser(), BULK_BYTES)
    except UNUSABLE as error:
        raise Invalid(f"cannot read {printable(str(path))}: {getattr(error, 'strerror', None) or error}") from error
    return imported(engine, content, place=printable(str(path)))


def imported(engine: Engine, content: bytes, *, place: str) -> RunImport:
    """
    See `import_from_json`.

    Args:
        place: Where it comes from, for the error.
    """
    found = document(engine, content, place=place)
    memories = list(_new_memories(engine, found))
    there = [(call.uid, _used(call)) for run in found.runs for _, call in engine.runs.calls(run)]
    calls = list(_missing([(call.uid, _used(call), call) for call in found.calls], there))
    notices: list[Notice] = []
    kept = 0
    told = "{:,} of {:,} memories were saved before. Repeat the import to continue."
    with kept_before(lambda: told.format(kept, len(memories))):
        rest = iter(memories)
        while batch := list(islice(rest, AT_ONCE)):
            saved = engine.maintenance.restore(batch)
            kept += sum(not one.known for one in saved)
            notices += [notice for one in saved for notice in one.notices]
        engine.runs.log_all(calls)
    return RunImport(
        runs=found.runs,
        memories=kept,
        known=len(found.memories) + found.repeated - kept,
        calls=len(calls),
        known_calls=len(found.calls) - len(calls),
        notices=tuple(dict.fromkeys(notices)),
    )


def _new_memories(engine: Engine, found: RunFile) -> Iterator[MemoryLine]:
    """What is to be kept: what is not there by its uid or by what it says; of an author's feedback the last alone."""
    there = [(one.memory.uid, said(one.memory, one.body)) for run in found.runs for one in rows.every(engine, run)]
    in_time = sorted((memory for _, memory in found.memories), key=lambda memory: memory.updated_at)
    last = {(memory.kind, memory.query_id, memory.agent_id): memory.uid for memory in in_time}
    wanted = []
    for made, memory in found.memories:
        renewed = RULES[memory.kind].renewed
        if not renewed or memory.uid == last[memory.kind, memory.query_id, memory.agent_id]:
            line = MemoryLine(made, memory, renews=BY_AUTHOR if renewed else ())
            wanted.append((memory.uid, said(memory, made.body), line))
    return _missing(wanted, there)


def _used(call: ToolCall) -> Hashable:
    return (*call[1:-1], rows.unix(call.moment))


def _missing(wanted: Sequence[tuple[str, Hashable, Item]], there: Sequence[tuple[str, Hashable]]) -> Iterator[Item]:
    """Items of which there are not as many as are wanted; one that is there by its uid stands for itself."""
    uids = {uid for uid, _, _ in wanted}
    same = {uid for uid, _ in there if uid in uids}
    others = Counter(key for uid, key in there if uid not in uids)
    for uid, key, item in wanted:
        if uid in same:
            continue
        if others[key]:
            others[key] -= 1
        else:
            yield item
