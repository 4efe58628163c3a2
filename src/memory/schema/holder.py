"""
Processes, identified so that no other process ever has the same identity, and whether they still run; the result of
embedding queued chunks that other processes may have claimed; and folders that are removed with their process.
"""

from __future__ import annotations

import os
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.moments import second

if TYPE_CHECKING:
    from datetime import datetime


_GONE = "gone"


class Fate(StrEnum):
    """What became of a process."""

    RUNS = "runs"
    ENDED = "ended"
    ELSEWHERE = "elsewhere"
    """
    On another machine, in another container, or on this machine before a restart: this process cannot find out more.
    """


class Holder(NamedTuple):
    """
    A process.

    Attributes:
        machine: Identifies this boot of this machine and its container; the machine's name where the system has no such
            ids.
        process: Its process id there.
        started: When it started, in ticks since boot, because process ids are reused; empty if the system does not say.
    """

    machine: str
    process: int
    started: str

    def __str__(self) -> str:
        return f"{self.machine} {self.process} {self.started}"


def own() -> Holder:
    """The current process."""
    return Holder(_machine(), os.getpid(), _started(os.getpid()))


def parsed(text: str) -> Holder | None:
    """The holder from `str(holder)`; None for any other text."""
    match text.split(" "):
        case [machine, process, started] if process.isascii() and process.isdigit() and len(process) < 19:
            return Holder(machine, int(process), started)
    return None


def fate(holder: Holder | None) -> Fate:
    """
    Whether a process still runs. It counts as ended only if that is certain.

    On Windows every other process is ELSEWHERE: the standard library offers no check, and `os.kill` would end it.
    """
    if holder is None or holder.machine != _machine():
        return Fate.ELSEWHERE
    if os.name != "posix":
        return Fate.RUNS if holder.process == os.getpid() else Fate.ELSEWHERE
    return Fate.ENDED if _ended(holder) else Fate.RUNS


def _ended(holder: Holder) -> bool:
    try:
        with suppress(PermissionError):  # another user's process, so it exists
            os.kill(holder.process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    started = _started(holder.process)
    return started == _GONE or (bool(started and holder.started) and started != holder.started)


def _machine() -> str:
    """An id of this boot and container, without spaces."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        from platform import node

        return "-".join(node().split())


def _started(process: int) -> str:
    """When a process started; `_GONE` if only its exit code is left, empty if the system does not say."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return ""
    state, *rest = stat.rpartition(b")")[2].split()  # the process name before may contain spaces and brackets
    # Fields 3 and 22 of https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    return _GONE if state in (b"Z", b"X") else rest[18].decode()


class HeldChunks(NamedTuple):
    """
    Chunks that another process has claimed in order to embed them.

    Attributes:
        holder: That process; None if unknown.
        fate: Whether it still runs. The claim of a process that has ended is ignored.
        until: When the claim expires, UTC.
    """

    chunks: int
    holder: Holder | None
    fate: Fate
    until: datetime

    def __str__(self) -> str:
        chunks = "1 chunk" if self.chunks == 1 else f"{self.chunks:,} chunks"
        process = "a process" if self.holder is None else f"process {self.holder.process}"
        match self.fate:
            case Fate.ENDED:
                return f"{chunks} that {process} had begun to embed were free at once: it has ended"
            case Fate.RUNS:
                return f"{process} on this machine is embedding {chunks}"
        place = "on another machine, in another container or before this machine was restarted"
        return f"{process} began to embed {chunks} {place}; they are free at {second(self.until)}"


class Backfilled(NamedTuple):
    """
    The result of embedding waiting chunks.

    Attributes:
        embedded: Number of chunks that got a vector.
        failed: Number of chunks whose text the model refused.
        left: Number of chunks that still wait, including the failed ones.
        error: The reason of the latest failure.
        more: Whether the time ran out before all were done.
        model: Provider and model used.
        held: Chunks that were skipped because other processes have claimed them.
        background: Whether a thread of this program continues with the rest.
    """

    embedded: int = 0
    failed: int = 0
    left: int = 0
    error: str = ""
    more: bool = False
    model: str = ""
    held: tuple[HeldChunks, ...] = ()
    background: bool = False


# Folders for temporary copies of the store, removed with their process ------


PREFIX = "memory-"
OWNER = ".holder"
"""The file in each folder that names its owner."""

_made: dict[str, int] = {}
"""The existing folders, each with the id of the process that made it: a forked child owns none of them."""


def new_folder() -> str:
    """
    Make a folder that only its owner may open. Folders of processes that have ended are removed first: a killed process
    could not remove its own.

    Raises:
        OSError: The folder cannot be made.
    """
    from tempfile import gettempdir, mkdtemp

    _swept(gettempdir())
    folder = mkdtemp(prefix=PREFIX)  # 0700
    _made[folder] = os.getpid()
    Path(folder, OWNER).write_text(str(own()), "ascii")
    return folder


def remove_folder(folder: str) -> None:
    """Remove a folder with its contents."""
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)
    _made.pop(folder, None)


def remove_folders() -> None:
    """Remove all folders that this process has made; for an exit that closes nothing else."""
    for folder in [folder for folder, process in list(_made.items()) if process == os.getpid()]:
        remove_folder(folder)


def _swept(place: str) -> None:
    if os.name != "posix":  # Windows cannot tell which processes have ended; see `fate`
        return
    for folder in Path(place).glob(f"{PREFIX}*"):
        with suppress(OSError, UnicodeDecodeError):  # another user's, removed meanwhile, or not made by us
            mine = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if mine and fate(parsed(Path(folder, OWNER).read_text("ascii"))) is Fate.ENDED:
                remove_folder(str(folder))
