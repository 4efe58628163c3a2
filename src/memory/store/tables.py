"""What a store consists of, table by table: what is copied when it moves, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from memory.store import Store
from memory.store.records import COLUMNS, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
MEMORIES = Table("memories", ("id",), tuple(name for name in COLUMNS[1:] if name not in (*_LINKS, *_SET)), _SET)
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
            *("heading", "tags", "files", "grams"),
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
    Table("nearness", ("generation",), (), ("nearest", "products", "loose", "rising", "comparison")),
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


class Arrival(NamedTuple):
    """
    That a store is filled from another, or was and nobody has changed it since: whoever does takes this away.

    Attributes:
        source: The other, by its name.
        run: Who fills it, at random: a later one takes over.
        ended: Until then nobody else can change memories.
    """

    source: str
    run: str
    ended: bool = False


class Tables(Protocol):
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

    def owned(self, table: Table, memories: Sequence[MemoryId]) -> Sequence[Row]:
        """Whole rows of what belongs to memories, in order."""

    def count(self, table: Table) -> int: ...

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Add whole rows, whose keys are not there."""

    def change(self, table: Table, rows: Sequence[Row]) -> None:
        """Set the columns that change of rows that are there: key and `changing` of each."""

    def remove(self, table: Table, keys: Sequence[Key]) -> None:
        """Take rows away, with all that belongs to them."""

    def numbers(self) -> Mapping[str, int]:
        """The highest id that was ever given, by table."""

    def skip(self, numbers: Mapping[str, int]) -> None:
        """Give no id that is as high or lower."""

    def arrival(self) -> Arrival | None:
        """None if it is filled by whoever saves to it."""

    def set_arrival(self, arrival: Arrival | None) -> None: ...


class Movable(Store, Protocol):
    """A store whose rows can be copied to another."""

    @property
    def tables(self) -> Tables:
        """Its rows."""
