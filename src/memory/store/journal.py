"""What was deleted, and who did what, so that it can be taken back: the trash and the journal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memory.schema.errors import iso
from memory.schema.memory import UID_PREFIX, Memory, MemoryId, Standing
from memory.store.records import Row, Values, key as number, moment, most
from memory.store.shared import Connection, Part
from memory.store.values import Attached, Edge, Relation

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime


STEPS = 1_000
"""How many steps can be taken back, those of agents included."""


class Trashed(NamedTuple):
    """
    A deleted memory that can be restored.

    Attributes:
        id: The memory's id; None if it comes from an import.
        until: When it can no longer be restored, UTC.
        line: The memory with its history and links, as a line of an export; see `memory.store.export`.
        step: The key of the step that deleted it; empty if unknown, or if it comes from an import.
        user: The person who deleted it; empty if unknown.
        replaced: Whether this is a version from before an undo, for a redo; the memory itself was not deleted.
    """

    uid: str
    id: MemoryId | None
    deleted_at: datetime
    until: datetime
    line: str
    step: str = ""
    user: str = ""
    replaced: bool = False


HASH = 16
"""Characters of a hash that are noted."""


class Facts(NamedTuple):
    """
    What a memory must still be, so that a change of it can be taken back. It holds no text.

    Attributes:
        content_hash: `HASH` characters of it, which tell texts apart well enough.
    """

    content_hash: str
    body_size: int
    updated_at: datetime
    status: Standing
    superseded_by: MemoryId | None
    parent_id: MemoryId | None
    pinned: bool

    @classmethod
    def of(cls, memory: Memory) -> Facts:
        facts = cls._make(getattr(memory, name) for name in cls._fields)
        return facts._replace(content_hash=facts.content_hash[:HASH])


class Change(NamedTuple):
    """
    What a step did to a memory.

    Attributes:
        before, after: None where it was not there.
        revisions: How many were added to its history.
        trashed_at: When it was deleted, of one that went to the trash.
    """

    id: MemoryId
    uid: str
    before: Facts | None
    after: Facts | None
    revisions: int = 0
    trashed_at: datetime | None = None

    @classmethod
    def of(
        cls, before: Memory | None, after: Memory | None, revisions: int = 0, *, trashed_at: datetime | None = None
    ) -> Change:
        """That a memory is another now, is there, or is gone."""
        one = after or before
        assert one is not None  # noqa: S101  # it is there before or after
        return cls(one.id, one.uid, before and Facts.of(before), after and Facts.of(after), revisions, trashed_at)


class EdgeChange(NamedTuple):
    """What a step did to an edge; `before` and `after` differ in when it was made, and are None where it was not there."""

    before: Edge | None
    after: Edge | None


Noted: TypeAlias = Change | EdgeChange


class Undoable(NamedTuple):
    """
    A step that can be undone: a command or a tool call with its changes.

    Attributes:
        key: Identifies the step among all processes.
        verb: The command or tool.
        by: The program that did it; empty for a person's command.
        size: Number of its changes.
        user: The person for whom it was done; empty if unknown.
        undone: Whether it is itself an undo, which can be redone.
    """

    key: str
    verb: str
    by: str
    moment: datetime
    size: int = 0
    user: str = ""
    undone: bool = False


# Rows ------------------------------------------------------------------------

_ROW = "memory, other, type, uid, before, after, revisions, thrown_at"
"""The columns that `_row` gives."""

_CHANGE = "c.id, c.memory, c.other, c.type, c.uid, c.before, c.after, c.revisions, c.thrown_at"

_TRASHED = "uid, number, deleted_at, until, line, step, person, replaced"
"""The columns that `_trashed_row` gives."""

_STEP = "s.key, s.verb, s.author, s.moment, s.person, s.undone"
"""Of `steps` as s; behind them stands how many changes there are."""

_WIDTH = 7
"""Columns of a step, with that number."""

_OF_STEP = "(select id from steps where key = ?)"
_EMPTY = "not exists (select 1 from changes where step = steps.id)"


class TrashRows(Part):
    """
    What was deleted. No other part knows of it.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def put(self, trashed: Sequence[Trashed]) -> None:
        """Keep what was deleted. The same uid may lie there from several moments: an import had brought it back."""
        with self._db.write() as db:
            db.each(
                f"""insert into trash ({_TRASHED}) values (?, ?, ?, ?, ?, ?, ?, ?)
                    on conflict (uid, deleted_at) do update
                    set number = excluded.number, until = excluded.until, line = excluded.line, step = excluded.step,
                        person = excluded.person, replaced = excluded.replaced""",
                [_trashed_row(one) for one in trashed],
            )

    def page(
        self,
        limit: int,
        *,
        named: str | None = None,
        after: Trashed | None = None,
        ended: datetime | None = None,
        step: str | None = None,
        users: Collection[str] | None = None,
        replaced: bool | None = False,
    ) -> Sequence[Trashed]:
        """
        What was deleted, last deleted first, of those at one moment by uid.

        Args:
            named: Only what this may mean: a number in digits, a uid, or at least 8 characters of the beginning of one.
            after: The last of the page before.
            ended: Only what cannot be restored from this moment on.
            step: Only what the step of this key deleted.
            users: Only what one of them deleted; "" stands for those of whom nothing was noted.
            replaced: In place of what was deleted, what was replaced by an undo; None is both.
        """
        with self._db.read() as db:
            clauses: list[str] = []
            values: Values = []
            if named is not None:
                prefix = named.lower().replace("-", "")
                number = int(named) if named.isascii() and named.isdigit() and len(named) < UID_PREFIX * 2 else 0
                begins = prefix if len(prefix) >= UID_PREFIX else "g"  # no uid begins with it
                clauses.append("(number = ? or (uid >= ? and uid < ?))")
                values += [number, begins, begins + "g"]
            if after is not None:
                clauses.append("(deleted_at < ? or (deleted_at = ? and uid > ?))")
                values += [iso(after.deleted_at), iso(after.deleted_at), after.uid]
            if ended is not None:
                clauses.append("until <= ?")
                values.append(iso(ended))
            if step is not None:
                clauses.append("step = ? and step <> ''")
                values.append(step)
            # Of few rows, the order is no reason to read all by the index that has it.
            few = db.SCANNED if clauses and after is None else ""
            if users is not None:
                clauses.append(f"person {db.IN}")
                values.append(db.texts(sorted(users)))
            if replaced is not None:
                clauses.append("replaced = ?")
                values.append(replaced)
            found = db.rows(
                f"""select {_TRASHED} from trash where {" and ".join(clauses) or "true"}
                    order by {few}deleted_at desc, uid limit ?""",
                (*values, limit),
            )
            return [*map(_trashed_in, found)]

    def remove(self, uids: Sequence[str], *, deleted_at: datetime | None = None, purged: bool = False) -> int:
        """
        Remove what has these uids; how many there were.

        Args:
            deleted_at: Only what was deleted at this moment.
            purged: For good: until `Store.wipe`, `Counts.unwiped` says that bytes may be left.
        """
        with self._db.write() as db:
            if purged:
                db.owe()
            condition, values = f"uid {db.IN}", [db.texts(uids)]
            if deleted_at is not None:
                condition += " and deleted_at = ?"
                values.append(iso(deleted_at))
            return db.changed(f"delete from trash where {condition}", values)


class Steps(Part):
    """
    The journal: what was done to memories and edges, without their texts.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def add(self, step: Undoable, noted: Sequence[Noted]) -> None:
        """
        Note what a step did, which is new, or did more. Of several changes of one memory the first `before` and the last
        `after` are kept, and nothing of one that was made and is gone again, or of an edge that was added and removed.

        Steps before the last `STEPS` that were ever noted are forgotten.
        """
        with self._db.write() as db:
            if not noted:
                return
            facts = (step.key, step.verb, step.by, iso(step.moment), step.user, step.undone)
            with db.pipelined():
                # Not `on conflict do nothing`, which uses up an id on a server: steps are forgotten by their ids.
                db.change(
                    """insert into steps (key, verb, author, moment, person, undone) select ?, ?, ?, ?, ?, ?
                        where not exists (select 1 from steps where key = ?)""",
                    (*facts, step.key),
                )
                db.each(
                    f"""insert into changes (step, {_ROW}) values ({_OF_STEP}, ?, ?, ?, ?, ?, ?, ?, ?)
                        on conflict (step, memory, other, type) do update
                        set after = excluded.after, revisions = changes.revisions + excluded.revisions,
                            thrown_at = coalesce(excluded.thrown_at, changes.thrown_at)""",
                    [(step.key, *_row(one)) for one in noted],
                )
                if not all(
                    isinstance(one, Change) and one.after is not None for one in noted
                ):  # else all of it is there
                    _drop_undone(db, step.key)
                db.change(f"delete from steps where id <= {_OF_STEP} - {STEPS}", (step.key,))

    def recent(
        self,
        limit: int,
        *,
        by: str | None = None,
        id: MemoryId | None = None,
        users: Collection[str] | None = None,
        key: str | None = None,
        undone: bool | None = False,
    ) -> Sequence[Undoable]:
        """
        The last steps that did anything which was not taken back, the last first.

        Args:
            by: Only of this program.
            id: Only those that changed this memory.
            users: Only of one of them; "" stands for those of whom nothing was noted.
            key: Only those whose key begins with this.
            undone: In place of steps, undos of steps; None is both.
        """
        with self._db.read() as db:
            clauses: list[str] = []
            values: Values = []
            if by is not None:
                clauses.append("s.author = ?")
                values.append(by)
            if id is not None:
                clauses.append("s.id in (select step from changes where memory = ? and other = 0)")
                values.append(number(id))
            if users is not None:
                clauses.append(f"s.person {db.IN}")
                values.append(db.texts(sorted(users)))
            if key is not None:
                clauses.append("s.key >= ? and s.key < ?")
                values += [key, f"{key}g"]
            if undone is not None:
                clauses.append("s.undone = ?")
                values.append(undone)
            rows = db.rows(
                f"""select {_STEP}, (select count(*) from changes c where c.step = s.id)
                    from steps s where {" and ".join(clauses) or "true"} order by s.id desc limit ?""",
                (*values, limit),
            )
            return [*map(_step_in, rows)]

    def last(self, **of: Any) -> Undoable | None:
        """
        The first of `recent`; None if there is none.

        Args:
            of: See `recent`.
        """
        return next(iter(self.recent(1, **of)), None)

    def changes(
        self, key: str, limit: int, *, after: int | None = None, id: MemoryId | None = None
    ) -> Sequence[tuple[int, Noted]]:
        """
        What a step did, the last first, each with its place.

        Args:
            after: The place of the last of the page before.
            id: Only to this memory, or to an edge that ends at it.
        """
        with self._db.read() as db:
            of: str = ""
            values: Values = []
            if id is not None:
                of, values = "and (c.memory = ? or (c.other > 0 and c.other = ?))", [number(id)] * 2
            rows = db.rows(
                f"""select {_CHANGE} from changes c join steps s on s.id = c.step
                    where s.key = ? and c.id < ? {of} order by c.id desc limit ?""",
                (key, most(after), *values, limit),
            )
            return [(row[0], _noted_in(row)) for row in rows]

    def since(self, key: str, ids: Sequence[MemoryId]) -> Sequence[tuple[Undoable, Noted]]:
        """What later steps than this one did to these memories, or to edges that end at one of them; `size` is 0."""
        with self._db.read() as db:
            some = db.ids(ids)
            rows = db.rows(
                f"""select {_STEP}, 0, {_CHANGE} from changes c join steps s on s.id = c.step
                    where s.id > {_OF_STEP} and (c.memory {db.IN} or (c.other > 0 and c.other {db.IN})) order by c.id""",
                (key, some, some),
            )
            return [(_step_in(row[:_WIDTH]), _noted_in(row[_WIDTH:])) for row in rows]

    def remove(self, key: str, places: Sequence[int]) -> None:
        """Forget what was taken back of a step, and the step with the last of it."""
        with self._db.write() as db:
            db.change(f"delete from changes where id {db.IN} and step = {_OF_STEP}", (db.ids(places), key))
            db.change(f"delete from steps where key = ? and {_EMPTY}", (key,))

    def forget(self, ids: Sequence[MemoryId]) -> None:
        """Forget all that was ever done to memories, their edges included, and steps that did nothing else."""
        with self._db.write() as db:
            some = db.ids(ids)
            gone = f"delete from changes where memory {db.IN} or (other > 0 and other {db.IN}) returning step"
            steps = {step for (step,) in db.rows(gone, (some, some))}
            db.change(f"delete from steps where id {db.IN} and {_EMPTY}", (db.ids(steps),))


def _drop_undone(db: Connection, key: str) -> None:
    """Take out of a step what is as it was before: made and gone again, or an edge that was added and removed."""
    db.change(
        f"""delete from changes where step = {_OF_STEP}
            and ((before is null and after is null) or (other > 0 and before = after))""",
        (key,),
    )
    db.change(f"delete from steps where key = ? and {_EMPTY}", (key,))


# Rows ------------------------------------------------------------------------


def _trashed_row(one: Trashed) -> tuple[Any, ...]:
    return (one.uid, one.id, iso(one.deleted_at), iso(one.until), one.line, one.step, one.user, one.replaced)


def _trashed_in(row: Row) -> Trashed:
    uid, number, at, until, line, step, user, replaced = row
    return Trashed(uid, number, moment(at), moment(until), line, step, user, bool(replaced))


def _step_in(row: Row) -> Undoable:
    key, verb, by, at, user, undone, size = row
    return Undoable(key, verb, by, moment(at), size, user, bool(undone))


def _row(one: Noted) -> tuple[Any, ...]:
    """The columns of a change from `memory` on."""
    if isinstance(one, Change):
        trashed_at = one.trashed_at and iso(one.trashed_at)
        return (one.id, 0, "", one.uid, _packed(one.before), _packed(one.after), one.revisions, trashed_at)
    before, after = one
    edge = after or before
    assert edge is not None  # noqa: S101  # it was there before or after
    ends = (edge[0], edge[1], edge.type if isinstance(edge, Relation) else "", "")
    return (*ends, before and iso(before.created_at), after and iso(after.created_at), 0, None)


def _packed(facts: Facts | None) -> str | None:
    if facts is None:
        return None
    return json.dumps(facts._replace(updated_at=iso(facts.updated_at)), separators=(",", ":"))  # type: ignore[arg-type]


def _noted_in(row: Row) -> Noted:
    _, id, other, type, uid, before, after, revisions, trashed_at = row
    if not other:
        return Change(id, uid, _facts(before), _facts(after), revisions, trashed_at and moment(trashed_at))
    return EdgeChange(*(at and _edge(id, other, type, moment(at)) for at in (before, after)))


def _edge(id: MemoryId, other: MemoryId, type: str, made: datetime) -> Edge:
    return Relation(id, other, type, made) if type else Attached(id, other, made)


def _facts(packed: str | None) -> Facts | None:
    if packed is None:
        return None
    found = Facts._make(json.loads(packed))
    hash = found.content_hash[:HASH]  # former versions noted all of it
    return found._replace(content_hash=hash, updated_at=moment(str(found.updated_at)), status=Standing(found.status))
