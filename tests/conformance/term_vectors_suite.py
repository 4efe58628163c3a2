"""What every store promises of term vectors."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from entries import BEYOND, KEEP, OTHER, SPACE, START, at, directions, embedded, emptied, heads, kept, note, outline
from runs_suite import finding

from memory.keep.removing import clear_run, forget_aged
from memory.keep.rules import delete_memories, replace_memory, write_entries
from memory.schema.errors import Invalid, NotFound
from memory.schema.memory import ChunkId
from memory.schema.query import EVERYTHING
from memory.schema.space import Window
from memory.store import HEARD, LEAST, UNAIDED, Learned, LearningState, Prior, TermVector
from memory.store.learned import REACH

if TYPE_CHECKING:
    from memory.store import Store

AXES = 3


def pending(passages: int = 7, /, **said: Any) -> Learned:
    """What term vectors that learned from so many passages have in common."""
    basis = np.eye(AXES, SPACE.dimension, dtype=np.float32)
    return Learned(passages, 0.625, np.arange(AXES) / 2, basis)._replace(**said)


def term_vector(term: str, *code: int, **said: Any) -> TermVector:
    numbers = np.asarray(code or (1, -2, 127), np.int8)
    return TermVector(term, len(term), 3, 0.5, len(term) / 8, numbers.tobytes())._replace(**said)


def learn(store: Store, *terms: str, generation: int = 1, passages: int = 7, **said: Any) -> Learned:
    """Have these terms learned beside what is known."""
    made = pending(passages)
    store.term_vectors.learn(generation, made, [term_vector(term) for term in terms], **said)
    return made


def same(one: Learned | None, other: Learned) -> bool:
    return one is not None and numbers(one) == numbers(other)


def numbers(one: Learned) -> tuple[Any, ...]:
    """All of it, to be compared."""
    return one[:2], one.spread.tolist(), None if one.basis is None else one.basis.tolist()


def known(store: Store, *terms: str, generation: int = 1) -> list[str]:
    return sorted(store.term_vectors.of_terms(generation, terms))


def waiting(store: Store, generation: int = 1, **said: Any) -> list[int]:
    """The chunks that are pending."""
    return [excerpt.id for excerpt, _ in store.term_vectors.pending(generation, 100, **said)]


class Learning:
    def test_what_was_learned_comes_back(self, store: Store) -> None:
        kept(store, note("zebra giraffe 数据 café"))
        generation = store.generations.begin(SPACE, START).id
        prior = Prior(14_000, -1 / 3, 1e300)
        made = pending(spread=np.array([0.1, 1e300]), basis=directions(2), prior=prior)
        term_vectors = [
            term_vector("giraff", -128, 127, met=1 / 3),
            term_vector("zebra giraff", 0, 0, scale=1e-12),
            term_vector("cafe", 1, 2),
            term_vector("数据", 5, 5),
        ]

        store.term_vectors.learn(generation, made, term_vectors)

        found = store.term_vectors.learned(generation)
        assert same(found, made)
        assert found.prior == prior
        assert (found.basis.dtype, found.basis.shape) == (np.float32, (2, SPACE.dimension))
        asked = store.term_vectors.asked(generation)
        assert (asked.passages, asked.spread.tolist()) == (found.passages, found.spread.tolist())
        assert (asked.basis, asked.scale) == (found.basis.tobytes(), prior.scale)
        names = [one.term for one in term_vectors]
        every = {one.term: one for one in term_vectors}
        assert store.term_vectors.of_terms(generation, [*names, "zebra", "giraff ", "", names[0]]) == every
        assert store.term_vectors.of_terms(generation, None) == every
        assert store.generations.size(generation).terms == 4
        assert store.term_vectors.of_terms(generation, []) == {}

    def test_a_generation_without_one_and_one_that_is_gone(self, store: Store) -> None:
        generation = store.generations.begin(SPACE, START).id

        for id in (generation, 99, BEYOND):
            assert store.term_vectors.learned(id) is store.term_vectors.asked(id) is None
            for terms in (["a"], None):
                assert store.term_vectors.of_terms(id, terms, once=True) == {}
            assert store.generations.size(id).terms == 0
        for id in (99, BEYOND):
            store.term_vectors.learn(id, pending())
            store.term_vectors.learn(id, None)
            assert store.term_vectors.learned(id) is None

    def test_what_is_learned_next_stands_beside_what_is_known(self, store: Store) -> None:
        kept(store, note("zebra giraffe"))
        store.generations.begin(SPACE, START)
        learn(store, "zebra", "giraff")

        again = pending(8, fit=0.5, spread=np.ones(AXES))
        store.term_vectors.learn(1, again, [term_vector("zebra", 7, 7, 7)])

        assert same(store.term_vectors.learned(1), again)
        found = store.term_vectors.of_terms(1, None)
        assert found == {"zebra": term_vector("zebra", 7, 7, 7), "giraff": term_vector("giraff")}

    def test_what_is_forgotten_is_learned_from_the_beginning(self, store: Store) -> None:
        ids = kept(store, note("zebra giraffe", embedded=embedded(directions(1), [0])))
        learn(store, "zebra", chunks={chunk: ["zebra giraff"] for chunk in heads(store, ids[0])})
        assert waiting(store) == []

        store.term_vectors.learn(1, None)

        assert store.term_vectors.learned(1) is None
        assert (store.generations.size(1).terms, waiting(store)) == (0, heads(store, ids[0]))
        assert store.term_vectors.of_terms(1, ["zebra", "zebra giraff"], once=True) == {}

    @pytest.mark.parametrize("length", [0, AXES - 1, AXES + 1])
    def test_a_code_is_as_long_as_there_are_axes(self, store: Store, length: int) -> None:
        kept(store, note("zebra giraffe"))
        store.generations.begin(SPACE, START)
        learn(store, "zebra")

        with pytest.raises(Invalid, match="term vector along"):
            store.term_vectors.learn(1, pending(8), [term_vector("giraff"), term_vector("zebra", code=b"x" * length)])

        assert same(store.term_vectors.learned(1), pending())
        assert known(store, "zebra", "giraff") == ["zebra"]

    @pytest.mark.parametrize("basis", [np.eye(AXES), np.eye(AXES + 1, SPACE.dimension)])
    def test_a_basis_is_as_wide_as_the_vectors(self, store: Store, basis: np.ndarray) -> None:
        store.generations.begin(SPACE, START)

        with pytest.raises(Invalid, match="numbers"):
            store.term_vectors.learn(1, pending(basis=basis.astype(np.float32)))

        assert store.term_vectors.learned(1) is None

    def test_there_may_be_no_axes_of_its_own_and_then_others(self, store: Store) -> None:
        kept(store, note("zebra giraffe"))
        store.generations.begin(SPACE, START)
        first = pending(basis=None, spread=np.zeros(4))
        store.term_vectors.learn(1, first, [term_vector("zebra", 1, 2, 3, 4)])
        assert same(store.term_vectors.learned(1), first)
        assert store.term_vectors.asked(1).basis is None

        learn(store, "zebra")

        assert same(store.term_vectors.learned(1), pending())
        assert store.term_vectors.asked(1).basis == pending().basis.tobytes()
        assert store.term_vectors.of_terms(1, None) == {"zebra": term_vector("zebra")}
        store.term_vectors.learn(1, first, [term_vector("zebra", 1, 2, 3, 4)])
        assert same(store.term_vectors.learned(1), first)

    def test_terms_of_another_number_of_axes_go(self, store: Store) -> None:
        kept(store, note("zebra giraffe"))
        store.generations.begin(SPACE, START)
        learn(store, "zebra", "giraff")

        store.term_vectors.learn(1, pending(8, basis=None, spread=np.zeros(4)), [term_vector("zebra", 1, 2, 3, 4)])

        assert store.term_vectors.of_terms(1, None) == {"zebra": term_vector("zebra", 1, 2, 3, 4)}
        assert store.generations.size(1).terms == 1

    def test_they_answer_once_they_learned_from_enough(self, store: Store) -> None:
        assert store.generations.answering() == (0, None)
        store.generations.begin(SPACE, START)
        for passages, fit in ((0, None), (UNAIDED - 1, None), (UNAIDED, 0.625)):
            learn(store, passages=passages)
            assert store.generations.answering() == (1, fit)

    def test_from_fewer_if_words_begin_with_what_the_model_makes_of_them(self, store: Store) -> None:
        store.generations.begin(SPACE, START)
        for passages, fit in ((LEAST - 1, None), (LEAST, 0.625)):
            store.term_vectors.learn(1, pending(passages)._replace(prior=Prior(words=9)), [])
            assert store.generations.answering() == (1, fit)

    def test_of_too_many_terms_the_rarest_go_and_pairs_before_words(self, store: Store) -> None:
        words = "ant bee cat dog elk fox gnu hen".split()
        kept(store, note(" ".join(words)))
        store.generations.begin(SPACE, START)
        pairs = [term_vector(f"{a} {b}", passages=9) for a, b in pairwise(words)]
        rare = [
            term_vector(word, passages=passages, last=last)
            for word, passages, last in zip(words, "23112345", "56756789", strict=True)
        ]
        made = [one._replace(passages=int(one.passages), last=int(one.last)) for one in rare]

        store.term_vectors.learn(1, pending(), [*made, *pairs], most=15)
        assert store.generations.size(1).terms == 15
        store.term_vectors.learn(1, pending(), most=14)
        assert store.generations.size(1).terms == 12
        assert len(known(store, *words)) == 8
        store.term_vectors.learn(1, pending(), most=5)

        assert known(store, *[one.term for one in [*made, *pairs]]) == ["bee", "fox", "gnu", "hen"]

    def test_each_generation_has_its_own(self, store: Store) -> None:
        kept(store, note("zebra giraffe"))
        store.generations.begin(SPACE, START)
        store.generations.begin(OTHER, START)
        learn(store, "zebra")
        learn(store, "giraff", generation=2, passages=8)

        assert (known(store, "zebra", "giraff"), known(store, "zebra", "giraff", generation=2)) == (
            ["zebra"],
            ["giraff"],
        )
        emptied(store, 1)
        assert (store.term_vectors.learned(1), store.generations.size(1).terms) == (None, 0)
        assert same(store.term_vectors.learned(2), pending(8))
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


class PendingPassages:
    def test_pending_are_the_chunks_with_vectors_and_these(self, store: Store) -> None:
        vectors = directions(4)
        ids = kept(
            store,
            note("one", body="abcd", size=2, embedded=embedded(vectors[:3], [0, 0, 2])),
            note("two"),
            note("three", embedded=embedded(vectors[3:])),
        )
        pieces = [chunk for chunk, _ in outline(store, ids[0])]
        expected = {pieces[0]: vectors[:2], pieces[2]: vectors[2:3], heads(store, ids[2])[0]: vectors[3:]}

        pending = store.term_vectors.pending(1, 100)

        assert [excerpt.id for excerpt, _ in pending] == sorted(expected)
        for excerpt, own in pending:
            assert excerpt == store.memories.excerpts([excerpt.id])[excerpt.id]
            assert (own.dtype, own.tolist()) == (np.float32, expected[excerpt.id].tolist())

    def test_what_was_learned_from_is_no_longer_pending(self, store: Store) -> None:
        kept(store, *(note(f"n{n}", embedded=embedded(directions(2, n), [0, 0])) for n in range(5)))
        every = waiting(store)
        assert len(every) == 5
        assert waiting(store, learned=True) == []

        for limit in (1, 2, 5):
            page = [excerpt.id for excerpt, _ in store.term_vectors.pending(1, limit)]
            assert page == waiting(store)[:limit]
            learn(store, chunks=dict.fromkeys(page, ()))

        assert waiting(store) == []
        assert waiting(store, learned=True) == every

    def test_how_many_wait_is_known_without_reading_them(self, store: Store) -> None:
        kept(store, *(note(f"n{n}", embedded=embedded(directions(2, n), [0, 0])) for n in range(5)))
        every = waiting(store)
        assert store.term_vectors.progress(1) == LearningState(waiting=5)
        assert store.term_vectors.progress(1, 3) == LearningState(waiting=3)

        learn(store, passages=7, chunks=dict.fromkeys(every[:2], ()))
        assert store.term_vectors.progress(1) == LearningState(7, 0, 3)
        learn(store, "n1", "n2", passages=8)
        for most, expected in ((None, 3), (2, 2), (0, 0)):
            assert store.term_vectors.progress(1, most) == LearningState(8, 2, expected)
        delete_memories(store, [5])
        assert store.term_vectors.progress(1).waiting == 2
        for generation in (2, BEYOND):
            assert store.term_vectors.progress(generation) == LearningState()

    def test_some_or_all_come_a_page_at_a_time(self, store: Store) -> None:
        kept(store, *(note(f"n{n}", embedded=embedded(directions(2, n), [0, 0])) for n in range(6)))
        every = waiting(store)
        learn(store, chunks=dict.fromkeys(every[::2], ()))

        for learned, expected in ((False, every[1::2]), (True, every[::2]), (None, every)):
            for limit in (1, 2, 5):
                after, found = ChunkId(0), []
                while page := store.term_vectors.pending(1, limit, after=after, learned=learned):
                    assert len(page) <= limit
                    found += [excerpt.id for excerpt, _ in page]
                    after = found[-1]
                assert found == expected

    def test_what_gets_a_vector_later_is_pending(self, store: Store) -> None:
        first, second = (heads(store, id)[0] for id in kept(store, note("one"), note("two")))
        store.generations.begin(SPACE, START)
        learn(store)
        assert waiting(store) == []

        store.vectors.set_vectors(1, directions(2), [Window(second, 0, 0), Window(second, 1, 1)])
        assert waiting(store) == [second]
        learn(store, chunks={second: ()})
        (third,) = heads(store, kept(store, note("three", embedded=embedded(directions(1))))[0])
        assert waiting(store) == [third]
        store.vectors.set_vectors(1, directions(2), [Window(first, 0, 0), Window(second, 0, 1)])
        assert waiting(store) == [first, second, third]

        store.vectors.set_vectors(1, None, [Window(second, 0, 0)])
        delete_memories(store, [3])
        assert waiting(store) == [first]

    def test_windows_come_in_their_order(self, store: Store) -> None:
        id = kept(store, note())[0]
        (chunk,) = heads(store, id)
        store.generations.begin(SPACE, START)
        store.vectors.set_vectors(1, directions(3), [Window(chunk, 2, 0), Window(chunk, 0, 1), Window(chunk, 1, 2)])

        ((_, vectors),) = store.term_vectors.pending(1, 1)

        assert vectors.tolist() == directions(3)[[1, 2, 0]].tolist()

    def test_there_may_be_none(self, store: Store) -> None:
        kept(store, note())
        store.generations.begin(SPACE, START)

        for generation in (1, 2, BEYOND):
            for learned in (False, True):
                assert list(store.term_vectors.pending(generation, 5, learned=learned)) == []

    def test_each_generation_has_its_own_pending_chunks(self, store: Store) -> None:
        (chunk,) = heads(store, kept(store, note("one", embedded=embedded(directions(1))))[0])
        store.generations.begin(OTHER, START)
        store.vectors.set_vectors(2, np.eye(1, OTHER.dimension, dtype=np.float32), [Window(chunk, 0, 0)])
        learn(store, chunks={chunk: ["a b"]})

        assert (waiting(store), waiting(store, 2)) == ([], [chunk])
        assert store.term_vectors.of_terms(2, ["a b"], once=True) == {}


class SaidOnce:
    def test_a_pair_is_known_to_have_been_said_by_a_chunk_of_the_last(self, store: Store) -> None:
        ids = kept(store, *(note(f"a b c {n}", embedded=embedded(directions(1, n))) for n in range(HEARD + 2)))
        chunks = [heads(store, id)[0] for id in ids]
        learn(store, "a", chunks={chunks[0]: ["a b", "b c"], chunks[1]: ["c d"], chunks[2]: []})
        asked = ["a b", "b c", "c d", "d e", "a", "b"]
        once = {pair: TermVector(pair, 1, last, 0.0, 0.0, b"") for pair, last in zip(asked, (-2, -2, -1), strict=False)}
        assert store.term_vectors.of_terms(1, asked, once=True) == once | {"a": term_vector("a")}
        assert store.term_vectors.of_terms(1, asked) == {"a": term_vector("a")}

        learn(store, "b c", chunks={chunk: ["d e"] for chunk in chunks[2:HEARD]})
        assert store.term_vectors.of_terms(1, ["b c"], once=True) == {"b c": term_vector("b c")}
        assert known_once(store, *asked) == ["a b", "c d", "d e"]
        learn(store, chunks={chunks[HEARD]: ["e f"]})
        assert known_once(store, *asked) == ["c d", "d e"]
        learn(store, chunks={chunks[1]: ["f g"], chunks[HEARD + 1]: ["g h"]})
        assert known_once(store, *asked, "e f", "f g", "g h") == ["d e", "e f", "f g", "g h"]

    def test_the_last_chunk_that_said_a_pair_counts(self, store: Store) -> None:
        ids = kept(store, *(note(f"n{n}", embedded=embedded(directions(1, n))) for n in range(4)))
        chunks = [heads(store, id)[0] for id in ids]

        learn(store, chunks={chunks[0]: ["a b", "b c"], chunks[1]: (), chunks[2]: ["a b"], chunks[3]: ["c d"]})

        found = store.term_vectors.of_terms(1, ["a b", "b c", "c d"], once=True)
        assert {pair: one.last for pair, one in found.items()} == {"a b": -2, "b c": -3, "c d": -1}

    def test_what_a_chunk_said_goes_with_it_and_with_its_vectors(self, store: Store) -> None:
        ids = kept(store, *(note(f"n{n}", embedded=embedded(directions(1, n))) for n in range(4)))
        chunks = [heads(store, id)[0] for id in ids]
        learn(store, chunks={chunk: [f"n{n} of"] for n, chunk in enumerate(chunks)})
        asked = [f"n{n} of" for n in range(4)]
        assert known_once(store, *asked) == asked

        delete_memories(store, ids[:1])
        replace_memory(store, ids[1], note("other", moment=at(1)))
        store.vectors.set_vectors(1, directions(1), [Window(chunks[2], 0, 0)])

        assert known_once(store, *asked) == asked[3:]


def known_once(store: Store, *pairs: str) -> list[str]:
    return sorted(one.term for one in store.term_vectors.of_terms(1, pairs, once=True).values() if not one.code)


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
        assert same(store.term_vectors.learned(1), pending())

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

        forget_aged(store, EVERYTHING._replace(sessions=frozenset({"s"})), at(1), 10, KEEP)
        assert known(store, "rhino", "hippo", "zebra") == ["hippo", "zebra"]
        clear_run(store, "r", KEEP)
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


class Beside:
    """What is learned again stands beside what answers, until it takes its place."""

    def test_what_is_learned_beside_answers_only_after_the_switch(self, store: Store) -> None:
        (id,) = kept(store, note("zebra giraffe", embedded=embedded(directions(1), [0])))
        (chunk,) = heads(store, id)
        before = learn(store, "zebra", chunks={chunk: ["zebra giraff"]})
        assert waiting(store, -1) == [chunk]

        after = learn(store, "giraff", generation=-1, passages=8)
        assert same(store.term_vectors.learned(1), before)
        assert (known(store, "zebra", "giraff"), known(store, "zebra", "giraff", generation=-1)) == (
            ["zebra"],
            ["giraff"],
        )
        assert (waiting(store), waiting(store, -1)) == ([], [chunk])
        store.term_vectors.learn(-1, after, chunks={chunk: ["giraff lion"]})
        store.term_vectors.switch(1)

        assert same(store.term_vectors.learned(1), after)
        assert store.term_vectors.learned(-1) is None
        assert (known(store, "zebra", "giraff"), store.generations.size(1).terms) == (["giraff"], 1)
        assert known_once(store, "zebra giraff", "giraff lion") == ["giraff lion"]
        assert waiting(store) == []

    def test_a_switch_with_nothing_beside_changes_nothing(self, store: Store) -> None:
        """Two processes may end the same relearning: the second one must not take away what answers."""
        ids = kept(store, note("zebra", embedded=embedded(directions(1), [0])))
        learn(store, "zebra", chunks=dict.fromkeys(heads(store, ids[0]), ()))

        for generation in (1, 99, BEYOND):
            store.term_vectors.switch(generation)

        assert store.term_vectors.learned(1) is not None
        assert waiting(store) == []

    @pytest.mark.parametrize("learns", [1, -1])
    def test_what_one_of_both_learned_from_is_still_pending_for_the_other(self, store: Store, learns: int) -> None:
        (first,) = kept(store, note("n0", embedded=embedded(directions(1))))
        for generation in (1, -1):
            learn(store, "n0", generation=generation, chunks=dict.fromkeys(heads(store, first), ()))
        (late,) = kept(store, note("n1", embedded=embedded(directions(1))))

        learn(store, "n1", generation=learns, chunks=dict.fromkeys(heads(store, late), ()))

        assert (waiting(store, learns), waiting(store, -learns)) == ([], heads(store, late))

    def test_what_comes_and_goes_meanwhile_does_so_in_both(self, store: Store) -> None:
        ids = kept(store, *(note(f"n{n}", embedded=embedded(directions(1, n))) for n in range(3)))
        for generation in (1, -1):
            learn(store, "n0", "n1", generation=generation, chunks={heads(store, id)[0]: () for id in ids})
            assert waiting(store, generation) == []

        (late,) = kept(store, note("n3", embedded=embedded(directions(1))))
        delete_memories(store, ids[:1])
        again = heads(store, ids[1])
        store.vectors.set_vectors(1, directions(1), [Window(again[0], 0, 0)])

        for generation in (1, -1):
            assert known(store, "n0", "n1", generation=generation) == ["n1"]
            assert waiting(store, generation) == [*again, *heads(store, late)]
        store.term_vectors.switch(1)
        assert (known(store, "n0", "n1"), waiting(store)) == (["n1"], [*again, *heads(store, late)])

    def test_a_generation_takes_along_what_is_beside(self, store: Store) -> None:
        kept(store, note("zebra"))
        store.generations.begin(SPACE, START)
        learn(store, "zebra", generation=-1)

        emptied(store, 1)

        assert store.term_vectors.learned(-1) is None
        assert known(store, "zebra", generation=-1) == []


class TermVectorsSuite(Learning, PendingPassages, SaidOnce, Forgetting, Beside):
    """All of them."""
