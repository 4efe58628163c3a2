"""What was deleted, and the journal of who did what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memory.schema.errors import iso
from memory.schema.memory import UID_PREFIX, MemoryId
from memory.store.journal import ROW, noted_in, row
from memory.store.records import key, moment, packed
from memory.store.sqlite.database import Part, reading, writing
from memory.store.sqlite.rows import listed, read
from memory.store.trash import STEPS, Noted, Step, Thrown

if TYPE_CHECKING:
    from collections.abc import Sequence
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
            "insert or replace into trash (uid, number, deleted_at, until, line) values (?, ?, ?, ?, ?)",
            [(one.uid, one.id, iso(one.deleted_at), iso(one.until), one.line) for one in thrown],
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
        # With a plus, the order is no reason to read all by the index that has it.
        few = "+" if clauses and after is None else ""
        found = read(
            db,
            f"""select uid, number, deleted_at, until, line from trash where {" and ".join(clauses) or "1"}
                order by {few}deleted_at desc, uid limit ?""",
            [*values, limit],
        )
        return [Thrown(uid, number, moment(at), moment(until), line) for uid, number, at, until, line in found]

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


class SqliteSteps(Part):
    """See `memory.store.trash.Steps`."""

    @writing()
    def add(self, db: apsw.Connection, step: Step, noted: Sequence[Noted]) -> None:
        if not noted:
            return
        begin = "insert into steps (key, verb, author, moment) values (?, ?, ?, ?) on conflict do nothing returning id"
        begun = db.execute(begin, (step.key, step.verb, step.by, iso(step.moment))).get
        number: int = begun or db.execute("select id from steps where key = ?", (step.key,)).get
        rows = [row(one) for one in noted]
        # One text for several, as an import has thousands. Before an upsert, `where` ends what `join` might begin.
        given, bound = ("values (?, ?, ?, ?, ?, ?, ?, ?, ?)", (number, *rows[0]))
        if len(rows) > 1:
            given, bound = (f"select ?, {_CELLS} from json_each(?) where 1", (number, json.dumps(rows)))
        db.execute(
            f"""insert into changes (step, {ROW}) {given}
                on conflict do update set after = excluded.after, revisions = revisions + excluded.revisions,
                    thrown_at = ifnull(excluded.thrown_at, thrown_at)""",
            bound,
        )
        if begun is None or len(rows) > 1:
            _settle(db, number)
        if begun is not None:
            db.execute("delete from steps where id <= ?", (number - STEPS,))

    @writing()
    def add_all(self, _db: apsw.Connection, steps: Sequence[tuple[Step, Sequence[Noted]]]) -> None:
        for step, noted in steps:
            self.add(step, noted)

    @reading
    def last(self, db: apsw.Connection, *, by: str | None = None, id: MemoryId | None = None) -> Step | None:
        clauses, values = ["1"], list[Any]()
        if by is not None:
            clauses.append("s.author = ?")
            values.append(by)
        if id is not None:
            clauses.append("s.id in (select step from changes where memory = ? and other = 0)")
            values.append(key(id))
        wanted = f"from steps s where {' and '.join(clauses)} order by s.id desc limit 1"
        size = "(select count(*) from changes c where c.step = s.id)"
        for name, verb, author, at, count in read(db, f"select key, verb, author, moment, {size} {wanted}", values):
            return Step(name, verb, author, moment(at), count)
        return None

    @reading
    def changes(
        self, db: apsw.Connection, key: str, limit: int, *, after: int | None = None
    ) -> Sequence[tuple[int, Noted]]:
        found = read(
            db,
            f"""select {_CHANGE} from changes c join steps s on s.id = c.step
                where s.key = ? and c.id < ? order by c.id desc limit ?""",
            (key, 1 << 62 if after is None else after, limit),
        )
        return [(row[0], noted_in(row)) for row in found]

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
