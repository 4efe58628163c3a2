"""
Files beside the database that are made from it and may be removed at any time: written whole, then mapped, never the truth.

A file is named after its content and the random stamp of one making; the database names the stamp that counts. So a file
that is half made, of another database, or of one that was restored since, is none. It never changes: what is newer than it
comes from the database, by the facts that it holds (docs/decisions/derived-files.md).
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import StoreError, explained
from memory.store.sections import Doubt, Reader, Section, SectionWriter

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
    from io import BufferedReader, FileIO
    from pathlib import Path

    import apsw

    from memory.store.sqlite.database import Database


class Making:
    """
    A file that is being made.

    Attributes:
        stamp: To be published.
        put: See `SectionWriter.put`.
        abandoned: Whether it is to be removed instead.
    """

    def __init__(self, writer: SectionWriter, stamp: bytes) -> None:
        self.stamp, self.put, self.abandoned = stamp, writer.put, False


def stamp(db: apsw.Connection, name: str) -> bytes | None:
    """Of the file that counts; None if there is none. What was opened with the same one is still the same."""
    found: bytes | None = db.execute("select stamp from derived where name = ?", (name,)).get
    return found


def opened(path: str, name: str, version: int, stamp: bytes) -> Reader:
    """
    The file with this stamp, of the database at `path`; its head has the `facts` that it was made from.

    Args:
        version: Of what its sections mean.

    Raises:
        Doubt: It is not there, or not as it was written.
    """
    file = _read(path, name, stamp)
    if (file.head["name"], file.head["version"]) != (name, version):
        raise Doubt(f"{file.path} is of another version")
    return file


def _read(path: str, name: str, stamp: bytes) -> Reader:
    file = Reader(_place(path, name, stamp))
    if file.head["stamp"] != stamp.hex():
        raise Doubt(f"{file.path} is of another database")
    return file


@contextmanager
def making(
    database: Database, name: str, version: int, *, facts: Mapping[str, int], sections: Mapping[str, Section]
) -> Generator[Making | None]:
    """
    A new file, with the rights of the database. It counts when its stamp is published. None if another process is making
    one. It is removed if it fails.

    Raises:
        StoreError: It cannot be written.
    """
    path, stamp = database.path, os.urandom(16)
    place = _place(path, name, stamp)
    head = {"name": name, "version": version, "stamp": stamp.hex(), "facts": dict(facts)}
    with explained(StoreError, f"cannot write {place}"):
        if _at_work(path, name):
            yield None
            return
        with open(place, "x+b", buffering=0, opener=_private) as file:
            try:
                _lock(file)
                if sys.platform != "win32":
                    os.fchmod(file.fileno(), os.stat(path).st_mode & 0o666)  # noqa: PTH116
                writer = SectionWriter(file, head, sections)
                yield (made := Making(writer, stamp))
                if made.abandoned:
                    place.unlink()
                else:
                    writer.end()
                    os.fsync(file.fileno())
            except BaseException:
                place.unlink(missing_ok=True)
                raise


def publish(database: Database, name: str, new: bytes) -> None:
    """
    Let the file with this stamp count, unless somebody removed it meanwhile. Those before it are removed, and what killed
    makers left.
    """
    with database.write(durable=False) as db:
        if not _place(database.path, name, new).exists():
            return
        db.execute("insert or replace into derived (name, stamp) values (?, ?)", (name, new))
    with database.write(durable=False) as db:  # so that nobody publishes what is removed here
        _remove(database.path, name, kept=stamp(db, name))


def faults(db: apsw.Connection, path: str) -> Iterator[str]:
    """What is wrong with the files that count, a sentence each. Those of another version are not asked, and are fine."""
    for name, stamp in db.execute("select name, stamp from derived order by name"):
        try:
            _read(path, str(name), bytes(stamp)).check()
        except Doubt as doubt:
            yield f"a file made from the database is not as it was written: {doubt}"


def forget(db: apsw.Connection, path: str) -> None:
    """Let no file count; they are removed."""
    db.execute("delete from derived")
    for one in files(path):
        with suppress(OSError):  # Windows removes none that is mapped
            one.unlink()


# Names and locks ------------------------------------------------------


def _place(path: str, name: str, stamp: bytes) -> Path:
    from pathlib import Path  # a search in a store without such a file does without its 3 ms

    return Path(f"{path}-{name}-{stamp.hex()}")


def files(path: str, name: str = "[a-z]+") -> list[Path]:
    """All that were made under a name, or any, and are still there, also those that do not count."""
    from pathlib import Path

    database = Path(path)
    form = re.compile(f"{re.escape(database.name)}-{name}-[0-9a-f]{{32}}")
    return [one for one in database.absolute().parent.iterdir() if form.fullmatch(one.name)]


def _remove(path: str, name: str, *, kept: bytes | None = None) -> None:
    """Remove all files made under a name: also one that is being made, or all but one that counts and those."""
    for one in files(path, name):
        if kept is None or one.name != _place(path, name, kept).name:
            with suppress(OSError), one.open("rb") as file:  # Windows removes none that is mapped: the next one does
                if _lock(file) or kept is None:
                    one.unlink()


def _at_work(path: str, name: str) -> bool:
    """Whether somebody makes one: a file is held as long as it is made."""
    for one in files(path, name):
        with suppress(FileNotFoundError), one.open("rb") as file:
            if not _lock(file):
                return True
    return False


def _lock(file: FileIO | BufferedReader) -> bool:
    """Hold a file until it is closed; False if somebody else does. Windows, and some network file systems, lock none."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


# What went since a copy of chunks or vectors was made: numbered, of which the last 100,000 are kept ---


class Removed(NamedTuple):
    """
    Attributes:
        number: Of the last removal; 0 if there was none.
        chunks: Each once.
    """

    number: int
    chunks: frozenset[int]


def latest(db: apsw.Connection) -> int:
    """The number of the last removal; 0 if there was none."""
    found: int = db.execute("select ifnull(max(number), 0) from removals").get
    return found


def since(db: apsw.Connection, number: int, generation: int | None = None) -> Removed | None:
    """
    What went after the removal with this number. None if that task is no longer known, or what there was before counts no
    more: then a copy is made anew.

    Args:
        generation: Chunks that lost their vectors in it; they may have others by now. None: chunks that are gone.
    """
    rows: Iterable[tuple[int, int | None, int | None]] = db.execute(
        "select number, generation, chunk_id from removals where number > ? order by number", (number,)
    )
    gone: set[int] = set()
    last = number
    for found, of, chunk in rows:
        if found != last + 1:
            return None
        last = found
        if of == generation:
            if chunk is None:
                return None
            gone.add(chunk)
    return None if last == number and latest(db) != number else Removed(last, frozenset(gone))


def note(db: apsw.Connection, generation: int, chunks: Collection[int]) -> None:
    """Chunks lost their vectors in a generation. A trigger notes those that are deleted themselves."""
    db.executemany(
        "insert into removals (generation, chunk_id) values (?, ?)", [(generation, chunk) for chunk in chunks]
    )


def note_all(db: apsw.Connection, generation: int | None = None) -> None:
    """All vectors of a generation went or were made anew; without one, all that is derived from chunks."""
    db.execute("insert into removals (generation) values (?)", (generation,))
