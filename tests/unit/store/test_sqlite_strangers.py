"""Strangers in a file: what a former version wrote, what another program spoiled, and how they are looked up."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest
from entries import directions, embedded, kept, note
from sound import sound

from memory.keep.rules import delete_memories
from memory.store.narrow import narrowed
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

ASKED = directions(5, seed=8)
LENGTH = "the baseline questions of index version 1 have embeddings or cosines of another length"
NUMBERS = "the baseline questions of index version 1 have cosines that are no numbers"
NEARER = "the baseline questions of index version 1 are nearer to it than is noted"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        kept(store, *(note(str(n), embedded=embedded(directions(1, seed=n))) for n in range(5)))
        store.vectors.set_strangers(1, ASKED, right=0.4, stamp=9)
    return path


def ruin(path: Path, sql: str) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.execute(sql)


@pytest.mark.parametrize(
    ("fault", "sql", "left"),
    [
        (LENGTH, "update nearness set nearest = x'00'", False),
        (LENGTH, "update strangers set embeddings = x'0000'", False),
        (NUMBERS, "update nearness set nearest = cast(x'0000c07f' || substr(nearest, 5) as blob)", True),
        (NEARER, "update nearness set nearest = zeroblob(length(nearest))", True),
        (
            NEARER,
            "insert into vectors_1 (chunk_id, window, embedding) select 1, 7, substr(embeddings, 1, 15) from strangers",
            True,
        ),
    ],
)
def test_wrong_strangers_are_said_and_mended_or_removed(path: Path, fault: str, sql: str, *, left: bool) -> None:
    ruin(path, sql)

    with closing(SqliteStore(path)) as store:
        assert fault in store.check()
        store.repair()
        assert store.check() == ()
        assert (store.generations.every()[0].strangers is not None) == left
    sound(path)


@pytest.mark.parametrize("sql", ["update nearness set nearest = x'00'", "update strangers set embeddings = x'00'"])
def test_where_they_cannot_be_read_all_else_goes_on(path: Path, sql: str) -> None:
    ruin(path, sql)

    with closing(SqliteStore(path)) as store:
        assert store.generations.every()[0].strangers is None
        (new,) = kept(store, note("new", embedded=embedded(directions(1, seed=70))))
        assert delete_memories(store, [new]) == 1
        assert store.vectors.set_strangers(1, None) is False
        assert store.vectors.set_strangers(1, ASKED) is True
        assert store.check() == ()


def test_a_vector_of_damaged_numbers_is_near_to_no_stranger(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        before = store.generations.every()[0].strangers
    damaged = narrowed(np.array([[np.nan, np.inf, *[0] * 6]], np.float32))[0].hex()
    ruin(path, f"insert into vectors_1 values (null, 1, 7, x'{damaged}')")

    with closing(SqliteStore(path)) as store:
        store.vectors.set_strangers(1, None)
        after = store.generations.every()[0].strangers
    assert before is not None
    assert after is not None
    assert after.nearest == pytest.approx(before.nearest, abs=1e-5)


def test_rows_that_belong_to_no_generation_go_with_a_repair(path: Path) -> None:
    ruin(path, "update strangers set generation = 9; update nearness set generation = 9")

    with closing(SqliteStore(path)) as store:
        assert [line for line in store.check() if "strangers" in line]
        store.repair()
        assert store.check() == ()
    with closing(apsw.Connection(str(path))) as db:
        assert db.execute("select count(*) from strangers").get == db.execute("select count(*) from nearness").get == 0
