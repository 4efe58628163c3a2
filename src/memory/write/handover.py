"""What a writer who waits hands over, and how whoever writes before it writes it: an entry, and what became of it, as texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memory.schema.draft import SHARED, Draft, Saved
from memory.schema.errors import Error
from memory.schema.kinds import RULES
from memory.schema.memory import Chunk, ChunkType
from memory.schema.space import Embedded, Space, Window
from memory.store import Entry
from memory.store.handover import Turn
from memory.store.records import ODD, moment, record, recorded
from memory.store.trash import Step
from memory.write.batch import plain
from memory.write.removing import expire
from memory.write.rules import write_entries, write_shared
from memory.write.steps import current

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.store import Store
    from memory.store.handover import Handed, Handover

FORM = 3
"""Number of the form of `packed`. What has another is left to whoever knows it."""

LARGEST = 16
"""Chunks of an entry that is handed over: others wait for whoever writes it."""


def together(entries: Sequence[Entry]) -> bool:
    """Whether entries may be written with those of others: they are few, and say nothing of what is there."""
    return sum(len(one.chunks) for one in entries) <= LARGEST and all(map(plain, entries))


def write_in_turn(
    store: Store, handover: Handover, entries: Sequence[Entry], moment: datetime
) -> tuple[list[Saved], Turn]:
    """`write_entries`, with what others have handed over; or by one of them. And what the turn was like."""
    entries = [handover.prepared(one) for one in entries]
    own = entries[0] if len(entries) == 1 and _once(entries[0]) else None
    turn = Turn()
    try:
        with handover.turn(FORM, moment, None if own is None else lambda: packed(store, own)) as turn:
            return _written(store, handover, turn, entries, moment), turn
    except (Error, *ODD):
        if not turn.others:
            raise
        # Nothing is written, as far as anybody knows. Whose entry it is, is told to its own writer: each writes by itself.
        handover.leave([one.id for one in turn.others])
    return write_in_turn(store, handover, entries, moment)


def _once(entry: Entry) -> bool:
    """Whether it is known where it was saved before: a writer who does not hear what became of it may save it again."""
    return entry.unless_known and not RULES[entry.draft.kind].repeats


def _written(store: Store, handover: Handover, turn: Turn, entries: Sequence[Entry], moment: datetime) -> list[Saved]:
    if turn.outcome is not None:
        return [_outcome(turn.outcome, entries[0])]
    if turn.over:
        expire(store, moment)
    if not turn.others:
        return write_entries(store, entries)
    parts = [(current(store, entries[0].moment), entries), *map(_unpacked, turn.others)]
    handover.expect([entry for _, some in parts for entry in some])
    own, *others = write_shared(store, parts)
    outcomes = zip(turn.others, others, strict=True)
    handover.answer({one.id: _packed_outcome(saved) for one, [saved] in outcomes})
    return own


# As texts ----------------------------------------------------------------------


def packed(store: Store, entry: Entry) -> tuple[str, bytes]:
    """An entry that says nothing of others with the step that it is of, and its vectors."""
    draft = {name: getattr(entry.draft, name) for name in (*SHARED, "body")}
    step, made = current(store, entry.moment), entry.embedded
    said = {
        "draft": draft | {"metadata": dict(entry.draft.metadata)},
        "uid": entry.uid,
        "moment": entry.moment.isoformat(),
        "content_hash": entry.content_hash,
        "chunks": [[getattr(one, name) for name in _CHUNK] for one in entry.chunks],
        "grams": entry.grams,
        "said": entry.said,
        "flags": entry.flags,
        "step": [step.key, step.verb, step.by, step.user],
        "space": made and made.space,
        "windows": made and made.windows,
    }
    return json.dumps(said), b"" if made is None else made.vectors.astype("<f4").tobytes()


_CHUNK = ("index", "start", "stop", "type", "header_path", "level", "token_count")


def _unpacked(handed: Handed) -> tuple[Step, list[Entry]]:
    """
    Raises:
        Invalid, LookupError, ValueError, TypeError, AttributeError: It is nothing that `packed` made.
    """
    said: dict[str, Any] = json.loads(handed.entry)
    draft = said["draft"]
    at = moment(said["moment"])
    entry = Entry(
        draft=Draft(**draft | {name: tuple(draft[name]) for name in ("tags", "related_files")}),
        uid=said["uid"],
        moment=at,
        content_hash=said["content_hash"],
        chunks=tuple(_chunk(row) for row in said["chunks"]),
        grams=tuple(said["grams"]),
        said=tuple(map(tuple, said["said"])),
        embedded=_embedded(said, handed.vectors),
        flags=tuple(said["flags"]),
    )
    key, verb, by, user = said["step"]
    return Step(key, verb, by, at, user=user), [entry]


def _chunk(row: Sequence[Any]) -> Chunk:
    index, start, stop, type, path, level, tokens = row
    return Chunk(index, start, stop, ChunkType(type), tuple(path), level, tokens)


def _embedded(said: dict[str, Any], vectors: bytes) -> Embedded | None:
    if said["space"] is None:
        return None
    import numpy as np

    space = Space(*said["space"])
    rows = np.frombuffer(vectors, "<f4").reshape(-1, space.dimension)
    return Embedded(space, rows, tuple(Window(*one) for one in said["windows"]))


_BESIDE = ("short_id", "parent_uid", "successor_uid", "successor")
"""Of a memory what is no column."""


def _packed_outcome(saved: Saved) -> str:
    beside = {name: getattr(saved.memory, name) for name in _BESIDE}
    return json.dumps({"known": saved.known, "memory": record(saved.memory), "beside": beside})


def _outcome(text: str, entry: Entry) -> Saved:
    """What became of an entry, as its writer would have been told."""
    said = json.loads(text)
    memory = recorded(said["memory"])._replace(**said["beside"])
    return Saved(memory, known=said["known"], chunks=len(entry.chunks))
