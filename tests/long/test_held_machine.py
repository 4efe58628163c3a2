"""What a process holds of the vectors is what the database has, whatever it and others did since."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import apsw
import numpy as np
from entries import OTHER, SPACE, START, at, directions, embedded, note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from profiles import examples

from memory.keep.rules import delete_memories, replace_memory, write_entries
from memory.schema.errors import NotFound
from memory.schema.memory import ChunkId
from memory.schema.query import ACTIVE, EVERYTHING, Scope
from memory.schema.space import Window
from memory.store.narrow import widened
from memory.store.sqlite import SqliteStore, derived, signatures
from memory.store.sqlite.held import VectorTable

MANY = 40  # of fewer, no search asks what is held
seeds = st.integers(0, 1 << 30)
picks = st.lists(st.integers(0, MANY), min_size=1, max_size=6)
others = st.booleans()
IN_P = Scope(projects=frozenset({"p"}))


class Undone(Exception):
    """A transaction is not to be kept."""


def rows_of(held):
    rows = zip(held.chunks.tolist(), held.memories.tolist(), held.rows, strict=True)
    return sorted((chunk, memory, bytes(row)) for chunk, memory, row in rows if chunk)


def signed(held):
    file = held.file
    there = np.ones(len(file.chunks), bool) if file.there is None else file.there
    return list(zip(file.chunks[there].tolist(), file.memories[there].tolist(), strict=True))


class Holding(RuleBasedStateMachine):
    """Two open stores of one file: `mine` holds vectors, and both write."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "memory.db"
        self.stores = [SqliteStore(self.path), SqliteStore(self.path)]
        self.mine = self.stores[0]
        self.held = self.signed = 0
        self.add(self.mine, MANY, 1)
        self.ask(2)

    def add(self, store, count, seed):
        rows = directions(count, seed)
        names = [None, "p", "q"]
        write_entries(
            store,
            [
                note(f"{seed} {i}", project=names[i % 3], embedded=embedded([rows[i]], space=self.space))
                for i in range(count)
            ],
        )

    @property
    def space(self):
        found = self.mine.generations.active()
        return SPACE if found is None else found.space

    @property
    def generation(self):
        return self.mine.generations.active().id

    def ids(self, table="memories"):
        with self.mine.snapshot() as db:
            return [id for (id,) in db.execute(f"select id from {table} order by id")]

    def picked(self, numbers, table="memories"):
        ids = self.ids(table)
        return list(dict.fromkeys(ids[number % len(ids)] for number in numbers)) if ids else []

    # What may happen -----------------------------------------------------

    @rule(other=others, count=st.integers(1, 5), seed=seeds)
    def save(self, other, count, seed):
        self.add(self.stores[other], count, seed)

    @rule(other=others)
    def save_without_vectors(self, other):
        write_entries(self.stores[other], [note("waits")])

    @rule(other=others, numbers=picks, seed=seeds)
    def refill(self, other, numbers, seed):
        chunks = self.picked(numbers, "chunks")
        windows = [Window(ChunkId(id), 0, row) for row, id in enumerate(chunks)]
        windows += [Window(ChunkId(id), 1, len(chunks) + row) for row, id in enumerate(chunks[:2])]
        self.stores[other].vectors.set_vectors(self.generation, directions(len(windows), seed), windows)

    @rule(other=others, numbers=picks)
    def empty(self, other, numbers):
        chunks = [Window(ChunkId(id), 0, 0) for id in self.picked(numbers, "chunks")]
        self.stores[other].vectors.set_vectors(self.generation, None, chunks)

    @rule(other=others, numbers=picks)
    def delete(self, other, numbers):
        delete_memories(self.stores[other], self.picked(numbers))

    @rule(other=others)
    def delete_the_last(self, other):
        delete_memories(self.stores[other], self.ids()[-3:])

    @rule(other=others, numbers=picks, seed=seeds)
    def update(self, other, numbers, seed):
        store = self.stores[other]
        for id in self.picked(numbers[:2]):
            made = embedded(directions(1, seed + id), space=self.space)
            replace_memory(store, id, note(f"other {seed} {id}", embedded=made, moment=at(9)))

    @rule(other=others, seed=seeds, to=st.sampled_from([SPACE, OTHER]))
    def reindex(self, other, seed, to):
        store = self.stores[other]
        former = self.generation
        new = store.generations.begin(to, START).id
        chunks = self.ids("chunks")
        if chunks and new != former:
            windows = [Window(ChunkId(id), 0, row) for row, id in enumerate(chunks)]
            store.vectors.set_vectors(new, directions(len(chunks), seed), windows)
        store.generations.activate(new, instead_of=former)

    @rule(seed=seeds)
    def another_fingerprint(self, seed):
        one, two = (directions(1, seed + more).tobytes() for more in (0, 1))
        for now in (one, two):
            before = next(found.fingerprint for found in self.mine.generations.every() if found.id == self.generation)
            self.mine.generations.mark(self.generation, now, instead_of=before)

    @rule(other=others)
    def repair(self, other):
        self.stores[other].repair()

    @rule()
    def vacuum(self):
        db = apsw.Connection(str(self.path))
        db.execute("vacuum")
        db.close()

    @rule(numbers=picks, seed=seeds)
    def begin_and_undo(self, numbers, seed):
        """And search meanwhile, which sees what is undone."""
        with suppress(Undone), self.mine.transaction():
            self.delete(False, numbers)
            self.add(self.mine, 2, seed)
            self.compared(seed)
            raise Undone

    @rule(seed=seeds, scope=st.sampled_from([EVERYTHING, ACTIVE, IN_P]))
    def ask(self, seed, scope=EVERYTHING):
        for _ in range(2):
            self.compared(seed, scope)

    # What holds ----------------------------------------------------------

    def compared(self, seed, scope=EVERYTHING):
        vector = directions(1, seed)[0]
        try:
            found = self.mine.vectors.by_vector(self.generation, vector, scope, 3)
        except NotFound:
            return
        if self.mine.vectors._db.local.open is None:
            fresh = SqliteStore(self.path, exact=True)
            assert found == fresh.vectors.by_vector(self.generation, vector, scope, 3)
            asked = [
                (store.vectors.cosines(self.generation, vector, range(1, 2 * MANY))) for store in (self.mine, fresh)
            ]
            assert asked[0] == asked[1]
            fresh.close()

    @invariant()
    def what_is_held_is_what_there_is(self):
        if self.mine.vectors._matrix._held is None:
            return
        with self.mine.snapshot() as db:
            matrix = self.mine.vectors._matrix
            held = matrix._current(db, matrix.moment(db, self.generation))
            if held is None:
                return
            wanted = f"select v.chunk_id, c.memory_id, v.embedding from vectors_{self.generation} v"
            rows = db.execute(f"{wanted} join chunks c on c.id = v.chunk_id").fetchall()
            there = sorted((*ids, widened(embedding, SPACE.dimension).tobytes()) for *ids, embedding in rows)
            if isinstance(held, VectorTable):
                assert rows_of(held) == there
            else:
                newer = rows_of(held.newer)
                assert sorted(signed(held) + [row[:2] for row in newer]) == [row[:2] for row in there]
                assert set(newer) <= set(there)
                self.signed += 1
            self.held += 1

    def teardown(self):
        for store in self.stores:
            store.close()
        shutil.rmtree(self.folder)


class Signing(Holding):
    """The same of vectors that have signatures: of so few, all are compared exactly in the end."""

    def __init__(self):
        self.before, signatures.FROM = signatures.FROM, MANY // 2
        super().__init__()
        self.sign(True)
        self.ask(2)

    @rule(other=others)
    def sign(self, other):
        self.stores[other].vectors.sign()

    @rule(other=others)
    def wipe(self, other):
        self.stores[other].wipe()

    @rule(at=st.integers(0, 1 << 16))
    def damage(self, at):
        for file in derived.files(str(self.path), signatures.NAME):
            content = bytearray(file.read_bytes())
            content[at % len(content)] ^= 255
            file.unlink()  # whoever mapped it continues, as it was
            file.write_bytes(content)

    def teardown(self):
        super().teardown()
        signatures.FROM = self.before


TestHolding, TestSigning = Holding.TestCase, Signing.TestCase
TestHolding.settings = TestSigning.settings = examples(1, stateful_step_count=25)


def test_one_copy_lives_through_what_others_write():
    """It is read once, and then only brought up to date."""
    machine = Holding()
    first = machine.mine.vectors._matrix._held[1].room
    machine.save(True, 3, 5)
    machine.refill(True, [1, 2], 6)
    machine.delete(True, [7])
    machine.update(False, [9], 8)
    machine.delete_the_last(True)
    machine.save(True, 2, 9)
    machine.what_is_held_is_what_there_is()

    assert machine.held == 1
    assert machine.mine.vectors._matrix._held[1].room is first
    assert np.count_nonzero(machine.mine.vectors._matrix._held[1].chunks == 0) == 4
    machine.teardown()


def test_what_is_newer_than_the_signatures_is_held_beside_them():
    machine = Signing()
    machine.save(True, 2, 5)
    machine.refill(True, [1], 6)
    machine.delete(True, [7])
    machine.what_is_held_is_what_there_is()

    held = machine.mine.vectors._matrix._held[1]
    assert machine.signed == 1
    assert (held.file.alive, held.newer.alive) == (MANY - 2, 4)
    machine.teardown()
