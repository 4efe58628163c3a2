"""
The files to read behind a path: one, those of a folder and its subfolders, those of an archive, or standard input.

Nothing is unpacked to a disk; which files of a folder or an archive are read says `memory.config.walk`.
"""

from __future__ import annotations

import os
import struct
import zipfile
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import partial
from glob import escape
from pathlib import Path, PurePosixPath
from posixpath import normpath
from tempfile import SpooledTemporaryFile, gettempdir
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from memory.carry.formats import MARKDOWN
from memory.carry.formats.formats import DATABASES, JSON, told
from memory.carry.formats.items import OTHER, LeftOut, left_out
from memory.carry.formats.reading import PIECE, Source, head
from memory.config.files import BULK_BYTES, opened
from memory.config.walk import ALIAS, RULED, Own, of_archive, walk
from memory.schema.errors import Invalid, StoreError, explained, printable
from memory.store.sqlite import foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Iterator

    from memory.carry.formats import Format
    from memory.config.walk import Walked

ARCHIVES = (".zip",)
ZIPPED = (b"PK\x03\x04", b"PK\x05\x06")
MEMBERS = 10_000_000
"""The most bytes of an archive's table of contents: some 100,000 names."""

MEMBER_BYTES = 1 << 32
"""The most bytes that a file in an archive may have once it is unpacked."""

_END = struct.Struct("<4s4H2LH")  # of an archive: PKWARE's APPNOTE, 4.3.16


class FoundFile(NamedTuple):
    """A file, and what wrote it; None if that is not known."""

    source: Source
    format: Format | None


def found(path: Path, own: Own) -> Iterator[FoundFile | LeftOut]:
    """
    The files behind a path, as `told`; of a folder or an archive those whose format is known, and why each other one is
    left out. Databases come first: they know more than the files beside them.

    Args:
        path: A link is followed: somebody named it.
        own: The files of the store, which are not opened.

    Raises:
        Invalid: The path is one file, and it cannot be read, or is the store's own; or the folder cannot be read.
    """
    if path.is_dir():
        yield from _of_folder(path, own)
        return
    if own.has(path):
        raise Invalid(
            f"{printable(str(path))} belongs to the database of memory", hint="`memory export` writes a copy."
        )
    with explained(Invalid, printable(str(path))):
        source = file_source(path)
        begins = head(source)
    if begins.startswith(ZIPPED):
        yield from _members(path)
    else:
        yield FoundFile(source, told(path.name, begins, source))


def _of_folder(folder: Path, own: Own) -> Iterator[FoundFile | LeftOut]:
    """The files of a folder, in order, with the database beside an EchoVault vault; then what was left out."""
    wanted = (*MARKDOWN, *JSON, *DATABASES, *ARCHIVES)
    with explained(Invalid, printable(str(folder))):
        walked = walk(folder, lambda name: name.lower().endswith(wanted), own)
    names = sorted(walked.files, key=lambda name: (name.rpartition("/")[0], name))
    beside = folder.parent / "index.db"
    vault = folder.name == "vault" and beside.is_file() and not beside.is_symlink()
    files = [*([beside] if vault else ()), *(folder / name for name in names)]
    for database in (True, False):
        for file in files:
            if file.suffix.lower().endswith(DATABASES) is database:
                yield from _in_folder(file, own)
    yield from left(folder, walked)


def left(folder: Path, walked: Walked) -> Iterator[LeftOut]:
    """What was left out of a folder; a link to one of its files is that file."""
    for name, why in sorted((walked.left | dict.fromkeys(walked.others, OTHER)).items()):
        if why != ALIAS:
            yield left_out(str(folder / name), why, ruled=why in RULED or why == OTHER)


def _in_folder(file: Path, own: Own) -> Iterator[FoundFile | LeftOut]:
    try:
        for one in found(file, own):
            known = isinstance(one, LeftOut) or one.format is not None
            yield one if known else left_out(str(file), OTHER, ruled=True)
    except Invalid as error:
        ruled = file.suffix.lower() not in MARKDOWN  # others need not be meant
        yield left_out(str(file), error, ruled=ruled)


def file_source(path: Path) -> Source:
    """A file."""
    try:
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, OverflowError, ValueError):  # it was just removed, or is said to be of another age
        written = None
    return Source(str(path), lambda: opened(path), path, written, partial(_beside, path), _folder(path))


def _beside(path: Path, way: str, name: str = "") -> Iterator[Source]:
    """Ordinary files, see `Source.beside`; none if the folder cannot be read. Those that are not asked for are not opened."""
    try:
        folders = path.parent.parent.glob("*") if way == "../*" else (path.parent / way,)
        files = sorted(file for folder in folders for file in folder.glob(escape(name) or "*") if file.is_file())
    except OSError:
        return
    yield from (file_source(file) for file in files if not file.is_symlink())


def _folder(path: Path) -> Hashable:
    try:
        return str(path.parent), path.parent.stat().st_mtime_ns
    except OSError:  # it was just removed
        return None


IN_MEMORY = 1 << 23
"""Bytes of a pipe that are kept in memory; more go to a temporary file."""


@contextmanager
def spooled(file: BinaryIO, name: str) -> Generator[FoundFile]:
    """
    What can be read only once, as a file that can be read again; it has no name and ends with the block.

    Raises:
        Invalid: It has more than `BULK_BYTES`, or is an archive or a database.
        StoreError: There is no room for it.
    """
    with SpooledTemporaryFile(IN_MEMORY) as copy:
        while piece := file.read(PIECE):
            with explained(StoreError, f"no room for {name} in {gettempdir()}", "Import it from a file."):
                copy.write(piece)
            if copy.tell() > BULK_BYTES:
                raise Invalid(f"{name} has more than {BULK_BYTES:,} bytes", hint="Import it from a file.")

        @contextmanager
        def again() -> Generator[BinaryIO]:
            copy.seek(0)
            yield cast("BinaryIO", copy)

        source = Source(name, again)
        begins = head(source)
        if begins.startswith((*ZIPPED, foreign.MAGIC)):
            what = "a database" if begins.startswith(foreign.MAGIC) else "an archive"
            raise Invalid(f"{name}: {what} cannot be read from a pipe", hint="Import it from a file.")
        yield FoundFile(source, told(name, begins, source))


# Archives ---------------------------------------------------------------------------


def _members(path: Path) -> Iterator[FoundFile | LeftOut]:
    """The files in an archive whose format is known; names are only read, so that none leads anywhere."""
    with explained(Invalid, printable(str(path))), opened(path) as file:
        _check_contents(file, path)
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise Invalid(f"{printable(str(path))} is not a readable archive: {error}") from error
        with archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            if not members:
                yield left_out(str(path), "it contains no file", ruled=True)
            for one in members:
                suffix = PurePosixPath(one.filename.lower()).suffix
                name = f"{path}:{printable(one.filename)}"
                why = of_archive(one.filename, one.external_attr >> 16)
                if why is None:
                    continue
                if suffix in ARCHIVES:
                    yield left_out(name, "an archive in an archive is not read", "Unpack the outer one.")
                elif suffix in DATABASES:
                    yield left_out(name, "a database in an archive is not read", "Unpack it.")
                elif why or suffix not in (*MARKDOWN, *JSON):
                    yield left_out(name, why or OTHER, ruled=True)
                else:
                    yield _member(archive, one, name)


def _check_contents(file: BinaryIO, path: Path) -> None:
    """
    Raises:
        Invalid: The table of contents is larger than `MEMBERS`: Python reads all of it, at ten times its size.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END.size - (1 << 16)))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at >= 0 and len(tail) - at >= _END.size and _END.unpack_from(tail, at)[5] > MEMBERS:
        raise Invalid(
            f"{printable(str(path))} has too many files for an export", hint="Unpack it, and import a folder."
        )
    file.seek(0)


def _member(archive: zipfile.ZipFile, one: zipfile.ZipInfo, name: str) -> FoundFile | LeftOut:
    if one.file_size > MEMBER_BYTES:
        return left_out(name, f"it would have {one.file_size:,} bytes")
    source = _packed(archive, one, name)
    try:
        format = told(one.filename, head(source), source)
    except Invalid as error:
        return left_out(name, error)
    return left_out(name, OTHER, ruled=True) if format is None else FoundFile(source, format)


def _packed(archive: zipfile.ZipFile, one: zipfile.ZipInfo, name: str) -> Source:
    try:
        written = datetime(*one.date_time, tzinfo=UTC)
    except ValueError:
        written = None
    container, folder = name.removesuffix(printable(one.filename)), PurePosixPath(one.filename).parent

    def beside(way: str, name: str = "") -> Iterator[Source]:
        there = PurePosixPath("/", normpath(folder / way.removesuffix("*")))
        for other in archive.infolist():
            path = PurePosixPath("/", normpath(other.filename))
            around = path.parent.parent if way.endswith("*") else path.parent
            if not other.is_dir() and around == there and name in ("", path.name):
                yield _packed(archive, other, f"{container}{printable(other.filename)}")

    return Source(name, _unpacking(archive, one, name), None, written, beside, (archive, folder))


def _unpacking(
    archive: zipfile.ZipFile, one: zipfile.ZipInfo, name: str
) -> Callable[[], AbstractContextManager[BinaryIO]]:
    @contextmanager
    def member() -> Generator[BinaryIO]:
        import zlib

        try:
            with archive.open(one) as file:
                yield file  # type: ignore[misc]  # it reads as one
        except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
            raise Invalid(f"{name}: it cannot be unpacked: {error}") from error

    return member
