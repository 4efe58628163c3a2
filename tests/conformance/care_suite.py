"""What every store promises as a whole: counts, a check, a repair, and calls from any thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from entries import (
    OTHER,
    START,
    at,
    directions,
    embedded,
    kept,
    note,
    nothing_was_kept,
    prompt,
    request,
    unit,
    waiting,
    words,
    write,
)

from memory.keep.rules import delete_memories, replace_memory
from memory.schema.memory import MemoryId
from memory.schema.query import ACTIVE
from memory.store import Failure, Salvaged, State

if TYPE_CHECKING:
    from memory.store import Store


class CareSuite:
    def test_it_begins_empty(self, store: Store) -> None:
        assert nothing_was_kept(store)

    def test_of_a_sound_store_everything_can_be_read(self, store: Store) -> None:
        ids = kept(store, note("a", body="one"), note("b"), note("c"))
        replace_memory(store, ids[0], note("d", body="two"))
        delete_memories(store, [ids[1]])

        first, last = (Salvaged(id, store.memories.details(id)) for id in (ids[0], ids[2]))
        assert list(store.salvaged(MemoryId(0), 9)) == [first, last]
        assert list(store.salvaged(ids[0], 9)) == [last]
        assert list(store.salvaged(MemoryId(0), 1)) == [first]
        assert list(store.salvaged(ids[2], 9)) == []

    def test_counts_tell_how_much_there_is(self, store: Store) -> None:
        assert nothing_was_kept(store)

        old = kept(store, note("a", body="xy", size=1, project="p", embedded=embedded(directions(3))))[0]
        kept(store, note("b", supersedes=old), prompt("c", project="p"), prompt("d", project="q"))

        counts = store.counts()
        assert (counts.memories, counts.superseded, counts.chunks, counts.queued, counts.failed) == (4, 1, 6, 3, 0)
        assert counts.kinds == (("input_prompt", 2), ("note", 2))
        assert counts.projects == (("p", 2), ("q", 1))
        assert counts.last_error == ""

    def test_a_store_in_use_is_sound(self, store: Store) -> None:
        assert list(store.check()) == list(store.check(quick=True)) == []
        kept(store, note("a", body="text", embedded=embedded([unit(1), unit(2)], [0, 1])), note("b"))
        store.queue.release([waiting(store, 1)[0].id], Failure("down", at(1)))
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1, former=State.BUILDING)
        store.generations.mark(1, unit(1).tobytes())
        store.usage.reserve_call(request())

        assert list(store.check()) == []

    def test_repairing_what_is_sound_changes_nothing(self, store: Store) -> None:
        id = kept(store, note("a", body="text", embedded=embedded([unit(1), unit(2)], [0, 1])), note("b"))[0]
        store.queue.release([waiting(store, 1)[0].id], Failure("down", at(1)))
        store.generations.begin(OTHER, START)

        def seen() -> list[object]:
            return [
                store.counts()._replace(bytes=0),
                list(store.generations.every()),
                store.vectors.by_vector(1, unit(1), ACTIVE, 9),
                store.keywords.by_keyword(words("text"), ACTIVE, 9),
                store.memories.details(id),
                list(store.queue.waiting(limit=9)),
                store.generations.centre(1)[0].tolist(),
            ]

        before = seen()
        store.repair()
        assert seen() == before
        assert list(store.check()) == []

    def test_calls_may_come_from_any_thread(self, store: Store) -> None:
        def work(number: int) -> int:
            id = write(store, note(f"thread {number}", embedded=embedded([unit(1, number)]))).memory.id
            store.keywords.by_keyword(words("thread"), ACTIVE, 5)
            store.vectors.by_vector(1, unit(1), ACTIVE, 5)
            return id

        write(store, note("first", embedded=embedded([unit(1)])))
        with ThreadPoolExecutor(4) as pool:
            ids = list(pool.map(work, range(24)))

        assert len(set(ids)) == 24
        assert store.counts().memories == 25
        assert len(store.vectors.by_vector(1, unit(1), ACTIVE, 100)) == 25
