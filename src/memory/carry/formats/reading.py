"""
Reading what others wrote, in bounded memory: lines, and the elements of a JSON array, one at a time.

A line or an element that is too long, or has too many values, is skipped and named; what is read of it is forgotten.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from memory.carry.formats.items import LeftOut, left_out
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

LINE_BYTES = 1 << 25
"""The longest line, or element of an array: a turn of a conversation may have a picture in it."""

MOST_VALUES = 1_000_000
"""The most values in one: each costs up to 100 bytes of memory, for two of the file."""

PIECE = 1 << 20  # bytes read at once

_SPACE = re.compile(r"\s*")


class Source(NamedTuple):
    """
    A file to read, perhaps in an archive.

    Attributes:
        name: As a person calls it.
        opened: Opens it at its beginning.
        path: None if it is in an archive, or standard input.
        written: When it was last changed; None if that is not known.
        beside: The files of a folder, by the way there from the file's own: "" is that, ".." the one around it, "../*" each
            folder in that. With a name as well, those that are called so.
        folder: Tells its folder from all others, and from itself when files came or went; None: it is in none.
    """

    name: str
    opened: Callable[[], AbstractContextManager[BinaryIO]]
    path: Path | None = None
    written: datetime | None = None
    beside: Callable[..., Iterable[Source]] = lambda _way, _name="": ()
    folder: Hashable = None

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its folders, as far as they are known, and its own."""
        place = self.name if self.path is None else str(self.path.absolute())
        return tuple(place.replace("\\", "/").replace(".zip:", ".zip/").split("/"))


HEAD_BYTES = 1 << 16
"""How much of a file is looked at, to tell what it is."""


def head(source: Source) -> bytes:
    """What a file begins with."""
    with source.opened() as file:
        return file.read(HEAD_BYTES)


def lines(file: BinaryIO, most: int = LINE_BYTES) -> Iterator[tuple[int, bytes | None]]:
    """The lines of a file that are not blank, numbered from 1; None in place of one with more than `most` bytes."""
    number = 0
    while piece := file.readline(most + 1):
        number += 1
        if len(piece) <= most or piece.endswith(b"\n"):
            if piece.strip():
                yield number, piece
            continue
        while piece and not piece.endswith(b"\n"):
            piece = file.readline(PIECE)
        yield number, None


def objects(file: BinaryIO, name: str) -> Iterator[tuple[int, dict[str, Any]] | LeftOut]:
    """For each line its number and its JSON object; or why it is skipped."""
    for number, line in lines(file):
        place = f"{name}:{number}"
        try:
            found = None if line is None else parsed(line)
        except Invalid as error:
            yield left_out(place, error)
            continue
        if line is None:
            yield left_out(place, f"the line has more than {LINE_BYTES:,} bytes")
        elif isinstance(found, dict):
            yield number, found
        else:
            yield left_out(place, "not a JSON object")


def records(source: Source) -> Iterator[dict[str, Any] | LeftOut]:
    """The objects of a file: one a line, if its first line is one, so that a broken line is the only one lost; else of a document."""
    try:
        lined = isinstance(parsed(head(source).lstrip().split(b"\n", 1)[0]), dict)
    except Invalid:
        lined = False
    with source.opened() as file:
        if lined:
            yield from (one if isinstance(one, LeftOut) else one[1] for one in objects(file, source.name))
        else:
            yield from elements(file, source.name)


def parsed(text: bytes | str) -> Any:
    """
    A JSON value.

    Raises:
        Invalid: It is none, has too many values, or is nested too deep.
    """
    _check_room(text)
    try:
        return json.loads(text)
    except UnicodeDecodeError as error:
        raise Invalid(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except ValueError as error:
        raise Invalid(f"not JSON: {str(error)[:200]}") from error
    except RecursionError as error:
        raise Invalid("not JSON that can be read: nested too deeply") from error


def _check_room(text: bytes | str) -> None:
    if len(text) <= MOST_VALUES:
        return
    counts = map(text.count, (b",", b"[", b"{")) if isinstance(text, bytes) else map(text.count, ",[{")
    if sum(counts) > MOST_VALUES:
        raise Invalid(f"it has more than {MOST_VALUES:,} values")


def elements(file: BinaryIO, name: str, *keys: str) -> Iterator[dict[str, Any] | LeftOut]:
    """
    The objects of a document: those of an array, which may be under one of these keys, or each that stands by itself.

    Where the JSON ends early or is none, what came before was read, and the last item says so.
    """
    stream = _Stream(file)
    try:
        if stream.peek() == "{" and keys:
            yield from _under(stream, keys, name)
            return
        if stream.peek() != "{":
            yield from _array(stream, name)
        while stream.peek() == "{":
            yield stream.value()
        if stream.peek():
            yield left_out(name, "the rest of the file is not read")
    except Invalid as error:
        yield left_out(name, f"{error}; the rest of it is skipped")


def _under(stream: _Stream, keys: tuple[str, ...], name: str) -> Iterator[dict[str, Any] | LeftOut]:
    stream.take("{")
    while stream.peek() not in {"}", ""}:
        key = stream.value()
        stream.take(":")
        if key in keys and stream.peek() == "[":
            yield from _array(stream, name)
        else:
            stream.value()
        if stream.peek() == ",":
            stream.take(",")


def _array(stream: _Stream, name: str) -> Iterator[dict[str, Any] | LeftOut]:
    stream.take("[")
    number = 0
    while stream.peek() not in {"]", ""}:
        found = stream.value()
        number += 1
        if isinstance(found, dict):
            yield found
        else:
            yield left_out(f"{name}[{number - 1}]", "not a JSON object")
        if stream.peek() == ",":
            stream.take(",")
    stream.take("]")


class Shape(NamedTuple):
    """
    What a JSON value looks like.

    Attributes:
        outer: Its keys, if it is an object.
        inner: The keys of the objects in its arrays, or in it if it is an array.
        type: The value of its key `type`.
        whole: It is not cut off.
    """

    outer: frozenset[str]
    inner: frozenset[str]
    type: str
    whole: bool = True


# A string that is cut off goes to the end. Begun again at each quote in it, a match of 64 KB took twenty seconds.
_TOKEN = re.compile(r'"((?:[^"\\]++|\\.)*)(?:"(\s*:)?|\\?\Z)|[{}\[\]]', re.DOTALL)


def shapes(text: str) -> Iterator[Shape]:
    """The shapes of the values that a text begins with, one after the other; the last may be cut off."""
    outer, inner = set[str](), set[str]()
    depth: list[str] = []
    type, last = "", ""
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark in {"{", "["}:
            depth.append(mark)
        elif mark in {"}", "]"}:
            del depth[-1:]
            if not depth:
                yield Shape(frozenset(outer), frozenset(inner), type)
                outer, inner, type = set(), set(), ""
        elif found[2]:
            shape = "".join(depth)
            (outer if shape == "{" else inner if shape in {"[{", "{[{"} else set[str]()).add(last := found[1])
        elif depth == ["{"] and last == "type" and not type:
            type = found[1]
    if depth:
        yield Shape(frozenset(outer), frozenset(inner), type, whole=False)


class _Stream:
    """JSON values from a file, one after the other."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._ended = "", 0, False
        self._json = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, mark: str) -> None:
        """
        Raises:
            Invalid: The next character is another.
        """
        if (found := self.peek()) != mark:
            raise Invalid(f"not JSON: expected {mark!r}, found {found or 'the end'!r}")
        self._at += 1

    def value(self) -> Any:
        """
        The next value.

        Raises:
            Invalid: There is none, or it is too large.
        """
        self.peek()
        while True:
            try:
                found, end = self._json.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise Invalid("not JSON that can be read: nested too deeply") from error
            except ValueError as error:
                if len(self._text) - self._at > LINE_BYTES:
                    raise Invalid(f"an element is not JSON, or longer than {LINE_BYTES:,} characters") from error
                if not self._more():
                    raise Invalid(f"not JSON: {str(error)[:200]}") from error
                _check_room(self._text)
                continue
            if end < len(self._text) or self._ended or not isinstance(found, int | float):
                self._at = end
                return found
            self._more()  # a number may go on

    def _more(self) -> bool:
        """
        Read on, as much again as there is: a value that is not complete is tried a few times, not once a piece.

        Raises:
            Invalid: It is not UTF-8.
        """
        if self._ended:
            return False
        self._text = self._text[self._at :]
        self._at = 0
        piece = self._file.read(max(PIECE, len(self._text)))
        self._ended = not piece
        try:
            self._text += self._decoder.decode(piece, final=self._ended)
        except UnicodeDecodeError as error:
            raise Invalid(f"not UTF-8: {error.reason}") from error
        return not self._ended
