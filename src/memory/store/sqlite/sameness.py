"""Which memory an entry is about that is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.kinds import RULES, Kind
from memory.schema.times import iso
from memory.store import SAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from memory.schema.draft import Draft
    from memory.schema.memory import Memory, MemoryId
    from memory.store import Entry


def known(db: apsw.Connection, entry: Entry) -> MemoryId | None:
    """See `Store.known`."""
    found: MemoryId | None = db.execute("select id from memories where uid = ?", (entry.uid,)).get
    if found is not None:
        return found
    rule = RULES[entry.draft.kind]
    if entry.renews:
        return _newer(db, entry, entry.restored) if entry.restored else None
    if rule.one:
        return one(db, entry.draft, rule.one)
    return None if rule.repeats or not entry.unless_known else _alike(db, entry)


def renewed(db: apsw.Connection, entry: Entry) -> MemoryId | None:
    """The memory that an entry says anew: one that says the same, else the last changed that it renews."""
    if not entry.renews:
        return None
    return _alike(db, entry) or one(db, entry.draft, entry.renews)


def _newer(db: apsw.Connection, entry: Entry, restored: Memory) -> MemoryId | None:
    """What an entry of an export would take the place of, if that was changed since."""
    found = one(db, entry.draft, entry.renews)
    changed: str | None = db.execute("select updated_at from memories where id = ?", (found,)).get
    return None if changed is None or changed < iso(restored.updated_at) else found


def one(db: apsw.Connection, draft: Draft, fields: Sequence[str]) -> MemoryId | None:
    """
    The active memory of a draft's kind that has these fields in common with it, the last changed if there are more.
    The name of an entity is taken whatever became of it.
    """
    same = " and ".join(f"{name} is ?" for name in fields)
    entity = draft.kind is Kind.ENTITY
    status = "" if entity else "and status = 'active'"
    # Left to itself, SQLite takes the index of all that is of the kind, latest first.
    index = "one_entity_a_name" if entity else "memories_by_run"
    found: MemoryId | None = db.execute(
        # The kind in plain text: an index of one kind is not taken for a bound value.
        f"""select id from memories indexed by {index} where kind = '{draft.kind}' {status} and {same}
            order by updated_at desc, id desc limit 1""",
        [getattr(draft, name) for name in fields],
    ).get
    return found


def _alike(db: apsw.Connection, entry: Entry) -> MemoryId | None:
    """An active memory that says the same in the same scope."""
    same = " and ".join(f"{name} is ?" for name in SAME)
    scope = [getattr(entry.draft, name) for name in SAME]
    found: MemoryId | None = db.execute(
        # Left to itself, SQLite takes the index that has most of these columns, and reads every note.
        f"""select id from memories indexed by memories_by_hash
            where content_hash = ? and status = 'active' and {same} order by id limit 1""",
        (entry.content_hash, *scope),
    ).get
    return found
