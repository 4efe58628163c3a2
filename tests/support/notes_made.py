"""Made-up notes about made-up subjects, the same ones every time: enough of them to learn term vectors from."""

from __future__ import annotations

from itertools import product
from random import Random

from memory import Draft

SUBJECTS = 24
"""Each has ten words of its own; a note says some of them."""

_WORDS = [
    "".join(parts) for parts in product(("ba", "ko", "mi", "tu", "ze", "fla"), ("dor", "lin", "nag", "vos"), "aeiou")
]
Random(7).shuffle(_WORDS)
COMMON = ("nimbat", "orlec", "purdo", "quist", "rafto", "sulip")
"""Words that any note may say."""


def words(subject: int) -> list[str]:
    """The words of a subject, none of which stops a query or is of another subject."""
    own = _WORDS[5 * (subject % SUBJECTS) : 5 * (subject % SUBJECTS) + 5]
    return [*own, *(f"{word}k" for word in own)]


def drafts(count: int, *, first: int = 0) -> list[Draft]:
    """
    So many notes, each of the subject of its number, no two alike.

    Args:
        first: The number of the first one.
    """
    found = []
    for number in range(first, first + count):
        dice = Random(number)
        own = words(number)
        said = [*dice.choices(own, k=7), *dice.choices(COMMON, k=3)]
        dice.shuffle(said)
        found.append(Draft(title=f"{dice.choice(own)} {dice.choice(own)}", what=f"{' '.join(said)} n{number}x"))
    return found
