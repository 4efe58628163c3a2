"""
One form of text for the index and for questions: what looks the same, or is typed without its marks, is the same.

The tables are those of Unicode itself, from `unicodedata`: NFKC, the marks of Latin, Greek, Cyrillic, Hebrew and Arabic, and
digits of all scripts. Only letters that Unicode does not decompose stand here. What a memory says stays as it was saved.
"""

from __future__ import annotations

import re
from codecs import register_error
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

_LETTERS = dict(
    pair.split(":")
    for pair in (
        "ß:ss ẞ:SS æ:ae Æ:Ae œ:oe Œ:Oe ø:o Ø:O đ:d Đ:D ð:d Ð:D þ:th Þ:Th ł:l Ł:L ħ:h Ħ:H ı:i ŋ:n Ŋ:N ŧ:t Ŧ:T ĸ:k "
        "ʼ:' ʻ:' ʹ:' ‐:- ‒:- −:- ⁄:/ ∕:/ ς:σ ٱ:ا ى:ي ی:ي ک:ك ہ:ه ة:ه ـ: "
        "\u115f: \u1160: \u3164:"  # fillers, which have no width
    ).split()
)
"""Letters and signs that Unicode does not decompose, and what they are typed or look like."""

_MARKS = (
    *((0x300, 0x36F), (0x483, 0x489), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0x2DE0, 0x2DFF)),
    *((0xA66F, 0xA67D), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xE0100, 0xE01EF)),
    *((0x591, 0x5C7), (0xFB1E, 0xFB1E), (0x610, 0x61A), (0x64B, 0x65F), (0x670, 0x670), (0x6D6, 0x6ED), (0x8D3, 0x8FF)),
)
"""Where the marks of Latin, Greek, Cyrillic, Hebrew and Arabic are. Those of other scripts are vowels, and stay."""

_WHOLE = frozenset("йЙўЎ")
"""Letters of their own, although Unicode decomposes them."""

_TOLD_APART = (0xC0, 0x52F)
"""Capitals of Latin, Greek and Cyrillic stay: they begin the parts of a name. The index knows no newer capitals."""

REMEMBERED = 1 << 15  # characters


def fold(text: str) -> str:
    """
    The form in which a text is indexed, and looked for. Capitals stay, and what stands in ASCII.

    Promises: `fold(fold(text)) == fold(text)`; texts that are canonically equivalent have one form.
    """
    # Most of most texts is ASCII: what is not, the codec finds in a fraction of the time that a pattern takes.
    return text if text.isascii() else text.encode("ascii", FOLD).decode("utf-8", "surrogatepass")


def folds(texts: Iterable[str]) -> list[str]:
    """The same of each of several."""
    return [fold(text) for text in texts]


def _folded(found: UnicodeError) -> tuple[bytes, int]:
    """A handler of errors: the run of characters outside of ASCII, folded, and where it ends."""
    assert isinstance(found, UnicodeEncodeError)  # noqa: S101  # who else calls it decodes
    return _fold(found.object[found.start : found.end]).encode("utf-8", "surrogatepass"), found.end


FOLD = "memory.fold"
register_error(FOLD, _folded)


# A mark on a letter of ASCII goes, whether or not it is composed with that before.
@lru_cache(maxsize=1 << 14)
def _fold(run: str) -> str:
    composed: str = _unicode().normalize("NFKC", run.translate(_unseen()))
    return composed.translate(_table())


@cache
def _unicode() -> ModuleType:
    import unicodedata  # most texts do without

    return unicodedata


class _Unseen(dict[int, int | str | None]):
    """For `str.translate`: leaves out characters without width, and signs that NFKC would take for letters of a word."""

    def __missing__(self, code: int) -> int | str | None:
        letter = chr(code)
        found = None if _unicode().category(letter) == "Cf" or letter in "™℠\u3164\uffa0" else code
        if len(self) < REMEMBERED:
            self[code] = found
        return found


class _Table(dict[int, int | str]):
    """For `str.translate`, of texts in NFKC."""

    def __missing__(self, code: int) -> int | str:
        letter = chr(code)
        found = letter if code < 128 else _plain(letter)
        if len(self) < REMEMBERED:
            self[code] = found
        return found


_unseen, _table = cache(_Unseen), cache(_Table)


def _plain(letter: str) -> str:
    if letter in _WHOLE:
        return letter
    if letter in _LETTERS:
        return _LETTERS[letter]
    if _unicode().category(letter) == "Nd":
        return str(_unicode().digit(letter))
    parts = _unicode().normalize("NFD", letter)
    left = "".join(part for part in parts if not _is_mark(part))
    if left != parts:
        return "".join(_LETTERS.get(part, part) for part in _unicode().normalize("NFC", left))
    return letter if _TOLD_APART[0] <= ord(letter) <= _TOLD_APART[1] else letter.lower()


def _is_mark(letter: str) -> bool:
    return any(first <= ord(letter) <= last for first, last in _MARKS) and _unicode().category(letter)[0] == "M"


# What is said beside the words --------------------------------------------------------

_DIGRAPHS = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
"""How letters are written where they cannot be typed."""

_PROGRAMMING = r"(?<!\w)(?:(?P<plus>c|g|clang|libc|libstdc|notepad)\+\+|(?P<sharp>[acfjq])#(?!\w)|(?:asp|ado|vb)?(?P<dot>\.net)(?!\w))"

_SPLIT = r"[^\W_]+(?:[\u200b\u200c][^\W_]+)+"
"""Words between which stand signs without width."""

_OTHER = "©®°±¬¶§¦×÷\ufffc\ufffd"
"""Signs that say nothing by themselves."""

_DRAWN = ((0x2500, 0x259F), (0x2800, 0x28FF), (0x2E80, 0x2FFF))
"""Lines, dots and parts of letters."""


def digraphs(text: str) -> dict[str, str]:
    """The words of a text that have umlauts, as they are folded, each as it is written without: "Muller" as "Mueller"."""
    if text.isascii() or not _umlaut().search(text):
        return {}
    composed = _unicode().normalize("NFC", text.translate(_unseen()))
    return {fold(word): fold(_written(word)) for word in re.findall(r"\w*[äöüøåÄÖÜØÅ]\w*", composed)}


@cache
def _umlaut() -> re.Pattern[str]:
    """What may be a letter with a digraph, once a text is composed: that letter, or its mark."""
    return re.compile("[äöüøåÄÖÜØÅ\u212b\u0308\u030a\u0344]")


def _written(word: str) -> str:
    return "".join(
        letter if (pair := _DIGRAPHS.get(letter.lower())) is None else pair if letter.islower() else pair.capitalize()
        for letter in word
    )


class Said(NamedTuple):
    """
    What a text says to an index.

    Attributes:
        plain: Its words, folded.
        digraphs, signs: See the functions.
    """

    plain: str
    digraphs: dict[str, str]
    signs: list[str]


def said(text: str) -> Said:
    """A text as an index and a question are read."""
    return Said(fold(text), digraphs(text), signs(text))


def signs(text: str) -> list[str]:
    """
    The signs of a text that carry meaning, as words: emoji, arrows, currencies by their names in Unicode, and what tells C++,
    C#, F# and .NET from C, F and NET.
    """
    if text.isascii() and "+" not in text and "#" not in text and "." not in text:
        return []
    return [*_languages(text), *([] if text.isascii() else _symbols(text))]


def _languages(text: str) -> Iterator[str]:
    if "++" in text or "#" in text or ".net" in text.lower():
        for found in _language().finditer(text):
            name = (
                f"{found['plus']}plusplus"
                if found["plus"]
                else f"{found['sharp']}sharp"
                if found["sharp"]
                else "dotnet"
            )
            yield name.lower()


@cache
def _language() -> re.Pattern[str]:
    return re.compile(_PROGRAMMING, re.IGNORECASE)


def _symbols(text: str) -> Iterator[str]:
    for letter in _outside().findall(_unicode().normalize("NFKC", text)):
        if word := _named(letter):
            yield word


@cache
def _outside() -> re.Pattern[str]:
    return re.compile(r"[^\0-\x7f]")


@cache
def _named(letter: str) -> str:
    """The name of a sign in Unicode as one word; empty if it is none that says something."""
    if _unicode().category(letter) not in {"So", "Sc", "Sm"} or letter in _OTHER or _LETTERS.get(letter):
        return ""
    if any(first <= ord(letter) <= last for first, last in _DRAWN):
        return ""
    name = _unicode().name(letter, "")
    return "".join(filter(str.isalpha, name)).lower() or f"sign{ord(letter):x}"


def beside(text: str) -> list[str]:
    """What is indexed of a text beside its folded words: its signs, its umlauts as pairs, words cut at signs without width."""
    found = signs(text)
    if not text.isascii():
        found += digraphs(text).values()
        if "\u200b" in text or "\u200c" in text:
            found += [fold(piece) for word in re.findall(_SPLIT, text) for piece in re.split("[\u200b\u200c]", word)]
    return found


def forms(texts: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Each text folded, and what is indexed `beside` it."""
    return [(fold(text), beside(text)) for text in texts]
