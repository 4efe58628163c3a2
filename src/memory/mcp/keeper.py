"""The engine of a server that lives long: opened at the first call, and anew when the settings have changed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memory.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memory.config import Config


class Keeper:
    """
    Hands out an engine, to several threads at once.

    Another process may set another model and reindex: the settings file is looked at before each call, and an engine
    with former settings is closed as soon as nobody uses it.
    """

    def __init__(self, load: Callable[[], Config], file: str) -> None:
        """
        Args:
            load: Reads the settings.
            file: Where they are, or would be.
        """
        self._load, self._file = load, file
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._seen: tuple[int, int] | None = None
        self._users: dict[int, int] = {}  # of each engine that is open, by its identity

    @contextmanager
    def engine(self) -> Generator[Engine]:
        """
        Raises:
            ConfigError, StoreError: The settings or the database cannot be used.
        """
        engine = self._taken()
        try:
            yield engine
        finally:
            self._given_back(engine)

    def config(self) -> Config:
        """The settings in force."""
        engine = self._engine
        return engine.config if engine is not None else self._load()

    def _taken(self) -> Engine:
        with self._lock:
            seen = self._signature()
            if self._engine is None or seen != self._seen:
                self._renew()
                self._seen = seen
            engine = self._engine
            if engine is None:
                raise RuntimeError("an engine was to be opened")
            self._users[id(engine)] = self._users.get(id(engine), 0) + 1
            return engine

    def _renew(self) -> None:
        config = self._load()
        former = self._engine
        if former is not None and former.config == config:
            return
        self._engine = Engine.open(config)
        self._engine.wake()
        if former is not None and not self._users.get(id(former)):
            former.close()

    def _given_back(self, engine: Engine) -> None:
        with self._lock:
            self._users[id(engine)] -= 1
            if not self._users[id(engine)]:
                del self._users[id(engine)]
                if engine is not self._engine:
                    engine.close()

    def _signature(self) -> tuple[int, int] | None:
        try:
            found = Path(self._file).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def close(self) -> None:
        with self._lock:
            engine, self._engine = self._engine, None
            if engine is not None and not self._users.get(id(engine)):
                engine.close()
