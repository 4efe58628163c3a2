"""What was deleted, and the journal of who did what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.schema.memory import UID_PREFIX, MemoryId
from memory.store.journal import ROW, STEP, THROWN, WIDTH, noted_in, row, step_in, step_row, thrown_in, thrown_row
from memory.store.postgres.database import Part, asking, many, pipelined, reading, writing
from memory.store.postgres.rows import insert, keys
from memory.store.postgres.wipe import owe
from memory.store.records import key as number
from memory.store.trash import STEPS, Change, Noted, Step, Steps, Thrown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from memory.store.postgres.opening import Db
    from memory.store.records import Row, Values

_EMPTY = "not exists (select 1 from changes where step = steps.id)"

_STEP = "(select id from steps where key = %s)"

_ADDED = f"""
    insert into changes as c (step, {ROW})
    select {_STEP}, {ROW}
    from unnest(%b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::text[], %b::text[], %b::bigint[], %b::text[])
        r ({ROW})
    on conflict (step, memory, other, type) do update
    set after = excluded.after, revisions = c.revisions + excluded.revisions,
        thrown_at = coalesce(excluded.thrown_at, c.thrown_at)
"""
"""Takes columns of many changes, of which no two are of the same thing: no statement changes what it has added."""

_WHAT = 3
"""Columns that tell of which thing a change is: memory, other, type."""

_MOST = 5_000
"""Changes that are sent at once."""

_CHANGE = "c.id, c.memory, c.other, c.type, c.uid, c.before, c.after, c.revisions, c.thrown_at"


class PostgresTrash(Part):
    """See `memory.store.trash.Trash`."""

    @writing()
    def put(self, db: Db, thrown: Sequence[Thrown]) -> None:
        db.cursor().executemany(
            f"""insert into trash ({THROWN}) values (%s, %s, %s, %s, %s, %s, %s, %s)
                on conflict (uid, deleted_at) do update
                set number = excluded.number, until = excluded.until, line = excluded.line, step = excluded.step,
                    person = excluded.person, replaced = excluded.replaced""",
            [thrown_row(one) for one in thrown],
        )

    @asking
    def page(
        self,
        db: Db,
        limit: int,
        *,
        named: str | None = None,
        after: Thrown | None = None,
        ended: datetime | None = None,
        step: str | None = None,
        users: Collection[str] | None = None,
        replaced: bool | None = False,
    ) -> Sequence[Thrown]:
        clauses: list[str] = []
        values: Values = []
        if named is not None:
            prefix = named.lower().replace("-", "")
            number = int(named) if named.isascii() and named.isdigit() and len(named) < UID_PREFIX * 2 else 0
            begins = prefix if len(prefix) >= UID_PREFIX else "g"  # no uid begins with it
            clauses.append("(number = %s or (uid >= %s and uid < %s))")
            values += [number, begins, begins + "g"]
        if after is not None:
            clauses.append("(deleted_at < %s or (deleted_at = %s and uid > %s))")
            values += [iso(after.deleted_at), iso(after.deleted_at), after.uid]
        if ended is not None:
            clauses.append("until <= %s")
            values.append(iso(ended))
        if step is not None:
            clauses.append("step = %s and step <> ''")
            values.append(step)
        if users is not None:
            clauses.append("person = any(%s)")
            values.append(sorted(users))
        if replaced is not None:
            clauses.append("replaced = %s")
            values.append(replaced)
        found = many(
            db,
            f"""select {THROWN} from trash where {" and ".join(clauses) or "true"}
                order by deleted_at desc, uid limit %s""",
            [*values, limit],
        )
        return [*map(thrown_in, found)]

    @writing()
    def remove(self, db: Db, uids: Sequence[str], *, deleted_at: datetime | None = None, purged: bool = False) -> int:
        if purged:
            owe(db)
        condition = "uid = any(%s)"
        values: Values = [list(uids)]
        if deleted_at is not None:
            condition += " and deleted_at = %s"
            values.append(iso(deleted_at))
        return db.execute(f"delete from trash where {condition}", values).rowcount


class PostgresSteps(Part, Steps):
    """See `memory.store.trash.Steps`."""

    @writing()
    def add(self, db: Db, step: Step, noted: Sequence[Noted]) -> None:
        if not noted:
            return
        with pipelined(db):  # waits for nothing
            insert(db, "steps", [step_row(step)], "on conflict (key) do nothing")
            for alike in _apart(map(row, noted)):
                db.execute(_ADDED, [step.key, *(list(column) for column in zip(*alike, strict=True))])
            if not all(map(_stays, noted)):
                _settle(db, step.key)
            db.execute(
                "delete from steps where id <= (select id from steps order by id desc limit 1 offset %s)", (STEPS,)
            )

    @reading
    def recent(
        self,
        db: Db,
        limit: int,
        *,
        by: str | None = None,
        id: MemoryId | None = None,
        users: Collection[str] | None = None,
        key: str | None = None,
        undone: bool | None = False,
    ) -> Sequence[Step]:
        clauses: list[str] = []
        values: Values = []
        if by is not None:
            clauses.append("s.author = %s")
            values.append(by)
        if id is not None:
            clauses.append("s.id in (select step from changes where memory = %s and other = 0)")
            values.append(number(id))
        if users is not None:
            clauses.append("s.person = any(%s)")
            values.append(sorted(users))
        if key is not None:
            clauses.append("s.key >= %s and s.key < %s")
            values += [key, f"{key}g"]
        if undone is not None:
            clauses.append("s.undone = %s")
            values.append(undone)
        rows = many(
            db,
            f"""select {STEP}, (select count(*) from changes c where c.step = s.id)
                from steps s where {" and ".join(clauses) or "true"} order by s.id desc limit %s""",
            [*values, limit],
        )
        return [*map(step_in, rows)]

    @reading
    def changes(
        self, db: Db, key: str, limit: int, *, after: int | None = None, id: MemoryId | None = None
    ) -> Sequence[tuple[int, Noted]]:
        of, values = (
            ("", ()) if id is None else ("and (c.memory = %s or (c.other > 0 and c.other = %s))", (number(id),) * 2)
        )
        found = many(
            db,
            f"""select {_CHANGE} from changes c join steps s on s.id = c.step
                where s.key = %s and c.id < %s {of} order by c.id desc limit %s""",
            (key, 1 << 62 if after is None else after, *values, limit),
        )
        return [(change[0], noted_in(change)) for change in found]

    @reading
    def since(self, db: Db, key: str, ids: Sequence[MemoryId]) -> Sequence[tuple[Step, Noted]]:
        some = keys(ids)
        found = many(
            db,
            f"""select {STEP}, 0, {_CHANGE} from changes c join steps s on s.id = c.step
                where s.id > {_STEP} and (c.memory = any(%s) or (c.other > 0 and c.other = any(%s))) order by c.id""",
            (key, some, some),
        )
        return [(step_in(row[:WIDTH]), noted_in(row[WIDTH:])) for row in found]

    @writing()
    def remove(self, db: Db, key: str, places: Sequence[int]) -> None:
        db.execute(f"delete from changes where id = any(%s) and step = {_STEP}", (keys(places), key))
        db.execute(f"delete from steps where key = %s and {_EMPTY}", (key,))

    @writing()
    def forget(self, db: Db, ids: Sequence[MemoryId]) -> None:
        some = keys(ids)
        gone = many(
            db,
            "delete from changes where memory = any(%s) or (other > 0 and other = any(%s)) returning step",
            (some, some),
        )
        steps = list({step for (step,) in gone})
        db.execute(f"delete from steps where id = any(%s) and {_EMPTY}", (steps,))


def _stays(change: Noted) -> bool:
    """Whether something is left of a change, whatever its step did before: a memory that is there afterwards."""
    return isinstance(change, Change) and change.after is not None


def _apart(changes: Iterable[Row]) -> Iterator[list[Row]]:
    """Changes in order, in lists that have not two of the same step and thing, and are not long."""
    some: list[Row] = []
    seen: set[Row] = set()
    for change in changes:
        if (what := change[:_WHAT]) in seen or len(some) == _MOST:
            yield some
            some, seen = [], set()
        some.append(change)
        seen.add(what)
    if some:
        yield some


def _settle(db: Db, key: str) -> None:
    """Forget what is as it was before a step: made and gone again, or an edge that was added and removed."""
    db.execute(
        f"""delete from changes where step = {_STEP}
            and ((before is null and after is null) or (other > 0 and before = after))""",
        (key,),
    )
    db.execute(f"delete from steps where key = %s and {_EMPTY}", (key,))
