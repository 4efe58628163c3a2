"""Folders for copies of what is kept, which are not to outlive their process."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from memory.schema import holder

PREFIX = "memory-"
OWNER = ".holder"
"""The file in each that says whose it is."""

_made: dict[str, int] = {}
"""Those there are, each with the id of its process: a child that was forked has none of them."""


def made() -> str:
    """
    A new folder that only its owner may open. Those of processes that have ended are taken away first: whoever was
    killed could not.

    Raises:
        OSError: It cannot be made.
    """
    from tempfile import gettempdir, mkdtemp

    _swept(gettempdir())
    folder = mkdtemp(prefix=PREFIX)  # 0700
    _made[folder] = os.getpid()
    Path(folder, OWNER).write_text(str(holder.own()), "ascii")
    return folder


def removed(folder: str) -> None:
    """Take a folder away with all that is in it."""
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)
    _made.pop(folder, None)


def cleared() -> None:
    """Take away all that this process has made, as before an end that closes nothing."""
    for folder in [folder for folder, process in list(_made.items()) if process == os.getpid()]:
        removed(folder)


def _swept(place: str) -> None:
    if os.name != "posix":  # no other process is known there to have ended; see `holder.fate`
        return
    for folder in Path(place).glob(f"{PREFIX}*"):
        with suppress(OSError, UnicodeDecodeError):  # somebody else's, gone meanwhile, or none of ours
            mine = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if mine and holder.fate(holder.parsed(Path(folder, OWNER).read_text("ascii"))) is holder.Fate.ENDED:
                removed(str(folder))
