"""What every store promises where memories are read and taken away by session and age."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from entries import (
    KEEP,
    SPACE,
    START,
    at,
    directions,
    embedded,
    everything,
    found,
    heads,
    kept,
    note,
    outline,
    prompt,
    unit,
    waiting,
    words,
    write,
)
from scopes_suite import SCOPES, admitted, narrowed, varied

from memory.keep.removing import Aged, forget_aged
from memory.keep.rules import delete_memories, replace_memory
from memory.schema.kinds import Kind
from memory.schema.memory import MemoryId, Standing
from memory.schema.query import ACTIVE, EVERYTHING, Scope
from memory.store import Order

if TYPE_CHECKING:
    from memory.store import Entry, Session, Store

OF_S = Scope(sessions=frozenset({"s"}))


def said(iteration: int | None = None, moment: float = 0, /, **fields: Any) -> Entry:
    """Something of session s, of an iteration, made so many seconds after the start."""
    return note(**{"session_id": "s"} | fields, session_iter=iteration, moment=at(moment))


def of_name(store: Store, id: str) -> Session | None:
    """The session of a name; None if nothing is kept of it."""
    found, total = store.sessions.latest(5, id=id)
    assert len(found) == total
    return found[0] if found else None


def ids(memories) -> list[MemoryId]:
    return [memory.id for memory in memories]


class ByIteration:
    def test_the_highest_iteration_is_first_then_the_latest_then_the_newest_id(self, store: Store) -> None:
        entries = [
            said(2, 5),
            said(10, 1),
            said(None, 9),
            said(2, 7),
            said(9, 3),
            said(2, 5),
            said(None, 8),
            said(10, 1),
        ]
        a, b, c, d, e, f, g, h = kept(store, *entries)
        order = [h, b, e, d, f, a, c, g]

        assert ids(store.memories.page(ACTIVE, 10, order=Order.ITERATION)) == order
        assert ids(store.memories.page(ACTIVE, 10, order=Order.ASCENDING)) == order[::-1]

    @pytest.mark.parametrize("order", Order)
    def test_a_limit_takes_the_first_of_them(self, store: Store, order: Order) -> None:
        kept(store, *(said(n % 3 or None, n % 4) for n in range(12)))
        every = ids(store.memories.page(OF_S, 100, order=order))

        assert len(every) == 12
        for limit in (1, 2, 5, 11, 12, 13):
            assert ids(store.memories.page(OF_S, limit, order=order)) == every[:limit]

    def test_what_changed_since_stays_in_its_place(self, store: Store) -> None:
        first, second = kept(store, said(1, 1), said(1, 2))
        replace_memory(store, first, said(1, 9, what="corrected"))

        assert ids(store.memories.page(OF_S, 9, order=Order.ITERATION)) == [second, first]

    def test_it_stays_in_scope_and_misses_nothing(self, store: Store) -> None:
        varied(store)
        memories = everything(store)

        for scope in SCOPES:
            found = store.memories.page(scope, 100, order=Order.ITERATION)

            assert set(ids(found)) == {memory.id for memory in memories if admitted(memory, scope)}, scope
            assert list(found) == sorted(
                found, key=lambda one: (one.session_iter or 0, one.created_at, one.id), reverse=True
            ), scope

    def test_memories_are_as_they_are_kept(self, store: Store) -> None:
        kept(store, said(3, 1, tags=("x",), metadata={"a": [1]}, body="text", agent_id="a"))

        (memory,) = store.memories.page(OF_S, 5, order=Order.ITERATION)

        assert store.memories.by_id([memory.id]) == {memory.id: memory}


class Bodies:
    def test_bodies_are_those_that_are_there(self, store: Store) -> None:
        first, second = kept(store, note(body="é🦊\r\n\x07"), note(body=""))

        assert store.memories.bodies([second, MemoryId(99), first, first]) == {first: "é🦊\r\n\x07", second: ""}
        assert store.memories.bodies([]) == {}
        delete_memories(store, [first])
        assert store.memories.bodies([first, MemoryId(1 << 70)]) == {}

    def test_several_accesses_are_counted_each_once(self, store: Store) -> None:
        a, b, c = kept(store, note("a"), note("b"), note("c"))

        store.memories.touch([a, c, MemoryId(99), a], at(5))
        store.memories.touch([c], at(9))
        store.memories.touch([], at(10))

        memories = store.memories.by_id([a, b, c])
        assert [(memories[id].access_count, memories[id].accessed_at) for id in (a, b, c)] == [
            (1, at(5)),
            (0, None),
            (2, at(9)),
        ]
        assert {memory.updated_at for memory in memories.values()} == {START}


class Sessions:
    def test_a_session_is_what_is_kept_of_it(self, store: Store) -> None:
        entries = [
            said(2, 5, body="ab", size=1, agent_id="one"),
            said(10, 1, agent_id="two"),
            said(None, 3, agent_id="two"),
            said(1, 4),
            note("of another", session_id="t", moment=at(9), agent_id="three"),
            note("of none", moment=at(9), agent_id="four"),
        ]
        kept(store, *entries)
        write(store, prompt("continue", agent_id="one"))

        session = of_name(store, "s")

        assert session is not None
        assert (session.id, session.memories, session.chunks, session.iteration) == ("s", 5, 7, 10)
        assert (session.earliest, session.latest, session.active) == (at(0), at(5), at(5))
        assert (session.agent_id, session.agents) == ("one", (("one", 2), ("two", 2)))
        assert session.kinds == (("note", 4), ("input_prompt", 1))
        assert of_name(store, "t") == store.sessions.latest(1)[0][0]

    @pytest.mark.parametrize("absent", ["", "S", "s ", "%", "t"])
    def test_a_session_that_nothing_is_kept_of_is_none(self, store: Store, absent: str) -> None:
        kept(store, said(1), note("of none"))

        assert of_name(store, absent) is None

    def test_a_session_may_have_no_agent_and_no_iteration(self, store: Store) -> None:
        kept(store, said())

        session = of_name(store, "s")

        assert session is not None
        assert (session.agent_id, session.agents, session.iteration) == (None, (), None)

    def test_the_agent_of_a_session_is_who_wrote_last(self, store: Store) -> None:
        first, *_ = kept(
            store, said(1, 1, agent_id="a"), said(2, 5, agent_id="b"), said(3, 5, agent_id="c"), said(4, 9)
        )
        assert of_name(store, "s").agent_id == "c"

        replace_memory(store, first, said(1, 20, agent_id="a", what="corrected"))

        session = of_name(store, "s")
        assert (session.agent_id, session.active, session.latest) == ("a", at(20), at(9))

    def test_sessions_are_listed_by_their_latest_activity_then_by_name(self, store: Store) -> None:
        moments = {"b": 5, "a": 5, "c": 7, "é": 5, "d": 1}
        first = {name: write(store, said(1, moment, session_id=name)).memory.id for name, moment in moments.items()}
        kept(store, note("of none", moment=at(99)))

        sessions, total = store.sessions.latest(10)
        assert [one.id for one in sessions] == ["c", "a", "b", "é", "d"]
        assert total == 5
        for limit in (1, 3, 5):
            assert store.sessions.latest(limit) == (sessions[:limit], 5)

        replace_memory(store, first["d"], said(1, 50, session_id="d", what="corrected"))
        assert store.sessions.latest(1)[0][0].id == "d"

    def test_sessions_of_an_agent_count_what_it_wrote(self, store: Store) -> None:
        kept(
            store,
            said(3, 1, agent_id="a", body="x"),
            said(9, 8, agent_id="b"),
            said(1, 2, agent_id="a", session_id="t"),
        )

        (latest, other), total = store.sessions.latest(10, agent="a")

        assert (latest.id, other.id, total) == ("t", "s", 2)
        assert (other.memories, other.chunks, other.iteration, other.active) == (1, 2, 3, at(1))
        assert store.sessions.latest(10, id="s", agent="a") == ([other], 1)
        assert store.sessions.latest(10, id="t", agent="b") == ([], 0)
        assert (other.agent_id, other.agents) == ("a", (("a", 1),))
        assert store.sessions.latest(10, agent="nobody") == ([], 0)

    def test_what_was_superseded_counts_too(self, store: Store) -> None:
        old = kept(store, said(1, 1, what="old"))[0]
        write(store, said(2, 2, what="new")._replace(supersedes=old))

        assert of_name(store, "s").memories == 2


class Forgetting:
    def test_what_was_made_before_a_moment_is_counted(self, store: Store) -> None:
        first, second, third = kept(store, said(1, 1, body="ab", size=1), said(1, 5), said(1, 9))
        replace_memory(store, first, said(1, 50, what="corrected", body="abc", size=1))

        assert [store.sessions.aged(ACTIVE, at(moment)) for moment in (1, 1.001, 5, 6, 100)] == [
            [],
            [(first, 4)],
            [(first, 4)],
            [(first, 4), (second, 1)],
            [(first, 4), (second, 1), (third, 1)],
        ]
        elsewhere = at(6).astimezone(timezone(timedelta(hours=9)))
        assert store.sessions.aged(ACTIVE, elsewhere) == [(first, 4), (second, 1)]
        assert store.sessions.aged(ACTIVE, elsewhere, 1) == [(first, 4)]

    @pytest.mark.parametrize("scope", SCOPES, ids=narrowed)
    def test_only_what_is_in_scope_is_forgotten(self, store: Store, scope: Scope) -> None:
        varied(store)
        every = everything(store)
        wanted = {one.id for one in every if admitted(one, scope) and one.created_at < at(12)}
        chunks = sum(len(outline(store, id)) for id in wanted)

        assert store.sessions.aged(scope, at(12)) == [(id, len(outline(store, id))) for id in sorted(wanted)]
        assert forget_aged(store, scope, at(12), 100, KEEP) == Aged(len(wanted), chunks)
        assert set(ids(everything(store))) == {one.id for one in every} - wanted

    def test_at_most_so_many_are_forgotten_the_lowest_ids_first(self, store: Store) -> None:
        every = kept(store, *(said(1, -n, body="x" * n, size=1) for n in range(5)))

        assert forget_aged(store, ACTIVE, at(9), 2, KEEP) == Aged(2, 3)
        assert ids(everything(store)) == every[2:]
        assert forget_aged(store, ACTIVE, at(9), 100, KEEP) == Aged(3, 12)
        assert forget_aged(store, ACTIVE, at(9), 100, KEEP) == Aged(0, 0)

    def test_nothing_of_it_is_left(self, store: Store) -> None:
        vectors = directions(4)
        gone, stays = kept(
            store,
            said(1, 0, what="zebra", body="ab", size=1, embedded=embedded(vectors[:3])),
            said(1, 5, what="giraffe", embedded=embedded(vectors[3:])),
        )
        kept(store, said(1, 1, what="lion", body="cd", size=1))
        chunks = [chunk for chunk, _ in outline(store, gone)]
        replace_memory(
            store, gone, said(1, 8, what="zebra", body="abc", size=1, embedded=embedded(directions(4, seed=2)))
        )
        chunks += [chunk for chunk, _ in outline(store, gone)]

        assert forget_aged(store, OF_S, at(5), 10, KEEP) == Aged(2, 7)

        assert ids(everything(store)) == [stays]
        assert (
            store.memories.bodies([gone]),
            store.memories.details(gone),
            store.memories.excerpts(chunks),
        ) == ({}, None, {})
        assert found(store.keywords.by_keyword(words("zebra", "lion", "giraffe"), EVERYTHING, 10)) == [stays]
        assert found(store.vectors.by_vector(1, vectors[0], EVERYTHING, 10)) == [stays]
        assert store.vectors.cosines(1, unit(1), chunks, other=unit(0, 1)) == {}
        total, count = store.generations.centre(1)
        assert (count, len(total)) == (1, SPACE.dimension)
        assert list(total) == pytest.approx(vectors[3], abs=1e-6)
        counts = store.counts()
        assert (counts.memories, counts.chunks, counts.queued) == (1, 1, 0)
        assert waiting(store, 10) == []

    def test_what_a_forgotten_memory_superseded_holds_again(self, store: Store) -> None:
        old = kept(store, said(1, 9, what="old"))[0]
        write(store, said(1, 1, what="new")._replace(supersedes=old))

        forget_aged(store, EVERYTHING, at(5), 10, KEEP)

        former = store.memories.by_id([old])[old]
        assert (former.status, former.superseded_by) == (Standing.ACTIVE, None)

    def test_a_link_taken_out_of_a_chain_leaves_a_chain(self, store: Store) -> None:
        first = kept(store, said(1, 9, what="first"))[0]
        second = write(store, said(1, 1, what="second")._replace(supersedes=first)).memory.id
        third = write(store, said(1, 9, what="third")._replace(supersedes=second)).memory.id

        forget_aged(store, EVERYTHING, at(5), 10, KEEP)

        former = store.memories.by_id([first])[first]
        assert (former.status, former.superseded_by) == (Standing.SUPERSEDED, third)

    def test_a_chain_is_forgotten_as_a_whole(self, store: Store) -> None:
        first = kept(store, said(1, 1, what="first"))[0]
        write(store, said(1, 2, what="second")._replace(supersedes=first))

        assert forget_aged(store, EVERYTHING, at(5), 10, KEEP) == Aged(2, 2)
        assert store.counts().memories == 0

    def test_children_outlive_a_forgotten_parent(self, store: Store) -> None:
        parent = kept(store, said(1, 1))[0]
        child = kept(store, said(1, 9, parent_id=parent))[0]

        forget_aged(store, EVERYTHING, at(5), 10, KEEP)

        assert store.memories.by_id([child])[child].parent_id is None

    def test_ids_of_what_is_forgotten_are_never_used_again(self, store: Store) -> None:
        id = kept(store, said(1, 1))[0]
        chunk = heads(store, id)[0]
        forget_aged(store, EVERYTHING, at(5), 10, KEEP)

        again = kept(store, said(1, 1))[0]

        assert again > id
        assert heads(store, again)[0] > chunk

    def test_a_kind_can_be_forgotten_alone(self, store: Store) -> None:
        stays = kept(store, said(1, -9))[0]
        write(store, prompt("continue"))

        assert forget_aged(store, Scope(kinds=frozenset({Kind.INPUT_PROMPT})), at(1), 10, KEEP) == Aged(1, 1)
        assert ids(everything(store)) == [stays]


class SessionsSuite(ByIteration, Bodies, Sessions, Forgetting):
    """All of them."""
