"""A connection that gives rows, scopes as SQL, and rows as memories, chunks and vectors."""

from __future__ import annotations

from array import array
from contextlib import contextmanager
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any

import psycopg

from memory.schema import np
from memory.schema.draft import tag_key
from memory.schema.memory import OVERLAP, ChunkId, Excerpt, Memory, MemoryId
from memory.schema.query import ACTIVE, EVERYTHING, FILTERS, NONE, Scope
from memory.store import records
from memory.store.records import SEEN, Ids, Row, Values, packed
from memory.text.fold import fold
from memory.text.lookup import stems

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from memory.schema.space import Vectors
    from memory.store.postgres.database import ServerPool

    Answer: TypeAlias = psycopg.Cursor[tuple[Any, ...]]

BROAD = (ACTIVE, EVERYTHING)
"""Scopes that nearly every memory is in, so that it pays to rank first and filter what was ranked."""


class Db(psycopg.Connection[tuple[Any, ...]]):
    """
    A connection that commits by itself: transactions are begun and ended by statements. See `memory.store.shared.Connection`;
    its statements may have %s for ? too.
    """

    IN = "= any(?)"
    JOIN = "join"
    SCANNED = ""
    UNCLAIMED = "for update skip locked"
    KEYWORD_ONLY = "keyword_only"
    BYTES = "4 * {count}"
    CHANGED = ""

    def indexed(self, index: str) -> str:
        return ""

    def rows(self, sql: str, values: Sequence[Any] = (), *, ids: Ids = None, strict: bool = False) -> list[Row]:
        values = values if ids is None else (keys(ids),)
        return self.execute(sql.replace("?", "%s"), values or None, binary=True).fetchall()

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        return next((row[0] for row in self.rows(sql, values)), None)

    def change(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        return self.execute(sql.replace("?", "%s"), values or None)

    def changed(self, sql: str, values: Sequence[Any] = ()) -> int:
        return self.change(sql, values).rowcount

    def each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self.settle()
        self.cursor().executemany(sql.replace("?", "%s"), rows)

    lasting = False
    """Whether a pipeline stays open after `pipelined`, until a statement outside of one, so that a commit can go with it."""

    _piped: AbstractContextManager[object] | None = None
    _inside = False

    def execute(self, *sql: Any, **how: Any) -> Answer:
        self.settle()
        return super().execute(*sql, **how)

    @contextmanager
    def pipelined(self) -> Generator[None]:
        """Statements whose answers are waited for where they are read, and at the end of the outermost such part."""
        if self._inside:
            yield
            return
        if self._piped is None:
            self._piped = self.pipeline()
            self._piped.__enter__()
        self._inside = True
        try:
            yield
        except BaseException:
            self.close()  # psycopg takes statements for prepared that the server has passed over: others would ask for them
            raise
        finally:
            self._inside = False
        if not self.lasting:
            self.settle()

    def settle(self) -> None:
        """Wait for the answers of a pipeline that was left open."""
        if self._piped is None or self._inside:
            return
        piped, self._piped = self._piped, None
        try:
            piped.__exit__(None, None, None)
        except BaseException:
            self.close()  # see `pipelined`
            raise

    def narrowed(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """
        Rows of a statement that is planned without reading a whole table, whatever the server takes that to cost: after a bulk
        load it knows nothing of what is in there, and takes an index for dear whose last entries are not sorted in yet. In a
        transaction only.
        """
        with self.pipelined():
            self.execute("set local enable_seqscan = off")
            found = self.execute(sql, values or None, binary=True)
            self.execute("set local enable_seqscan = on")
            return found.fetchall()

    def ids(self, ids: Iterable[int]) -> list[int]:
        return keys(ids)

    def texts(self, texts: Iterable[str]) -> list[str]:
        return [text for text in texts if storable(text)]

    def where(self, scope: Scope) -> tuple[str, Values]:
        return where(scope)

    def excerpts(self, ids: Sequence[ChunkId]) -> list[Excerpt]:
        return excerpts(self, "c.id = any(%s)", (keys(ids),))

    def memories(
        self, condition: str, values: Sequence[Any] = (), *, ids: Ids = None, strict: bool = False
    ) -> list[Memory]:
        found = self.rows(f"select {SEEN} from memories m where {condition}", values, ids=ids)
        return records.memories(found, strict=strict)

    def named(self, id: MemoryId) -> str:
        return f"memory {id}"

    def owe(self) -> None:
        """By a row that replaces another, which can go as soon as all else can that this transaction removed."""
        for _ in range(2):
            self.execute("insert into unwiped (id) values (1) on conflict (id) do update set id = excluded.id")

    def packed(self, vectors: Vectors) -> bytes:
        return vectors.astype("<f4").tobytes()

    def unpacked(self, packed: bytes, dimension: int) -> Vectors:
        return np.frombuffer(packed, "<f4").reshape(-1, dimension)

    def plain(self, packed: bytes, dimension: int) -> bytes:
        return packed

    def vectors(self, generation: int, wanted: str, values: Sequence[Any]) -> tuple[list[Row], Vectors]:
        rows = self.rows(
            f"""with v (number, chunk_id, place, embedding) as (
                    select id, chunk_id, place, vector_send(embedding) from vectors_{generation}
                ) select * from v where {wanted}""",
            values,
        )
        sent = [embedding for *_, embedding in rows]
        return [row[:3] for row in rows], read_vectors(sent, (len(sent[0]) - 4) // 4 if sent else 1)

    def first_window(self, generation: int, chunk: ChunkId) -> bytes | None:
        own = f"select vector_send(embedding) from vectors_{generation} where chunk_id = ? and place = 0"
        if (sent := self.value(own, (chunk,))) is None:
            return None
        numbers = array("f", sent[4:])  # behind the dimension, in the order of the network
        numbers.byteswap()
        return numbers.tobytes()

    def unmap(self) -> None:
        pass

    def make_vectors(self, generation: int, dimension: int) -> None:
        from memory.store.postgres.vectors import table

        table(self, generation, dimension)

    def empty_vectors(self, generation: int) -> None:
        self.execute(f"delete from vectors_{generation}")

    def drop_vectors(self, generation: int) -> None:
        from memory.store.postgres.vectors import sweep

        sweep(self)

    def removal(self) -> int:
        return 0

    def vanished(self, words: Collection[str]) -> list[str]:
        from memory.store.postgres import vanished

        return vanished(self, words)

    def outlived(self) -> list[int]:
        from memory.store.postgres import outlived

        return outlived(self)


def few_members(database: ServerPool, scope: Scope, most: int) -> list[int] | None:
    """The memories in scope, read once in each snapshot; None if there are more than `most`."""

    def read() -> list[int] | None:
        condition, values = where(scope)
        limited = f"select m.id from memories m where {condition} limit %s"
        found = database.ask(lambda db: db.rows(limited, [*values, most + 1]))
        return None if len(found) > most else keys(id for (id,) in found)

    return database.once(("members", scope, most), read)


PLANNED = 10
"""
Values that PostgreSQL takes an array to have when it plans for any. A shorter one seems cheaper to it, so that it plans each
statement anew, which takes longer than to execute it.
"""


def keys(ids: Iterable[int]) -> list[int]:
    """Ids as a bound list for `= any(…)`: not fewer than `PLANNED`, if need be the last several times."""
    found = [records.key(id) for id in ids]
    return found + found[-1:] * (PLANNED - len(found))


def storable(name: object) -> bool:
    """Whether anything can have this name: PostgreSQL takes no NUL, and nothing that is not Unicode."""
    return not isinstance(name, str) or ("\0" not in name and name == name.encode(errors="ignore").decode())


LARGEST = 1 << 22
"""Characters of rows that are sent at once, if it is not one row alone."""


def insert(db: Db, table: str, rows: Iterable[Mapping[str, Any]], ending: str = "") -> list[Answer]:
    """
    Add rows in order: many by one statement, since to bind each by itself takes longer than to add it.

    Args:
        rows: Columns and their values as JSON has them.
        ending: Of the statements: what to do about a row that is there, or what they return.
    """
    answers = []
    for names, alike in groupby(rows, tuple):
        columns = ", ".join(names)
        added = f"""insert into {table} ({columns}) overriding system value
                    select {columns} from json_populate_recordset(null::{table}, %s::json) {ending}"""
        answers += [db.execute(added, (piece,), binary=True) for piece in sent(alike)]
    return answers


def sent(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Rows as lists in JSON, as many as are sent at once."""
    piece: list[str] = []
    size = 0
    for row in map(packed, rows):
        if piece and size + len(row) > LARGEST:
            yield f"[{','.join(piece)}]"
            piece, size = [], 0
        piece.append(row)
        size += len(row)
    yield f"[{','.join(piece)}]"


LONGEST = 200
"""Characters of a word that are looked for; no index takes one of some thousand bytes."""


def cut(word: str) -> str:
    """A word as it is kept: one that is too long ends in a digest of all of it."""
    return word if len(word) <= LONGEST else word[:LONGEST] + sha256(word.encode()).hexdigest()


def tag_keys(tags: str) -> str:
    """What the tags of a memory are compared by: PostgreSQL knows small letters as its collation does, which may be any."""
    return packed(sorted({*map(tag_key, records.tagged(tags))}))


def where(scope: Scope) -> tuple[str, Values]:
    """The one place a scope becomes SQL: a condition over memories as m, and its values."""
    clauses: dict[str, Values] = {}
    for column, name in FILTERS.items():
        if allowed := getattr(scope, name):
            clause = f"m.{column} = any(%s)"
            clause = f"({clause} or m.{column} is null)" if NONE in allowed else clause
            clauses[clause] = [sorted(name for name in allowed if storable(name))]
    if scope.among is not None:
        clauses["m.id = any(%s)"] = [keys(sorted(scope.among))]
    if scope.pinned:
        clauses["m.pinned"] = []
    if not all(map(storable, scope.tags)):
        clauses["false"] = []
    elif scope.tags:
        clauses["m.tag_keys::jsonb @> %s::jsonb"] = [packed(sorted({*map(tag_key, scope.tags)}))]
    if without := [
        [cut(word) for word in words] for words in (stems(fold(one)) for one in sorted(scope.without)) if words
    ]:
        # The index knows who holds all the words of a phrase, the text who holds them side by side.
        ids = "array(select id from vocabulary where term = any(%s))"
        held = f"p.words @> {ids} and strpos(array_to_string(p.said, '|'), %s) > 0"
        some = " or ".join([held] * len(without))
        said = [value for words in without for value in (words, f" {' '.join(words)} ")]
        clauses[f"m.id not in (select p.memory_id from keywords p where {some})"] = said
    clauses |= {f"{compared} %s": [moment] for compared, moment in records.time_bounds(scope)}
    return " and ".join(clauses) or "true", [value for values in clauses.values() for value in values]


# Chunks ------------------------------------------------------------------------

_EXCERPT = f"""
    c.id, c.memory_id, c.chunk_index, c.start, c.stop, c.chunk_type, c.header_path, c.level, c.token_count,
    case c.chunk_type when 'head' then m.what
        else substr(b.body, c.start::integer + 1, (c.stop - c.start)::integer) end,
    substr(b.body, greatest(0, c.start - {OVERLAP})::integer + 1, least(c.start, {OVERLAP})::integer),
    m.title, m.what, m.why, m.impact, m.tags
"""


def excerpts(db: Db, condition: str, values: Any) -> list[Excerpt]:
    """
    Chunks with their texts.

    Args:
        condition: On chunks as c, the memories m they are of, and the bodies b of these.
    """
    rows = db.rows(
        f"""select {_EXCERPT} from chunks c
            join memories m on m.id = c.memory_id join bodies b on b.memory_id = c.memory_id where {condition}""",
        values,
    )
    return records.excerpts(rows)


def read_vectors(rows: Sequence[bytes], dimension: int) -> Vectors:
    """Vectors as `vector_send` gives them, shape (n, dimension)."""
    joined = b"".join([sent[4:] for sent in rows])
    read: Vectors = np.frombuffer(joined, ">f4").reshape(len(rows), dimension).astype(np.float32)
    return read
