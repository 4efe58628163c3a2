"""Whether letters follow each other as in words and names, or by chance: what tells `qXvTbKpw` from `getToken`."""

from __future__ import annotations

import re
from functools import cache
from operator import add

_PAIRS = """
15652351513757151767432341
63437221741733640653621141
71427216605522721547510150
63248333821433621553632140
52664441301657353776343520
61337621701623731645611140
62228346601646530653521041
72338211701333720545412060
54655440102558741466250204
71338101412123831252811221
63348342702625531364315131
72347311702622630255531161
75238111701352760253510040
61667472623323620267441121
34552452413668450765544311
71337226602632750756422140
31230112210413310444901000
73448342703354730455432050
51527325703442661267612040
62327216801432630654512151
55645340502767350766110101
71129211700122520132200110
73247216701426621654123200
62626314701431571347311351
43646341502666670477223123
71039303700433610222401054
""".split()
"""
A row for each letter, a digit for each that may follow it: 5 + log2(how often it does in words / by chance).

Whole bits. `scripts/letters.py` counted them.
"""

_CHANGES = {"aa": 0.8, "AA": 0.6, "Aa": 0.6, "aA": -2.5, "a0": -1.0, "A0": -1.0, "0a": -2.5, "0A": -2.5, "00": 1.0}
"""
Bits for how small letters (a), capitals (A) and digits (0) follow each other in names, against how they do by chance.

Estimates, tried on 20,000 texts of letters and digits by chance, of which the bits below miss 1.2 % of eight characters
and 0.2 % of twelve, and on 7,000 names with both cases or digits of code, of which they take 5 %, most of them odd.
"""

_CAMEL = 4.0  # bits that a text gains that is words of three letters and more, with capitals
_UNSPELT = 6.0  # bits that a text loses whose capitals and digits stand as in no name
MIXED = 1.5  # bits below which a text of both cases, or with digits, is by chance
_ALIKE = -2.0  # and one of small letters, or of capitals, alone: and more for each letter more than `_LONG`
_LONG = 12  # letters of one case that tell something
_APART = -8.0  # bits below which a text with signs in it is by chance that has no long run
_SIZE = 16  # characters that such a text has at least


def scrambled(text: str, size: int = 8, *, bits: float = MIXED) -> bool:
    """
    Letters and digits in it follow each other as they only do by chance.

    Args:
        size: Characters that a stretch of letters and digits has at least to say something.
        bits: Below which one of both cases, or with digits, is by chance: more where a name must be a plain one.
    """
    runs = _runs().findall(text)
    if any(len(run) >= size and _chance(run, bits) for run in runs):
        return True
    if len(runs) < 2 or len(text) < _SIZE:
        return False
    found = {run: _bits(run) for run in set(runs)}
    return sum(found[run] for run in runs) < _APART


def _chance(run: str, least: float) -> bool:
    if run.isdigit():
        return False
    if run.isalpha() and (run.islower() or run.isupper()):
        more = max(0, len(run) - _LONG) * 1.2
        return (len(run) >= _LONG or least > MIXED) and _bits(run) < _ALIKE + more
    return _bits(run) < least


def _bits(run: str) -> float:
    """How much more a run looks like a word than like chance; the naive Bayes of its pairs."""
    if run.isalpha() and (run.islower() or run.isupper()):
        small = run.lower()
        return sum(map(_pairs().__getitem__, map(add, small, small[1:]))) - _CHANGES["aa"] * (len(run) - 1)
    bits = sum(map(_pairs().__getitem__, map(add, run, run[1:])))
    return bits + (_CAMEL if _camel().fullmatch(run) else 0 if spelt(run) else -_UNSPELT)


def spelt(run: str) -> bool:
    """Written as names are: small letters, capitals, or words that begin with capitals, with numbers behind them."""
    return _names().fullmatch(run) is not None


def _kind(character: str) -> str:
    return "0" if character.isdigit() else "A" if character.isupper() else "a"


class _Pairs(dict[str, float]):
    """Bits of each pair of letters and digits that was asked for."""

    def __missing__(self, pair: str) -> float:
        bits = _CHANGES[_kind(pair[0]) + _kind(pair[1])]
        if pair.isalpha():
            row, column = (ord(letter) - ord("a") for letter in pair.lower())
            bits += int(_PAIRS[row][column]) - 5
        return self.setdefault(pair, bits)


@cache
def _pairs() -> _Pairs:
    return _Pairs()


@cache
def _names() -> re.Pattern[str]:
    return re.compile(r"[A-Z\d]+s?|[a-z\d]+|(?:(?>[A-Z]{0,6}[a-z]+\d{0,2}))+(?:[A-Z]{2,4}s?\d{0,2})?")


@cache
def _camel() -> re.Pattern[str]:
    return re.compile(r"[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})*\d{0,2}")


@cache
def _runs() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z0-9]+")
