"""A file of postings that is not as it was written changes no answer, and `doctor` makes it anew."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from entries import note, words

from memory.keep.rules import delete_memories, write_entries
from memory.schema.query import ACTIVE
from memory.store import sqlite
from memory.store.sqlite import SqliteStore, derived, posting_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WANTED = words("alpha", "beta", "word7")


def saved(path: Path) -> SqliteStore:
    store = SqliteStore(path)
    dice = random.Random(1)
    said = [" ".join(dice.choice(["alpha", "beta", "gamma", f"word{n % 20}"]) for _ in range(9)) for n in range(200)]
    write_entries(store, [note(text) for text in said])
    return store


@pytest.fixture(autouse=True)
def small(monkeypatch) -> None:
    monkeypatch.setattr(sqlite, "FILED", 1)


@pytest.fixture
def store(tmp_path) -> Iterator[SqliteStore]:
    store = saved(tmp_path / "memory.db")
    store.derive()
    yield store
    store.close()


def files(store: SqliteStore) -> list[Path]:
    return derived.files(store.path, posting_file.NAME)


def made_anew(store: SqliteStore) -> bool:
    """As if much had changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posting_file, "STALE", -100)
        return store.derive()


def cut(content: bytearray) -> None:
    del content[len(content) // 2 :]


def flipped_rows(content: bytearray) -> None:
    content[len(content) - 6000] ^= 1


def flipped_header(content: bytearray) -> None:
    content[30] ^= 1


def emptied(content: bytearray) -> None:
    content.clear()


@pytest.mark.parametrize("harm", [cut, flipped_rows, flipped_header, emptied, None])
def test_a_file_that_was_harmed_changes_no_answer_and_is_made_anew(store, tmp_path, harm) -> None:
    with store.transaction():
        expected = store.keywords.by_keyword(WANTED, ACTIVE, 9)
    [file] = files(store)
    if harm is None:
        file.unlink()
    else:
        content = bytearray(file.read_bytes())
        harm(content)
        file.write_bytes(content)
    other = SqliteStore(tmp_path / "memory.db")

    assert other.keywords.by_keyword(WANTED, ACTIVE, 9) == expected
    [told] = other.check()
    assert told.startswith("a file made from the database is not as it was written")
    other.repair()
    assert other.derive()
    assert list(other.check()) == []
    assert other.keywords.by_keyword(WANTED, ACTIVE, 9) == expected
    assert len(files(other)) == 1
    other.close()


def test_a_file_of_another_database_changes_no_answer(store, tmp_path) -> None:
    (tmp_path / "other").mkdir()
    other = SqliteStore(tmp_path / "other" / "memory.db")
    write_entries(other, [note("alpha of another")])
    other.derive()
    files(other)[0].write_bytes(files(store)[0].read_bytes())

    assert len(other.keywords.by_keyword(WANTED, ACTIVE, 9)) == 1
    other.close()


def test_an_index_that_was_rebuilt_has_a_file_of_its_own(store) -> None:
    expected = store.keywords.by_keyword(WANTED, ACTIVE, 9)
    before = files(store)
    store.repair()

    assert store.keywords.by_keyword(WANTED, ACTIVE, 9) == expected
    assert store.outdated()
    assert store.derive()
    assert files(store) != before
    assert store.keywords.by_keyword(WANTED, ACTIVE, 9) == expected


@pytest.mark.parametrize("came", [0, 1])
def test_a_file_that_does_not_count_what_fts5_counts_is_not_used(store, came) -> None:
    write_entries(store, [note("alpha")])
    assert store.keywords.by_keyword(WANTED, ACTIVE, 9)
    with store.transaction() as db:
        db.execute("update sqlite_sequence set seq = seq + ? where name = 'chunks'", (came,))
        db.execute("insert into passages_fts (rowid, text) values (100000, 'alpha')")
        expected = store.keywords.by_keyword(WANTED, ACTIVE, 9)

    assert store.keywords.by_keyword(WANTED, ACTIVE, 9) == expected


def test_words_that_went_are_not_in_the_next_file(store) -> None:
    [saved] = write_entries(store, [note("zebrafish")])
    made_anew(store)
    assert b"zebrafish" in files(store)[0].read_bytes()
    delete_memories(store, [saved.memory.id])
    made_anew(store)

    assert b"zebrafish" not in files(store)[0].read_bytes()
    assert store.wipe()
    assert files(store) == []
    assert store.outdated()


def test_whoever_makes_a_file_while_something_is_taken_for_good_leaves_no_word_of_it(store, monkeypatch) -> None:
    [saved] = write_entries(store, [note("zebrafish")])
    read, forget = posting_file._vocabulary, derived.forget
    forgot = threading.Event()
    wiped: list[bool] = []

    def take() -> None:
        with closing(SqliteStore(store.path)) as other:
            delete_memories(other, [saved.memory.id])
            wiped.append(other.wipe())

    def forgetting(*arguments) -> None:
        forget(*arguments)
        forgot.set()

    beside = threading.Thread(target=take)

    def reading(db) -> posting_file.TokenCounts:
        found = read(db)
        beside.start()
        assert forgot.wait(60)
        return found

    monkeypatch.setattr(derived, "forget", forgetting)
    monkeypatch.setattr(posting_file, "_vocabulary", reading)
    made_anew(store)
    beside.join()

    assert wiped == [True]
    assert [file for file in files(store) if b"zebrafish" in file.read_bytes()] == []


MAKER = """
import sys
from memory.store import sqlite
from memory.store.sqlite import SqliteStore, posting_file
sqlite.FILED, posting_file.STALE, posting_file.SHARE = 1, -100, 1 << 40
store = SqliteStore(sys.argv[1])
print("begun", flush=True)
while True:
    store.derive()
"""


def maker(store: SqliteStore) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAKER, store.path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_whoever_makes_it_may_be_killed_at_any_moment(store) -> None:
    expected = store.keywords.by_keyword(WANTED, ACTIVE, 9)
    dice = random.Random(7)
    with maker(store) as first, maker(store) as second:
        for one in (first, second):
            assert one.stdout
            assert one.stdout.readline() == "begun\n"
        for _ in range(dice.randrange(20, 60)):
            assert store.keywords.by_keyword(WANTED, ACTIVE, 9) == expected
        for one in (first, second):
            one.send_signal(signal.SIGKILL)

    assert store.keywords.by_keyword(WANTED, ACTIVE, 9) == expected
    store.derive()
    assert list(store.check()) == []
    assert made_anew(store)
    assert len(files(store)) == 1
