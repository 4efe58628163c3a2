"""What every store promises of term vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from entries import BEYOND, OTHER, SPACE, START, at, directions, embedded, emptied, heads, kept, note, outline
from runs_suite import finding

from memory.schema.errors import Invalid, NotFound
from memory.schema.memory import ChunkId
from memory.schema.query import EVERYTHING
from memory.schema.space import Window
from memory.store import Learned, TermVector
from memory.store.vectors import REACH
from memory.write.rules import clear_run, delete_memories, forget_aged, replace_memory, write_entries

if TYPE_CHECKING:
    from memory.store import Store

AXES = 3


def lesson(moment: float = 0, /, **said: Any) -> Learned:
    """What was learned so many seconds after the start."""
    return Learned(7, ChunkId(9), 0.625, at(moment), np.eye(AXES, SPACE.dimension, dtype=np.float32))._replace(**said)


def term_vector(term: str, *code: int) -> TermVector:
    numbers = np.asarray(code or (1, -2, 127), np.int8)
    return TermVector(term, len(term) / 8, numbers.tobytes())


def learn(store: Store, *terms: str, generation: int = 1, moment: float = 0) -> Learned:
    """Have these terms learned in place of what was known before."""
    made = lesson(moment)
    before = store.term_vectors.learned(generation)
    assert store.term_vectors.learn(generation, made, [term_vector(term) for term in terms], instead_of=before)
    return made


def same(one: Learned | None, other: Learned) -> bool:
    return one is not None and one[:-1] == other[:-1] and one.basis.tolist() == other.basis.tolist()


def known(store: Store, *terms: str, generation: int = 1) -> list[str]:
    return sorted(store.term_vectors.of_terms(generation, terms))


class Learning:
    def test_what_was_learned_comes_back(self, store: Store) -> None:
        kept(store, note("zebra giraffe 数据 café"))
        generation = store.generations.begin(SPACE, START).id
        basis = directions(2)
        made = lesson(1.5, basis=basis)
        term_vectors = [
            term_vector("giraff", -128, 127),
            term_vector("zebra giraff", 0, 0),
            term_vector("cafe", 1, 2),
            term_vector("数据", 5, 5),
        ]

        assert store.term_vectors.learn(generation, made, term_vectors, instead_of=None)

        found = store.term_vectors.learned(generation)
        assert same(found, made)
        assert (found.basis.dtype, found.basis.shape) == (np.float32, (2, SPACE.dimension))
        asked = [one.term for one in term_vectors]
        assert store.term_vectors.of_terms(generation, [*asked, "zebra", "giraff ", "", asked[0]]) == {
            one.term: one for one in term_vectors
        }
        assert store.generations.size(generation).terms == 4
        assert store.term_vectors.of_terms(generation, []) == {}

    def test_a_generation_without_one_and_one_that_is_gone(self, store: Store) -> None:
        generation = store.generations.begin(SPACE, START).id

        for id in (generation, 99, BEYOND):
            assert store.term_vectors.learned(id) is None
            assert store.term_vectors.of_terms(id, ["a"]) == {}
            assert store.generations.size(id).terms == 0
        for id in (99, BEYOND):
            assert not store.term_vectors.learn(id, lesson(), [], instead_of=None)

    def test_learning_again_takes_the_place_of_all_that_was_known(self, store: Store) -> None:
        kept(store, note("zebra giraffe"))
        store.generations.begin(SPACE, START)
        learn(store, "zebra", "giraff")

        again = learn(store, "zebra", moment=1)

        assert same(store.term_vectors.learned(1), again)
        assert known(store, "zebra", "giraff") == ["zebra"]

    def test_who_learned_meanwhile_wins(self, store: Store) -> None:
        kept(store, note("zebra giraffe"))
        store.generations.begin(SPACE, START)
        first = learn(store, "zebra")
        second = learn(store, "zebra", "giraff", moment=1)

        for late in (first, None):
            assert not store.term_vectors.learn(1, lesson(2), [], instead_of=late)
        assert same(store.term_vectors.learned(1), second)
        assert store.generations.size(1).terms == 2

        emptied(store, 1)
        assert not store.term_vectors.learn(1, lesson(2), [], instead_of=second)
        assert store.term_vectors.learned(1) is None

    @pytest.mark.parametrize("length", [0, AXES - 1, AXES + 1])
    def test_a_code_is_as_long_as_there_are_axes(self, store: Store, length: int) -> None:
        kept(store, note("zebra giraffe"))
        store.generations.begin(SPACE, START)
        learn(store, "zebra")

        with pytest.raises(Invalid, match="code"):
            store.term_vectors.learn(
                1, lesson(1), [term_vector("giraff"), TermVector("zebra", 1.0, b"x" * length)], instead_of=lesson()
            )

        assert same(store.term_vectors.learned(1), lesson())
        assert known(store, "zebra", "giraff") == ["zebra"]

    def test_a_basis_is_as_wide_as_the_vectors(self, store: Store) -> None:
        store.generations.begin(SPACE, START)

        with pytest.raises(Invalid, match="numbers"):
            store.term_vectors.learn(1, lesson(basis=np.eye(AXES, dtype=np.float32)), [], instead_of=None)

        assert store.term_vectors.learned(1) is None

    def test_each_generation_has_its_own(self, store: Store) -> None:
        kept(store, note("zebra giraffe"))
        store.generations.begin(SPACE, START)
        store.generations.begin(OTHER, START)
        learn(store, "zebra")
        learn(store, "giraff", generation=2, moment=1)

        assert (known(store, "zebra", "giraff"), known(store, "zebra", "giraff", generation=2)) == (
            ["zebra"],
            ["giraff"],
        )
        emptied(store, 1)
        assert (store.term_vectors.learned(1), store.generations.size(1).terms) == (None, 0)
        assert same(store.term_vectors.learned(2), lesson(1))
        assert store.generations.size(2).terms == 1

    def test_a_generation_takes_its_term_vectors_along(self, store: Store) -> None:
        kept(store, note("zebra"))
        store.generations.begin(SPACE, START)
        store.generations.begin(OTHER, START)
        learn(store, "zebra")
        learn(store, "zebra", generation=2)

        store.generations.begin(OTHER._replace(model="third"), START)
        assert (store.term_vectors.learned(2), store.generations.size(2).terms) == (None, 0)
        emptied(store, 1)
        assert (store.term_vectors.learned(1), store.generations.size(1).terms) == (None, 0)
        learn(store, "zebra")

    def test_a_retired_generation_keeps_its_term_vectors(self, store: Store) -> None:
        kept(store, note("zebra"))
        store.generations.begin(SPACE, START)
        store.generations.begin(OTHER, START)
        learn(store, "zebra")

        store.generations.activate(2, instead_of=1)

        assert known(store, "zebra") == ["zebra"]


class Lessons:
    def test_lessons_are_the_chunks_with_vectors_and_these(self, store: Store) -> None:
        vectors = directions(4)
        ids = kept(
            store,
            note("one", body="abcd", size=2, embedded=embedded(vectors[:3], [0, 0, 2])),
            note("two"),
            note("three", embedded=embedded(vectors[3:])),
        )
        pieces = [chunk for chunk, _ in outline(store, ids[0])]
        expected = {pieces[0]: vectors[:2], pieces[2]: vectors[2:3], heads(store, ids[2])[0]: vectors[3:]}

        lessons = store.term_vectors.lessons(1, ChunkId(0), 100)

        assert [excerpt.id for excerpt, _ in lessons] == sorted(expected)
        for excerpt, own in lessons:
            assert excerpt == store.memories.excerpts([excerpt.id])[excerpt.id]
            assert (own.dtype, own.tolist()) == (np.float32, expected[excerpt.id].tolist())

    def test_lessons_come_a_page_at_a_time(self, store: Store) -> None:
        kept(store, *(note(f"n{n}", embedded=embedded(directions(2, n), [0, 0])) for n in range(5)))
        every = [excerpt.id for excerpt, _ in store.term_vectors.lessons(1, ChunkId(0), 100)]

        assert len(every) == 5
        for limit in (1, 2, 5):
            after, found = ChunkId(0), []
            while page := store.term_vectors.lessons(1, after, limit):
                assert len(page) <= limit
                found += [excerpt.id for excerpt, _ in page]
                after = found[-1]
            assert found == every

    def test_windows_come_in_their_order(self, store: Store) -> None:
        id = kept(store, note())[0]
        (chunk,) = heads(store, id)
        store.generations.begin(SPACE, START)
        store.vectors.set_vectors(1, directions(3), [Window(chunk, 2, 0), Window(chunk, 0, 1), Window(chunk, 1, 2)])

        ((_, vectors),) = store.term_vectors.lessons(1, ChunkId(0), 1)

        assert vectors.tolist() == directions(3)[[1, 2, 0]].tolist()

    def test_there_may_be_none(self, store: Store) -> None:
        kept(store, note())
        store.generations.begin(SPACE, START)

        assert list(store.term_vectors.lessons(1, ChunkId(0), 5)) == []
        for gone in (2, BEYOND):
            with pytest.raises(NotFound):
                store.term_vectors.lessons(gone, ChunkId(0), 5)


class Forgetting:
    """Nothing of what was removed stays in term vectors."""

    TERMS = ("zebra", "giraff", "zebra giraff", "giraff lion", "lion", "lion zebra")

    def taught(self, store: Store) -> None:
        """Two memories that share words, and all there is to know of them."""
        kept(store, note("zebra giraffes"), note("giraffe lion"))
        store.generations.begin(SPACE, START)
        learn(store, *self.TERMS)

    def test_words_that_nobody_says_any_more_are_forgotten_with_all_that_holds_them(self, store: Store) -> None:
        self.taught(store)
        assert known(store, *self.TERMS) == sorted(self.TERMS)

        delete_memories(store, [1])

        assert known(store, *self.TERMS) == ["giraff", "giraff lion", "lion"]
        assert same(store.term_vectors.learned(1), lesson())

    def test_what_a_replacement_says_again_is_known_but_for_pairs(self, store: Store) -> None:
        self.taught(store)

        replace_memory(store, 1, note("zebra and giraffe", moment=at(1)))
        assert known(store, *self.TERMS) == sorted({*self.TERMS} - {"zebra giraff"})

        replace_memory(store, 2, note("lion", moment=at(1)))
        assert known(store, *self.TERMS) == ["giraff", "lion", "lion zebra", "zebra"]

        replace_memory(store, 1, note("nothing", moment=at(2)))
        assert known(store, *self.TERMS) == ["lion"]

    def test_of_every_generation(self, store: Store) -> None:
        self.taught(store)
        store.generations.begin(OTHER, START)
        learn(store, *self.TERMS, generation=2)

        delete_memories(store, [2])

        for generation in (1, 2):
            assert known(store, *self.TERMS, generation=generation) == ["giraff", "zebra", "zebra giraff"]

    def test_whatever_removes_a_memory(self, store: Store) -> None:
        kept(store, note("rhino", session_id="s"), finding("hippo"), note("zebra"))
        store.generations.begin(SPACE, START)
        learn(store, "rhino", "hippo", "zebra")

        forget_aged(store, EVERYTHING._replace(sessions=frozenset({"s"})), at(1), 10)
        assert known(store, "rhino", "hippo", "zebra") == ["hippo", "zebra"]
        clear_run(store, "r")
        assert known(store, "rhino", "hippo", "zebra") == ["zebra"]

    def test_words_of_every_field_count(self, store: Store) -> None:
        fields = {"why": "b", "impact": "c", "category": "bug", "project": "e", "source": "f"}
        one = note("g", title="a", body="数据", tags=("h",), related_files=("i",), **fields)
        kept(store, one._replace(grams=(one.grams[0], "部件")), note("last", title="a"))
        store.generations.begin(SPACE, START)
        terms = [*"abcefghi", "bug", "guid", "setup", "数据", "部件", "last"]
        learn(store, *terms)
        assert known(store, *terms) == sorted(terms)

        delete_memories(store, [1])

        assert known(store, *terms) == ["a", "last"]

    def test_two_words_stand_together_that_are_near_or_at_the_ends_of_fields(self, store: Store) -> None:
        between = " ".join(["of"] * (REACH - 1))
        id = kept(store, note(f"ant bee fox {between} cat", title="dog", why="elk"))[0]
        kept(store, note("ant bee cat dog elk fox of"))
        store.generations.begin(SPACE, START)
        within = "ant bee, ant of, bee of, of cat, fox cat".split(", ")
        across = "dog ant, dog bee, cat dog, cat elk, elk ant, dog elk".split(", ")
        stay = "ant cat, bee cat, bee ant, cat bee, fox bee, bee elk, cat ant, ant, bee, cat, dog, elk, of".split(", ")
        learn(store, *within, *across, *stay)

        delete_memories(store, [id])

        assert known(store, *within, *across, *stay) == sorted(stay)

    def test_what_nobody_says_is_not_learned(self, store: Store) -> None:
        kept(store, note("zebra giraffe"))
        store.generations.begin(SPACE, START)

        learn(store, "zebra", "lion", "zebra lion", "lion zebra", "lion lion", "giraff zebra", "", " ", "zebra ")

        assert known(store, "zebra", "lion", "zebra lion", "lion zebra", "lion lion", "giraff zebra") == [
            "giraff zebra",
            "zebra",
        ]
        assert store.generations.size(1).terms == 2

    def test_words_that_come_again_are_not_known_again(self, store: Store) -> None:
        self.taught(store)
        delete_memories(store, [1])

        kept(store, note("zebra"))

        assert known(store, "zebra") == []

    def test_what_fails_forgets_nothing(self, store: Store) -> None:
        self.taught(store)

        with pytest.raises(NotFound):
            write_entries(store, [note("lion")._replace(renews=("title",)), note(supersedes=99)])

        assert known(store, *self.TERMS) == sorted(self.TERMS)


class TermVectorsSuite(Learning, Lessons, Forgetting):
    """All of them."""
