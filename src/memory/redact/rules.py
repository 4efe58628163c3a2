"""
Rules: what one is, where a text matches them, and the markers that name them.

A rule says where to look, what a secret looks like there, and which part of it to remove.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.redact.detectors import STAND_INS, made_up, stand_in
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

Span: TypeAlias = tuple[int, int]

SOLID = 16
"""A token has at least this many characters, with no space among them."""

RUN = 24
"""A token without a word of its own stands in a run of at least so many characters."""

HEAD = 4
"""Characters by which words are sorted out that begin where no letter precedes."""

_HEAD = itemgetter(slice(HEAD))
_APART = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_RUN = rf"[A-Za-z0-9][\w.:~%+/=-]{{{RUN - 1},}}"

BEFORE = 256
AHEAD = 4_608
"""How many characters before and after a word a nested rule looks at, at most, with what its judge reads."""

LATELY = 4
"""How many places are remembered where a nested rule found nothing: the words of a row may take turns."""

SHORTEST = 8
"""Texts shorter than this cannot match a rule with words."""


def secret(match: re.Match[str]) -> Span | None:
    """The group named `s` of a match, or all of it; None if it is made up (`detectors.made_up`)."""
    group = "s" if "s" in match.re.groupindex else 0
    return None if made_up(match[group]) else match.span(group)


def literal(match: re.Match[str]) -> Span | None:
    """The group named `s` of a match, however short or plain; None for an obvious placeholder."""
    value = match["s"]
    return None if stand_in(value) or value.lower() in STAND_INS else match.span("s")


class SecretRule(NamedTuple):
    """
    One kind of secret.

    Attributes:
        name: The name in the marker; lower case, digits, hyphens and colons.
        pattern: A regular expression. With `words` its classes are ASCII, and it is tried only `back` characters
            before each occurrence of a word; without, it is tried everywhere, and its classes are Unicode.
        words: Literals, one of which must occur. Case matters unless the rule is `folded`;
            then they are in lower case.
        solid: A match has at least `SOLID` characters and no space among them.
        needs: Literals, one of which every text with a match contains besides a word. A single one spares most texts
            the search for the words.
        nested: Search a match again that was judged no secret, because it may contain one. Without this it is skipped,
            which keeps patterns without an upper bound linear.
        back: How many characters of a match precede the word.
        apart: Each word begins where no letter or digit precedes it, or after a line break as JSON writes it.
        long: Without words: tried only in runs of at least so many characters of which tokens are made.
        judge: Gives the span of the secret within a match, or None.
        reader: Gives the spans of all secrets in a text that contains a word; there is no pattern then. It sees the
            whole text, markers included, for secrets whose name is in another line, such as the head of a table.
    """

    name: str
    pattern: str
    words: tuple[str, ...] = ()
    back: int = 0
    folded: bool = False
    solid: bool = False
    needs: tuple[str, ...] = ()
    nested: bool = False
    apart: bool = False
    long: int = 0
    judge: Callable[[re.Match[str]], Span | None] = secret
    reader: Callable[[Text], Iterable[Span]] | None = None


@cache
def compiled(pattern: str, *, folded: bool) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.IGNORECASE if folded else re.ASCII)


# Where a text matches --------------------------------------------------------


class SecretSpan(NamedTuple):
    """A secret at `text[start:stop]`, and the rank of the rule that found it; an earlier rule has a lower one."""

    start: int
    stop: int
    rank: int


class Text:
    """
    A text with what rules are looked for by.

    Attributes:
        parts: Those of its parts between blanks in which a token may be.
        heads: The first four characters of each word in ASCII.
        signs: The characters outside ASCII, if there are any.
        hits: The words of rules that occur in it, once they were looked for.
        form: It as its reader sees it, once that was asked for; see `memory.redact.plain`.
    """

    __slots__ = ("form", "heads", "hits", "low", "parts", "signs", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.low = low = lowered(text)
        self.parts = [part for part in text.split() if len(part) >= SOLID]
        self.signs = frozenset() if text.isascii() else frozenset(re.findall("[^\0-\x7f]", low))
        for sign, code in (("\\", r"\\[nrt]"), ("%", "%[0-9a-f]{2}")):
            if sign in low:
                low = compiled(code, folded=False).sub(" ", low)
        self.heads = frozenset(map(_HEAD, low.encode(errors="replace").translate(_APART).split()))
        self.hits: list[SoughtWord] | None = None
        self.form: tuple[View | None] | None = None


class View(NamedTuple):
    """
    A text as its reader sees it.

    Attributes:
        at, after: Where a character of it begins and ends in the text.
    """

    whole: Text
    at: Callable[[int], int]
    after: Callable[[int], int]


class SoughtWord(NamedTuple):
    """
    A word that is looked for.

    Attributes:
        needs: Of which one must occur too, if there are any.
        among: 0 in the text, 1 in lower case, 2 in the parts of the text in which a token may be.
    """

    word: str
    needs: tuple[str, ...]
    among: int
    rule: SecretRule
    rank: int


class Words:
    """Words that are looked for. Most are ruled out together, without a search of the text for each."""

    def __init__(self, ranked: Iterable[tuple[int, SecretRule]]) -> None:
        self._anyhow: tuple[dict[str, dict[str, list[SoughtWord]]], ...] = (
            {},
            {},
            {},
        )  # by a sign without which it is not looked for
        self._heads: dict[bytes, list[SoughtWord]] = {}
        self._signs: dict[str, list[SoughtWord]] = {}
        for rank, rule in ranked:
            among = 2 if rule.solid else 1 if rule.folded or rule.reader else 0
            for word in rule.words:
                for several in self._places(word, among, rule):
                    several.append(SoughtWord(word, rule.needs, among, rule, rank))

    def _places(self, word: str, among: int, rule: SecretRule) -> list[list[SoughtWord]]:
        if not word.isascii():
            return [self._signs.setdefault(next(sign for sign in word.lower() if not sign.isascii()), [])]
        first = next((at for at, letter in enumerate(word) if not letter.isalnum()), len(word))
        begun = word[:first].lower()
        if rule.apart and (len(begun) >= HEAD or 0 < first < len(word)):
            return [self._heads.setdefault(begun[:HEAD].encode(), [])]
        if rule.apart and len(begun) == HEAD - 1:  # such as `otp`: any letter or digit may follow
            return [self._heads.setdefault(f"{begun}{one}".encode(), []) for one in ("", *_LETTERS)]
        sign = next((letter for letter in word if not letter.isalnum() and letter != " "), "")
        sign = sign or (rule.needs[0] if len(rule.needs) == 1 and not rule.solid else "")
        return [self._anyhow[among].setdefault(sign, {}).setdefault(word, [])]

    def present(self, text: Text) -> list[SoughtWord]:
        """Those that occur in a text."""
        hays = (text.text, text.low, " ".join(text.parts))
        found: list[SoughtWord] = []
        for hay, signs in zip(hays, self._anyhow, strict=True):
            for sign, words in signs.items() if hay else ():
                if sign in hay:
                    for word, several in words.items():
                        if word in hay:
                            found += several
        for head in self._heads.keys() & text.heads:
            found += [one for one in self._heads[head] if one.word in hays[one.among]]
        for sign in self._signs.keys() & text.signs if text.signs else ():
            found += [one for one in self._signs[sign] if one.word in hays[one.among]]
        return [one for one in found if not one.needs or any(need in text.text for need in one.needs)]


@lru_cache(maxsize=4)
def finder(rules: tuple[SecretRule, ...]) -> Finder:
    """One that searches for these rules: made once a process for the built-in ones, which takes longer than most saves."""
    return Finder(rules)


class Finder:
    """
    Searches for all rules at once. Keeps nothing of a text: threads may share it.

    A pattern runs only around a word of its rule, and is compiled the first time:
    most texts contain no such word and cost no more than the search for words.
    """

    def __init__(self, rules: Sequence[SecretRule]) -> None:
        ranked = list(enumerate(rules))
        self._words = Words(ranked)
        self._shaped = [(rule, rank) for rank, rule in ranked if rule.long]
        self._anywhere = [(rule, rank) for rank, rule in ranked if not rule.words and not rule.long]

    def places(self, whole: Text) -> list[SecretSpan]:
        """Every secret in a text but for what readers find, in no order; they may overlap."""
        text = whole.text
        if len(text) < SHORTEST and not self._anywhere:
            return []
        found = [
            SecretSpan(*span, one.rank)
            for one in self._hits(whole)
            if not one.rule.reader
            for span in _spans(one.rule, one.word, text, whole.low if one.rule.folded else text)
        ]
        if self._shaped and (long := [part for part in whole.parts if len(part) >= RUN]):
            found += [
                SecretSpan(*span, rank) for rule, rank, match in self._shapes(text, long) if (span := rule.judge(match))
            ]
        return found + [
            SecretSpan(*span, rank) for rule, rank in self._anywhere for span in _spans_anywhere(rule, text)
        ]

    def read(self, whole: Text) -> list[SecretSpan]:
        """The secrets that readers find, in no order; they may overlap."""
        readers = {one.rank: one.rule.reader for one in self._hits(whole)}
        return [SecretSpan(*span, rank) for rank, reader in readers.items() if reader for span in reader(whole)]

    def begin(self, text: str) -> tuple[Text, bool]:
        """A text as rules read it, and whether any would be tried."""
        whole = Text(text)
        return whole, self.tries(whole)

    def tries(self, whole: Text) -> bool:
        """Whether any rule would be tried on a text."""
        return bool(self._anywhere or self._hits(whole) or max(map(len, whole.parts), default=0) >= RUN)

    def _hits(self, whole: Text) -> list[SoughtWord]:
        if whole.hits is None:
            whole.hits = self._words.present(whole)
        return whole.hits

    def _shapes(self, text: str, parts: Sequence[str]) -> Iterator[tuple[SecretRule, int, re.Match[str]]]:
        at = 0
        for part in parts:
            at = text.index(part, at)
            for run in compiled(_RUN, folded=False).finditer(text, at, at + len(part)):
                for rule, rank in self._shaped:
                    if len(run[0]) >= rule.long:
                        for match in compiled(rule.pattern, folded=False).finditer(text, *run.span()):
                            yield rule, rank, match
            at += len(part)


def lowered(text: str) -> str:
    """The text in lower case, as long as it was."""
    return text.replace("İ", "i").lower()  # the only letter that lower case would make longer


def _spans(rule: SecretRule, word: str, text: str, hay: str) -> Iterator[Span]:
    """
    The spans that a rule removes around a word.

    Args:
        hay: Where to look for the word: the text itself, or the same in lower case.
    """
    match, at = compiled(rule.pattern, folded=rule.folded).match, hay.find(word)
    vain: list[int] = []  # where nothing was found of late
    while at >= 0:
        if rule.nested and (after := max([_repeated(text, at, last) for last in vain], default=at)) > at:
            at = hay.find(word, after)
            continue
        found = match(text, at - rule.back) if at >= rule.back else None
        span = rule.judge(found) if found else None
        if span:
            yield span
        vain = [] if span else [at, *vain[: LATELY - 1]]
        seen = span[1] if span else found.end() if found and not rule.nested else 0
        at = hay.find(word, max(at + 1, seen))


def _repeated(text: str, at: int, last: int) -> int:
    """
    The first place from `at` on where a nested rule can find what it did not find between `last` and `at`.

    In a row of names all that it looks at is the same again and again, and each name would cost a search.
    """
    if last < BEFORE or not text.startswith(text[last : last + SOLID], at):
        return at
    size = AHEAD
    if at + size > len(text) or text[last - BEFORE : last + size] != text[at - BEFORE : at + size]:
        return at
    while at + 2 * size <= len(text) and text[last + size : last + 2 * size] == text[at + size : at + 2 * size]:
        size *= 2
    return at + size - AHEAD + 1


def _spans_anywhere(rule: SecretRule, text: str) -> Iterator[Span]:
    """The spans that a rule without words removes; see `SecretRule.pattern` for its classes."""
    for match in re.compile(rule.pattern, re.IGNORECASE if rule.folded else 0).finditer(text):
        span = rule.judge(match)
        if span and span[0] < span[1]:
            yield span


# Markers ----------------------------------------------------------------------

MARKED = "marked"
"""The name under which text between the tags is reported."""

_TAG = r"<(/?)redacted\s{0,8}>"
MARK = "[redacted"  # how every marker begins
_MARKER = r"\[redacted(?::([^\[\]\s]{1,64}))?\]"


def marker(name: str) -> str:
    return "[redacted]" if name == MARKED else f"[redacted:{name}]"


def marked(text: str, field: str) -> list[Span]:
    """
    The outermost `<redacted>…</redacted>` of a text, including the tags.

    Opening tags alone or closing tags alone are text: logs and examples write `<redacted>` for what they leave out.

    Raises:
        Invalid: One is never closed, though another is.
    """
    found, depth, start = [], 0, 0
    tags = list(re.finditer(_TAG, text, re.IGNORECASE))
    if not any(tag[1] for tag in tags):
        return []
    for tag in tags:
        if tag[1]:
            if depth == 1:
                found.append((start, tag.end()))
            depth = max(0, depth - 1)
        else:
            start = start if depth else tag.start()
            depth += 1
    if depth:
        raise Invalid(
            f"{field} has a <redacted> at position {start} that is not closed",
            hint="Close each with </redacted>, or leave the tag out.",
        )
    return found


def between(text: str, names: Container[str]) -> Iterator[Span]:
    """The stretches of a text between its markers; a marker names a known rule, or none."""
    start = 0
    for match in re.finditer(_MARKER, text):
        if match[1] is None or match[1] in names or re.fullmatch(r"memoryignore:\d{1,6}", match[1]):
            yield start, match.start()
            start = match.end()
    yield start, len(text)
