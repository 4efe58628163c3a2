"""
Files that are being written, under names of their own, until they are whole; and what killed writers left of them.

Whoever writes one holds its lock. So one that nobody holds is left over, however young it is.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import StrPath

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
