"""What a store consists of, table by table: what is copied when it moves, and in which order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from memory.schema.kinds import BY_KEY
from memory.store import Store
from memory.store.records import COLUMNS, Row, Values, most
from memory.store.shared import Connection, Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memory.schema.memory import MemoryId

Key: TypeAlias = Row
"""The values of a row in the columns of its table's key."""


class Table(NamedTuple):
    """
    Rows that every store has, by names that mean the same in each. What is unique in it is in `key` or `fixed`.

    Attributes:
        key: Its columns; rows are read in their order.
        fixed: Columns that never change. Where they differ, another row has got the key.
        changing: Columns that do.
        lasting: No key is ever used again, so that rows of one key are the same row.
        owner: "memory_id" or "chunk_id" of what is written in one transaction with its memory.
    """

    name: str
    key: tuple[str, ...]
    fixed: tuple[str, ...] = ()
    changing: tuple[str, ...] = ()
    lasting: bool = False
    owner: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.key + self.fixed + self.changing


_LINKS = ("parent_id", "superseded_by")
READ = ("accessed_at", "access_count")
"""What reading changes of a memory."""

_SET = ("status", "pinned", *READ)

GENERATIONS = Table(
    "generations",
    ("id",),
    ("provider", "model", "recipe", "dimension", "created_at"),
    ("state", "vectors", "total", "fingerprint"),
)
MEMORIES = Table("memories", ("id",), (*(name for name in COLUMNS[1:] if name not in (*_LINKS, *_SET)), *BY_KEY), _SET)
LINKS = Table("memories", ("id",), (), _LINKS)
"""Written when all memories are there."""

_OWNED = (
    Table("bodies", ("memory_id",), ("body",), lasting=True, owner="memory_id"),
    Table("history", ("id",), ("memory_id", "replaced_at", "record", "body"), lasting=True, owner="memory_id"),
    Table(
        "chunks",
        ("id",),
        (
            *("memory_id", "chunk_index", "start", "stop", "chunk_type", "header_path", "level", "token_count"),
            *("heading", "tags", "files", "grams", "folded"),
        ),
        lasting=True,
        owner="memory_id",
    ),
)
"""Chunks are indexed as they are written; nothing of the index itself is copied."""

_BEGUN = Table("begun", ("chunk_id", "generation", "first"), ("stamp", "windows", "embeddings"), owner="chunk_id")

QUEUE = Table("embed_queue", ("chunk_id",), (), ("attempts", "last_error", "tried_at"))
"""
The last of all: before, whoever searches a target would embed what waits. Who claims what is left out: they do so in the
other store.
"""

USED = (
    Table(
        "ledger",
        ("id",),
        ("moment", "provider", "model", "purpose", "host"),
        ("calls", "texts", "tokens", "bytes_out", "seconds", "cost", "error"),
    ),
    Table("outages", ("host",), (), ("until", "error")),
)
"""What a search writes too."""

NEARNESS = Table("nearness", ("generation",), (), ("nearest", "products", "loose", "rising", "comparison"))

_REST = (
    LINKS,
    Table("relations", ("source", "target", "type"), (), ("created_at",)),
    Table("entity_memories", ("entity", "memory"), (), ("created_at",)),
    Table(
        "tool_calls",
        ("id",),
        ("uid", "query_id", "agent_name", "tool_type", "tool_name", "parameters", "result", "success", "timestamp"),
        lasting=True,
    ),
    Table("strangers", ("generation",), (), ("stamp", "fit", "embeddings")),
    NEARNESS,
    Table(
        "lexicons",
        ("generation",),
        (),
        ("passages", "fit", "axes", "basis_sum", "spread", "words", "along", "square"),
    ),
    Table("lexicon_axes", ("generation",), (), ("basis",)),
    Table("lexicon_terms", ("generation", "term"), (), ("passages", "last", "met", "scale", "code")),
    Table("lexicon_lessons", ("chunk_id", "generation")),
    Table("lexicon_pairs", ("id",), ("generation", "chunk_id", "pairs")),
    Table("trash", ("uid", "deleted_at"), ("number", "until", "line", "step", "person", "replaced")),
    Table("steps", ("id",), ("key", "verb", "author", "moment", "person", "undone")),
    Table(
        "changes",
        ("id",),
        ("step", "memory", "other", "type", "uid"),
        ("before", "after", "revisions", "thrown_at"),
    ),
)

VECTORS = "vectors"
"""The beginning of the names of tables of vectors."""


def vectors(generation: int) -> Table:
    """The vectors of a generation; `row` counts in which order they were written, `embedding` is float32, little-endian."""
    return Table(f"{VECTORS}_{generation}", ("row",), ("chunk_id", "window", "embedding"), owner="chunk_id")


def following(generations: Sequence[int]) -> Iterator[Table]:
    """All tables but `GENERATIONS`, each behind those that it refers to, with the vectors of these generations."""
    yield MEMORIES
    yield from owned(generations)
    yield from _REST
    yield from USED
    yield QUEUE


def owned(generations: Sequence[int]) -> Iterator[Table]:
    """What belongs to a memory and is written with it."""
    yield from _OWNED
    yield from map(vectors, generations)
    yield _BEGUN


class MigrationMark(NamedTuple):
    """
    Marks a store that a migration is filling or has filled; the first later write removes the mark.

    Attributes:
        source: The other, by its name.
        run: Who fills it, at random: a later one takes over.
        ended: Until then nobody else can change memories.
    """

    source: str
    run: str
    ended: bool = False


class Tables(Part, ABC):
    """
    A store as rows, for a move. What is derived from rows, such as the keyword index, follows them.

    Values are None, integers, floats, texts and bytes; what is true or false is 1 or 0.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def rows(
        self,
        table: Table,
        columns: Sequence[str],
        *,
        after: Key | None = None,
        upto: Key | None = None,
        limit: int | None = None,
    ) -> Sequence[Row]:
        """These columns of the rows behind a key and up to another, in order."""
        with self._db.read() as db:
            marks = ", ".join("?" * len(table.key))
            clauses, values = ["true"], list[Any]()
            for sign, bound in ((">", after), ("<=", upto)):
                if bound is not None:
                    clauses.append(f"({{key}}) {sign} ({marks})")
                    values += bound
            return self._selected(db, table, columns, " and ".join(clauses), [*values, most(limit)], ending="limit ?")

    def owned(self, table: Table, memories: Sequence[MemoryId]) -> Sequence[Row]:
        """Whole rows of what belongs to memories, in order."""
        with self._db.read() as db:
            own = f"memory_id {db.IN}"
            condition = own if table.owner == "memory_id" else f"chunk_id in (select id from chunks where {own})"
            return self._selected(db, table, table.columns, condition, [db.ids(memories)])

    def _selected(
        self, db: Connection, table: Table, columns: Sequence[str], condition: str, values: Values, *, ending: str = ""
    ) -> Sequence[Row]:
        if not (cells := self._cells(db, table)):
            return []
        key = ", ".join(cells[name] for name in table.key)
        with self._blamed():
            found = db.rows(
                f"""select {", ".join(cells[name] for name in columns)} from {table.name}
                    where {condition.format(key=key)} order by {key} {ending}""",
                values,
                strict=True,
            )
        return self._moved(db, table, columns, found)

    def count(self, table: Table) -> int:
        with self._db.read() as db:
            if not self._cells(db, table):
                return 0
            with self._blamed():
                return int(db.value(f"select count(*) from {table.name}"))

    @abstractmethod
    def _cells(self, db: Any, table: Table) -> Mapping[str, str]:
        """The SQL of each column of a table, as a move has its values; empty where there is no such table."""

    @abstractmethod
    def _moved(self, db: Any, table: Table, columns: Sequence[str], rows: Sequence[Row]) -> Sequence[Row]:
        """Rows that were read as a move has them."""

    @abstractmethod
    def _blamed(self) -> AbstractContextManager[None]:
        """Errors name this store, also inside the transaction of another one."""

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Add whole rows, whose keys are not there."""
        with self._db.write(durable=False) as db:
            if table == GENERATIONS:
                for id, *_, dimension, _created, _state, _vectors, _total, _sign in rows:
                    db.make_vectors(id, dimension)
            self._insert(db, table, rows)

    @abstractmethod
    def _insert(self, db: Any, table: Table, rows: Sequence[Row]) -> None:
        """See `insert`."""

    def change(self, table: Table, rows: Sequence[Row]) -> None:
        """Set the columns that change of rows that are there: key and `changing` of each."""
        with self._db.write(durable=False) as db:
            if table == GENERATIONS:  # at no moment may two be active, or two being built
                ids = db.ids(id for id, *_ in rows)
                db.change(f"update generations set state = 'retired' where id {db.IN}", (ids,))
            sets = ", ".join(self._set(table, name) for name in table.changing)
            keys = " and ".join(self._set(table, name) for name in table.key)
            width, rows = len(table.key), self._kept(db, table, rows)
            db.each(f"update {table.name} set {sets} where {keys}", [(*row[width:], *row[:width]) for row in rows])

    @abstractmethod
    def _set(self, table: Table, column: str) -> str:
        """SQL of a column and the value it gets, or has."""

    @abstractmethod
    def _kept(self, db: Any, table: Table, rows: Sequence[Row]) -> Sequence[Row]:
        """The opposite of `_moved`."""

    def remove(self, table: Table, keys: Sequence[Key]) -> None:
        """Take rows away, with all that belongs to them."""
        with self._db.write(durable=False) as db:
            self._remove(db, table, keys)
            if table == GENERATIONS:
                for (id,) in keys:
                    db.drop_vectors(id)

    @abstractmethod
    def _remove(self, db: Any, table: Table, keys: Sequence[Key]) -> None:
        """See `remove`."""

    @abstractmethod
    def numbers(self) -> Mapping[str, int]:
        """The highest id that was ever given, by table."""

    @abstractmethod
    def skip(self, numbers: Mapping[str, int]) -> None:
        """Give no id that is as high or lower."""

    def migration_mark(self) -> MigrationMark | None:
        """None if it is filled by whoever saves to it."""
        with self._db.read() as db:
            for source, run, ended in db.rows("select source, run, ended from arrival"):
                return MigrationMark(source, run, bool(ended))
            return None

    def set_migration_mark(self, mark: MigrationMark | None) -> None:
        with self._db.write(durable=False) as db:
            db.change("delete from arrival")
            if mark is not None:
                db.change("insert into arrival (id, source, run, ended) values (1, ?, ?, ?)", mark)


class Movable(Store, Protocol):
    """A store whose rows can be copied to another."""

    @property
    def tables(self) -> Tables:
        """Its rows."""
