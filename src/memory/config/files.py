"""
Reads and writes files that somebody names. Never more is read than the caller can use, and never what has no end; what
is written is there whole or not at all. Nothing else in this product replaces or makes a file that a person looks at.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager, suppress
from errno import EEXIST, EFBIG, EINVAL, EISDIR, ENOTDIR, ETIMEDOUT
from typing import TYPE_CHECKING

from memory.schema.errors import Invalid
from memory.schema.limits import BODY_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import BinaryIO

    from memory.schema.errors import Error

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


def utf8(content: bytes, name: str, refused: type[Error] = Invalid, *, mark: bool = False) -> str:
    """
    What bytes say as UTF-8.

    Args:
        name: Where they come from, for the error.
        mark: Whether a byte order mark at their beginning stays.

    Raises:
        Invalid: They are not UTF-8; the error's type is `refused`.
    """
    try:
        return content.decode("utf-8" if mark else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise refused(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}") from error


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


@contextmanager
def new_file(
    path: str | os.PathLike[str],
    *,
    overwrite: bool = True,
    private: bool = False,
    check: Callable[[], None] | None = None,
) -> Generator[BinaryIO]:
    """
    A file that takes its name when the block ends and all of it is on the disk. Whoever reads it finds what was there
    or all that is new: after kill -9, on a full disk, without power. A kill may leave a `.memory.….new` beside it.

    Args:
        path: A link is replaced itself: whoever wants to follow it resolves it first.
        overwrite: Take the place of an ordinary file that is there.
        private: Only its owner may open it; else rights, group and owner are the replaced file's, or a new one's usual.
        check: Called last, as late as can be. What it raises, or the block does, leaves what was there.

    Raises:
        OSError: It cannot be written; `strerror` says why. FileExistsError, at once or at the end: `overwrite` is False.
    """
    target = os.fspath(path)
    former = _former(target, overwrite=overwrite)
    beside = os.path.join(os.path.dirname(target), f".memory.{os.urandom(8).hex()}.new")
    mode = 0o600 if private or former is not None else 0o666  # the umask takes its part, as from every file
    try:
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if former is not None and not private:
                _make_like(beside, former)
            yield file
            file.flush()
            os.fsync(file.fileno())
        if check is not None:
            check()
        if overwrite:
            os.replace(beside, target)
        else:
            _link(beside, target)
    finally:
        with suppress(OSError):
            os.unlink(beside)


def write_file(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    overwrite: bool = True,
    private: bool = False,
    check: Callable[[], None] | None = None,
) -> None:
    """See `new_file`."""
    with new_file(path, overwrite=overwrite, private=private, check=check) as file:
        file.write(data)


@contextmanager
def folders(path: str | os.PathLike[str], *, private: bool = False) -> Generator[None]:
    """
    Make a folder and those above it that are missing; they are taken away again if the block raises.

    Args:
        private: Only their owner may enter those that are made.

    Raises:
        OSError: One cannot be made.
    """
    missing: list[str] = []
    folder = os.path.abspath(path)
    while not os.path.exists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise NotADirectoryError(ENOTDIR, f"{os.path.basename(folder)} is a file", folder)
    try:
        for made in reversed(missing):
            with suppress(FileExistsError):  # somebody else was faster
                os.mkdir(made, 0o700 if private else 0o777)
        yield
    except BaseException:
        for made in missing:
            with suppress(OSError):  # somebody else has put something there
                os.rmdir(made)
        raise


def read_only(path: str | os.PathLike[str]) -> bool:
    """
    Whether the rights of a file or folder forbid writing, also where root could all the same.

    Raises:
        OSError: It is not there.
    """
    return not os.stat(path).st_mode & 0o222 or not os.access(path, os.W_OK)


def _former(target: str, *, overwrite: bool) -> os.stat_result | None:
    """
    The ordinary file that stands where another is to be; None if there is none.

    Raises:
        OSError: Nobody can know; or what is there is not to be replaced, as a folder or a device, which root could.
    """
    try:
        found = os.lstat(target)
    except FileNotFoundError:
        return None
    if not overwrite:
        raise FileExistsError(EEXIST, os.strerror(EEXIST), target)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), target)
    if stat.S_ISLNK(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(EINVAL, "it is no ordinary file", target)
    return found


def _make_like(beside: str, former: os.stat_result) -> None:
    """Give a file the rights, the group and the owner of the one it is going to replace."""
    os.chmod(beside, former.st_mode & 0o777)
    if sys.platform != "win32":
        for owner, group in ((-1, former.st_gid), (former.st_uid, -1)):
            with suppress(OSError):  # only root can give a file away, and only to those its container knows
                os.chown(beside, owner, group)


def _link(beside: str, target: str) -> None:
    """Give a file its name unless that is taken. Without links it is taken by an empty file for a moment."""
    try:
        os.link(beside, target)
    except FileExistsError:
        raise
    except OSError:  # FAT and some network file systems have no links
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            os.replace(beside, target)
        except BaseException:
            os.unlink(target)
            raise
