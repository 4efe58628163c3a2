"""
A process beside, which holds the rows while a whole store is learned from: pages of passages go there, what they taught
comes back. It has no store, and writes nothing.

It is a plain interpreter with our modules at the other end of a pair of sockets: none of the program that imported us. It
ends when that pair is closed, however the process ended that started it, and what it does can be done without it.
"""

from __future__ import annotations

import os
import pickle
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from memory.schema.version import __version__
from memory.search.term_vectors.pages import Vocabulary, page_of
from memory.search.term_vectors.step import step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.embed.words import WordVectors
    from memory.search.term_vectors.known import Known
    from memory.search.term_vectors.step import Given, Made
    from memory.store import Learned

PATIENCE = 60.0
"""Seconds until a process that does not answer is given up: a page takes it a fifth of one, or on a busy machine one."""

START = 0.0
"""Seconds to wait until it has started: none, for meanwhile pages are learned from here."""

LOOK = 1.0
"""Seconds until it looks whether the process still lives that started it: a fork of that may hold the sockets open."""

_START = "import sys; sys.path[:] = sys.argv[2:]; from memory.search.term_vectors.beside import serve; serve(int(sys.argv[1]))"
_READY = crc32(f"{__version__} {np.__version__} {sys.version}".encode()).to_bytes(4, "little")
"""What it says when it has started. If other versions were installed since this process began, it says something else."""

_SILENT = getattr(socket, "MSG_NOSIGNAL", 0)
"""Without a signal to whom nobody listens: programs that print into pipes let it end them."""


class Gone(Exception):
    """The process beside has ended, or does not answer."""


class Begin(NamedTuple):
    """
    With what the process beside begins.

    Attributes:
        known, learned: What is known until then.
        stems: All stems, by their numbers.
        most: See `TermVectors.learn`.
    """

    known: Known
    learned: Learned
    stems: Sequence[str]
    most: int


class Next(NamedTuple):
    """
    A page to learn from, the one after the last.

    Attributes:
        words: The file of word vectors, how many it has, and the check sum of its list; None if there is none.
    """

    given: Given
    words: tuple[str, int, int] | None


class Taught(NamedTuple):
    """
    What came of a page.

    Attributes:
        made: Without the axes.
        stems: Those that it is the first to hold, by their numbers.
    """

    made: Made
    stems: Sequence[str]


class Beside:
    """
    The process, seen from the one that starts it.

    Raises:
        Gone: From any method but `end`.
    """

    def __init__(self) -> None:
        import subprocess

        self._ready, self._unread = False, 0
        paths = [path for path in sys.path if isinstance(path, str)]
        try:
            self._line, its = socket.socketpair()
        except OSError as error:
            raise Gone from error
        self._line.settimeout(PATIENCE)
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own interpreter
                [sys.executable, "-P", "-c", _START, str(os.getpid()), *paths],
                stdin=its.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # what it multiplies is never shared among threads
            )
        except (OSError, ValueError) as error:
            self._line.close()
            raise Gone from error
        finally:
            its.close()

    @property
    def ready(self) -> bool:
        """Whether it has started."""
        if not self._ready:
            self._line.settimeout(START)
            try:
                if self._line.recv(len(_READY)) != _READY:
                    raise Gone
            except (BlockingIOError, TimeoutError):
                return False
            except OSError as error:
                raise Gone from error
            self._line.settimeout(PATIENCE)
            self._ready = True
        return True

    def begin(self, begin: Begin) -> None:
        """From these rows on, whatever was sent before."""
        while self._unread:
            self.taught()
        self._said(begin)

    def learn(self, page: Next) -> None:
        """Let it learn from a page, while nobody waits."""
        self._said(page)
        self._unread += 1

    def taught(self) -> Taught | None:
        """What came of the page that was sent; None if the vocabulary was full before it, and has to begin anew."""
        self._unread -= 1
        try:
            taught: Taught | None = _heard(self._line)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise Gone from error
        return taught

    def _said(self, message: Begin | Next) -> None:
        try:
            _say(self._line, message)
        except OSError as error:
            raise Gone from error

    def end(self) -> None:
        """End it: it has nothing that anybody needs."""
        self._line.close()
        self._process.kill()
        self._process.wait()


def possible() -> bool:
    """
    Whether there is a second core for it, and an interpreter to start: in a program that is one file, or has Python
    inside, `sys.executable` is that program.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    interpreter = Path(sys.executable or "").name.startswith("python") and not hasattr(sys, "frozen")
    return cores > 1 and interpreter and _SILENT != 0


# In the process beside -----------------------------------------------------------


def serve(parent: int) -> None:
    """
    Learn from what comes along standard input, which is a socket, until it is closed.

    Args:
        parent: The process at its other end.
    """
    import gc
    import signal

    gc.disable()  # nothing here goes in circles, and to look for that takes a twentieth of the time
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other one
    with socket.socket(fileno=0) as line:
        line.sendall(_READY)
        rows = None
        while (message := _awaited(line, parent)) is not None:
            if isinstance(message, Begin):
                rows = _Rows(message)
            elif rows is not None:
                _say(line, rows.learn(message))


class _Rows:
    """What is known, and the axes along which it is."""

    def __init__(self, begin: Begin) -> None:
        self._known, self._learned, _, self._most = begin
        self._vocabulary = Vocabulary()
        self._vocabulary.add(begin.stems)

    def learn(self, page: Next) -> Taught | None:
        vocabulary, words = self._vocabulary, page.words and _opened(*page.words)
        if vocabulary.full:
            return None
        before = len(vocabulary.stems)
        read = page_of(page.given.said, vocabulary)
        made, taught = step(page.given, read, self._learned, self._known, vocabulary=vocabulary, words=words)
        self._known, self._learned = taught.known.without_rarest(self._most, vocabulary), made.learned
        return Taught(made._replace(learned=made.learned._replace(basis=None)), vocabulary.stems[before:])


def _opened(path: str, count: int, check: int) -> WordVectors:
    """
    Raises:
        ValueError: It is not the same file any more.
    """
    from memory.embed.words import opened

    words = opened(Path(path))
    if words is None or (words.count, words.list) != (count, check):
        raise ValueError(path)
    return words


# What both say -------------------------------------------------------------------


def _say(line: socket.socket, message: Any) -> None:
    data = pickle.dumps(message, protocol=5)
    line.sendall(len(data).to_bytes(8, "little"), _SILENT)
    line.sendall(data, _SILENT)


def _heard(line: socket.socket) -> Any:
    """
    Raises:
        EOFError: Nobody is there.
    """
    size = int.from_bytes(_read(line, 8), "little")
    return pickle.loads(_read(line, size))  # noqa: S301  # of the process that we started, or that started us


def _read(line: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    place, left = memoryview(data), size
    while left:
        count = line.recv_into(place[size - left :])
        if not count:
            raise EOFError
        left -= count
    return data


def _awaited(line: socket.socket, parent: int) -> Any:
    """The next message; None if nobody is there to send one."""
    line.settimeout(LOOK)
    while os.getppid() == parent:
        try:
            begun = line.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            continue
        line.settimeout(PATIENCE)
        return _heard(line) if begun else None
    return None
