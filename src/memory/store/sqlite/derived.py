"""
Files beside the database that are made from it and may be removed at any time: written whole, then mapped, never the truth.

A file is named after its content and the random stamp of one making; the database names the stamp that counts. So a file
that is half made, of another database, or of one that was restored since, is none. It never changes: what is newer than it
comes from the database, by the facts that it holds (docs/decisions/derived-files.md).
"""

from __future__ import annotations

import json
import mmap
import os
import re
import sys
from contextlib import contextmanager, suppress
from errno import EIO
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from memory.schema.errors import Error, StoreError, explained

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping
    from io import BufferedReader, FileIO
    from pathlib import Path

    import apsw
    from numpy.typing import NDArray

    from memory.store.sqlite.database import Database

_MAGIC = b"MEMDERIV"
_START = len(_MAGIC) + 8  # and 4 bytes each of the header's length and checksum, little-endian
_ALIGNED = 4096  # where each section begins: at a page
_COLUMNS = 1021  # of 8 bytes: a prime, so that no page that stands in the place of another leaves the sums as they are
_PIECE = 512 * 8 * _COLUMNS  # bytes that are read at once for the sums


class Doubt(Error):
    """Something about a file is not as it was written. It is not used."""


class Section(NamedTuple):
    """An array in a file: the name of its numpy type, with byte order (`<i8`), and its shape."""

    type: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return prod(self.shape) * int(self.type[2:])


class Making:
    """
    A file that is being made. Each section must be filled whole before it ends.

    Attributes:
        stamp: To be published.
        abandoned: Whether it is to be removed instead.
    """

    def __init__(self, file: FileIO, head: Mapping[str, object], sections: Mapping[str, Section], stamp: bytes) -> None:
        self.stamp, self.abandoned = stamp, False
        self._file, self._head, self._sections = file, head, sections
        self._places, end = {}, _ALIGNED * (1 + (_START + _longest(head, sections)) // _ALIGNED)
        for name, section in sections.items():
            self._places[name] = end
            end += -(-section.size // _ALIGNED) * _ALIGNED
        self._end = end

    def put(self, name: str, rows: NDArray[Any], first: int = 0) -> None:
        """Write rows of a section, of its type, C order, from the one with this number on."""
        section = self._sections[name]
        data = memoryview(rows.astype(section.type, order="C", copy=False).reshape(-1).view("u1").data)
        place = self._places[name] + first * (section.size // max(section.shape[0], 1))
        _write(self._file, data, place)

    def end(self) -> None:
        """Read what was written once more for its checksums, and write the header."""
        described = {
            name: [*section, self._places[name], _check(_pieces(self._file, self._places[name], section.size))]
            for name, section in self._sections.items()
        }
        text = _text(self._head, described, self._end)
        self._file.truncate(self._end)
        header = _MAGIC + len(text).to_bytes(4, "little") + crc32(text).to_bytes(4, "little") + text
        _write(self._file, memoryview(header), 0)
        os.fsync(self._file.fileno())


class Derived:
    """
    A file that was opened.

    Attributes:
        stamp: Tells it from all others.
        facts: What it was made from.
    """

    def __init__(self, path: Path, content: tuple[str, int] | None, stamp: bytes) -> None:
        """
        Args:
            content: Its name and version; None takes any.

        Raises:
            Doubt: It is not there, or not as it was written.
        """
        self.path, self.stamp = path, stamp
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # an empty file cannot be mapped, and some file systems map none
            raise Doubt(f"cannot map {path}: {error}") from error
        head = self._header()
        if head["stamp"] != stamp.hex() or (content or (head["name"], head["version"])) != (
            head["name"],
            head["version"],
        ):
            raise Doubt(f"{path} is of another version or database")
        if head["size"] != len(self._map):
            raise Doubt(f"{path} is cut")
        self.facts: Mapping[str, int] = head["facts"]
        self._sections: Mapping[str, tuple[str, list[int], int, int]] = head["sections"]
        self._checked: set[str] = set()

    def _header(self) -> dict[str, Any]:
        length, check = (int.from_bytes(self._map[at : at + 4], "little") for at in (_START - 8, _START - 4))
        text = self._map[_START : _START + length]
        if self._map[: len(_MAGIC)] != _MAGIC or len(text) != length or crc32(text) != check:
            raise Doubt(f"{self.path} has no header that can be read")
        header: dict[str, Any] = json.loads(text)
        return header

    def section(self, name: str) -> NDArray[Any]:
        """
        A section, mapped, read only; it is checked when it is first asked for.

        Raises:
            Doubt: Its bytes are not those that were written.
        """
        import numpy as np

        type, shape, place, check = self._sections[name]
        size = Section(type, tuple(shape)).size
        if name not in self._checked:
            with memoryview(self._map) as view:
                found = _check(
                    view[first : min(first + _PIECE, place + size)] for first in range(place, place + size, _PIECE)
                )
            if found != check:
                raise Doubt(f"{self.path} is damaged")
            self._checked.add(name)
        return np.frombuffer(self._map, type, prod(shape), place).reshape(shape)

    def check(self) -> None:
        """
        Raises:
            Doubt: Some of its bytes are not those that were written.
        """
        for name in self._sections:
            self.section(name)


def stamp(db: apsw.Connection, name: str) -> bytes | None:
    """Of the file that counts; None if there is none. What was opened with the same one is still the same."""
    found: bytes | None = db.execute("select stamp from derived where name = ?", (name,)).get
    return found


def opened(path: str, name: str, version: int, stamp: bytes) -> Derived:
    """
    The file with this stamp, of the database at `path`.

    Args:
        version: Of what its sections mean.

    Raises:
        Doubt: It is not there, or not as it was written.
    """
    return Derived(_place(path, name, stamp), (name, version), stamp)


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
                made = Making(file, head, sections, stamp)
                yield made
                if made.abandoned:
                    place.unlink()
                else:
                    made.end()
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
            Derived(_place(path, str(name), bytes(stamp)), None, bytes(stamp)).check()
        except Doubt as doubt:
            yield f"a file made from the database is not as it was written: {doubt}"


def forget(db: apsw.Connection, path: str) -> None:
    """Let no file count; they are removed."""
    db.execute("delete from derived")
    for one in files(path):
        with suppress(OSError):  # Windows removes none that is mapped
            one.unlink()


# Names, locks and checksums ------------------------------------------------------


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


def _longest(head: Mapping[str, object], sections: Mapping[str, Section]) -> int:
    """Bytes that the header takes at most."""
    most = 1 << 62
    return len(_text(head, {name: [*section, most, most] for name, section in sections.items()}, most))


def _text(head: Mapping[str, object], sections: Mapping[str, object], size: int) -> bytes:
    return json.dumps({**head, "sections": sections, "size": size}).encode()


def _write(file: FileIO, data: memoryview, place: int) -> None:
    file.seek(place)
    while data:
        data = data[file.write(data) :]


def _pieces(file: FileIO, place: int, size: int) -> Iterator[bytes]:
    for first in range(place, place + size, _PIECE):
        file.seek(first)
        piece = file.read(wanted := min(_PIECE, place + size - first))
        if len(piece) < wanted:
            raise OSError(EIO, "it was cut meanwhile")
        yield piece


def _check(pieces: Iterable[bytes | memoryview]) -> int:
    """
    The crc32 of sums modulo 2**64 of every 1021st word of 8 bytes, the end filled up with zeros. One word that differs
    is always found; it is read five times as fast as by crc32 alone, which a first search would wait for.

    Args:
        pieces: All but the last of `_PIECE` bytes.
    """
    import numpy as np

    sums = np.zeros(_COLUMNS, np.uint64)
    for piece in pieces:
        whole = len(piece) // (8 * _COLUMNS) * _COLUMNS
        sums += np.frombuffer(piece, "<u8", whole).reshape(-1, _COLUMNS).sum(axis=0, dtype=np.uint64)
        rest = bytes(piece[8 * whole :])
        last = np.frombuffer(rest.ljust(-(-len(rest) // 8) * 8, b"\0"), "<u8")
        sums[: len(last)] += last
    return crc32(sums.astype("<u8").data)
