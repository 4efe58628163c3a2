"""What every store promises of what was deleted, and of the journal of who did what."""

from __future__ import annotations

from typing import Any

import pytest
from entries import START, at, everything, note

from memory.schema.memory import MemoryId, Standing
from memory.store import Attached, Relation, Store
from memory.store.journal import STEPS, Change, EdgeChange, Facts, Trashed, Undoable

ONE, OTHER, THIRD = MemoryId(1), MemoryId(2), MemoryId(3)
A, B = "a" * 32, "ab" * 16
HASH = "0" * 16


def trashed(uid: str, deleted: float = 0, id: int | None = None, line: str = "{}") -> Trashed:
    return Trashed(uid, None if id is None else MemoryId(id), at(deleted), at(deleted + 100), line)


def facts(moment: float = 0, **changed: object) -> Facts:
    made = Facts(HASH, 3, at(moment), Standing.ACTIVE, None, None, pinned=False)
    return made._replace(**changed)  # type: ignore[arg-type]


def step(key: str, by: str = "") -> Undoable:
    return Undoable(key, "save", by, START)


def made(id: int, *, after: Facts | None = None) -> Change:
    return Change(MemoryId(id), f"{id:032x}", None, after or facts())


def noted(store: Store, key: str) -> list[object]:
    return [one for _, one in store.steps.changes(key, 100)]


class Throwing:
    def test_what_was_deleted_last_comes_first(self, store: Store) -> None:
        rows = [trashed(A, 1), trashed(B, 2, 7), trashed("c" * 32, 1)]
        store.trash.put(rows)

        assert list(store.trash.page(9)) == [rows[1], rows[0], rows[2]]
        assert list(store.trash.page(1, after=rows[1])) == [rows[0]]
        assert list(store.trash.page(9, after=rows[0])) == [rows[2]]

    def test_it_is_named_by_its_number_or_the_beginning_of_its_uid(self, store: Store) -> None:
        rows = [trashed(A, 2, 7), trashed(B, 1, 12345678), trashed("1234567890" * 3 + "12", 0)]
        store.trash.put(rows)

        def named(text: str) -> list[Trashed]:
            return list(store.trash.page(9, named=text))

        assert named("7") == named("AAAAAAAA") == [rows[0]]
        assert named("12345678") == rows[1:]
        assert named("abab-abab") == [rows[1]]
        assert [named(text) for text in ("", "a", "aaaaaaa", "%", "99", "zzzzzzzz")] == [[]] * 6

    def test_the_same_uid_may_lie_there_from_several_moments(self, store: Store) -> None:
        rows = [trashed(A, 3), trashed(A, 2), trashed(A, 1)]
        store.trash.put(rows)
        store.trash.put([rows[0]._replace(id=ONE)])

        assert list(store.trash.page(9, named=A)) == [rows[0]._replace(id=ONE), *rows[1:]]
        assert store.trash.remove([A], deleted_at=at(2)) == 1
        assert store.trash.remove([A]) == 2

    def test_what_has_come_to_its_end_can_be_told(self, store: Store) -> None:
        rows = [trashed(A, 1), trashed(B, 2)]
        store.trash.put(rows)

        assert list(store.trash.page(9, ended=at(100))) == []
        assert list(store.trash.page(9, ended=at(101))) == [rows[0]]

    def test_what_is_removed_is_counted_once(self, store: Store) -> None:
        store.trash.put([trashed(A), trashed(B)])

        assert store.trash.remove([A, A, "f" * 32]) == 1
        assert list(store.trash.page(9)) == [trashed(B)]
        assert not store.counts().unwiped

    def test_what_it_holds_is_counted(self, store: Store) -> None:
        store.trash.put([trashed(A, line='{"a":"é"}'), trashed(B)])

        counts = store.counts()
        assert (counts.trashed, counts.trash_bytes, counts.memories) == (2, 12, 0)

    def test_what_is_taken_for_good_is_owed_until_it_is_wiped(self, store: Store) -> None:
        store.memories.insert(note("kept"))
        store.trash.put([trashed(A)])
        store.trash.remove([A], purged=True)

        assert store.counts().unwiped
        assert store.wipe()
        assert not store.counts().unwiped
        assert [one.what for one in everything(store)] == ["kept"]

    def test_what_comes_back_has_its_number(self, store: Store) -> None:
        first = store.memories.insert(note("first"))
        store.memories.delete([first.id])
        second = store.memories.insert(note("second"))

        back = store.memories.insert(note("first", uid=first.uid)._replace(restored=first, number=first.id))

        assert (back.id, back.uid) == (first.id, first.uid)
        assert store.memories.insert(note("third")).id == second.id + 1

    def test_revisions_can_be_taken_back(self, store: Store) -> None:
        from memory.schema.memory import Revision

        one = store.memories.insert(note("0"))
        for number in range(1, 4):
            former = Revision(at(number), one._replace(what=str(number - 1)), "")
            store.memories.rewrite(one.id, note(str(number)), former)

        store.memories.rewrite(one.id, note("1"), undone=2)

        details = store.memories.details(one.id)
        assert details is not None
        assert (details.memory.what, [old.memory.what for old in details.history]) == ("1", ["0"])

    def test_it_says_who_deleted_it_in_which_step(self, store: Store) -> None:
        first = trashed(A, 2)._replace(step="s1", user="ann")
        rows = [first, trashed(B, 1)._replace(step="s1", user="bob"), trashed("c" * 32)]
        store.trash.put(rows)

        assert list(store.trash.page(9)) == rows
        assert list(store.trash.page(9, step="s1")) == rows[:2]
        assert list(store.trash.page(9, step="")) == list(store.trash.page(9, step="s")) == []
        assert list(store.trash.page(9, users={"ann", ""})) == [rows[0], rows[2]]
        assert list(store.trash.page(9, users=set())) == []

    def test_what_was_replaced_lies_apart(self, store: Store) -> None:
        old = trashed(A, 2)._replace(replaced=True, user="ann", step="u")
        store.trash.put([old, trashed(A, 1), trashed(B)])

        assert list(store.trash.page(9)) == [trashed(A, 1), trashed(B)]
        assert list(store.trash.page(9, named=A, replaced=True)) == [old]
        assert list(store.trash.page(9, replaced=None, ended=at(102))) == [old, trashed(A, 1), trashed(B)]
        assert store.counts().trashed == 2
        assert store.trash.remove([A]) == 2


class Noting:
    def test_what_a_step_did_is_told_last_first(self, store: Store) -> None:
        relation, link = Relation(ONE, OTHER, "x", START), Attached(ONE, THIRD, START)
        did = [
            made(1),
            Change(OTHER, A, facts(1), facts(2, status=Standing.SUPERSEDED, superseded_by=ONE, pinned=True), 1),
            Change(THIRD, B, facts(parent_id=ONE), None),
            EdgeChange(None, relation),
            EdgeChange(link, None),
        ]
        store.steps.add(step("s"), did)

        assert noted(store, "s") == did[::-1]
        assert store.steps.last() == step("s")._replace(size=5)
        (place, _), *_ = store.steps.changes("s", 2)
        assert [one for _, one in store.steps.changes("s", 2, after=place)] == did[::-1][1:3]

    def test_steps_are_listed_by_person_by_key_and_undos_apart(self, store: Store) -> None:
        ann, bob = step("ab1")._replace(user="ann"), step("ab2", "codex")._replace(user="bob")
        nobody, undo = step("cd1"), step("cd2")._replace(user="ann", undone=True)
        for number, one in enumerate((ann, bob, nobody, undo), start=1):
            store.steps.add(one, [made(number), made(9)])
        sized = [one._replace(size=2) for one in (ann, bob, nobody, undo)]

        def listed(limit: int = 9, **wanted: Any) -> list[Undoable]:
            return list(store.steps.recent(limit, **wanted))

        assert listed() == sized[2::-1]
        assert listed(2) == sized[2:0:-1]
        assert listed(users={"ann", ""}) == [sized[2], sized[0]]
        assert listed(users={""}, by="") == [sized[2]]
        assert listed(key="ab") == [sized[1], sized[0]]
        assert listed(key="b") == listed(id=MemoryId(7)) == []
        assert listed(undone=True) == listed(undone=True, users={"ann"}) == [sized[3]]
        assert listed(undone=None, id=MemoryId(9)) == sized[::-1]
        assert store.steps.last(users={"bob"}) == sized[1]
        assert store.steps.last(undone=None) == sized[3]

    def test_what_a_step_did_to_one_memory_is_told_with_its_edges(self, store: Store) -> None:
        relation = Relation(ONE, OTHER, "x", START)
        store.steps.add(step("s"), [made(1), made(2), made(3), EdgeChange(None, relation)])

        found = [one for _, one in store.steps.changes("s", 9, id=OTHER)]

        assert found == [EdgeChange(None, relation), made(2)]
        assert list(store.steps.changes("s", 9, id=MemoryId(4))) == []
        assert [one for _, one in store.steps.changes("s", 1, id=OTHER)] == found[:1]

    def test_what_later_steps_did_to_memories_is_told(self, store: Store) -> None:
        link = Attached(THIRD, ONE, START)
        first, bob = step("a"), step("b", "codex")._replace(user="bob")
        store.steps.add(first, [made(1), made(2)])
        store.steps.add(bob, [Change(ONE, A, facts(), facts(5)), EdgeChange(None, link), made(7)])
        store.steps.add(step("c")._replace(undone=True), [Change(OTHER, B, facts(), None)])

        found = list(store.steps.since("a", [ONE, OTHER]))

        assert [did for _, did in found] == [
            Change(ONE, A, facts(), facts(5)),
            EdgeChange(None, link),
            Change(OTHER, B, facts(), None),
        ]
        assert [one.user for one, _ in found] == ["bob", "bob", ""]
        assert [did for _, did in store.steps.since("b", [ONE])] == []
        assert list(store.steps.since("nothing", [ONE])) == list(store.steps.since("a", [])) == []

    def test_several_changes_of_one_memory_are_one(self, store: Store) -> None:
        store.steps.add(step("s"), [made(1), Change(ONE, f"{1:032x}", facts(), facts(5), 1)])
        store.steps.add(step("s"), [Change(ONE, f"{1:032x}", facts(5), facts(6), 1)])

        assert noted(store, "s") == [Change(ONE, f"{1:032x}", None, facts(6), 2)]

    def test_what_was_made_and_is_gone_again_is_no_change(self, store: Store) -> None:
        link, relation = Attached(ONE, OTHER, START), Relation(ONE, OTHER, "x", START)
        again = relation._replace(created_at=at(1))
        store.steps.add(step("s"), [made(1), EdgeChange(None, link), EdgeChange(relation, None), made(2)])
        store.steps.add(step("s"), [Change(ONE, "", facts(), None), EdgeChange(link, None), EdgeChange(None, again)])

        assert noted(store, "s") == [made(2), EdgeChange(relation, again)]
        store.steps.add(
            step("s"), [Change(OTHER, "", facts(), None), EdgeChange(again, None), EdgeChange(None, relation)]
        )
        assert store.steps.last() is None

    def test_the_last_step_is_told_of_all_of_a_program_and_of_a_memory(self, store: Store) -> None:
        for key, by, id in (("a", "", 1), ("b", "agent", 2), ("c", "agent", 1), ("d", "", 3)):
            store.steps.add(step(key, by), [made(id)])
        store.steps.add(step("a"), [made(9)])

        asked = [store.steps.last(**given) for given in ({}, {"by": ""}, {"by": "agent"}, {"id": ONE}, {"id": OTHER})]  # type: ignore[arg-type]
        assert [one and one.key for one in asked] == ["d", "d", "c", "c", "b"]
        assert store.steps.last(by="", id=ONE) == step("a")._replace(size=2)
        assert store.steps.last(id=MemoryId(99)) is None

    def test_nothing_is_no_step(self, store: Store) -> None:
        store.steps.add(step("s"), [])

        assert store.steps.last() is None

    def test_an_edge_is_no_change_of_its_ends(self, store: Store) -> None:
        store.steps.add(step("s"), [EdgeChange(None, Attached(ONE, OTHER, START))])

        assert store.steps.last(id=ONE) is None
        assert store.steps.last() is not None

    def test_a_step_goes_with_the_last_of_it_that_was_taken_back(self, store: Store) -> None:
        store.steps.add(step("s"), [made(1), made(2)])
        store.steps.add(step("t"), [made(3)])
        places = [place for place, _ in store.steps.changes("s", 9)]

        store.steps.remove("t", places)
        assert noted(store, "s") == [made(2), made(1)]
        store.steps.remove("s", places[:1])
        assert noted(store, "s") == [made(1)]
        store.steps.remove("s", places)
        assert store.steps.last() == step("t")._replace(size=1)

    def test_all_of_a_memory_can_be_forgotten(self, store: Store) -> None:
        edge = EdgeChange(None, Relation(OTHER, ONE, "x", START))
        store.steps.add(step("s"), [made(1), made(2), edge])
        store.steps.add(step("t"), [made(1)])

        store.steps.forget([ONE])

        assert noted(store, "s") == [made(2)]
        assert store.steps.last() == step("s")._replace(size=1)

    def test_the_last_so_many_are_remembered(self, store: Store) -> None:
        with store.transaction():
            for number in range(STEPS + 5):
                store.steps.add(step(str(number)), [made(number + 1)])

        assert store.steps.last(id=MemoryId(5)) is None
        assert store.steps.last(id=MemoryId(6)) == step("5")._replace(size=1)
        assert noted(store, "4") == []

    @pytest.mark.parametrize("fails", [True, False])
    def test_a_step_is_noted_with_what_it_did_or_not_at_all(self, store: Store, fails: bool) -> None:
        def both() -> None:
            with store.transaction():
                store.memories.insert(note("new"))
                store.steps.add(step("s"), [made(1)])
                if fails:
                    raise ArithmeticError

        if fails:
            with pytest.raises(ArithmeticError):
                both()
        else:
            both()

        assert (store.counts().memories, store.steps.last() is None) == ((0, True) if fails else (1, False))


class TrashSuite(Throwing, Noting):
    """What `memory.keep.trash` and `memory.keep.undo` are made of."""
