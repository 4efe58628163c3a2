"""What is known, renewed, superseded and inherited, whatever is kept in whatever order, over both stores."""

from __future__ import annotations

import tempfile
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from entries import at, everything, note
from hypothesis import given, strategies as st
from one_suite import entity, feedback
from profiles import examples
from stores import new

from memory.keep.rules import SAME, delete_memories, known_memories, replace_memory, write_entries
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import BY_AUTHOR, RULES, Kind
from memory.schema.memory import MemoryId, Standing
from memory.store import Attached
from oracle.ram import RamStore

GONE = MemoryId(999)
FOUND = {"agent_id": "a", "query_id": "r"}

stores = pytest.mark.parametrize("kind", ["ram", "sqlite"])
bodies = st.sampled_from(["x", "y", "z"])
moments = st.integers(0, 9)
agents = st.sampled_from(["a", "b", None])
runs = st.sampled_from(["r", "s"])


@contextmanager
def opened(kind: str):
    if kind == "ram":
        yield RamStore()
        return
    with tempfile.TemporaryDirectory() as folder, closing(new(Path(folder))) as store:
        yield store


notes = st.builds(
    lambda body, moment, project: note(body, body=body, moment=at(moment), project=project, unless_known=True),
    *(bodies, moments, st.sampled_from([None, "p"])),
)
plans = st.builds(lambda body: note(body, body=body, kind=Kind.PLAN, unless_known=True, **FOUND), bodies)
entities = st.builds(entity, st.sampled_from("ef"), bodies, moments)
feedbacks = st.builds(feedback, bodies, agents, runs, moments)
discoveries = st.builds(
    lambda body, moment, renews: note(
        body, body=body, kind=Kind.DISCOVERY, moment=at(moment), unless_known=True, **FOUND
    )._replace(renews=renews),
    *(bodies, moments, st.sampled_from([(), BY_AUTHOR])),
)
some = st.lists(st.one_of(notes, plans, entities, feedbacks, discoveries), max_size=6)


def named(entries, first: int = 0):
    """The same with uids that are the same in every run."""
    return [one._replace(uid=f"{number:032x}") for number, one in enumerate(entries, first)]


def every(store):
    return everything(store)


def world(store):
    """All that is kept, by uids, which do not depend on how often something was tried."""
    uids = {one.id: one.uid for one in every(store)}
    return {
        uid: (
            details.memory._replace(
                id=MemoryId(0),
                superseded_by=uids.get(details.memory.superseded_by),
                parent_id=uids.get(details.memory.parent_id),
            ),
            details.body,
            [(revision.replaced_at, revision.body) for revision in details.history],
            [(uids[link.entity], link.created_at) for link in store.graph.edges(Attached, [id])],
        )
        for id, uid in uids.items()
        if (details := store.memories.details(id))
    }


@stores
@examples(2)
@given(entries=some)
def test_all_at_once_is_the_same_as_one_after_another(kind, entries):
    entries = named(entries)
    with opened(kind) as together, opened(kind) as apart:
        left = write_entries(together, entries)
        right = [write_entries(apart, [one])[0] for one in entries]

        assert [(one.known, one.renewed, one.memory.uid) for one in left] == [
            (one.known, one.renewed, one.memory.uid) for one in right
        ]
        assert world(together) == world(apart)


@stores
@examples(2)
@given(before=some, entries=some)
def test_what_is_said_to_be_known_is_what_a_save_answers(kind, before, entries):
    with opened(kind) as store:
        write_entries(store, named(before))
        for entry in named(entries, 100):
            (known,) = known_memories(store, [entry])
            (saved,) = write_entries(store, [entry])

            assert saved.known == (known is not None)
            assert known is None or known == saved.memory


@stores
@examples(2)
@given(entries=some)
def test_the_same_again_changes_nothing(kind, entries):
    lasting = [one for one in entries if not one.renews and not RULES[one.draft.kind].repeats]
    with opened(kind) as store:
        write_entries(store, named(lasting))
        before = world(store)

        assert all(one.known for one in write_entries(store, named(lasting, 100)))
        assert world(store) == before


@stores
@examples(2)
@given(entries=some)
def test_of_what_there_is_one_there_is_never_another(kind, entries):
    with opened(kind) as store:
        write_entries(store, named(entries))
        held = [one for one in every(store) if one.status is Standing.ACTIVE]
        titles = [one.title for one in held if one.kind is Kind.ENTITY]
        authors = [(one.agent_id, one.query_id) for one in held if one.kind is Kind.FEEDBACK]
        contents = [
            (one.content_hash, *(getattr(one, name) for name in SAME)) for one in held if not RULES[one.kind].repeats
        ]

        for names in (titles, authors, contents):
            assert len(set(names)) == len(names)


@stores
@examples(2)
@given(entries=some)
def test_what_a_renewal_took_away_is_in_the_history(kind, entries):
    with opened(kind) as store:
        for entry in named(entries):
            before = world(store)
            (saved,) = write_entries(store, [entry])
            if not saved.renewed:
                continue
            memory, body, history, _ = before[saved.memory.uid]
            same = memory.content_hash == entry.content_hash
            _, now, revisions, _ = world(store)[saved.memory.uid]

            assert now == entry.draft.body
            assert revisions == ([] if same else [(entry.moment, body)]) + history


@stores
@examples(1)
@given(length=st.integers(1, 5), data=st.data())
def test_a_chain_is_the_same_in_whatever_order_its_links_are_deleted(kind, length, data):
    """Each supersedes the one before; what is left of them is a chain again, the last of which holds."""
    gone = data.draw(
        st.lists(st.integers(1, length + 1), unique=True, min_size=1).map(lambda ids: [*map(MemoryId, ids)])
    )
    with opened(kind) as together, opened(kind) as apart:
        for store in (together, apart):
            write_entries(store, named([note("first")]))
            for number in range(1, length + 1):
                write_entries(store, named([note(str(number), supersedes=MemoryId(number))], number))

        assert delete_memories(together, gone) == len(gone)
        assert [delete_memories(apart, [id]) for id in gone] == [1] * len(gone)

        assert world(together) == world(apart)
        left = every(together)
        successors = [*(one.id for one in left[1:]), None]
        assert [one.superseded_by for one in left] == successors[: len(left)]
        assert [one.status for one in left[:-1]] == [Standing.SUPERSEDED] * (len(left) - 1)
        assert not left or left[-1].status is Standing.ACTIVE


@stores
@examples(1)
@given(before=some, entry=notes)
def test_deleting_the_successor_brings_back_what_was(kind, before, entry):
    with opened(kind) as store:
        old = write_entries(store, named([note("old")], 900))[0].memory
        write_entries(store, named(before))
        was = world(store)
        entry = entry._replace(unless_known=False, uid=f"{901:032x}", supersedes=old.id)

        new = write_entries(store, [entry])[0].memory
        assert store.memories.by_id([old.id])[old.id].superseded_by == new.id
        delete_memories(store, [new.id])

        assert world(store) == was


def refusals(entity: MemoryId, retired: MemoryId):
    """Entries that are refused, and how."""
    return (
        (note("x", supersedes=GONE), NotFound, "no memory 999"),
        (note("x", supersedes=entity), Invalid, "cannot be superseded"),
        (note("x", supersedes=retired), Invalid, "is already superseded"),
        (note("x", parent_id=GONE), NotFound, "no memory 999"),
        (note("x")._replace(entities=(GONE,)), NotFound, "no memory 999"),
        (note("x")._replace(entities=(retired,)), NotFound, f"no entity {retired}"),
        (note(title="h", kind=Kind.ENTITY)._replace(entities=(entity,)), Invalid, "cannot be about another"),
    )


@stores
@examples(1)
@given(before=some, entries=some, which=st.integers(0, 6))
def test_what_is_refused_leaves_nothing(kind, before, entries, which):
    with opened(kind) as store:
        first, retired = (one.memory.id for one in write_entries(store, [entity("g"), note("old")]))
        write_entries(store, [note("new", supersedes=retired)])
        write_entries(store, named(before))
        was = world(store)
        wrong, error, words = refusals(first, retired)[which]

        with pytest.raises(error, match=words):
            write_entries(store, [*named(entries, 100), wrong])

        assert world(store) == was


@stores
@examples(1)
@given(first=bodies, second=bodies, third=bodies, stale=st.booleans())
def test_who_knows_a_former_state_changes_nothing(kind, first, second, third, stale):
    with opened(kind) as store:
        id = write_entries(store, [note(first, body=first)])[0].memory.id
        former = store.memories.details(id)
        if stale:
            replace_memory(store, id, note(second, body=second))
        was = world(store)
        entry = note(third, body=third)
        entry = entry._replace(draft=replace(entry.draft, why="because"))

        saved = replace_memory(store, id, entry, former=former)

        assert (saved is None) == stale
        assert (world(store) == was) == stale
