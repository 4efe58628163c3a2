"""No room: what is acknowledged stays, each sentence says what is kept, and room can be made from inside."""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from disks import fill, mounted

from memory.carry.formats.items import Item
from memory.config import Config, EmbeddingSettings
from memory.engine import Engine
from memory.engine.importing import Importer
from memory.schema.draft import Draft
from memory.schema.errors import StoreFull
from memory.store.sqlite import SqliteStore
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def note(number: int, words: int = 200) -> Draft:
    chosen = random.Random(number)
    return Draft(title=f"note {number}", body=" ".join(f"w{chosen.randrange(50_000)}" for _ in range(words)))


def opened(store: SqliteStore) -> Engine:
    return Engine(store, Config(embedding=EmbeddingSettings(provider="none")), lasting=False)


class Filling(HashedEmbedder):
    """An embedder whose first text takes the last room of the database's disk."""

    store: SqliteStore

    def embed(self, texts: Sequence[str], role: str) -> object:
        db = self.store._db.connection
        db.pragma("max_page_count", db.pragma("page_count"))
        return super().embed(texts, role)


@pytest.fixture
def filling(tmp_path: Path) -> Iterator[Engine]:
    """An engine that has room for what is kept, and none for vectors."""
    embedder = Filling(512)
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        embedder.store = store
        yield Engine(store, Config(), embedder=embedder, lasting=False)


def test_an_import_that_has_no_room_for_vectors_says_that_all_is_kept(filling: Engine) -> None:
    done = Importer(filling, None).take(Item(note(number, 400), uid=f"{number:032x}") for number in range(150))
    (notice,) = filling.maintenance.catch_up()

    assert done.sum.saved == filling.store.counts().memories == 150
    assert notice.text.startswith("saved and found by keyword; not embedded yet: no room left")
    assert "Nothing" not in notice.text + notice.hint
    assert filling.store.counts().queued


def test_an_import_that_ends_for_lack_of_room_says_how_much_is_kept(tmp_path: Path) -> None:
    def items() -> Iterator[Item]:
        for number in range(400):
            if number == 250:
                db = engine.store._db.connection
                db.pragma("max_page_count", db.pragma("page_count"))
            yield Item(note(number), uid=f"{number:032x}")

    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        engine = opened(store)
        with pytest.raises(StoreFull, match="no room left") as caught:
            Importer(engine, None).take(items())

        assert store.counts().memories == 200
        assert (
            caught.value.hint
            == "Free some space first. 200 memories were imported before that and stay. Repeat the import to continue."
        )


def test_a_single_write_that_has_no_room_keeps_nothing_and_says_so(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        engine = opened(store)
        engine.save(note(1))
        store._db.connection.pragma("max_page_count", store._db.connection.pragma("page_count"))

        with pytest.raises(StoreFull, match="no room left") as caught:
            engine.save(note(2, 5_000))

        assert caught.value.hint.startswith("Nothing of this write was saved; what was saved before stays.")
        assert store.counts().memories == 1


def test_where_the_disk_is_nearly_full_nothing_stands_in_the_log_alone(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "12m") as disk:
        path, copy = disk / "memory.db", tmp_path / "memory.db"
        with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as other:
            other.counts()  # holds the log open
            opened(store).save(note(1))

            assert (disk / "memory.db-wal").stat().st_size > 0
            subprocess.run(["cp", path, copy], check=True)  # not the log
        with closing(SqliteStore(copy)) as store:
            assert store.counts().memories == 1


def test_a_store_that_nobody_has_open_is_searched_on_a_full_disk(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "40m") as disk:
        with closing(SqliteStore(disk / "memory.db")) as store:
            saved = opened(store).save(note(1)).memory
        ballast = fill(disk)

        with closing(SqliteStore(disk / "memory.db")) as store:
            engine = opened(store)
            assert [hit.memory.id for hit in engine.search(saved.title).hits] == [saved.id]
            with pytest.raises(StoreFull, match="no room left"):
                engine.delete(saved.id)

        ballast.unlink()
        with closing(SqliteStore(disk / "memory.db")) as store:
            opened(store).delete(saved.id)


def save_until_full(engine: Engine, words: int, at_once: int) -> None:
    numbers = count(at_once * 10_000)
    while True:
        engine.save_all([note(next(numbers), words) for _ in range(at_once)])


def fill_by_saves(engine: Engine, words: int) -> None:
    for at_once in (10, 1):
        with pytest.raises(StoreFull):
            save_until_full(engine, words, at_once)


def leave_room(engine: Engine, *, undo: bool = True) -> None:
    """Each way to have room again."""
    memories = engine.recent(limit=12)
    for number, memory in enumerate(memories):
        engine.delete(memory.id, purge=number < 4)
        if undo and number >= 8:
            engine.trash.undo(engine.trash.last(memory.uid), lambda _done, _size: None)
    for deleted in engine.trash.recent(4):
        engine.trash.empty([deleted.uid])


@pytest.mark.parametrize(("size", "words", "others"), [("12m", 400, False), ("12m", 400, True), ("16m", 8_000, True)])
def test_what_saves_have_filled_the_disk_with_can_be_deleted(
    tmp_path: Path, size: str, words: int, others: bool
) -> None:
    with mounted(tmp_path / "disk", size) as disk:
        path = disk / "memory.db"
        with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as other:
            other.counts()
            engine = opened(store)
            fill_by_saves(engine, words)
            kept, undo = store.counts().memories, words < 1_000  # what is long takes room to come back
            if others:
                fill(disk)

            leave_room(engine, undo=undo)

            assert store.counts().memories == kept - (8 if undo else 12)
            assert not store.check()


@pytest.mark.parametrize("size", [1_400_000, 5_000_000])
def test_a_limit_that_the_disk_does_not_show_leaves_room_to_delete(tmp_path: Path, size: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, tmp_path, str(size)], capture_output=True, text=True, check=False
    )

    assert done.stdout.splitlines() == ["full", "deleted", "()"], done.stderr


LIMITED = f"""
import resource, signal, sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]!r}
from test_full_disk import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
path = Path(sys.argv[1]) / "memory.db"
with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as other:
    other.counts()
    engine = opened(store)
    fill_by_saves(engine, 200)
    print("full")
    leave_room(engine)
    print("deleted")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(store.check())
"""


@pytest.mark.parametrize("purge", [False, True])
def test_what_is_there_can_be_deleted_on_a_full_disk(tmp_path: Path, purge: bool) -> None:
    with mounted(tmp_path / "disk", "40m") as disk:
        path = disk / "memory.db"
        with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as other:
            engine = opened(store)
            for first in range(0, 500, 20):
                engine.save_all([note(number) for number in range(first, first + 20)])
            other.counts()
            ballast = fill(disk)
            recent = engine.recent(limit=2 if purge else 10)

            for memory in recent:
                engine.delete(memory.id, purge=purge)
            if purge:
                assert engine.trash.owed()  # the file has no room to be written anew
            else:
                engine.trash.undo(engine.trash.last(recent[-1].uid), lambda _done, _size: None)
                engine.trash.empty([recent[0].uid])

            assert store.counts().memories == 500 - len(recent) + (not purge)
            ballast.unlink()
            assert store.wipe() or other.counts()
            engine.save(note(5000))
            assert not store.check()
