"""What every store promises of generations: which sets of vectors there are, and which one answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from entries import (
    ANEW,
    BEYOND,
    OTHER,
    SPACE,
    START,
    TOLERANCE,
    at,
    directions,
    embedded,
    emptied,
    found,
    heads,
    kept,
    note,
    queued,
    unit,
    waiting,
    write,
)

from memory.keep.rules import delete_memories
from memory.schema.answer import Ranking
from memory.schema.errors import NotFound
from memory.schema.memory import ChunkId
from memory.schema.query import ACTIVE
from memory.schema.space import Window
from memory.store import Failure, State

if TYPE_CHECKING:
    from memory.store import Store

THIRD = OTHER._replace(recipe=2)


class GenerationsSuite:
    def test_the_first_generation_begun_is_active_and_the_next_is_built(self, store: Store) -> None:
        first, second = store.generations.begin(SPACE, START), store.generations.begin(OTHER, START)

        assert (first.state, second.state) == (State.ACTIVE, State.BUILDING)
        assert list(store.generations.every()) == [first, second]
        assert first.id < second.id

    def test_beginning_again_gives_the_living_generation(self, store: Store) -> None:
        first, second = store.generations.begin(SPACE, START), store.generations.begin(OTHER, START)

        assert store.generations.begin(SPACE, START) == first
        assert store.generations.begin(OTHER, START) == second
        assert len(store.generations.every()) == 2

    def test_only_one_is_being_built(self, store: Store) -> None:
        store.generations.begin(SPACE, START)
        dropped = store.generations.begin(OTHER, START)
        kept(store, note("a", embedded=embedded([unit(1)], space=OTHER)))

        third = store.generations.begin(OTHER._replace(recipe=2), START)

        assert [generation.id for generation in store.generations.every()] == [1, third.id]
        assert third.id > dropped.id
        assert store.generations.size(dropped.id).chunks == 0

    def test_activating_retires_the_former_and_queues_what_is_missing(self, store: Store) -> None:
        ids = kept(store, *(note(str(n), embedded=embedded([unit(1, n)])) for n in range(3)))
        chunks = heads(store, *ids)
        building = store.generations.begin(OTHER, START)
        store.vectors.set_vectors(building.id, directions(2), [Window(chunks[0], 0, 0), Window(chunks[1], 0, 1)])
        assert store.counts().queued == 0

        assert store.generations.activate(building.id, instead_of=1) is True

        assert [generation.state for generation in store.generations.every()] == [State.RETIRED, State.ACTIVE]
        assert store.counts().queued == 1
        assert [excerpt.id for excerpt in store.vectors.pending(building.id, ChunkId(0), 9)] == chunks[2:]
        assert store.generations.size(1).chunks == 3
        assert len(store.vectors.by_vector(1, unit(1), ACTIVE, 9)) == 3  # what is retired still answers who asks for it

    def test_activating_compares_and_sets(self, store: Store) -> None:
        store.generations.begin(SPACE, START)
        building = store.generations.begin(OTHER, START)

        assert store.generations.activate(building.id, instead_of=None) is False
        assert store.generations.activate(building.id, instead_of=building.id) is False
        assert [generation.state for generation in store.generations.every()] == [State.ACTIVE, State.BUILDING]
        assert store.generations.activate(building.id, instead_of=1) is True
        assert store.generations.activate(building.id, instead_of=1) is False
        assert store.generations.activate(1, instead_of=building.id) is True
        assert [generation.state for generation in store.generations.every()] == [State.ACTIVE, State.RETIRED]

    def test_activating_the_active_generation_changes_nothing(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])), note("b"))

        assert store.generations.activate(1, instead_of=1) is True

        assert [generation.state for generation in store.generations.every()] == [State.ACTIVE]
        assert store.counts().queued == 1

    def test_a_retired_generation_takes_no_vectors_until_it_is_begun_again(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)
        assert queued(store, write(store, note("b", embedded=embedded([unit(1)])))) == 1
        assert store.generations.size(1).chunks == 1

        again = store.generations.begin(SPACE, START)

        assert (again.id, again.space, again.state) == (1, SPACE, State.BUILDING)
        assert [excerpt.text for excerpt in store.vectors.pending(1, ChunkId(0), 9)] == ["b"]
        assert len(store.generations.every()) == 2

    def test_a_retired_generation_that_is_begun_again_displaces_the_one_being_built(self, store: Store) -> None:
        store.generations.begin(SPACE, START)
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)
        unfinished = store.generations.begin(THIRD, START)

        store.generations.begin(SPACE, START)

        states = [(generation.id, generation.state) for generation in store.generations.every()]
        assert states == [(1, State.BUILDING), (2, State.ACTIVE)]
        assert store.generations.begin(THIRD, START).id > unfinished.id

    def test_the_former_generation_may_be_built_on(self, store: Store) -> None:
        first, second = kept(store, note("a", embedded=embedded([unit(1)])), note("b", embedded=embedded([unit(1)])))
        building = store.generations.begin(OTHER, START)

        assert store.generations.activate(building.id, instead_of=1, former=State.BUILDING) is True

        assert [generation.state for generation in store.generations.every()] == [State.BUILDING, State.ACTIVE]
        assert store.counts().queued == 2
        assert queued(store, write(store, note("c", embedded=embedded([unit(1)])))) == 1
        assert store.generations.size(1).chunks == 3
        delete_memories(store, [second])
        assert store.generations.activate(1, instead_of=building.id, former=State.BUILDING) is True
        assert [generation.state for generation in store.generations.every()] == [State.ACTIVE, State.BUILDING]
        assert (store.counts().queued, store.generations.size(1).chunks) == (0, 2)
        assert found(store.vectors.by_vector(1, unit(1), ACTIVE, 9))[-1] == first

    def test_a_former_generation_that_is_built_on_displaces_the_one_being_built(self, store: Store) -> None:
        store.generations.begin(SPACE, START)
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)
        unfinished = store.generations.begin(THIRD, START)

        assert store.generations.activate(1, instead_of=2) is True
        assert [generation.id for generation in store.generations.every()] == [1, 2, unfinished.id]
        assert store.generations.activate(2, instead_of=1, former=State.BUILDING) is True

        states = [(generation.id, generation.state) for generation in store.generations.every()]
        assert states == [(1, State.BUILDING), (2, State.ACTIVE)]

    def test_activating_the_active_generation_keeps_the_one_being_built(self, store: Store) -> None:
        chunk = heads(store, *kept(store, note("a")))[0]
        store.generations.begin(SPACE, START)
        store.generations.begin(OTHER, START)
        store.queue.release([chunk], Failure("down", at(1)))

        assert store.generations.activate(1, instead_of=1, former=State.BUILDING) is True

        assert [generation.state for generation in store.generations.every()] == [State.ACTIVE, State.BUILDING]
        assert store.counts().failed == 1

    def test_another_generation_has_not_failed_yet(self, store: Store) -> None:
        chunk = heads(store, *kept(store, note("a")))[0]
        store.generations.begin(SPACE, START)
        store.queue.release([chunk], Failure("down", at(1)))

        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)

        assert (store.counts().queued, store.counts().failed) == (1, 0)

    def test_the_first_fingerprint_of_a_generation_stays(self, store: Store) -> None:
        generation = store.generations.begin(SPACE, START).id
        store.generations.begin(THIRD, START)
        assert [one.fingerprint for one in store.generations.every()] == [b"", b""]

        store.generations.mark(generation, unit(1, 2).tobytes())
        store.generations.mark(generation, unit(3).tobytes())
        store.generations.mark(generation, unit(3).tobytes(), instead_of=unit(2).tobytes())

        assert [one.fingerprint for one in store.generations.every()] == [unit(1, 2).tobytes(), b""]

    def test_another_fingerprint_takes_all_vectors_away(self, store: Store) -> None:
        ids = kept(store, note("a", embedded=embedded([unit(1)])), note("b", embedded=embedded([unit(0, 1)])))
        building = store.generations.begin(OTHER, START).id
        for generation in (1, building):
            store.vectors.set_vectors(building, directions(1), [Window(heads(store, ids[0])[0], 0, 0)])
            store.generations.mark(generation, unit(1).tobytes())

        emptied(store, building)

        assert (store.generations.size(building).chunks, store.generations.size(1).chunks, store.queue.queued()) == (
            0,
            2,
            0,
        )
        assert [one.fingerprint for one in store.generations.every()] == [unit(1).tobytes(), ANEW]
        assert store.generations.centre(building)[1] == 0
        assert not any(store.generations.centre(building)[0])

    def test_another_fingerprint_of_the_active_generation_queues_all_chunks(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])), note("b"))
        waits = waiting(store, 1)[0].id
        store.queue.release([waits], Failure("down", at(1)))
        for _ in range(3):
            assert len(store.vectors.by_vector(1, unit(1), ACTIVE, 9)) == 1

        emptied(store, 1)

        assert store.vectors.by_vector(1, unit(1), ACTIVE, 9) == Ranking()
        assert (store.queue.queued(), store.counts().failed) == (2, 1)
        assert [generation.state for generation in store.generations.every()] == [State.ACTIVE]
        assert list(store.check()) == []

    def test_taking_vectors_of_some_chunks_queues_these_and_leaves_the_others(self, store: Store) -> None:
        ids = kept(store, note("a", embedded=embedded([unit(1)])), note("b", embedded=embedded([unit(0, 1)])))
        store.generations.mark(1, unit(1).tobytes())
        first, second = (heads(store, id)[0] for id in ids)

        assert store.vectors.set_vectors(1, None, [Window(first, 0, 0), Window(ChunkId(999), 0, 0)]) == 0
        assert store.vectors.set_vectors(1, None, []) == 0

        assert [scored.chunk for scored in store.vectors.by_vector(1, unit(1), ACTIVE, 9)] == [second]
        assert [one.id for one in waiting(store, 9)] == [first]
        assert (store.generations.centre(1)[1], store.generations.every()[0].fingerprint) == (1, unit(1).tobytes())
        assert list(store.check()) == []

    def test_a_fingerprint_stays_with_its_vectors(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        store.generations.mark(1, unit(1, 2).tobytes())
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)

        again = store.generations.begin(SPACE, START)

        assert again.fingerprint == unit(1, 2).tobytes()
        assert store.generations.size(again.id).chunks == 1

    def test_of_two_living_generations_of_a_space_the_active_one_counts(self, store: Store) -> None:
        store.generations.begin(SPACE, START)
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)
        store.generations.begin(SPACE, START)
        store.generations.activate(1, instead_of=2)

        assert store.generations.begin(SPACE, START).id == 1
        assert queued(store, write(store, note("a", embedded=embedded([unit(1)])))) == 0

    def test_one_begun_alone_drops_the_retired_of_other_spaces_with_their_vectors(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)
        store.generations.activate(store.generations.begin(THIRD, START).id, instead_of=2)

        assert store.generations.begin(OTHER, START, alone=True).id == 2

        assert [(one.id, one.state) for one in store.generations.every()] == [(2, State.BUILDING), (3, State.ACTIVE)]
        assert store.generations.size(1).chunks == 0
        with pytest.raises(NotFound):
            store.generations.centre(1)

    def test_one_begun_alone_leaves_the_active_one(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))

        for space in (OTHER, SPACE):
            store.generations.begin(space, START, alone=True)

            assert store.generations.size(1).chunks == 1

    @pytest.mark.parametrize("gone", [0, 7, BEYOND])
    def test_a_generation_that_is_gone_is_said_to_be(self, store: Store, gone: int) -> None:
        chunk = heads(store, *kept(store, note("a")))[0]

        assert store.generations.size(gone).chunks == 0
        assert store.vectors.set_vectors(gone, directions(1), [Window(chunk, 0, 0)]) == 0
        assert store.vectors.set_vectors(gone, None, [Window(chunk, 0, 0)]) == 0
        store.generations.mark(gone, unit(1).tobytes())
        store.generations.mark(gone, unit(1).tobytes(), instead_of=unit(2).tobytes())
        for ask in (
            lambda: store.vectors.pending(gone, ChunkId(0), 1),
            lambda: store.vectors.by_vector(gone, unit(1), ACTIVE, 1),
            lambda: store.vectors.cosines(gone, unit(1), [chunk]),
            lambda: store.generations.centre(gone),
            lambda: store.generations.activate(gone, instead_of=None),
        ):
            with pytest.raises(NotFound):
                ask()

    def test_spaces_of_any_width_live_side_by_side(self, store: Store) -> None:
        wide = SPACE._replace(dimension=16)
        kept(store, note("a", embedded=embedded([unit(1)])))
        building = store.generations.begin(wide, START)
        vector = np.eye(16, dtype=np.float32)[3]

        kept(store, note("b", embedded=embedded([vector], space=wide)))

        [scored] = store.vectors.by_vector(building.id, vector, ACTIVE, 5)
        assert scored.score == pytest.approx(1, abs=TOLERANCE)
        assert len(store.generations.centre(building.id)[0]) == 16

    def test_deleting_a_memory_takes_it_out_of_every_generation(self, store: Store) -> None:
        id = kept(store, note("a", embedded=embedded([unit(1)])))[0]
        building = store.generations.begin(OTHER, START)
        store.vectors.set_vectors(building.id, directions(1), [Window(heads(store, id)[0], 0, 0)])

        delete_memories(store, [id])

        for generation in (1, building.id):
            assert store.generations.size(generation).chunks == 0
            assert store.generations.centre(generation)[1] == 0
