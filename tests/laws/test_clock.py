"""Whatever a machine's clock says, and however slow the server answers: the server's time is known nearly as well."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given, strategies as st
from profiles import examples

from memory.store.postgres.opening import TOLERANCE, Clock

START = datetime(2026, 1, 1, tzinfo=UTC)

seconds = st.floats(0, 40)
wrongs = st.sampled_from([0.0, 0.9, -0.9, 61.0, -300.0, 3e6, -3e7]) | st.floats(-1e8, 1e8)
answers = st.tuples(seconds, seconds, seconds)


class Both:
    """The moment at the server, and a machine whose clock is wrong by so many seconds."""

    def __init__(self) -> None:
        self.moment, self.wrong = 0.0, 0.0
        self.clock = Clock(lambda: START + timedelta(seconds=self.moment + self.wrong))

    def ask(self, pause: float, there: float, back: float) -> None:
        """After a pause, an answer takes so long there and back."""
        self.moment += pause
        asked = self.clock.local()
        self.moment += there
        answer = START.timestamp() + self.moment
        self.moment += back
        self.clock.heard(answer, asked)

    def off(self) -> timedelta:
        return abs(self.clock.now() - START - timedelta(seconds=self.moment))


@examples(4)
@given(st.lists(st.tuples(wrongs, answers), min_size=1, max_size=6))
def test_after_an_answer_it_is_off_by_as_long_as_that_took_and_a_second(told) -> None:
    both = Both()
    for wrong, (pause, there, back) in told:
        both.wrong = wrong
        both.ask(pause, there, back)

        assert both.off() <= TOLERANCE + timedelta(seconds=there + back + 1e-3)


@examples(4)
@given(st.lists(answers, min_size=1, max_size=6), st.floats(-0.99, 0.99))
def test_a_clock_that_is_right_up_to_a_second_is_never_put_right(told, wrong) -> None:
    both = Both()
    both.wrong = wrong
    for answer in told:
        both.ask(*answer)

        assert both.clock.now() == both.clock.local()


@examples(4)
@given(st.lists(st.tuples(seconds, st.floats(0, 0.9), st.floats(0, 0.9)), min_size=2, max_size=6), wrongs)
def test_moments_of_one_machine_keep_their_order(told, wrong) -> None:
    both, moments = Both(), list[datetime]()
    both.wrong = wrong
    both.ask(*told[0])
    for answer in told[1:]:
        moments.append(both.clock.now())
        both.ask(*answer)
        moments.append(both.clock.now())

    assert all(one <= other for one, other in pairwise(moments))
