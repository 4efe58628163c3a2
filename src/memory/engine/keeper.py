"""
The base of our servers: a long-lived engine, and a socket that only this machine can reach.

The engine is opened at the first call, or earlier to load a slow model, and again when the settings have changed.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memory.engine import Engine
from memory.schema.errors import ConfigError, Error

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memory.config import Config

SWITCH = 1e-4
"""
Seconds for which a thread keeps the interpreter while another waits; Python's default is 5 ms. A search releases it
with
each statement: while a thread learned from a whole large store, 95 % of searches took up to 142 ms, and now take 63.
"""


class _Shared:
    """An engine and the number of its users, including the keeper. The last user closes it."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.users = engine, 1


class Keeper:
    """
    Hands out an engine, to several threads at once.

    Another process may set another model and reindex, or remove the database: both files are checked before each call,
    and an outdated engine is closed as soon as no call uses it.
    """

    def __init__(self, load: Callable[[], Config], file: str) -> None:
        """
        Args:
            load: Reads the settings.
            file: The path of the settings file, which may not exist.
        """
        sys.setswitchinterval(SWITCH)
        self._load, self._file = load, file
        self._lock = threading.Lock()
        self._shared: _Shared | None = None
        self._seen: tuple[int, int] | None = None

    @contextmanager
    def engine(self) -> Generator[Engine]:
        """
        Use the current engine; it stays open until the block ends.

        Raises:
            ConfigError, StoreError: The settings or the database cannot be used.
        """
        with self._lock:
            shared, former = self._current()
            shared.users += 1
        if former is not None:
            self._release(former)
        try:
            yield shared.engine
        finally:
            self._release(shared)

    def warm_up(self) -> None:
        """
        Load the configured model in a background thread if it runs in this process and loads slowly.

        For the default model, which loads in milliseconds, and for a server, nothing is opened.
        """
        try:
            config = self._load()
        except ConfigError:  # each call reports it
            return
        from memory.vectors.providers import LASTING, SERVERS

        if config.mcp.warm_start and config.embedding.provider not in {"none", *LASTING, *SERVERS}:
            threading.Thread(target=self._warm, name="memory-warm-up", daemon=True).start()

    def _warm(self) -> None:
        try:
            with self.engine() as engine:
                engine.vectors.warm_up()
        except Error as error:  # a search reports it
            import logging

            logging.getLogger("memory").info("the model was not loaded: %s", error)

    def config(self) -> Config:
        """The settings in force."""
        shared = self._shared
        return shared.engine.config if shared is not None else self._load()

    def _current(self) -> tuple[_Shared, _Shared | None]:
        """The engine to use, and the former one if it was replaced."""
        former, seen = self._shared, _signature(self._file)
        if former is not None and seen == self._seen and former.engine.config.begun:
            return former, None
        config = self._load()
        if former is not None and former.engine.config == config and config.begun:
            self._seen = seen
            return former, None
        shared = _Shared(Engine.open(config))
        self._shared, self._seen = shared, seen
        shared.engine.vectors.stay()
        return shared, former

    def _release(self, shared: _Shared) -> None:
        with self._lock:
            shared.users -= 1
            unused = not shared.users
        if unused:
            shared.engine.close()

    def close(self) -> None:
        """Close the engine as soon as no call uses it."""
        with self._lock:
            shared, self._shared = self._shared, None
        if shared is not None:
            self._release(shared)


def _signature(file: str) -> tuple[int, int] | None:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


# A socket, and which addresses name this machine -----------------------------------

HOST = "127.0.0.1"

_LOOPBACK = re.compile(rb"(?:127\.0\.0\.1|localhost|\[::1\]):([0-9]{1,5})")


def loopback(authority: bytes) -> int | None:
    """The port of `host:port` as a browser writes it, if the host is this machine; else None."""
    found = _LOOPBACK.fullmatch(authority)
    return int(found[1]) if found is not None and 0 < int(found[1]) <= 65_535 else None


def listening(port: int) -> socket.socket:
    """
    A socket that accepts connections from this machine.

    Args:
        port: 0 takes a free one.

    Raises:
        Error: The port is taken.
    """
    try:
        found = socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        why = os.strerror(error.errno or 0)  # the error's text would repeat the address
        raise Error(f"cannot listen on {HOST}:{port}: {why}", hint="Choose another port: --port N.") from error
    # asyncio sets this only for sockets with a protocol number, which this one lacks: an answer would wait 40 ms until
    # its headers are acknowledged. Connections inherit it.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found
