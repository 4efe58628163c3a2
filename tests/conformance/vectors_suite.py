"""What every store promises of the vectors of chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from entries import (
    OTHER,
    SPACE,
    START,
    TOLERANCE,
    directions,
    embedded,
    found,
    heads,
    kept,
    note,
    outline,
    queued,
    unit,
    write,
)

from memory.keep.rules import delete_memories
from memory.schema.errors import NotFound
from memory.schema.kinds import Kind
from memory.schema.memory import ChunkId
from memory.schema.query import ACTIVE, EVERYTHING, Scope
from memory.schema.space import Window
from memory.store import State

if TYPE_CHECKING:
    from memory.store import Store


class OfChunks:
    def test_the_first_vectors_found_the_active_generation(self, store: Store) -> None:
        one = write(store, note("a", embedded=embedded([unit(1)])))

        [generation] = store.generations.every()
        assert (generation.id, generation.space, generation.state) == (1, SPACE, State.ACTIVE)
        assert (queued(store, one), store.counts().queued, store.generations.size(1).chunks) == (0, 0, 1)

    def test_chunks_without_vectors_are_queued(self, store: Store) -> None:
        assert queued(store, write(store, note("a", body="bc", size=1))) == 3
        assert queued(store, write(store, note("d", body="e", embedded=embedded([unit(1)], [1])))) == 1

        assert store.counts().queued == 4
        assert [excerpt.text for excerpt in store.vectors.pending(1, ChunkId(0), 10)] == ["a", "b", "c", "d"]

    def test_vectors_of_another_space_are_not_kept(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))

        foreign = write(store, note("b", embedded=embedded([unit(1)], space=OTHER)))

        assert queued(store, foreign) == 1
        assert [generation.space for generation in store.generations.every()] == [SPACE]
        assert store.generations.size(1).chunks == 1
        assert len(store.vectors.by_vector(1, unit(1), ACTIVE, 10)) == 1

    def test_vectors_of_the_space_that_is_built_are_kept_there_and_stay_queued(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        building = store.generations.begin(OTHER, START)

        assert queued(store, write(store, note("b", embedded=embedded([unit(1)], space=OTHER)))) == 1

        assert (store.generations.size(1).chunks, store.generations.size(building.id).chunks) == (1, 1)
        assert [excerpt.text for excerpt in store.vectors.pending(building.id, ChunkId(0), 10)] == ["a"]

    def test_the_best_window_of_a_chunk_counts(self, store: Store) -> None:
        a, b, c = kept(
            store,
            note("a", embedded=embedded([unit(-1), unit(1), unit(0, 1)], [0, 0, 0])),
            note("b", embedded=embedded([unit(1, 1)])),
            note("c", embedded=embedded([unit(0, 1), unit(0, -1)], [0, 0])),
        )

        ranking = store.vectors.by_vector(1, unit(1), ACTIVE, 10)

        assert found(ranking) == [a, b, c]
        assert [scored.score for scored in ranking] == pytest.approx([1, 0.5**0.5, 0], abs=TOLERANCE)
        assert all(scored.cosine == scored.score for scored in ranking)
        assert found(store.vectors.by_vector(1, unit(1), ACTIVE, 2)) == [a, b]
        assert store.generations.size(1).chunks == 3

    def test_of_equal_vectors_the_latest_comes_first(self, store: Store) -> None:
        ids = [*reversed(kept(store, *(note(str(n), embedded=embedded([unit(1, 2, 3)])) for n in range(40))))]

        for k in (1, 5, 39, 40, 41):
            assert found(store.vectors.by_vector(1, unit(1), ACTIVE, k)) == ids[:k]
            assert found(store.vectors.by_vector(1, unit(1), Scope(kinds=frozenset({Kind.NOTE})), k)) == ids[:k]

    def test_filtered_search_equals_brute_force_at_any_selectivity_and_limit(self, store: Store) -> None:
        count, each = 4500, 10  # more than the 4,096 neighbours that sqlite-vec's own tables give
        vectors = directions(count)
        shares = {"all": 1, "half": 2, "tenth": 10, "hundredth": 100, "few": 150}
        entries = [
            note(
                str(n),
                body="123456789",
                size=1,
                tags=tuple(tag for tag, part in shares.items() if n % part == 0),
                embedded=embedded(vectors[n * each : (n + 1) * each]),
            )
            for n in range(count // each)
        ]
        ids = kept(store, *entries)
        chunks = {
            chunk: n * each + place for n, id in enumerate(ids) for place, (chunk, _) in enumerate(outline(store, id))
        }
        query = directions(1, seed=9)[0]
        cosines = vectors.astype(np.float64) @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))

        for scope, part in ((ACTIVE, 1), *((Scope(tags=frozenset({tag})), part) for tag, part in shares.items())):
            inside = [n for n in range(count) if n // each % part == 0]
            exact = sorted(inside, key=lambda n: -cosines[n])
            for k in (1, 10, 100, 4096, 4097, 5000):
                ranking = store.vectors.by_vector(1, query, scope, k)
                assert len(ranking) == min(k, len(inside)), (scope, k)
                given = [chunks[scored.chunk] for scored in ranking]
                assert set(given) <= set(inside)
                assert len(set(given)) == len(given)
                np.testing.assert_allclose(cosines[given], cosines[exact[:k]], rtol=0, atol=TOLERANCE)

    def test_cosines_are_those_of_the_window_nearest_to_the_vector(self, store: Store) -> None:
        id, far = kept(
            store,
            note("a", embedded=embedded([unit(0, 1), unit(1, 1)], [0, 0])),
            note("b", embedded=embedded([unit(-1)])),
        )
        [chunk, other] = heads(store, id, far)

        given = store.vectors.cosines(1, unit(1), [chunk, other, ChunkId(99)], other=unit(0, 1), shown=unit(0, 1))

        assert set(given) == {chunk, other}
        assert given[chunk] == pytest.approx((0.5**0.5, 0.5**0.5, 1), abs=TOLERANCE)
        assert given[other] == pytest.approx((-1, 0, 0), abs=TOLERANCE)
        assert store.vectors.cosines(1, unit(1), []) == {}

    def test_a_vector_that_is_not_given_is_the_one_compared(self, store: Store) -> None:
        [chunk] = heads(store, *kept(store, note("a", embedded=embedded([unit(0, 1), unit(1, 1)], [0, 0]))))

        for given in (store.vectors.cosines(1, unit(1), [chunk]) for _ in range(3)):
            assert given[chunk] == pytest.approx((0.5**0.5,) * 3, abs=TOLERANCE)

    def test_the_vector_of_a_first_window_is_read(self, store: Store) -> None:
        [chunk, other] = heads(
            store, *kept(store, note("a", embedded=embedded([unit(0, 1), unit(1)], [0, 0])), note("b"))
        )

        given = store.vectors.first_window(1, chunk)

        assert given is not None
        assert list(given) == pytest.approx(list(unit(0, 1)), abs=TOLERANCE)
        assert store.vectors.first_window(1, other) is None
        assert store.vectors.first_window(99, chunk) is None

    def test_of_equals_the_latest_come_first(self, store: Store) -> None:
        chunks = heads(store, *kept(store, *(note(f"n{n}", embedded=embedded([unit(1)])) for n in range(4))))

        for k in (2, 4):
            assert [one.chunk for one in store.vectors.by_vector(1, unit(1), ACTIVE, k)] == chunks[::-1][:k]

    def test_the_centre_is_the_sum_of_all_windows(self, store: Store) -> None:
        vectors = directions(9)
        kept(store, note("a", body="bc", size=1, embedded=embedded(vectors[:5], [0, 0, 1, 2, 2])))
        gone = kept(store, note("d", embedded=embedded(vectors[5:7], [0, 0])))[0]
        kept(store, note("e", embedded=embedded(vectors[7:], [0, 0])))
        delete_memories(store, [gone])

        total, count = store.generations.centre(1)

        assert count == 7
        assert total.typecode == "d"
        left = np.concatenate([vectors[:5], vectors[7:]]).sum(axis=0, dtype=np.float64)
        assert list(total) == pytest.approx(left, abs=1e-9)

    def test_filling_takes_chunks_off_the_queue_and_replaces_their_vectors(self, store: Store) -> None:
        ids = kept(store, note("a"), note("b"))
        a, b = heads(store, *ids)
        generation = store.generations.begin(SPACE, START)

        assert store.vectors.set_vectors(generation.id, directions(2), [Window(a, 0, 0), Window(a, 1, 1)]) == 1
        assert store.counts().queued == 1
        assert (
            store.vectors.set_vectors(
                generation.id, np.stack([unit(1), unit(0, 1)]), [Window(a, 0, 1), Window(b, 0, 0)]
            )
            == 2
        )

        assert store.counts().queued == 0
        assert found(store.vectors.by_vector(generation.id, unit(0, 1), ACTIVE, 5)) == ids
        total, count = store.generations.centre(generation.id)
        assert count == 2
        assert list(total) == pytest.approx(unit(1) + unit(0, 1), abs=TOLERANCE)

    def test_filling_skips_chunks_that_are_gone(self, store: Store) -> None:
        gone, there = kept(store, note("a"), note("b"))
        chunks = heads(store, gone, there)
        generation = store.generations.begin(SPACE, START)
        delete_memories(store, [gone])

        windows = [Window(chunks[0], 0, 0), Window(chunks[1], 0, 1)]
        assert store.vectors.set_vectors(generation.id, directions(2), windows) == 1
        assert store.vectors.set_vectors(generation.id, directions(1), [Window(chunks[0], 0, 0)]) == 0
        assert store.vectors.set_vectors(generation.id, directions(1), []) == 0

        assert store.generations.size(generation.id).chunks == 1
        assert store.generations.centre(generation.id)[1] == 1

    def test_pending_goes_on_behind_a_chunk(self, store: Store) -> None:
        kept(store, note("a", body="bcd", size=1, title="t", tags=("x",)))
        generation = store.generations.begin(SPACE, START)
        first = store.vectors.pending(generation.id, ChunkId(0), 2)

        rest = store.vectors.pending(generation.id, first[-1].id, 10)

        assert [excerpt.text for excerpt in (*first, *rest)] == ["a", "b", "c", "d"]
        assert store.memories.excerpts([excerpt.id for excerpt in rest]) == {excerpt.id: excerpt for excerpt in rest}
        store.vectors.set_vectors(generation.id, directions(1), [Window(first[1].id, 0, 0)])
        assert [excerpt.text for excerpt in store.vectors.pending(generation.id, ChunkId(0), 10)] == ["a", "c", "d"]


class Similarities:
    @pytest.mark.parametrize("seed", range(3))
    def test_it_is_the_cosine_of_the_nearest_window(self, store: Store, seed: int) -> None:
        rows = directions(40, seed=seed)
        ids = [
            write(store, note(f"m{n}", body="x", embedded=embedded(rows[n : n + 3], (0, 1, 1)))).memory.id
            for n in range(0, 36, 3)
        ]
        (alone,) = kept(store, note("without a vector"))
        generation, query = store.generations.every()[0].id, unit(1, 2, 3)
        vector = query / np.linalg.norm(query)
        cosines = rows @ vector / np.linalg.norm(rows, axis=1)
        wanted = {id: max(cosines[3 * n : 3 * n + 3].tolist()) for n, id in enumerate(ids)}

        for _ in range(3):  # SQLite holds the vectors from the second time on
            assert store.vectors.memory_similarities(generation, vector, ACTIVE) == pytest.approx(wanted, abs=1e-5)
            some = EVERYTHING._replace(among=frozenset({ids[2], ids[7], alone}))
            assert store.vectors.memory_similarities(generation, vector, some) == pytest.approx(
                {id: wanted[id] for id in (ids[2], ids[7])}, abs=1e-5
            )
            assert store.vectors.memory_similarities(generation, vector, Scope(projects=frozenset({"none"}))) == {}

    def test_a_generation_that_is_gone_is_not_found(self, store: Store) -> None:
        with pytest.raises(NotFound):
            store.vectors.memory_similarities(7, unit(1), ACTIVE)


class Heads:
    def test_they_are_the_first_windows_of_first_chunks_in_pages(self, store: Store) -> None:
        rows = directions(4)
        kept(
            store, note("a", embedded=embedded([rows[0]])), note("b", body="cd", size=1, embedded=embedded([*rows[:3]]))
        )
        kept(store, note("without"), note("e", embedded=embedded([rows[3]])))
        ids = [memory.id for memory in reversed(store.memories.page(EVERYTHING, 10)) if memory.what != "without"]

        pages = [store.vectors.heads(1, after, 2) for after in (0, ids[1], ids[2])]

        assert [id for found, _ in pages for id in found] == ids
        assert [len(vectors) for _, vectors in pages] == [2, 1, 0]
        assert np.vstack([vectors for _, vectors in pages]) == pytest.approx(np.vstack([rows[0], rows[0], rows[3]]))

    def test_of_a_generation_that_is_gone_there_are_none(self, store: Store) -> None:
        with pytest.raises(NotFound):
            store.vectors.heads(9, 0, 10)


class VectorsSuite(OfChunks, Similarities, Heads):
    """The part `vectors`."""
