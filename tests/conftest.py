"""What holds for every test: it depends neither on how the suite was started nor on how fast the machine is."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import signal
import ssl
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import profiles
import pytest
from provider import Provider

from memory.schema import databases

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

profiles.load()
sys.dont_write_bytecode = (
    False  # whatever $PYTHONDONTWRITEBYTECODE says: each worker would compile 300 modules in each run
)
gc.disable()  # until all tests are found: what is made till then stays

PRODUCT = str(Path(databases.__file__).parents[1]) + os.sep
MEMORY = Path("/dev/shm")  # where Linux keeps files in memory
MOUNTS = Path("/proc/self/mounts")
ROOM = 2 << 30  # bytes: what a run takes up and more; a container usually has 64 MB


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    """
    No code of the product opens a database that SQLite has open here: closing it would drop SQLite's locks. SQLite's own
    opens are no events of Python's, so every event is a fault of ours.
    """
    if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    if isinstance(arguments[2], int) and arguments[2] & os.O_EXCL:  # a new file, on which there are no locks yet
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and "/lib/python" in frame.f_code.co_filename:  # pathlib, shutil and their like
        frame = frame.f_back
    if frame is not None and frame.f_code.co_filename.startswith(PRODUCT):
        assert not databases.is_open(arguments[0]), f"{frame.f_code} opens {arguments[0]!r}, which SQLite has open"


sys.addaudithook(_guard)

# What others than we compute, the same each time: a client of httpx reads the certificates of the world (20 ms), though the
# servers of tests speak plain HTTP, and the doctor reads what each installed distribution has brought (50 ms).
ssl.create_default_context = functools.cache(ssl.create_default_context)
_brought = functools.cache(lambda _path, brought=metadata.packages_distributions: brought())
metadata.packages_distributions = lambda: _brought(tuple(sys.path))


def pytest_configure(config: pytest.Config) -> None:
    """
    Temporary folders are in memory where there is room: half of the time of a test of SQLite is waiting for a disk.

    Who names a place, by `--basetemp` or $TMPDIR, gets that one; a worker of xdist is told its own. Ours goes with the
    run, but for one that is killed.
    """
    named = config.getoption("basetemp") or any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    if named or not _roomy(MEMORY):
        return
    folder = tempfile.mkdtemp(prefix="tests-of-memory-", dir=MEMORY)
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    patch = pytest.MonkeyPatch()
    patch.setenv("TMPDIR", folder)
    patch.setattr(tempfile, "tempdir", folder)
    config.add_cleanup(patch.undo)


def _roomy(folder: Path) -> bool:
    """Whether a folder is in memory, has room for a run, and lets programs in it be run."""
    if not (MOUNTS.is_file() and os.access(folder, os.W_OK)):
        return False
    mounts = [line.split(" ") for line in MOUNTS.read_text("utf-8").splitlines()]
    found = os.statvfs(folder)
    in_memory = any(kind == "tmpfs" and place == str(folder) for _, place, kind, *_ in mounts)
    return in_memory and found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & os.ST_NOEXEC


def pytest_collection_finish() -> None:
    """The ten thousand tests stay to the end: the garbage collector need not look through them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)  # instead of 700 objects: a twelfth of the time
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: tests of servers, retries and watched folders wait for a seventh of the time."""
    return (os.cpu_count() or 1) + 1


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names of tests are the same in every process: what is packed holds the time at which it was."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A server of embeddings on this machine: a new one for each test."""
    with Provider() as running:
        yield running


ENDING = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(scope="session", autouse=True)
def _signals() -> Iterator[None]:
    """
    Signals do what they do in a terminal.

    A shell without job control starts what stands before an `&` with SIGINT ignored, and a child inherits that; Python
    then installs no handler for it. A handler of ours is not inherited: children begin with the default.
    """
    before = {number: signal.getsignal(number) for number in ENDING}
    masked = signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def zoned(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def change(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield change
    monkeypatch.undo()
    time.tzset()
