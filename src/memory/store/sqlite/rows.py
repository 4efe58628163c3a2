"""A connection: how it is opened, that it gives rows, rows as values, and errors of apsw as ours."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import apsw

from memory.schema.draft import tag_key
from memory.schema.errors import (
    NO_ROOM,
    Error,
    Invalid,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from memory.schema.memory import OVERLAP, ChunkId, Excerpt, Memory, MemoryId
from memory.store import records
from memory.store.narrow import BYTES, narrowed, numbers_in, opened, plain, widened
from memory.store.records import MEMORY, SEEN, UID_OF, Ids, Row, Values, key, packed
from memory.store.sqlite import generations

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Sequence

    from memory.schema.query import Scope
    from memory.schema.space import Vectors

EXCERPT = f"""
    c.id, c.memory_id, c.chunk_index, c.start, c.stop, c.chunk_type, c.header_path, c.level, c.token_count,
    case c.chunk_type when 'head' then m.what else substr(ifnull(b.body, ''), c.start + 1, c.stop - c.start) end,
    substr(ifnull(b.body, ''), max(0, c.start - {OVERLAP}) + 1, min(c.start, {OVERLAP})),
    m.title, m.what, m.why, m.impact, m.tags
"""

OWNER = """
    cross join memories m on m.id = c.memory_id
    left join bodies b on b.memory_id = c.memory_id
"""
"""A body that is missing, in a damaged file, counts as empty: what else is known of the memory is found and embedded."""


def listed(ids: Iterable[int]) -> str:
    """Ids as the JSON array that `json_each` reads, 0 for one beyond SQLite's integers: one bound value however many."""
    return json.dumps([id if 0 < id < 1 << 63 else 0 for id in ids])  # FTS5 takes `rowid in (1e21)` for no condition


class SqliteConnection(apsw.Connection):
    """See `memory.store.shared.Connection`."""

    IN = "in (select value from json_each(?))"
    JOIN = "cross join"
    SCANNED = "+"
    UNCLAIMED = ""
    KEYWORD_ONLY = "keyword_only = 1"
    BYTES = BYTES
    CHANGED = ", changes = changes + 1"

    pipelined = nullcontext  # nothing is waited for
    change, each = apsw.Connection.execute, apsw.Connection.executemany
    make_vectors, drop_vectors = generations.table, generations.drop_table
    ids, unpacked, plain = staticmethod(listed), staticmethod(widened), staticmethod(plain)

    def indexed(self, index: str) -> str:
        return f"indexed by {index}"

    def rows(self, sql: str, values: Sequence[Any] = (), *, ids: Ids = None, strict: bool = False) -> list[Row]:
        return self.execute(sql, values).fetchall() if strict else read(self, sql, values, ids=ids)

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        return self.execute(sql, values).get

    def changed(self, sql: str, values: Sequence[Any] = ()) -> int:
        self.execute(sql, values)
        return self.changes()

    def texts(self, texts: Iterable[str]) -> str:
        return packed([text for text in texts if text == text.encode(errors="ignore").decode()])

    def where(self, scope: Scope) -> tuple[str, Values]:
        from memory.store.sqlite.scopes import where

        return where(scope)

    def excerpts(self, ids: Sequence[ChunkId]) -> list[Excerpt]:
        return excerpts(self, f"json_each(?) cross join chunks c on c.id = json_each.value {OWNER}", ids=ids)

    def memories(
        self, condition: str, values: Sequence[Any] = (), *, ids: Ids = None, strict: bool = False
    ) -> list[Memory]:
        wanted = f"from memories m where {condition}"
        try:
            found = read(self, f"select {SEEN} {wanted}", values, ids=ids)
        except apsw.CorruptError:  # perhaps only of the index by uid, which a memory is read without
            linked = ", ".join(UID_OF.format("m", column) for column in ("parent_id", "superseded_by"))
            found = read(self, f"select {MEMORY}, {linked} {wanted}", values, ids=ids)
        return records.memories(found, strict=strict)

    def named(self, id: MemoryId) -> str:
        """By its row number, and by its uid as far as that can be read."""
        try:
            uids = read(self, "select uid from memories where id = ?", (key(id),))
        except apsw.CorruptError:
            uids = []
        return " ".join([f"memory {id}", *(f"({uid})" for (uid,) in uids)])

    def owe(self) -> None:
        self.execute("insert into unwiped (id) values (1) on conflict do nothing")

    def packed(self, vectors: Vectors) -> bytes:
        return b"".join(narrowed(vectors))

    def vectors(self, generation: int, wanted: str, values: Sequence[Any]) -> tuple[list[Row], Vectors]:
        rows: list[Row] = self.execute(
            f"""with v (number, chunk_id, place, embedding) as (select row, chunk_id, window, embedding from vectors_{generation})
                select * from v where {wanted}""",
            values,
        ).fetchall()
        return [row[:3] for row in rows], opened([embedding for *_, embedding in rows])

    def first_window(self, generation: int, chunk: ChunkId) -> bytes | None:
        own = self.value(f"select embedding from vectors_{generation} where chunk_id = ? and window = 0", (chunk,))
        return None if own is None else plain(own, numbers_in(len(own)))

    def unmap(self) -> None:
        """
        Read the file from now on instead of mapping it.

        For whoever goes through all of a store, since in the end the whole file would count as this process's memory. And
        where others write: with each of their transactions SQLite unmaps the file, and to map pages anew takes longer than to
        read them (docs/decisions/derived-files.md). Does nothing while something of the file is being read.
        """
        self.pragma("mmap_size", 0)

    def empty_vectors(self, generation: int) -> None:
        from memory.store.sqlite.derived import note_all

        self.execute(f"delete from vector_blocks_{generation}; delete from vector_rows_{generation}")
        note_all(self, generation)

    def removal(self) -> int:
        from memory.store.sqlite.derived import latest

        return latest(self)

    def vanished(self, words: Collection[str]) -> list[str]:
        from memory.store.sqlite.term_vectors import vanished

        return vanished(self, words)

    def outlived(self) -> list[int]:
        from memory.store.sqlite.term_vectors import outlived

        return outlived(self)


def chunks(db: apsw.Connection) -> int:
    """How many there are; counted if the counter is damaged."""
    found: int | None = db.execute("select value from counters where name = 'chunks'").get
    return int(db.execute("select count(*) from chunks").get) if found is None else found


def read(db: apsw.Connection, sql: str, values: Sequence[Any] = (), *, ids: Ids = None) -> list[Row]:
    """
    What a statement that only reads gives; bytes that are no text are U+FFFD (a damaged file).

    Args:
        ids: In place of values: its one value, for `json_each`.
    """
    if ids is not None:
        values = (listed(ids),)
    try:
        return db.execute(sql, values).fetchall()
    except UnicodeDecodeError:
        names = [f"c{number}" for number in range(len(db.execute(sql, values).get_description()))]
    cells = ", ".join(
        f"typeof({name}) = 'text', iif(typeof({name}) = 'text', cast({name} as blob), {name})" for name in names
    )
    rows: Iterable[Row] = db.execute(f"with r ({', '.join(names)}) as ({sql}) select {cells} from r", values)
    return [
        tuple(cell.decode(errors="replace") if text else cell for text, cell in zip(row[::2], row[1::2], strict=True))
        for row in rows
    ]


def excerpts(db: apsw.Connection, chunks: str, values: Sequence[Any] = (), *, ids: Ids = None) -> list[Excerpt]:
    """Chunks with their texts. `chunks` says which: from chunks as c, with their `OWNER`. See `read` for ids."""
    return records.excerpts(read(db, f"select {EXCERPT} from {chunks}", values, ids=ids))


# As it is opened ----------------------------------------------------------------

MAP_BYTES = 1 << 30

STATEMENTS = 500
"""
Prepared statements kept. apsw takes one out for each row of an `executemany` and puts it back in place of the oldest: with
its 100, a save that writes sixty rows forgot a third of the others, and to prepare them again took half a millisecond.
"""


def prepared(connection: apsw.Connection, busy_seconds: float, *, careful: bool, damaged: bool) -> apsw.Connection:
    """
    Args:
        careful: Not to write the log into the file on closing, as whoever closes a file last does: we may yet find
            that it is not ours.
        damaged: Take a file for what it is, not for what it says it is; nothing is written to it.
    """
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(careful or damaged))
        if damaged:  # SQLite then opens a file that is too short; nothing is written for all that
            connection.pragma("writable_schema", 1)
            connection.pragma("query_only", 1)
        _set_up(connection, busy_seconds)
    except BaseException:
        connection.close()  # or its log would stay beside a file that we were to leave as it is
        raise
    return connection


def _set_up(connection: apsw.Connection, busy_seconds: float) -> None:
    connection.set_busy_timeout(round(busy_seconds * 1000))
    for setting, value in (("foreign_keys", 1), ("temp_store", 2), ("mmap_size", MAP_BYTES), ("cache_size", -16000)):
        connection.pragma(setting, value)  # one by one: apsw stops a script at the first pragma that answers
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)  # "x" is a column, never a text
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    connection.register_fts5_function("matched", matched)
    connection.create_scalar_function("tag_key", _tag_key, 1, deterministic=True)


def _tag_key(*tags: apsw.SQLiteValue) -> apsw.SQLiteValue:
    return tag_key(tags[0]) if isinstance(tags[0], str) else tags[0]


def matched(api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> bytes:
    """Bit i is set when the row holds the i-th phrase; little-endian bytes, as an integer of SQLite ends at bit 62."""
    bits = 0
    for phrase in range(api.phrase_count):
        if api.phrase_columns(phrase):
            bits |= 1 << phrase
    return bits.to_bytes(api.phrase_count // 8 + 1, "little")


# Errors of apsw as ours --------------------------------------------------------

SALVAGE = (
    "`memory export -o FILE` writes what can still be read. Restore it from a copy, without the -wal and -shm files beside "
    "it, or import that."
)

COPY = (
    "The list of its tables is gone, without which nothing can be read: restore it from a copy, without the -wal and -shm "
    "files beside it."
)

FORBIDDEN = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError)
"""What SQLite says of a file that may not be written."""


RAISED = (apsw.Error, UnicodeDecodeError, UnicodeEncodeError)
"""What is raised while a database is read or written, and `ours` has a word for."""


@contextmanager
def translated(path: str) -> Generator[None]:
    """Errors of apsw as ours, the original as the cause."""
    try:
        yield
    except RAISED as error:
        raise ours(error, path) from error


def ours(error: Exception, path: str) -> Error:
    """One of `RAISED` as one of ours."""
    found: Error
    match error:
        case apsw.BusyError() | apsw.LockedError():
            found = StoreBusy(f"another process is writing to {path}", hint="Try again.")
        case apsw.NotADBError() | apsw.CorruptError():
            hint = f"It was left as it is. {COPY if _listless(path) else SALVAGE}"
            found = StoreDamaged(f"{path} is not a readable database ({error})", hint=hint)
        case apsw.FullError():
            found = no_room(path)
        case apsw.ReadOnlyError():
            found = StoreReadOnly(f"{path} may only be read", hint=rights(path))
        case apsw.CantOpenError() | apsw.PermissionsError():
            found = StoreError(f"cannot write {path}: {error}", hint=rights(path))
        case apsw.IOError():
            found = StoreError(f"reading or writing {path} failed: {error}")
        case UnicodeDecodeError():
            found = StoreDamaged(f"{path} is damaged: {error.object[:40]!r} is not text", hint=SALVAGE)
        case UnicodeEncodeError():  # a name that nothing can have
            found = Invalid(f"{error.object[error.start : error.end]!r} is not valid Unicode")
        case _ if str(error) == "no such table: memories":
            found = StoreDamaged(f"{path} is damaged: {error}", hint=COPY)
        case _:
            found = StoreError(f"{path}: {error}")
    return found


def no_room(path: str) -> StoreFull:
    """The error of one write that found no room; who has made several before says what became of those."""
    return StoreFull(f"no room left to write {path}", hint=NO_ROOM)


def _listless(path: str) -> bool:
    """Whether nothing can be read of a damaged file, since its list of tables is gone."""
    from urllib.parse import quote

    try:
        # Immutable: another reader would leave an empty log beside it.
        place = f"file:{quote(os.path.abspath(path))}?immutable=1"
        db = apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            db.pragma("writable_schema", 1)  # SQLite then opens a file that is too short
            return not db.execute("select count(*) from sqlite_schema where name = 'memories'").get
        finally:
            db.close()
    except apsw.CorruptError:
        return True
    except apsw.Error:
        return False


def rights(path: str) -> str:
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return f"There is no folder {folder}."
    if not os.access(folder, os.W_OK):
        return f"The folder {folder} is read-only for you; SQLite needs to write beside the database too."
    return "Check the rights of the file."
