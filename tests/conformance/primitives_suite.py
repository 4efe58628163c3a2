"""What every store promises of the steps that rules are made of: they find and write what they are told to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from entries import BEYOND, at, note, nothing_was_kept, outline

from memory.schema.errors import NotFound
from memory.schema.kinds import Kind
from memory.schema.memory import MemoryId, Revision, Standing
from memory.store import Match

if TYPE_CHECKING:
    from memory.schema.memory import Memory
    from memory.store import Store


def inserted(store: Store, *moments: float) -> list[Memory]:
    """Discoveries of one run that say the same, made at these moments."""
    made = [note("same", body="x", kind=Kind.DISCOVERY, query_id="r", agent_id="a", moment=at(n)) for n in moments]
    return [store.memories.insert(entry) for entry in made]


def linked(memory: Memory, to: Memory | None, *, parent: bool = True) -> Memory:
    """Superseded by another, or by one that is gone, which is its parent too."""
    id, uid = (to.id, to.uid) if to else (None, None)
    later = memory._replace(
        status=Standing.SUPERSEDED, superseded_by=id, successor_uid=uid, successor=to and to.short_id
    )
    return later._replace(parent_id=id, parent_uid=uid) if parent else later


class Finding:
    def test_the_same_may_be_inserted_twice(self, store: Store) -> None:
        first, second = inserted(store, 1, 1)

        assert first._replace(id=second.id, uid=second.uid, short_id=second.short_id) == second
        assert store.counts().memories == 2

    def test_the_first_or_the_last_changed_is_found(self, store: Store) -> None:
        first, last, _ = inserted(store, 3, 9, 5)
        fields = {"kind": Kind.DISCOVERY, "query_id": "r"}

        assert list(store.memories.find([Match(fields), Match(fields, latest=True)])) == [first, last]

    def test_of_those_changed_at_one_moment_the_last_is_found(self, store: Store) -> None:
        _, second = inserted(store, 3, 3)

        assert list(store.memories.find([Match({"query_id": "r"}, latest=True)])) == [second]

    def test_what_is_superseded_is_found_unless_only_active_ones_are_asked_for(self, store: Store) -> None:
        first, second = inserted(store, 1, 2)
        old = linked(first, second, parent=False)
        store.memories.set_links([old])
        fields = {"content_hash": first.content_hash, "kind": Kind.DISCOVERY}

        assert list(store.memories.find([Match(fields), Match(fields, active=True)])) == [old, second]

    def test_nothing_is_a_value_like_any_other(self, store: Store) -> None:
        (first,) = inserted(store, 1)
        fields = {"content_hash": first.content_hash, "project": None}

        assert list(store.memories.find([Match(fields)])) == [first]
        assert (
            list(store.memories.find([Match(fields | {"project": "p"}), Match(fields | {"agent_id": None})]))
            == [None] * 2
        )

    def test_many_are_asked_for_in_any_order_and_of_any_form(self, store: Store) -> None:
        first, second = inserted(store, 1, 2)
        absent = [Match({"id": id}) for id in (0, -1, 99, BEYOND)]
        asked = [Match({"uid": second.uid}), Match({"id": first.id}), *absent, Match({"uid": first.uid})]

        assert list(store.memories.find(asked)) == [second, first, None, None, None, None, first]
        assert list(store.memories.find([])) == []


class Rewriting:
    def test_a_history_of_another_length_is_a_refusal(self, store: Store) -> None:
        (old,) = inserted(store, 1)
        new = note("new", body="y", moment=at(5))

        assert not store.memories.rewrite(old.id, new, revisions=1)
        assert store.memories.by_id([old.id]) == {old.id: old}
        assert store.memories.rewrite(old.id, new, Revision(at(5), old, "x"), revisions=0)
        details = store.memories.details(old.id)
        assert details is not None
        assert [revision.body for revision in details.history] == ["x"]
        assert (details.body, details.memory.uid, details.memory.created_at) == ("y", old.uid, at(1))

    def test_without_a_former_text_the_history_stays(self, store: Store) -> None:
        (old,) = inserted(store, 1)

        assert store.memories.rewrite(old.id, note("new", body="y"))
        details = store.memories.details(old.id)
        assert details is not None
        assert list(details.history) == []
        assert [chunk.stop for _, chunk in outline(store, old.id)] == [0, 1]

    @pytest.mark.parametrize("gone", [0, 99, BEYOND])
    def test_what_is_not_there_is_not_rewritten(self, store: Store, gone: int) -> None:
        with pytest.raises(NotFound, match=f"no memory {gone}"):
            store.memories.rewrite(MemoryId(gone), note("new"), revisions=0)

        assert nothing_was_kept(store)


class Linking:
    def test_links_are_written_and_nothing_else(self, store: Store) -> None:
        first, second = inserted(store, 1, 2)
        old = linked(first, second)

        store.memories.set_links([old._replace(title="another"), second._replace(id=MemoryId(99))])

        assert store.memories.by_id([first.id, second.id]) == {first.id: old, second.id: second}
        assert store.memories.by_id([second.id, MemoryId(99)], pointing=True) == {first.id: old, second.id: second}
        assert store.memories.by_id([first.id], pointing=True) == {first.id: old}

    def test_what_pointed_to_one_that_is_deleted_points_to_nothing(self, store: Store) -> None:
        first, second = inserted(store, 1, 2)
        old = linked(first, second)
        store.memories.set_links([old])

        assert store.memories.delete([second.id, second.id, MemoryId(99)]) == 1
        assert store.memories.by_id([first.id]) == {first.id: linked(first, None)}


class PrimitivesSuite(Finding, Rewriting, Linking):
    """What `memory.keep.rules` is made of."""
