"""
Nothing that this process does drops the locks that SQLite holds: no code of ours opens and closes a file that SQLite has open.

`tests/conftest.py` watches the opens of all tests that run in their own process; here the kernel is asked.
"""

from __future__ import annotations

import os
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from memory import Config, Draft, Engine
from memory.cli import main
from memory.config.files import contents, write_file
from memory.schema import databases
from memory.schema.query import Mode, Query
from memory.store.sqlite.frozen import Frozen
from memory.store.sqlite.opening import create, missing
from memory.vectors import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOCKS = Path("/proc/locks")

pytestmark = pytest.mark.skipif(not LOCKS.exists(), reason="this system has no /proc/locks")


TRANSACTIONS = range(120, 128)


def locks(path: Path) -> set[tuple[str, ...]]:
    """
    What this process holds of a database and its companions as long as it is open: file, kind of lock, first and last byte.

    Left out is what a transaction holds, in a thread that learns, too: https://www.sqlite.org/walformat.html#wal_locks.
    """
    files = {ending: Path(f"{path}{ending}") for ending in ("", "-wal", "-shm")}
    places = {str(file.stat().st_ino): ending for ending, file in files.items() if file.exists()}
    lines = [line.split() for line in LOCKS.read_text("ascii").splitlines()]
    return {
        (places[inode], kind, first, last)
        for _, _, _, kind, process, place, first, last in (
            line for line in lines if len(line) == 8
        )  # not those who wait
        if process == str(os.getpid())
        and (inode := place.rpartition(":")[2]) in places
        and not (places[inode] == "-shm" and int(first) in TRANSACTIONS)
    }


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return replace(
        Config(),
        home=str(tmp_path / "home"),
        embedding=replace(Config().embedding, provider="hashed", model="hashed-64"),
    )


@pytest.fixture
def engine(config: Config) -> Iterator[Engine]:
    with Engine.open(config) as opened:
        opened.save(Draft(title="first", what="alpha"))
        yield opened


def _second(engine: Engine) -> None:
    with Engine.open(engine.config) as other:
        other.search("alpha")


def _thread(engine: Engine) -> None:
    thread = threading.Thread(target=engine.search, args=("alpha",))
    thread.start()
    thread.join()


def _folder(engine: Engine) -> None:
    assert main(["import", engine.config.home, "--home", engine.config.home]) in {0, 1, 2}


def _named(engine: Engine) -> None:
    for ending in ("", "-wal", "-shm"):
        with pytest.raises(OSError, match="this program's own database"):
            contents(f"{engine.config.database}{ending}", 100)


def _linked(engine: Engine) -> None:
    folder = Path(engine.config.home).parent / "vault"
    folder.mkdir()
    (folder / "page.md").hardlink_to(engine.config.database)
    (folder / "other.md").symlink_to(f"{engine.config.database}-shm")
    for name in ("page.md", "other.md"):
        with pytest.raises(OSError, match="this program's own database"):
            contents(folder / name, 100)
    assert main(["import", str(folder), "--home", engine.config.home]) in {0, 1, 2}


def _frozen(engine: Engine) -> None:
    frozen = Frozen(engine.config.database)
    assert frozen._folder  # it was copied, for its log is not empty
    frozen.close()


def _created(engine: Engine) -> None:
    create(engine.config.database)


def _measured(engine: Engine) -> None:
    with engine.store._db.read() as db:  # type: ignore[attr-defined]
        assert missing(db, engine.config.database) == 0


OPERATIONS: dict[str, Callable[[Engine], object]] = {
    "save": lambda engine: engine.save(Draft(title="second", what="beta", body="gamma\n\n" * 40)),
    "search": lambda engine: engine.search(Query("alpha", mode=Mode.HYBRID)),
    "update": lambda engine: engine.update(1, why="because"),
    "delete": lambda engine: engine.delete(1),
    "purge": lambda engine: engine.delete(1, purge=True),
    "undo": lambda engine: engine.trash.undo(engine.trash.last(1), lambda _done, _all: None),
    "reindex": lambda engine: engine.reindex(),
    "embed": lambda engine: engine.embed(),
    "status": lambda engine: engine.status(),
    "doctor": lambda engine: list(engine.doctor(fix=True)),
    "tidy": lambda engine: words.tidy(engine.store),
    "learn": lambda engine: engine.vectors.learn(whole=True, going=lambda: True),
    "a second engine": _second,
    "a thread that ends": _thread,
    "import of the folder": _folder,
    "the database named": _named,
    "the database linked": _linked,
    "a copy of what may not be written": _frozen,
    "make a file that is there": _created,
    "measure the file": _measured,
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_no_operation_drops_a_lock(engine: Engine, operation: Callable[[Engine], object]) -> None:
    before = locks(Path(engine.config.database))

    operation(engine)

    assert {ending for ending, *_ in before} == {"", "-shm"}
    assert before <= locks(Path(engine.config.database))


def test_the_kernel_shows_a_lock_that_is_dropped(engine: Engine) -> None:
    before = locks(Path(engine.config.database))

    os.close(os.open(f"{engine.config.database}-shm", os.O_RDONLY))

    assert not before <= locks(Path(engine.config.database))


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_nothing_is_written_in_place_of_a_database_that_is_open(engine: Engine, ending: str) -> None:
    database = Path(engine.config.database)
    before = databases.identity(database)

    with pytest.raises(OSError, match="this program's own database"):
        write_file(f"{database}{ending}", b"x")

    assert databases.identity(database) == before
    assert engine.search("alpha").hits


def test_a_database_that_was_closed_may_be_read(config: Config) -> None:
    with Engine.open(config) as engine:
        engine.save(Draft(title="first", what="alpha"))

    assert contents(config.database, 1 << 22).startswith(b"SQLite format 3")


def test_pages_that_stand_in_the_log_alone_are_not_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(apsw.Connection(str(path))) as db:
        db.pragma("journal_mode", "wal")
        db.execute("create table a (b); insert into a select randomblob(90000)")

        assert path.stat().st_size < 9000
        assert missing(db, str(path)) == 0
