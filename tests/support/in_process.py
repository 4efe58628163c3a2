"""
A command of `memory` in the process of the tests: no interpreter is started, and nothing is imported twice.

The command sees what a process of its own would see, and leaves what such a process would leave: its output, its exit
code, and files. Whatever else it leaves fails the test. `conformance/test_command.py` holds the two against each other.
"""

from __future__ import annotations

import contextvars
import io
import logging
import math
import os
import signal
import stat
import sys
import tempfile
import threading
import warnings
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from memory.cli import main, options

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

options.EVERY = math.inf  # no line of progress depends on how fast the machine is
PATIENCE = 60  # seconds; a guard against hanging
AT_THE_START = ("PYTHON", "LC_", "LANG", "LD_", "TZ")
"""What an interpreter reads when it starts, and never again."""
DESCRIPTORS = ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/dev/tty", "/proc/self/")
DESCRIPTORS_HERE = "/proc/self/fd"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGPIPE)
STREAMS = ("stdin", "stdout", "stderr")


def run(
    arguments: Sequence[str | bytes | Path],
    stdin: bytes | None,
    env: Mapping[str, str],
    folder: Path,
    encoding: str = "",
    *,
    terminal: bool = False,
) -> tuple[int, bytes, bytes]:
    """
    The exit code, standard output and standard error. What `main` raises is raised here.

    Args:
        arguments: Beginning with the name of the program.
        stdin: None if there is no standard input.
        env: All of the environment.
        encoding: Of the standard streams, where PYTHONIOENCODING names one.
        terminal: Whether standard output and standard error say that they are one.
    """
    argv = [os.fsdecode(os.fsencode(one)) for one in arguments]
    _check(argv, env)
    with ExitStack() as around:
        around.enter_context(nothing_left())
        around.enter_context(_signals())
        around.enter_context(_place(env, folder))
        around.enter_context(_silence())
        out, err = around.enter_context(_streams(argv, stdin, encoding, Terminal if terminal else io.BytesIO))
        code = contextvars.Context().run(main, argv[1:])
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        return code, out.getvalue(), err.getvalue()


def _check(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Refuse what only a process can do."""
    here = threading.current_thread() is threading.main_thread()
    assert here, "commands at once, or beside a test, are processes: `shell.process`"
    read = [name for name in env if name.startswith(AT_THE_START)]
    assert not read, f"an interpreter reads {read} when it starts: `shell.process`"
    meant = [one for one in argv if one.startswith(DESCRIPTORS)]
    assert not meant, f"{meant} are those of the tests here: `shell.process`"
    assert not any("\0" in one for one in (*argv, *env.values())), "no process can be given a NUL"


@contextmanager
def _place(env: Mapping[str, str], folder: Path) -> Generator[None]:
    """Environment and current folder, and what the standard library keeps of them."""
    before, current, temporary = dict(os.environ), Path.cwd(), tempfile.tempdir
    adapter = sys.modules.pop("memory.vectors.adapter", None)  # the engine asks it, once somebody has imported it
    try:
        os.chdir(folder)
        _become(env)
        tempfile.tempdir = None
        yield
    finally:
        os.chdir(current)
        _become(before)
        tempfile.tempdir = temporary
        if adapter is not None:
            sys.modules["memory.vectors.adapter"] = adapter


def _become(env: Mapping[str, str]) -> None:
    for name in os.environ.keys() - env.keys():
        del os.environ[name]
    for name, value in env.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


class Terminal(io.BytesIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def _streams(
    argv: Sequence[str], stdin: bytes | None, encoding: str, sort: type[io.BytesIO]
) -> Generator[tuple[io.BytesIO, io.BytesIO]]:
    """Standard streams as Python makes them of pipes where no language is set or an encoding is, and the arguments."""
    names = [*STREAMS, *(f"__{name}__" for name in STREAMS), "argv"]
    before = {name: getattr(sys, name) for name in names}
    out, err = sort(), sort()
    name, errors = (encoding, "strict") if encoding else ("utf-8", "surrogateescape")
    streams = {
        "stdin": None if stdin is None else io.TextIOWrapper(io.BytesIO(stdin), name, errors),
        "stdout": io.TextIOWrapper(out, name, errors, newline="\n"),
        "stderr": io.TextIOWrapper(err, name, "backslashreplace", newline="\n", line_buffering=True),
    }
    try:
        sys.argv = list(argv)
        for name, stream in streams.items():
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        yield out, err
    finally:
        for name, value in before.items():
            setattr(sys, name, value)


@contextmanager
def _silence() -> Generator[None]:
    """Logging that nobody has set up, and the warnings that an interpreter shows by itself."""
    root = logging.getLogger()
    handlers, level, off = root.handlers[:], root.level, root.manager.disable
    try:
        root.handlers.clear()
        root.setLevel(logging.WARNING)
        logging.disable(logging.NOTSET)
        with warnings.catch_warnings():
            warnings.resetwarnings()
            for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
                warnings.simplefilter("ignore", category)
            warnings.showwarning = _shown
            yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.disable(off)


def _shown(message: object, category: object, file: object, line: object, *_: object) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, file, line))


@contextmanager
def _signals() -> Generator[None]:
    """Handlers as they were, and an end to what hangs."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        signal.signal(signal.SIGALRM, _hangs)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _hangs(*_: object) -> NoReturn:
    pytest.fail(f"the command has not ended after {PATIENCE} seconds")


@contextmanager
def nothing_left(patience: float = PATIENCE) -> Generator[None]:
    """
    Fail if a thread runs on, a file stays open, or the process would have been left on the spot.

    Args:
        patience: Seconds that a thread may take to end.
    """
    threads, files, leave = set(threading.enumerate()), _open(), os._exit
    try:
        os._exit = leaves
        yield
    finally:
        os._exit = leave
    for thread in set(threading.enumerate()) - threads:
        if thread.name.startswith("memory-"):  # the others are those of servers that tests have
            thread.join(patience)
            assert not thread.is_alive(), f"{thread.name} outlives the command: `shell.process`"
    # What the tests have open too may stay so: SQLite closes a file of a process when nobody there holds a lock on it.
    assert not (left := _open() - files), f"the command has left {left} open"


def leaves(code: int) -> NoReturn:
    pytest.fail(f"the command leaves the process with {code}: `shell.process`")


def _open() -> set[str]:
    """The files that this process has open: no pipes, sockets and devices."""
    found = set()
    for number in os.listdir(DESCRIPTORS_HERE) if sys.platform == "linux" else ():  # noqa: PTH208  # for each command twice
        with suppress(OSError):  # that of the listing itself
            if stat.S_ISREG(os.fstat(int(number)).st_mode):
                found.add(os.readlink(f"{DESCRIPTORS_HERE}/{number}"))  # noqa: PTH115
    return found
