"""Laws of a ranking, which is kept in columns and read as a sequence of items."""

from __future__ import annotations

from hypothesis import given, strategies as st

from memory.schema.answer import Ranking, Scored

numbers = st.none() | st.floats(-1, 50)
items = st.lists(
    st.builds(Scored, st.integers(1, 40), st.integers(1, 9), st.floats(-1, 50), st.integers(0, 15), numbers, numbers),
    max_size=12,
)


@given(items)
def test_it_is_the_sequence_of_its_items(some) -> None:
    ranking = Ranking.of(some)

    assert [*ranking] == some
    assert [*reversed(ranking)] == some[::-1]
    assert (len(ranking), bool(ranking)) == (len(some), bool(some))
    assert [ranking[place] for place in range(-len(some), len(some))] == some + some
    assert all(len(column) == len(some) for column in ranking.columns)


@given(items, st.slices(12))
def test_a_part_is_a_ranking(some, part) -> None:
    assert Ranking.of(some)[part] == Ranking.of(some[part])


@given(items, items)
def test_it_equals_what_has_the_same_items(some, others) -> None:
    assert (Ranking.of(some) == Ranking.of(others)) == (some == others)
    assert Ranking.of(some) != some


@given(items, st.randoms(use_true_random=False))
def test_items_are_taken_with_other_scores(some, dice) -> None:
    places = dice.sample(range(len(some)), dice.randint(0, len(some)))
    scores = [dice.random() for _ in places]

    assert [*Ranking.of(some).at(places)] == [some[place] for place in places]
    assert [*Ranking.of(some).at(places, scores)] == [
        some[place]._replace(score=score) for place, score in zip(places, scores, strict=True)
    ]


@given(items)
def test_what_is_not_said_of_columns_is_the_default_of_an_item(some) -> None:
    plain = [Scored(*item[:3]) for item in some]

    assert [*Ranking(*Ranking.of(plain).columns[:3])] == plain
