"""What every store promises of the terms of a query: what they weigh, and what they are looked for by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from entries import found, kept, note, words

from memory.schema.answer import Ranking
from memory.schema.query import ACTIVE, Term

if TYPE_CHECKING:
    from memory.store import Store


class WeighingSuite:
    def test_a_term_is_weighed_by_how_many_chunks_hold_it(self, store: Store) -> None:
        kept(store, *(note("common") for _ in range(7)), note("common rare rarely rarest"))

        common, absent = store.keywords.weigh(words("common", "absent"))

        assert (common.rows, absent.rows) == (8, 0)
        assert common.weight == pytest.approx(math.log(1 + 200.5 / 8.5))
        assert absent.weight == pytest.approx(math.log(1 + 208.5 / 0.5))

    def test_of_terms_that_mean_the_same_the_first_stays(self, store: Store) -> None:
        kept(store, *(note("running dogs") for _ in range(3)))

        weighed = store.keywords.weigh(
            [*words("Running", "runs", "dog", "DOGS"), Term("dog", prefix=True), Term("dogs", prefix=True)]
        )

        assert [(term.text, term.prefix) for term in weighed] == [("Running", False), ("dog", False), ("dog", True)]

    def test_what_holds_no_word_is_left_out(self, store: Store) -> None:
        kept(store, note("a"))

        assert store.keywords.weigh(words("+++", "", " ", "…", "\0")) == ()

    def test_a_word_that_no_chunk_holds_becomes_a_prefix_if_that_finds_longer_ones(self, store: Store) -> None:
        kept(store, *(note("authentication") for _ in range(4)), note("other"))

        [term, missing] = store.keywords.weigh(words("auth", "missing"))

        assert (term.prefix, term.rows, missing.prefix) == (True, 4, False)
        assert (term.longer, missing.longer) == (missing.weight, 0)  # as a word it is as rare as one that is nowhere
        assert term.weight < term.longer

    def test_a_word_that_a_chunk_holds_stays_as_it_is(self, store: Store) -> None:
        kept(store, note("auth"), note("authentication"))

        [term] = store.keywords.weigh(words("auth"))

        assert (term.prefix, term.rows, term.longer) == (False, 1, 0)

    def test_a_rare_word_that_begins_no_other_stays_as_it_is(self, store: Store) -> None:
        kept(store, note("auth"))

        assert [(term.prefix, term.rows) for term in store.keywords.weigh(words("auth", "none"))] == [
            (False, 1),
            (False, 0),
        ]

    def test_short_words_phrases_and_pairs_never_become_prefixes(self, store: Store) -> None:
        kept(store, note("abc"), note("red foxes and redder ones"), note("数据库"))

        weighed = store.keywords.weigh([*words("ab", "red fo"), Term("数据库"[:2] * 2, gram=True)])

        assert [(term.prefix, term.rows) for term in weighed] == [(False, 0), (False, 0), (False, 0)]

    def test_of_two_words_that_become_the_same_prefix_the_first_stays(self, store: Store) -> None:
        kept(store, *(note("authentication") for _ in range(4)))

        weighed = store.keywords.weigh([*words("Auth", "auths"), Term("auth", prefix=True)])

        assert [(term.text, term.prefix, term.rows) for term in weighed] == [("Auth", True, 4)]

    def test_common_words_alone_are_a_query_too(self, store: Store) -> None:
        ids = kept(store, *(note("the and of") for _ in range(9)))

        terms = store.keywords.weigh(words("the", "and", "of"))

        assert all(term.weight > 0 for term in terms)
        assert found(store.keywords.by_keyword(terms, ACTIVE, 9)) == [*reversed(ids)]
        assert all(scored.score > 0 for scored in store.keywords.by_keyword(terms, ACTIVE, 9))

    def test_a_name_that_no_chunk_holds_is_looked_for_by_its_parts(self, store: Store) -> None:
        id = kept(store, note("the id of a user"), note("nothing"))[0]

        terms = store.keywords.weigh([Term("user_id", exact=True, other="userid", parts=(Term("user"), Term("id")))])

        assert [(term.text, term.rows, term.exact) for term in terms] == [("user", 1, False), ("id", 1, False)]
        assert found(store.keywords.by_keyword(terms, ACTIVE, 5)) == [id]

    @pytest.mark.parametrize("written", ["user_id", "userId"])
    def test_a_name_that_a_chunk_holds_stays_whole(self, store: Store, written: str) -> None:
        kept(store, note("the id of a user"), note(written))
        asked = Term("user_id", exact=True, other="userid", parts=(Term("user"), Term("id")))

        [term] = store.keywords.weigh([asked])

        assert term == asked._replace(rows=1, weight=term.weight)

    def test_a_name_stays_whole_if_no_chunk_holds_a_part_either(self, store: Store) -> None:
        kept(store, note("nothing"))

        [term] = store.keywords.weigh([Term("user_id", exact=True, parts=(Term("user"), Term("id")))])

        assert (term.text, term.rows, term.exact) == ("user_id", 0, True)

    def test_parts_are_names_too(self, store: Store) -> None:
        kept(store, note("see search.py and memory/rank.py"))
        found = Term("search.py", parts=(Term("search"), Term("py")))
        lost = Term("fuse.py", parts=(Term("fuse"), Term("py")))

        terms = store.keywords.weigh([Term("src/search.py/fuse.py", parts=(Term("src"), found, lost))])

        assert [(term.text, term.rows) for term in terms] == [("src", 0), ("search.py", 1), ("fuse", 0), ("py", 1)]

    def test_a_part_that_is_asked_for_already_is_not_asked_twice(self, store: Store) -> None:
        kept(store, note("the id of a user"))

        terms = store.keywords.weigh([*words("users"), Term("user_id", parts=(Term("user"), Term("id")))])

        assert [term.text for term in terms] == ["users", "id"]

    def test_of_two_names_with_a_form_in_common_the_first_stays(self, store: Store) -> None:
        kept(store, note("user_id"))
        names = [Term("userId", other="user Id"), Term("user_id", other="userid"), *words("USERID")]

        assert [term.text for term in store.keywords.weigh(names)] == ["userId"]
        assert [term.text for term in store.keywords.weigh(names[::-1])] == ["USERID", "user_id"]

    def test_weighing_in_an_empty_store(self, store: Store) -> None:
        [term] = store.keywords.weigh(words("word"))

        assert term.rows == 0
        assert store.keywords.by_keyword([term], ACTIVE, 5) == Ranking()
