"""
How a word is spelled: whether English has it, what one edit makes of it, and how many edits are between two.

The list is `words.z`, made by scripts/right_words.py (its licence: words.LICENSE). It is read at the first question.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import ascii_lowercase

LISTED = Path(__file__).with_name("words.z")

SHORTEST = 3
"""Letters of the shortest word on the list."""

PART = 5
"""Letters from which a word of the list counts as a part of another."""

BEGINNINGS = "anti auto co de inter meta micro mis multi non out over pre re semi sub super un under".split()

ENDINGS = "er or able ize less ness".split()


def right(word: str) -> bool:
    """Whether the list has a word of small letters, or what it is made of: "mixins", "refolding", "matchers", "healthcheck"."""
    one = word.removesuffix("s")
    begun = [one.removeprefix(beginning) for beginning in BEGINNINGS]
    ended = [base + end for ending in ENDINGS if (base := one.removesuffix(ending)) != one for end in ("", "e")]
    cut = [(one[:place], one[place:]) for place in range(PART, len(one) - PART + 1)]
    return (
        listed(word)
        or any(listed(part) for part in (one, *begun, *ended) if len(part) >= PART or part is one)
        or any(listed(first) and listed(second) for first, second in cut)
    )


def listed(word: str) -> bool:
    """Whether the list has a word of small letters."""
    return word in _words(word[:1])


@cache
def _words(letter: str) -> frozenset[str]:
    """The words of the list that begin with a letter. Each is how many letters it shares with the one before, and its rest."""
    words, last = set[str](), ""
    for line in _lines().get(letter, "").split():
        last = last[: ord(line[0]) - ord("A")] + line[1:]
        words.add(last)
    return frozenset(words)


@cache
def _lines() -> dict[str, str]:
    """The list, by first letters."""
    from zlib import decompress

    lines = decompress(LISTED.read_bytes()).decode("ascii").splitlines()
    return dict(zip(ascii_lowercase, lines, strict=True))


def variants(word: str) -> set[str]:
    """What one edit makes of a word: a letter too many, too few or wrong, but for the first; or two beside each other swapped."""
    cut = [(word[:place], word[place:]) for place in range(1, len(word) + 1)]
    return {
        *(head + tail[1:] for head, tail in cut if tail),
        *(head + letter + tail for head, tail in cut for letter in ascii_lowercase),
        *(head + letter + tail[1:] for head, tail in cut if tail for letter in ascii_lowercase),
        *(head[:-1] + tail[0] + head[-1] + tail[1:] for head, tail in cut if tail),
    } - {word}


def distance(one: str, other: str) -> tuple[int, int]:
    """
    Edits that make one word of another, a swap of neighbours being one; and the fewest that make it of a beginning of it
    (Damerau, Communications of the ACM 7, 1964; optimal string alignment).
    """
    before, last = list[int](), list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, against in enumerate(other, start=1):
            least = min(row[-1] + 1, last[j] + 1, last[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and against == one[i - 2]:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        before, last = last, row
    return last[-1], min(last)
