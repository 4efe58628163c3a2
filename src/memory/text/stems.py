"""
The words of a text as the keyword index has them: `porter unicode61 remove_diacritics 2` of FTS5, without SQLite.

What these tokenizers do is in SQLite's ext/fts5/fts5_tokenize.c and fts5_unicode2.c; a law compares with them.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASCII = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))

SHORTEST, LONGEST = 3, 64
"""Bytes of UTF-8 of the words that have a stem; others are their own."""


def stems(text: str) -> tuple[str, ...]:
    """The tokens of a text, in order: words in small letters, without diacritics, each its stem."""
    words = text.translate(_ASCII if text.isascii() else _letters()).split()
    return tuple([stem(word) if len(word) <= LONGEST else word for word in words])


@cache
def _letters() -> Mapping[int, str]:
    from memory.text.unicode61 import Letters  # most texts do without

    return Letters()


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """The stem of a word in small letters."""
    if word.isascii():
        return _stem(word) if SHORTEST <= len(word) <= LONGEST else word
    # FTS5 goes by bytes, of which none above 127 is a vowel. Where two equal ones end a stem it takes one away, and what
    # is left is no UTF-8: this is how SQLite's readers show it.
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
    """The word without the endings of a plural and of -ed and -ing."""
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
    """The word with its longest ending that has a rule replaced, if what is before it measures enough."""
    for length in range(min(7, len(word) - 1), 1, -1):
        if (other := rules.get(word[-length:])) is not None:
            root = word[:-length]
            return root + other if _shape(root).count("vc") >= least else word
    return word


def _shape(word: str) -> str:
    """
    A v for each vowel, a c for each consonant; `y` is a vowel behind a consonant.

    Porter's measure m of a word is how often "vc" is in it.
    """
    shape = word.translate(_SHAPES)
    while (place := shape.find("y")) >= 0:
        shape = shape[:place] + ("v" if shape[place - 1 : place] == "c" else "c") + shape[place + 1 :]
    return shape


def _short(word: str, shape: str) -> bool:
    """Whether a word ends as "hop" does, which is neither "how" nor "hoop"."""
    return shape.endswith("cvc") and word[-1] not in "wxy"
