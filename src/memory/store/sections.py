"""
The one form of files that are made from something else and may be removed at any time: named arrays, mapped to be read.

A file has a magic word; the length and the crc32 of a header; the header, which is JSON and says what the file is of and,
of each section, its type, shape, place and crc32; then the sections, each at the beginning of a page. Little endian.
"""

from __future__ import annotations

import json
import mmap
from errno import EIO
from math import prod
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from memory.schema.errors import Error

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

_MAGIC = b"MEMDERIV"
_START = len(_MAGIC) + 8  # and 4 bytes each of the header's length and crc32
_ALIGNED = 4096
_PIECE = 4 << 20  # bytes that are read at once for a crc32


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


class SectionWriter:
    """Writes a file. Each section must be filled whole before it ends."""

    def __init__(self, file: IO[bytes], head: Mapping[str, object], sections: Mapping[str, Section]) -> None:
        """
        Args:
            file: Empty, to be written and read.
            head: What the file is of.
        """
        self._file, self._head, self._sections = file, head, sections
        most = 1 << 62
        longest = len(_header(head, {name: [*section, most, most] for name, section in sections.items()}, most))
        self._places, self._end = {}, _START + longest
        for name, section in sections.items():
            self._places[name] = -(-self._end // _ALIGNED) * _ALIGNED if section.size else 0
            self._end = max(self._end, self._places[name] + section.size)

    def put(self, name: str, rows: NDArray[Any], first: int = 0) -> None:
        """Write rows of a section, of its type, from the one with this number on."""
        section = self._sections[name]
        data = memoryview(rows.astype(section.type, order="C", copy=False).reshape(-1).view("u1").data)
        _write(self._file, data, self._places[name] + first * (section.size // max(section.shape[0], 1)))

    def end(self) -> None:
        """Read what was written once more, for its checksums, and write the header."""
        described = {
            name: [*section, self._places[name], self._check(self._places[name], section.size)]
            for name, section in self._sections.items()
        }
        text = _header(self._head, described, self._end)
        start = _MAGIC + len(text).to_bytes(4, "little") + crc32(text).to_bytes(4, "little")
        _write(self._file, memoryview(start + text), 0)

    def _check(self, place: int, size: int) -> int:
        check = 0
        for first in range(place, place + size, _PIECE):
            self._file.seek(first)
            piece = self._file.read(wanted := min(_PIECE, place + size - first))
            if len(piece) < wanted:
                raise OSError(EIO, "it was cut meanwhile")
            check = crc32(piece, check)
        return check


class Reader:
    """
    A file that was opened.

    Attributes:
        path: Where it was.
        head: What it is of.
    """

    def __init__(self, path: Path) -> None:
        """
        Raises:
            Doubt: It is not there, or not as it was written. Sections are checked when they are first asked for.
        """
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # an empty file cannot be mapped, and some file systems map none
            raise Doubt(f"cannot map {path}: {error}") from error
        self._bytes = memoryview(self._map)
        length, check = (int.from_bytes(self._bytes[at : at + 4], "little") for at in (_START - 8, _START - 4))
        text = self._bytes[_START : _START + length]
        if self._bytes[: len(_MAGIC)] != _MAGIC or len(text) != length or crc32(text) != check:
            raise Doubt(f"{path} has no header that can be read")
        described = json.loads(bytes(text))
        if described["size"] != len(self._bytes):
            raise Doubt(f"{path} is cut")
        self.head: Mapping[str, Any] = described["head"]
        self._sections: Mapping[str, tuple[str, list[int], int, int]] = described["sections"]
        self._checked: set[str] = set()

    def unchecked(self, name: str) -> memoryview:
        """The bytes of a section, of which only some are wanted."""
        type, shape, place, _ = self._sections[name]
        return self._bytes[place : place + Section(type, tuple(shape)).size]

    def data(self, name: str) -> memoryview:
        """
        The bytes of a section.

        Raises:
            Doubt: They are not those that were written.
        """
        found = self.unchecked(name)
        if name not in self._checked:
            if crc32(found) != self._sections[name][3]:
                raise Doubt(f"{self.path} is damaged")
            self._checked.add(name)
        return found

    def section(self, name: str) -> NDArray[Any]:
        """
        A section as an array, read only.

        Raises:
            Doubt: Its bytes are not those that were written.
        """
        import numpy as np

        type, shape, *_ = self._sections[name]
        return np.frombuffer(self.data(name), type).reshape(shape)

    def check(self) -> None:
        """
        Raises:
            Doubt: Some of its bytes are not those that were written.
        """
        for name in self._sections:
            self.data(name)


def _header(head: Mapping[str, object], sections: Mapping[str, object], size: int) -> bytes:
    return json.dumps({"head": head, "sections": sections, "size": size}).encode()


def _write(file: IO[bytes], data: memoryview, place: int) -> None:
    file.seek(place)
    while data:
        data = data[file.write(data) :]
