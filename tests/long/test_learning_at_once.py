"""A whole store is learned from page after page: the same in every store, whatever happens between two pages."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sound import sound
from untaught import WIDTH, fill, nothing, numbers

from memory.keep.rules import delete_memories
from memory.store.narrow import narrowed
from memory.store.sqlite import SqliteStore
from memory.vectors.term_vectors.filter import Vocabulary
from memory.vectors.term_vectors.learn import OWN_AXES, learn, learn_page
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memory.store import Store

PAGE, COUNT = 60, OWN_AXES + 200


def removed(store: Store, page: int) -> None:
    """A memory that was learned from, one that waits, and one of the last: after some pages."""
    if page in (2, 4, 9):
        delete_memories(store, [page, page * PAGE - 3, COUNT - page])


def came(store: Store, page: int) -> None:
    if page in (3, 9):
        fill(store, 2, first=COUNT + page)


def learned_elsewhere(store: Store, page: int) -> None:
    if page in (3, 8):
        learn_page(store, 1, 7, lambda: None, Vocabulary())


def changing(store: Store, then: Callable[[Store, int], None]) -> Callable[[], bool]:
    """To be called before each page."""
    pages = iter(range(1, 1000))

    def going() -> bool:
        then(store, next(pages))
        return True

    return going


@pytest.mark.parametrize("most", [40_000, 900])
@pytest.mark.parametrize("then", [nothing, removed, came, learned_elsewhere])
def test_a_store_learns_what_the_oracle_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: Callable[[Store, int], None], most: int
) -> None:
    monkeypatch.setattr("memory.vectors.term_vectors.learn.MOST_TERMS", most)
    monkeypatch.setattr("memory.vectors.term_vectors.learn.PAGE", PAGE)
    monkeypatch.setattr("memory.vectors.term_vectors.learn.NUMBERS", PAGE * WIDTH)
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        ram = RamStore()
        for one in (store, ram):
            fill(one, COUNT)
            assert learn(one, 1, going=changing(one, then)) > COUNT - 30

        assert numbers(store) == numbers(ram)
        assert (len(numbers(store)[-1]) > 900) == (most > 900)
        sound(tmp_path / "memory.db")


def test_a_damaged_vector_among_many_teaches_nothing(tmp_path: Path) -> None:
    import apsw

    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        fill(store, 80)
    with closing(apsw.Connection(str(path))) as db:
        (broken,) = narrowed(np.full((1, WIDTH), np.nan, np.float32))
        db.execute("update vectors_1 set embedding = ? where chunk_id in (7, 40)", (broken,))

    with closing(SqliteStore(path)) as store:
        assert learn(store, 1) == 80
        assert store.term_vectors.learned(1).passages == 80
        assert np.isfinite(store.term_vectors.learned(1).spread).all()
        assert store.term_vectors.progress(1).waiting == 0
        rows = store.term_vectors.of_terms(1, None).values()
        assert sum(one.last == 8 for one in rows) > 0
        assert not any(one.last in (7, 40) for one in rows)
