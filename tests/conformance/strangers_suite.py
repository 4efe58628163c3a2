"""What every store promises of strangers: how near questions come that it cannot answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from entries import OTHER, SPACE, START, TOLERANCE, directions, embedded, heads, kept, note, unit

from memory.keep.rules import delete_memories
from memory.schema.space import Window

if TYPE_CHECKING:
    from memory.schema.space import Strangers, Vectors
    from memory.store import Store

ASKED = directions(7, seed=3)


def strangers(store: Store, generation: int = 1) -> Strangers | None:
    return next(one.strangers for one in store.generations.every() if one.id == generation)


def known(store: Store, generation: int = 1) -> Strangers:
    found = strangers(store, generation)
    assert found is not None
    return found


def nearest(vectors: Vectors) -> pytest.approx:
    return pytest.approx((ASKED @ vectors.T).max(axis=1).tolist(), abs=TOLERANCE)


class StrangersSuite:
    """`VectorIndex.set_strangers`, and `Generations.strangers`."""

    def test_nobody_is_a_stranger_at_first(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))

        assert strangers(store) is None
        assert store.generations.strangers(1) is None
        assert store.vectors.set_strangers(1, None) is False
        assert strangers(store) is None

    def test_strangers_are_compared_with_all_vectors(self, store: Store) -> None:
        rows = directions(9)
        kept(store, *(note(str(n), embedded=embedded(rows[n : n + 3], [0, 0, 0])) for n in range(0, 9, 3)))

        assert store.vectors.set_strangers(1, ASKED, right=0.4, stamp=77) is True

        found = known(store)
        assert (found.right, found.stamp, found.loose) == (0.4, 77, 0)
        assert store.generations.strangers(1).tobytes() == ASKED.tobytes()
        assert store.generations.strangers(2) is None
        assert found.nearest == nearest(rows)
        assert found.mean == pytest.approx(float((ASKED @ rows.T).mean()), abs=TOLERANCE)
        assert found.vectors == len(rows)

    def test_strangers_of_an_empty_generation_are_near_nothing(self, store: Store) -> None:
        store.generations.begin(SPACE, START)

        assert store.vectors.set_strangers(1, ASKED) is True

        assert known(store).nearest == (-1.0,) * len(ASKED)
        assert (known(store).mean, known(store).loose) == (0.0, 0)

    @pytest.mark.parametrize("many", [1, 40])
    def test_each_vector_that_comes_is_compared(self, store: Store, many: int) -> None:
        rows = directions(3 + 2 * many, seed=many)
        first, *_ = kept(store, *(note(str(n), embedded=embedded(rows[n : n + 1])) for n in range(3)))
        store.vectors.set_strangers(1, ASKED)

        kept(store, note("b", embedded=embedded(rows[3 : 3 + many], [0] * many)))
        assert known(store).nearest == nearest(rows[: 3 + many])
        (chunk,) = heads(store, *kept(store, note("c")))
        store.vectors.set_vectors(1, rows[3 + many :], [Window(chunk, n, n) for n in range(many)])

        assert known(store).nearest == nearest(rows)
        assert known(store).mean == pytest.approx(float((ASKED @ rows.T).mean()), abs=TOLERANCE)
        assert known(store).loose == 0
        delete_memories(store, [first])
        assert min(np.subtract(known(store).nearest, (ASKED @ rows[1:].T).max(axis=1))) > -TOLERANCE

    def test_what_goes_leaves_them_no_nearer_than_they_were(self, store: Store) -> None:
        rows = directions(6, seed=5)
        gone, *left = kept(store, *(note(str(n), embedded=embedded(rows[n : n + 1])) for n in range(6)))
        store.vectors.set_strangers(1, ASKED)
        before = known(store)

        delete_memories(store, [gone])
        store.vectors.set_vectors(1, None, [Window(heads(store, left[0])[0], 0, 0)])

        true = (ASKED @ rows[2:].T).max(axis=1)
        assert known(store).nearest == before.nearest
        assert known(store).loose >= int((true < np.array(before.nearest) - TOLERANCE).sum()) > 0
        assert known(store).mean == pytest.approx(float((ASKED @ rows[2:].T).mean()), abs=TOLERANCE)

        assert store.vectors.set_strangers(1, None) is True

        assert known(store).nearest == nearest(rows[2:])
        assert known(store).loose == 0

    def test_others_take_their_place(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        store.vectors.set_strangers(1, ASKED, right=0.4, stamp=1)

        store.vectors.set_strangers(1, np.stack([unit(1), unit(0, 1)]), right=0.5, stamp=2)

        assert known(store).nearest == pytest.approx((1, 0), abs=TOLERANCE)
        assert (known(store).right, known(store).stamp) == (0.5, 2)

    def test_strangers_are_of_one_generation(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        other = store.generations.begin(OTHER, START).id
        store.vectors.set_strangers(1, ASKED)

        assert strangers(store, other) is None
        store.vectors.set_strangers(other, ASKED)
        kept(store, note("b", embedded=embedded([unit(0, 1)])))

        assert known(store).nearest == nearest(np.stack([unit(1), unit(0, 1)]))
        assert known(store, other).nearest == (-1.0,) * len(ASKED)

    def test_strangers_go_with_their_generation_and_when_its_model_is_another(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        other = store.generations.begin(OTHER, START).id
        for id in (1, other):
            store.vectors.set_strangers(id, ASKED)
            store.generations.mark(id, unit(1).tobytes())

        store.generations.begin(OTHER._replace(recipe=2), START)
        store.generations.mark(1, unit(2).tobytes(), instead_of=unit(1).tobytes())

        assert strangers(store) is None
        assert [one.strangers for one in store.generations.every()] == [None, None]
        assert store.vectors.set_strangers(other, ASKED) is False

    def test_a_transaction_that_fails_leaves_them_as_they_were(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        store.vectors.set_strangers(1, ASKED)
        before = known(store)

        with pytest.raises(RuntimeError), store.transaction():  # noqa: PT012  # what is inside is the point
            kept(store, note("b", embedded=embedded([unit(0, 1)])))
            store.vectors.set_strangers(1, ASKED[:2])
            raise RuntimeError

        assert known(store) == before

    def test_a_repair_compares_anew(self, store: Store) -> None:
        rows = directions(4, seed=2)
        gone, *_ = kept(store, *(note(str(n), embedded=embedded(rows[n : n + 1])) for n in range(4)))
        store.vectors.set_strangers(1, ASKED, right=0.4, stamp=3)
        delete_memories(store, [gone])

        store.repair()

        assert store.check() == ()
        assert (known(store).right, known(store).stamp) == (0.4, 3)
        assert known(store).nearest[0] >= float((ASKED[0] @ rows[1:].T).max()) - TOLERANCE
