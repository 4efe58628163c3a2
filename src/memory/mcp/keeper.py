"""The engine of a server that lives long: opened at the first call (or to load a model that takes long), and anew when the settings have changed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memory.engine import Engine
from memory.schema.errors import ConfigError, Error

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memory.config.config import Config


class Keeper:
    """
    Hands out an engine, to several threads at once.

    Another process may set another model and reindex, or take the database away: both files are looked at before each
    call, and an engine that is out of date is closed as soon as nobody uses it.
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
        with self._lock:
            engine, former = self._current()
            self._users[id(engine)] = self._users.get(id(engine), 0) + 1
        if former is not None:
            former.close()
        try:
            yield engine
        finally:
            self._given_back(engine)

    def warm_up(self) -> None:
        """
        Load a model that takes long in a thread beside, if the settings name one that runs in this process.

        The default model is there in milliseconds, and a server's is not asked for nothing: for those nothing is opened.
        """
        try:
            config = self._load()
        except ConfigError:  # each call says so
            return
        from memory.embed.providers import LASTING, SERVERS

        if config.mcp.warm_start and config.embedding.provider not in {"none", *LASTING, *SERVERS}:
            threading.Thread(target=self._warm, name="memory-warm-up", daemon=True).start()

    def _warm(self) -> None:
        try:
            with self.engine() as engine:
                engine.vectors.warm_up()
        except Error as error:  # whoever searches is told by the search
            import logging

            logging.getLogger("memory").info("the model was not loaded: %s", error)

    def config(self) -> Config:
        """The settings in force."""
        engine = self._engine
        return engine.config if engine is not None else self._load()

    def _current(self) -> tuple[Engine, Engine | None]:
        """The engine to use, and the former one if it is to be closed."""
        former, seen = self._engine, _signature(self._file)
        if former is not None and seen == self._seen and Path(former.config.database).exists():
            return former, None
        config = self._load()
        if former is not None and former.config == config and Path(config.database).exists():
            self._seen = seen
            return former, None
        engine = Engine.open(config)
        self._engine, self._seen = engine, seen
        engine.vectors.wake()
        return engine, former if former is not None and not self._users.get(id(former)) else None

    def _given_back(self, engine: Engine) -> None:
        with self._lock:
            self._users[id(engine)] -= 1
            if self._users[id(engine)]:
                return
            del self._users[id(engine)]
            out_of_date = engine is not self._engine
        if out_of_date:
            engine.close()

    def close(self) -> None:
        """Close the engine if nobody uses it; else whoever does closes it."""
        with self._lock:
            engine, self._engine = self._engine, None
            idle = engine is not None and not self._users.get(id(engine))
        if engine is not None and idle:
            engine.close()


def _signature(file: str) -> tuple[int, int] | None:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
