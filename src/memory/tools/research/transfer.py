"""A research run as the documented file, and back."""

from __future__ import annotations

import json
from collections import Counter
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memory.carry.jsonl import MemoryLine
from memory.config.files import BULK_BYTES, contents, ordinary, write_file
from memory.schema.errors import Invalid, kept_before, printable
from memory.schema.kinds import BY_AUTHOR, RULES
from memory.text.display import escape_json
from memory.tools.research import rows
from memory.tools.research.document import RunFile, document, said

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from memory.engine import Engine
    from memory.schema.answer import Notice
    from memory.store import ToolCall

AT_ONCE = 500  # memories that are kept in one transaction

UNUSABLE = (OSError, ValueError, RuntimeError, TypeError)
"""What a path raises: nobody may read it; NUL or no Unicode; no such user, or links in a circle; no path at all."""

Item = TypeVar("Item")


class RunImport(NamedTuple):
    """
    What became of a file.

    Attributes:
        runs: What it was of.
        memories, calls: How many are new.
        known, known_calls: How many were there already, or stood in the file twice.
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
    told = "{:,} of {:,} memories were kept before. Repeat the import to go on."
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
