"""Laws of what `memory eval` draws from a set, and of how it adds up what answers say."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, strategies as st

from evaluation.calibration import SIGNS, bands
from evaluation.sizes import ALL, draw, parsed
from evaluation.systems import NOTHING_RIGHT, Asked
from memory.evaluate import Measures
from memory.evaluate.judged import Judged, JudgedDocument, Question
from memory.schema.answer import Outcome

GROUPS = (None, "north", "south")


@st.composite
def sets(build) -> tuple[Judged, int]:
    """A set, and a size below its own."""
    groups = build(st.lists(st.sampled_from(GROUPS), min_size=2, max_size=12))
    documents = tuple(JudgedDocument(f"d{number}", "x", group=group) for number, group in enumerate(groups))
    ids = st.sets(st.sampled_from([document.id for document in documents]), min_size=1, max_size=4)
    relevant = build(st.lists(ids, min_size=1, max_size=8))
    questions = tuple(Question(f"q{i}", "y", None, dict.fromkeys(one, 1.0)) for i, one in enumerate(relevant))
    made = Judged("made", Path(), documents, questions, 0, 0, "")
    return made, build(st.integers(1, len(documents) - 1))


@given(sets(), st.integers(0, 99))
def test_a_draw_has_its_size_and_answers_all_that_it_is_asked(made_size, seed) -> None:
    made, size = made_size

    found = draw(made, made.questions, size, Random(seed))

    held = {document.id for document in found.documents}
    assert len(found.documents) == len(held) == size
    assert [one for one in made.documents if one.id in held] == list(found.documents)
    assert {one.id for one in found.questions} == {one.id for one in made.questions if one.relevant.keys() <= held}
    assert draw(made, made.questions, size, Random(seed)) == found


@given(sets(), st.integers(0, 99))
def test_a_draw_is_of_no_more_groups_than_hold_so_many_documents(made_size, seed) -> None:
    made, size = made_size

    drawn = draw(made, made.questions, size, Random(seed)).documents

    groups = {document.group for document in drawn}
    without = [[one for one in made.documents if one.group in groups - {group}] for group in groups]
    assert any(len(others) < size for others in without)


@given(st.lists(st.integers(1, 999_999_999), max_size=6))
def test_sizes_are_read_smallest_first_and_each_once(sizes) -> None:
    assert parsed(",".join([*map(str, sizes), f" {ALL} "])) == tuple(sorted(set(sizes)))


shares = st.none() | st.floats(-1, 1.2)
right = st.sampled_from([NOTHING_RIGHT, Measures(0.5, 0.5, 0.5, 0.5, 1.0), Measures(1.0, 1.0, 1.0, 1.0, 1.0)])
outcomes = st.sampled_from([str(one) for one in Outcome])


def answers(measures) -> st.SearchStrategy[list[Asked]]:
    one = st.builds(Asked, measures, st.just(0.0), outcome=outcomes, relevance=shares, similarity=shares)
    return st.lists(one, max_size=12)


@given(answers(right).filter(bool), answers(st.just(NOTHING_RIGHT)))
def test_every_answer_is_in_one_band_of_each_sign(own, strangers) -> None:
    found = bands(own, strangers)

    for sign, places in SIGNS.items():
        of_sign = [band for band in found if band.sign == sign]
        assert [band.told for band in of_sign] == [told for told in places if told in {one.told for one in of_sign}]
        assert sum(band.own for band in of_sign) == len(own)
        assert sum(band.strangers for band in of_sign) == len(strangers)
        first = sum(band.own * (band.first or 0) for band in of_sign)
        assert first == pytest.approx(sum(one.measures.mrr10 == 1 for one in own))
        five = sum(band.own * (band.five or 0) for band in of_sign)
        assert five == pytest.approx(sum(one.measures.hit5 for one in own))


@given(answers(right).filter(bool), answers(st.just(NOTHING_RIGHT)))
def test_strangers_only_make_an_answer_less_likely_right(own, strangers) -> None:
    for band in bands(own, strangers):
        assert (band.five is None) == (band.own == 0)
        assert (band.even is None) == (not strangers)
        if band.even is not None:
            assert 0 <= band.even <= (band.five or 0)
            assert band.strangers or band.even == band.five
            assert band.own or band.even == 0
    twice = bands(own, [*strangers, *strangers])  # however many strangers are asked, they count as one for one
    assert [band.even for band in twice] == pytest.approx([band.even for band in bands(own, strangers)])
