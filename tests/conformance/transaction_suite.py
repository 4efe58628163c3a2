"""What every store promises of several calls that are one transaction."""

from __future__ import annotations

from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest
from entries import SPACE, START, at, directions, embedded, everything, kept, note, outline

from memory.keep.rules import join
from memory.schema.errors import NotFound, StoreError
from memory.schema.kinds import Kind
from memory.schema.memory import MemoryId
from memory.schema.query import EVERYTHING
from memory.store import Failure, Match, Relation

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.store import Store

GONE = MemoryId(99)


class Broken(Exception):
    """Raised by whoever uses a transaction."""


def refused(store: Store) -> None:
    """Something that a part refuses."""
    store.memories.rewrite(GONE, note("nowhere"))


def fail_within(store: Store, *calls: Callable[[], object]) -> None:
    """Make calls in a transaction that its user gives up at the end."""
    with store.transaction():
        for call in calls:
            call()
        raise Broken


def catch_within(store: Store, *calls: Callable[[], object]) -> None:
    """Make calls in a transaction that goes on whatever they raise."""
    with store.transaction():
        store.memories.insert(note("before"))
        for call in calls:
            with suppress(NotFound):
                call()


class TransactionSuite:
    def test_what_several_parts_wrote_is_kept_together(self, store: Store) -> None:
        with store.transaction():
            first = store.memories.insert(note("first", embedded=embedded(directions(1))))
            store.memories.touch([first.id], at(5))
            store.queue.release([chunk for chunk, _ in outline(store, first.id)], Failure("down", START))

        assert store.memories.by_id([first.id])[first.id].access_count == 1
        assert len(store.generations.every()) == 1

    def test_an_exception_undoes_what_every_part_wrote(self, store: Store) -> None:
        kept = store.memories.insert(note("kept"))
        before = store.counts()._replace(bytes=0)

        with pytest.raises(Broken):
            fail_within(
                store,
                lambda: store.memories.insert(note("new", embedded=embedded(directions(1)))),
                lambda: store.memories.delete([kept.id]),
                lambda: store.generations.begin(SPACE, START),
            )

        assert store.counts()._replace(bytes=0) == before
        assert list(store.generations.every()) == []
        assert store.memories.by_id([kept.id]) == {kept.id: kept}

    def test_it_reads_what_it_wrote(self, store: Store) -> None:
        with store.transaction():
            new = store.memories.insert(note("new"))

            assert list(store.memories.find([Match({"uid": new.uid})])) == [new]
            assert store.counts().memories == 1
            store.memories.delete([new.id])
            assert store.counts().memories == 0

    def test_one_inside_another_is_a_part_of_that(self, store: Store) -> None:
        seen: list[int] = []

        def inside() -> None:
            with store.transaction():
                store.memories.insert(note("inside"))

        with pytest.raises(Broken):
            fail_within(store, inside, lambda: seen.append(store.counts().memories))

        assert (seen, store.counts().memories) == ([1], 0)

    def test_what_failed_inside_undoes_everything_though_it_was_caught(self, store: Store) -> None:
        with pytest.raises(StoreError, match="failed"):
            catch_within(store, lambda: refused(store))

        assert store.counts().memories == 0
        assert store.memories.insert(note("after"))
        assert store.counts().memories == 1

    def test_a_question_that_fails_inside_undoes_nothing(self, store: Store) -> None:
        catch_within(store, lambda: store.generations.centre(99))

        assert store.counts().memories == 1

    def test_after_one_that_failed_the_next_is_whole(self, store: Store) -> None:
        with pytest.raises(Broken):
            fail_within(store, lambda: store.memories.insert(note("undone")))
        with pytest.raises(StoreError, match="failed"):
            catch_within(store, lambda: refused(store))

        with store.transaction():
            store.memories.insert(note("next"))

        assert store.counts().memories == 1

    def test_another_thread_sees_all_of_it_or_nothing(self, store: Store) -> None:
        seen: list[int] = []
        begun = Event()

        def look() -> None:
            begun.wait(60)
            seen.append(store.counts().memories)

        thread = Thread(target=look)
        with store.transaction():
            thread.start()
            store.memories.insert(note("first"))
            begun.set()
            store.memories.insert(note("second"))
        thread.join()

        assert seen in ([0], [2])

    def test_nobody_writes_between_what_it_reads_and_what_it_writes(self, store: Store) -> None:
        """Each counts on; a number that two read would be written twice."""

        def count_on() -> None:
            for _ in range(10):
                with store.transaction():
                    number = store.counts().memories
                    store.memories.insert(note(str(number), title=f"number {number}"))

        threads = [Thread(target=count_on) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        titles = {memory.title for memory in everything(store)}
        assert titles == {f"number {number}" for number in range(40)}

    def test_a_relation_to_what_is_undone_is_undone(self, store: Store) -> None:
        one, other = (store.memories.insert(note(title=name, kind=Kind.ENTITY)).id for name in "ab")

        with pytest.raises(Broken):
            fail_within(store, lambda: join(store, [Relation(one, other, "x", START)]))

        assert store.graph.counts().relations == 0

    def test_what_several_parts_read_in_a_snapshot_is_of_one_moment(self, store: Store) -> None:
        first = kept(store, note("first"))[0]

        with store.snapshot(), store.snapshot():
            before = store.memories.count(EVERYTHING), store.memories.by_id([first])
            with store.snapshot():
                assert (store.memories.count(EVERYTHING), store.memories.by_id([first])) == before
        kept(store, note("second"))

        assert store.memories.count(EVERYTHING) == before[0] + 1
