"""Whatever is done to them, in whatever order, both stores say the same."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

import numpy as np
import postgres
from entries import KEEP, OTHER, SPACE, START, at, embedded, everything, note, outline, request, words
from graph_suite import entity, linked, related
from hypothesis import HealthCheck, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from profiles import examples
from runs_suite import used
from sound import sound
from stores import new
from term_vectors_suite import numbers

from memory.keep.jsonl import link_memories
from memory.keep.removing import clear_run, forget_aged
from memory.keep.rules import delete_memories, join, known_memories, pin_memories, replace_memory, write_entries
from memory.schema.errors import Error
from memory.schema.kinds import Kind
from memory.schema.memory import ChunkId, MemoryId, Standing
from memory.schema.query import Scope, Term
from memory.schema.space import Budget, OpenCircuit, Window
from memory.store import Attached, Failure, Learned, Links, Match, Order, Relation, State, Store, TermVector
from memory.store.narrow import rounded
from memory.text.lookup import stems
from oracle.ram import RamStore

TOLERANCE = 1e-5  # cosines in 32 bits; bm25 is far closer
WORDS = ("auth", "authentication", "author", "login", "logins", "café", "user_id", "the", "数据", "+++")
SPACES = (SPACE, OTHER, SPACE._replace(dimension=3))

texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
vectors = st.lists(st.integers(-2, 2), min_size=8, max_size=8).filter(any)
scopes = st.builds(
    Scope,
    projects=st.sets(st.sampled_from(["p", "q"]), max_size=1).map(frozenset),
    tags=st.sets(st.sampled_from(["x", "y"]), max_size=2).map(frozenset),
    kinds=st.sets(st.sampled_from([Kind.NOTE, Kind.REPORT]), max_size=1).map(frozenset),
    sessions=st.sets(st.just("s")).map(frozenset),
    since=st.none() | st.integers(0, 9).map(at),
    statuses=st.sets(st.sampled_from(list(Standing))).map(frozenset),
    pinned=st.booleans(),
)
limits = st.sampled_from([1, 2, 3, 5, 100])
sessions = st.sampled_from([None, "s", "t"])
agents = st.sampled_from([None, "a", "b"])
days = st.sampled_from([-1, 0, 0, 5, 86_399, 86_400])
hosts = st.sampled_from(["a", "b"])
eighths = st.integers(0, 20).map(lambda n: n / 8)  # sums of which are exact in any order
calls = st.builds(
    request,
    days,
    purpose=st.sampled_from(["save", "search"]),
    host=hosts,
    model=st.sampled_from(["small", "large"]),
    calls=st.integers(1, 3),
    texts=st.integers(0, 5),
    tokens=st.integers(0, 9),
    bytes_out=st.integers(0, 9),
    seconds=eighths,
    cost=eighths,
    error=st.sampled_from(["", "", "down"]),
)
types = st.sampled_from(["x", "y"])
names = st.sampled_from(["e", "E", "f", "é"])
runs = st.sampled_from([None, "r", "q"])
tools = st.builds(
    used,
    st.integers(0, 9),
    uid=st.integers(0, 20).map("{:032x}".format),
    run=runs,
    agent=st.sampled_from(["a", "b"]),
    success=st.booleans(),
)
stemmed = st.sampled_from(sorted({stem for word in (*WORDS, "note", "page", "gone") for stem in stems(word)}))
terms = stemmed | st.tuples(stemmed, stemmed).map(" ".join)
budgets = st.none() | st.builds(Budget, st.none() | st.integers(0, 9), st.none() | st.integers(0, 30))


def unit(numbers, dimension: int):
    vector = np.asarray(
        [*numbers[: dimension - 1], 1 if not any(numbers[:dimension]) else numbers[dimension - 1]], np.float32
    )
    return rounded(vector / np.linalg.norm(vector))


@st.composite
def entries(draw, uids):
    """An entry that says next to nothing, in a few chunks, with vectors for some of them or none."""
    body = draw(texts)
    kinds = [Kind.NOTE, Kind.DISCOVERY, Kind.PLAN]
    run = draw(runs) if body else None
    made = note(
        draw(texts),
        body=body,
        size=draw(st.sampled_from([3, 8, 1000])),
        title=draw(st.sampled_from(["note", "login page"])),
        moment=at(draw(st.integers(0, 9))),
        uid=f"{draw(st.integers(0, 3)):08x}{next(uids):024x}",
        project=draw(st.sampled_from([None, "p", "q"])),
        tags=tuple(draw(st.sets(st.sampled_from(["x", "y"])))),
        category=draw(st.sampled_from([None, "bug"])),
        session_id=draw(sessions),
        session_iter=draw(st.sampled_from([None, 1, 2, 10])),
        agent_id=draw(agents),
        kind=draw(st.sampled_from(kinds)) if run else Kind.NOTE,
        query_id=run,
        unless_known=draw(st.booleans()),
    )
    space = draw(st.sampled_from([None, *SPACES]))
    if space is None:
        return made
    owners = draw(st.lists(st.integers(0, len(made.chunks) - 1), max_size=4).map(sorted))
    rows = [unit(draw(vectors), space.dimension) for _ in owners]
    return made._replace(embedded=embedded(np.reshape(rows, (-1, space.dimension)), owners, space))


@st.composite
def observed(draw, uids):
    """An entity of one of few names."""
    uid = f"{draw(st.integers(0, 3)):08x}{next(uids):024x}"
    category = draw(st.sampled_from([None, "person", "place"]))
    return entity(draw(names), uid=uid, body=draw(texts), category=category, moment=at(draw(st.integers(0, 9))))


def same_ranking(left, right) -> None:
    """Equal but for rounding: chunks may change places only where their scores are closer than that."""
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert abs(a.score - b.score) < TOLERANCE
    tied = {left[-1].score} if left else set()  # the last place may go to another with the same score
    by_chunk = {scored.chunk: scored for scored in right}
    for a, b in zip(left, right, strict=True):
        if a.chunk == b.chunk:
            assert a._replace(score=0, keyword=None, cosine=None) == b._replace(score=0, keyword=None, cosine=None)
        elif a.chunk in by_chunk:
            assert abs(a.score - by_chunk[a.chunk].score) < TOLERANCE
        else:
            assert any(abs(a.score - score) < TOLERANCE for score in tied)


class Stores(RuleBasedStateMachine):
    holes = False  # whether the store that is compared leaves some among its ids

    def __init__(self) -> None:
        super().__init__()
        self.ram, self.store = RamStore(holes=self.holes), self.opened()
        self.uids = iter(range(1 << 40))

    @initialize(data=st.data())
    def begin_with_something(self, data) -> None:
        self.both(write_entries, data.draw(st.lists(entries(self.uids), max_size=4)))

    def both(self, what, *args, **options):
        """The answer of both to a method of a part or to a rule, or the kind of error of both."""
        answers = []
        for store in (self.ram, self.store):
            asked = attrgetter(what)(store) if isinstance(what, str) else partial(what, store)
            try:
                answers.append(asked(*args, **options))
            except Error as error:
                answers.append(type(error))
        return answers

    def same(self, what, *args, **options):
        expected, given = self.both(what, *args, **options)
        if isinstance(expected, list | tuple) and isinstance(given, list | tuple):
            expected, given = list(expected), list(given)
        assert given == expected, what
        return given

    def ids(self) -> list[MemoryId]:
        return [memory.id for memory in everything(self.ram)]

    def chunks(self) -> list[ChunkId]:
        return [chunk for id in self.ids() for chunk, _ in outline(self.ram, id)]

    def some_id(self, data) -> MemoryId:
        return data.draw(st.sampled_from([*self.ids(), MemoryId(999)]))

    def some_generation(self, data) -> int:
        return data.draw(st.sampled_from([*(generation.id for generation in self.ram.generations.every()), 99]))

    def some_lexicon(self, data) -> int:
        """Of a generation the term vectors that answer, or those beside."""
        return self.some_generation(data) * data.draw(st.sampled_from([1, 1, -1]))

    def some_entity(self, data) -> MemoryId:
        """Of others one now and then."""
        entities = [memory.id for memory in everything(self.ram) if memory.kind is Kind.ENTITY]
        return data.draw(st.sampled_from(entities)) if entities and data.draw(st.integers(0, 4)) else self.some_id(data)

    # Changes ---------------------------------------------------------------

    @rule(data=st.data())
    def save(self, data) -> None:
        self.same(write_entries, data.draw(st.lists(entries(self.uids), max_size=3)))

    @rule(data=st.data())
    def supersede(self, data) -> None:
        entry = data.draw(entries(self.uids))._replace(supersedes=self.some_id(data))
        self.same(write_entries, [data.draw(entries(self.uids)), entry])

    @rule(data=st.data())
    def descend(self, data) -> None:
        entry = data.draw(entries(self.uids))
        self.same(write_entries, [entry._replace(draft=replace(entry.draft, parent_id=self.some_id(data)))])

    @rule(data=st.data())
    def replace_one(self, data) -> None:
        id = self.some_id(data)
        old = self.ram.memories.by_id([id]).get(id)
        made = observed if old is not None and old.kind is Kind.ENTITY else entries  # nothing turns into another kind
        self.same(replace_memory, id, data.draw(made(self.uids)))
        self.same("memories.details", id)

    @rule(data=st.data())
    def delete(self, data) -> None:
        self.same(delete_memories, [self.some_id(data), self.some_id(data)])

    @rule(data=st.data(), pinned=st.booleans())
    def pin(self, data, pinned) -> None:
        self.same(pin_memories, [self.some_id(data), self.some_id(data)], START, pinned=pinned)

    @rule(data=st.data(), moment=st.integers(0, 20).map(at))
    def access(self, data, moment) -> None:
        ids = data.draw(st.lists(st.sampled_from([*self.ids(), MemoryId(999)]), max_size=3))
        self.same("memories.touch", ids, moment)
        self.same("memories.bodies", ids)
        for id in ids:
            self.same("memories.details", id)

    @rule(scope=scopes, before=st.integers(0, 10).map(at), limit=limits)
    def forget(self, scope, before, limit) -> None:
        self.same("sessions.aged", scope, before)
        self.same("sessions.aged", scope, before, limit)
        self.same(forget_aged, scope, before, limit, KEEP)

    @rule(data=st.data())
    def link(self, data) -> None:
        uids = st.sampled_from([*(memory.uid for memory in everything(self.ram)), None, "f" * 32])
        self.same("memories.by_id", [self.some_id(data), self.some_id(data)], pointing=True)
        self.same(link_memories, [Links(data.draw(uids) or "", data.draw(uids), data.draw(uids))], START)

    @rule(data=st.data())
    def save_entities(self, data) -> None:
        self.same(write_entries, data.draw(st.lists(observed(self.uids), min_size=1, max_size=3)))

    @rule(data=st.data(), size=st.integers(1, 4))
    def relate(self, data, size) -> None:
        some = [related(self.some_entity(data), self.some_entity(data), data.draw(types)) for _ in range(size)]
        self.same(join, some)
        self.same("graph.remove", [some[0]._replace(type=data.draw(types))])

    @rule(data=st.data(), size=st.integers(1, 3))
    def attach(self, data, size) -> None:
        some = [linked(self.some_entity(data), self.some_id(data), data.draw(st.integers(0, 9))) for _ in range(size)]
        self.same(join, some)
        self.same("graph.remove", [some[0]._replace(memory=self.some_id(data))])

    @rule(some=st.lists(tools, max_size=4))
    def use_tools(self, some) -> None:
        self.same("runs.log", some)

    @rule(run=runs, calls=st.booleans(), limit=limits)
    def clear_runs(self, run, calls, limit) -> None:
        self.same(clear_run, run, KEEP, calls=calls, limit=limit)

    @rule(space=st.sampled_from(SPACES), alone=st.booleans())
    def begin(self, space, alone) -> None:
        self.same("generations.begin", space, START, alone=alone)

    @rule(data=st.data())
    def set_vectors(self, data) -> None:
        generation = self.some_generation(data)
        dimension = next((g.space.dimension for g in self.ram.generations.every() if g.id == generation), 8)
        owners = data.draw(st.lists(st.sampled_from([*self.chunks(), ChunkId(999)]), max_size=4))
        rows = np.reshape([unit(data.draw(vectors), dimension) for _ in owners], (-1, dimension)).astype(np.float32)
        windows = [Window(chunk, owners[:row].count(chunk), row) for row, chunk in enumerate(owners)]
        self.same("vectors.set_vectors", generation, rows, windows)

    @rule(data=st.data(), moment=st.integers(0, 3).map(at), error=st.sampled_from(["down", "slow", "odd"]))
    def fail(self, data, moment, error) -> None:
        ids = data.draw(st.lists(st.sampled_from([*self.chunks(), ChunkId(999)]), unique=True, max_size=3))
        self.same("queue.release", ids, Failure(error, moment))

    @rule(data=st.data())
    def activate(self, data) -> None:
        active = [generation.id for generation in self.ram.generations.every() if generation.state is State.ACTIVE]
        instead_of = data.draw(st.sampled_from([*active, *active, self.some_generation(data), None]))
        former = data.draw(st.sampled_from([State.RETIRED, State.BUILDING]))
        self.same("generations.activate", self.some_generation(data), instead_of=instead_of, former=former)

    @rule(data=st.data(), numbers=vectors)
    def mark(self, data, numbers) -> None:
        generation = self.some_generation(data)
        dimension = next((g.space.dimension for g in self.ram.generations.every() if g.id == generation), 8)
        known = next((g.fingerprint for g in self.ram.generations.every() if g.id == generation), b"")
        former = data.draw(st.sampled_from([b"", known]))
        self.same("generations.mark", generation, unit(numbers, dimension).tobytes(), instead_of=former)

    @precondition(lambda self: len(self.ram.generations.every()) > 1)
    @rule(data=st.data())
    def take_vectors(self, data) -> None:
        chunks = data.draw(st.lists(st.integers(1, 40).map(ChunkId), max_size=4))
        self.same("vectors.set_vectors", self.some_generation(data), None, [Window(chunk, 0, 0) for chunk in chunks])

    @precondition(lambda self: self.ram.generations.every())
    @rule(data=st.data(), axes=st.integers(1, 2), passages=st.integers(0, 30), most=st.none() | st.integers(0, 8))
    def learn(self, data, axes, passages, most) -> None:
        generation = self.some_lexicon(data)
        dimension = next((g.space.dimension for g in self.ram.generations.every() if g.id == abs(generation)), 8)
        before = self.ram.term_vectors.learned(generation)
        if before is not None and data.draw(st.booleans()):
            axes = len(before.spread)
        elif before is not None:
            self.same("term_vectors.learn", generation, None)
        basis = np.eye(axes, dimension, dtype=np.float32) if data.draw(st.booleans()) else None
        learned = Learned(passages, passages / 32, np.full(axes, passages / 4), basis)
        held = sorted({word for piece in self.ram.data.pieces.values() for column in piece.words for word in column})
        words = data.draw(st.lists(st.sampled_from(held), max_size=8)) if held else []
        terms = [*words, *(" ".join(pair) for pair in pairwise(words))]
        codes = [
            TermVector(term, place % 3 + 1, place % 2, place / 4, place / 8, bytes(axes))
            for place, term in enumerate(dict.fromkeys(terms))
        ]
        if data.draw(st.integers(0, 9)) == 0:
            codes.append(TermVector("note", 1, 1, 1.0, 1.0, bytes(axes + 1)))
        pending = self.ram.term_vectors.pending(generation, data.draw(st.integers(0, 3)))
        chunks = {excerpt.id: tuple(terms[len(words) :]) for excerpt, _ in pending}
        self.same("term_vectors.learn", generation, learned, codes, chunks, most=most)

    @rule(data=st.data())
    def forget_what_was_learned(self, data) -> None:
        self.same("term_vectors.learn", self.some_lexicon(data), None)

    @rule(data=st.data())
    def switch(self, data) -> None:
        self.same("term_vectors.switch", self.some_generation(data))

    @rule(
        data=st.data(), limit=limits, after=st.integers(0, 9).map(ChunkId), learned=st.sampled_from([True, False, None])
    )
    def ask_for_pending(self, data, limit, after, learned) -> None:
        generation = self.some_lexicon(data)
        self.same("term_vectors.progress", generation, limit)
        expected, given = self.both("term_vectors.pending", generation, limit, after=after, learned=learned)
        if expected is given:
            return
        assert [excerpt for excerpt, _ in expected] == [excerpt for excerpt, _ in given]
        for (_, left), (_, right) in zip(expected, given, strict=True):
            assert left.tolist() == right.tolist()

    @rule(call=calls, budget=budgets)
    def reserve_call(self, call, budget) -> None:
        self.same("usage.reserve_call", call, budget)

    @rule(
        id=st.integers(0, 9),
        tokens=st.integers(0, 9),
        number=eighths,
        error=st.sampled_from(["", "slow"]),
        sent=st.booleans(),
    )
    def record_call(self, id, tokens, number, error, sent) -> None:
        self.same("usage.record_call", id, tokens=tokens, seconds=number, cost=number, error=error, sent=sent)

    @rule(some=st.lists(calls.map(lambda call: call._replace(host="")), max_size=3))
    def add_calls(self, some) -> None:
        self.same("usage.add_calls", some)

    @rule(host=hosts, until=st.none() | days.map(at), error=st.sampled_from(["", "down"]))
    def open_or_close_a_circuit(self, host, until, error) -> None:
        self.same("usage.set_circuit", host, until and OpenCircuit(host, until, error))

    @rule()
    def repair(self) -> None:
        self.same("check")
        self.same("repair")

    # Questions -------------------------------------------------------------

    @rule(said=st.lists(st.sampled_from(WORDS), max_size=4), prefix=st.booleans(), scope=scopes, k=limits)
    def search_keywords(self, said, prefix, scope, k) -> None:
        names = [Term(text, prefix, other="login", parts=(Term("auth"), Term("the"))) for text in said[2:]]
        asked = [*words(*said[:2], prefix=prefix), *names, *([Term("据", gram=True)] if prefix else [])]
        terms = self.same("keywords.weigh", asked)
        same_ranking(*self.both("keywords.by_keyword", terms, scope, k))
        same_ranking(*self.both("keywords.by_keyword", terms, scope, k, ids=self.chunks()[::2]))

    @precondition(lambda self: self.ram.generations.every())
    @rule(data=st.data(), numbers=vectors, others=vectors, scope=scopes, k=limits)
    def search_vectors(self, data, numbers, others, scope, k) -> None:
        generation = data.draw(st.sampled_from(list(self.ram.generations.every())))
        vector, other = (unit(given, generation.space.dimension) for given in (numbers, others))
        same_ranking(*self.both("vectors.by_vector", generation.id, vector, scope, k))
        expected, given = self.both(
            "vectors.cosines", generation.id, vector, self.chunks()[::2], other=other, shown=other
        )
        assert set(expected) == set(given)
        for chunk, (cosine, _, shown) in expected.items():  # the second is of either window, where two are alike
            assert abs(given[chunk][0] - cosine) < TOLERANCE
            assert abs(given[chunk][2] - shown) < TOLERANCE

    @rule(scope=scopes, size=limits, order=st.sampled_from(Order))
    def page_through(self, scope, size, order) -> None:
        page = self.same("memories.page", scope, size, order=order)
        while page:
            page = self.same("memories.page", scope, size, order=order, after=page[-1])
        self.same("memories.count", scope)
        self.same("memories.count", scope, most=size)

    @rule(size=limits, agent=agents)
    def list_sessions(self, size, agent) -> None:
        for session in (None, "s", "t", "none"):
            self.same("sessions.latest", size, id=session, agent=agent)

    @rule(data=st.data(), inside=st.booleans(), limit=limits)
    def ask_the_graph(self, data, inside, limit) -> None:
        ids = [self.some_entity(data) for _ in range(data.draw(st.integers(0, 3)))]
        self.same("graph.edges", Relation, ids, inside=inside, limit=limit)
        self.same("graph.neighbours", ids, besides=[self.some_entity(data)])
        self.same("graph.edges", Attached, [*ids, self.some_id(data)], inside=inside, limit=limit)
        self.same("graph.named", after=data.draw(names), limit=limit)
        self.same("graph.named", ["e", "é", "note"])

    @rule(run=runs, agent=agents, after=st.integers(0, 9), limit=limits)
    def list_runs(self, run, agent, after, limit) -> None:
        self.same("runs.calls", run, agent=agent, after=after, limit=limit)
        for name in (None, "r", "q", "none"):
            self.same("runs.latest", limit, id=name)

    @rule(reference=st.sampled_from(["1", "2", "999", "00000000", "00000001", "", "%"]))
    def resolve(self, reference) -> None:
        self.same("memories.resolve", reference)

    @rule(data=st.data(), active=st.booleans(), latest=st.booleans())
    def find(self, data, active, latest) -> None:
        of = [
            memory
            for id in (self.some_id(data), self.some_id(data))
            for memory in self.ram.memories.by_id([id]).values()
        ]
        sets = [("uid",), ("id",), ("kind", "query_id", "agent_id"), ("content_hash", "project"), ("title", "kind")]
        names = data.draw(st.lists(st.sampled_from(sets), min_size=len(of), max_size=len(of)))
        fields = [{name: getattr(one, name) for name in some} for one, some in zip(of, names, strict=True)]
        self.same("memories.find", [Match(one, active=active, latest=latest) for one in fields])

    @rule(data=st.data())
    def ask_what_is_known(self, data) -> None:
        self.same(known_memories, data.draw(st.lists(entries(self.uids), max_size=3)))

    @rule(data=st.data(), limit=limits)
    def ask_what_waits(self, data, limit) -> None:
        self.same("queue.waiting", limit=limit)
        self.same("queue.queued")
        self.same("queue.waiting", data.draw(st.lists(st.sampled_from([*self.ids(), MemoryId(999)]))))

    @rule(
        limit=limits,
        before=st.none() | st.integers(0, 4).map(at),
        now=st.integers(0, 4),
        span=st.integers(0, 4),
        by=st.sampled_from(["", "one", "two"]),
        data=st.data(),
    )
    def claim_and_release(self, *, limit, before, now, span, by, data) -> None:
        of = data.draw(st.none() | st.lists(st.sampled_from([*self.ids(), MemoryId(999)])))
        claimed = self.same("queue.claim", limit, before, now=at(now), until=at(now + span), by=by, of=of)
        self.same("queue.release", [excerpt.id for excerpt in claimed][::2])
        self.same("queue.claims", at(now))

    @rule(holders=st.lists(st.sampled_from(["one", "two", "nobody"]), max_size=2), now=st.integers(0, 4))
    def claims_given_up(self, holders, now) -> None:
        for claim in self.same("queue.claims", at(now)):
            if claim.holder in holders:
                self.same("queue.release", claim.chunks)
        self.same("queue.claims", at(now))

    @rule(since=st.none() | days.map(at), daily=st.booleans())
    def ask_for_the_usage(self, since, daily) -> None:
        self.same("usage.lines", since, daily=daily)

    # Always ----------------------------------------------------------------

    @invariant()
    def hold_the_same(self) -> None:
        ids = self.ids()
        self.same(everything)
        for id in ids:
            self.same("memories.outlines", [id])
        self.same("memories.excerpts", self.chunks())
        self.same("keywords.texts", self.chunks())
        assert self.store.counts()._replace(bytes=0) == self.ram.counts()

    @invariant()
    def have_the_same_graph_and_runs(self) -> None:
        for kind in (Relation, Attached):
            self.same("graph.edges", kind)
        for name in ("graph.counts", "runs.calls"):
            self.same(name)
        self.same("runs.latest", 9)

    @invariant()
    def know_the_same_words_and_only_such_as_a_chunk_holds(self) -> None:
        held = {word for piece in self.ram.data.pieces.values() for column in piece.words for word in column}
        said = {pair for own in self.ram.data.pairs.values() for pair in own}
        for generation in self.ram.generations.every():
            self.same("generations.size", generation.id)
            for lexicon in (generation.id, -generation.id):
                self.same("term_vectors.asked", lexicon)
                left, right = self.both("term_vectors.learned", lexicon)
                assert left is right is None or numbers(left) == numbers(right)
                every = [term for own, term in self.ram.data.term_vectors if own == lexicon]
                assert left is not None or not every
                self.same("term_vectors.of_terms", lexicon, every)
                self.same("term_vectors.of_terms", lexicon, None)
                self.same("term_vectors.of_terms", lexicon, sorted(said), once=True)
                assert all(held.issuperset(term.split(" ")) for term in every)

    @invariant()
    def have_the_same_usage(self) -> None:
        self.same("usage.lines")
        for host in ("a", "b"):
            self.same("usage.circuit", host)

    @invariant()
    def have_the_same_vectors(self) -> None:
        for generation in self.same("generations.every"):
            self.same("vectors.pending", generation.id, ChunkId(0), 1000)
            (expected, many), (given, count) = self.both("generations.centre", generation.id)
            assert many == count
            np.testing.assert_allclose(given, expected, atol=1e-9)

    def opened(self) -> Store:
        """The store that is compared."""
        self.folder = Path(tempfile.mkdtemp())
        return new(self.folder)

    def teardown(self) -> None:
        sound(self.folder / "memory.db")
        self.store.close()
        shutil.rmtree(self.folder)


class Servers(Stores):
    holes = True

    def opened(self) -> Store:
        self.server = postgres.opened()
        return self.server.__enter__()

    def teardown(self) -> None:
        self.server.__exit__(None, None, None)


TestStores = Stores.TestCase
TestStores.settings = examples(0.4, stateful_step_count=35, suppress_health_check=list(HealthCheck))

if postgres.URL:  # `make test-postgres`
    TestServers = Servers.TestCase
    TestServers.settings = TestStores.settings
