"""Laws of how far an answer can be trusted."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from memory import Config, Draft, Engine
from memory.rank.hits import (
    ANSWERED_MIN,
    ANSWERED_MIN_COSINE,
    ANSWERED_MIN_COVERAGE,
    CALIBRATED_MODELS,
    CALIBRATED_SIZE,
    FAINT_COSINE,
    LONG_QUERY,
    SMALL_SIZE,
    WEAK_MIN,
    WEAK_MIN_COSINE,
    WEAK_MIN_COVERAGE,
    confidence,
    largeness,
)
from memory.schema.answer import Hit, Outcome, Tier
from oracle.ram import RamStore

BETTER = [Outcome.NOTHING_RELEVANT, Outcome.WEAK, Outcome.ANSWERED]


def made() -> Hit:
    """Of a real search; how far it can be trusted is said by two of its numbers."""
    config = replace(Config(), embedding=replace(Config().embedding, provider="none"))
    with Engine(RamStore(), config) as engine:
        engine.save(Draft(title="alpha"))
        return engine.search("alpha").hits[0]


MADE = made()

shares = st.floats(0, 1)
found = st.lists(st.tuples(shares, st.none() | st.floats(-1, 1)), min_size=1, max_size=5)
tiers = st.sampled_from(Tier)
models = st.sampled_from(["", "all-minilm", "sentence-transformers/All-MiniLM-L6-v2", "nomic-embed-text:latest"])
lengths = st.integers(0, 2 * LONG_QUERY)
counts = st.integers(0, 2 * CALIBRATED_SIZE)
searches = st.tuples(tiers, models, lengths, counts)


def hit(coverage: float, cosine: float | None = None) -> Hit:
    return MADE._replace(coverage=coverage, cosine=cosine)


def said(rows, tier: Tier, model: str = "", terms: int = 3, vectors: int = CALIBRATED_SIZE) -> Outcome:
    return confidence([hit(*row) for row in rows], tier, model, terms, lambda: vectors)[0]


@given(found, shares, st.none() | st.floats(-1, 1), searches)
def test_another_hit_never_makes_an_answer_worse(rows, coverage, cosine, search) -> None:
    more = [*rows, (coverage, cosine)]

    assert BETTER.index(said(rows, *search)) <= BETTER.index(said(more, *search))


@given(found, shares, shares, searches)
def test_more_words_or_a_nearer_vector_never_make_an_answer_worse(rows, words, nearer, search) -> None:
    (coverage, cosine), *others = rows
    better = [(min(1.0, coverage + words), None if cosine is None else min(1.0, cosine + nearer)), *others]

    assert BETTER.index(said(rows, *search)) <= BETTER.index(said(better, *search))


@given(found, tiers, models, lengths, st.randoms(use_true_random=False))
def test_the_order_of_the_hits_does_not_matter(rows, tier, model, terms, dice) -> None:
    other = list(rows)
    dice.shuffle(other)

    assert confidence([hit(*row) for row in rows], tier, model, terms) == confidence(
        [hit(*row) for row in other], tier, model, terms
    )


@given(tiers, models, lengths)
def test_no_hits_of_many_memories_are_nothing_relevant(tier, model, terms) -> None:
    outcome, why = confidence([], tier, model, terms)

    assert outcome is Outcome.NOTHING_RELEVANT
    assert why


def test_no_hits_by_keyword_tell_nothing_of_a_small_store() -> None:
    """ "authentication" holds no word of "Switched to JWT auth", which answers it."""
    outcome, why = confidence([], Tier.KEYWORD, "", 1, lambda: SMALL_SIZE)

    assert outcome is Outcome.WEAK
    assert why == "no memory in scope holds any of the words, which tells little of so few memories"
    assert said([], Tier.KEYWORD, terms=1, vectors=SMALL_SIZE + 1) is Outcome.NOTHING_RELEVANT


# Small stores ----------------------------------------------------------------

irrelevant = st.sampled_from([*CALIBRATED_MODELS])
sizes = st.integers(0, SMALL_SIZE)


@given(found, st.sampled_from(Tier), irrelevant, lengths, sizes)
def test_a_small_store_denies_only_what_shares_no_word_and_is_not_even_faintly_like_it(
    rows, tier, model, terms, vectors
) -> None:
    if said(rows, tier, model, terms, vectors) is Outcome.NOTHING_RELEVANT:
        assert tier in {Tier.HYBRID, Tier.VECTOR}
        assert all(coverage == 0 and (cosine or 0.0) < FAINT_COSINE for coverage, cosine in rows)


@given(st.floats(0, FAINT_COSINE, exclude_max=True), st.integers(5, SMALL_SIZE), st.integers(1, LONG_QUERY))
def test_a_small_store_denies_what_shares_no_word_and_is_not_even_faintly_like_it(cosine, vectors, terms) -> None:
    assert said([(0.0, cosine)], Tier.HYBRID, "all-minilm", terms, vectors) is Outcome.NOTHING_RELEVANT


@given(found, searches)
def test_a_smaller_store_never_denies_what_a_larger_one_does_not(rows, search) -> None:
    *how, vectors = search
    if said(rows, *how, vectors) is Outcome.NOTHING_RELEVANT:
        assert said(rows, *how, max(vectors, CALIBRATED_SIZE)) is Outcome.NOTHING_RELEVANT
    else:
        assert said(rows, *how, min(vectors, SMALL_SIZE)) is not Outcome.NOTHING_RELEVANT


def faintest(coverage: float, terms: int, vectors: int) -> float:
    """The least cosine that is not denied, to a ten thousandth; -1 if none is."""
    low, high = -1.0, 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        denied = said([(coverage, middle)], Tier.HYBRID, "all-minilm", terms, vectors) is Outcome.NOTHING_RELEVANT
        low, high = (middle, high) if denied else (low, middle)
    return low


@given(st.integers(1, 2 * CALIBRATED_SIZE), lengths)
def test_what_is_denied_without_a_word_in_common_changes_with_the_vectors_without_a_jump(vectors, terms) -> None:
    """One vector of a store beyond the first moves the bound by less than a hundredth, one of two by what two mean."""
    bound = faintest(0.0, terms, vectors)

    assert abs(faintest(0.0, terms, vectors + 1) - bound) < (0.01 if vectors > 10 else 0.1)


@given(st.integers(1, 2 * CALIBRATED_SIZE))
def test_the_size_of_a_store_counts_from_small_to_usual_in_proportion(vectors) -> None:
    assert 0 <= largeness(vectors) <= largeness(vectors + 1) <= 1
    assert largeness(vectors + 1) - largeness(vectors) < 0.001
    assert (largeness(SMALL_SIZE), largeness(CALIBRATED_SIZE)) == (0, 1)


@given(found, st.sampled_from(Tier), models, lengths)
def test_of_a_usual_store_todays_thresholds_hold(rows, tier, model, terms) -> None:
    """The rule of decision 0020, written out."""
    coverage = max(coverage for coverage, _ in rows)
    nearest = max((cosine for _, cosine in rows if cosine is not None), default=0.0)
    short = 0 < terms <= LONG_QUERY
    if tier in {Tier.HYBRID, Tier.VECTOR}:
        known = model.rpartition("/")[2].lower() in CALIBRATED_MODELS
        denied = known and (nearest + coverage / 2 < WEAK_MIN if short else nearest < WEAK_MIN_COSINE)
    else:
        denied = coverage < WEAK_MIN_COVERAGE and terms <= LONG_QUERY

    assert (said(rows, tier, model, terms) is Outcome.NOTHING_RELEVANT) == denied


@given(found, st.sampled_from([Tier.HYBRID, Tier.VECTOR]), st.sampled_from(["", "nomic-embed-text", "all-minilm-l12"]))
def test_the_cosines_of_a_model_that_nobody_calibrated_tell_nothing(rows, tier, model) -> None:
    outcome = said(rows, tier, model)

    assert outcome is not Outcome.NOTHING_RELEVANT
    assert outcome is said([(coverage, None) for coverage, _ in rows], tier, model)


@given(found, st.sampled_from([Tier.KEYWORD, Tier.DISTILLED]), models, lengths)
def test_where_no_model_was_asked_cosines_count_for_nothing(rows, tier, model, terms) -> None:
    assert said(rows, tier, model, terms) is said([(coverage, 1.0) for coverage, _ in rows], tier, "", terms)


@given(found, lengths.filter(lambda terms: terms > LONG_QUERY), st.sampled_from([Tier.KEYWORD, Tier.DISTILLED]))
def test_few_words_in_common_with_a_long_text_tell_nothing(rows, terms, tier) -> None:
    assert said(rows, tier, "", terms) is not Outcome.NOTHING_RELEVANT


@pytest.mark.parametrize("model", [*CALIBRATED_MODELS, "all-minilm:latest", "sentence-transformers/all-MiniLM-L6-v2"])
@pytest.mark.parametrize(
    ("coverage", "cosine", "outcome"),
    [
        (0.0, ANSWERED_MIN, Outcome.ANSWERED),
        (1.0, ANSWERED_MIN - 0.5, Outcome.ANSWERED),
        (1.0, ANSWERED_MIN - 0.51, Outcome.WEAK),
        (0.0, WEAK_MIN, Outcome.WEAK),
        (0.2, WEAK_MIN - 0.11, Outcome.NOTHING_RELEVANT),
        (1.0, None, Outcome.NOTHING_RELEVANT),
    ],
)
def test_a_calibrated_model_says_how_much_its_cosines_and_the_words_are_worth(model, coverage, cosine, outcome) -> None:
    assert said([(coverage, cosine)], Tier.HYBRID, model) is outcome


@pytest.mark.parametrize("terms", [0, LONG_QUERY + 1])
@pytest.mark.parametrize(
    ("cosine", "outcome"),
    [
        (ANSWERED_MIN_COSINE, Outcome.ANSWERED),
        (WEAK_MIN_COSINE, Outcome.WEAK),
        (WEAK_MIN_COSINE - 0.01, Outcome.NOTHING_RELEVANT),
        (-0.5, Outcome.NOTHING_RELEVANT),
    ],
)
def test_where_words_tell_nothing_the_cosine_does(terms, cosine, outcome) -> None:
    assert said([(0.1, cosine)], Tier.VECTOR, "all-minilm", terms) is outcome
    assert said([(0.1, cosine)], Tier.VECTOR, "nomic-embed-text", 0) is Outcome.WEAK


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
    assert (
        confidence([hit(0.25, 0.3)], Tier.HYBRID, "all-minilm", 3)[1]
        == "the best holds 25% of the query, the nearest is 0.30 like it"
    )
    assert confidence([hit(0.25)], Tier.KEYWORD, "", 3)[1] == "the best holds 25% of the query"
