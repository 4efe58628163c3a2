"""Laws of words that stand together, and of what they add to a keyword ranking."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from memory.schema.answer import Ranking, Scored
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.query import Term
from memory.search.keywords import KEYWORD_SHARE, PROXIMITY_DEPTH as DEPTH, lifted, neighbours, proximities

WORDS = ("alpha", "beta", "gamma", "delta", "of", "in")
said = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
written = st.sampled_from([*WORDS, "alpha beta", "gamma of delta", "数据", "."])
terms = st.lists(st.builds(lambda text, weight: Term(text, weight=weight), written, st.floats(0.01, 10)), max_size=5)
gaps = st.sampled_from([" ", ", ", "-", "\n\n", " … "])
shares = st.floats(0, 1)


def share(text: str, wanted: list[Term], query: str) -> float:
    return proximities(neighbours(query, wanted), {ChunkId(1): text})[ChunkId(1)]


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    """Best first, as a store gives them."""
    scores = draw(st.lists(st.floats(1e-6, 50), max_size=DEPTH + 15))
    rows = [Scored(ChunkId(n), MemoryId(n), score, 1, score) for n, score in enumerate(scores)]
    return Ranking.of(sorted(rows, key=lambda item: (-item.score, -item.chunk)))


@given(said, terms, said)
def test_a_share_lies_between_0_and_1(query, wanted, text) -> None:
    assert 0 <= share(text, wanted, query) <= 1
    assert all(part > 0 for part in neighbours(query, wanted).values())


@given(said, terms, said)
def test_no_text_has_more_than_the_query_itself(query, wanted, text) -> None:
    assert share(text, wanted, query) <= share(query, wanted, query)


@given(said, terms, said, said)
def test_what_stands_before_and_behind_takes_nothing_away(query, wanted, before, behind) -> None:
    assert share(f"{before} {query} {behind}", wanted, query) == share(query, wanted, query)


@given(said, terms, said, gaps, st.sampled_from([str.upper, str.title, str.swapcase]))
def test_capitals_and_what_stands_between_words_do_not_matter(query, wanted, text, gap, change) -> None:
    other = [term._replace(text=change(term.text)) for term in wanted]
    plain = share(text, wanted, query)

    assert share(change(text), wanted, query) == plain
    assert share(text, other, change(query)) == plain
    assert share(gap.join(text.split()), wanted, query) == plain


pieces = st.sampled_from(
    [*WORDS, "alph", "a", "A", "é", "_", "alpha_beta", "数据", "7", " ", ", ", "\n", "\u0301", "İ"]
)


@given(st.lists(pieces, max_size=12).map("".join), st.lists(pieces, max_size=25).map("".join))
def test_pairs_are_looked_for_in_the_words_of_a_text(query, text) -> None:
    pairs = neighbours(query, [Term(word) for word in re.findall(r"\w+", query.lower())])
    words = " ".join(["", *re.findall(r"\w+", text.lower()), ""])

    found = proximities(pairs, {ChunkId(1): text})

    assert found == {1: min(1.0, sum(share for pair, share in pairs.items() if pair in words))}


@given(said, terms)
def test_words_in_another_order_are_no_neighbours(query, wanted) -> None:
    apart = "\n".join(f"{word} other" for word in query.split())

    assert share(apart, wanted, query) == 0


def test_a_pair_is_worth_the_mean_of_its_words_and_those_at_the_ends_count_half() -> None:
    wanted = [Term("alpha", weight=3), Term("beta", weight=1), Term("gamma", weight=4)]

    assert neighbours("alpha beta gamma", wanted) == pytest.approx({" alpha beta ": 2 / 8, " beta gamma ": 2.5 / 8})


def test_a_stop_word_beside_a_word_tells_something_and_two_tell_nothing() -> None:
    assert neighbours("is the memory in", [Term("memory")]) == {" the memory ": 0.5, " memory in ": 0.5}


def test_the_words_of_a_quoted_phrase_share_its_weight() -> None:
    found = neighbours("beta gamma", [Term("alpha beta", weight=4), Term("gamma", weight=4)])

    assert found == {" beta gamma ": pytest.approx((2 + 4) / 2 / 8)}


def test_a_word_that_stands_in_many_pairs_counts_no_more_than_all() -> None:
    query = "alpha beta alpha gamma alpha delta alpha of"

    found = neighbours(query, [Term("alpha", weight=9), Term("beta"), Term("gamma"), Term("delta")])

    assert sum(found.values()) > 1
    assert proximities(found, {ChunkId(1): query}) == {1: 1.0}


def test_part_of_a_word_is_not_the_word() -> None:
    assert share("alphabet beta", [Term("alpha"), Term("beta")], "alpha beta") == 0


@given(rankings(), st.dictionaries(st.integers(0, DEPTH + 15), shares))
def test_lifting_keeps_every_chunk_once_and_ranks_by_the_score(ranking, proximity) -> None:
    found = lifted(ranking, proximity)

    assert sorted(item.chunk for item in found) == sorted(item.chunk for item in ranking)
    assert list(found) == sorted(found, key=lambda item: (-item.score, -item.chunk))
    assert found[DEPTH:] == ranking[DEPTH:]
    before = {item.chunk: item for item in ranking}
    for item in found:
        gain = KEYWORD_SHARE * ranking[0].score * proximity.get(item.chunk, 0.0) if item in found[:DEPTH] else 0.0
        assert item == before[item.chunk]._replace(score=item.score)
        assert item.score == pytest.approx(before[item.chunk].score + gain)


@given(rankings())
def test_nothing_that_stands_together_changes_nothing(ranking) -> None:
    assert lifted(ranking, {}) == lifted(ranking, {ChunkId(999): 1.0}) == ranking


@given(rankings(), st.dictionaries(st.integers(0, DEPTH), shares), st.integers(0, DEPTH), shares)
def test_more_that_stands_together_never_ranks_lower(ranking, proximity, chunk, more) -> None:
    def place(share: float) -> int:
        return [item.chunk for item in lifted(ranking, proximity | {chunk: share})].index(chunk)

    if any(item.chunk == chunk for item in ranking[:DEPTH]):
        low, high = sorted((proximity.get(chunk, 0.0), more))
        assert place(high) <= place(low)
