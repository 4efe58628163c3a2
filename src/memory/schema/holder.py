"""
Who has begun something: a process, told from every other there ever was, and whether it still runs; and what became of
the chunks that waited for a vector while others had begun some of them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

_GONE = "gone"


class Fate(StrEnum):
    """What became of a process."""

    RUNS = "runs"
    ENDED = "ended"
    ELSEWHERE = "elsewhere"
    """On another machine, or on this one before it was restarted, or in another container: nobody here can tell."""


class Holder(NamedTuple):
    """
    A process.

    Attributes:
        machine: This start of this machine, and the container in it; the name of the machine where neither is told.
        process: Its id there.
        started: When it was started, in ticks since the machine was: ids are used again. Empty where it is not told.
    """

    machine: str
    process: int
    started: str

    def __str__(self) -> str:
        return f"{self.machine} {self.process} {self.started}"


def own() -> Holder:
    """The process that asks."""
    return Holder(_machine(), os.getpid(), _started(os.getpid()))


def parsed(text: str) -> Holder | None:
    """From `str(holder)`; None for any other text."""
    match text.split(" "):
        case [machine, process, started] if process.isascii() and process.isdigit() and len(process) < 19:
            return Holder(machine, int(process), started)
    return None


def fate(holder: Holder | None) -> Fate:
    """
    Whether it still runs. What cannot be known for certain to have ended has not.

    Windows tells too little without more than the standard library, and `os.kill` ends processes there: what another
    process has begun there was begun elsewhere.
    """
    if holder is None or holder.machine != _machine():
        return Fate.ELSEWHERE
    if os.name != "posix":
        return Fate.RUNS if holder.process == os.getpid() else Fate.ELSEWHERE
    return Fate.ENDED if _ended(holder) else Fate.RUNS


def _ended(holder: Holder) -> bool:
    try:
        with suppress(PermissionError):  # somebody else's, so there is one
            os.kill(holder.process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    started = _started(holder.process)
    return started == _GONE or (bool(started and holder.started) and started != holder.started)


def _machine() -> str:
    """One word."""
    try:
        boot, container = (
            Path("/proc/sys/kernel/random/boot_id").read_text("ascii"),
            Path("/proc/self/ns/pid").readlink(),
        )
    except OSError:  # no Linux
        from platform import node

        return "-".join(node().split())
    return f"{boot.strip()}/{container}"


def _started(process: int) -> str:
    """When a process was started; `_GONE` if only its exit code is left of it, empty if that is not told."""
    try:
        stat = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return ""
    state, *rest = stat.rpartition(b")")[2].split()  # its name may hold blanks and brackets
    # Fields 3 and 22 of https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    return _GONE if state in (b"Z", b"X") else rest[18].decode()


class Held(NamedTuple):
    """
    What others had begun to embed.

    Attributes:
        holder: Which process; None if that is not known.
        fate: What became of it; chunks of one that has ended were free at once.
        until: When the others are free again, if nothing comes of it.
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
        return f"{process} began to embed {chunks} {place}; they are free at {self.until:%H:%M:%S} UTC"


class Backfilled(NamedTuple):
    """
    Attributes:
        embedded: Chunks that got a vector.
        failed: Chunks whose text the model did not take.
        left: Chunks that still wait, the failed ones among them.
        error: The latest reason for a failure.
        more: The time was over before all was done.
        model: Provider and model that embedded.
        held: What others had begun, as far as that was in the way.
    """

    embedded: int = 0
    failed: int = 0
    left: int = 0
    error: str = ""
    more: bool = False
    model: str = ""
    held: tuple[Held, ...] = ()
