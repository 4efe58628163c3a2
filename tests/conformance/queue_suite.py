"""What every store promises of the queue: chunks that wait for a vector, and those whose windows are embedded in part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from entries import (
    BEYOND,
    OTHER,
    SPACE,
    START,
    at,
    directions,
    embedded,
    emptied,
    heads,
    kept,
    note,
    outline,
    prompt,
    unit,
    waiting,
    write,
)

from memory.keep.rules import delete_memories
from memory.schema.errors import iso
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.space import Window
from memory.store import Claim, Failure, Outset, State, Waiting

if TYPE_CHECKING:
    from memory.schema.space import Vectors
    from memory.store import Store

VECTORS = directions(5)


def there(store: Store, chunk: ChunkId, stamp: int = 7, generation: int = 1) -> list[list[float]] | None:
    found = store.queue.partial(generation, chunk, stamp)
    return None if found is None else found.tolist()


def fill(store: Store, generation: int, chunk: ChunkId, vectors: Vectors) -> int:
    return store.vectors.set_vectors(
        generation, vectors, [Window(chunk, number, number) for number in range(len(vectors))]
    )


class Waits:
    def test_what_waits_comes_with_the_fewest_failures_first_then_by_id(self, store: Store) -> None:
        a, b, c, d = heads(store, *kept(store, note("a"), note("b"), note("c"), note("d")))
        store.queue.release([a, b], Failure("first", at(1)))
        store.queue.release([a], Failure("second", at(2)))

        assert [excerpt.id for excerpt in waiting(store, 9, at(3))] == [c, d, b, a]
        assert [excerpt.id for excerpt in waiting(store, 3, at(3))] == [c, d, b]
        assert waiting(store, 0, at(3)) == []

    def test_a_search_is_told_first_whether_a_chunk_waits_what_answers_and_when_the_first_memory_ends(
        self, store: Store
    ) -> None:
        assert store.generations.outset() == Outset(0, None, None, waits=False)

        chunks = heads(store, *kept(store, note("a"), note("b", valid_until=at(9)), note("c", valid_until=at(5))))
        assert store.generations.outset() == Outset(0, None, iso(at(5)), waits=True)

        generation = store.generations.begin(SPACE, START).id
        for chunk in chunks:
            fill(store, generation, chunk, VECTORS[:1])
        assert store.generations.outset() == Outset(*store.generations.answering(), iso(at(5)), waits=False)
        assert store.generations.answering() == (generation, None)

    def test_what_one_claims_another_does_not_get(self, store: Store) -> None:
        a, b, c = heads(store, *kept(store, note("a"), note("b"), note("c")))

        first = store.queue.claim(2, now=at(1), until=at(5), by="one")
        second = store.queue.claim(9, now=at(2), until=at(6), by="one")

        assert [excerpt.id for excerpt in first] == [a, b]
        assert first == [store.memories.excerpts([a])[a], store.memories.excerpts([b])[b]]
        assert [excerpt.id for excerpt in second] == [c]
        assert store.queue.claim(9, now=at(4), until=at(9), by="one") == []
        assert [excerpt.id for excerpt in store.queue.claim(9, now=at(6), until=at(9), by="two")] == [a, b, c]

    def test_chunks_of_some_memories_are_claimed_and_no_others(self, store: Store) -> None:
        first, second, third = kept(store, note("a"), note("b"), note("c"))
        a, b, c = heads(store, first, second, third)

        own = store.queue.claim(9, now=at(1), until=at(5), by="one", of=[third, second, MemoryId(99)])

        assert [excerpt.id for excerpt in own] == [b, c]
        assert store.queue.claim(9, now=at(1), until=at(5), by="one", of=[]) == []
        assert [excerpt.id for excerpt in store.queue.claim(9, now=at(1), until=at(5), by="one")] == [a]

    def test_a_claim_ends_with_its_time_a_failure_or_its_release(self, store: Store) -> None:
        a, b, c = heads(store, *kept(store, note("a"), note("b"), note("c")))
        store.queue.claim(9, now=at(1), until=at(5), by="one")

        store.queue.release([b, ChunkId(99)])
        assert [excerpt.id for excerpt in store.queue.claim(9, now=at(2), until=at(6), by="one")] == [b]
        store.queue.release([c], Failure("once", at(2)))
        assert [excerpt.id for excerpt in store.queue.claim(9, at(3), now=at(3), until=at(4), by="one")] == [c]
        assert [excerpt.id for excerpt in store.queue.claim(9, now=at(5), until=at(9), by="one")] == [a]

    def test_claims_are_told_by_who_holds_them_and_for_how_long(self, store: Store) -> None:
        a, b, c = heads(store, *kept(store, note("a"), note("b"), note("c")))
        store.queue.claim(1, now=at(1), until=at(3), by="two")
        store.queue.claim(1, now=at(1), until=at(5), by="one")
        store.queue.claim(1, now=at(2), until=at(4), by="two")

        assert store.queue.claims(at(2)) == [Claim("one", (b,), at(5)), Claim("two", (a, c), at(4))]
        assert store.queue.claims(at(3)) == [Claim("one", (b,), at(5)), Claim("two", (c,), at(4))]
        store.queue.release([b])
        assert store.queue.claims(at(3)) == [Claim("two", (c,), at(4))]
        store.queue.release([c], Failure("once", at(3)))
        assert store.queue.claims(at(3)) == []
        assert store.queue.claims(at(2)) == [Claim("two", (a,), at(3))]
        store.queue.claim(9, now=at(9), until=at(12), by="three")
        assert store.queue.claims(at(11)) == [Claim("three", (a, b), at(12))]

    def test_claims_of_a_holder_are_given_up_and_no_others(self, store: Store) -> None:
        a, b, c = heads(store, *kept(store, note("a"), note("b"), note("c")))
        for name in ("one", "two", "one"):
            store.queue.claim(1, now=at(1), until=at(5), by=name)

        store.queue.release(store.queue.claims(at(1))[0].chunks)

        assert store.queue.claims(at(1)) == [Claim("two", (b,), at(5))]
        assert [excerpt.id for excerpt in store.queue.claim(9, now=at(1), until=at(5), by="three")] == [a, c]
        store.queue.release([])
        assert [claim.chunks for claim in store.queue.claims(at(1))] == [(a, c), (b,)]

    def test_what_failed_lately_is_left_out(self, store: Store) -> None:
        a, b, c = heads(store, *kept(store, note("a"), note("b"), note("c")))
        store.queue.release([a], Failure("once", at(1)))
        store.queue.release([b], Failure("later", at(5)))

        assert [excerpt.id for excerpt in waiting(store, 9)] == [c]
        assert [excerpt.id for excerpt in waiting(store, 9, at(1))] == [c]
        assert [excerpt.id for excerpt in waiting(store, 9, at(5))] == [c, a]
        assert [excerpt.id for excerpt in waiting(store, 9, at(5.000001))] == [c, a, b]

    def test_what_waits_comes_whole(self, store: Store) -> None:
        kept(store, note("a", body="bcd", size=1, title="t", tags=("x",), embedded=embedded([unit(1)], [1])))

        found = waiting(store)

        assert [excerpt.text for excerpt in found] == ["a", "c", "d"]
        assert store.memories.excerpts([excerpt.id for excerpt in found]) == {excerpt.id: excerpt for excerpt in found}

    def test_only_what_is_queued_waits(self, store: Store) -> None:
        gone, filled, other = kept(store, note("a"), note("b"), note("c"))
        store.generations.begin(SPACE, START)
        store.vectors.set_vectors(1, directions(1), [Window(heads(store, filled)[0], 0, 0)])
        delete_memories(store, [gone])

        assert [excerpt.memory for excerpt in waiting(store, 9)] == [other]

    def test_memories_that_wait_say_how_much_and_why(self, store: Store) -> None:
        first, second, done = kept(
            store, note("a", body="bc", size=1), note("d"), note("e", embedded=embedded([unit(1)]))
        )
        chunks = [chunk for chunk, _ in outline(store, first)]
        store.queue.release(chunks[:2], Failure("early", at(1)))
        store.queue.release(chunks[:1], Failure("late", at(2)))

        told = store.queue.waiting([second, MemoryId(99), done, first, MemoryId(BEYOND), first])

        assert told == [
            Waiting(first, chunks=3, failed=2, last_error="late", tried_at=at(2)),
            Waiting(second, chunks=1, failed=0, last_error="", tried_at=None),
        ]
        assert store.queue.waiting([second, first], limit=1) == told[:1]
        assert store.queue.waiting([done]) == store.queue.waiting([]) == []

    def test_of_failures_at_one_moment_that_of_the_last_chunk_is_told(self, store: Store) -> None:
        id = kept(store, note("a", body="bc", size=1))[0]
        a, b, c = (chunk for chunk, _ in outline(store, id))

        for chunk, error in ((b, "of b"), (c, "of c"), (a, "of a")):
            store.queue.release([chunk], Failure(error, at(1)))

        assert store.queue.waiting([id])[0].last_error == store.counts().last_error == "of c"

    def test_failures_come_latest_first_then_by_id(self, store: Store) -> None:
        ids = kept(store, *(note(name, body="x", size=1) for name in "abcd"))
        chunks = heads(store, *ids)
        store.queue.release([chunks[0], chunks[2], chunks[1]], Failure("together", at(1)))
        store.queue.release([outline(store, ids[1])[1][0]], Failure("later", at(2)))

        assert store.queue.waiting(limit=9) == [
            Waiting(ids[1], chunks=2, failed=2, last_error="later", tried_at=at(2)),
            Waiting(ids[0], chunks=2, failed=1, last_error="together", tried_at=at(1)),
            Waiting(ids[2], chunks=2, failed=1, last_error="together", tried_at=at(1)),
        ]
        assert [waiting.memory for waiting in store.queue.waiting(limit=2)] == [ids[1], ids[0]]
        assert [waiting.memory for waiting in store.queue.waiting(limit=1)] == [ids[1]]
        assert store.queue.waiting(limit=0) == []

    def test_what_was_embedded_since_is_no_failure(self, store: Store) -> None:
        id = kept(store, note("a"))[0]
        chunk = heads(store, id)[0]
        store.queue.release([chunk], Failure("down", at(1)))

        store.vectors.set_vectors(store.generations.begin(SPACE, START).id, directions(1), [Window(chunk, 0, 0)])

        assert (store.queue.waiting(limit=9), store.queue.waiting([id]), store.counts().failed) == ([], [], 0)

    def test_memories_that_wait_are_counted(self, store: Store) -> None:
        first, second, _ = kept(store, note("a", body="bc", size=1), note("d"), note("e", embedded=embedded([unit(1)])))
        store.queue.release([chunk for chunk, _ in outline(store, first)], Failure("down", at(1)))

        counts = store.counts()
        assert (counts.queued, counts.failed, store.queue.queued()) == (4, 3, 4)
        assert (counts.waiting_memories, counts.failed_memories) == (2, 1)
        delete_memories(store, [first])
        delete_memories(store, [second])
        counts = store.counts()
        assert (counts.waiting_memories, counts.failed_memories) == (0, 0)

    def test_failures_are_noted_on_what_is_queued(self, store: Store) -> None:
        ids = kept(store, note("a"), note("b"), note("c", embedded=embedded([unit(1)])))
        a, b, c = heads(store, *ids)

        store.queue.release([a, b, c], Failure("first", at(5)))
        store.queue.release([a, ChunkId(99)], Failure("second", at(9)))
        store.queue.release([b], Failure("late news", at(7)))
        store.queue.release([], Failure("none", at(99)))

        counts = store.counts()
        assert (counts.queued, counts.failed, counts.last_error) == (2, 2, "second")
        store.vectors.set_vectors(1, directions(1), [Window(a, 0, 0)])
        counts = store.counts()
        assert (counts.queued, counts.failed, counts.last_error) == (1, 1, "late news")


class Begun:
    @pytest.fixture
    def chunk(self, store: Store) -> ChunkId:
        """One of two chunks that wait for their vectors in generation 1."""
        memory = write(store, prompt("zebra")).memory
        write(store, prompt("giraffe"))
        store.generations.begin(SPACE, START)
        return heads(store, memory.id)[0]

    def test_what_is_added_comes_back_in_order(self, store: Store, chunk: ChunkId) -> None:
        assert there(store, chunk) is None

        assert store.queue.add_partial(1, chunk, 7, VECTORS[:2], first=0)
        assert store.queue.add_partial(1, chunk, 7, VECTORS[2:], first=2)

        assert there(store, chunk) == VECTORS.tolist()

    def test_what_somebody_else_added_meanwhile_is_not_added_twice(self, store: Store, chunk: ChunkId) -> None:
        store.queue.add_partial(1, chunk, 7, VECTORS[:2], first=0)

        assert not store.queue.add_partial(1, chunk, 7, VECTORS[:2], first=0)
        assert not store.queue.add_partial(1, chunk, 7, VECTORS[3:], first=3)
        assert there(store, chunk) == VECTORS[:2].tolist()

    def test_windows_of_another_text_do_not_count(self, store: Store, chunk: ChunkId) -> None:
        store.queue.add_partial(1, chunk, 7, VECTORS[:2], first=0)

        assert there(store, chunk, stamp=8) is None
        assert not store.queue.add_partial(1, chunk, 8, VECTORS[2:], first=2)
        assert store.queue.add_partial(1, chunk, 8, VECTORS[2:], first=0)
        assert (there(store, chunk), there(store, chunk, stamp=8)) == (None, VECTORS[2:].tolist())

    def test_it_waits_all_the_same_and_answers_no_search(self, store: Store, chunk: ChunkId) -> None:
        store.queue.add_partial(1, chunk, 7, VECTORS, first=0)

        assert store.queue.queued() == 2
        assert store.generations.size(1).chunks == 0
        assert store.generations.centre(1)[1] == 0
        assert chunk in [excerpt.id for excerpt in store.vectors.pending(1, ChunkId(0), 10)]

    def test_a_chunk_that_is_filled_takes_it_away_and_no_other(self, store: Store, chunk: ChunkId) -> None:
        other = ChunkId(chunk + 1)
        for one in (chunk, other):
            store.queue.add_partial(1, one, 7, VECTORS[:2], first=0)

        assert fill(store, 1, chunk, VECTORS) == 1

        assert there(store, chunk) is None
        assert there(store, other) == VECTORS[:2].tolist()

    def test_it_goes_with_its_chunk(self, store: Store, chunk: ChunkId) -> None:
        store.queue.add_partial(1, chunk, 7, VECTORS[:2], first=0)
        delete_memories(store, [store.memories.excerpts([chunk])[chunk].memory])

        assert there(store, chunk) is None
        assert not store.queue.add_partial(1, chunk, 7, VECTORS, first=0)

    @pytest.mark.parametrize("how", ["clear", "drop"])
    def test_it_goes_with_its_generation(self, store: Store, chunk: ChunkId, how: str) -> None:
        other = store.generations.begin(OTHER, START).id
        for generation in (1, other):
            store.queue.add_partial(generation, chunk, 7, VECTORS[:2], first=0)

        if how == "clear":
            emptied(store, other)
        else:
            store.generations.begin(OTHER._replace(model="third"), START)

        assert there(store, chunk, generation=other) is None
        assert there(store, chunk) == VECTORS[:2].tolist()
        assert store.queue.add_partial(other, chunk, 7, VECTORS, first=0) is (how == "clear")

    def test_two_generations_do_not_meet(self, store: Store, chunk: ChunkId) -> None:
        other = store.generations.begin(OTHER, START).id
        store.queue.add_partial(1, chunk, 7, VECTORS[:2], first=0)
        store.queue.add_partial(other, chunk, 7, VECTORS[2:], first=0)
        fill(store, other, chunk, VECTORS)

        assert there(store, chunk) == VECTORS[:2].tolist()
        assert store.generations.every()[0].state is State.ACTIVE

    def test_nothing_is_known_of_what_never_was(self, store: Store) -> None:
        assert store.queue.partial(99, ChunkId(99), 0) is None
        assert not store.queue.add_partial(99, ChunkId(99), 0, np.zeros((1, 8), np.float32), first=0)
        write(store, note("zebra"))
        assert not store.queue.add_partial(99, ChunkId(1), 0, VECTORS, first=0)


class QueueSuite(Waits, Begun):
    """The part `queue`."""
