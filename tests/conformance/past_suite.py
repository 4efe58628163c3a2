"""What every store promises of what memories were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entries import KEEP, at, note, write

from memory.engine.scopes import states
from memory.keep.removing import forget_trashed, purge, throw_away
from memory.keep.rules import replace_memory
from memory.schema.memory import Revision
from memory.schema.query import EVERYTHING

if TYPE_CHECKING:
    from memory.store import Store


def said(store: Store, moment: float) -> list[tuple[str, str, str]]:
    """What memories said at a moment, their bodies, and whether they held."""
    found = states(store, EVERYTHING, at(moment), at(99))
    return [(memory.what, body, str(memory.status)) for memory, body in found]


class PastSuite:
    def test_the_first_text_that_was_replaced_after_a_moment_is_what_a_memory_said_then(self, store: Store) -> None:
        first = write(store, note("one", body="é🦊", tags=("x",))).memory
        other = write(store, note("other")).memory
        second = replace_memory(store, first.id, note("two", moment=at(10))).memory
        replace_memory(store, first.id, note("three", moment=at(20)))

        def known(memory):
            return memory._replace(short_id=memory.uid[:8])

        assert store.memories.former(at(9)) == {first.id: Revision(at(10), known(first), "é🦊")}
        assert store.memories.former(at(10)) == {first.id: Revision(at(20), known(second), "")}
        assert store.memories.former(at(20)) == {}
        replace_memory(store, other.id, note("another", moment=at(30)))
        assert {id: one.memory.what for id, one in store.memories.former(at(0)).items()} == {
            first.id: "one",
            other.id: "other",
        }

    def test_memories_are_as_they_were_then(self, store: Store) -> None:
        first = write(store, note("one", body="long")).memory
        replace_memory(store, first.id, note("two", moment=at(10)))
        write(store, note("later", moment=at(20)))

        assert said(store, -1) == []
        assert said(store, 0) == said(store, 9) == [("one", "long", "active")]
        assert said(store, 10) == said(store, 19) == [("two", "", "active")]
        assert said(store, 20) == [("two", "", "active"), ("later", "", "active")]

    def test_what_was_superseded_since_held_then(self, store: Store) -> None:
        old = write(store, note("old")).memory
        new = write(store, note("new", moment=at(10), supersedes=old.id)).memory

        assert said(store, 9) == [("old", "", "active")]
        assert said(store, 10) == [("old", "", "superseded"), ("new", "", "active")]
        [before, *_] = states(store, EVERYTHING, at(9), at(99))
        assert (before.memory.superseded_by, before.memory.successor_uid, before.memory.successor) == (None,) * 3
        throw_away(store, [new.id], KEEP._replace(moment=at(20)))
        assert said(store, 19) == [("old", "", "superseded"), ("new", "", "active")]
        assert said(store, 20) == [("old", "", "active")]

    def test_what_was_deleted_since_is_there_and_what_was_purged_is_not(self, store: Store) -> None:
        first = write(store, note("one", body="long")).memory
        other = write(store, note("other")).memory
        replace_memory(store, first.id, note("two", moment=at(10)))
        throw_away(store, [first.id], KEEP._replace(moment=at(20)))
        purge(store, [other.id])

        assert said(store, 9) == [("one", "long", "active")]
        assert said(store, 19) == [("two", "", "active")]
        assert said(store, 20) == []
        [state] = states(store, EVERYTHING, at(19), at(99))
        assert (state.memory.id, state.memory.uid, state.memory.short_id) == (first.id, first.uid, first.uid[:8])
        forget_trashed(store, [first.uid], [first.id])
        assert said(store, 9) == said(store, 19) == []

    def test_what_can_no_longer_be_had_back_is_not_there(self, store: Store) -> None:
        first = write(store, note("one")).memory
        throw_away(store, [first.id], KEEP._replace(moment=at(20), days=1))

        over = at(20 + 86_400)

        assert states(store, EVERYTHING, at(19), at(20 + 86_399))
        assert states(store, EVERYTHING, at(19), over) == []
