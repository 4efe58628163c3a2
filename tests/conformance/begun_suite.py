"""What every store promises of chunks that are not embedded to their end; see `store_suite`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from entries import OTHER, SPACE, START, directions, note, prompt
from store_suite import heads, write

from memory.schema.memory import ChunkId
from memory.schema.space import Window
from memory.store import State

if TYPE_CHECKING:
    from memory.schema.space import Vectors
    from memory.store import Store

VECTORS = directions(5)


@pytest.fixture
def chunk(store: Store) -> ChunkId:
    """One of two chunks that wait for their vectors in generation 1."""
    memory = write(store, prompt("zebra")).memory
    write(store, prompt("giraffe"))
    store.generations.begin(SPACE, START)
    return heads(store, memory.id)[0]


def there(store: Store, chunk: ChunkId, stamp: int = 7, generation: int = 1) -> list[list[float]] | None:
    found = store.queue.begun(generation, chunk, stamp)
    return None if found is None else found.tolist()


def fill(store: Store, generation: int, chunk: ChunkId, vectors: Vectors) -> int:
    return store.vectors.set_vectors(
        generation, vectors, [Window(chunk, number, number) for number in range(len(vectors))]
    )


class BegunSuite:
    def test_what_is_added_comes_back_in_order(self, store: Store, chunk: ChunkId) -> None:
        assert there(store, chunk) is None

        assert store.queue.add_begun(1, chunk, 7, VECTORS[:2], first=0)
        assert store.queue.add_begun(1, chunk, 7, VECTORS[2:], first=2)

        assert there(store, chunk) == VECTORS.tolist()

    def test_what_somebody_else_added_meanwhile_is_not_added_twice(self, store: Store, chunk: ChunkId) -> None:
        store.queue.add_begun(1, chunk, 7, VECTORS[:2], first=0)

        assert not store.queue.add_begun(1, chunk, 7, VECTORS[:2], first=0)
        assert not store.queue.add_begun(1, chunk, 7, VECTORS[3:], first=3)
        assert there(store, chunk) == VECTORS[:2].tolist()

    def test_windows_of_another_text_do_not_count(self, store: Store, chunk: ChunkId) -> None:
        store.queue.add_begun(1, chunk, 7, VECTORS[:2], first=0)

        assert there(store, chunk, stamp=8) is None
        assert not store.queue.add_begun(1, chunk, 8, VECTORS[2:], first=2)
        assert store.queue.add_begun(1, chunk, 8, VECTORS[2:], first=0)
        assert (there(store, chunk), there(store, chunk, stamp=8)) == (None, VECTORS[2:].tolist())

    def test_it_waits_all_the_same_and_answers_no_search(self, store: Store, chunk: ChunkId) -> None:
        store.queue.add_begun(1, chunk, 7, VECTORS, first=0)

        assert store.queue.queued() == 2
        assert store.vectors.embedded_count(1) == 0
        assert store.vectors.centre(1)[1] == 0
        assert chunk in [excerpt.id for excerpt in store.vectors.pending(1, ChunkId(0), 10)]

    def test_a_chunk_that_is_filled_takes_it_away_and_no_other(self, store: Store, chunk: ChunkId) -> None:
        other = ChunkId(chunk + 1)
        for one in (chunk, other):
            store.queue.add_begun(1, one, 7, VECTORS[:2], first=0)

        assert fill(store, 1, chunk, VECTORS) == 1

        assert there(store, chunk) is None
        assert there(store, other) == VECTORS[:2].tolist()

    def test_it_goes_with_its_chunk(self, store: Store, chunk: ChunkId) -> None:
        store.queue.add_begun(1, chunk, 7, VECTORS[:2], first=0)
        store.memories.delete(store.memories.excerpts([chunk])[chunk].memory)

        assert there(store, chunk) is None
        assert not store.queue.add_begun(1, chunk, 7, VECTORS, first=0)

    @pytest.mark.parametrize("how", ["clear", "drop"])
    def test_it_goes_with_its_generation(self, store: Store, chunk: ChunkId, how: str) -> None:
        other = store.generations.begin(OTHER, START).id
        for generation in (1, other):
            store.queue.add_begun(generation, chunk, 7, VECTORS[:2], first=0)

        (store.vectors.clear if how == "clear" else store.generations.drop)(other)

        assert there(store, chunk, generation=other) is None
        assert there(store, chunk) == VECTORS[:2].tolist()
        assert store.queue.add_begun(other, chunk, 7, VECTORS, first=0) is (how == "clear")

    def test_two_generations_do_not_meet(self, store: Store, chunk: ChunkId) -> None:
        other = store.generations.begin(OTHER, START).id
        store.queue.add_begun(1, chunk, 7, VECTORS[:2], first=0)
        store.queue.add_begun(other, chunk, 7, VECTORS[2:], first=0)
        fill(store, other, chunk, VECTORS)

        assert there(store, chunk) == VECTORS[:2].tolist()
        assert store.generations.every()[0].state is State.ACTIVE

    def test_nothing_is_known_of_what_never_was(self, store: Store) -> None:
        assert store.queue.begun(99, ChunkId(99), 0) is None
        assert not store.queue.add_begun(99, ChunkId(99), 0, np.zeros((1, 8), np.float32), first=0)
        write(store, note("zebra"))
        assert not store.queue.add_begun(99, ChunkId(1), 0, VECTORS, first=0)
