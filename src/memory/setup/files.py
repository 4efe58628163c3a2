"""Settings files of others: read, kept beside, replaced in one step, and never written over what somebody else just wrote."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memory.errors import ConfigError

BACKUP = ".before-memory"
"""What the copy of a file is called that was made before ours came into it."""


class Seen(NamedTuple):
    """
    A file as it was read.

    Attributes:
        path: As the agent knows it; a link stays one.
        target: What is read and replaced.
        data: None if there is no file.
    """

    path: Path
    target: Path
    data: bytes | None

    @property
    def text(self) -> str:
        """
        With byte order mark and line ends; empty if there is no file.

        Raises:
            ConfigError: It is not UTF-8.
        """
        try:
            return (self.data or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{self.path} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def seen(path: Path) -> Seen:
    """
    Raises:
        ConfigError: It is there and cannot be read, or is no file.
    """
    target = Path(os.path.realpath(path))
    try:
        return Seen(path, target, target.read_bytes())
    except FileNotFoundError:
        return Seen(path, target, None)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error


def backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def before(path: Path) -> str | None:
    """What the file said before ours came into it, if a copy was kept that can be read."""
    try:
        return backup(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def check_writable(file: Seen) -> None:
    """
    Say now what writing would only say later, when another file has been changed already.

    Raises:
        ConfigError: The file or its folder is read-only, or the file is no ordinary one.
    """
    if file.data is not None:
        mode = file.target.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ConfigError(f"cannot write {file.path}: it is no ordinary file")
        if not mode & 0o222 or not os.access(file.target, os.W_OK):  # root may write to everything
            raise ConfigError(
                f"{file.path} is read-only", hint="Allow writing to it, or change it where it comes from."
            )
    folder = next(parent for parent in file.target.parents if parent.exists())
    if not folder.stat().st_mode & 0o222 or not os.access(folder, os.W_OK):
        raise ConfigError(f"cannot write {file.path}: the folder {folder} is read-only", hint="Allow writing to it.")


def write(file: Seen, text: str, *, private: bool) -> None:
    """
    Replace a file, or make it.

    Args:
        private: Whether a new file and its new folders are for the user alone: 0600 and 0700. A file that is there
            keeps its mode and owner.

    Raises:
        ConfigError: It cannot be written, or somebody else changed it since it was read; it was not touched.
    """
    beside = file.target.with_name(f".{file.target.name}.{os.getpid()}.new")
    try:
        _make_folder(file.target.parent, private=private)
        with suppress(FileNotFoundError):
            beside.unlink()
        mode = 0o600 if private or file.data is not None else 0o666
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as opened:
            if file.data is not None:
                _make_like(beside, file.target)
            opened.write(text.encode())
            opened.flush()
            os.fsync(opened.fileno())
        _check_unchanged(file)
        beside.replace(file.target)
    except OSError as error:
        raise ConfigError(f"cannot write {file.path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            beside.unlink()


def remove(file: Seen) -> None:
    """
    Raises:
        ConfigError: It cannot be removed, or somebody else changed it since it was read.
    """
    _check_unchanged(file)
    try:
        file.target.unlink()
    except OSError as error:
        raise ConfigError(f"cannot remove {file.path}: {error.strerror}") from error


def keep(file: Seen) -> Path | None:
    """
    Copy a file beside itself, for its owner only, in place of an older copy. None if there is no file.

    Raises:
        ConfigError: The copy cannot be written.
    """
    if file.data is None:
        return None
    copy = backup(file.path)
    write(seen(copy), file.text, private=True)
    return copy


def _check_unchanged(file: Seen) -> None:
    if seen(file.path).data != file.data:
        raise ConfigError(
            f"{file.path} was changed by somebody else just now; it was not touched",
            hint="Close the agent if it is running, and try again.",
        )


def _make_folder(folder: Path, *, private: bool) -> None:
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(mode=0o700 if private else 0o777, exist_ok=True)


def _make_like(beside: Path, target: Path) -> None:
    """Give a new file the mode, the group and the owner of the one it is going to replace."""
    was = target.stat()
    beside.chmod(stat.S_IMODE(was.st_mode))
    if sys.platform != "win32":
        for owner, group in ((-1, was.st_gid), (was.st_uid, -1)):
            with suppress(OSError):  # only root can give a file away, and only to those its container knows
                os.chown(beside, owner, group)
