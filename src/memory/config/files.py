"""Reads files that somebody names: never more than the caller can use, and never what has no end."""

from __future__ import annotations

import os
import stat
from errno import EFBIG, EINVAL, EISDIR, ETIMEDOUT
from typing import TYPE_CHECKING

from memory.schema.limits import BODY_LIMIT

if TYPE_CHECKING:
    from typing import BinaryIO

TEXT_BYTES = 4 * BODY_LIMIT + 3
"""Of a file with one text: UTF-8 has four bytes a character at most, and a byte order mark has three."""

SETTINGS_BYTES = 1 << 20
"""Of a file of settings or rules."""

BULK_BYTES = 1 << 30
"""Of a file with many memories, entities or questions."""

FIRST_BYTE_SECONDS = 10.0
"""How long a named pipe is waited for: a command that writes into it may need a while to begin."""

_PIECE = 1 << 20  # bytes read at once
_KERNEL = ("/proc", "/sys")  # their files have no size, and some no end
_HELD = "only files, pipes and the standard input are"


def contents(path: str | os.PathLike[str], most: int) -> bytes:
    """
    All that a file has, or a named pipe. No more than `most` + 1 bytes are ever read of it.

    Args:
        path: A link is followed. A device is read if it is the standard input, as /dev/stdin may be, or /dev/null.
        most: Bytes.

    Raises:
        OSError: It cannot be read; it is a folder, a device, or a file of /proc or /sys; it has more than `most`
            bytes; or it is a pipe that nobody writes to within `FIRST_BYTE_SECONDS`. `strerror` says which.
    """
    _check(os.stat(path), path)  # before it is opened: opening a device may do something
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        _check(found, path)
        if stat.S_ISFIFO(found.st_mode):
            _wait(descriptor, path)
        if not stat.S_ISREG(found.st_mode):
            os.set_blocking(descriptor, True)
        return bounded(file, most, str(path))


def bounded(file: BinaryIO, most: int, name: str) -> bytes:
    """
    The rest of an open file.

    Raises:
        OSError: It has more than `most` bytes.
    """
    pieces: list[bytes] = []
    left = most + 1
    while left and (piece := file.read(min(_PIECE, left))):
        pieces.append(piece)
        left -= len(piece)
    if not left:
        raise OSError(EFBIG, f"it has more than {most:,} bytes, the most that is read of it", name)
    return b"".join(pieces)


def _check(found: os.stat_result, path: str | os.PathLike[str]) -> None:
    """
    Raises:
        OSError: What is found at a path is not to be read.
    """
    name, mode = str(path), found.st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), name)
    if stat.S_ISCHR(mode) and found.st_rdev in {*_device(0), *_device(os.devnull)}:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise OSError(EINVAL, f"it is a device or a socket; {_HELD} read", name)
    if stat.S_ISREG(mode) and (kernel := _kernel(found, path)):
        raise OSError(EINVAL, f"it is a file of {kernel}, which the system makes up; {_HELD} read", name)


def _device(file: int | str) -> tuple[int, ...]:
    """The number of the device that a path or a descriptor stands for; nothing if it stands for none."""
    try:
        found = os.stat(file)
    except OSError:  # the standard input is closed
        return ()
    return (found.st_rdev,) if stat.S_ISCHR(found.st_mode) else ()


def _kernel(found: os.stat_result, path: str | os.PathLike[str]) -> str:
    """The one of `_KERNEL` that a file is of, wherever it is mounted and whatever link leads to it; else empty."""
    real = os.path.realpath(path)
    for folder in _KERNEL:
        try:
            if found.st_dev == os.stat(folder).st_dev or real.startswith(f"{folder}/"):
                return folder
        except FileNotFoundError:  # not on this system
            continue
    return ""


def _wait(pipe: int, path: str | os.PathLike[str]) -> None:
    """
    Until somebody writes into a pipe, or closes it.

    Raises:
        TimeoutError: Nobody does.
    """
    import select

    waiting = select.poll()
    waiting.register(pipe, select.POLLIN | select.POLLHUP)
    if not waiting.poll(FIRST_BYTE_SECONDS * 1000):
        raise TimeoutError(ETIMEDOUT, f"nothing came out of this pipe in {FIRST_BYTE_SECONDS:g} s", str(path))
