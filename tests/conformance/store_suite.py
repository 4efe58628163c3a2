"""What every store promises: subclass it and give a fixture `store` that is empty."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta, timezone
from typing import TYPE_CHECKING

import numpy as np
import pytest
from entries import (
    OTHER,
    SPACE,
    START,
    at,
    cut,
    directions,
    embedded,
    note,
    prompt,
    request,
    search,
    unit,
    within,
    words,
)

from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import Kind
from memory.schema.memory import OVERLAP, ChunkId, MemoryId, Revision, Status
from memory.schema.query import ACTIVE, EVERYTHING, Scope, Term
from memory.schema.space import Window
from memory.schema.usage import Budget, OpenCircuit
from memory.store import SEARCHES, Claim, Links, State, Waiting

if TYPE_CHECKING:
    from memory.schema.answer import Ranking
    from memory.schema.saved import Saved
    from memory.store import Entry, Store

DAY = 24 * 3600
THIRD = OTHER._replace(recipe=2)
BEYOND = 1 << 70  # no store counts that far
TOLERANCE = 1e-5  # of cosines in 32 bits


def write(store: Store, entry: Entry) -> Saved:
    return store.memories.write_entries([entry])[0]


def queued(store: Store, saved: Saved | None) -> int:
    """How many chunks of a memory wait for a vector."""
    return 0 if saved is None else sum(one.chunks for one in store.queue.unembedded([saved.memory.id]).values())


def kept(store: Store, *entries: Entry) -> list[MemoryId]:
    return [one.memory.id for one in store.memories.write_entries(entries)]


def heads(store: Store, *ids: MemoryId) -> list[ChunkId]:
    return [store.memories.outline(id)[0][0] for id in ids]


def found(ranking: Ranking) -> list[MemoryId]:
    return [scored.memory for scored in ranking]


def nothing_was_kept(store: Store) -> bool:
    counts = store.counts()
    return (counts.memories, counts.chunks, counts.queued) == (0, 0, 0) and not store.memories.page(MemoryId(0), 10)


class Keeping:
    def test_what_was_put_is_there(self, store: Store) -> None:
        entry = note(
            "We use WAL",
            body="Readers never block.",
            why="speed",
            impact="two files",
            description="about the journal",
            category="decision",
            tags=("db", 'a "quoted" one', "naïve\ttab"),
            related_files=("src/db.py",),
            metadata={"n": 1.5, "deep": {"list": [1, None, "é"]}},
            project="p",
            source="claude-code",
            agent_id="a",
            session_id="s",
            session_iter=2,
            task_code="t",
            query_id="q",
        )

        memory = write(store, entry).memory

        assert store.memories.by_id([memory.id]) == {memory.id: memory}
        for name in ("title", "what", "why", "impact", "description", "category", "tags", "related_files", "metadata"):
            assert getattr(memory, name) == getattr(entry.draft, name), name
        for name in ("kind", "project", "source", "agent_id", "session_id", "session_iter", "task_code", "query_id"):
            assert getattr(memory, name) == getattr(entry.draft, name), name
        assert (memory.uid, memory.content_hash) == (entry.uid, entry.content_hash)
        assert (memory.created_at, memory.updated_at, memory.accessed_at) == (START, START, None)
        assert (memory.status, memory.superseded_by, memory.access_count) == (Status.ACTIVE, None, 0)
        assert memory.body_size == len(entry.draft.body)
        assert store.memories.bodies([memory.id]).get(memory.id) == entry.draft.body

    def test_a_body_comes_back_to_the_last_code_point(self, store: Store) -> None:
        body = "a\r\n\u2028 naïve e\u0301 数据库 🦊\x07 \t\n"

        id = write(store, note(body=body, size=3)).memory.id

        assert store.memories.bodies([id]).get(id) == body

    def test_an_entry_may_say_only_what_it_must(self, store: Store) -> None:
        memory = write(store, prompt("continue")).memory

        assert (memory.title, memory.category, memory.project, memory.tags, memory.parent_id) == (
            "",
            None,
            None,
            (),
            None,
        )

    def test_ids_count_up_and_are_never_used_again(self, store: Store) -> None:
        first, second = kept(store, note("a"), note("b"))
        chunk = heads(store, second)[0]
        store.memories.delete(second)

        third = kept(store, note("c"))[0]

        assert first < second < third
        assert heads(store, third)[0] > chunk

    def test_what_is_not_there_is_not_given(self, store: Store) -> None:
        id = kept(store, note())[0]

        for absent in (MemoryId(0), MemoryId(-1), MemoryId(id + 1), MemoryId(BEYOND)):
            assert store.memories.by_id([absent]) == {}
            assert store.memories.bodies([absent]).get(absent) is None
            store.memories.touch([absent], at(1))
            assert store.memories.details(absent) is None
            assert list(store.memories.outline(absent)) == []
            assert store.memories.delete(absent) is False
        assert store.memories.excerpts([ChunkId(99), ChunkId(BEYOND)]) == {}
        assert store.memories.by_id([]) == {}
        assert list(store.memories.write_entries([])) == []

    def test_chunks_come_back_in_order_and_tile_the_body(self, store: Store) -> None:
        body = "0123456789" * 5
        chunks = cut(body, 7)

        id = write(store, note(body=body, size=7)).memory.id

        outline = store.memories.outline(id)
        assert {one: list(run) for one, run in store.memories.outlines([id, MemoryId(10**6)]).items()} == {
            id: list(outline)
        }
        assert tuple(chunk for _, chunk in outline) == chunks
        excerpts = store.memories.excerpts([chunk for chunk, _ in outline])
        assert "".join(excerpts[chunk].text for chunk, _ in outline[1:]) == body

    def test_an_excerpt_is_a_chunk_with_what_stands_around_it(self, store: Store) -> None:
        body = "é" * 150 + "数" * 150 + "tail"
        id = write(
            store, note("the head", body=body, size=300, title="t", why="w", impact="i", tags=("x", "y"))
        ).memory.id
        head, first, last = (chunk for chunk, _ in store.memories.outline(id))

        excerpts = store.memories.excerpts([last, head, ChunkId(99), first])

        assert set(excerpts) == {head, first, last}
        assert excerpts[head].text == "the head"
        assert (excerpts[first].before, excerpts[first].text) == ("", body[:300])
        assert (excerpts[last].before, excerpts[last].text) == (body[300 - OVERLAP : 300], "tail")
        assert excerpts[last][5:] == ("t", "the head", "w", "i", ("x", "y"))
        assert (excerpts[last].id, excerpts[last].memory, excerpts[last].chunk.index) == (last, id, 2)

    def test_an_access_is_counted(self, store: Store) -> None:
        id = kept(store, note(body="text"))[0]

        assert store.memories.bodies([id]).get(id) == "text"
        store.memories.touch([id], at(5))
        store.memories.touch([id], at(9))

        memory = store.memories.by_id([id])[id]
        assert (memory.accessed_at, memory.access_count, memory.updated_at) == (at(9), 2, START)

    def test_a_put_is_atomic_over_its_entries(self, store: Store) -> None:
        good = note("first", embedded=embedded([unit(1)]))

        with pytest.raises(NotFound):
            store.memories.write_entries([good, note("second", supersedes=MemoryId(99))])

        assert nothing_was_kept(store)
        assert list(store.generations.every()) == []

    @pytest.mark.parametrize("missing", [0, 99, BEYOND])
    def test_an_entry_that_descends_from_nothing_is_refused(self, store: Store, missing: int) -> None:
        with pytest.raises(NotFound):
            store.memories.write_entries([note("a"), note("b", parent_id=MemoryId(missing))])

        assert nothing_was_kept(store)

    def test_an_entry_that_supersedes_nothing_is_refused(self, store: Store) -> None:
        with pytest.raises(NotFound):
            write(store, note(supersedes=MemoryId(BEYOND)))

        assert nothing_was_kept(store)

    def test_the_same_is_known_and_not_kept_twice(self, store: Store) -> None:
        first = write(store, note("same", unless_known=True))

        again = write(store, note("same", unless_known=True, moment=at(5)))

        assert (first.known, again.known) == (False, True)
        assert again.memory == first.memory
        assert store.queue.queued() == 1
        assert store.counts().memories == 1

    def test_the_same_is_known_within_one_put(self, store: Store) -> None:
        first, second = store.memories.write_entries([note("same", unless_known=True), note("same", unless_known=True)])

        assert (first.known, second.known) == (False, True)
        assert first.memory.id == second.memory.id

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
        one, other = store.memories.write_entries(
            [note("same", unless_known=True), note("same", unless_known=True, **field)]
        )

        assert (one.known, other.known) == (False, False)

    def test_the_same_is_kept_again_when_asked_for(self, store: Store) -> None:
        assert [one.known for one in store.memories.write_entries([note("same"), note("same")])] == [False, False]

    def test_a_kind_that_repeats_is_never_known(self, store: Store) -> None:
        again = prompt("continue")._replace(unless_known=True)

        assert [one.known for one in store.memories.write_entries([prompt("continue"), again])] == [False, False]

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

        assert list(store.memories.known(entries)) == [id, None, id, None]
        assert store.counts().memories == 1

    def test_a_restored_memory_has_its_former_times_and_counts(self, store: Store) -> None:
        former = write(store, note("x", moment=at(1))).memory
        former = former._replace(uid="ef" * 16, updated_at=at(2), accessed_at=at(3), access_count=7)
        former = former._replace(status=Status.SUPERSEDED, superseded_by=MemoryId(99))
        revision = Revision(at(2), former._replace(id=MemoryId(0), what="before"), "old body")
        older = Revision(at(1), former._replace(id=MemoryId(0), what="at first"), "")
        entry = note("x", uid=former.uid, moment=at(50))._replace(restored=former, history=(revision, older))

        memory = write(store, entry).memory

        assert (memory.created_at, memory.updated_at, memory.accessed_at) == (at(1), at(2), at(3))
        assert (memory.access_count, memory.status) == (7, Status.SUPERSEDED)
        assert memory.superseded_by is None  # an id of another store
        assert [(old.replaced_at, old.memory.what, old.body) for old in store.memories.details(memory.id).history] == [
            (at(2), "before", "old body"),
            (at(1), "at first", ""),
        ]
        assert {old.memory.id for old in store.memories.details(memory.id).history} == {memory.id}

    def test_links_are_made_by_uid_and_change_nothing_that_is_set(self, store: Store) -> None:
        a, b, c = (digit * 32 for digit in "abc")
        first, second, third = kept(store, note("1", uid=a), note("2", uid=b), note("3", uid=c))
        old = write(store, note("4", uid="d" * 32)._replace(restored=_superseded(store, first))).memory.id

        store.memories.link(
            [Links(b, parent=a), Links("d" * 32, a, c), Links(c, superseded_by=a), Links("e" * 32, a, a)]
        )
        store.memories.link([Links(b, parent=c), Links("d" * 32, b, b), Links(a, "f" * 32, None), Links(b)])

        memories = store.memories.by_id([first, second, third, old])
        assert [memories[id].parent_id for id in (first, second, third, old)] == [None, first, None, first]
        assert [memories[id].superseded_by for id in (first, second, third, old)] == [None, None, None, third]


def _superseded(store: Store, id: MemoryId):
    return store.memories.by_id([id])[id]._replace(status=Status.SUPERSEDED)


class Changing:
    def test_superseding_by_the_same_once_more_is_no_mistake(self, store: Store) -> None:
        old = kept(store, note("old"))[0]
        new = write(store, note("new", supersedes=old, unless_known=True)).memory.id

        again = write(store, note("new", supersedes=old, unless_known=True))

        assert (again.known, again.memory.id) == (True, new)
        assert store.memories.by_id([old])[old].superseded_by == new

    def test_flags_go_with_what_they_are_of(self, store: Store) -> None:
        plain, flagged = kept(store, note("plain"), note("flagged")._replace(flags=("instructions", "other")))
        assert [store.memories.by_id([id])[id].flags for id in (plain, flagged)] == [(), ("instructions", "other")]

        store.memories.replace(flagged, note("corrected"))

        whole = store.memories.details(flagged)
        assert whole is not None
        assert whole.memory.flags == ()
        assert [revision.memory.flags for revision in whole.history] == [("instructions", "other")]

    def test_superseding_retires_the_old_in_the_same_step(self, store: Store) -> None:
        old = kept(store, note("port 80"))[0]

        new = write(store, note("port 443", supersedes=old)).memory

        former = store.memories.by_id([old])[old]
        assert (former.status, former.superseded_by) == (Status.SUPERSEDED, new.id)
        assert (new.status, new.superseded_by) == (Status.ACTIVE, None)

    def test_what_is_known_supersedes_too(self, store: Store) -> None:
        known, old = kept(store, note("same"), note("old"))

        again = write(store, note("same", unless_known=True, supersedes=old))

        assert (again.known, again.memory.id) == (True, known)
        assert store.memories.by_id([old])[old].superseded_by == known

    def test_nothing_supersedes_itself(self, store: Store) -> None:
        id = kept(store, note("same"))[0]

        write(store, note("same", unless_known=True, supersedes=id))

        assert store.memories.by_id([id])[id].status is Status.ACTIVE

    def test_nothing_is_superseded_twice(self, store: Store) -> None:
        old = kept(store, note("old"))[0]
        write(store, note("new", supersedes=old))

        with pytest.raises(Invalid):
            store.memories.write_entries([note("other"), note("newer", supersedes=old)])

        assert store.counts().memories == 2

    def test_a_replaced_memory_keeps_its_identity(self, store: Store) -> None:
        before = write(store, note("old", body="old body", project="p", uid="ab" * 16)).memory
        store.memories.touch([before.id], at(1))

        after = store.memories.replace(before.id, note("new", body="new", moment=at(9), project="q")).memory

        assert store.memories.by_id([before.id]) == {before.id: after}
        assert (after.uid, after.created_at, after.updated_at) == (before.uid, START, at(9))
        assert (after.accessed_at, after.access_count, after.status) == (at(1), 1, Status.ACTIVE)
        assert (after.what, after.project, after.body_size, store.memories.bodies([before.id]).get(before.id)) == (
            "new",
            "q",
            3,
            "new",
        )

    def test_a_replaced_memory_stays_superseded(self, store: Store) -> None:
        old = kept(store, note("old"))[0]
        new = write(store, note("new", supersedes=old)).memory.id

        after = store.memories.replace(old, note("old, corrected")).memory

        assert (after.status, after.superseded_by) == (Status.SUPERSEDED, new)

    def test_history_holds_what_was_replaced_latest_first(self, store: Store) -> None:
        metadata = {"a": [1, {"b": None}], "ü": "数"}
        first = write(store, note("one", body="é🦊", tags=("x",), metadata=metadata, related_files=("f",))).memory
        second = store.memories.replace(first.id, note("two", moment=at(1))).memory
        store.memories.replace(first.id, note("three", moment=at(2)))

        assert list(store.memories.details(first.id).history) == [
            Revision(at(2), second, ""),
            Revision(at(1), first, "é🦊"),
        ]

    def test_only_the_new_words_and_vectors_of_a_replaced_memory_are_found(self, store: Store) -> None:
        id = kept(store, note("zebra", embedded=embedded([unit(1)])))[0]
        chunk = heads(store, id)[0]

        store.memories.replace(id, note("giraffe", embedded=embedded([unit(0, 1)])))

        assert found(store.keywords.by_keyword(words("zebra"), EVERYTHING, 10)) == []
        assert found(store.keywords.by_keyword(words("giraffe"), EVERYTHING, 10)) == [id]
        [scored] = store.vectors.by_vector(1, unit(0, 1), EVERYTHING, 10)
        assert scored.chunk != chunk
        assert scored.score == pytest.approx(1, abs=TOLERANCE)
        total, count = store.vectors.centre(1)
        assert count == 1
        assert total == pytest.approx(unit(0, 1), abs=TOLERANCE)

    def test_a_replaced_memory_without_vectors_is_queued(self, store: Store) -> None:
        id = kept(store, note("a", embedded=embedded([unit(1)])))[0]

        assert queued(store, store.memories.replace(id, note("b", body="c"))) == 2

        assert store.counts().queued == 2

    def test_replacing_what_is_not_there_is_refused(self, store: Store) -> None:
        id = kept(store, note("a"))[0]

        for refused in (MemoryId(id + 1), MemoryId(BEYOND)):
            with pytest.raises(NotFound):
                store.memories.replace(refused, note("b"))
        with pytest.raises(NotFound):
            store.memories.replace(id, note("b", parent_id=MemoryId(99)))

        whole = store.memories.details(id)
        assert whole is not None
        assert (whole.memory.what, list(whole.history)) == ("a", [])

    def test_deletion_leaves_nothing(self, store: Store) -> None:
        vectors = directions(3)
        id = kept(store, note("zebra", body="ab", size=1, embedded=embedded(vectors)))[0]
        store.memories.replace(id, note("zebra", body="ab", size=1, embedded=embedded(vectors)))
        chunks = [chunk for chunk, _ in store.memories.outline(id)]

        assert store.memories.delete(id) is True

        assert nothing_was_kept(store)
        assert store.memories.bodies([id]).get(id) is None
        assert store.memories.details(id) is None
        assert store.memories.excerpts(chunks) == {}
        assert store.keywords.by_keyword(words("zebra", "note", "guide"), EVERYTHING, 10) == ()
        assert store.keywords.weigh(words("zebra"))[0].rows == 0
        assert store.vectors.by_vector(1, vectors[0], EVERYTHING, 10) == ()
        assert store.vectors.cosines(1, vectors[0], vectors[1], chunks) == {}
        total, count = store.vectors.centre(1)
        assert (count, total.tolist()) == (0, [0] * SPACE.dimension)
        assert store.vectors.embedded_count(1) == 0
        assert store.memories.delete(id) is False

    def test_what_a_deleted_memory_superseded_holds_again(self, store: Store) -> None:
        old = kept(store, note("old"))[0]
        new = write(store, note("new", supersedes=old)).memory.id

        store.memories.delete(new)

        former = store.memories.by_id([old])[old]
        assert (former.status, former.superseded_by) == (Status.ACTIVE, None)

    def test_a_link_taken_out_of_a_chain_leaves_a_chain(self, store: Store) -> None:
        first = kept(store, note("first"))[0]
        second = write(store, note("second", supersedes=first)).memory.id
        third = write(store, note("third", supersedes=second)).memory.id

        store.memories.delete(second)

        former = store.memories.by_id([first])[first]
        assert (former.status, former.superseded_by) == (Status.SUPERSEDED, third)

    def test_children_outlive_a_deleted_parent(self, store: Store) -> None:
        parent = kept(store, note("parent"))[0]
        child = kept(store, note("child", parent_id=parent))[0]
        assert store.memories.by_id([child])[child].parent_id == parent

        store.memories.delete(parent)

        assert store.memories.by_id([child])[child].parent_id is None


class Reading:
    UID = "0123456789abcdef0123456789abcdef"

    @pytest.mark.parametrize(
        "reference",
        ["1", "001", UID, UID[:8], UID.upper(), UID[:9].upper(), "01234567-89ab-cdef-0123-456789abcdef", "01234567-8"],
    )
    def test_a_reference_names_a_memory(self, store: Store, reference: str) -> None:
        id = kept(store, note(uid=self.UID), note(uid="9" * 32))[0]

        assert list(store.memories.resolve(reference)) == [(id, self.UID)]

    @pytest.mark.parametrize(
        "reference",
        [
            "",
            "%",
            "_",
            "0",
            "9",
            "-1",
            "1.0",
            " 1",
            "0123456",
            "abcdef01",
            UID[1:],
            UID + "0",
            "0123456%",
            "note",
            "१",
            "²",
            "-" * 9,
            "0x1",
            "1e0",
            "12345678901234567890",
            str(BEYOND),
            "9" * 400,
            "\ud800" * 9,
            "0123456\0",
            "'",
            '"',
            "*",
        ],
    )
    def test_nothing_else_names_a_memory(self, store: Store, reference: str) -> None:
        kept(store, note(uid=self.UID), note(uid="f" * 32))

        assert list(store.memories.resolve(reference)) == []

    def test_a_prefix_that_several_share_names_them_all(self, store: Store) -> None:
        ids = kept(store, *(note(uid=f"{'a' * 30}{number:02}") for number in range(12)))

        assert list(store.memories.resolve("a" * 8)) == [(id, f"{'a' * 30}{n:02}") for n, id in enumerate(ids[:10])]
        assert [id for id, _ in store.memories.resolve("a" * 30 + "07")] == [ids[7]]

    def test_digits_may_be_an_id_and_the_beginning_of_a_uid(self, store: Store) -> None:
        first, second = kept(store, note(uid="0" * 32), note(uid="00000001" + "0" * 24))

        assert {id for id, _ in store.memories.resolve("00000001")} == {first, second}

    def test_recent_is_last_changed_first_then_by_id(self, store: Store) -> None:
        a, b, c, d = kept(store, *(note(str(n), moment=at(second)) for n, second in enumerate((5, 9, 5, 7))))

        assert [memory.id for memory in store.memories.recent(ACTIVE, 10)] == [b, d, c, a]

        store.memories.replace(a, note("a", moment=at(20)))
        assert [memory.id for memory in store.memories.recent(ACTIVE, 2)] == [a, b]

    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    def test_pages_of_recent_follow_each_other_without_gap_or_overlap(self, store: Store, size: int) -> None:
        kept(store, *(note(str(n), moment=at(n % 3), project="pq"[n % 2]) for n in range(12)))
        scope = Scope(projects=frozenset("p"))
        pages: list[MemoryId] = []

        page = store.memories.recent(scope, size)
        while page:
            pages += [memory.id for memory in page]
            page = store.memories.recent(scope, size, after=page[-1])

        assert pages == [memory.id for memory in store.memories.recent(scope, 100)]
        assert len(pages) == 6

    def test_page_goes_by_id(self, store: Store) -> None:
        ids = kept(store, *(note(str(n), moment=at(-n)) for n in range(5)))

        assert [memory.id for memory in store.memories.page(MemoryId(0), 2)] == ids[:2]
        assert [memory.id for memory in store.memories.page(ids[1], 9)] == ids[2:]
        assert list(store.memories.page(ids[-1], 9)) == []

    def test_of_a_sound_store_everything_can_be_read(self, store: Store) -> None:
        ids = kept(store, note("a", body="one"), note("b"), note("c"))
        store.memories.replace(ids[0], note("d", body="two"))
        store.memories.delete(ids[1])

        assert store.ids(MemoryId(0), 9) == [ids[0], ids[2]]
        assert store.ids(ids[0], 9) == [ids[2]]
        assert (store.ids(MemoryId(0), 1), store.ids(ids[2], 9)) == ([ids[0]], [])
        assert store.salvaged(ids[0]) == (store.memories.details(ids[0]), ())
        assert store.salvaged(ids[1]) is None

    def test_counts_tell_how_much_there_is(self, store: Store) -> None:
        assert nothing_was_kept(store)

        old = kept(store, note("a", body="xy", size=1, project="p", embedded=embedded(directions(3))))[0]
        kept(store, note("b", supersedes=old), prompt("c", project="p"), prompt("d", project="q"))

        counts = store.counts()
        assert (counts.memories, counts.superseded, counts.chunks, counts.queued, counts.failed) == (4, 1, 6, 3, 0)
        assert counts.kinds == (("input_prompt", 2), ("note", 2))
        assert counts.projects == (("p", 2), ("q", 1))
        assert counts.last_error == ""


SCOPES = (
    Scope(kinds=frozenset({Kind.NOTE})),
    Scope(kinds=frozenset({Kind.INPUT_PROMPT, Kind.NOTE})),
    Scope(projects=frozenset({"p0"})),
    Scope(projects=frozenset({"p0", "p2", "nowhere", "\ud800"})),
    Scope(sources=frozenset({"s1"})),
    Scope(categories=frozenset({"bug"})),
    Scope(agents=frozenset({"a1"})),
    Scope(sessions=frozenset({"s"})),
    Scope(iterations=frozenset({1, 3, BEYOND})),
    Scope(tasks=frozenset({"t0"})),
    Scope(runs=frozenset({"r1", "r2"})),
    Scope(tags=frozenset({"x"})),
    Scope(tags=frozenset({"x", "y"})),
    Scope(tags=frozenset({'q"uo,te'})),
    Scope(tags=frozenset({"quo", "\ud800"})),
    Scope(since=at(7)),
    Scope(until=at(7)),
    Scope(since=at(3), until=at(9.5)),
    Scope(statuses=frozenset({Status.SUPERSEDED})),
    Scope(statuses=frozenset({Status.SUPERSEDED, Status.ACTIVE})),
    Scope(projects=frozenset({"p1"}), tags=frozenset({"y"}), statuses=frozenset()),
    ACTIVE,
    EVERYTHING,
)


def narrowed(scope: Scope) -> str:
    """What a scope narrows to, in the same words in every process: sets have no order of their own."""
    given = zip(scope._fields, scope, strict=True)
    told = {name: sorted(map(str, value)) if isinstance(value, frozenset) else value for name, value in given if value}
    return " ".join(f"{name}={value}" for name, value in told.items()) or "everything"


def admitted(memory, scope: Scope) -> bool:
    """The meaning of a scope, field by field."""
    fields = {
        "kinds": "kind",
        "projects": "project",
        "sources": "source",
        "categories": "category",
        "agents": "agent_id",
    }
    fields |= {"sessions": "session_id", "iterations": "session_iter", "tasks": "task_code", "runs": "query_id"}
    fields |= {"statuses": "status"}
    for plural, name in fields.items():
        if getattr(scope, plural) and getattr(memory, name) not in getattr(scope, plural):
            return False
    if scope.since and memory.updated_at < scope.since:
        return False
    if scope.until and memory.updated_at >= scope.until:
        return False
    return all(tag in memory.tags for tag in scope.tags)


def varied(store: Store) -> None:
    """Memories of all sorts, some superseded, all saying "word", each with a vector."""
    vectors = directions(24)
    for n in range(24):
        tags = [("x",), ("y", "x"), ("y",), ('q"uo,te',), ()][n % 5]
        fields = {"project": f"p{n % 4}", "source": f"s{n % 3}", "category": ["bug", "decision", None][n % 3]}
        fields |= {"agent_id": f"a{n % 2}", "session_id": "s" if n % 2 else None, "session_iter": n % 5 or None}
        fields |= {"task_code": f"t{n % 3}", "query_id": f"r{n % 4}"}
        entry = note(f"word {'word ' * (n % 4)}{n}", moment=at(n), tags=tags, **fields, embedded=embedded([vectors[n]]))
        if n % 6 == 5:
            entry = entry._replace(supersedes=store.memories.page(MemoryId(0), 100)[-1].id)
        write(store, entry)
    write(store, prompt("word of a prompt", project="p0"))


class Scopes:
    @pytest.mark.parametrize("scope", SCOPES, ids=narrowed)
    def test_every_way_to_look_stays_in_scope_and_misses_nothing(self, store: Store, scope: Scope) -> None:
        varied(store)
        everything = store.memories.page(MemoryId(0), 100)
        wanted = {memory.id for memory in everything if admitted(memory, scope)}
        embedded = {memory.id for memory in everything if memory.kind is Kind.NOTE}

        assert {memory.id for memory in store.memories.recent(scope, 100)} == wanted
        assert store.memories.count(scope) == len(wanted)
        assert set(found(store.keywords.by_keyword(words("word"), scope, 100))) == wanted
        assert set(found(store.vectors.by_vector(1, unit(1), scope, 100))) == wanted & embedded

    def test_superseded_memories_are_hidden_by_default(self, store: Store) -> None:
        old = kept(store, note("word one", embedded=embedded([unit(1)])))[0]
        new = kept(store, note("word two", supersedes=old, embedded=embedded([unit(0, 1)])))[0]

        assert found(store.keywords.by_keyword(words("word"), Scope(), 10)) == [new]
        assert found(store.vectors.by_vector(1, unit(1), Scope(), 10)) == [new]
        assert found(store.vectors.by_vector(1, unit(1), EVERYTHING, 10)) == [old, new]
        assert [memory.id for memory in store.memories.recent(Scope(), 10)] == [new]

    def test_many_superseded_ones_do_not_push_out_an_active_one(self, store: Store) -> None:
        entries = [note("word", title="word word", embedded=embedded([unit(1, n / 1000)])) for n in range(150)]
        ids = kept(store, *entries)
        kept(store, *(note(f"other {id}", title="none", supersedes=id) for id in ids[:-1]))
        last = write(store, note("some word at the very end of a long text", embedded=embedded([unit(0, 1)]))).memory.id

        assert found(store.keywords.by_keyword(words("word"), ACTIVE, 5)) == [ids[-1], last]
        assert found(store.vectors.by_vector(1, unit(1), ACTIVE, 5)) == [ids[-1], last]


class Keywords:
    def test_words_are_found_by_their_stem_whatever_their_case_and_accents(self, store: Store) -> None:
        id = kept(store, note("Running the migrations at the Café"))[0]

        for text in ("migration", "MIGRATIONS", "runs", "cafe", "CAFÉ"):
            assert found(store.keywords.by_keyword(words(text), ACTIVE, 5)) == [id], text

    @pytest.mark.parametrize(
        "column", ["title", "what", "why", "impact", "tags", "category", "project", "source", "related_files", "body"]
    )
    def test_every_text_of_a_memory_is_found(self, store: Store, column: str) -> None:
        value = {"tags": ("bug\nzebra",), "related_files": (r"src\zebra.py",)}.get(column, "a zebra")
        if column == "category":
            value, word = "pattern", "patterns"
        else:
            word = "zebra"
        id = write(store, note(**{column: value, "unless_known": False})).memory.id
        kept(store, note("else", body="and more"))

        assert found(store.keywords.by_keyword(words(word), ACTIVE, 5)) == [id]

    def test_a_description_is_not_indexed(self, store: Store) -> None:
        kept(store, note("a", description="zebra"))

        assert store.keywords.by_keyword(words("zebra"), ACTIVE, 5) == ()

    def test_facts_about_the_whole_memory_count_once(self, store: Store) -> None:
        kept(store, note("head", body="abcdef", size=1, why="zebra", tags=("lion",), project="p", related_files=("f",)))

        assert len(store.keywords.by_keyword(words("zebra", "lion", "p"), ACTIVE, 50)) == 1

    def test_headings_are_found_without_their_marks(self, store: Store) -> None:
        kept(store, note("head", body="ab", size=1))

        assert len(store.keywords.by_keyword(words("guide setup"), ACTIVE, 5)) == 2
        assert (
            store.keywords.by_keyword(words("# Guide"), ACTIVE, 5)[0].score
            == store.keywords.by_keyword(words("guide"), ACTIVE, 5)[0].score
        )

    def test_scores_are_bm25_with_the_weights_of_the_columns(self, store: Store) -> None:
        texts = ["alpha beta", "alpha alpha gamma delta", "beta", "gamma", "delta epsilon zeta eta theta"]
        kept(store, *(note(text, title="alpha" if n == 4 else "t") for n, text in enumerate(texts)))

        ranking = store.keywords.by_keyword(words("alpha", "beta"), ACTIVE, 10)

        lengths = [len(text.split()) + 1 for text in texts]
        average = sum(lengths) / 5
        weights = {0: (1, 1), 1: (2, 0), 2: (0, 1), 4: (3.0, 0)}
        idfs = [max(1e-6, math.log((5 - held + 0.5) / (held + 0.5))) for held in (3, 2)]
        scores = {}
        for place, often in weights.items():
            norm = 1.2 * (0.25 + 0.75 * lengths[place] / average)
            scores[place + 1] = sum(idf * f * 2.2 / (f + norm) for idf, f in zip(idfs, often, strict=True))
        assert {scored.memory: scored.score for scored in ranking} == pytest.approx(scores, rel=1e-9)
        assert [scored.keyword for scored in ranking] == [scored.score for scored in ranking]

    def test_a_ranking_is_best_first_with_ties_by_id(self, store: Store) -> None:
        first = kept(store, *(note("word") for _ in range(30)))
        best = kept(store, note("word word"))
        kept(store, *(note("else") for _ in range(40)))

        ranking = found(store.keywords.by_keyword(words("word"), ACTIVE, 100))
        assert ranking == best + first
        for k in (1, 2, 7, 30, 31):
            assert found(store.keywords.by_keyword(words("word"), ACTIVE, k)) == ranking[:k]
            assert (
                found(store.keywords.by_keyword(words("word"), Scope(kinds=frozenset({Kind.NOTE})), k)) == ranking[:k]
            )

    def test_matched_says_which_terms_a_chunk_holds(self, store: Store) -> None:
        both, one, other = kept(store, note("alpha beta"), note("alpha"), note("gamma beta"))

        ranking = store.keywords.by_keyword(words("alpha", "none", "beta", "gamma"), ACTIVE, 10)

        assert {scored.memory: scored.matched for scored in ranking} == {both: 0b101, one: 0b001, other: 0b1100}

    def test_a_query_may_have_any_number_of_terms(self, store: Store) -> None:
        texts = [f"word{n}" for n in range(300)]
        id = kept(store, note(" ".join(texts)))[0]

        for count in (62, 63, 64, 65, 128, 300):
            terms = store.keywords.weigh(words(*texts[:count]))
            [scored] = store.keywords.by_keyword(terms, ACTIVE, 5)
            assert (scored.memory, scored.matched) == (id, (1 << count) - 1)
            assert store.keywords.keyword_scores(terms, [scored.chunk]) == (scored,)

    def test_the_words_of_a_phrase_must_stand_together_in_one_column(self, store: Store) -> None:
        together, *_ = kept(
            store, note("the red fox runs"), note("fox red"), note("red", why="fox"), note("a", tags=("red",))
        )

        assert found(store.keywords.by_keyword(words("red fox"), ACTIVE, 5)) == [together]
        assert found(store.keywords.by_keyword([Term("red fo", prefix=True)], ACTIVE, 5)) == [together]
        assert found(store.keywords.by_keyword([Term("re fox", prefix=True)], ACTIVE, 5)) == []

    def test_a_name_is_a_phrase(self, store: Store) -> None:
        id = kept(store, note("set user_id in config.yaml"), note("the id of a user; yaml config"))[0]

        for text in ("user_id", "config.yaml"):
            assert found(store.keywords.by_keyword(words(text), ACTIVE, 5)) == [id]

    def test_a_prefix_finds_longer_words(self, store: Store) -> None:
        ids = kept(store, note("authentication"), note("author"), note("oath"))

        assert set(found(store.keywords.by_keyword(words("auth", prefix=True), ACTIVE, 5))) == set(ids[:2])
        assert found(store.keywords.by_keyword(words("auth"), ACTIVE, 5)) == []

    @pytest.mark.parametrize(
        "text",
        ["AND", "OR NOT", "NEAR(", '"', '""', "title:x", "a*b", "^", "-", "{x}", "(", "it's", ";--", "\0", "a\0b"],
    )
    def test_any_text_is_a_term(self, store: Store, text: str) -> None:
        kept(store, note("and or not near title x a b it s"))

        terms = store.keywords.weigh(words(text))

        assert len(store.keywords.by_keyword(terms, ACTIVE, 5)) == len(terms)
        assert len(store.keywords.by_keyword(words(text, "title"), ACTIVE, 5)) == 1

    def test_no_terms_find_nothing(self, store: Store) -> None:
        id = kept(store, note("a"))[0]

        assert store.keywords.weigh([]) == ()
        assert store.keywords.by_keyword([], ACTIVE, 5) == ()
        assert store.keywords.keyword_scores([], heads(store, id)) == ()
        assert store.keywords.keyword_scores(words("a"), []) == ()

    def test_keyword_scores_are_those_of_the_ranking(self, store: Store) -> None:
        varied(store)
        terms = store.keywords.weigh(words("word", "13", "9", "none"))
        ranking = store.keywords.by_keyword(terms, EVERYTHING, 100)
        wanted = [scored.chunk for scored in ranking[::3]]

        assert store.keywords.keyword_scores(terms, [*wanted, ChunkId(999), ChunkId(BEYOND)]) == ranking[::3]

    def test_scripts_without_spaces_are_found_by_their_pairs(self, store: Store) -> None:
        id, glued = kept(store, note("数据库密码在哪里"), note("Python入門"))

        terms = store.keywords.weigh([Term("密码", gram=True), Term("码在", gram=True)])
        assert [term.rows for term in terms] == [1, 1]
        assert found(store.keywords.by_keyword(terms, ACTIVE, 5)) == [id]
        assert found(store.keywords.by_keyword([Term("入門", gram=True)], ACTIVE, 5)) == [glued]
        assert found(store.keywords.by_keyword([Term("門", prefix=True, gram=True)], ACTIVE, 5)) == [glued]

    def test_a_term_is_found_in_either_form(self, store: Store) -> None:
        ids = kept(store, *(note(text) for text in ("getUser", "get_user", "get user", "user, get")))

        [term] = store.keywords.weigh([Term("getUser", other="get user")])

        assert term.rows == 3
        assert set(found(store.keywords.by_keyword([term], ACTIVE, 5))) == set(ids[:3])
        assert {scored.matched for scored in store.keywords.by_keyword([term], ACTIVE, 5)} == {1}

    def test_matched_says_which_terms_a_chunk_holds_in_either_form(self, store: Store) -> None:
        held = {"red fox": 0b100, "redfox": 0b100, "redfox red fox": 0b100, "ab beta": 0b011, "a b red fox": 0b101}
        ids = kept(store, *map(note, held))
        terms = [Term("a_b", other="ab"), Term("beta"), Term("redFox", other="red fox")]

        ranking = store.keywords.by_keyword(terms, ACTIVE, 10)

        assert {scored.memory: scored.matched for scored in ranking} == dict(zip(ids, held.values(), strict=True))
        assert store.keywords.keyword_scores(terms, [scored.chunk for scored in ranking]) == ranking

    def test_what_holds_both_forms_comes_first(self, store: Store) -> None:
        _, both, _ = kept(store, note("redfox here now"), note("redfox, red fox"), note("not the red fox"))

        assert found(store.keywords.by_keyword([Term("redFox", other="red fox")], ACTIVE, 1)) == [both]

    def test_the_mark_of_a_prefix_is_for_either_form(self, store: Store) -> None:
        ids = kept(store, note("getUsername"), note("get_username"), note("get used"))

        assert set(
            found(store.keywords.by_keyword([Term("getUser", prefix=True, other="get user")], ACTIVE, 5))
        ) == set(ids[:2])


class Weighing:
    def test_a_term_is_weighed_by_how_many_chunks_hold_it(self, store: Store) -> None:
        kept(store, *(note("common") for _ in range(7)), note("common rare rarely rarest"))

        common, absent = store.keywords.weigh(words("common", "absent"))

        assert (common.rows, absent.rows) == (8, 0)
        assert common.weight == pytest.approx(math.log(1 + 50.5 / 8.5))
        assert absent.weight == pytest.approx(math.log(1 + 58.5 / 0.5))

    def test_of_terms_that_mean_the_same_the_first_stays(self, store: Store) -> None:
        kept(store, *(note("running dogs") for _ in range(3)))

        weighed = store.keywords.weigh(
            [*words("Running", "runs", "dog", "DOGS"), Term("dog", prefix=True), Term("dogs", prefix=True)]
        )

        assert [(term.text, term.prefix) for term in weighed] == [("Running", False), ("dog", False), ("dog", True)]

    def test_what_holds_no_word_is_left_out(self, store: Store) -> None:
        kept(store, note("a"))

        assert store.keywords.weigh(words("+++", "", " ", "…", "\0")) == ()

    def test_a_rare_word_becomes_a_prefix_if_that_finds_more(self, store: Store) -> None:
        kept(store, *(note("authentication") for _ in range(4)), note("auth"))

        [term] = store.keywords.weigh(words("auth"))

        assert (term.prefix, term.rows) == (True, 5)

    def test_a_common_word_stays_as_it_is(self, store: Store) -> None:
        kept(store, *(note("auth") for _ in range(3)), note("authentication"))

        [term] = store.keywords.weigh(words("auth"))

        assert (term.prefix, term.rows) == (False, 3)

    def test_a_rare_word_that_begins_no_other_stays_as_it_is(self, store: Store) -> None:
        kept(store, note("auth"))

        assert [(term.prefix, term.rows) for term in store.keywords.weigh(words("auth", "none"))] == [
            (False, 1),
            (False, 0),
        ]

    def test_short_words_phrases_and_pairs_never_become_prefixes(self, store: Store) -> None:
        kept(store, note("abc"), note("red foxes and redder ones"), note("数据库"))

        weighed = store.keywords.weigh([*words("ab", "red fo"), Term("数据库"[:2] * 2, gram=True)])

        assert [(term.prefix, term.rows) for term in weighed] == [(False, 0), (False, 0), (False, 0)]

    def test_of_two_words_that_become_the_same_prefix_the_first_stays(self, store: Store) -> None:
        kept(store, *(note("authentication") for _ in range(4)))

        weighed = store.keywords.weigh([*words("Auth", "auths"), Term("auth", prefix=True)])

        assert [(term.text, term.prefix, term.rows) for term in weighed] == [("Auth", True, 4)]

    def test_common_words_alone_are_a_query_too(self, store: Store) -> None:
        ids = kept(store, *(note("the and of") for _ in range(9)))

        terms = store.keywords.weigh(words("the", "and", "of"))

        assert all(term.weight > 0 for term in terms)
        assert found(store.keywords.by_keyword(terms, ACTIVE, 9)) == ids
        assert all(scored.score > 0 for scored in store.keywords.by_keyword(terms, ACTIVE, 9))

    def test_a_name_that_no_chunk_holds_is_looked_for_by_its_parts(self, store: Store) -> None:
        id = kept(store, note("the id of a user"), note("nothing"))[0]

        terms = store.keywords.weigh([Term("user_id", exact=True, other="userid", parts=(Term("user"), Term("id")))])

        assert [(term.text, term.rows, term.exact) for term in terms] == [("user", 1, False), ("id", 1, False)]
        assert found(store.keywords.by_keyword(terms, ACTIVE, 5)) == [id]

    @pytest.mark.parametrize("written", ["user_id", "userId"])
    def test_a_name_that_a_chunk_holds_stays_whole(self, store: Store, written: str) -> None:
        kept(store, note("the id of a user"), note(written))
        asked = Term("user_id", exact=True, other="userid", parts=(Term("user"), Term("id")))

        [term] = store.keywords.weigh([asked])

        assert term == asked._replace(rows=1, weight=term.weight)

    def test_a_name_stays_whole_if_no_chunk_holds_a_part_either(self, store: Store) -> None:
        kept(store, note("nothing"))

        [term] = store.keywords.weigh([Term("user_id", exact=True, parts=(Term("user"), Term("id")))])

        assert (term.text, term.rows, term.exact) == ("user_id", 0, True)

    def test_parts_are_names_too(self, store: Store) -> None:
        kept(store, note("see search.py and memory/rank.py"))
        found = Term("search.py", parts=(Term("search"), Term("py")))
        lost = Term("fuse.py", parts=(Term("fuse"), Term("py")))

        terms = store.keywords.weigh([Term("src/search.py/fuse.py", parts=(Term("src"), found, lost))])

        assert [(term.text, term.rows) for term in terms] == [("src", 0), ("search.py", 1), ("fuse", 0), ("py", 1)]

    def test_a_part_that_is_asked_for_already_is_not_asked_twice(self, store: Store) -> None:
        kept(store, note("the id of a user"))

        terms = store.keywords.weigh([*words("users"), Term("user_id", parts=(Term("user"), Term("id")))])

        assert [term.text for term in terms] == ["users", "id"]

    def test_of_two_names_with_a_form_in_common_the_first_stays(self, store: Store) -> None:
        kept(store, note("user_id"))
        names = [Term("userId", other="user Id"), Term("user_id", other="userid"), *words("USERID")]

        assert [term.text for term in store.keywords.weigh(names)] == ["userId"]
        assert [term.text for term in store.keywords.weigh(names[::-1])] == ["USERID", "user_id"]

    def test_weighing_in_an_empty_store(self, store: Store) -> None:
        [term] = store.keywords.weigh(words("word"))

        assert term.rows == 0
        assert store.keywords.by_keyword([term], ACTIVE, 5) == ()


class Vectors:
    def test_the_first_vectors_found_the_active_generation(self, store: Store) -> None:
        one = write(store, note("a", embedded=embedded([unit(1)])))

        [generation] = store.generations.every()
        assert (generation.id, generation.space, generation.state) == (1, SPACE, State.ACTIVE)
        assert (queued(store, one), store.counts().queued, store.vectors.embedded_count(1)) == (0, 0, 1)

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
        assert store.vectors.embedded_count(1) == 1
        assert len(store.vectors.by_vector(1, unit(1), ACTIVE, 10)) == 1

    def test_vectors_of_the_space_that_is_built_are_kept_there_and_stay_queued(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        building = store.generations.begin(OTHER, START)

        assert queued(store, write(store, note("b", embedded=embedded([unit(1)], space=OTHER)))) == 1

        assert (store.vectors.embedded_count(1), store.vectors.embedded_count(building.id)) == (1, 1)
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
        assert store.vectors.embedded_count(1) == 3

    def test_equal_vectors_are_ranked_by_id(self, store: Store) -> None:
        ids = kept(store, *(note(str(n), embedded=embedded([unit(1, 2, 3)])) for n in range(40)))

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
            chunk: n * each + place
            for n, id in enumerate(ids)
            for place, (chunk, _) in enumerate(store.memories.outline(id))
        }
        query = directions(1, seed=9)[0]
        cosines = vectors.astype(np.float64) @ query

        for scope, part in ((ACTIVE, 1), *((Scope(tags=frozenset({tag})), part) for tag, part in shares.items())):
            inside = [n for n in range(count) if n // each % part == 0]
            exact = sorted(inside, key=lambda n: -cosines[n])
            for k in (1, 10, 100, 4096, 4097, 5000):
                ranking = store.vectors.by_vector(1, query, scope, k)
                assert len(ranking) == min(k, len(inside)), (scope, k)
                given = [chunks[scored.chunk] for scored in ranking]
                assert set(given) <= set(inside)
                assert len(set(given)) == len(given)
                assert [cosines[n] for n in given] == pytest.approx([cosines[n] for n in exact[:k]], abs=TOLERANCE)

    def test_cosines_are_those_of_the_window_nearest_to_the_vector(self, store: Store) -> None:
        id, far = kept(
            store,
            note("a", embedded=embedded([unit(0, 1), unit(1, 1)], [0, 0])),
            note("b", embedded=embedded([unit(-1)])),
        )
        [chunk, other] = heads(store, id, far)

        given = store.vectors.cosines(1, unit(1), unit(0, 1), [chunk, other, ChunkId(99)])

        assert set(given) == {chunk, other}
        assert given[chunk] == pytest.approx((0.5**0.5, 0.5**0.5), abs=TOLERANCE)
        assert given[other] == pytest.approx((-1, 0), abs=TOLERANCE)
        assert store.vectors.cosines(1, unit(1), unit(1), []) == {}

    def test_the_centre_is_the_sum_of_all_windows(self, store: Store) -> None:
        vectors = directions(9)
        kept(store, note("a", body="bc", size=1, embedded=embedded(vectors[:5], [0, 0, 1, 2, 2])))
        gone = kept(store, note("d", embedded=embedded(vectors[5:7], [0, 0])))[0]
        kept(store, note("e", embedded=embedded(vectors[7:], [0, 0])))
        store.memories.delete(gone)

        total, count = store.vectors.centre(1)

        assert count == 7
        assert total.dtype == np.float64
        left = np.concatenate([vectors[:5], vectors[7:]]).sum(axis=0, dtype=np.float64)
        assert total == pytest.approx(left, abs=1e-9)

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
        total, count = store.vectors.centre(generation.id)
        assert count == 2
        assert total == pytest.approx(unit(1) + unit(0, 1), abs=TOLERANCE)

    def test_filling_skips_chunks_that_are_gone(self, store: Store) -> None:
        gone, there = kept(store, note("a"), note("b"))
        chunks = heads(store, gone, there)
        generation = store.generations.begin(SPACE, START)
        store.memories.delete(gone)

        windows = [Window(chunks[0], 0, 0), Window(chunks[1], 0, 1)]
        assert store.vectors.set_vectors(generation.id, directions(2), windows) == 1
        assert store.vectors.set_vectors(generation.id, directions(1), [Window(chunks[0], 0, 0)]) == 0
        assert store.vectors.set_vectors(generation.id, directions(1), []) == 0

        assert store.vectors.embedded_count(generation.id) == 1
        assert store.vectors.centre(generation.id)[1] == 1

    def test_pending_goes_on_behind_a_chunk(self, store: Store) -> None:
        kept(store, note("a", body="bcd", size=1, title="t", tags=("x",)))
        generation = store.generations.begin(SPACE, START)
        first = store.vectors.pending(generation.id, ChunkId(0), 2)

        rest = store.vectors.pending(generation.id, first[-1].id, 10)

        assert [excerpt.text for excerpt in (*first, *rest)] == ["a", "b", "c", "d"]
        assert store.memories.excerpts([excerpt.id for excerpt in rest]) == {excerpt.id: excerpt for excerpt in rest}
        store.vectors.set_vectors(generation.id, directions(1), [Window(first[1].id, 0, 0)])
        assert [excerpt.text for excerpt in store.vectors.pending(generation.id, ChunkId(0), 10)] == ["a", "c", "d"]

    def test_failures_are_noted_on_what_is_queued(self, store: Store) -> None:
        ids = kept(store, note("a"), note("b"), note("c", embedded=embedded([unit(1)])))
        a, b, c = heads(store, *ids)

        store.queue.failed([a, b, c], "first", at(5))
        store.queue.failed([a, ChunkId(99)], "second", at(9))
        store.queue.failed([b], "late news", at(7))
        store.queue.failed([], "none", at(99))

        counts = store.counts()
        assert (counts.queued, counts.failed, counts.last_error) == (2, 2, "second")
        store.vectors.set_vectors(1, directions(1), [Window(a, 0, 0)])
        counts = store.counts()
        assert (counts.queued, counts.failed, counts.last_error) == (1, 1, "late news")


class Queue:
    def test_what_waits_comes_with_the_fewest_failures_first_then_by_id(self, store: Store) -> None:
        a, b, c, d = heads(store, *kept(store, note("a"), note("b"), note("c"), note("d")))
        store.queue.failed([a, b], "first", at(1))
        store.queue.failed([a], "second", at(2))

        assert [excerpt.id for excerpt in store.queue.waiting(9, at(3))] == [c, d, b, a]
        assert [excerpt.id for excerpt in store.queue.waiting(3, at(3))] == [c, d, b]
        assert store.queue.waiting(0, at(3)) == []

    def test_what_one_claims_another_does_not_get(self, store: Store) -> None:
        a, b, c = heads(store, *kept(store, note("a"), note("b"), note("c")))

        first = store.queue.claim(2, now=at(1), until=at(5), by="one")
        second = store.queue.claim(9, now=at(2), until=at(6), by="one")

        assert [excerpt.id for excerpt in first] == [a, b]
        assert first == [store.memories.excerpts([a])[a], store.memories.excerpts([b])[b]]
        assert [excerpt.id for excerpt in second] == [c]
        assert store.queue.claim(9, now=at(4), until=at(9), by="one") == []
        assert [excerpt.id for excerpt in store.queue.waiting(9)] == [a, b, c]

    def test_a_claim_ends_with_its_time_a_failure_or_its_release(self, store: Store) -> None:
        a, b, c = heads(store, *kept(store, note("a"), note("b"), note("c")))
        store.queue.claim(9, now=at(1), until=at(5), by="one")

        store.queue.release([b, ChunkId(99)])
        assert [excerpt.id for excerpt in store.queue.claim(9, now=at(2), until=at(6), by="one")] == [b]
        store.queue.failed([c], "once", at(2))
        assert [excerpt.id for excerpt in store.queue.claim(9, at(3), now=at(3), until=at(4), by="one")] == [c]
        assert [excerpt.id for excerpt in store.queue.claim(9, now=at(5), until=at(9), by="one")] == [a]

    def test_claims_are_told_by_who_holds_them_and_for_how_long(self, store: Store) -> None:
        _, b, c = heads(store, *kept(store, note("a"), note("b"), note("c")))
        store.queue.claim(1, now=at(1), until=at(3), by="two")
        store.queue.claim(1, now=at(1), until=at(5), by="one")
        store.queue.claim(1, now=at(2), until=at(4), by="two")

        assert store.queue.claims(at(2)) == [Claim("one", 1, at(5)), Claim("two", 2, at(4))]
        assert store.queue.claims(at(3)) == [Claim("one", 1, at(5)), Claim("two", 1, at(4))]
        store.queue.release([b])
        assert store.queue.claims(at(3)) == [Claim("two", 1, at(4))]
        store.queue.failed([c], "once", at(3))
        assert store.queue.claims(at(3)) == []
        assert store.queue.claims(at(2)) == [Claim("two", 1, at(3))]
        store.queue.claim(9, now=at(9), until=at(12), by="three")
        assert store.queue.claims(at(11)) == [Claim("three", 2, at(12))]

    def test_claims_of_a_holder_are_given_up_all_at_once_and_no_others(self, store: Store) -> None:
        a, _, c = heads(store, *kept(store, note("a"), note("b"), note("c")))
        for name in ("one", "two", "one"):
            store.queue.claim(1, now=at(1), until=at(5), by=name)

        store.queue.release_of(["one", "nobody", ""])

        assert store.queue.claims(at(1)) == [Claim("two", 1, at(5))]
        assert [excerpt.id for excerpt in store.queue.claim(9, now=at(1), until=at(5), by="three")] == [a, c]
        store.queue.release_of([])
        assert [claim.chunks for claim in store.queue.claims(at(1))] == [2, 1]

    def test_what_failed_lately_is_left_out(self, store: Store) -> None:
        a, b, c = heads(store, *kept(store, note("a"), note("b"), note("c")))
        store.queue.failed([a], "once", at(1))
        store.queue.failed([b], "later", at(5))

        assert [excerpt.id for excerpt in store.queue.waiting(9)] == [c]
        assert [excerpt.id for excerpt in store.queue.waiting(9, at(1))] == [c]
        assert [excerpt.id for excerpt in store.queue.waiting(9, at(5))] == [c, a]
        assert [excerpt.id for excerpt in store.queue.waiting(9, at(5.000001))] == [c, a, b]

    def test_what_waits_comes_whole(self, store: Store) -> None:
        kept(store, note("a", body="bcd", size=1, title="t", tags=("x",), embedded=embedded([unit(1)], [1])))

        waiting = store.queue.waiting(9)

        assert [excerpt.text for excerpt in waiting] == ["a", "c", "d"]
        assert store.memories.excerpts([excerpt.id for excerpt in waiting]) == {
            excerpt.id: excerpt for excerpt in waiting
        }

    def test_only_what_is_queued_waits(self, store: Store) -> None:
        gone, filled, other = kept(store, note("a"), note("b"), note("c"))
        store.generations.begin(SPACE, START)
        store.vectors.set_vectors(1, directions(1), [Window(heads(store, filled)[0], 0, 0)])
        store.memories.delete(gone)

        assert [excerpt.memory for excerpt in store.queue.waiting(9)] == [other]

    def test_memories_that_wait_say_how_much_and_why(self, store: Store) -> None:
        first, second, done = kept(
            store, note("a", body="bc", size=1), note("d"), note("e", embedded=embedded([unit(1)]))
        )
        chunks = [chunk for chunk, _ in store.memories.outline(first)]
        store.queue.failed(chunks[:2], "early", at(1))
        store.queue.failed(chunks[:1], "late", at(2))

        told = store.queue.unembedded([second, MemoryId(99), done, first, MemoryId(BEYOND), first])

        assert told == {
            first: Waiting(first, chunks=3, failed=2, last_error="late", tried_at=at(2)),
            second: Waiting(second, chunks=1, failed=0, last_error="", tried_at=None),
        }
        assert store.queue.unembedded([done]) == store.queue.unembedded([]) == {}

    def test_of_failures_at_one_moment_that_of_the_last_chunk_is_told(self, store: Store) -> None:
        id = kept(store, note("a", body="bc", size=1))[0]
        a, b, c = (chunk for chunk, _ in store.memories.outline(id))

        for chunk, error in ((b, "of b"), (c, "of c"), (a, "of a")):
            store.queue.failed([chunk], error, at(1))

        assert store.queue.unembedded([id])[id].last_error == store.counts().last_error == "of c"

    def test_failures_come_latest_first_then_by_id(self, store: Store) -> None:
        ids = kept(store, *(note(name, body="x", size=1) for name in "abcd"))
        chunks = heads(store, *ids)
        store.queue.failed([chunks[0], chunks[2], chunks[1]], "together", at(1))
        store.queue.failed([store.memories.outline(ids[1])[1][0]], "later", at(2))

        assert store.queue.failures(9) == [
            Waiting(ids[1], chunks=2, failed=2, last_error="later", tried_at=at(2)),
            Waiting(ids[0], chunks=2, failed=1, last_error="together", tried_at=at(1)),
            Waiting(ids[2], chunks=2, failed=1, last_error="together", tried_at=at(1)),
        ]
        assert [waiting.memory for waiting in store.queue.failures(2)] == [ids[1], ids[0]]
        assert [waiting.memory for waiting in store.queue.failures(1)] == [ids[1]]
        assert store.queue.failures(0) == []

    def test_what_was_embedded_since_is_no_failure(self, store: Store) -> None:
        id = kept(store, note("a"))[0]
        chunk = heads(store, id)[0]
        store.queue.failed([chunk], "down", at(1))

        store.vectors.set_vectors(store.generations.begin(SPACE, START).id, directions(1), [Window(chunk, 0, 0)])

        assert (store.queue.failures(9), store.queue.unembedded([id]), store.counts().failed) == ([], {}, 0)

    def test_memories_that_wait_are_counted(self, store: Store) -> None:
        first, second, _ = kept(store, note("a", body="bc", size=1), note("d"), note("e", embedded=embedded([unit(1)])))
        store.queue.failed([chunk for chunk, _ in store.memories.outline(first)], "down", at(1))

        counts = store.counts()
        assert (counts.queued, counts.failed, store.queue.queued()) == (4, 3, 4)
        assert (counts.waiting_memories, counts.failed_memories) == (2, 1)
        store.memories.delete(first)
        store.memories.delete(second)
        counts = store.counts()
        assert (counts.waiting_memories, counts.failed_memories) == (0, 0)


class Generations:
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
        assert store.vectors.embedded_count(dropped.id) == 0

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
        assert store.vectors.embedded_count(1) == 3
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
        assert store.vectors.embedded_count(1) == 1

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
        assert store.vectors.embedded_count(1) == 3
        store.memories.delete(second)
        assert store.generations.activate(1, instead_of=building.id, former=State.BUILDING) is True
        assert [generation.state for generation in store.generations.every()] == [State.ACTIVE, State.BUILDING]
        assert (store.counts().queued, store.vectors.embedded_count(1)) == (0, 2)
        assert found(store.vectors.by_vector(1, unit(1), ACTIVE, 9))[0] == first

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
        store.queue.failed([chunk], "down", at(1))

        assert store.generations.activate(1, instead_of=1, former=State.BUILDING) is True

        assert [generation.state for generation in store.generations.every()] == [State.ACTIVE, State.BUILDING]
        assert store.counts().failed == 1

    def test_another_generation_has_not_failed_yet(self, store: Store) -> None:
        chunk = heads(store, *kept(store, note("a")))[0]
        store.generations.begin(SPACE, START)
        store.queue.failed([chunk], "down", at(1))

        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)

        assert (store.counts().queued, store.counts().failed) == (1, 0)

    def test_the_first_fingerprint_of_a_generation_stays(self, store: Store) -> None:
        generation = store.generations.begin(SPACE, START).id
        other = store.generations.begin(THIRD, START).id
        assert store.generations.fingerprint(generation) is None

        store.generations.mark(generation, unit(1, 2))
        store.generations.mark(generation, unit(3))

        given = store.generations.fingerprint(generation)
        assert given is not None
        assert (given.dtype, given.tolist()) == (np.float32, unit(1, 2).tolist())
        assert store.generations.fingerprint(other) is None

    def test_clearing_takes_all_vectors_away_and_the_fingerprint(self, store: Store) -> None:
        ids = kept(store, note("a", embedded=embedded([unit(1)])), note("b", embedded=embedded([unit(0, 1)])))
        building = store.generations.begin(OTHER, START).id
        for generation in (1, building):
            store.vectors.set_vectors(building, directions(1), [Window(heads(store, ids[0])[0], 0, 0)])
            store.generations.mark(generation, unit(1))

        store.vectors.clear(building)

        assert (store.vectors.embedded_count(building), store.vectors.embedded_count(1), store.queue.queued()) == (
            0,
            2,
            0,
        )
        assert (store.generations.fingerprint(building), store.generations.fingerprint(1) is None) == (None, False)
        assert store.vectors.centre(building)[1] == 0
        assert not store.vectors.centre(building)[0].any()

    def test_clearing_the_active_generation_queues_all_chunks(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])), note("b"))
        waits = store.queue.waiting(1)[0].id
        store.queue.failed([waits], "down", at(1))
        for _ in range(3):
            assert len(store.vectors.by_vector(1, unit(1), ACTIVE, 9)) == 1

        store.vectors.clear(1)

        assert store.vectors.by_vector(1, unit(1), ACTIVE, 9) == ()
        assert (store.queue.queued(), store.counts().failed) == (2, 1)
        assert [generation.state for generation in store.generations.every()] == [State.ACTIVE]
        assert list(store.check()) == []

    def test_clearing_some_chunks_queues_these_and_leaves_the_others(self, store: Store) -> None:
        ids = kept(store, note("a", embedded=embedded([unit(1)])), note("b", embedded=embedded([unit(0, 1)])))
        store.generations.mark(1, unit(1))
        first, second = (heads(store, id)[0] for id in ids)

        store.vectors.clear(1, [first, ChunkId(999)])
        store.vectors.clear(1, [])

        assert [scored.chunk for scored in store.vectors.by_vector(1, unit(1), ACTIVE, 9)] == [second]
        assert [one.id for one in store.queue.waiting(9)] == [first]
        assert (store.vectors.centre(1)[1], store.generations.fingerprint(1) is None) == (1, False)
        assert list(store.check()) == []

    def test_a_fingerprint_stays_with_its_vectors(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        store.generations.mark(1, unit(1, 2))
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)

        again = store.generations.begin(SPACE, START)

        given = store.generations.fingerprint(again.id)
        assert given is not None
        assert given.tolist() == unit(1, 2).tolist()
        assert store.vectors.embedded_count(again.id) == 1

    def test_of_two_living_generations_of_a_space_the_active_one_counts(self, store: Store) -> None:
        store.generations.begin(SPACE, START)
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)
        store.generations.begin(SPACE, START)
        store.generations.activate(1, instead_of=2)

        assert store.generations.begin(SPACE, START).id == 1
        assert queued(store, write(store, note("a", embedded=embedded([unit(1)])))) == 0

    def test_the_active_generation_is_not_dropped(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))

        store.generations.drop(1)

        assert store.vectors.embedded_count(1) == 1

    def test_dropping_takes_the_vectors_along(self, store: Store) -> None:
        kept(store, note("a", embedded=embedded([unit(1)])))
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1)

        store.generations.drop(1)
        store.generations.drop(1)

        assert [generation.id for generation in store.generations.every()] == [2]
        assert store.vectors.embedded_count(1) == 0

    @pytest.mark.parametrize("gone", [0, 7, BEYOND])
    def test_a_generation_that_is_gone_is_said_to_be(self, store: Store, gone: int) -> None:
        chunk = heads(store, *kept(store, note("a")))[0]

        assert store.vectors.embedded_count(gone) == 0
        assert store.vectors.set_vectors(gone, directions(1), [Window(chunk, 0, 0)]) == 0
        store.generations.drop(gone)
        store.generations.mark(gone, unit(1))
        for ask in (
            lambda: store.generations.fingerprint(gone),
            lambda: store.vectors.clear(gone),
            lambda: store.vectors.pending(gone, ChunkId(0), 1),
            lambda: store.vectors.by_vector(gone, unit(1), ACTIVE, 1),
            lambda: store.vectors.cosines(gone, unit(1), unit(1), [chunk]),
            lambda: store.vectors.centre(gone),
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
        assert store.vectors.centre(building.id)[0].shape == (16,)

    def test_deleting_a_memory_takes_it_out_of_every_generation(self, store: Store) -> None:
        id = kept(store, note("a", embedded=embedded([unit(1)])))[0]
        building = store.generations.begin(OTHER, START)
        store.vectors.set_vectors(building.id, directions(1), [Window(heads(store, id)[0], 0, 0)])

        store.memories.delete(id)

        for generation in (1, building.id):
            assert store.vectors.embedded_count(generation) == 0
            assert store.vectors.centre(generation)[1] == 0


class Ledger:
    def test_a_request_is_reserved_before_it_is_made_and_recorded_after(self, store: Store) -> None:
        call = request(1, calls=1, texts=3, tokens=30, bytes_out=120, cost=0.5)

        id = store.usage.reserve_call(call)

        assert id is not None
        assert list(store.usage.lines()) == [call._replace(id=id)]
        store.usage.record_call(id, tokens=25, seconds=0.25, cost=0.125, error="cut off")
        recorded = call._replace(id=id, tokens=25, seconds=0.25, cost=0.125, error="cut off")
        assert list(store.usage.lines()) == [recorded]
        store.usage.record_call(id, tokens=26, seconds=0.5, cost=0.25)
        assert [line.error for line in store.usage.lines()] == [""]

    def test_settling_what_is_gone_is_no_matter(self, store: Store) -> None:
        id = store.usage.reserve_call(request())
        before = list(store.usage.lines())

        for gone in (0, -1, (id or 0) + 1, BEYOND):
            store.usage.record_call(gone, tokens=1, seconds=1, cost=1)

        assert list(store.usage.lines()) == before

    def test_what_stays_in_the_process_is_not_reserved(self, store: Store) -> None:
        with pytest.raises(Invalid, match="noted"):
            store.usage.reserve_call(within())

        assert list(store.usage.lines()) == []

    @pytest.mark.parametrize(
        ("budget", "fit"),
        [
            (Budget(), 5),
            (Budget(calls=3), 3),
            (Budget(tokens=30), 3),
            (Budget(tokens=39), 3),
            (Budget(calls=2, tokens=30), 2),
            (Budget(calls=4, tokens=20), 2),
            (Budget(calls=0), 0),
            (Budget(tokens=9), 0),
        ],
    )
    def test_a_budget_is_used_up_and_not_exceeded(self, store: Store, budget: Budget, fit: int) -> None:
        ids = [store.usage.reserve_call(request(n), budget) for n in range(5)]

        assert [id is not None for id in ids] == [n < fit for n in range(5)]
        assert len(store.usage.lines()) == fit

    def test_a_budget_is_of_one_host_and_one_day(self, store: Store) -> None:
        budget = Budget(calls=1)

        assert store.usage.reserve_call(request(0), budget)
        assert store.usage.reserve_call(request(0, host="https://two.example"), budget)
        assert store.usage.reserve_call(request(DAY), budget)
        assert store.usage.reserve_call(request(-0.000001), budget)
        assert store.usage.reserve_call(request(DAY - 0.000001), budget) is None
        assert store.usage.reserve_call(request(0, provider="voyage", model="large", purpose="search"), budget) is None

    def test_a_day_is_one_of_utc(self, store: Store) -> None:
        east = START.astimezone(timezone(timedelta(hours=9)))
        store.usage.reserve_call(request()._replace(moment=east + timedelta(hours=23)))

        assert store.usage.reserve_call(request(), Budget(calls=1)) is None
        assert [line.moment for line in store.usage.daily_usage()] == [START]

    def test_a_budget_counts_what_was_estimated_until_it_is_known(self, store: Store) -> None:
        budget = Budget(tokens=100)
        id = store.usage.reserve_call(request(tokens=90), budget)
        assert store.usage.reserve_call(request(tokens=20), budget) is None

        store.usage.record_call(id or 0, tokens=80, seconds=1, cost=0, error="failed, and was counted")

        assert store.usage.reserve_call(request(tokens=20), budget)
        assert store.usage.reserve_call(request(tokens=1), budget) is None

    def test_a_request_without_a_budget_counts_for_those_with_one(self, store: Store) -> None:
        assert store.usage.reserve_call(request())

        assert store.usage.reserve_call(request(), Budget(calls=1)) is None

    def test_what_stays_in_the_process_is_added_up_by_day(self, store: Store) -> None:
        one = within(50, calls=2, texts=3, tokens=5, seconds=0.5)
        store.usage.add_calls([one, within(20, calls=1, texts=4, tokens=6, seconds=0.25, cost=0.5, error="odd")])
        store.usage.add_calls([within(70, calls=1, texts=1, tokens=1, error="odder")])
        store.usage.add_calls([within(70, calls=1, tokens=0)])
        store.usage.add_calls(
            [within(70, purpose="search"), within(70, model="large"), within(DAY), within(70, provider="x")]
        )
        store.usage.add_calls([])

        day = next(line for line in store.usage.lines() if line.calls == 5)
        assert day._replace(id=0) == within(20, calls=5, texts=8, tokens=12, seconds=0.75, cost=0.5, error="odder")
        assert len(store.usage.lines()) == 5
        assert len({line.id for line in store.usage.lines()}) == 5

    def test_lines_come_latest_first_then_by_id(self, store: Store) -> None:
        ids = [store.usage.reserve_call(request(n)) for n in (2, 5, 2, 1)]

        assert [line.id for line in store.usage.lines()] == [ids[1], ids[2], ids[0], ids[3]]
        assert [line.id for line in store.usage.lines(limit=2)] == [ids[1], ids[2]]
        assert [line.id for line in store.usage.lines(since=at(2))] == [ids[1], ids[2], ids[0]]
        assert list(store.usage.lines(since=at(6))) == list(store.usage.daily_usage(since=at(6))) == []

    def test_usage_is_summed_by_day_and_names(self, store: Store) -> None:
        for call in (
            request(1, texts=2, tokens=5, bytes_out=7, seconds=0.5, cost=0.25),
            request(9, texts=1, tokens=1, bytes_out=1, seconds=0.25, cost=0.5, error="down"),
            request(9, purpose="fill", error="down"),
            request(9, host="https://a.example"),
            request(9, model="large"),
            request(9, provider="a", host="z"),
            request(DAY + 5),
        ):
            store.usage.reserve_call(call)
        store.usage.add_calls([within(3, calls=5)])

        given = list(store.usage.daily_usage())

        assert [(line.moment, line.provider, line.model, line.host, line.purpose) for line in given] == [
            (at(DAY), "openai", "small", "https://one.example", "save"),
            (START, "a", "small", "z", "save"),
            (START, "local", "small", "", "save"),
            (START, "openai", "large", "https://one.example", "save"),
            (START, "openai", "small", "https://a.example", "save"),
            (START, "openai", "small", "https://one.example", "fill"),
            (START, "openai", "small", "https://one.example", "save"),
        ]
        assert given[-1] == request(
            0, calls=2, texts=3, tokens=6, bytes_out=8, seconds=0.75, cost=0.75, error="1 failed"
        )
        assert [line.error for line in given] == ["", "", "", "", "", "1 failed", "1 failed"]
        assert given[2].calls == 5
        assert [line.calls for line in store.usage.daily_usage(since=at(9))] == [1, 1, 1, 1, 1, 1]

    def test_a_host_that_gave_no_answer_is_remembered_until_it_does(self, store: Store) -> None:
        assert store.usage.circuit("https://one.example") is None
        first, last = (OpenCircuit("https://one.example", at(n), f"down at {n}") for n in (9, 5))
        other = OpenCircuit("https://two.example", at(1), "")

        for circuit in (first, other, last):
            store.usage.open_circuit(circuit)

        assert store.usage.circuit("https://one.example") == last
        store.usage.close_circuit("https://one.example")
        store.usage.close_circuit("https://one.example")
        assert store.usage.circuit("https://one.example") is None
        assert store.usage.circuit("https://two.example") == other


class Searches:
    def test_a_search_is_remembered_as_it_was(self, store: Store) -> None:
        assert list(store.usage.searches()) == []
        first = search(0.000001, seconds=0.1 + 0.2, filters=("projects", "since"))
        second = search(1, type="search_fine_report+note", tier="hybrid", seconds=0.0, limit=10_000, results=0)

        for one in (first, second):
            store.usage.searched(one)

        assert list(store.usage.searches()) == [first, second]

    def test_searches_come_oldest_first(self, store: Store) -> None:
        for moment in (5, 2, 9):
            store.usage.searched(search(moment))

        assert [one.moment for one in store.usage.searches()] == [at(2), at(5), at(9)]
        assert [one.moment for one in store.usage.searches(at(5))] == [at(5), at(9)]
        assert list(store.usage.searches(at(9.000001))) == []

    def test_old_searches_go(self, store: Store) -> None:
        for number in range(SEARCHES + 3000):
            store.usage.searched(search(number))
            if number in (SEARCHES + 99, SEARCHES + 2999):
                found = [one.moment for one in store.usage.searches()]
                assert SEARCHES // 4 < len(found) <= SEARCHES
                assert found == [at(earlier) for earlier in range(number + 1)][-len(found) :]

    def test_searches_are_nothing_to_mend(self, store: Store) -> None:
        store.usage.searched(search())
        store.repair()

        assert list(store.check()) == []
        assert list(store.usage.searches()) == [search()]


class Care:
    def test_a_store_in_use_is_sound(self, store: Store) -> None:
        assert list(store.check()) == []
        kept(store, note("a", body="text", embedded=embedded([unit(1), unit(2)], [0, 1])), note("b"))
        store.queue.failed([store.queue.waiting(1)[0].id], "down", at(1))
        store.generations.activate(store.generations.begin(OTHER, START).id, instead_of=1, former=State.BUILDING)
        store.generations.mark(1, unit(1))
        store.usage.reserve_call(request())

        assert list(store.check()) == []

    def test_repairing_what_is_sound_changes_nothing(self, store: Store) -> None:
        id = kept(store, note("a", body="text", embedded=embedded([unit(1), unit(2)], [0, 1])), note("b"))[0]
        store.queue.failed([store.queue.waiting(1)[0].id], "down", at(1))
        store.generations.begin(OTHER, START)

        def seen() -> list[object]:
            return [
                store.counts()._replace(bytes=0),
                list(store.generations.every()),
                store.vectors.by_vector(1, unit(1), ACTIVE, 9),
                store.keywords.by_keyword(words("text"), ACTIVE, 9),
                store.memories.details(id),
                list(store.queue.failures(9)),
                store.vectors.centre(1)[0].tolist(),
            ]

        before = seen()
        store.repair()
        assert seen() == before
        assert list(store.check()) == []


class Threads:
    def test_a_budget_holds_among_many_that_ask_at_once(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            ids = list(
                pool.map(lambda n: store.usage.reserve_call(request(n), Budget(calls=20, tokens=150)), range(80))
            )

        assert len([id for id in ids if id is not None]) == len(store.usage.lines()) == 15

    def test_searches_are_remembered_from_any_thread(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: store.usage.searched(search(number)), range(400)))

        assert list(store.usage.searches()) == [search(number) for number in range(400)]

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


class StoreSuite(
    Keeping, Changing, Reading, Scopes, Keywords, Weighing, Vectors, Queue, Generations, Ledger, Searches, Care, Threads
):
    """All of them; one class a part of the protocol."""
