"""How far an answer can be trusted, by what it tells its caller: how often it is right where it says this or that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.systems import Asked

NONE = "none"
TENTHS = tuple(f"{step / 10:.1f} to {(step + 1) / 10:.1f}" for step in range(10))
OUTCOMES = (Outcome.NOTHING_RELEVANT, Outcome.WEAK, Outcome.ANSWERED)
SIGNS = {
    "outcome": (*map(str, OUTCOMES), *(str(outcome) for outcome in Outcome if outcome not in OUTCOMES)),
    "relevance": (*TENTHS, NONE),
    "similarity": (*TENTHS, NONE),
}
"""What an answer tells: its outcome, and the relevance and the similarity of its first hit; of each, what it may say."""


class Band(NamedTuple):
    """
    The answers that say the same.

    Attributes:
        sign, told: A key of `SIGNS`, and what of it they say; "none" also where there is no hit.
        own: How many of the set's own questions are answered so.
        first, five: The shares of these whose first hit, or one of the first five, answers the question; None if `own`
            is 0.
        strangers: How many questions that the set does not answer are answered so.
        even: The share of right answers (`five`) if half of all questions were of strangers; None without any.
    """

    sign: str
    told: str
    own: int
    first: float | None
    five: float | None
    strangers: int
    even: float | None


def bands(own: Sequence[Asked], strangers: Sequence[Asked]) -> tuple[Band, ...]:
    """
    All bands that have an answer, in the order of `SIGNS`.

    Args:
        own: At least one.
    """
    return tuple(
        _band(sign, told, own, strangers)
        for sign, every in SIGNS.items()
        for told in every
        if any(_told(answer, sign) == told for answer in (*own, *strangers))
    )


def _told(answer: Asked, sign: str) -> str:
    if sign == "outcome":
        return answer.outcome
    value: float | None = getattr(answer, sign)
    return NONE if value is None else TENTHS[min(9, max(0, int(value * 10)))]


def _band(sign: str, told: str, own: Sequence[Asked], strangers: Sequence[Asked]) -> Band:
    so = [answer.measures for answer in own if _told(answer, sign) == told]
    foreign = sum(_told(answer, sign) == told for answer in strangers)
    first = five = even = None
    if so:
        first = sum(one.mrr10 == 1 for one in so) / len(so)
        five = sum(one.hit5 for one in so) / len(so)
    if strangers:
        of_strangers = foreign / len(strangers)
        even = 0.0 if five is None else five / (1 + of_strangers * len(own) / len(so))
    return Band(sign, told, len(so), first, five, foreign, even)
