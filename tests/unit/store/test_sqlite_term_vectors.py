"""Term vectors in SQLite: what is read, what another process sees, and what a repair does."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from string import ascii_lowercase
from typing import TYPE_CHECKING

import apsw
import pytest
from entries import SPACE, START, emptied, note
from plans import statements, steps
from sound import sound
from term_vectors_suite import known, learn, pending, same, term_vector

from memory import Config, Draft, Engine
from memory.keep.rules import delete_memories, replace_memory, write_entries
from memory.schema.memory import ChunkId, MemoryId
from memory.store import HEARD, UNAIDED
from memory.store.sqlite import SqliteStore
from memory.store.term_vectors import TRIMMED
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a memory and term vectors of it."""
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        write_entries(store, [note("zebra giraffe")])
        store.generations.begin(SPACE, START)
        learn(store, "zebra", "zebra giraff")
    return path


CALLS: dict[str, Callable[[SqliteStore], object]] = {
    "learned": lambda store: store.term_vectors.learned(1),
    "asked": lambda store: store.term_vectors.asked(1),
    "of_terms": lambda store: store.term_vectors.of_terms(1, ["zebra", "lion"]),
    "said once": lambda store: store.term_vectors.of_terms(1, ["a b"], once=True),
    "pending": lambda store: store.term_vectors.pending(1, 5),
    "learn": lambda store: learn(store, "zebra", chunks={ChunkId(1): ["a b"]}, most=9),
    "answering": lambda store: store.generations.answering(),
    "texts": lambda store: store.keywords.texts([ChunkId(1)]),
    "delete": lambda store: delete_memories(store, [MemoryId(1)]),
    "replace": lambda store: replace_memory(store, MemoryId(1), note("lion")),
}


def test_a_save_that_learns_of_many_terms_finds_its_statements_prepared(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        engine = Engine(store, Config(), embedder=HashedEmbedder(64), lasting=False)
        note = Draft(title="a", what=" ".join(a + b for a in ascii_lowercase[:10] for b in ascii_lowercase[10:20]))
        for number in range(6):
            engine.save(replace(note, title=str(number)))
        with store.snapshot() as db:
            before = db.cache_stats()["misses"]

        engine.save(replace(note, title="again"))

        with store.snapshot() as db:
            assert db.cache_stats()["misses"] == before


def test_pairs_that_are_not_known_any_more_are_taken_away_in_the_end(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        ids = write_entries(store, [note(f"zebra {number}") for number in range(HEARD + 2 * TRIMMED)])
        store.generations.begin(SPACE, START)

        for passages in range(1, len(ids) + 1):
            chunks = {ChunkId(passages): [f"zebra {passages}"]}
            store.term_vectors.learn(1, pending(passages), [term_vector("zebra")], chunks)

        with store.snapshot() as db:
            assert HEARD <= db.execute("select count(*) from lexicon_pairs").get < HEARD + TRIMMED
        said = [f"zebra {passages}" for passages in range(1, len(ids) + 1)]
        assert list(store.term_vectors.of_terms(1, said, once=True)) == said[-HEARD:]


def test_what_another_process_did_to_terms_between_two_pages_is_seen(path: Path) -> None:
    with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as other:
        store.term_vectors.of_terms(1, ["zebra", "zebra giraff"], once=True)  # it remembers where they stand
        other.term_vectors.learn(1, None)
        learn(other, "giraff", "zebra")

        learn(store, "zebra giraff", "zebra", passages=8)

        assert sorted(store.term_vectors.of_terms(1, None)) == ["giraff", "zebra", "zebra giraff"]
        assert store.check() == ()


@pytest.mark.parametrize("name", CALLS)
def test_sqlite_reads_no_table_from_end_to_end(path: Path, name: str) -> None:
    with closing(SqliteStore(path)) as store:
        found = steps(store, lambda: CALLS[name](store))

    tables = ("lexicon_terms", "t ", "chunks", "c ", "memories", "m ", "bodies", "b ", "vectors_1", "passages")
    assert [step for step in found if step.startswith("SEARCH")]
    assert not [step for step in found if step.startswith("SCAN") and step.removeprefix("SCAN ").startswith(tables)]


def test_words_are_looked_up_by_what_terms_begin_with_and_all_others_are_passed_once(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        found = [step.split(" <- ")[0] for step in steps(store, lambda: delete_memories(store, [MemoryId(1)]))]

    assert {step for step in found if step.startswith("SEARCH t ")} == {
        "SEARCH t USING COVERING INDEX sqlite_autoindex_lexicon_terms_1 (generation=? AND term=?)",
        "SEARCH t USING COVERING INDEX sqlite_autoindex_lexicon_terms_1 (generation=? AND term>? AND term<?)",
        "SEARCH t USING COVERING INDEX sqlite_autoindex_lexicon_terms_1 (generation=?)",
    }
    assert (
        "SEARCH lexicon_terms USING COVERING INDEX sqlite_autoindex_lexicon_terms_1 (generation=? AND term=?)" in found
    )


@pytest.mark.parametrize("learned", [False, True])
def test_a_store_without_term_vectors_asks_once_and_does_nothing_more(path: Path, *, learned: bool) -> None:
    with closing(SqliteStore(path)) as store:
        if not learned:
            emptied(store, 1)

        told = [sql for sql, _ in statements(store, lambda: delete_memories(store, [MemoryId(1)]))]

    assert len([sql for sql in told if "lexicon" in sql]) == (4 if learned else 1)


def test_a_save_knows_nothing_of_term_vectors(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        told = [sql for sql, _ in statements(store, lambda: write_entries(store, [note("lion")]))]

    assert not [sql for sql in told if "lexicon" in sql]


def test_what_was_learned_is_there_after_opening_again(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        assert same(store.term_vectors.learned(1), pending())
        assert store.term_vectors.of_terms(1, ["zebra"]) == {"zebra": term_vector("zebra")}
    sound(path)


def test_another_process_forgets_and_learns(path: Path) -> None:
    with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as other:
        learn(other, "giraff", passages=8)
        assert same(store.term_vectors.learned(1), pending(8))
        delete_memories(other, [MemoryId(1)])

        assert known(store, "zebra", "giraff") == []


DAMAGE = {
    "1 row of lexicons belong to something that is gone": "update lexicons set generation = 9; "
    "update lexicon_terms set generation = 9",
    "2 rows of lexicon_terms belong to something that is gone": "delete from lexicons",
    "the term vectors of index version 1 has codes or a basis of another length": "update lexicon_terms set code = x'00' "
    "where term = 'zebra'",
    "the term vectors of index version 1 has codes or a basis of another length ": "update lexicon_axes set basis = x'00'",
    "the term vectors of index version 1 has codes or a basis of another length  ": "delete from lexicon_axes",
    "the term vectors of index version 1 has codes or a basis of another length   ": "update lexicons set spread = x'00'",
    "the term vectors of index version 1 has miscounted its terms": "update lexicons set terms = 9",
    "the term vectors of index version 1 knows a word that no chunk holds": "update lexicon_terms set term = 'lion' "
    "where term = 'zebra'",
    "the term vectors of index version 1 knows a word that no chunk holds ": "update lexicon_terms set term = 'zebra lion' "
    "where term = 'zebra giraff'",
    "the term vectors of index version 1 knows a word that no chunk holds  ": "update lexicon_terms set term = 'lion zebra' "
    "where term = 'zebra giraff'",
}


@pytest.mark.parametrize("fault", DAMAGE)
def test_wrong_term_vectors_are_said_and_removed(path: Path, fault: str) -> None:
    with closing(apsw.Connection(str(path))) as db:  # foreign keys are off, as in the shell of SQLite
        db.execute(DAMAGE[fault])

    with closing(SqliteStore(path)) as store:
        assert fault.strip() in store.check()
        store.repair()
        assert store.check() == ()
        assert (store.term_vectors.learned(1), store.generations.size(1).terms) == (None, 0)
    sound(path)


def test_a_repair_leaves_sound_term_vectors(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.repair()

        assert known(store, "zebra", "zebra giraff") == ["zebra", "zebra giraff"]


def test_many_terms_at_once_are_counted(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        terms = [f"w{number}" for number in range(3000)]
        learn(store, *terms)
        assert store.term_vectors.progress(1).terms == 3002

        learn(store, "w7", "lion", most=1000)
        assert store.term_vectors.progress(1).terms == len(store.term_vectors.of_terms(1, None)) == 900

        learn(store, "tiger")
        assert store.term_vectors.progress(1).terms == len(store.term_vectors.of_terms(1, None)) == 901


def test_chunks_that_another_program_orphaned_take_all_that_was_learned_along(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        write_entries(store, [note("giraffe or zebra")])  # both words stay
    with closing(apsw.Connection(str(path))) as db:
        db.execute("drop trigger memory_removed; delete from memories where id = 1")

    with closing(SqliteStore(path)) as store:
        store.repair()

        assert store.check() == ()
        assert store.term_vectors.learned(1) is None


def test_which_generation_answers_is_read_without_an_index_that_may_be_damaged(path: Path) -> None:
    """A search asks it first: it must not fail for a page that no other part of it reads."""
    with closing(SqliteStore(path)) as store:
        learn(store, passages=UNAIDED)
    with closing(apsw.Connection(str(path))) as db:
        root = db.execute("select rootpage from sqlite_schema where name = 'one_generation_a_state'").get
        size = db.pragma("page_size")
    content = bytearray(path.read_bytes())
    content[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(content)

    with closing(SqliteStore(path)) as store:
        generation, fit = store.generations.answering()

    assert (generation, fit is None) == (1, False)
