"""The stores that every suite runs against. Another one is tested by all suites as soon as it has a line in `STORES`."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import postgres
from sound import sound

from memory.store.sqlite import SqliteStore
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from memory.store import Store


@contextmanager
def ram(_folder: Path) -> Iterator[Store]:
    yield RamStore()


@cache
def _empty() -> bytes:
    """The file of a new store."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        SqliteStore(path).close()
        return path.read_bytes()


def new(folder: Path) -> SqliteStore:
    """A store on a file of its own, which is copied: making its tables takes four times as long."""
    path = folder / "memory.db"
    path.write_bytes(_empty())
    return SqliteStore(path)


@contextmanager
def sqlite(folder: Path) -> Iterator[Store]:
    path = folder / "memory.db"
    store = new(folder)
    yield store
    sound(path)  # while it is open, as another process would see it
    store.close()
    sound(path)


@contextmanager
def server(_folder: Path) -> Iterator[Store]:
    with postgres.opened() as store:
        yield store


STORES: dict[str, Callable[[Path], AbstractContextManager[Store]]] = {"ram": ram, "sqlite": sqlite}
if postgres.URL:  # `make test-postgres`
    STORES["postgres"] = server
