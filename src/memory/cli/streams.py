"""Standard streams that take any text, whatever their encoding, and whether or not anybody reads them."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import suppress
from functools import partial
from typing import TextIO

PLAIN = str.maketrans({"…": "...", "·": "-", "›": ">", "→": "->", "–": "-", "—": "-", "’": "'", "“": '"', "”": '"'})
"""Marks of our own texts, as ASCII has them."""

WRITTEN, ASCII = "memory.written", "memory_ascii"
"""The error handler and the encoding that `prepare` registers."""


def prepare() -> None:
    """
    Let standard output and standard error take every text, and standard input every byte.

    A character that the encoding does not have is written as ASCII writes it or as an escape, "\\U0001f600": a command
    must not fail by its output, least of all after it has changed something.
    """
    codecs.register_error(WRITTEN, _written)
    # What the caller has closed (`>&-`) gets a stand-in, for as long as the process lives.
    nowhere = partial(open, os.devnull, "w", encoding="utf-8")
    sys.stdout, sys.stderr = (stream or nowhere() for stream in (sys.stdout, sys.stderr))
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, WRITTEN), (sys.stderr, WRITTEN)):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
            if errors == WRITTEN and codecs.lookup(stream.encoding).name == "ascii":
                codecs.register(_ascii)
                stream.reconfigure(encoding=ASCII, errors=errors)


def unicode(stream: TextIO) -> bool:
    """Whether the encoding of a stream has every character."""
    named = stream.encoding or "ascii"  # rich's stand-in beside a bar of progress names none
    return codecs.lookup(named).name.startswith("utf")


class Heedless(io.TextIOWrapper):
    """Standard error of a process: what nobody reads, or has no room, is lost, and the command goes on."""

    first: TextIO

    def write(self, text: str, /) -> int:
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def heedless(stream: TextIO) -> TextIO:
    """The same stream, which no longer raises an `OSError`."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    same = Heedless(stream.buffer, stream.encoding, stream.errors, line_buffering=True)
    same.first = stream  # which would close the buffer when nobody holds it
    return same


def _written(error: UnicodeError) -> tuple[str, int]:
    """
    Raises:
        UnicodeError: It is no error of encoding.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(PLAIN)
    return text.encode("ascii", "backslashreplace").decode(), error.end


def _ascii(name: str) -> codecs.CodecInfo | None:
    """ASCII under a name of ours: click takes a stream of ASCII for a mistake, and writes UTF-8 to it."""
    if name != ASCII:
        return None
    same = codecs.lookup("ascii")
    return codecs.CodecInfo(
        same.encode,
        same.decode,
        same.streamreader,
        same.streamwriter,
        same.incrementalencoder,
        same.incrementaldecoder,
        ASCII,
    )
