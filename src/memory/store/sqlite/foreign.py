"""Databases of other programs, only read: nothing is written to them, nor beside them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import apsw

from memory.schema.errors import Invalid, printable

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from pathlib import Path

MAGIC = b"SQLite format 3\0"

_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI

PAGE_LEAST = 512
"""Bytes of the smallest page (https://sqlite.org/fileformat.html, section 1.3.2)."""

READ_BYTES = 1 << 26
"""The longest text that is read of a row."""


def is_database(path: Path) -> bool:
    """
    Whether a file is a database, as far as SQLite can tell, which opens it without a lock and leaves nothing beside it.
    Not one that has less than the smallest page, which SQLite takes for an empty database.
    """
    try:
        db = apsw.Connection(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", flags=_READ_ONLY)
        try:
            return path.stat().st_size >= PAGE_LEAST and bool(db.execute("select count(*) from sqlite_schema"))
        finally:
            db.close()
    except (apsw.Error, OSError):
        return False


def tables(path: Path) -> Mapping[str, frozenset[str]]:
    """
    The columns of each table and view.

    Raises:
        Invalid: It cannot be read.
    """
    with _opened(path) as db:
        names = [name for (name,) in db.execute("select name from sqlite_schema where type = 'table' limit 1000")]
        return {name: _columns(db, name) for name in names}


def _columns(db: apsw.Connection, table: str) -> frozenset[str]:
    return frozenset(name for (name,) in db.execute("select name from pragma_table_info(?)", (table,)))


def rows(path: Path, source: str, columns: Sequence[str], order: str = "") -> Iterator[dict[str, Any]]:
    """
    The rows of a table, by the names of some columns; a column that an older version has not is None.

    Args:
        source: What stands behind `from`; of our own making.

    Raises:
        Invalid: It cannot be read, or no further.
    """
    with _opened(path) as db:
        known = {name for (name,) in db.execute("select name from pragma_table_info(?)", (source.partition(" ")[0],))}
        joined = " join " in source
        picked = [name if name in known or (joined and name == "body") else f"null as {name}" for name in columns]
        ordered = f" order by {order}" if order else ""
        for row in db.execute(f"select {', '.join(picked)} from {source}{ordered}"):
            yield dict(zip(columns, row, strict=True))


@contextmanager
def _opened(path: Path) -> Generator[apsw.Connection]:
    try:
        db = _connection(path)
        try:
            yield db
        finally:
            db.close()
    except apsw.Error as error:
        raise Invalid(f"{printable(str(path))} cannot be read: {error}") from error


def _connection(path: Path) -> apsw.Connection:
    """
    A connection that only reads. Where its log cannot be shared, as in a folder that may not be written, the file is
    taken as it is.
    """
    name = quote(str(path.resolve()))
    for how in ("mode=ro", "mode=ro&immutable=1"):
        db = apsw.Connection(f"file:{name}?{how}", flags=_READ_ONLY)
        try:
            db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)  # a view of a stranger runs nothing of ours
            db.limit(apsw.SQLITE_LIMIT_LENGTH, READ_BYTES)
            db.set_busy_timeout(2000)
            db.pragma("schema_version")  # reads the file
        except apsw.CantOpenError:
            db.close()
        except BaseException:
            db.close()
            raise
        else:
            return db
    raise apsw.CantOpenError("its log cannot be opened")
