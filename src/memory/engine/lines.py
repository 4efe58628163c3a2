"""
Exports in lines of JSON: writing everything that an engine has, and importing it. An import checks every line before it
stores the first.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from memory.carry import Sum
from memory.carry.formats.items import LeftOut, left_out
from memory.carry.formats.reading import Source, lines
from memory.engine.importing import BATCH, Imported, grown
from memory.keep.jsonl import Line, MemoryLine, TrashLine, parsed
from memory.schema.answer import Notice
from memory.schema.errors import Invalid, StoreDamaged, kept_before
from memory.store import Links, ToolCall, export
from memory.store.export import EdgeLine, LinkLine, RelationLine, StrangersLine
from memory.vectors.baseline import take_strangers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memory.engine import Engine
    from memory.schema.memory import MemoryId

    Progress: TypeAlias = Callable[[int, int], None]

__all__ = ["Line", "MemoryLine", "look", "read", "records", "take"]

LINE_BYTES = 1 << 27
"""The longest line in bytes: a memory with all of its history."""


def records(
    engine: Engine, lost: Callable[[str], None], *, strangers: bool, trash: bool, author: str | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """
    The records of an export as JSON values, each with its type: "memories", "relations and links", "tool calls of
    research runs", "strangers" (baseline questions), "trash".

    Args:
        lost: Called with a sentence for each part that cannot be read; the rest is exported.
        strangers, trash: Whether to include these.
        author: Only memories that this person saved, with their relations, and what this person deleted; no tool calls,
            which have no author.
    """
    whole, uids = author is None, set[str]()
    for one in engine.maintenance.exported(lost):
        if whole or one.memory.author == author:
            uids.add(one.memory.uid)
            yield "memories", export.memory_line(one)
    edges = (one for one in export.edge_lines(engine.store) if whole or uids.issuperset(one[:2]))
    users = None if author is None else {author}
    joined: dict[str, Iterable[dict[str, Any]]] = {
        "relations and links": map(export.edge, edges),
        "tool calls of research runs": (export.tool_call(call) for _, call in (engine.runs.calls() if whole else ())),
        "strangers": _strangers(engine) if strangers else (),
        "trash": (json.loads(one.line) for one in engine.trash.rows(users)) if trash else (),
    }
    for sort, found in joined.items():
        try:
            yield from ((sort, record) for record in found)
        except StoreDamaged as error:
            lost(f"not all {sort} can be read: {error}")


def _strangers(engine: Engine) -> Iterator[dict[str, Any]]:
    if (line := export.strangers_line(engine.store)) is not None:
        yield export.strangers(line)


def read(source: Source) -> Iterator[Line]:
    """
    Read the lines of an export, or drafts.

    Raises:
        Invalid: A line is neither; the message names its place.
    """
    with source.opened() as file:
        for number, line in lines(file, LINE_BYTES):
            place = f"{source.name}:{number}"
            if line is None:
                raise Invalid(f"{place}: the line has more than {LINE_BYTES:,} bytes")
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise Invalid(f"{place} is not UTF-8 text: {error.reason} at byte {error.start}") from error
            if text.strip():
                yield parsed(text.rstrip("\r\n"), place=place)


def look(source: Source) -> tuple[int, list[StrangersLine]]:
    """
    The number of memories in an export, and its baseline questions.

    Raises:
        Invalid: As in `read`.
    """
    memories, strangers = 0, []
    for one in read(source):
        memories += isinstance(one, MemoryLine)
        if isinstance(one, StrangersLine):
            strangers.append(one)
    return memories, strangers


def take(engine: Engine, source: Source, progress: Progress) -> Imported:
    """
    Store the lines of an export. Existing memories stay as they are, except that entities get new observations.

    Raises:
        Invalid: As in `read`; nothing was stored.
        StoreError: The rest could not be stored; the hint says how much was.
    """
    total, strangers = look(source)
    restoring = _Restoring(engine)
    told = "{:,} of {:,} were imported before that and stay. Repeat the import to continue."
    with kept_before(lambda: told.format(restoring.done, total)), engine.maintenance.importing():
        # First: with the memories' vectors, this store would make a baseline of its own.
        parts = engine.store, engine.vectors.embedders
        left_out = [take_strangers(*parts, line) for line in strangers]
        for one in read(source):
            if restoring.take(one):
                progress(restoring.done, total)
        return restoring.ended(tuple(filter(None, left_out)))


class _Restoring:
    """The state of an import of an export."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._batch: list[MemoryLine] = []
        self._links: list[Links] = []
        self._others: dict[str, MemoryId] = {}  # entities that exist here under another uid
        self._edges: list[EdgeLine] = []
        self._calls: list[ToolCall] = []
        self._trashed: list[TrashLine] = []
        self._notices: dict[Notice, None] = {}
        self._left: list[LeftOut] = []
        self._kept = self._updated = self._joined = self._deleted = 0
        self.done = 0

    def take(self, one: Line) -> bool:
        """Take a line; returns whether memories were stored."""
        match one:
            case MemoryLine():
                self._batch.append(one)
                if len(self._batch) >= BATCH:
                    return self._store()
            case RelationLine() | LinkLine():
                self._edges.append(one)
                if len(self._edges) >= BATCH * BATCH:
                    self._join()
            case ToolCall():
                self._calls.append(one)
            case TrashLine():
                self._trashed.append(one)
                if len(self._trashed) >= BATCH:
                    self._throw()
        return False

    def ended(self, more: tuple[Notice, ...]) -> Imported:
        """Store the rest; `more` are notices that come first."""
        self._store()
        self._join()
        self._throw()
        self._engine.maintenance.link(self._links)
        self._engine.runs.log_all(self._calls)
        notices = [*more, *self._notices]
        if self._deleted:
            those = "memory" if self._deleted == 1 else "memories"
            notices.append(Notice(f"{self._deleted:,} {those} in the trash", "`memory trash` lists what is there."))
        known, left = self.done - self._kept - self._updated, tuple(self._left)
        became = Sum(self.done + len(left), self._kept, self._updated, known, left)
        return Imported(became, tuple(notices), self._joined)

    def _store(self) -> bool:
        batch, self._batch = self._batch, []
        if not batch:
            return False
        for line, saved in zip(batch, self._engine.maintenance.restore(batch), strict=True):
            self.done += 1
            if line.links is not None and (line.links.parent or line.links.superseded_by):
                self._links.append(line.links)
            if line.memory is not None and saved.memory.uid != line.memory.uid:
                self._others[line.memory.uid] = saved.memory.id
            self._kept += not saved.known
            self._updated += grown(self._engine, line.draft, saved)
            if not saved.known:
                self._notices.update(dict.fromkeys(saved.notices))
        return True

    def _join(self) -> None:
        self._store()
        edges, self._edges = self._edges, []
        added = self._engine.graph.add_edges(edges, self._others)
        self._joined += added.new
        self._left += [
            left_out(f"{one[0]} → {one[1]}", "one of the two memories is missing", ruled=True) for one in added.dangling
        ]

    def _throw(self) -> None:
        trashed, self._trashed = self._trashed, []
        self._deleted += self._engine.trash.bring(trashed)
