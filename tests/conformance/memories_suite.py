"""What every store promises of memories: what was written is there, under one name and in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from entries import BEYOND, START, at, cut, embedded, heads, kept, note, nothing_was_kept, outline, prompt, unit, write

from memory.keep.jsonl import link_memories
from memory.keep.rules import delete_memories, replace_memory, write_entries
from memory.schema.errors import NotFound
from memory.schema.kinds import Kind
from memory.schema.memory import OVERLAP, ChunkId, MemoryId, Revision, Standing
from memory.schema.query import ACTIVE, Scope
from memory.store import OPENING, Links, Opening, Order
from memory.store.memories import ENDED

if TYPE_CHECKING:
    from memory.store import Store


class Writing:
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
        assert (memory.status, memory.superseded_by, memory.access_count) == (Standing.ACTIVE, None, 0)
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
        delete_memories(store, [second])

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
            assert list(outline(store, absent)) == []
            assert delete_memories(store, [absent]) == 0
        assert store.memories.excerpts([ChunkId(99), ChunkId(BEYOND)]) == {}
        assert store.memories.by_id([]) == {}
        assert list(write_entries(store, [])) == []

    def test_chunks_come_back_in_order_and_tile_the_body(self, store: Store) -> None:
        body = "0123456789" * 5
        chunks = cut(body, 7)

        id = write(store, note(body=body, size=7)).memory.id

        pieces = outline(store, id)
        assert {one: list(run) for one, run in store.memories.outlines([id, MemoryId(10**6)]).items()} == {
            id: list(pieces)
        }
        assert tuple(chunk for _, chunk in pieces) == chunks
        excerpts = store.memories.excerpts([chunk for chunk, _ in pieces])
        assert "".join(excerpts[chunk].text for chunk, _ in pieces[1:]) == body

    def test_an_excerpt_is_a_chunk_with_what_stands_around_it(self, store: Store) -> None:
        body = "é" * 150 + "数" * 150 + "tail"
        id = write(
            store, note("the head", body=body, size=300, title="t", why="w", impact="i", tags=("x", "y"))
        ).memory.id
        head, first, last = (chunk for chunk, _ in outline(store, id))

        excerpts = store.memories.excerpts([last, head, ChunkId(99), first])

        assert set(excerpts) == {head, first, last}
        assert store.memories.shown([last, head, ChunkId(99), first]) == (excerpts, store.memories.by_id([id]))
        assert store.memories.shown([ChunkId(99)], [id, MemoryId(BEYOND)]) == ({}, store.memories.by_id([id]))
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
            write_entries(store, [good, note("second", supersedes=MemoryId(99))])

        assert nothing_was_kept(store)
        assert list(store.generations.every()) == []

    @pytest.mark.parametrize("missing", [0, 99, BEYOND])
    def test_an_entry_that_descends_from_nothing_is_refused(self, store: Store, missing: int) -> None:
        with pytest.raises(NotFound):
            write_entries(store, [note("a"), note("b", parent_id=MemoryId(missing))])

        assert nothing_was_kept(store)

    def test_a_restored_memory_has_its_former_times_and_counts(self, store: Store) -> None:
        former = write(store, note("x", moment=at(1))).memory
        former = former._replace(uid="ef" * 16, updated_at=at(2), accessed_at=at(3), access_count=7)
        former = former._replace(status=Standing.SUPERSEDED, superseded_by=MemoryId(99))
        revision = Revision(at(2), former._replace(id=MemoryId(0), what="before"), "old body")
        older = Revision(at(1), former._replace(id=MemoryId(0), what="at first"), "")
        entry = note("x", uid=former.uid, moment=at(50))._replace(restored=former, history=(revision, older))

        memory = write(store, entry).memory

        assert (memory.created_at, memory.updated_at, memory.accessed_at) == (at(1), at(2), at(3))
        assert (memory.access_count, memory.status) == (7, Standing.SUPERSEDED)
        assert memory.superseded_by is None  # an id of another store
        assert [(old.replaced_at, old.memory.what, old.body) for old in store.memories.details(memory.id).history] == [
            (at(2), "before", "old body"),
            (at(1), "at first", ""),
        ]
        assert {old.memory.id for old in store.memories.details(memory.id).history} == {memory.id}

    def test_when_it_happened_and_until_when_it_holds_are_kept_through_changes(self, store: Store) -> None:
        (id,) = kept(store, note("a", happened_at=at(-5), valid_until=at(9)))
        plain, one = store.memories.by_id(kept(store, note("b")))[id + 1], store.memories.by_id([id])[id]
        assert (one.happened_at, one.valid_until, one.happened) == (at(-5), at(9), at(-5))
        assert (plain.happened_at, plain.valid_until, plain.happened) == (None, None, plain.created_at)

        replace_memory(store, id, note("c", valid_until=at(30), moment=at(20)))
        details = store.memories.details(id)
        assert (details.memory.happened_at, details.memory.valid_until) == (None, at(30))
        assert [(old.memory.happened_at, old.memory.valid_until) for old in details.history] == [(at(-5), at(9))]

    @pytest.mark.parametrize("many", [3, ENDED + 3])
    def test_what_has_ended_is_known_of_those_that_are_asked_for(self, store: Store, many: int) -> None:
        ids = kept(store, *(note(f"one {n}", valid_until=at(n) if n else None) for n in range(many)))

        assert set(store.memories.ended(ids, at(2))) == {ids[1], ids[2]}
        assert set(store.memories.ended({ids[0], ids[2], MemoryId(7777)}, at(many))) == {ids[2]}
        assert set(store.memories.ended([], at(many))) == set()

    def test_links_are_made_by_uid_and_change_nothing_that_is_set(self, store: Store) -> None:
        a, b, c = (digit * 32 for digit in "abc")
        first, second, third = kept(store, note("1", uid=a), note("2", uid=b), note("3", uid=c))
        old = write(store, note("4", uid="d" * 32)._replace(restored=_superseded(store, first))).memory.id

        link_memories(
            store, [Links(b, parent=a), Links("d" * 32, a, c), Links(c, superseded_by=a), Links("e" * 32, a, a)], START
        )
        link_memories(store, [Links(b, parent=c), Links("d" * 32, b, b), Links(a, "f" * 32, None), Links(b)], START)

        memories = store.memories.by_id([first, second, third, old])
        assert [memories[id].parent_id for id in (first, second, third, old)] == [None, first, None, first]
        assert [memories[id].superseded_by for id in (first, second, third, old)] == [None, None, None, third]


def _superseded(store: Store, id: MemoryId):
    return store.memories.by_id([id])[id]._replace(status=Standing.SUPERSEDED)


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

    def test_the_highest_id_stays_when_its_memory_goes(self, store: Store) -> None:
        assert store.highest() == 0
        ids = kept(store, note(), note(title="another"))

        store.memories.delete(ids)

        assert store.highest() == max(ids)

    def test_digits_may_be_an_id_and_the_beginning_of_a_uid(self, store: Store) -> None:
        first, second = kept(store, note(uid="0" * 32), note(uid="00000001" + "0" * 24))

        assert {id for id, _ in store.memories.resolve("00000001")} == {first, second}

    def test_an_opening_is_as_old_as_what_it_tells_of(self, store: Store) -> None:
        one, two = kept(store, note("one", happened_at=at(-5), moment=at(9)), note("two", moment=at(7)))

        assert {id: found.changed for id, found in store.memories.openings([one, two]).items()} == {
            one: at(-5),
            two: at(7),
        }

    def test_openings_are_those_of_short_notes_that_hold(self, store: Store) -> None:
        short, detailed, long, old = kept(
            store,
            note("It is 20", title="Size of the pool", project="p", moment=at(3)),
            note("Another", title="Another title", body="More"),
            note("x" * (OPENING + 1)),
            note("old"),
        )
        write(store, note("new", supersedes=old))
        person = write(store, note("a person", kind=Kind.ENTITY, title="Ada")).memory.id

        found = store.memories.openings([short, detailed, long, old, person, BEYOND])

        assert found == {
            short: Opening(short, "p", at(3), details=False, text="Size of the pool. It is 20"),
            detailed: Opening(detailed, None, START, details=True, text="Another title. Another"),
        }

    def test_what_is_asked_for_twice_or_is_not_there_changes_nothing(self, store: Store) -> None:
        first, second = kept(store, note("first", body="one"), note("second"))
        chunks = [id for outline in store.memories.outlines([first, second]).values() for id, _ in outline]

        memories = store.memories.by_id([second, first, second, BEYOND])
        excerpts = store.memories.excerpts([*chunks, BEYOND])

        assert memories == store.memories.by_id([first, second])
        assert excerpts == store.memories.excerpts(chunks)
        assert len(excerpts) == len(chunks) > 0

    def test_recent_is_last_changed_first_then_by_id(self, store: Store) -> None:
        a, b, c, d = kept(store, *(note(str(n), moment=at(second)) for n, second in enumerate((5, 9, 5, 7))))

        assert [memory.id for memory in store.memories.page(ACTIVE, 10)] == [b, d, c, a]

        replace_memory(store, a, note("a", moment=at(20)))
        assert [memory.id for memory in store.memories.page(ACTIVE, 2)] == [a, b]

    @pytest.mark.parametrize("order", Order)
    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    def test_pages_follow_each_other_without_gap_or_overlap(self, store: Store, size: int, order: Order) -> None:
        entries = (
            note(str(n), moment=at(n % 3), project="pq"[n % 2], session_id="s", session_iter=n // 4 or None)
            for n in range(12)
        )
        kept(store, *entries)
        scope = Scope(projects=frozenset("p"))
        pages: list[MemoryId] = []

        page = store.memories.page(scope, size, order=order)
        while page:
            pages += [memory.id for memory in page]
            page = store.memories.page(scope, size, order=order, after=page[-1])

        assert pages == [memory.id for memory in store.memories.page(scope, 100, order=order)]
        assert len(pages) == 6


class MemoriesSuite(Writing, Reading):
    """The part `memories`."""
