"""
Reads and writes files that a user names.

No more is read than the caller can use, and nothing endless. A written file is complete or not there at all.
No other module replaces or creates a file that a person looks at.

Until a file is whole it has a name of its own, and whoever writes it holds its lock. So one that nobody holds is left over
by a writer that was killed, however young it is.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager, suppress
from errno import EEXIST, EFBIG, EINVAL, EISDIR, ENOTDIR, ETIMEDOUT
from typing import TYPE_CHECKING, BinaryIO

from memory.schema.databases import is_open
from memory.schema.errors import BODY_LIMIT, Error, Invalid, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from _typeshed import StrPath

TEXT_BYTES = 4 * BODY_LIMIT + 3
"""Limit for a file with one text: UTF-8 has at most four bytes for a character, and a byte order mark has three."""

SETTINGS_BYTES = 1 << 20
"""Limit for a file of settings or rules."""

BULK_BYTES = 1 << 30
"""Limit for a file with many memories, entities or questions."""

FIRST_BYTE_SECONDS = 10.0
"""How long to wait for a named pipe: the command that writes into it may need a while to begin."""

_PIECE = 1 << 20  # bytes read at once
_KERNEL = ("/proc", "/sys")  # their files have no size, and some have no end
_HELD = "only files, pipes and the standard input are"


def contents(path: StrPath, most: int) -> bytes:
    """
    All bytes of a file or a named pipe. Never reads more than `most` + 1 of them.

    Args:
        path: A link is followed. Devices are read only if they are the standard input, such as /dev/stdin,
            or /dev/null.
        most: Bytes.

    Raises:
        OSError: It cannot be read; it is a folder, a device, or a file of /proc or /sys;
            it has more than `most` bytes; or it is a pipe that nobody writes to within `FIRST_BYTE_SECONDS`.
            `strerror` says which.
    """
    with opened(path) as file:
        return bounded(file, most, str(path))


@contextmanager
def opened(path: StrPath) -> Generator[BinaryIO]:
    """
    A file or a named pipe, to be read piece by piece.

    Raises:
        OSError: As in `contents`, but for how much it has.
    """
    _check(os.stat(path), path)  # before opening, which may already have an effect on a device
    _refuse_database(path)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        _check(found, path)
        if stat.S_ISFIFO(found.st_mode):
            _wait(descriptor, path)
        if not stat.S_ISREG(found.st_mode):
            os.set_blocking(descriptor, True)
        yield file


def utf8(content: bytes, name: str, refused: type[Error] = Invalid, *, mark: bool = False) -> str:
    """
    Decode bytes as UTF-8.

    Args:
        name: Where they come from, for the error.
        refused: Type of the error.
        mark: Keep a byte order mark at the beginning.

    Raises:
        Invalid: They are not UTF-8 (or `refused`).
    """
    try:
        return content.decode("utf-8" if mark else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise refused(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def standard_stream() -> BinaryIO:
    """
    Standard input as bytes.

    Raises:
        Invalid: It is closed.
    """
    if sys.stdin is None:
        raise Invalid("standard input is closed")
    return sys.stdin.buffer


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
        raise OSError(EFBIG, f"it has more than {most:,} bytes, the limit", name)
    return b"".join(pieces)


def _check(found: os.stat_result, path: StrPath) -> None:
    """
    Refuse what must not be read.

    Raises:
        OSError: It is a folder, a device, a socket, or a file that the kernel makes up.
    """
    name, mode = str(path), found.st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), name)
    if stat.S_ISCHR(mode) and found.st_rdev in {*_device(0), *_device(os.devnull)}:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise OSError(EINVAL, f"it is a device or a socket; {_HELD} read", name)
    if stat.S_ISREG(mode) and (kernel := _kernel(found, path)):
        raise OSError(EINVAL, f"it is a file of {kernel}, which the system generates; {_HELD} read", name)


def _refuse_database(path: StrPath) -> None:
    """
    Refuse what SQLite has open in this process; see `memory.schema.databases`.

    Raises:
        OSError: It is a database in use, or stands beside one for SQLite alone.
    """
    if is_open(path):
        raise OSError(EINVAL, "it is this program's own database, or a part of it", str(path))


def _device(file: int | str) -> tuple[int, ...]:
    """The number of the device behind a path or a descriptor; empty if there is none."""
    try:
        found = os.stat(file)
    except OSError:  # the standard input is closed
        return ()
    return (found.st_rdev,) if stat.S_ISCHR(found.st_mode) else ()


def _kernel(found: os.stat_result, path: StrPath) -> str:
    """Which of `_KERNEL` a file belongs to, wherever it is mounted and whatever links lead to it; empty if none."""
    real = os.path.realpath(path)
    for folder in _KERNEL:
        try:
            if found.st_dev == os.stat(folder).st_dev or real.startswith(f"{folder}/"):
                return folder
        except FileNotFoundError:  # not on this system
            continue
    return ""


def _wait(pipe: int, path: StrPath) -> None:
    """
    Wait until someone writes into a pipe, or closes it.

    Raises:
        TimeoutError: Nobody does.
    """
    import select

    waiting = select.poll()
    waiting.register(pipe, select.POLLIN | select.POLLHUP)
    if not waiting.poll(FIRST_BYTE_SECONDS * 1000):
        raise TimeoutError(ETIMEDOUT, f"this pipe sent nothing for {FIRST_BYTE_SECONDS:g} s", str(path))


@contextmanager
def new_file(
    path: StrPath, *, overwrite: bool = True, private: bool = False, check: Callable[[], None] | None = None
) -> Generator[BinaryIO]:
    """
    A file that gets its name when the block ends and all of it is on the disk.

    Readers find the old content or all of the new: after kill -9, on a full disk, after a power cut.
    A kill may leave a `.memory.….new` next to it, until somebody sweeps: see `memory.config.files`.

    Args:
        path: A link is replaced itself; to write to its target, resolve it first.
        overwrite: Replace an existing ordinary file.
        private: Only the owner may open it; else it has the mode, group and owner of what it replaces, or the usual ones.
        check: Called last, as late as possible. If it or the block raises, the old file stays.

    Raises:
        OSError: It cannot be written; `strerror` says why. FileExistsError, at once or at the end, unless `overwrite`.
    """
    target = os.fspath(path)
    _refuse_database(target)
    former = _former(target, overwrite=overwrite)
    mode = 0o600 if private or former is not None else 0o666  # the umask applies, as to every file
    beside, file = begun(target, mode)
    try:
        with file:
            if former is not None and not private:
                _make_like(beside, former)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if check is not None:
                check()
            if sys.platform == "win32":  # which renames none that is open; elsewhere one that is closed may be swept
                file.close()
            if overwrite:
                os.replace(beside, target)
            else:
                _link(beside, target)
    finally:
        with suppress(OSError):
            os.unlink(beside)


def write_file(
    path: StrPath,
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
def folders(path: StrPath, *, private: bool = False) -> Generator[None]:
    """
    Make a folder and its missing parents; they are removed again if the block raises.

    Args:
        private: Only the owner may enter the new folders.

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
            with suppress(FileExistsError):  # another process was faster
                os.mkdir(made, 0o700 if private else 0o777)
        yield
    except BaseException:
        for made in missing:
            with suppress(OSError):  # something was put there meanwhile
                os.rmdir(made)
        raise


def ordinary(path: StrPath, database: StrPath) -> Path:
    """
    The place of a file that may be written: behind all links, with `~` expanded.

    Raises:
        Invalid: It is the database, or there is something else than an ordinary file.
        OSError, RuntimeError, ValueError: No file can be there.
    """
    from pathlib import Path

    file, kept, name = Path(path).expanduser().resolve(), Path(database).resolve(), printable(str(path))
    if file.parent == kept.parent and file.name.startswith(kept.name):  # its log belongs to it
        raise Invalid(f"{name} is the database", hint="Choose another name.")
    # A link that is still one points to itself, in the end: since Python 3.13 `resolve` says nothing of it.
    if file.is_symlink() or (file.exists() and not file.is_file()):
        raise Invalid(f"cannot write {name}: it is not a regular file", hint="Choose another name.")
    return file


@contextmanager
def locked(path: str) -> Generator[None]:
    """
    Hold a folder's lock, so that one process writes at a time; Windows locks no folders,
    so it is not held there.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    folder = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems lock no folders either
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def read_only(path: StrPath) -> bool:
    """
    Whether the mode of a file or folder forbids writing, even where root could write.

    Raises:
        OSError: It does not exist.
    """
    return not os.stat(path).st_mode & 0o222 or not os.access(path, os.W_OK)


def _former(target: str, *, overwrite: bool) -> os.stat_result | None:
    """
    The ordinary file that another will replace; None if there is none, or a link.

    Raises:
        OSError: It cannot be examined; or it must not be replaced, like a folder or a device,
            which root could replace.
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
        raise OSError(EINVAL, "it is not a regular file", target)
    return found


def _make_like(beside: str, former: os.stat_result) -> None:
    """Give a file the mode, the group and the owner of the one it will replace."""
    os.chmod(beside, former.st_mode & 0o777)
    if sys.platform != "win32":
        for owner, group in ((-1, former.st_gid), (former.st_uid, -1)):
            with suppress(OSError):  # only root can give a file away, and only to users that its container knows
                os.chown(beside, owner, group)


def _link(beside: str, target: str) -> None:
    """Give a file its name unless that is taken. Without hard links, an empty file holds the name for a moment."""
    try:
        os.link(beside, target)
    except FileExistsError:
        raise
    except OSError:  # FAT and some network file systems have no hard links
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            os.replace(beside, target)
        except BaseException:
            os.unlink(target)
            raise


# Files that are being written --------------------------------------------------

_BEGIN, _END = ".memory.", ".new"


def begun(target: str, mode: int) -> tuple[str, BinaryIO]:
    """
    A new file beside another, and its path. No `sweep` removes it as long as it is open.

    Raises:
        OSError: It cannot be made.
    """
    while True:
        path = os.path.join(os.path.dirname(target), f"{_BEGIN}{os.urandom(8).hex()}{_END}")
        file = open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115  # handed on
        _hold(file)
        if os.path.exists(path):  # else it was swept between the two
            return path, file
        file.close()


def left_over(name: str) -> bool:
    """Whether a file of this name is being written, or was."""
    return name.startswith(_BEGIN) and name.endswith(_END)


def remove_left_over(path: StrPath) -> None:
    """Remove such a file, unless somebody still writes it; one that cannot be removed, or locked, stays."""
    with suppress(OSError):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return
        if sys.platform == "win32":  # which removes none that is open
            os.unlink(path)
            return
        import fcntl

        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)


def sweep(folder: StrPath) -> None:
    """Remove what killed writers left in a folder, if it is there."""
    with suppress(OSError):
        for name in filter(left_over, os.listdir(folder)):
            remove_left_over(os.path.join(folder, name))


def _hold(file: BinaryIO) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    with suppress(OSError):  # some network file systems lock nothing: there it is never swept
        fcntl.flock(file, fcntl.LOCK_EX)
