"""A whole store is learned from page after page, and what is held in between is what the store knows."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sound import sound
from untaught import WIDTH, fill, nothing, numbers

from memory.search.term_vectors.learn import SETTLED, learn, learn_some
from memory.store.sqlite.store import SqliteStore
from memory.write.rules import delete_memories
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memory.store import Store

PAGE, COUNT = 60, SETTLED + 200


def removed(store: Store, page: int) -> None:
    """A memory that was learned from, one that waits, and one of the last: after some pages."""
    if page in (2, 4, 9):
        delete_memories(store, [page, page * PAGE - 3, COUNT - page])


def came(store: Store, page: int) -> None:
    if page in (3, 9):
        fill(store, 2, first=COUNT + page)


def learned_elsewhere(store: Store, page: int) -> None:
    if page in (3, 8):
        learn_some(store, 1, 7, None)


def changing(store: Store, then: Callable[[Store, int], None]) -> Callable[[], bool]:
    """To be called before each page."""
    pages = iter(range(1, 1000))

    def going() -> bool:
        then(store, next(pages))
        return True

    return going


@pytest.mark.parametrize("most", [40_000, 900])
@pytest.mark.parametrize("then", [nothing, removed, came, learned_elsewhere])
def test_what_is_held_from_page_to_page_is_what_the_store_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: Callable[[Store, int], None], most: int
) -> None:
    monkeypatch.setattr("memory.search.term_vectors.learn.MOST_TERMS", most)
    monkeypatch.setattr("memory.search.term_vectors.learn.PAGE", PAGE)
    monkeypatch.setattr("memory.search.term_vectors.learn.NUMBERS", PAGE * WIDTH)
    with closing(SqliteStore(tmp_path / "one.db")) as held, closing(SqliteStore(tmp_path / "two.db")) as fresh:
        ram = RamStore()
        for store in (held, fresh, ram):
            fill(store, COUNT)
        for store in (held, ram):
            assert learn(store, 1, going=changing(store, then)) > COUNT - 30
        going = changing(fresh, then)
        while going() and learn_some(fresh, 1, PAGE, None):
            pass

        assert numbers(held) == numbers(ram)
        same(numbers(held), numbers(fresh))
        assert (len(numbers(held)[-1]) > 900) == (most > 900)
        sound(tmp_path / "one.db")


def same(one: tuple, other: tuple) -> None:
    """But for the order in which numbers were added up."""
    assert one[0] == pytest.approx(other[0], rel=1e-5)
    assert one[-1].keys() == other[-1].keys()
    for term, vector in one[-1].items():
        assert vector[:3] == other[-1][term][:3]
        assert vector.met == pytest.approx(other[-1][term].met, rel=1e-5)
        own, others = (each.scale * np.frombuffer(each.code, np.int8) for each in (vector, other[-1][term]))
        assert own == pytest.approx(others, abs=1.01 * vector.scale)


def test_a_damaged_vector_among_many_teaches_nothing(tmp_path: Path) -> None:
    import apsw

    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        fill(store, 80)
    with closing(apsw.Connection(str(path))) as db:
        broken = np.full(WIDTH, np.nan, np.float32).tobytes()
        db.execute("update vectors_1 set embedding = ? where chunk_id in (7, 40)", (broken,))

    with closing(SqliteStore(path)) as store:
        assert learn(store, 1) == 80
        assert store.term_vectors.learned(1).passages == 80
        assert np.isfinite(store.term_vectors.learned(1).spread).all()
        assert store.term_vectors.progress(1).waiting == 0
        rows = store.term_vectors.of_terms(1, None).values()
        assert sum(one.last == 8 for one in rows) > 0
        assert not any(one.last in (7, 40) for one in rows)
