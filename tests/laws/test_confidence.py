"""Laws of how far an answer can be trusted."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import assume, example, given, strategies as st

from memory import Config, Draft, Engine
from memory.schema.answer import Hit, Outcome, Tier
from memory.schema.space import Strangers
from memory.search.confidence import (
    ANSWERED_MIN_COVERAGE,
    BY_CHANCE,
    BY_FAR,
    DENIED,
    FEW,
    HELD,
    LONG_QUERY,
    MANY,
    NEARER,
    OBSERVED,
    SMALL_SIZE,
    TELLING,
    USUAL_SIZE,
    WEAK_MIN_COVERAGE,
    WORDS,
    Measure,
    confidence,
    largeness,
)
from memory.vectors.baseline import ANSWERS, STRANGERS
from oracle.ram import RamStore

BETTER = [Outcome.NOTHING_RELEVANT, Outcome.WEAK, Outcome.ANSWERED]


def made() -> Hit:
    """Of a real search; how far it can be trusted is said by two of its numbers."""
    config = replace(Config(), embedding=replace(Config().embedding, provider="none"))
    with Engine(RamStore(), config) as engine:
        engine.save(Draft(title="alpha"))
        return engine.search("alpha").hits[0]


MADE = made()


def measured(usual: float, right: float, mean: float = 0.0, vectors: int = 100, inside: int | None = None) -> Measure:
    """As if half of the strangers came as near as `usual` to `vectors` vectors."""
    known = Strangers(1, right, (usual,) * 5, mean)
    return Measure(known, vectors, vectors if inside is None else inside)


shares, cosines = st.floats(0, 1), st.floats(-1, 1)
found = st.lists(st.tuples(shares, st.none() | cosines), min_size=1, max_size=5)
tiers = st.sampled_from(Tier)
lengths = st.integers(0, 2 * LONG_QUERY)
counts = st.integers(0, 2 * USUAL_SIZE)
telling = st.builds(
    lambda low, above, vectors, share: measured(
        low, low + above * (1 - low), min(low, 0.01), vectors, round(share * vectors)
    ),
    st.floats(0, 0.9),
    st.floats(0.01, 1),
    st.integers(1, 3 * MANY),
    shares,
)
beside = st.builds(lambda by, near, each: by._replace(stranger=near, each=each), telling, cosines, st.integers(1, 2))
measures = st.just(Measure()) | telling | beside | st.builds(measured, st.floats(0.3, 0.9), st.floats(-0.5, 0.3))


def hit(coverage: float, cosine: float | None = None) -> Hit:
    return MADE._replace(coverage=coverage, cosine=cosine)


def said(rows, tier: Tier, terms: int = 3, by: Measure = Measure(), memories: int = USUAL_SIZE) -> Outcome:  # noqa: B008  # a value
    return confidence([hit(*row) for row in rows], tier, terms, lambda: by, lambda: memories)[0]


@given(found, shares, shares, st.tuples(tiers, lengths, measures, counts))
def test_more_words_or_a_nearer_first_hit_never_make_an_answer_worse(rows, words, nearer, search) -> None:
    (coverage, cosine), *others = sorted(rows, key=lambda row: -2 if row[1] is None else row[1], reverse=True)
    better = [(min(1.0, coverage + words), None if cosine is None else min(1.0, cosine + nearer)), *others]

    assert BETTER.index(said([(coverage, cosine), *others], *search)) <= BETTER.index(said(better, *search))


@given(found, shares, st.none() | cosines, st.tuples(tiers, lengths, measures.filter(lambda by: by.strangers), counts))
@example([(0.3, None)], 0.1, -1.0, (Tier.HYBRID, LONG_QUERY, measured(0.0, 0.05), 0))
def test_another_hit_never_makes_a_measured_answer_worse(rows, coverage, cosine, search) -> None:
    assert BETTER.index(said(rows, *search)) <= BETTER.index(said([*rows, (coverage, cosine)], *search))


@example([(0.0, None), (0.0, -0.0)], Tier.HYBRID, 0, Measure(), Random(1))  # which of the two is the highest
@given(found, tiers, lengths, measures, st.randoms(use_true_random=False))
def test_the_order_of_the_hits_does_not_matter(rows, tier, terms, by, dice) -> None:
    first = [] if tier in {Tier.HYBRID, Tier.VECTOR} else rows[:1]  # where no model was asked, the first is the answer
    other = rows[len(first) :]
    dice.shuffle(other)

    assert confidence([hit(*row) for row in rows], tier, terms, lambda: by) == confidence(
        [hit(*row) for row in [*first, *other]], tier, terms, lambda: by
    )


@pytest.mark.parametrize(
    ("vectors", "stranger", "cosine", "outcome"),
    [
        (3, -1.0, 0.025, Outcome.NOTHING_RELEVANT),
        (3, -1.0, 0.055, Outcome.WEAK),
        (30, -1.0, 0.045, Outcome.NOTHING_RELEVANT),
        (3, 0.5, 0.12, Outcome.NOTHING_RELEVANT),
        (3, 0.5, 0.16, Outcome.WEAK),
        (3, 0.4, 0.12, Outcome.WEAK),
        (30, 0.5, 0.12, Outcome.WEAK),
    ],
)
def test_among_few_vectors_only_what_is_likely_a_stranger_must_lie_above_them(
    vectors: int, stranger: float, cosine: float, outcome: Outcome
) -> None:
    by = measured(0.05, 0.4, vectors=vectors)._replace(stranger=stranger)

    assert said([(0.0, cosine)], Tier.HYBRID, by=by) is outcome


@given(shares, cosines, st.floats(0, 0.4), st.integers(1, OBSERVED[0]))
def test_what_an_entity_and_its_nearest_observation_tell_is_added_up(coverage, cosine, usual, vectors) -> None:
    """The mean of both cosines is worth as much as one cosine that lies twice as far above strangers."""
    by = measured(usual, 0.9, vectors=vectors)._replace(each=2)
    as_far = usual + 2 * (cosine - usual)
    alone = by._replace(each=1, inside=1, vectors=1)
    edges = [said([(coverage, as_far + slip)], Tier.HYBRID, by=alone) for slip in (-1e-6, 1e-6)]
    assume(edges[0] is edges[1])

    assert said([(coverage, cosine)], Tier.HYBRID, by=by) is edges[0]


@given(tiers, measures, lengths)
def test_no_hits_of_many_memories_are_nothing_relevant(tier, by, terms) -> None:
    outcome, why = confidence([], tier, terms, lambda: by)

    assert outcome is Outcome.NOTHING_RELEVANT
    assert why


def test_no_hits_by_keyword_tell_nothing_of_a_small_store() -> None:
    """ "authentication" holds no word of "Switched to JWT auth", which answers it."""
    outcome, why = confidence([], Tier.KEYWORD, 1, Measure, lambda: SMALL_SIZE)

    assert outcome is Outcome.WEAK
    assert why == "no memory contains any of these words, which says little in so small a store"
    assert said([], Tier.KEYWORD, terms=1, memories=SMALL_SIZE + 1) is Outcome.NOTHING_RELEVANT


# Where a model was asked: strangers -------------------------------------------

asked = st.sampled_from([Tier.HYBRID, Tier.VECTOR])
short = st.integers(1, LONG_QUERY)


@given(st.none() | cosines, asked, short, measures, found)
def test_what_holds_all_words_of_a_short_query_is_never_denied(cosine, tier, terms, by, others) -> None:
    assert said([(1.0, cosine), *others], tier, terms, by) is not Outcome.NOTHING_RELEVANT


@given(found, asked, lengths, telling, shares)
def test_the_nearer_strangers_come_the_less_is_trusted(rows, tier, terms, by, nearer) -> None:
    """Of two models whose right answers lie as far above strangers."""
    usual, right = by.usual, by.strangers.right
    assume(by.telling == 1)
    low = min(usual + nearer, 0.9)
    farther = measured(low, low + (right - usual) / (1 - usual) * (1 - low), low, by.inside)

    assert BETTER.index(said(rows, tier, terms, farther)) <= BETTER.index(said(rows, tier, terms, by))


@given(
    found,
    asked,
    lengths,
    telling,
    st.floats(0, 3),
)
def test_what_all_texts_of_a_model_have_in_common_does_not_count(rows, tier, terms, by, common) -> None:
    """A constant part of every vector makes (c + k) / (1 + k) of each cosine c; where it was 0.2 it may now be 0.8."""

    def moved(cosine: float) -> float:
        return (cosine + common) / (1 + common)

    known = by.strangers
    others = Strangers(1, moved(known.right), tuple(map(moved, known.nearest)), moved(known.mean))
    rows = [(coverage, cosine) for coverage, cosine in rows if cosine is not None]
    assume(rows)
    edge = [said([(coverage, cosine + slip) for coverage, cosine in rows], tier, terms, by) for slip in (-1e-6, 1e-6)]
    assume(edge[0] is edge[1])

    found = said([(coverage, moved(cosine)) for coverage, cosine in rows], tier, terms, by._replace(strangers=others))
    assert found is edge[0]


@given(st.floats(0, 0.5), st.floats(0.05, 0.5), st.integers(2, 3 * MANY))
def test_a_part_of_a_store_has_strangers_farther_away(usual, above, vectors) -> None:
    by = measured(usual, usual + above, mean=0.0, vectors=vectors)

    parts = [by._replace(inside=inside).usual for inside in (0, 1, vectors // 2, vectors)]

    assert parts == sorted(parts)
    assert parts[0] == 0.0
    assert parts[-1] == pytest.approx(usual)


@given(found, asked, short, st.integers(0, FEW))
@example([(0.0, None), (0.0, None)], Tier.HYBRID, 1, 0)
@example([(0.0, None), (0.0, 0.1)], Tier.HYBRID, 1, 0)
def test_before_strangers_are_known_only_what_shares_no_word_and_does_not_stand_out_is_denied(
    rows, tier, terms, vectors
) -> None:
    if said(rows, tier, terms, Measure(None, vectors, vectors)) is Outcome.NOTHING_RELEVANT:
        assert all(coverage == 0 for coverage, _ in rows)
        near = sorted((cosine or 0.0 for _, cosine in rows), reverse=True)  # without a vector: neither near nor far
        others = sum(near[1:]) / (len(near) - 1)
        assert near[0] < others + BY_FAR * (1 - others) + 1e-9


@given(found, asked, lengths, st.floats(0.3, 0.9), st.floats(1e-9, 0.5))
def test_of_a_model_whose_right_answers_are_no_nearer_than_strangers_words_decide(
    rows, tier, terms, usual, less
) -> None:
    by = measured(usual, usual - less, vectors=MANY)
    best = max(coverage for coverage, _ in rows)

    outcome = said(rows, tier, terms, by)

    assert by.telling == 0
    assert (outcome is Outcome.ANSWERED) == (best >= WEAK_MIN_COVERAGE and 0 < terms <= LONG_QUERY)
    if outcome is Outcome.NOTHING_RELEVANT:
        assert best <= HELD[1]


def test_where_cosines_tell_nothing_what_shares_a_common_word_and_is_no_nearer_than_strangers_is_denied() -> None:
    by = measured(0.3, 0.1, vectors=FEW)

    edge = 0.3 + 0.7 * NEARER[0]
    assert said([(BY_CHANCE - 1e-6, edge - 1e-6)], Tier.HYBRID, by=by) is Outcome.NOTHING_RELEVANT
    assert said([(BY_CHANCE + 1e-6, edge - 1e-6)], Tier.HYBRID, by=by) is Outcome.WEAK
    assert said([(0.0, edge + 1e-6), (0.0, edge)], Tier.HYBRID, by=by) is Outcome.WEAK


@given(st.lists(cosines, min_size=1, max_size=5), telling)
def test_where_no_word_was_looked_for_the_nearest_alone_decides(near, by) -> None:
    assume(by.telling == 1)
    bound = said([(0.0, cosine) for cosine in near], Tier.VECTOR, 0, by)

    assert bound is said([(0.0, max(near))], Tier.VECTOR, 0, by)
    assert bound is said([(HELD[0] / 2, max(near))], Tier.HYBRID, LONG_QUERY + 1, by)


@pytest.mark.parametrize("vectors", [FEW, MANY, 10 * MANY])
def test_how_much_nearer_and_how_many_words_are_worth_as_much(vectors) -> None:
    by = measured(0.2, 0.2 + 2 * TELLING, vectors=vectors)
    small = vectors == FEW
    nearer, held = (NEARER[0], HELD[0]) if small else (NEARER[1], HELD[1])
    edge = 0.2 + 0.8 * (nearer + DENIED)

    assert said([(held, edge + 1e-6)], Tier.HYBRID, by=by) is Outcome.WEAK
    assert said([(held, edge - 1e-6)], Tier.HYBRID, by=by) is Outcome.NOTHING_RELEVANT
    assert said([(held + 0.5, edge - 0.8 * 0.5 * WORDS + 1e-6)], Tier.HYBRID, by=by) is Outcome.WEAK
    assert said([(held + 0.5, edge - 0.8 * 0.5 * WORDS - 1e-6)], Tier.HYBRID, by=by) is Outcome.NOTHING_RELEVANT


@given(st.integers(1, 3 * MANY), cosines)
def test_what_is_denied_changes_with_the_vectors_without_a_jump(vectors, cosine) -> None:
    """Of the same strangers: one vector more moves the bound by less than a hundredth."""
    one, more = measured(0.2, 0.6, vectors=vectors), measured(0.2, 0.6, vectors=vectors + 1)
    if said([(0.1, cosine)], Tier.HYBRID, by=more) is Outcome.NOTHING_RELEVANT:
        assert said([(0.1, cosine - 0.01)], Tier.HYBRID, by=one) is Outcome.NOTHING_RELEVANT


# The strangers themselves -----------------------------------------------------


def test_the_strangers_are_some_fifty_to_a_hundred_and_each_is_one() -> None:
    assert 50 <= len(STRANGERS) <= 100
    assert len(set(STRANGERS)) == len(STRANGERS)
    assert set(ANSWERS) < set(STRANGERS)
    assert len(set(ANSWERS.values())) == len(ANSWERS) >= 30


# Where no model was asked: words ----------------------------------------------


@given(st.integers(1, 2 * USUAL_SIZE))
def test_the_size_of_a_store_counts_from_small_to_usual_in_proportion(memories) -> None:
    assert 0 <= largeness(memories) <= largeness(memories + 1) <= 1
    assert largeness(memories + 1) - largeness(memories) < 0.001
    assert (largeness(SMALL_SIZE), largeness(USUAL_SIZE)) == (0, 1)


without = st.sampled_from([Tier.KEYWORD, Tier.DISTILLED])


@given(found, without, lengths, measures)
def test_where_no_model_was_asked_cosines_count_for_nothing(rows, tier, terms, by) -> None:
    def unmeasured() -> Measure:
        raise AssertionError

    wordy = [hit(coverage, 1.0) for coverage, _ in rows]
    assert confidence(wordy, tier, terms, unmeasured)[0] is said(rows, tier, terms, by)


@given(found, lengths.filter(lambda terms: terms > LONG_QUERY), without)
def test_few_words_in_common_with_a_long_text_tell_nothing(rows, terms, tier) -> None:
    assert said(rows, tier, terms) is not Outcome.NOTHING_RELEVANT


@given(found, without, lengths, st.integers(0, SMALL_SIZE))
def test_a_small_store_denies_nothing_without_a_model(rows, tier, terms, memories) -> None:
    assert said(rows, tier, terms, memories=memories) is not Outcome.NOTHING_RELEVANT


@given(found, without, lengths)
def test_of_a_usual_store_words_alone_decide_by_the_best_coverage(rows, tier, terms) -> None:
    coverage = max(coverage for coverage, _ in rows)
    denied = coverage < WEAK_MIN_COVERAGE and terms <= LONG_QUERY

    assert (said(rows, tier, terms) is Outcome.NOTHING_RELEVANT) == denied


def test_words_alone_are_worth_what_they_cover() -> None:
    steps = [
        (0.0, Outcome.NOTHING_RELEVANT),
        (WEAK_MIN_COVERAGE, Outcome.WEAK),
        (ANSWERED_MIN_COVERAGE, Outcome.ANSWERED),
        (1.0, Outcome.ANSWERED),
    ]
    for (low, outcome), (high, _) in pairwise(steps):
        assert said([(low, None)], Tier.KEYWORD) is said([((low + high) / 2 - 1e-9, None)], Tier.KEYWORD) is outcome


def test_the_reason_says_the_numbers() -> None:
    by = measured(0.2, 0.6)
    assert confidence([hit(0.25, 0.3)], Tier.HYBRID, 3, lambda: by)[1] == (
        "the best result matches 25% of the words by weight, its cosine is 0.30, unrelated questions reach 0.20"
    )
    assert confidence([hit(0.25, 0.3)], Tier.VECTOR, LONG_QUERY + 1, lambda: by)[1] == (
        "the highest cosine is 0.30, unrelated questions reach 0.20"
    )
    assert confidence([hit(0.0, 0.3)], Tier.VECTOR, 0, Measure)[1] == (
        "the highest cosine is 0.30, which may be high or low for this model"
    )
    assert (
        confidence([hit(0.25, 0.3)], Tier.HYBRID, 3, Measure)[1] == "the best result matches 25% of the words by weight"
    )
    assert confidence([hit(0.25)], Tier.KEYWORD, 3, Measure)[1] == "the first result matches 25% of the words by weight"


@pytest.mark.parametrize(("rows", "outcome"), [
    ([(0.4, None), (1.0, None)], Outcome.WEAK),
    ([(0.5, None), (0.2, None)], Outcome.ANSWERED),
    ([(0.1, None), (0.4, None)], Outcome.WEAK),
])  # fmt: skip
def test_without_a_model_it_is_the_first_that_answers(rows, outcome) -> None:
    assert said(rows, Tier.KEYWORD) is outcome


def test_words_of_one_hit_and_the_likeness_of_another_are_evidence_of_neither() -> None:
    by = measured(0.2, 0.6)
    apart, together = [(0.9, 0.0), (0.0, 0.3)], [(0.9, 0.3), (0.0, 0.0)]

    assert said(together, Tier.HYBRID, 3, by) is Outcome.ANSWERED
    assert BETTER.index(said(apart, Tier.HYBRID, 3, by)) < BETTER.index(Outcome.ANSWERED)
