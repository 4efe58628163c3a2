"""What the rules say of memories that are replaced and deleted, over every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from entries import (
    BEYOND,
    SPACE,
    START,
    TOLERANCE,
    at,
    directions,
    embedded,
    found,
    heads,
    kept,
    note,
    nothing_was_kept,
    outline,
    queued,
    unit,
    words,
    write,
)

from memory.keep.rules import delete_memories, pin_memories, replace_memory
from memory.schema.answer import Ranking
from memory.schema.errors import Invalid, NotFound
from memory.schema.memory import MemoryId, Revision, Standing
from memory.schema.query import EVERYTHING

if TYPE_CHECKING:
    from memory.store import Store


class ChangingSuite:
    def test_a_memory_is_shown_by_as_much_of_its_uid_as_no_other_begins_with(self, store: Store) -> None:
        uids = ["aaaaaaaa" + "0" * 24, "aaaaaaaa00" + "1" * 22, "aaaaaaab" + "0" * 24, "b" * 32]
        ids = [write(store, note(uid, uid=uid)).memory.id for uid in uids]

        seen = store.memories.by_id(ids)
        assert [seen[id].short_id for id in ids] == ["aaaaaaaa000", "aaaaaaaa001", "aaaaaaab", "bbbbbbbb"]
        assert [found for id in ids for found, _ in store.memories.resolve(seen[id].short_id)] == ids
        delete_memories(store, ids[:1])
        assert store.memories.by_id(ids)[ids[1]].short_id == "aaaaaaaa"

    def test_the_memories_that_one_names_are_known_by_their_uids(self, store: Store) -> None:
        uids = ["a" * 32, "aaaaaaaab" + "0" * 23, "b" * 32]
        parent, successor, id = (write(store, note(uid, uid=uid)).memory.id for uid in uids)
        one = store.memories.by_id([id])[id]

        store.memories.set_links([one._replace(status=Standing.SUPERSEDED, superseded_by=successor, parent_id=parent)])
        seen = store.memories.by_id([id])[id]
        assert (seen.parent_uid, seen.successor_uid, seen.successor) == (*uids[:2], "aaaaaaaab")
        delete_memories(store, [parent, successor])
        seen = store.memories.by_id([id])[id]
        assert (seen.parent_uid, seen.successor_uid, seen.successor) == (None, None, None)

    def test_flags_go_with_what_they_are_of(self, store: Store) -> None:
        plain, flagged = kept(store, note("plain"), note("flagged")._replace(flags=("instructions", "other")))
        assert [store.memories.by_id([id])[id].flags for id in (plain, flagged)] == [(), ("instructions", "other")]

        replace_memory(store, flagged, note("corrected"))

        whole = store.memories.details(flagged)
        assert whole is not None
        assert whole.memory.flags == ()
        assert [revision.memory.flags for revision in whole.history] == [("instructions", "other")]

    def test_a_replaced_memory_keeps_its_identity(self, store: Store) -> None:
        before = write(store, note("old", body="old body", project="p", uid="ab" * 16)).memory
        store.memories.touch([before.id], at(1))

        after = replace_memory(store, before.id, note("new", body="new", moment=at(9), project="q")).memory

        assert store.memories.by_id([before.id]) == {before.id: after}
        assert (after.uid, after.created_at, after.updated_at) == (before.uid, START, at(9))
        assert (after.accessed_at, after.access_count, after.status) == (at(1), 1, Standing.ACTIVE)
        assert (after.what, after.project, after.body_size, store.memories.bodies([before.id]).get(before.id)) == (
            "new",
            "q",
            3,
            "new",
        )

    def test_a_pin_changes_nothing_else_and_is_found_by(self, store: Store) -> None:
        one, other = kept(store, note("one", project="p"), note("other"))
        before = store.memories.details(one)

        (pinned,) = pin_memories(store, [one, one, MemoryId(BEYOND)], START, pinned=True)

        assert store.memories.details(one) == before._replace(memory=before.memory._replace(pinned=True))
        assert pinned == store.memories.by_id([one])[one]
        assert [memory.id for memory in store.memories.page(EVERYTHING._replace(pinned=True), 9)] == [one]
        assert store.memories.count(EVERYTHING._replace(pinned=True, projects=frozenset({"q"}))) == 0
        pin_memories(store, [one, other], START, pinned=False)
        assert store.memories.details(one) == before

    def test_a_pin_outlives_a_correction_and_goes_on_to_what_supersedes(self, store: Store) -> None:
        (old,) = kept(store, note("old"))
        pin_memories(store, [old], START, pinned=True)

        replace_memory(store, old, note("old, corrected"))
        new, plain = (
            write(store, note("new", supersedes=old)).memory.id,
            write(store, note("unpinned")).memory.id,
        )
        after = write(store, note("newer", supersedes=plain)).memory.id

        there = store.memories.by_id([old, new, after])
        assert [there[id].pinned for id in (old, new, after)] == [True, True, False]

    def test_what_was_superseded_is_not_pinned_as_no_context_shows_it(self, store: Store) -> None:
        old, other = kept(store, note("old"), note("other"))
        pin_memories(store, [old], START, pinned=True)
        new = write(store, note("new", supersedes=old)).memory

        with pytest.raises(Invalid, match="superseded") as refused:
            pin_memories(store, [other, old], START, pinned=True)

        assert new.short_id in refused.value.hint
        assert not store.memories.by_id([other])[other].pinned
        assert not pin_memories(store, [old], START, pinned=False)[0].pinned

    def test_a_replaced_memory_stays_superseded(self, store: Store) -> None:
        old = kept(store, note("old"))[0]
        new = write(store, note("new", supersedes=old)).memory.id

        after = replace_memory(store, old, note("old, corrected")).memory

        assert (after.status, after.superseded_by) == (Standing.SUPERSEDED, new)

    def test_history_holds_what_was_replaced_latest_first(self, store: Store) -> None:
        metadata = {"a": [1, {"b": None}], "ü": "数"}
        first = write(store, note("one", body="é🦊", tags=("x",), metadata=metadata, related_files=("f",))).memory
        second = replace_memory(store, first.id, note("two", moment=at(1))).memory
        replace_memory(store, first.id, note("three", moment=at(2)))

        assert list(store.memories.details(first.id).history) == [
            Revision(at(2), second, ""),
            Revision(at(1), first, "é🦊"),
        ]

    def test_a_version_names_its_parent_and_successor_by_their_uids(self, store: Store) -> None:
        uids = ["a" * 32, "b" * 32]
        parent, successor = (write(store, note(uid, uid=uid)).memory.id for uid in uids)
        old = write(store, note("old", parent_id=parent)).memory
        write(store, note("new", supersedes=old.id, uid="c" * 32))
        store.memories.set_links([store.memories.by_id([old.id])[old.id]._replace(superseded_by=successor)])
        replace_memory(store, old.id, note("old, corrected"))

        def links() -> list[tuple[str | None, str | None]]:
            whole = store.memories.details(old.id)
            assert whole is not None
            return [(one.memory.parent_uid, one.memory.successor_uid) for one in whole.history]

        assert links() == [(uids[0], uids[1])]
        delete_memories(store, [parent, successor])
        assert links() == [(None, None)]

    def test_only_the_new_words_and_vectors_of_a_replaced_memory_are_found(self, store: Store) -> None:
        id = kept(store, note("zebra", embedded=embedded([unit(1)])))[0]
        chunk = heads(store, id)[0]

        replace_memory(store, id, note("giraffe", embedded=embedded([unit(0, 1)])))

        assert found(store.keywords.by_keyword(words("zebra"), EVERYTHING, 10)) == []
        assert found(store.keywords.by_keyword(words("giraffe"), EVERYTHING, 10)) == [id]
        [scored] = store.vectors.by_vector(1, unit(0, 1), EVERYTHING, 10)
        assert scored.chunk != chunk
        assert scored.score == pytest.approx(1, abs=TOLERANCE)
        total, count = store.generations.centre(1)
        assert count == 1
        assert list(total) == pytest.approx(unit(0, 1), abs=TOLERANCE)

    def test_a_replaced_memory_without_vectors_is_queued(self, store: Store) -> None:
        id = kept(store, note("a", embedded=embedded([unit(1)])))[0]

        assert queued(store, replace_memory(store, id, note("b", body="c"))) == 2

        assert store.counts().queued == 2

    def test_replacing_what_is_not_there_is_refused(self, store: Store) -> None:
        id = kept(store, note("a"))[0]

        for refused in (MemoryId(id + 1), MemoryId(BEYOND)):
            with pytest.raises(NotFound):
                replace_memory(store, refused, note("b"))
        with pytest.raises(NotFound):
            replace_memory(store, id, note("b", parent_id=MemoryId(99)))

        whole = store.memories.details(id)
        assert whole is not None
        assert (whole.memory.what, list(whole.history)) == ("a", [])

    def test_deletion_leaves_nothing(self, store: Store) -> None:
        vectors = directions(3)
        id = kept(store, note("zebra", body="ab", size=1, embedded=embedded(vectors)))[0]
        replace_memory(store, id, note("zebra", body="ab", size=1, embedded=embedded(vectors)))
        chunks = [chunk for chunk, _ in outline(store, id)]

        assert delete_memories(store, [id]) == 1

        assert nothing_was_kept(store)
        assert store.memories.bodies([id]).get(id) is None
        assert store.memories.details(id) is None
        assert store.memories.excerpts(chunks) == {}
        assert store.keywords.by_keyword(words("zebra", "note", "guide"), EVERYTHING, 10) == Ranking()
        assert store.keywords.weigh(words("zebra"))[0].rows == 0
        assert store.vectors.by_vector(1, vectors[0], EVERYTHING, 10) == Ranking()
        assert store.vectors.cosines(1, vectors[0], chunks, other=vectors[1]) == {}
        total, count = store.generations.centre(1)
        assert (count, total.tolist()) == (0, [0] * SPACE.dimension)
        assert store.generations.size(1).chunks == 0
        assert delete_memories(store, [id]) == 0

    @pytest.mark.parametrize(
        ("after", "status"), [(0, Standing.ACTIVE), (1, Standing.SUPERSEDED), (2, Standing.SUPERSEDED)]
    )
    def test_what_a_deleted_memory_superseded_holds_again_or_is_its_successors(
        self, store: Store, after: int, status: Standing
    ) -> None:
        chain: list[MemoryId | None] = [None, *kept(store, note("old"))]
        for name in range(after + 1):
            chain.append(write(store, note(f"new {name}", supersedes=chain[-1])).memory.id)
        old, gone, successor = (*chain, None)[1:4]

        delete_memories(store, [gone])

        former = store.memories.by_id([old])[old]
        assert (former.status, former.superseded_by) == (status, successor)

    def test_children_outlive_a_deleted_parent(self, store: Store) -> None:
        parent = kept(store, note("parent"))[0]
        child = kept(store, note("child", parent_id=parent))[0]
        assert store.memories.by_id([child])[child].parent_id == parent

        delete_memories(store, [parent])

        assert store.memories.by_id([child])[child].parent_id is None
