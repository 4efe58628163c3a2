"""Connections to a server, ready for use, the tables there, and its clock."""

from __future__ import annotations

import logging
import struct
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from memory.schema.errors import StoreError, StoreTooNew
from memory.store.postgres.rows import Db
from memory.store.postgres.translate import translated

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg.abc import Buffer

    from memory.schema.space import Plain, Vectors

# Connections that end are replaced, or told of as errors. Without a handler Python would print what psycopg logs of them.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

SCHEMA = "memory"
OLDEST = 15
"""The oldest PostgreSQL that has all we use: `regexp_count`."""

FORMAT = 16
"""Number of the tables of schema.sql. A database with another one is refused."""

MAKING = 0x6D656D6F
"""The advisory lock under which tables are made ("memo")."""

INDEXING = 0x6D656D70
"""That under which an index of a generation's vectors is made, with the generation."""

PGVECTOR = (0, 8)
"""The oldest version of pgvector that has all we use: iterative scans of an index."""

CONNECTING: dict[str, Any] = {
    "autocommit": True,
    "connect_timeout": 10,
    "client_encoding": "utf8",
    "keepalives_idle": 30,  # a server that is gone without a word is noticed within a minute
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""How a connection is made, whatever the URL and the environment say of these."""

_SETTINGS = {
    # What we rely on, also where a database or a role has it otherwise.
    "array_nulls": "on",
    "extra_float_digits": "1",  # numbers as they are
    "session_replication_role": "origin",  # triggers and cascades
    "standard_conforming_strings": "on",
    "client_min_messages": "warning",
    "jit": "off",  # to compile takes longer than any of our statements
    "gin_pending_list_limit": "64kB",  # of an index of words: what is not sorted in yet, each look at it reads
    # A client that is gone without a word, perhaps with the lock of writers, is noticed within a minute.
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    # Of an index of vectors: what is out of scope is passed over until enough is found (pgvector, "Iterative Index Scans"),
    # in an order that need not be exact, since what is found is compared exactly.
    "hnsw.ef_search": "200",
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "200000",
}


class HalfVector:
    """A vector as pgvector's binary format has it: two numbers of 16 bits, then big-endian floats."""

    def __init__(self, vector: Vectors | Plain) -> None:
        """
        Args:
            vector: Shape (dimension,), float32; an array of "f" where there is no numpy.
        """
        from array import array
        from sys import byteorder

        numbers = array("f", vector.tobytes())
        if byteorder == "little":
            numbers.byteswap()
        self.sent = len(numbers).to_bytes(2, "big") + b"\0\0" + numbers.tobytes()


class Embeddings:
    """Vectors as an array of pgvector's type, in PostgreSQL's binary format."""

    def __init__(self, vectors: Vectors) -> None:
        """
        Args:
            vectors: Shape (n, dimension), float32, at least one.
        """
        import numpy as np

        count, dimension = vectors.shape
        self.count = count
        rows = np.empty((count, 8 + 4 * dimension), np.uint8)
        rows[:, :8] = np.frombuffer(struct.pack(">iHH", 4 + 4 * dimension, dimension, 0), np.uint8)
        rows[:, 8:] = np.ascontiguousarray(vectors, ">f4").view(np.uint8).reshape(count, -1)
        self.sent = rows.tobytes()


class _EmbeddingDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: HalfVector) -> Buffer:
        return obj.sent


class _EmbeddingsDumper(Dumper):
    format = Format.BINARY
    element: int

    def dump(self, obj: Embeddings) -> Buffer:
        return struct.pack(">iiIii", 1, 0, self.element, obj.count, 1) + obj.sent


class Ready:
    """Makes connections to one database, each as the store needs it."""

    def __init__(self, url: str, name: str, clock: Clock) -> None:
        """
        Make the tables if there are none.

        Args:
            name: What it is called in errors.
            clock: Gets to know the server's.

        Raises:
            StoreError: It cannot be reached, or not used.
            StoreTooNew: A newer version made its tables.
        """
        self._name = name
        with translated(name), Db.connect(url, **CONNECTING) as db:
            self._check(db)
            _set_up(db)
            if _version(db, name) is None:
                _make(db, name)
            asked = clock.local()
            [(seconds,)] = db.execute(ASKED)
            clock.heard(seconds, asked)
            extension = _extension(db, name)
        if extension is None:
            raise StoreError(f"{name} lost its extension vector", hint=_EXTENSION)
        schema, element, several = extension
        self._path = f"{SCHEMA}, {schema}"
        self._dumpers = (
            (HalfVector, type("VectorDumper", (_EmbeddingDumper,), {"oid": element})),
            (Embeddings, type("VectorsDumper", (_EmbeddingsDumper,), {"oid": several, "element": element})),
        )

    def _check(self, db: Db) -> None:
        if db.info.server_version < OLDEST * 10_000:
            version = db.info.server_version // 10_000
            raise StoreError(f"{self._name} is PostgreSQL {version}; memory needs {OLDEST} or newer")
        if (encoding := db.info.parameter_status("server_encoding")) != "UTF8":
            hint = "Make another: createdb --encoding=UTF8 --template=template0 NAME."
            raise StoreError(f"{self._name} stores text as {encoding}, not as UTF8", hint=hint)

    def __call__(self, db: Db) -> None:
        """Prepare a connection of the pool."""
        db.execute(f"set search_path = {self._path}")
        _set_up(db)
        # What a server demands beyond that, as of its standbys, stays.
        db.execute(
            "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'"
        )
        for sort, dumper in self._dumpers:
            db.adapters.register_dumper(sort, dumper)


def _set_up(db: Db) -> None:
    """Set what is otherwise; some settings only a superuser may change, so what is right already is left alone."""
    # Behind the lock of writers a statement sees all that there is. By itself, since a standby takes no question as long as
    # its database asks for `serializable`.
    db.execute("set default_transaction_isolation = 'read committed'")
    db.execute(
        """select set_config(name, value, false) from unnest(%s::text[], %s::text[]) s (name, value)
           where current_setting(name, true) is distinct from value""",
        ([*_SETTINGS], [*_SETTINGS.values()]),
    )


_EXTENSION = "Install pgvector on the server, then let a superuser run `create extension vector` in the database."


def _version(db: Db, name: str) -> int | None:
    """
    The format of the tables; None if there are none.

    Raises:
        StoreTooNew: A newer version made them.
        StoreError: An older version did, or the schema is another program's.
    """
    [(there,)] = db.execute("select to_regclass(%s) is not null", (f"{SCHEMA}.format",))
    [(version,)] = db.execute(f"select max(version) from {SCHEMA}.format") if there else [(None,)]
    if version is None:
        if db.execute("select 1 from pg_class where relnamespace = to_regnamespace(%s)", (SCHEMA,)).fetchone():
            raise StoreError(
                f"the schema {SCHEMA} of {name} belongs to another program", hint="Choose another database."
            )
        return None
    if version > FORMAT:
        raise StoreTooNew(
            f"{name} has format {version}; this version of memory knows up to {FORMAT}",
            hint="Install the newer version here too.",
        )
    if version < FORMAT:
        raise StoreError(
            f"{name} has format {version}, of an older version of memory; this one has {FORMAT}",
            hint="Move it: `memory migrate OLD FILE` with the version that made it, then `memory migrate FILE NEW` with this one, "
            "NEW being an empty database.",
        )
    return int(version)


def _make(db: Db, name: str) -> None:
    """Make the tables, and the schema and the extension that they need."""
    from importlib.resources import files

    with db.transaction():
        db.execute("select pg_advisory_xact_lock(%s)", (MAKING,))
        if _version(db, name) is not None:  # another process was faster
            return
        schema, *_ = _extension(db, name) or _install(db, name)
        db.execute(f"create schema if not exists {SCHEMA}")
        db.execute(f"set local search_path = {SCHEMA}, {schema}")
        db.execute(files(__package__).joinpath("schema.sql").read_text("utf-8"))
        db.execute("insert into format (version) values (%s)", (FORMAT,))


def _extension(db: Db, name: str) -> tuple[str, int, int] | None:
    """
    Of pgvector the schema, quoted, and the ids of its type and of arrays of that; None if it is not there.

    Raises:
        StoreError: It is older than `PGVECTOR`.
    """
    found = db.execute(
        "select e.extversion, quote_ident(n.nspname), t.oid, t.typarray from pg_type t join pg_namespace n on n.oid = t.typnamespace "
        "join pg_extension e on e.extnamespace = n.oid and e.extname = 'vector' where t.typname = 'vector'"
    ).fetchone()
    if found is None:
        return None
    version, schema, element, several = found
    if tuple(map(int, version.split(".")[:2])) < PGVECTOR:
        hint = "Install a newer one on the server, then run `alter extension vector update` in the database."
        raise StoreError(f"{name} has pgvector {version}; memory needs 0.8 or newer", hint=hint)
    return schema, element, several


def _install(db: Db, name: str) -> tuple[str, int, int]:
    if not db.execute("select 1 from pg_available_extensions where name = 'vector'").fetchone():
        raise StoreError(f"{name} has no extension vector (pgvector)", hint=_EXTENSION)
    try:
        with db.transaction():
            db.execute("create extension vector with schema public")
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(f"{name} does not let this role install extensions", hint=_EXTENSION) from error
    made = _extension(db, name)
    assert made is not None  # noqa: S101  # it was just made
    return made


# The clock of a server, told by that of this machine: all machines that share a store date, claim and expire by one ---

ASKED = "select extract(epoch from clock_timestamp())::float8"
"""The moment at the server, in seconds since 1970: the same text whatever its time zone and its style of dates."""

TOLERANCE = timedelta(seconds=1)
"""Clocks that are kept right differ by less. What is less is left alone, so that moments of one process keep their order."""


class Clock:
    """By how much a server's clock differs from this machine's is learned from each answer that tells its time."""

    def __init__(self, local: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """
        Args:
            local: This machine's clock.
        """
        self.local = local
        self._ahead = timedelta()

    def now(self) -> datetime:
        """The moment at the server, when it was last heard of."""
        return self.local() + self._ahead

    def heard(self, seconds: float, asked: datetime) -> None:
        """
        Learn from an answer to `ASKED`, however long it was on its way.

        Args:
            asked: When it was asked, by this machine's clock.
        """
        there = datetime.fromtimestamp(seconds, UTC)
        least, most = there - self.local(), there - asked
        if not least - TOLERANCE <= self._ahead <= most + TOLERANCE:
            self._ahead = (least + most) / 2
