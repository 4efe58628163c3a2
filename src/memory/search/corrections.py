"""
Mistyped words of a query: the store holds nothing of them, no list has them, and few edits make one of its own.

The list is `words.z`, made by scripts/right_words.py (its licence: words.LICENSE). It is read at the first question.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING

from memory.schema.query import Term
from memory.text.lookup import spelled, stem
from memory.text.terms import straight

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.query import Query, Scope
    from memory.search.search import Trace
    from memory.store.memories import Keywords

LEAST = 4
"""Letters of a word that may be mistyped, and of what it may be taken for: shorter ones have many neighbours."""

LONG = 9
"""Letters from which a word may be mistyped twice."""

LIKELIER = 10
"""How many times as likely it is to leave out, swap or double a letter as to take a certain wrong one."""

TRIED = 5
"""Words of the store that one word of a query is compared with as they are written."""

READ = 3
"""Chunks that are read to see how a word is written."""


def corrected(query: Query, terms: Sequence[Term], keywords: Keywords, trace: Trace) -> tuple[str, frozenset[str]]:
    """
    The text of the query with words of the store in place of its mistyped ones, and these words.

    Args:
        terms: Its terms, as the store knows them.
    """
    if not (mistyped := [term for term in terms if _mistyped(term)]):
        return query.text, frozenset()
    pieces, words = re.split(r'("[^"]*")', straight(query.text)), set[str]()  # every other one is a phrase
    for term in mistyped:
        if word := _correction(term.text, keywords, query.scope):
            alone = rf"(?<![\w./:]){re.escape(term.text)}(?![\w/:]|\.\w)"  # not in a path or another name
            pieces[::2] = [re.sub(alone, word, piece) for piece in pieces[::2]]
            words.add(word)
            hint = f'No memory contains "{term.text}". Put it in quotation marks to look for nothing else.'
            trace.notice(f'also showing results for "{word}"', hint)
    return "".join(pieces), frozenset(words)


def _mistyped(term: Term) -> bool:
    """Whether a term is a plain word of which the store holds nothing, no abbreviation, and not known to be spelled right."""
    if term.rows or term.exact or term.gram or term.prefix or term.cut or term.text.isupper():
        return False
    word = "".join(spelled(term.text))
    return len(word) >= LEAST and word.isascii() and word.isalpha() and term.text.isalpha() and not right(word)


def _correction(word: str, keywords: Keywords, scope: Scope) -> str:
    """The word that a mistyped one is taken for; empty if no memory in scope has one that is near enough."""
    typed = "".join(spelled(word))
    tokens = {token: chunks for letter in {*typed[:2]} for token, chunks in keywords.vocabulary(letter).items()}
    other = ""
    for edits, token, near in _near(typed, tokens):
        found = keywords.by_keyword([Term(min(near))], scope, READ).chunks
        written = {one for text in keywords.texts(found).values() for one in spelled(text) if stem(one) == token}
        if ways := {away: one for one in sorted(written) if (away := distance(typed, one)[0]) <= edits}:
            return ways[min(ways)]
        if found and edits == 1 and not other:  # another form of a word of the store, if English has it
            other = min(filter(listed, near), default="")
    return other


def _near(typed: str, tokens: Mapping[str, int]) -> list[tuple[int, str, set[str]]]:
    """
    Tokens near to a word, likeliest first: how many edits away their words may be, and words with this stem.

    Args:
        tokens: Of the index, in how many chunks each stands.
    """
    edits, ways = 1, dict[str, set[str]]()
    for word in variants(typed):
        if len(word) >= LEAST and (token := stem(word)) in tokens:
            ways.setdefault(token, set()).add(word)
    # An edit may also make an ending that is none: "kuberntes" may be "kubernetes", but also "kubernets", whose stem is the same.
    ways = {token: set(filter(listed, words)) or words for token, words in ways.items()}
    if not ways and len(typed) >= LONG:
        edits, ways = 2, {token: {word} for token in tokens if _begins(typed, token) and (word := _of_stem(token))}
    likely = {
        token: chunks * (LIKELIER if any(_likelier(typed, word) for word in ways[token]) else 1)
        for token, chunks in tokens.items()
        if token in ways
    }
    likeliest = sorted(ways, key=lambda token: (-likely[token], token))
    return [(edits, token, ways[token]) for token in likeliest[:TRIED]]


def _likelier(typed: str, word: str) -> bool:
    """
    Whether a letter was left out, doubled or swapped: there is one way to do so at each place, and 25 to put in a wrong one
    (the noisy channel of Kernighan, Church and Gale, COLING 1990).
    """
    return len(word) > len(typed) or sorted(word) == sorted(typed) or _undoubled(word) == _undoubled(typed)


def _undoubled(word: str) -> str:
    return "".join(letter for letter, _ in groupby(word))


def _begins(typed: str, token: str) -> bool:
    """Whether two edits may make a beginning of a word of a token."""
    return 2 * len(token) >= len(typed) and len({*token}.difference(typed)) <= 2 and distance(token, typed)[1] <= 2


def _of_stem(token: str) -> str:
    """A word with this stem: the stem of a stem may be another. Empty if no ending is known that makes one."""
    return next((word for word in (token, token + "e", token[:-1] + "y") if stem(word) == token), "")


# How a word is spelled ---------------------------------------------------------------

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
