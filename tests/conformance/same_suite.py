"""What the rules say of what is known already, and of what takes the place of another, over every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from entries import BEYOND, at, directions, embedded, kept, note, nothing_was_kept, prompt, write

from memory.keep.rules import known_memories, write_entries
from memory.schema.errors import Invalid, NotFound
from memory.schema.memory import MemoryId, Standing

if TYPE_CHECKING:
    from memory.store import Store


class Knowing:
    def test_the_same_is_known_and_not_kept_twice(self, store: Store) -> None:
        first = write(store, note("same", unless_known=True))

        again = write(store, note("same", unless_known=True, moment=at(5)))

        assert (first.known, again.known) == (False, True)
        assert again.memory == first.memory
        assert store.queue.queued() == 1
        assert store.counts().memories == 1

    def test_the_same_is_known_within_one_put(self, store: Store) -> None:
        first, second = write_entries(store, [note("same", unless_known=True), note("same", unless_known=True)])

        assert (first.known, second.known) == (False, True)
        assert first.memory.id == second.memory.id

    def test_what_was_superseded_within_one_put_is_not_known_in_it(self, store: Store) -> None:
        old = kept(store, note("same"))[0]

        new, again = write_entries(store, [note("new", supersedes=old), note("same", unless_known=True)])

        assert (new.known, again.known) == (False, False)
        assert again.memory.id not in {old, new.memory.id}

    def test_several_that_are_new_have_their_chunks_vectors_and_places_in_the_queue(self, store: Store) -> None:
        vectors = embedded(directions(1))
        some = [note(f"n {n}", embedded=None if n == 1 else vectors) for n in range(4)]

        saved = write_entries(store, [*some[:2], some[2]._replace(unless_known=True), some[3], some[0]])

        assert [one.memory.title for one in saved] == [one.draft.title for one in (*some, some[0])]
        assert store.counts().memories == len({one.memory.id for one in saved})
        assert [one.memory for one in store.queue.waiting([one.memory.id for one in saved])] == [saved[1].memory.id]
        assert store.generations.centre(1)[1] == store.counts().memories - 1
        assert list(store.check()) == []

    @pytest.mark.parametrize(
        "field",
        [
            {"project": "p"},
            {"agent_id": "a"},
            {"session_id": "s"},
            {"session_iter": 1},
            {"task_code": "t"},
            {"query_id": "q"},
        ],
    )
    def test_the_same_in_another_scope_is_another_memory(self, store: Store, field: dict[str, str]) -> None:
        one, other = write_entries(store, [note("same", unless_known=True), note("same", unless_known=True, **field)])

        assert (one.known, other.known) == (False, False)

    def test_the_same_is_kept_again_when_asked_for(self, store: Store) -> None:
        assert [one.known for one in write_entries(store, [note("same"), note("same")])] == [False, False]

    def test_a_kind_that_repeats_is_never_known(self, store: Store) -> None:
        again = prompt("continue")._replace(unless_known=True)

        assert [one.known for one in write_entries(store, [prompt("continue"), again])] == [False, False]

    def test_what_was_superseded_is_not_known(self, store: Store) -> None:
        old = kept(store, note("same"))[0]
        write(store, note("new", supersedes=old))

        assert write(store, note("same", unless_known=True)).known is False

    def test_a_uid_that_is_there_is_known_whatever_it_says(self, store: Store) -> None:
        first = write(store, note("one", uid="ab" * 16)).memory

        again = write(store, note("two", uid="ab" * 16))

        assert (again.known, again.memory) == (True, first)

    def test_known_says_what_put_would_answer(self, store: Store) -> None:
        id = kept(store, note("same", uid="ab" * 16))[0]
        entries = [
            note("same", unless_known=True),
            note("same"),
            note("else", uid="ab" * 16),
            note("new", unless_known=True),
        ]

        assert [one and one.id for one in known_memories(store, entries)] == [id, None, id, None]
        assert store.counts().memories == 1


class Superseding:
    def test_an_entry_that_supersedes_nothing_is_refused(self, store: Store) -> None:
        with pytest.raises(NotFound):
            write(store, note(supersedes=MemoryId(BEYOND)))

        assert nothing_was_kept(store)

    def test_superseding_by_the_same_once_more_is_no_mistake(self, store: Store) -> None:
        old = kept(store, note("old"))[0]
        new = write(store, note("new", supersedes=old, unless_known=True)).memory.id

        again = write(store, note("new", supersedes=old, unless_known=True))

        assert (again.known, again.memory.id) == (True, new)
        assert store.memories.by_id([old])[old].superseded_by == new

    def test_superseding_retires_the_old_in_the_same_step(self, store: Store) -> None:
        old = kept(store, note("port 80"))[0]

        new = write(store, note("port 443", supersedes=old)).memory

        former = store.memories.by_id([old])[old]
        assert (former.status, former.superseded_by) == (Standing.SUPERSEDED, new.id)
        assert (new.status, new.superseded_by) == (Standing.ACTIVE, None)

    def test_what_is_known_supersedes_too(self, store: Store) -> None:
        known, old = kept(store, note("same"), note("old"))

        again = write(store, note("same", unless_known=True, supersedes=old))

        assert (again.known, again.memory.id) == (True, known)
        assert store.memories.by_id([old])[old].superseded_by == known

    def test_nothing_supersedes_itself(self, store: Store) -> None:
        id = kept(store, note("same"))[0]

        write(store, note("same", unless_known=True, supersedes=id))

        assert store.memories.by_id([id])[id].status is Standing.ACTIVE

    def test_nothing_is_superseded_twice(self, store: Store) -> None:
        old = kept(store, note("old"))[0]
        write(store, note("new", supersedes=old))

        with pytest.raises(Invalid):
            write_entries(store, [note("other"), note("newer", supersedes=old)])

        assert store.counts().memories == 2


class SameSuite(Knowing, Superseding):
    """What is the same, and what is superseded."""
