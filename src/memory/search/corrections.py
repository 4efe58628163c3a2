"""Mistyped words of a query: the store holds nothing of them, no list has them, and few edits make one of its own."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from memory.schema.query import Term
from memory.text.lookup import spelled, stem
from memory.text.spelling import distance, listed, right, variants
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
    pieces, words = re.split(r'("[^"]*")', straight(query.text)), set[str]()  # every other one is a phrase
    for term in terms:
        if _mistyped(term) and (word := _correction(term.text, keywords, query.scope)):
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
