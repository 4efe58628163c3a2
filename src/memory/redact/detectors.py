"""
How secrets are found: what a rule is, a text as its reader sees it, and where in a text the rules match.

A rule says where to look, what a secret looks like there, and which part of it to remove. A text is also searched as
it is seen: without terminal colours, with one kind of space, and with continued lines joined.
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
"""A token has at least this many characters, with no space among them."""

START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
r"""Where a token may begin: not after a letter or digit, unless that ends `\n` or `%3D`."""

END = r"(?![A-Za-z0-9])"


def secret(match: re.Match[str]) -> Span | None:
    """The group named `s` of a match, or all of it; None if it is made up (`shape.made_up`)."""
    group = "s" if "s" in match.re.groupindex else 0
    return None if made_up(match[group]) else match.span(group)


def literal(match: re.Match[str]) -> Span | None:
    """The group named `s` of a match, however short or plain; None for an obvious placeholder."""
    value = match["s"]
    return None if stand_in(value) or value.lower() in STAND_INS else match.span("s")


class Rule(NamedTuple):
    """
    One kind of secret.

    Attributes:
        name: The name in the marker; lower case, digits, hyphens and colons.
        pattern: A regular expression with ASCII classes. With `words` it is tried only `back` characters before each
            occurrence of a word; without, everywhere.
        words: Literals, one of which must occur. Case matters unless the rule is `folded`;
            then they are in lower case.
        solid: A match has at least `SOLID` characters and no space among them.
        needs: Literals, one of which every text with a match contains besides a word. They spare most texts the search
            for words.
        nested: Search a match again that was judged no secret, because it may contain one. Without this it is skipped,
            which keeps patterns without an upper bound linear.
        back: How many characters of a match precede the word.
        judge: Gives the span of the secret within a match, or None.
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
    The spans that a rule removes around a word.

    Args:
        hay: Where to look for the word: the text itself, or `lowered(text)`.
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
    """The spans that a rule without words removes."""
    for match in re.compile(rule.pattern, re.IGNORECASE if rule.folded else 0).finditer(text):
        span = rule.judge(match)
        if span and span[0] < span[1]:
            yield span


def lowered(text: str) -> str:
    """The text in lower case with the same length, which only İ would change."""
    return text.replace("İ", "i").lower()


_ESCAPE = r"(?:\x1b|\\x1[bB]|\\0?33|\\e|\\u001[bB]|\^\[)"
_GONE = (
    rf"{_ESCAPE}\[[0-9;:?]{{0,32}}[A-Za-z]|\x9b[0-9;:?]{{0,32}}[A-Za-z]"  # colours, also as sources write them
    r"|\\\r?\n[ \t]{0,200}"  # a continued line
    "|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"  # zero width
)
_BLANK = "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|&nbsp;|&#160;"
_FEW = ("\x1b", "\\", "&", "^[")
"""What ASCII text contains if it is not plain."""


class Plain(NamedTuple):
    """
    A plain text, and where its parts stand in the text it was made from.

    Attributes:
        starts: Offsets in `text`, ascending from 0; from each on, the original is `shifts` characters further.
    """

    text: str
    starts: list[int]
    shifts: list[int]

    def span(self, start: int, stop: int) -> Span:
        """The same stretch in the original: with characters removed inside it, without those removed around it."""
        return self._place(start), self._place(stop - 1) + 1

    def _place(self, at: int) -> int:
        return at + self.shifts[bisect_right(self.starts, at) - 1]


def plain(text: str) -> Plain | None:
    """The text as a reader sees it; None if it is plain already."""
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
"""A word, the rule that applies around it, and the rule's rank."""

SHORTEST = 8
"""Texts shorter than this cannot match a rule with words."""


DEEP = 4
"""How many searches around removed secrets remove only the secret they find; later ones remove more."""

MARGIN = 32
"""
Characters removed on both sides of a secret at depth `DEEP`; four times as many at each further depth.

Otherwise a text could keep the search going for ever.
"""


class Place(NamedTuple):
    """A secret at `text[start:stop]`, and the rule that found it; an earlier rule has a lower rank."""

    start: int
    stop: int
    rank: int
    name: str


class Finder:
    """
    Searches for all rules at once.

    A pattern runs only around a word of its rule, and is compiled the first time:
    most texts contain no such word and cost no more than the search for words.
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
        Every secret in a text, in order; overlapping ones as one, under the name of the earliest rule.

        The plain form of the text is searched too, for secrets that only show there.
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
    The places found at a depth of repeated searches, in a text of this size; from depth `DEEP` on with margins.

    Each search reads all that is left of a text. Without margins, a text in which each removed secret turns what
    precedes it into another, such as a row of names of secrets, would be read once for each.
    """
    if depth < DEEP:
        return places
    margin = MARGIN << 2 * (depth - DEEP)
    return _merged(
        place._replace(start=max(0, place.start - margin), stop=min(size, place.stop + margin)) for place in places
    )
