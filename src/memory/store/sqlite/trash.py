"""What was deleted, and the journal of who did what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memory.schema.errors import iso
from memory.schema.memory import UID_PREFIX, MemoryId
from memory.store.journal import ROW, STEP, THROWN, WIDTH, noted_in, row, step_in, step_row, thrown_in, thrown_row
from memory.store.records import key as number, packed
from memory.store.sqlite.database import Part, reading, writing
from memory.store.sqlite.rows import listed, read
from memory.store.trash import STEPS, Noted, Step, Steps, Thrown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    import apsw


_EMPTY = "not exists (select 1 from changes where step = steps.id)"

_CELLS = ", ".join(f"value ->> {place}" for place in range(8))

_CHANGE = "c.id, c.memory, c.other, c.type, c.uid, c.before, c.after, c.revisions, c.thrown_at"


class SqliteTrash(Part):
    """See `memory.store.trash.Trash`."""

    @writing()
    def put(self, db: apsw.Connection, thrown: Sequence[Thrown]) -> None:
        db.executemany(
            f"insert or replace into trash ({THROWN}) values (?, ?, ?, ?, ?, ?, ?, ?)",
            [thrown_row(one) for one in thrown],
        )

    @reading
    def page(
        self,
        db: apsw.Connection,
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
        values: list[Any] = []
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
        # With a plus, the order is no reason to read all by the index that has it.
        few = "+" if clauses and after is None else ""
        if users is not None:
            clauses.append("person in (select value from json_each(?))")
            values.append(packed(sorted(users)))
        if replaced is not None:
            clauses.append("replaced = ?")
            values.append(replaced)
        found = read(
            db,
            f"""select {THROWN} from trash where {" and ".join(clauses) or "1"}
                order by {few}deleted_at desc, uid limit ?""",
            [*values, limit],
        )
        return [*map(thrown_in, found)]

    @writing()
    def remove(
        self, db: apsw.Connection, uids: Sequence[str], *, deleted_at: datetime | None = None, purged: bool = False
    ) -> int:
        if purged:
            db.execute("insert into unwiped (id) values (1) on conflict do nothing")
        gone = (
            "delete from trash where uid in (select value from json_each(?)) and ifnull(deleted_at = ?, 1) returning 1"
        )
        return len(db.execute(gone, (packed(uids), deleted_at and iso(deleted_at))).fetchall())


class SqliteSteps(Part, Steps):
    """See `memory.store.trash.Steps`."""

    @writing()
    def add(self, db: apsw.Connection, step: Step, noted: Sequence[Noted]) -> None:
        if not noted:
            return
        values = step_row(step)
        begin = f"insert into steps ({', '.join(values)}) values (?, ?, ?, ?, ?, ?) on conflict do nothing returning id"
        begun = db.execute(begin, tuple(values.values())).get
        id: int = begun or db.execute("select id from steps where key = ?", (step.key,)).get
        rows = [row(one) for one in noted]
        # One text for several, as an import has thousands. Before an upsert, `where` ends what `join` might begin.
        given, bound = ("values (?, ?, ?, ?, ?, ?, ?, ?, ?)", (id, *rows[0]))
        if len(rows) > 1:
            given, bound = (f"select ?, {_CELLS} from json_each(?) where 1", (id, json.dumps(rows)))
        db.execute(
            f"""insert into changes (step, {ROW}) {given}
                on conflict do update set after = excluded.after, revisions = revisions + excluded.revisions,
                    thrown_at = ifnull(excluded.thrown_at, thrown_at)""",
            bound,
        )
        if begun is None or len(rows) > 1:
            _settle(db, id)
        if begun is not None:
            db.execute("delete from steps where id <= ?", (id - STEPS,))

    @reading
    def recent(
        self,
        db: apsw.Connection,
        limit: int,
        *,
        by: str | None = None,
        id: MemoryId | None = None,
        users: Collection[str] | None = None,
        key: str | None = None,
        undone: bool | None = False,
    ) -> Sequence[Step]:
        clauses, values = ["1"], list[Any]()
        if by is not None:
            clauses.append("s.author = ?")
            values.append(by)
        if id is not None:
            clauses.append("s.id in (select step from changes where memory = ? and other = 0)")
            values.append(number(id))
        if users is not None:
            clauses.append("s.person in (select value from json_each(?))")
            values.append(packed(sorted(users)))
        if key is not None:
            clauses.append("s.key >= ? and s.key < ?")
            values += [key, f"{key}g"]
        if undone is not None:
            clauses.append("s.undone = ?")
            values.append(undone)
        size = "(select count(*) from changes c where c.step = s.id)"
        wanted = f"from steps s where {' and '.join(clauses)} order by s.id desc limit ?"
        return [*map(step_in, read(db, f"select {STEP}, {size} {wanted}", [*values, limit]))]

    @reading
    def changes(
        self, db: apsw.Connection, key: str, limit: int, *, after: int | None = None, id: MemoryId | None = None
    ) -> Sequence[tuple[int, Noted]]:
        of = "" if id is None else "and (c.memory = ?3 or (c.other > 0 and c.other = ?3))"
        found = read(
            db,
            f"""select {_CHANGE} from changes c join steps s on s.id = c.step
                where s.key = ?1 and c.id < ?2 {of} order by c.id desc limit ?{3 if id is None else 4}""",
            (key, 1 << 62 if after is None else after, *(() if id is None else (number(id),)), limit),
        )
        return [(row[0], noted_in(row)) for row in found]

    @reading
    def since(self, db: apsw.Connection, key: str, ids: Sequence[MemoryId]) -> Sequence[tuple[Step, Noted]]:
        some = "select value from json_each(?2)"
        found = read(
            db,
            f"""select {STEP}, 0, {_CHANGE} from changes c join steps s on s.id = c.step
                where s.id > (select id from steps where key = ?1)
                    and (c.memory in ({some}) or (c.other > 0 and c.other in ({some}))) order by c.id""",
            (key, listed(ids)),
        )
        return [(step_in(row[:WIDTH]), noted_in(row[WIDTH:])) for row in found]

    @writing()
    def remove(self, db: apsw.Connection, key: str, places: Sequence[int]) -> None:
        of_step = "step = (select id from steps where key = ?)"
        db.execute(
            f"delete from changes where id in (select value from json_each(?)) and {of_step}", (listed(places), key)
        )
        db.execute(f"delete from steps where key = ? and {_EMPTY}", (key,))

    @writing()
    def forget(self, db: apsw.Connection, ids: Sequence[MemoryId]) -> None:
        some = "select value from json_each(?1)"
        gone = f"delete from changes where memory in ({some}) or (other > 0 and other in ({some})) returning step"
        steps = {step for (step,) in db.execute(gone, (listed(ids),))}
        db.execute(f"delete from steps where id in (select value from json_each(?)) and {_EMPTY}", (listed(steps),))


def _settle(db: apsw.Connection, number: int) -> None:
    """Take out of a step what is as it was before: made and gone again, or an edge that was added and removed."""
    db.execute("delete from changes where step = ? and before is null and after is null", (number,))
    db.execute("delete from changes where step = ? and other > 0 and before = after", (number,))
    db.execute(f"delete from steps where id = ? and {_EMPTY}", (number,))
