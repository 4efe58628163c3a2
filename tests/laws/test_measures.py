"""Laws of the measures, and of the intervals of their means."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from memory.evaluate import bootstrap, measures, ndcg, recall, reciprocal

IDS = [f"d{number}" for number in range(16)]
rankings = st.lists(st.sampled_from(IDS), unique=True)
judgments = st.dictionaries(st.sampled_from(IDS), st.sampled_from((0.5, 1.0, 2.0, 3.0)), min_size=1, max_size=12)
few = st.dictionaries(st.sampled_from(IDS), st.floats(0.1, 5), min_size=1, max_size=5)
depths = st.integers(1, 12)
values = st.lists(st.floats(0, 1), min_size=1, max_size=60)


def best(relevant) -> list[str]:
    return sorted(relevant, key=lambda one: -relevant[one])


# Measures ----------------------------------------------------------------


@given(rankings, judgments)
def test_every_measure_is_a_share(ranking, relevant) -> None:
    assert all(0 <= value <= 1 + 1e-12 for value in measures(ranking, relevant))


@given(judgments, rankings)
def test_what_answers_best_first_is_perfect(relevant, others) -> None:
    ranking = [*best(relevant), *(id for id in others if id not in relevant)]

    found = measures(ranking, relevant)

    assert found.ndcg10 == pytest.approx(1)
    assert (found.mrr10, found.hit5) == (1, 1)
    assert found.recall10 == pytest.approx(min(10, len(relevant)) / len(relevant))
    assert found.recall5 == pytest.approx(min(5, len(relevant)) / len(relevant))


@given(rankings, judgments)
def test_what_finds_nothing_is_worth_nothing(ranking, relevant) -> None:
    assert measures([id for id in ranking if id not in relevant], relevant) == (0, 0, 0, 0, 0)


@given(rankings, judgments, st.randoms(use_true_random=False))
def test_neither_the_order_of_the_judgments_nor_what_comes_after_ten_matters(ranking, relevant, dice) -> None:
    shuffled, rest = list(relevant.items()), ranking[10:]
    dice.shuffle(shuffled)
    dice.shuffle(rest)

    assert measures([*ranking[:10], *rest], dict(shuffled)) == measures(ranking, relevant)


@given(rankings, judgments)
def test_ids_are_names_alone(ranking, relevant) -> None:
    renamed = {f"other {id}": grade for id, grade in relevant.items()}

    assert measures([f"other {id}" for id in ranking], renamed) == measures(ranking, relevant)


@given(rankings, few, depths)
def test_ndcg_is_the_gain_over_that_of_the_best_of_all_orders(ranking, relevant, k) -> None:
    def gain(order) -> float:
        return sum(relevant.get(id, 0) / math.log2(place + 2) for place, id in enumerate(order[:k]))

    ideal = max(gain(order) for order in permutations(relevant))

    assert ndcg(ranking, relevant, k) == pytest.approx(gain(ranking) / ideal)


@given(rankings, judgments, depths)
def test_recall_and_reciprocal_rank_count_as_their_names_say(ranking, relevant, k) -> None:
    places = [place for place, id in enumerate(ranking, start=1) if id in relevant and place <= k]

    assert recall(ranking, relevant, k) * len(relevant) == pytest.approx(len(places))
    assert reciprocal(ranking, relevant, k) == (1 / places[0] if places else 0)
    assert measures(ranking, relevant).hit5 == float(any(id in relevant for id in ranking[:5]))


@given(st.permutations(IDS), judgments, st.integers(0, len(IDS) - 2))
def test_of_two_neighbours_the_better_one_first_is_never_worse(ranking, relevant, place) -> None:
    before, two, after = ranking[:place], ranking[place : place + 2], ranking[place + 2 :]
    worse, better = sorted(two, key=lambda one: relevant.get(one, 0))

    well = measures([*before, better, worse, *after], relevant)
    ill = measures([*before, worse, better, *after], relevant)

    assert all(one >= other - 1e-12 for one, other in zip(well, ill, strict=True))


# Intervals ---------------------------------------------------------------


@given(values)
def test_an_interval_holds_its_mean_and_lies_among_the_values(given_values) -> None:
    found = bootstrap(given_values)

    assert found.mean == pytest.approx(math.fsum(given_values) / len(given_values))
    assert found.low - 1e-12 <= found.mean <= found.high + 1e-12
    assert min(given_values) - 1e-12 <= found.low <= found.high <= max(given_values) + 1e-12


@given(values)
def test_sixteen_times_as_many_questions_make_it_much_narrower(given_values) -> None:
    few, many = bootstrap(given_values), bootstrap(given_values * 16)

    assert many.mean == pytest.approx(few.mean)
    assert many.high - many.low <= 0.6 * (few.high - few.low) + 1e-9


@given(values)
def test_it_is_the_same_each_time(given_values) -> None:
    assert bootstrap(given_values) == bootstrap(given_values)


def test_it_covers_what_it_should():
    """Half of 400 questions: the interval of a share, by the normal approximation, is 0.5 ± 1.96 · 0.025."""
    found = bootstrap([0.0, 1.0] * 200)

    assert (found.low, found.high) == (pytest.approx(0.451, abs=0.006), pytest.approx(0.549, abs=0.006))
