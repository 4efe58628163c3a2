"""
How secrets are looked for: what a rule is, a text as whoever reads it sees it, and where in a text the rules find one.

A rule says where to look, what a secret looks like there, and which part of it is taken out. A text is also looked
through as it is seen: without colours of a terminal, with one kind of blank, its broken lines joined.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.redact.shape import STAND_INS, made_up, stand_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Span: TypeAlias = tuple[int, int]

SOLID = 16
"""Characters without a blank that a token has at least."""

START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
r"""Where a token may begin: no letter or digit stands before it, unless as the end of `\n` or `%3D`."""

END = r"(?![A-Za-z0-9])"


def secret(match: re.Match[str]) -> Span | None:
    """The group named `s` of a match, or all of it; None for a made-up one (`shape.made_up`)."""
    group = "s" if "s" in match.re.groupindex else 0
    return None if made_up(match[group]) else match.span(group)


def literal(match: re.Match[str]) -> Span | None:
    """The group named `s` of a match, short or plain as it may be; None for what says itself that it is none."""
    value = match["s"]
    return None if stand_in(value) or value.lower() in STAND_INS else match.span("s")


class Rule(NamedTuple):
    """
    One kind of secret.

    Attributes:
        name: What stands in the marker; lower case, digits, hyphens and colons.
        pattern: A regular expression of ASCII classes. With `words` it is tried only `back` characters before each
            place of a word; without, everywhere.
        words: Literals of which one must be there. Case counts unless the rule is `folded`; then they are lower case.
        solid: A match has at least `SOLID` characters and no blank among them.
        needs: Literals of which a text with a match holds one, besides a word: spares most texts the search for the words.
        nested: What matched and was not judged a secret is searched again, for a match may hold another. Else it is
            not, which keeps patterns without an upper bound linear.
        back: How many characters of a match stand before the word.
        judge: What of a match is the secret, if anything.
    """

    name: str
    pattern: str
    words: tuple[str, ...] = ()
    back: int = 0
    folded: bool = False
    solid: bool = False
    needs: tuple[str, ...] = ("",)
    nested: bool = False
    judge: Callable[[re.Match[str]], Span | None] = secret


@cache
def compiled(pattern: str, *, folded: bool) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.IGNORECASE if folded else re.ASCII)


def spans(rule: Rule, word: str, text: str, hay: str) -> Iterator[Span]:
    """
    What a rule takes out around a word.

    Args:
        hay: Where the word is looked for: the text, or its `lowered` one.
    """
    match, at = compiled(rule.pattern, folded=rule.folded).match, hay.find(word)
    while at >= 0:
        found = match(text, at - rule.back) if at >= rule.back else None
        span = rule.judge(found) if found else None
        if span:
            yield span
        seen = span[1] if span else found.end() if found and not rule.nested else 0
        at = hay.find(word, max(at + 1, seen))


def spans_anywhere(rule: Rule, text: str) -> Iterator[Span]:
    """What a rule without words takes out."""
    for match in re.compile(rule.pattern, re.IGNORECASE if rule.folded else 0).finditer(text):
        span = rule.judge(match)
        if span and span[0] < span[1]:
            yield span


def lowered(text: str) -> str:
    """The text in lower case, of the same length: only İ becomes longer."""
    return text.replace("İ", "i").lower()


_ESCAPE = r"(?:\x1b|\\x1[bB]|\\0?33|\\e|\\u001[bB]|\^\[)"
_GONE = (
    rf"{_ESCAPE}\[[0-9;:?]{{0,32}}[A-Za-z]|\x9b[0-9;:?]{{0,32}}[A-Za-z]"  # colours, also as they are written in sources
    r"|\\\r?\n[ \t]{0,200}"  # a line that goes on
    "|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"  # of no width
)
_BLANK = "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|&nbsp;|&#160;"
_FEW = ("\x1b", "\\", "&", "^[")
"""What ASCII text has that is not plain."""


class Plain(NamedTuple):
    """
    A plain text, and where in the one it was made of its parts stand.

    Attributes:
        starts: Places in `text`, ascending, from 0, from which on what stands there stood `shifts` characters later.
    """

    text: str
    starts: list[int]
    shifts: list[int]

    def span(self, start: int, stop: int) -> Span:
        """Where in the other text a stretch stands; with what is gone inside, without what is gone around it."""
        return self._place(start), self._place(stop - 1) + 1

    def _place(self, at: int) -> int:
        return at + self.shifts[bisect_right(self.starts, at) - 1]


def plain(text: str) -> Plain | None:
    """The text as it is seen; None if it is plain itself."""
    if text.isascii() and not any(sign in text for sign in _FEW):
        return None
    pieces, starts, shifts, length, end = [], [0], [0], 0, 0
    for found in _other().finditer(text):
        piece = text[end : found.start()] + (" " if found["blank"] else "")
        pieces.append(piece)
        length, end = length + len(piece), found.end()
        starts.append(length)
        shifts.append(end - length)
    return Plain("".join((*pieces, text[end:])), starts, shifts) if pieces else None


@cache
def _other() -> re.Pattern[str]:
    return re.compile(rf"{_GONE}|(?P<blank>{_BLANK})")


Hit: TypeAlias = tuple[str, Rule, int]
"""A word, the rule that looks around it, and the rank of the rule."""

SHORTEST = 8
"""Characters of a text in which a rule with words can find anything."""


DEEP = 4
"""How often what stands around secrets is searched again for another before more than the secret goes."""

MARGIN = 32
"""Characters that go with a secret on both sides that deep; four times as many each time, or a text could go on for ever."""


class Place(NamedTuple):
    """A secret at `text[start:stop]`, found by a rule; the earlier of two rules has the lower rank."""

    start: int
    stop: int
    rank: int
    name: str


class Finder:
    """
    Looks for all rules at once.

    A pattern runs only around a word of its rule, and is compiled when that happens first: most texts hold no word,
    and cost the search for the words alone.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        ranked = list(enumerate(rules))
        words = [(word, rule, rank) for rank, rule in ranked for word in rule.words]
        self._solid = tuple(hit for hit in words if hit[1].solid)
        self._sharp = _by_need(hit for hit in words if not hit[1].folded and not hit[1].solid)
        self._folded = _by_need(hit for hit in words if hit[1].folded)
        self._anywhere = tuple((rule, rank) for rank, rule in ranked if not rule.words)

    def places(self, text: str) -> list[Place]:
        """
        Every secret in a text, in order; those that overlap as one, under the name of the earliest rule.

        What is only seen once the text is plain is looked for beside what stands in it as it is.
        """
        if len(text) < SHORTEST and not self._anywhere:
            return []
        found = self._all(text)
        if seen := plain(text):
            found += [
                Place(*seen.span(place.start, place.stop), place.rank, place.name) for place in self._all(seen.text)
            ]
        return _merged(found)

    def _all(self, text: str) -> list[Place]:
        folded = lowered(text)
        hits = [
            (hit, hay)
            for needed, hay in ((self._sharp, text), (self._folded, folded))
            for needs, several in needed
            if any(need in text for need in needs)
            for hit in several
            if hit[0] in hay
        ]
        if solid := " ".join(part for part in text.split() if len(part) >= SOLID):
            hits += [(hit, text) for hit in self._solid if hit[0] in solid]
        found = [
            Place(*span, rank, rule.name) for (word, rule, rank), hay in hits for span in spans(rule, word, text, hay)
        ]
        found += [Place(*span, rank, rule.name) for rule, rank in self._anywhere for span in spans_anywhere(rule, text)]
        return found


def _by_need(hits: Iterable[Hit]) -> tuple[tuple[tuple[str, ...], tuple[Hit, ...]], ...]:
    grouped: dict[tuple[str, ...], list[Hit]] = {}
    for hit in hits:
        grouped.setdefault(hit[1].needs, []).append(hit)
    return tuple((needs, tuple(several)) for needs, several in grouped.items())


def _merged(found: Iterable[Place]) -> list[Place]:
    merged: list[Place] = []
    for place in sorted(found):
        if merged and place.start < merged[-1].stop:
            last = merged.pop()
            rank, name = min((last.rank, last.name), (place.rank, place.name))
            merged.append(Place(last.start, max(last.stop, place.stop), rank, name))
        else:
            merged.append(place)
    return merged


def widened(places: list[Place], depth: int, size: int) -> list[Place]:
    """
    The places found after so many searches around others, in a text of this size; from `DEEP` on with what is around.

    Each search reads all that is left of a text. A text in which every secret that is gone makes another of what stood
    before it, such as one name of a secret after the other, would be read once for each.
    """
    if depth < DEEP:
        return places
    margin = MARGIN << 2 * (depth - DEEP)
    return _merged(
        place._replace(start=max(0, place.start - margin), stop=min(size, place.stop + margin)) for place in places
    )
