"""
What a term is looked for by in a keyword index: its stems, its weight, and how much of the index that may read.

It is the same in every store; a store only counts. A text's words are those of FTS5's tokenizers, with the options that
`memory/store/sqlite/schema.sql` gives them, without SQLite: what they do is in SQLite's ext/fts5/fts5_tokenize.c and
fts5_unicode2.c, and a law compares with them.
"""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from memory.schema import NamedTuple
from memory.schema.answer import Ranking
from memory.schema.query import Term
from memory.text.fold import fold
from memory.text.terms import unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class Phrase(NamedTuple):
    """One form of a term, with its words."""

    form: Term
    tokens: tuple[str, ...]


class Phrased(NamedTuple):
    """A term with its forms: as it is, and its other form if it has one."""

    term: Term
    phrases: tuple[Phrase, ...]

    def longer(self) -> Phrased:
        """The same as the beginning of longer words."""
        phrases = tuple(Phrase(form._replace(prefix=True), tokens) for form, tokens in self.phrases)
        return Phrased(self.term._replace(prefix=True, longer=1.0), phrases)


def phrased(terms: Sequence[Term]) -> list[Phrased]:
    """Terms as a keyword index reads them."""
    return [Phrased(term, tuple([Phrase(form, _stems(form.text)) for form in forms([term])])) for term in terms]


def forms(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms, and behind them the other forms of those that have one; all as terms of one form."""
    return (
        *(term._replace(other="") for term in terms),
        *(Term(term.other, term.prefix) for term in terms if term.other),
    )


def folded(ranking: Ranking, terms: Sequence[Term]) -> Ranking:
    """A ranking whose `matched` speaks of the forms of terms, so that it speaks of the terms."""
    owners = [place for place, term in enumerate(terms) if term.other]
    if not owners:
        return ranking
    own = (1 << len(terms)) - 1

    def fold(bits: int) -> int:
        held = bits & own
        for number, place in enumerate(owners, start=len(terms)):
            held |= (bits >> number & 1) << place
        return held

    chunks, memories, scores, matched, keywords, cosines = ranking.columns
    return Ranking(chunks, memories, scores, [fold(bits) for bits in matched], keywords, cosines=cosines)


def held(terms: Sequence[Term], text: str) -> int:
    """The terms that a text holds in one of their forms, as bits like `memory.schema.answer.Scored.matched`."""
    every = "\n".join([fold(text), *unseen([text])])
    words, bits = f" {' '.join(stems(every))} ", 0
    for place, term in enumerate(phrased(terms)):
        for form, tokens in term.phrases:
            if tokens and f" {' '.join(tokens)}{'' if form.prefix else ' '}" in words:
                bits |= 1 << place
    return bits


# What an index knows of terms --------------------------------------------------

SHORT = 2
"""A word of at most so many characters is no beginning of another."""

PRIOR = 200
"""Chunks without any of the words that are counted in: among only a few chunks, it is chance which words are rare."""


def weighed(
    terms: Sequence[Term], total: int, held: Callable[[str], tuple[int, int]], rows: Callable[[Phrased], int | None]
) -> tuple[Term, ...]:
    """
    See `memory.store.memories.Keywords.weigh`, which this is, given what an index can count.

    Args:
        total: Chunks.
        held: How many chunks hold a token, and how often they do together.
        rows: How many chunks hold a term in any of its forms; None if it would take too long to count them.
    """
    wanted = phrased(terms)
    allowance = Allowance(held)
    answers = {place: _looked_for(wanted[place], rows, allowance) for place in allowance.order(wanted)}
    found: list[Term] = []
    seen: set[tuple[tuple[str, ...], bool]] = set()
    for term, phrases in (one for place in range(len(terms)) for one in answers[place]):
        keys = {(tokens, term.prefix) for _, tokens in phrases}
        if not keys <= seen:
            longer = idf(0, total) if term.longer else 0.0
            found.append(term if term.cut else term._replace(weight=idf(term.rows, total), longer=longer))
            seen |= keys
    return tuple(found)


def _looked_for(wanted: Phrased, rows: Callable[[Phrased], int | None], allowance: Allowance) -> Sequence[Phrased]:
    """The term with its rows, or its parts with theirs; nothing if it holds no word. With what is cut of it."""
    term, tokens = wanted.term, wanted.phrases[0].tokens
    if not tokens:
        return ()
    if not allowance.take(wanted):
        return [_cut(wanted)]
    word = len(tokens) == 1 and not term.prefix
    found = allowance.chunks(tokens[0]) if word and not term.other else rows(wanted)
    if found is None:
        return [_cut(wanted)]
    cut: list[Phrased] = []
    if not found and word and len(term.text) > SHORT and not term.gram:
        longer = wanted.longer()
        if (more := rows(longer)) is None:
            cut = [_cut(longer)]
        elif more:
            wanted, found = longer, more
    if wanted.term.prefix:
        allowance.took(found)
    if not found and term.parts:
        parts = [one for part in phrased(term.parts) for one in _looked_for(part, rows, allowance)]
        if any(part.term.rows for part in parts):
            return [*parts, *cut]
    return [wanted._replace(term=wanted.term._replace(rows=found)), *cut]


def _cut(term: Phrased) -> Phrased:
    return term._replace(term=term.term._replace(cut=True))


def beginnings(terms: Iterable[Term]) -> list[Term]:
    """Terms as the beginnings of longer words, where these may stand for them: plain words, not meant exactly."""
    return [term._replace(prefix=True) if _plain(term) and len(_stems(term.text)) == 1 else term for term in terms]


def _plain(term: Term) -> bool:
    return not (term.prefix or term.exact or term.gram or term.cut) and len(term.text) > SHORT


def idf(rows: int, total: int) -> float:
    """
    ln(1 + (N + 200 - n + 0.5) / (n + 0.5)): above 0 also for a term that every chunk holds.

    The form of Robertson and Zaragoza 2009 with the 1 that Lucene adds, and `PRIOR` chunks without the term.
    """
    return math.log(1 + (total + PRIOR - rows + 0.5) / (rows + 0.5))


# How much of the index one query may read ---------------------------------------

POSTINGS = 16_000_000
"""
What a query's terms may read together, a word of a phrase at a time: see `cost`. To count the chunks that hold a phrase
and to rank them takes SQLite 15 to 25 ns for each, so 0.4 s. A store of 60,000 chunks of prose has no 64 words that
cost more.
"""

CHUNK = 3
"""What a chunk that holds a word costs beside its occurrences there: a row to be scored."""

COUNTING = 8
"""How many times as many occurrences may be counted as read: to count them takes a fourteenth of the time."""

PREFIX = 8
"""What a chunk costs that holds a word with a given beginning: it may hold several, each with entries of its own."""


def cost(chunks: int, occurrences: int) -> int:
    """What it takes to read and rank a word: FTS5 goes through the places of a word for a phrase, and for BM25."""
    return CHUNK * chunks + occurrences


class Allowance:
    """What one query may still read. A term that would read more is not looked for; how much that is, is known before."""

    def __init__(self, held: Callable[[str], tuple[int, int]]) -> None:
        """
        Args:
            held: How many chunks hold a token, and how often they do together.
        """
        self._held, self._known, self._taken = held, dict[str, tuple[int, int]](), set[tuple[object, ...]]()
        self._left, self._uncounted = POSTINGS, COUNTING * POSTINGS

    def order(self, terms: Sequence[Phrased]) -> list[int]:
        """The places of the terms, cheapest first, so that the most common ones are cut; beginnings of words come last."""
        return sorted(range(len(terms)), key=lambda place: (terms[place].term.prefix, self._needed(terms[place])))

    def take(self, term: Phrased) -> bool:
        """Whether a term may be looked for in all its forms; if so, what it reads is deducted, once in a query."""
        key = (term.term.prefix, *(tokens for _, tokens in term.phrases))
        if key in self._taken:
            return True
        needed = self._needed(term)
        if not 0 < self._left >= needed:
            return False
        self._left -= int(needed)
        self._taken.add(key)
        return True

    def chunks(self, token: str) -> int:
        """How many chunks hold a token of a term that was taken."""
        return self._known[token][0]

    def took(self, rows: int) -> None:
        """Deduct what a beginning of words has read, which is known only afterwards."""
        self._left -= PREFIX * rows

    def _needed(self, term: Phrased) -> float:
        """Infinite if it is more than any query may read, or its words cannot be counted any more."""
        needed = 0
        for token in (token for _, tokens in term.phrases for token in tokens):
            if token not in self._known:
                if self._uncounted <= 0:
                    return math.inf
                self._known[token] = self._held(token)
                self._uncounted -= cost(*self._known[token])
            needed += cost(*self._known[token])
            if needed > POSTINGS:
                return math.inf
        return needed


# Stems ---------------------------------------------------------------------------

_ASCII = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))

SHORTEST, LONGEST = 3, 64
"""Lengths, in bytes of UTF-8, between which words are stemmed; any other word is its own stem."""


def stems(text: str) -> tuple[str, ...]:
    """The tokens of a text, in order: the stem of each word, in small letters and without diacritics."""
    return tuple(stemmed(spelled(text)))


def words_and_stems(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a text as they are `spelled`, and the stem of each."""
    words = tuple(spelled(text))
    return words, tuple(stemmed(words))


def stems_of(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """The same of each of several."""
    return [stems(text) for text in texts]


def stemmed(words: Iterable[str]) -> list[str]:
    """The stems of words that are spelled so."""
    return [stem(word) if len(word) <= LONGEST else word for word in words]


def spelled(text: str) -> list[str]:
    """The words of a text, in order, in small letters and without diacritics: `stems` before they are stemmed."""
    return spaced(text).split()


def spaced(text: str) -> str:
    """A text in small letters and without diacritics, with a blank for each sign that ends words."""
    return text.translate(_ASCII if text.isascii() else _letters())


def beginning(token: str) -> str:
    """What all words of which this is the stem begin with: a stem may end with another letter than the word has there."""
    known = token.rstrip("\ufffd")
    return known if known == token and len(token) < SHORTEST else known[:-1]


def changed(rows: Iterable[Mapping[str, str | None]]) -> list[dict[str, str]]:
    """Of the texts of each row those whose words the fold changes, folded; of most languages there are few."""
    return [
        {
            name: plain
            for name, text in row.items()
            if text
            and not text.isascii()
            and (spelled(plain := fold(text)) != spelled(text) or re.search(_UNATTACHED, text))
        }
        for row in rows
    ]


_UNATTACHED = r"(?<!\w)[\u0300-\u036f]"
"""A diacritic that stands on no letter: FTS5 takes it for a word without letters."""


def spellings(texts: Iterable[str]) -> list[list[str]]:
    """The same of each of several."""
    return [spelled(text) for text in texts]


_stems = lru_cache(maxsize=256)(stems)  # a search asks for those of its terms at each of its steps


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """The stem of a word in small letters."""
    if word.isascii():
        return _stem(word) if SHORTEST <= len(word) <= LONGEST else word
    # FTS5 works on bytes, and no byte above 127 is a vowel to it. If a stem ends with two equal bytes, it drops one.
    # What is left may not be UTF-8; SQLite's readers show U+FFFD there, and so do we.
    octets = word.encode()
    return (
        _stem(octets.decode("latin-1")).encode("latin-1").decode(errors="replace") if len(octets) <= LONGEST else word
    )


# An algorithm for suffix stripping: Porter, Program 14 (1980); with `bli` and `logi`, which its author added later ------


def _rules(text: str) -> dict[str, str]:
    return dict(rule.split(":") for rule in text.split())


_SECOND = _rules(
    "ational:ate tional:tion enci:ence anci:ance izer:ize logi:log bli:ble alli:al entli:ent eli:e ousli:ous ization:ize"
    " ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble"
)
_THIRD = _rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")
_FOURTH = _rules("al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:")


_SHAPES = "".join("v" if chr(byte) in "aeiou" else "y" if chr(byte) == "y" else "c" for byte in range(256))


def _stem(word: str) -> str:
    word = _first(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _SECOND, 1), _THIRD, 1)
    if not word.endswith("ion") or word.endswith(("sion", "tion")):
        word = _replaced(word, _FOURTH, 2)
    if word.endswith("e"):
        measure = (shape := _shape(word[:-1])).count("vc")
        if measure > 1 or (measure == 1 and not _short(word[:-1], shape)):
            word = word[:-1]
    if word.endswith("ll") and _shape(word[:-1]).count("vc") > 1:
        word = word[:-1]
    return word


def _first(word: str) -> str:
    """The word without the ending of a plural, without -ed and without -ing."""
    if word.endswith("s") and word[-2] != "s":
        longer = (word.endswith("sses") and len(word) > 4) or (word.endswith("ies") and len(word) > 3)
        word = word[: -2 if longer else -1]
    if word.endswith("eed") and len(word) > 3:
        return word[:-1] if "vc" in _shape(word[:-3]) else word
    root = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if "v" not in (shape := _shape(root)):
        return word
    if len(root) > 2 and root.endswith(("at", "bl", "iz")):
        return root + "e"
    if root[-1] == root[-2:-1] and root[-1] not in "aeioulsz":
        return root[:-1]
    return root + "e" if shape.count("vc") == 1 and _short(root, shape) else root


def _replaced(word: str, rules: dict[str, str], least: int) -> str:
    """The word with its longest ending in `rules` replaced, if the measure of what precedes it is at least `least`."""
    for length in range(min(7, len(word) - 1), 1, -1):
        if (other := rules.get(word[-length:])) is not None:
            root = word[:-length]
            return root + other if _shape(root).count("vc") >= least else word
    return word


def _shape(word: str) -> str:
    """
    A v for each vowel and a c for each consonant; `y` is a vowel after a consonant.

    Porter's measure m of a word is the number of times "vc" occurs in its shape.
    """
    shape = word.translate(_SHAPES)
    while (place := shape.find("y")) >= 0:
        shape = shape[:place] + ("v" if shape[place - 1 : place] == "c" else "c") + shape[place + 1 :]
    return shape


def _short(word: str, shape: str) -> bool:
    """Whether a word ends like "hop", not like "how" or "hoop"."""
    return shape.endswith("cvc") and word[-1] not in "wxy"


# The characters of FTS5's `unicode61` with marks as parts of words: which make words, and how they are written there ---

# Its tables are of Unicode 6.1, those of Python newer: here scripts that came later have no capitals, and what was no
# character yet makes words. `scripts/unicode61.py` reads them off FTS5 and prints these.

_RUNS = """
    1c a 7 q 6 q 1b 1 7 2 1 1 3 2 1 3 1 n 1 v 1 cq 4 c e 5 7 1 1 1 h 39 1 8 1 5 2 1 1 32 1 3v 1 5z 6 15 2 4 1 1a 1 1
    1 2 1 2 1 18 2 b 5 1 a b 1 2 2 22 4 2u 1 8 2 a 1 j 2 1 e 1 1 6e 4 1i f v 1 79 2 a 1 3l 2 6 2 6s 2 3i 1 3m 8 3o 1
    6x 1 3e 1 22 1 f 1 a 2 4l n 2 6 k 1 1 1 1 1 1 4 1z 1 1k 8 1 6 1 d 33 6 26 2 2j 1 h0 9 13 a 2u 1 h8 2 h 1 q 2 26
    3 1z 2 4d 3 1 4 10 b 3 1 8h 1 3 2 48 y u 2 3k 7 1 6 4s h 9 9 3j 4 1n 5 1q 2 1s 8 b 1 kp 1 1 3 b 3 d 3 d 3 d 2 1
    2t 5 6 a 5 b 5 h q 1y 2 1 4 1 2 a 1 1 3 5 6 1 1 1 1 1 1 4 1 b 2 4 5 5 4 1 1 1s h0 c 13 p b 29 26 m e8 1 39 u qh
    3 a az 6 e 4 1 2 34 1 3z 1b 1 c 1w q 1 2h c 5y q c 4 5 3 p f 1 5 2 5 3 2j 2 3 1 2i 1 44 2 4 a w 10 s v b u 8 1 f
    w a 13 f 1r 1 74 534 1s h3k 1j 1j 2 7h 3 2r 1 a 1 37 6 8 n 9 2 2v 2 4d 4 a 4 1m 4 2e 2 14 3 1f 2 1b 1 2p d g 2
    3g 4 n 3 2s 2 g 2 6x 1 8pg 1kw 5d5 1 3s g ak 2 58 2 i a m z 1 j 1 4 43 1 1 f a 7 q 6 q b 3e 7 1 7 a 7 74 3 1g 9
    1l h 6 c 1g 19 bm 1 1c 1 w6 1 5j 1 v 1 7k 9 12 1 55 7 zr 7 31 7 3i 4 3l 4 3on 4 xvw 6u a 13 2 1o 5 3 6 8 8 2 7 u
    4 1c y 1u 3 1 56 2f oa 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 4ks 2 7i 18 4 2s c f 2 e 2 f 1 f 1c v 1 1o 4 17 23
    t d 17 5 9 7 2 4u x f 6 1 1y 3 k c 11 1 5 l h f 1r 1 1 1 52 1 4 3 1q 2 4 c o 43 1y 4 b 1c 1y 1m 38 gwi5 1 u 2o
    47ls
"""
"""How many characters in turn end a word and make one, from the first on: in base 36."""

_MARKS = """
    300 301 302 303 304 306 307 308 309 30a 30b 30c 30f 311 31b 323 324 325 326 327 328 32d 32e 330 331
"""
"""Diacritics that are left out of words."""

_CAPITALS = """
    41-24f 370-377 386-527 531-557 10a0-10ce 1e00-1ffd 2126-2184 2c00-2c2f 2c60-2cf3 a640-a697 a722-a793 a7a0-a7ab
    ff21-ff3b 10400-10428
"""
"""Where the capitals of Unicode 6.1 are, and no later ones. They are written small."""

_PLAIN = """
    aàáâãäåāăąǎǟǻȁȃȧḁạảấầẩẫậắằẳẵặ bḃḅḇ cçćĉċčḉ dďḋḍḏḑḓ eèéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ fḟ gĝğġģǧǵḡ hĥȟḣḥḧḩḫẖ
    iìíîïĩīĭįǐȉȋḭḯỉị jĵǰ kķǩḱḳḵ lĺļľḷḹḻḽ mḿṁṃ nñńņňǹṅṇṉṋ oòóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ pṕṗ rŕŗřȑȓṙṛṝṟ
    sśŝşšſșṡṣṥṧṩẛ tţťțṫṭṯṱẗ uùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự vṽṿ wŵẁẃẅẇẉẘ xẋẍ yýÿŷȳẏẙỳỵỷỹ zźżžẑẓẕ
"""
"""Small letters of ASCII with diacritics, behind the one they are written as."""

_FOLDED = """
    µμ İi ͅι ςσ ϐβ ϑθ ϕφ ϖπ ϰκ ϱρ ϵε ιι
"""
"""What else is written as another letter."""

REMEMBERED = 1 << 15  # characters


class Letters(dict[int, str]):
    """What each character is in a word, for `str.translate`: a blank if it ends words."""

    def __init__(self) -> None:
        self._plain = {letter: group[0] for group in _PLAIN.split() for letter in group[1:]}
        self._ends = list(accumulate(int(run, 36) for run in _RUNS.split()))
        self._capitals = [int(border, 16) for area in _CAPITALS.split() for border in area.split("-")]
        super().__init__({ord(pair[0]): pair[1] for pair in _FOLDED.split()})
        self.update(dict.fromkeys((int(mark, 16) for mark in _MARKS.split()), ""))

    def __missing__(self, code: int) -> str:
        from bisect import bisect  # a search for words in ASCII does without

        letter = chr(code) if bisect(self._ends, code) % 2 else " "
        if bisect(self._capitals, code) % 2:
            letter = letter.lower()
        found = self._plain.get(letter, letter)
        if len(self) < REMEMBERED:
            self[code] = found
        return found


_letters = cache(Letters)  # most texts do without
