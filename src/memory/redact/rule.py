"""What a rule is: where to look, what a secret looks like there, and which part of it is taken out."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.redact.shape import STAND_INS, made_up, stand_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    held = match["s"]
    return None if stand_in(held) or held.lower() in STAND_INS else match.span("s")


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
