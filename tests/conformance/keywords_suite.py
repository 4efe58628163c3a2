"""What every store promises of the keyword index."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from entries import BEYOND, found, heads, kept, note, outline, prompt, words, write
from named import QUESTIONS, notes
from scopes_suite import varied

from memory.schema.answer import Ranking
from memory.schema.kinds import Kind
from memory.schema.memory import ChunkId
from memory.schema.query import ACTIVE, EVERYTHING, Scope, Term
from memory.text.terms import terms
from oracle.ram import RamStore

if TYPE_CHECKING:
    from memory.store import Store


class Finding:
    def test_words_are_found_by_their_stem_whatever_their_case_and_accents(self, store: Store) -> None:
        id = kept(store, note("Running the migrations at the Café"))[0]

        for text in ("migration", "MIGRATIONS", "runs", "cafe", "CAFÉ"):
            assert found(store.keywords.by_keyword(words(text), ACTIVE, 5)) == [id], text

    @pytest.mark.parametrize(
        "column", ["title", "what", "why", "impact", "tags", "category", "project", "source", "related_files", "body"]
    )
    def test_every_text_of_a_memory_is_found(self, store: Store, column: str) -> None:
        value = {"tags": ("bug\nzebra",), "related_files": (r"src\zebra.py",)}.get(column, "a zebra")
        if column == "category":
            value, word = "pattern", "patterns"
        else:
            word = "zebra"
        id = write(store, note(**{column: value, "unless_known": False})).memory.id
        kept(store, note("else", body="and more"))

        assert found(store.keywords.by_keyword(words(word), ACTIVE, 5)) == [id]

    def test_a_description_is_not_indexed(self, store: Store) -> None:
        kept(store, note("a", description="zebra"))

        assert store.keywords.by_keyword(words("zebra"), ACTIVE, 5) == Ranking()

    def test_facts_about_the_whole_memory_count_once(self, store: Store) -> None:
        kept(store, note("head", body="abcdef", size=1, why="zebra", tags=("lion",), project="p", related_files=("f",)))

        assert len(store.keywords.by_keyword(words("zebra", "lion", "p"), ACTIVE, 50)) == 1

    def test_headings_are_found_without_their_marks(self, store: Store) -> None:
        kept(store, note("head", body="ab", size=1))

        assert len(store.keywords.by_keyword(words("guide setup"), ACTIVE, 5)) == 2
        assert (
            store.keywords.by_keyword(words("# Guide"), ACTIVE, 5)[0].score
            == store.keywords.by_keyword(words("guide"), ACTIVE, 5)[0].score
        )

    def test_scores_are_bm25_with_the_weights_of_the_columns(self, store: Store) -> None:
        texts = ["alpha beta", "alpha alpha gamma delta", "beta", "gamma", "delta epsilon zeta eta theta"]
        kept(store, *(note(text, title="alpha" if n == 4 else "t") for n, text in enumerate(texts)))

        ranking = store.keywords.by_keyword(words("alpha", "beta"), ACTIVE, 10)

        lengths = [len(text.split()) + 1 for text in texts]
        average = sum(lengths) / 5
        weights = {0: (1, 1), 1: (2, 0), 2: (0, 1), 4: (3.0, 0)}
        idfs = [max(1e-6, math.log((5 - held + 0.5) / (held + 0.5))) for held in (3, 2)]
        scores = {}
        for place, often in weights.items():
            norm = 1.2 * (0.25 + 0.75 * lengths[place] / average)
            scores[place + 1] = sum(idf * f * 2.2 / (f + norm) for idf, f in zip(idfs, often, strict=True))
        assert {scored.memory: scored.score for scored in ranking} == pytest.approx(scores, rel=1e-9)
        assert [scored.keyword for scored in ranking] == [scored.score for scored in ranking]

    def test_a_phrase_counts_wherever_it_begins(self, store: Store) -> None:
        kept(store, note("na na na na x"), note("na na x x x"), *(note("and more of it") for _ in range(4)))
        [phrase] = store.keywords.weigh(terms('"na na"'))

        more, less = store.keywords.by_keyword([phrase], ACTIVE, 5).scores

        norm, idf = 1.2 * (0.25 + 0.75 * 6 / ((2 * 6 + 4 * 5) / 6)), math.log((6 - 2 + 0.5) / (2 + 0.5))
        assert (more, less) == pytest.approx([idf * n * 2.2 / (n + norm) for n in (3, 1)], rel=1e-9)

    def test_questions_with_names_digits_and_hyphens_are_answered_as_by_the_oracle(self, store: Store) -> None:
        oracle = RamStore()
        for one in (store, oracle):
            kept(one, *(note(text[:60], body=text, size=60) for text in notes(90)))

        for question in QUESTIONS:
            asked = terms(question)
            (weighed, ranking), (expected, ranked) = (
                (own := one.keywords.weigh(asked), one.keywords.by_keyword(own, ACTIVE, 999)) for one in (store, oracle)
            )
            assert weighed == expected, question
            assert {one.chunk: one.matched for one in ranking} == {one.chunk: one.matched for one in ranked}, question
            assert {one.chunk: one.score for one in ranking} == pytest.approx(
                {one.chunk: one.score for one in ranked}, abs=1e-5
            ), question

    def test_a_ranking_is_best_first_and_of_equals_the_latest(self, store: Store) -> None:
        first = kept(store, *(note("word") for _ in range(30)))
        best = kept(store, note("word word"))
        kept(store, *(note("else") for _ in range(40)))

        ranking = found(store.keywords.by_keyword(words("word"), ACTIVE, 100))
        assert ranking == [*best, *reversed(first)]
        for k in (1, 2, 7, 30, 31):
            assert found(store.keywords.by_keyword(words("word"), ACTIVE, k)) == ranking[:k]
            assert (
                found(store.keywords.by_keyword(words("word"), Scope(kinds=frozenset({Kind.NOTE})), k)) == ranking[:k]
            )

    def test_matched_says_which_terms_a_chunk_holds(self, store: Store) -> None:
        both, one, other = kept(store, note("alpha beta"), note("alpha"), note("gamma beta"))

        ranking = store.keywords.by_keyword(words("alpha", "none", "beta", "gamma"), ACTIVE, 10)

        assert {scored.memory: scored.matched for scored in ranking} == {both: 0b101, one: 0b001, other: 0b1100}

    def test_a_query_may_have_any_number_of_terms(self, store: Store) -> None:
        texts = [f"word{n}" for n in range(300)]
        id = kept(store, note(" ".join(texts)))[0]

        for count in (62, 63, 64, 65, 128, 300):
            terms = store.keywords.weigh(words(*texts[:count]))
            [scored] = store.keywords.by_keyword(terms, ACTIVE, 5)
            assert (scored.memory, scored.matched) == (id, (1 << count) - 1)
            assert store.keywords.by_keyword(terms, ACTIVE, 5, ids=[scored.chunk]) == Ranking.of([scored])

    def test_the_words_of_a_phrase_must_stand_together_in_one_column(self, store: Store) -> None:
        together, *_ = kept(
            store, note("the red fox runs"), note("fox red"), note("red", why="fox"), note("a", tags=("red",))
        )

        assert found(store.keywords.by_keyword(words("red fox"), ACTIVE, 5)) == [together]
        assert found(store.keywords.by_keyword([Term("red fo", prefix=True)], ACTIVE, 5)) == [together]
        assert found(store.keywords.by_keyword([Term("re fox", prefix=True)], ACTIVE, 5)) == []

    def test_a_name_is_a_phrase(self, store: Store) -> None:
        id = kept(store, note("set user_id in config.yaml"), note("the id of a user; yaml config"))[0]

        for text in ("user_id", "config.yaml"):
            assert found(store.keywords.by_keyword(words(text), ACTIVE, 5)) == [id]

    def test_a_prefix_finds_longer_words(self, store: Store) -> None:
        ids = kept(store, note("authentication"), note("author"), note("oath"))

        assert set(found(store.keywords.by_keyword(words("auth", prefix=True), ACTIVE, 5))) == set(ids[:2])
        assert found(store.keywords.by_keyword(words("auth"), ACTIVE, 5)) == []

    @pytest.mark.parametrize(
        "text",
        ["AND", "OR NOT", "NEAR(", '"', '""', "title:x", "a*b", "^", "-", "{x}", "(", "it's", ";--", "\0", "a\0b"],
    )
    def test_any_text_is_a_term(self, store: Store, text: str) -> None:
        kept(store, note("and or not near title x a b it s"))

        terms = store.keywords.weigh(words(text))

        assert len(store.keywords.by_keyword(terms, ACTIVE, 5)) == len(terms)
        assert len(store.keywords.by_keyword(words(text, "title"), ACTIVE, 5)) == 1

    def test_no_terms_find_nothing(self, store: Store) -> None:
        id = kept(store, note("a"))[0]

        assert store.keywords.weigh([]) == ()
        assert store.keywords.by_keyword([], ACTIVE, 5) == Ranking()
        assert store.keywords.by_keyword([], ACTIVE, 5, ids=heads(store, id)) == Ranking()
        assert store.keywords.by_keyword(words("a"), ACTIVE, 5, ids=[]) == Ranking()

    def test_scores_of_some_chunks_are_those_of_the_ranking(self, store: Store) -> None:
        varied(store)
        terms = store.keywords.weigh(words("word", "13", "9", "none"))
        ranking = store.keywords.by_keyword(terms, EVERYTHING, 100)
        wanted = [scored.chunk for scored in ranking[::3]]

        assert (
            store.keywords.by_keyword(terms, EVERYTHING, 100, ids=[*wanted, ChunkId(999), ChunkId(BEYOND)])
            == ranking[::3]
        )

    def test_scripts_without_spaces_are_found_by_their_pairs(self, store: Store) -> None:
        id, glued = kept(store, note("数据库密码在哪里"), note("Python入門"))

        terms = store.keywords.weigh([Term("密码", gram=True), Term("码在", gram=True)])
        assert [term.rows for term in terms] == [1, 1]
        assert found(store.keywords.by_keyword(terms, ACTIVE, 5)) == [id]
        assert found(store.keywords.by_keyword([Term("入門", gram=True)], ACTIVE, 5)) == [glued]
        assert found(store.keywords.by_keyword([Term("門", prefix=True, gram=True)], ACTIVE, 5)) == [glued]

    def test_a_term_is_found_in_either_form(self, store: Store) -> None:
        ids = kept(store, *(note(text) for text in ("getUser", "get_user", "get user", "user, get")))

        [term] = store.keywords.weigh([Term("getUser", other="get user")])

        assert term.rows == 3
        assert set(found(store.keywords.by_keyword([term], ACTIVE, 5))) == set(ids[:3])
        assert {scored.matched for scored in store.keywords.by_keyword([term], ACTIVE, 5)} == {1}

    def test_matched_says_which_terms_a_chunk_holds_in_either_form(self, store: Store) -> None:
        held = {"red fox": 0b100, "redfox": 0b100, "redfox red fox": 0b100, "ab beta": 0b011, "a b red fox": 0b101}
        ids = kept(store, *map(note, held))
        terms = [Term("a_b", other="ab"), Term("beta"), Term("redFox", other="red fox")]

        ranking = store.keywords.by_keyword(terms, ACTIVE, 10)

        assert {scored.memory: scored.matched for scored in ranking} == dict(zip(ids, held.values(), strict=True))
        assert store.keywords.by_keyword(terms, ACTIVE, 10, ids=[scored.chunk for scored in ranking]) == ranking

    def test_what_holds_both_forms_comes_first(self, store: Store) -> None:
        _, both, _ = kept(store, note("redfox here now"), note("redfox, red fox"), note("not the red fox"))

        assert found(store.keywords.by_keyword([Term("redFox", other="red fox")], ACTIVE, 1)) == [both]

    def test_the_mark_of_a_prefix_is_for_either_form(self, store: Store) -> None:
        ids = kept(store, note("getUsername"), note("get_username"), note("get used"))

        assert set(
            found(store.keywords.by_keyword([Term("getUser", prefix=True, other="get user")], ACTIVE, 5))
        ) == set(ids[:2])


class Texts:
    def test_texts_are_what_is_indexed_in_words(self, store: Store) -> None:
        (id,) = kept(
            store,
            note("what", title="title", body="ab\ncd", size=3, why="why", tags=("t",), project="p", source="s"),
        )
        first, second, third = (chunk for chunk, _ in outline(store, id))

        assert store.keywords.texts([third, first, second, first, ChunkId(99), ChunkId(BEYOND)]) == {
            first: "title\nwhat\nwhy",
            second: "title\nGuide Setup\nab\n",
            third: "title\nGuide Setup\ncd",
        }
        assert store.keywords.texts([]) == {}

    def test_the_vocabulary_is_what_begins_so_with_the_number_of_chunks(self, store: Store) -> None:
        kept(store, note("zebras, Zealots"), note("a zebra\u2029zz", body="two zebras"), note("über zo"))
        gone = kept(store, note("zest"))

        store.memories.delete(gone)

        assert store.keywords.vocabulary("ze") == {"zebra": 3, "zealot": 1}
        assert store.keywords.vocabulary("z").keys() == {"zebra", "zealot", "zz", "zo"}
        assert store.keywords.vocabulary("u") == {"uber": 1, "ueber": 1}
        assert store.keywords.vocabulary("q") == {}

    def test_the_impact_stands_with_the_first_chunk_and_a_memory_may_lack_a_title(self, store: Store) -> None:
        ids = kept(store, note("数据 é", impact="big\nthing"), prompt("go on"))

        assert list(store.keywords.texts(heads(store, *ids)).values()) == ["note\n数据 e\nbig\nthing", "go on"]


class KeywordsSuite(Finding, Texts):
    """The part `keywords`, but for what a term weighs; see `weighing_suite`."""
