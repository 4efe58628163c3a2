"""The parts that every store shares: what they ask of a database, and when they are imported."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from memory.schema.memory import ChunkId, Excerpt, Memory, MemoryId
    from memory.schema.query import Scope
    from memory.schema.space import Vectors
    from memory.store.generations import Generations
    from memory.store.graph import Graph
    from memory.store.journal import Steps, TrashRows
    from memory.store.records import Ids, Row, Values
    from memory.store.sessions import RunRows, SessionRows
    from memory.store.usage import Usage
    from memory.store.vectors import Queue

R = TypeVar("R")

STORE, LEDGER = 0x6D656D72, 0x6D656D73
"""Locks of writers ("memr", "mems"): a server has one for memories and one for the usage log; a file has one for both."""


class Connection(Protocol):
    """
    What a part that every store shares asks of a connection. Its statements have a `?` for each value.

    Attributes:
        IN: The end of a condition on a column, whose value is from `ids` or `texts`: the column has one of them.
        JOIN: Between tables: SQLite goes through the first.
        SCANNED: Before a column: SQLite does not look it up in an index
            (https://sqlite.org/optoverview.html#disqualifying_where_clause_terms_using_unary_).
        UNCLAIMED: The end of a query: rows that another transaction is about to change are passed over.
        KEYWORD_ONLY: A condition on memories: their chunks are never embedded.
        BYTES: How many bytes a vector takes that is `packed`, of `{count}` numbers.
        CHANGED: Behind what is set of a generation whose vectors change.
    """

    IN: str
    JOIN: str
    SCANNED: str
    UNCLAIMED: str
    KEYWORD_ONLY: str
    BYTES: str
    CHANGED: str

    def indexed(self, index: str) -> str:
        """Behind a table: SQLite takes this index."""

    def rows(self, sql: str, values: Sequence[Any] = (), *, ids: Ids = None, strict: bool = False) -> list[Row]:
        """
        Args:
            ids: In place of values: its one value, for `IN`.
            strict: Else U+FFFD stands for bytes of a text that are none.
        """

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The only column of the first row; None if there is no row."""

    def change(self, sql: str, values: Sequence[Any] = (), /) -> object:
        """Execute a statement that writes."""

    def changed(self, sql: str, values: Sequence[Any] = ()) -> int:
        """The same, and how many rows it wrote; not inside `pipelined`."""

    def each(self, sql: str, rows: Sequence[Sequence[Any]], /) -> object:
        """Execute a statement that writes, once with each of these values."""

    def pipelined(self) -> AbstractContextManager[None]:
        """A server's answers to the statements inside are waited for together."""

    def ids(self, ids: Iterable[int]) -> object: ...

    def texts(self, texts: Iterable[str]) -> object: ...

    def where(self, scope: Scope) -> tuple[str, Values]:
        """A condition over memories as m, and its values."""

    def excerpts(self, ids: Sequence[ChunkId]) -> list[Excerpt]: ...

    def memories(
        self, condition: str, values: Sequence[Any] = (), *, ids: Ids = None, strict: bool = False
    ) -> list[Memory]:
        """
        Args:
            condition: On memories as m.
            ids: In place of values: its one value, for `IN`.
            strict: Else a default stands for what cannot be read, and the memory's flags say so.
        """

    def named(self, id: MemoryId) -> str:
        """A memory that is damaged, as it is named in an error."""

    def owe(self) -> None:
        """Note that bytes of something that is gone for good may be left: see `Store.wipe`."""

    # Vectors -------------------------------------------------------------

    def packed(self, vectors: Vectors) -> bytes:
        """Vectors, shape (n, dimension), as one value."""

    def unpacked(self, packed: bytes, dimension: int) -> Vectors:
        """The opposite."""

    def plain(self, packed: bytes, dimension: int) -> bytes:
        """The same as float32, little-endian, without numpy."""

    def vectors(self, generation: int, wanted: str, values: Sequence[Any]) -> tuple[list[Row], Vectors]:
        """
        Some vectors of a generation: number, chunk and place of each, and all of them, shape (n, dimension).

        Args:
            wanted: A condition on number, chunk_id and place, and in which order.
        """

    def first_window(self, generation: int, chunk: ChunkId) -> bytes | None:
        """The vector of a chunk's first window as float32, without numpy; None if it has none."""

    def unmap(self) -> None:
        """Said by whoever goes through all vectors: see `memory.store.sqlite.rows.SqliteConnection.unmap`."""

    def make_vectors(self, generation: int, dimension: int) -> None:
        """Make what the vectors of a new generation are kept in."""

    def empty_vectors(self, generation: int) -> None:
        """Take all its vectors away; `set_total` notes it."""

    def drop_vectors(self, generation: int) -> None:
        """Take away what the vectors of a generation were kept in that is gone."""

    def removal(self) -> int:
        """Another number than before, if a vector may have got the number of one that has gone since."""

    def vanished(self, words: Collection[str]) -> Sequence[str]:
        """Terms with term vectors that hold one of these words, which no chunk holds."""

    def outlived(self) -> Sequence[int]:
        """Generations with a term vector of a word that no chunk holds."""


class Transactions(Protocol):
    """What such a part asks of a store: its `Database`, whose docstrings say more."""

    def read(self) -> AbstractContextManager[Connection]:
        """A snapshot: all that is read inside is the state of one moment."""

    def write(
        self, *, durable: bool = True, patience: float | None = None, lock: int | None = STORE
    ) -> AbstractContextManager[Connection]:
        """A transaction: what is written inside is kept whole or not at all."""

    def ask(self, question: Callable[[Connection], R], *, once: Hashable = None) -> R:
        """
        What one statement answers, for which a server needs no transaction.

        Args:
            once: A name for what is asked once as long as nobody writes: a search asks for the same few numbers again and
                again.
        """


class Part:
    """A part that every store shares. Each of its public methods is one transaction, which it opens itself."""

    def __init__(self, database: Transactions) -> None:
        self._db = database


def tally(db: Connection, column: str, of: str, values: Sequence[object] = ()) -> tuple[tuple[str, int], ...]:
    """How many of some memories have each value of a column, the commonest first."""
    rows = db.rows(
        f"""select {column}, count(*) from memories where {of} and {column} is not null
            group by {column} order by 2 desc, 1""",
        values,
    )
    return tuple((name, count) for name, count in rows)


def _part(module: str, name: str) -> Any:
    """A part of a store, imported when it is asked for."""
    return cached_property(lambda self: getattr(import_module(f"memory.store.{module}"), name)(self._db))


class Shared(Part):
    """The parts that every store shares."""

    sessions: SessionRows = _part("sessions", "SessionRows")
    runs: RunRows = _part("sessions", "RunRows")
    generations: Generations = _part("generations", "Generations")
    queue: Queue = _part("vectors", "Queue")
    graph: Graph = _part("graph", "Graph")
    trash: TrashRows = _part("journal", "TrashRows")
    steps: Steps = _part("journal", "Steps")
    usage: Usage = _part("usage", "Usage")
