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
from memory.text.fold import fold
from memory.text.lookup import spelled, stem
from memory.text.terms import STOP, straight

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.query import Query, Scope
    from memory.search.search import Trace
    from memory.store.memories import Keywords

LEAST = 4
"""Letters of a word that may be mistyped, and of what it may be taken for: shorter ones have many neighbours."""

MOST = 64
"""Letters of the longest word that may be mistyped. A longer one, such as a pasted key, is not a word, and has 50 neighbours a letter."""

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
    pieces, words = re.split(r'("[^"]*")', fold(straight(query.text))), set[str]()  # every other one is a phrase
    for term in mistyped:
        if word := _correction(term.text, keywords, query.scope):
            written = f'"{word}"' if " " in word else word
            alone = rf"(?<![\w./:]){re.escape(term.text)}(?![\w/:]|\.\w)"  # not in a path or another name
            pieces[::2] = [re.sub(alone, written, piece) for piece in pieces[::2]]
            words.add(word)
            hint = f'No memory contains "{term.text}". Put it in quotation marks to look for nothing else.'
            trace.notice(f'also showing results for "{word}"', hint)
    return "".join(pieces), frozenset(words)


def _mistyped(term: Term) -> bool:
    """Whether a term is a plain word of which the store holds nothing, no abbreviation, and not known to be spelled right."""
    if term.rows or term.exact or term.gram or term.prefix or term.cut or term.text.isupper():
        return False
    word = "".join(spelled(term.text))
    return LEAST <= len(word) <= MOST and word.isascii() and word.isalpha() and term.text.isalpha() and not right(word)


def _correction(word: str, keywords: Keywords, scope: Scope) -> str:
    """The word or two that a mistyped one is taken for; empty if no memory in scope has what is near enough."""
    typed = "".join(spelled(word))
    tokens = _tokens(typed, keywords)
    if apart := _held(_apart(typed, tokens), keywords, scope):
        return apart[0].text
    other = ""
    for edits, token, near in _near(typed, tokens):
        found = keywords.by_keyword([Term(min(near))], scope, READ).chunks
        written = {one for text in keywords.texts(found).values() for one in spelled(text) if stem(one) == token}
        if ways := {away: one for one in sorted(written) if (away := distance(typed, one)[0]) <= edits}:
            return ways[min(ways)]
        if found and edits == 1 and not other:  # another form of a word of the store, if English has it
            other = min(filter(listed, near), default="")
    return other


def _tokens(typed: str, keywords: Keywords) -> dict[str, int]:
    """Tokens of the index that may be near to a word, in how many chunks each stands."""
    return {token: chunks for letter in {*typed[:2]} for token, chunks in keywords.vocabulary(letter).items()}


def _apart(word: str, tokens: Mapping[str, int]) -> list[Term]:
    """A word as two of which the store has the first: "node js" for `nodejs`."""
    cut = [
        (word[:place], word[place:])
        for place in range(1, len(word))
        if stem(word[:place]) in tokens and (place > 1 or word[0] not in STOP)  # not what is left of "it's"
    ]
    return [Term(f"{first} {second}", exact=True) for first, second in cut]


def _held(terms: Sequence[Term], keywords: Keywords, scope: Scope) -> list[Term]:
    """Of these terms those that a memory in scope holds, the rarest first."""
    known = [term for term in keywords.weigh(terms) if term.rows and not term.cut]
    return sorted((term for term in known if keywords.by_keyword([term], scope, 1).chunks), key=lambda term: term.rows)


# Where no memory in scope holds a word of the question ---------------------------------

INSIDE = 5
"""Letters of a word that is looked for at the end of longer ones."""

LOOKED_THROUGH = 100_000
"""Chunks of a store whose words are all looked through: that reads the whole index, 0.1 s."""


def otherwise(terms: Sequence[Term], keywords: Keywords, scope: Scope) -> tuple[Term, ...]:
    """
    What to look for where no memory in scope holds any of the terms: the parts of a name, two words for one, longer words that
    end with one, or the words as they are spelled elsewhere. None of a query that finds nothing so either.
    """
    wanted = [term for term in terms if not (term.gram or term.cut) and (term.other or term.parts or not term.exact)]
    if parts := _held([part for term in wanted for part in term.parts], keywords, scope):
        return tuple(parts)
    words = [word for word in dict.fromkeys("".join(spelled(term.text)) for term in wanted) if len(word) <= MOST]
    for ways in (_two_words, _longer_words, _near_words):
        found = {one: None for word in words for one in _held(ways(word, keywords), keywords, scope)[:TRIED]}
        if found:
            return tuple(found)
    return ()


def _two_words(word: str, keywords: Keywords) -> list[Term]:
    return _apart(word, _tokens(word, keywords))


def _longer_words(word: str, keywords: Keywords) -> list[Term]:
    """Compounds, as of German, that end with a word; not those of English, which has other endings than words."""
    part = stem(word)
    found = keywords.ending(part, LOOKED_THROUGH) if len(word) >= INSIDE else []
    return [Term(token) for token in found if len(token) - len(part) >= LEAST and not right(token)]


_SPELLINGS = (
    *(
        (r"(?<=\w\w)our(?=(?:s|ed|ing|al|able|ful|ites?)?$)", "or"),
        (r"(?<=\w\w)or(?=(?:s|ed|ing|al|able|ful|ites?)?$)", "our"),
    ),
    *((r"(?<=\w[iy])s(?=(?:e[ds]?|ing|ers?|ations?)$)", "z"), (r"(?<=\w[iy])z(?=(?:e[ds]?|ing|ers?|ations?)$)", "s")),
    *((r"(?<=\w\w)re(?=s?$)", "er"), (r"(?<=\w\w)er(?=s?$)", "re"), (r"ogue(?=s?$)", "og"), (r"og(?=s?$)", "ogue")),
    *((r"(?<=\wen)c(?=es?$)", "s"), (r"(?<=\wen)s(?=es?$)", "c"), (r"(?<=[aeiou]l)l(?=ed$|ing$|ers?$)", "")),
    *(
        (r"(?<=[aeiou])l(?=ed$|ing$|ers?$)", "ll"),
        (r"ae|oe", "e"),
        (r"(?<=gr)ey|(?<=gr)ay", "ay"),
        (r"(?<=gr)ay", "ey"),
    ),
    *(
        (r"ices$", "ex"),
        (r"ices$", "ix"),
        (r"[ei]x$", "ices"),
        (r"um$|on$", "a"),
        (r"a$", "um"),
        (r"a$", "on"),
        (r"us$", "i"),
    ),
    (r"(?<=\w\w)i$", "us"),
)
"""How British and American English spell words, and what Latin and Greek nouns end with: other words to a stemmer."""


def _near_words(word: str, _keywords: Keywords) -> list[Term]:
    found = dict.fromkeys(re.sub(pattern, other, word) for pattern, other in _SPELLINGS if len(word) >= LEAST)
    return [Term(one) for one in found if one != word]


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
