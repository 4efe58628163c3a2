"""What the rules say of memories of which there is only one, over every store; and of those that are never embedded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import (
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
    queued,
    unit,
    waiting,
    words,
    write,
)

from memory.keep.rules import delete_memories, known_memories, replace_memory
from memory.schema.answer import Ranking
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import BY_AUTHOR, Kind
from memory.schema.memory import MemoryId
from memory.schema.query import ACTIVE, EVERYTHING
from memory.schema.space import Window
from memory.store import Attached

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.store import Entry, Store


def feedback(body: str, agent: str | None = "boss", run: str = "r", moment: float = 0, **fields: Any) -> Entry:
    made = note(body, body=body, kind=Kind.FEEDBACK, agent_id=agent, query_id=run, moment=at(moment), **fields)
    return made._replace(renews=BY_AUTHOR, unless_known=True)


def entity(name: str, body: str = "", moment: float = 0, **fields: Any) -> Entry:
    return note(title=name, body=body, kind=Kind.ENTITY, moment=at(moment), unless_known=True, **fields)


def unsaid(body: str = "secret", **fields: Any) -> Entry:
    return note(body, body=body, keyword_only=True, **fields)


def feedbacks(store: Store, **fields: Any) -> Sequence[str]:
    scope = EVERYTHING._replace(kinds=frozenset({Kind.FEEDBACK}), **fields)
    return [store.memories.bodies([memory.id]).get(memory.id) for memory in store.memories.page(scope, 100)]


class Renewing:
    def test_what_an_author_says_again_takes_the_place_of_what_was_said(self, store: Store) -> None:
        first = write(store, feedback("one", moment=1))
        second = write(store, feedback("two", moment=2, metadata={"iteration": 3}))

        assert (first.known, first.renewed, second.known, second.renewed) == (False, False, False, True)
        assert second.memory.id == first.memory.id
        assert second.memory.uid == first.memory.uid
        assert (second.memory.created_at, second.memory.updated_at) == (at(1), at(2))
        assert second.memory.metadata == {"iteration": 3}
        assert feedbacks(store) == ["two"]
        assert [old.body for old in store.memories.details(first.memory.id).history] == ["one"]

    def test_each_author_in_each_run_has_one(self, store: Store) -> None:
        for round in ("old", "new"):
            for agent in ("a", "b", None):
                for run in ("r", "s"):
                    write(store, feedback(f"{round} {agent} {run}", agent, run))

        assert sorted(feedbacks(store)) == ["new None r", "new None s", "new a r", "new a s", "new b r", "new b s"]

    def test_in_one_put_the_last_one_stays(self, store: Store) -> None:
        ids = kept(store, feedback("one"), feedback("two"), feedback("three"))

        assert len(set(ids)) == 1
        assert feedbacks(store) == ["three"]

    def test_the_same_words_once_more_bring_the_new_time_and_metadata(self, store: Store) -> None:
        write(store, feedback("same", moment=1))
        again = write(store, feedback("same", moment=9, metadata={"iteration": 2}))

        assert (again.renewed, again.memory.updated_at, again.memory.metadata) == (True, at(9), {"iteration": 2})
        assert list(store.memories.details(again.memory.id).history) == []

    def test_the_index_and_the_vectors_are_those_of_what_is_said_now(self, store: Store) -> None:
        before = unit(1)
        write(store, feedback("zebra", embedded=embedded([before] * 2)))
        generation = store.generations.every()[0].id
        write(store, feedback("giraffe"))

        assert store.keywords.by_keyword(store.keywords.weigh(words("zebra")), ACTIVE, 5) == Ranking()
        assert len(store.keywords.by_keyword(store.keywords.weigh(words("giraffe")), ACTIVE, 5)) == 2
        assert store.vectors.by_vector(generation, before, ACTIVE, 5) == Ranking()
        assert store.queue.queued() == 2

    def test_of_several_the_last_changed_is_renewed(self, store: Store) -> None:
        plain = [
            note(body, body=body, kind=Kind.DISCOVERY, agent_id="a", query_id="r", moment=at(n))
            for n, body in ((1, "x"), (5, "y"), (3, "z"))
        ]
        ids = kept(store, *plain)
        renewed = note("new", body="new", kind=Kind.DISCOVERY, agent_id="a", query_id="r", moment=at(9))

        assert write(store, renewed._replace(renews=BY_AUTHOR)).memory.id == ids[1]
        assert [store.memories.bodies([id]).get(id) for id in ids] == ["x", "new", "z"]

    def test_one_that_says_the_same_is_renewed_first(self, store: Store) -> None:
        said = {"kind": Kind.INSIGHT, "agent_id": "a", "query_id": "r"}
        x, y = kept(store, *(note(body, body=body, moment=at(n), **said) for n, body in enumerate("xy")))
        again = write(store, note("x", body="x", moment=at(9), **said)._replace(renews=BY_AUTHOR))

        assert (again.memory.id, again.renewed, again.memory.updated_at) == (x, True, at(9))
        assert [store.memories.bodies([id]).get(id) for id in (x, y)] == ["x", "y"]

    def test_what_was_superseded_is_not_renewed(self, store: Store) -> None:
        old = write(store, feedback("one")).memory.id
        write(store, note("instead", supersedes=old))

        assert write(store, feedback("two")).memory.id != old
        assert sorted(feedbacks(store)) == ["one", "two"]

    @pytest.mark.parametrize("later", [True, False])
    def test_an_import_brings_back_what_is_newer_only(self, store: Store, later: bool) -> None:
        here = write(store, feedback("here", moment=5)).memory
        there = here._replace(id=MemoryId(0), uid="ab" * 16, updated_at=at(9 if later else 1))
        entry = feedback("there", uid=there.uid)._replace(restored=there, unless_known=False)

        found = write(store, entry)

        assert (found.memory.id, found.known) == (here.id, not later)
        assert feedbacks(store) == ["there" if later else "here"]

    def test_a_parent_that_is_not_there_changes_nothing(self, store: Store) -> None:
        write(store, feedback("one"))

        with pytest.raises(NotFound):
            write(store, feedback("two", parent_id=MemoryId(99)))

        assert feedbacks(store) == ["one"]


class Naming:
    def test_a_name_is_known_whatever_is_said_of_it(self, store: Store) -> None:
        first = write(store, entity("Python", "- a language"))
        second = write(store, entity("Python", "- a snake", category="animal"))

        assert (second.known, second.memory.id) == (True, first.memory.id)
        assert known_memories(store, [entity("Python"), entity("python")]) == [first.memory, None]
        assert store.memories.bodies([first.memory.id]).get(first.memory.id) == "- a language"

    def test_another_kind_may_have_the_title(self, store: Store) -> None:
        write(store, note(title="Python"))

        assert not write(store, entity("Python")).known
        assert not write(store, note("another", title="Python")).known

    def test_a_name_in_use_is_not_taken(self, store: Store) -> None:
        python, java = kept(store, entity("Python"), entity("Java"))

        with pytest.raises(Invalid, match=r"another entity"):
            replace_memory(store, java, entity("Python"))

        assert store.memories.by_id([java])[java].title == "Java"
        assert replace_memory(store, java, entity("Kotlin")) is not None
        assert replace_memory(store, python, entity("Java")) is not None

    def test_it_keeps_its_own_name(self, store: Store) -> None:
        (id,) = kept(store, entity("Python"))

        assert replace_memory(store, id, entity("Python", "- more")) is not None

    def test_a_name_is_free_again_when_it_was_deleted(self, store: Store) -> None:
        (id,) = kept(store, entity("Python"))
        delete_memories(store, [id])

        assert not write(store, entity("Python")).known

    def test_an_import_of_a_known_name_changes_nothing(self, store: Store) -> None:
        here = write(store, entity("Python", "- a language")).memory
        there = here._replace(id=MemoryId(0), uid="ab" * 16)

        found = write(store, entity("Python", "- a snake", uid=there.uid)._replace(restored=there, unless_known=False))

        assert (found.known, found.memory.id) == (True, here.id)

    def test_an_entity_is_not_superseded(self, store: Store) -> None:
        (id,) = kept(store, entity("Python"))

        with pytest.raises(Invalid, match="entity"):
            write(store, note("instead", supersedes=id))

        assert store.counts().memories == 1

    def test_a_memory_does_not_become_an_entity_nor_an_entity_another(self, store: Store) -> None:
        python, other = kept(store, entity("Python"), note("x"))

        for id, changed in ((other, entity("Java")), (python, note("x")), (other, feedback("x"))):
            with pytest.raises(Invalid, match="cannot become"):
                replace_memory(store, id, changed)

    def test_an_entity_is_not_about_another(self, store: Store) -> None:
        (python,) = kept(store, entity("Python"))

        with pytest.raises(Invalid, match="cannot be about"):
            write(store, entity("Java")._replace(entities=(python,)))
        assert store.counts().memories == 1


class Growing:
    def test_what_has_only_grown_leaves_no_history(self, store: Store) -> None:
        id = write(store, entity("Python", "- a")).memory.id
        after = replace_memory(store, id, entity("Python", "- a\n- b", moment=3)._replace(grown=True))

        assert after is not None
        assert (
            after.memory.updated_at,
            store.memories.bodies([id]).get(id),
            list(store.memories.details(id).history),
        ) == (at(3), "- a\n- b", [])

    def test_somebody_who_was_faster_is_noticed_without_a_history(self, store: Store) -> None:
        id = write(store, entity("Python", "- a")).memory.id
        former = store.memories.details(id)
        replace_memory(store, id, entity("Python", "- a\n- b")._replace(grown=True), former=former)

        assert replace_memory(store, id, entity("Python", "- a\n- c")._replace(grown=True), former=former) is None
        assert store.memories.bodies([id]).get(id) == "- a\n- b"

    def test_somebody_who_went_back_is_noticed_by_the_history(self, store: Store) -> None:
        id = write(store, entity("Python", "- a")).memory.id
        former = store.memories.details(id)
        replace_memory(store, id, entity("Python", "- b"))
        replace_memory(store, id, entity("Python", "- a"))

        assert replace_memory(store, id, entity("Python", "- c"), former=former) is None


class About:
    def test_a_memory_is_linked_to_entities_as_it_is_kept(self, store: Store) -> None:
        python, java = kept(store, entity("Python"), entity("Java"))
        new = write(store, note("x", moment=at(4))._replace(entities=(java, python)))

        links = store.graph.edges(Attached, [new.memory.id])
        assert [(link.entity, link.memory, link.created_at) for link in links] == [
            (python, new.memory.id, at(4)),
            (java, new.memory.id, at(4)),
        ]

    def test_one_that_is_known_is_linked_too(self, store: Store) -> None:
        (python,) = kept(store, entity("Python"))
        first = write(store, note("x"))
        again = write(store, note("x")._replace(entities=(python,), unless_known=True))

        assert again.known
        assert [link.memory for link in store.graph.edges(Attached, [python])] == [first.memory.id]

    @pytest.mark.parametrize("wrong", ["gone", "a note"])
    def test_what_is_no_entity_keeps_nothing(self, store: Store, wrong: str) -> None:
        id = MemoryId(99) if wrong == "gone" else write(store, note("a note")).memory.id
        before = store.counts()._replace(bytes=0)

        with pytest.raises(NotFound):
            write(store, note("x")._replace(entities=(id,)))

        assert store.counts()._replace(bytes=0) == before
        assert store.graph.edges(Attached, [id]) == []


class KeywordOnly:
    def test_it_is_neither_queued_nor_embedded(self, store: Store) -> None:
        write(store, note("usual"))
        made = write(store, unsaid(embedded=embedded(directions(2))))

        assert (queued(store, made), made.memory.keyword_only) == (0, True)
        assert store.queue.queued() == 1
        counts = store.counts()
        assert (counts.chunks, counts.keyword_only, counts.embeddable) == (3, 2, 1)
        assert store.queue.waiting([made.memory.id]) == []

    def test_no_generation_ever_asks_for_it(self, store: Store) -> None:
        kept(store, unsaid(), note("usual"))
        first = store.generations.begin(SPACE, START)
        assert [one.what for one in store.vectors.pending(first.id, 0, 10)] == ["usual"]
        assert store.queue.queued() == 1

        second = store.generations.begin(OTHER, START)
        store.vectors.set_vectors(second.id, directions(1), [Window(heads(store, MemoryId(2))[0], 0, 0)])
        store.generations.activate(second.id, instead_of=first.id)
        assert store.queue.queued() == 0
        emptied(store, second.id)

        assert [one.what for one in waiting(store, 10)] == ["usual"]

    def test_a_vector_that_came_too_late_is_not_kept(self, store: Store) -> None:
        id = write(store, note("said", embedded=embedded([unit(1)]))).memory.id
        generation = store.generations.every()[0].id
        replace_memory(store, id, unsaid("said"))

        named = [chunk for chunk, _ in outline(store, id)]
        done = store.vectors.set_vectors(
            generation, directions(2), [Window(chunk, 0, row) for row, chunk in enumerate(named)]
        )

        assert (done, store.generations.size(generation).chunks) == (0, 0)
        assert store.vectors.by_vector(generation, unit(1), EVERYTHING, 5) == Ranking()

    def test_it_may_be_embedded_later(self, store: Store) -> None:
        id = write(store, unsaid()).memory.id
        after = replace_memory(store, id, note("said", body="said"))

        assert after is not None
        assert (queued(store, after), store.queue.queued(), after.memory.keyword_only) == (2, 2, False)

    def test_its_history_says_what_it_was(self, store: Store) -> None:
        id = write(store, unsaid()).memory.id
        replace_memory(store, id, note("said"))

        assert [old.memory.keyword_only for old in store.memories.details(id).history] == [True]

    def test_a_repair_leaves_it_alone(self, store: Store) -> None:
        kept(store, unsaid(), note("usual"))

        assert list(store.check()) == []
        store.repair()
        assert store.queue.queued() == 1


class OneSuite(Renewing, Naming, Growing, About, KeywordOnly):
    """All of them."""
