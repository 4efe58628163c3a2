"""A connection that gives rows, how it is opened, rows as values, and scopes as SQL."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw

from memory.schema.draft import tag_key
from memory.schema.kinds import PREFERENCE
from memory.schema.memory import OVERLAP, ChunkId, Excerpt, Memory, MemoryId
from memory.schema.query import ACTIVE, EVERYTHING, FILTERS, NONE, Scope
from memory.store import records
from memory.store.narrow import BYTES, narrowed, numbers_in, opened, plain, widened
from memory.store.records import MEMORY, SEEN, UID_OF, Ids, Row, Values, key, packed, time_bounds
from memory.text.fold import fold
from memory.text.lookup import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.answer import Ranking
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

    def make_vectors(self, generation: int, dimension: int) -> None:
        from memory.store.sqlite.vectors import table

        table(self, generation, dimension)

    def drop_vectors(self, generation: int) -> None:
        from memory.store.sqlite.vectors import drop_table

        drop_table(self, generation)

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


# Scopes as SQL -------------------------------------------------------------------

Members: TypeAlias = "Callable[[apsw.Connection, Scope], NDArray[np.int64] | None]"
"""See `memory.store.sqlite.postings.Postings.members`."""

_SMALLER = {"agent_id": ("sessions", "runs", "projects"), "kind": ("sessions", "runs", "projects", "agents")}
"""Filters that leave fewer memories than that of a column; SQLite, which has no counts of them, would take any."""


_RARE = ("source", "category")
"""Of most values there are many: an index of these is taken only where it leaves few memories."""

_INDEXED = ("query_id", "task_code", "session_id", "agent_id", "project", "kind", *_RARE)

FEW, FEW_SHARE = 20_000, 20
"""Of more memories, or of a twentieth of all, what stands in an index is no help against the one by time, which has all."""


def rarest(db: apsw.Connection, scope: Scope) -> str | None:
    """The column whose values in scope the fewest memories have; None if no column has few."""
    counts: dict[str, int] = {}
    few = min(FEW, chunks(db) // FEW_SHARE)
    for column in _INDEXED:
        allowed = getattr(scope, FILTERS[column])
        if allowed and not (column == "project" and NONE in allowed):
            counted = f"select 1 from memories where {column} in (select value from json_each(?)) limit {few + 1}"
            counts[column] = db.execute(f"select count(*) from ({counted})", (json.dumps(sorted(allowed)),)).get
    found = min(counts, key=lambda column: counts[column], default=None)
    return found if found is not None and counts[found] <= few else None


def where(scope: Scope, by: str | None = None) -> tuple[str, Values]:
    """
    The one place a scope becomes SQL: a condition over memories as m, and its values.

    Args:
        by: The column to look up in an index, or to walk by, and no other; see `rarest`. None leaves it to SQLite.
    """
    clauses: dict[str, Values] = {}
    for column, name in FILTERS.items():
        if allowed := getattr(scope, name):
            # With a plus, the column is not looked up in an index (https://sqlite.org/optoverview.html#disqualifying_where_clause_terms_using_unary_)
            common = by or column in _RARE or any(getattr(scope, other) for other in _SMALLER.get(column, ()))
            plus = "+" if common and column != by else ""
            clause = f"{plus}m.{column} in (select value from json_each(?))"
            clause = f"({clause} or m.{column} is null)" if NONE in allowed else clause
            clauses[clause] = [json.dumps(sorted(allowed))]
    if scope.categories == PREFERENCES:
        clauses["m.category = 'preference'"] = []  # in plain text: their index is not taken for a bound value
    if scope.among is not None:
        clauses["m.id in (select value from json_each(?))"] = [listed(sorted(scope.among))]
    if scope.pinned:
        clauses["m.pinned = 1"] = []
    if scope.tags:
        wanted = sorted(map(tag_key, scope.tags))
        key = "lower" if all(map(str.isascii, wanted)) else "tag_key"  # SQLite's own knows no other letters
        own = f"iif(had.type = 'text', {key}(had.value), had.value)"
        had = f"select {own} from json_each(iif(json_valid(m.tags), m.tags, '[]')) had"
        lacking = f"select 1 from json_each(?) wanted where wanted.value not in ({had})"
        clauses[f"not exists ({lacking})"] = [json.dumps(wanted)]
    if without := unwanted(scope):
        clauses[f"m.id not in (select memory_id from chunks where id in ({HOLDING}))"] = [" OR ".join(without)]
    if any((scope.since, scope.until, scope.happened_since, scope.happened_until)):
        clauses |= {f"{compared} ?": [moment] for compared, moment in time_bounds(scope)}
    return " and ".join(clauses) or "1", [value for values in clauses.values() for value in values]


def unwanted(scope: Scope) -> list[str]:
    """The words and phrases that no memory in scope holds, as FTS5 is asked for each."""
    return [f'"{" ".join(words)}"' for words in (spelled(fold(one)) for one in sorted(scope.without)) if words]


HOLDING = "select rowid from passages_fts where passages_fts match ?"


def within(db: apsw.Connection, scope: Scope, most: int | None = None) -> list[int] | None:
    """The ids of the memories in scope; None if there are more than `most`."""
    condition, values = where(scope, rarest(db, scope))
    sql = f"select m.id from memories m where {condition} limit ?"
    found = ids(db, sql, *values, -1 if most is None else most + 1)
    return None if most is not None and len(found) > most else found


def ids(db: apsw.Connection, sql: str, *values: Any) -> list[int]:
    rows: Iterable[Row] = db.execute(sql, values)
    return [id for (id,) in rows]


BROAD = (ACTIVE, EVERYTHING)
"""Scopes that nearly every memory is in, so that it pays to rank first and filter what was ranked."""

FEW_SUPERSEDED = 200
"""If no more memories than so many are superseded, to read which takes less time than to look at what was ranked."""

SUPERSEDED = "m.status = 'superseded'"
"""In plain text: the index of these is not taken for a bound value."""


def inside(db: apsw.Connection, ranking: Ranking, scope: Scope) -> Ranking:
    """Of a ranking of memories that are there, what is in a broad scope."""
    if scope == EVERYTHING:
        return ranking
    superseded = ids(db, f"select m.id from memories m where {SUPERSEDED} limit ?", FEW_SUPERSEDED + 1)
    if scope == ACTIVE and not superseded:
        return ranking
    ranked = {*ranking.memories}
    if scope == ACTIVE and len(superseded) <= FEW_SUPERSEDED:
        among = ranked.difference(superseded)
    else:
        condition, values = where(scope)
        rows: Iterable[Row] = db.execute(
            f"select m.id from json_each(?) w cross join memories m on m.id = w.value where {condition}",
            (listed(ranked), *values),
        )
        among = {id for (id,) in rows}
    if len(among) == len(ranked):
        return ranking
    return ranking.at([place for place, memory in enumerate(ranking.memories) if memory in among])


PREFERENCES = frozenset({PREFERENCE})


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
