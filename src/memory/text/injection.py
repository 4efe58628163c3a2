"""
Detects text that tries to instruct its reader: prompt injection, as far as its words show it.

A memory is data, but an agent reads it among its instructions (Greshake et al. 2023, "Not what you've signed up for:
Compromising Real-World LLM-Integrated Applications with Indirect Prompt Injection"). Such text is marked, not refused,
because a note that quotes an attack may be marked too. What counts as a sign, and what does not, is in
`memory.text.injection_signs`.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from typing import NamedTuple
from unicodedata import normalize

from memory.text.injection_signs import ENGLISH, FRENCH, GERMAN, MARKUP, SPANISH, UNSPACED, Sign

LENGTH = 80  # characters of the phrase returned


_HIDDEN = re.compile("[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202c\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_FLAGS = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")  # England's flag and others: legitimate tags
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_OVERRIDE = re.compile("[\u202d\u202e]")
_ALIKE = str.maketrans("асеіјорѕухһԁıοαν\u2019", "aceijopsyxhdioav'")  # Cyrillic and Greek letters; a Turkish i
_LETTERS = re.compile(r"(?:[a-z][ .*|_-]){7,400}[a-z]")
_APART = tuple(between.join(part) for between in " .*|_-" for part in ("gnor", "sreg", "orge", "egle"))


def orders(text: str) -> str | None:
    """
    The phrase by which a text seems to instruct an agent, folded and at most `LENGTH` characters long, or None.

    None proves nothing. Letter case and zero-width characters between letters make no difference.
    Linear: about 20 million characters a second where no word is suspicious.
    """
    if not text.isascii():
        text = _HIDDEN.sub("", text)
        if unseen := _unseen(text):
            return unseen
        text = _folded(text)
    text = "\n".join(filter(None, (" ".join(line.split()) for line in text.casefold().splitlines())))
    squeezed = "" if text.isascii() else "".join(text.split())
    return _found(text, _spaced()) or (_found(squeezed, _unspaced()) if squeezed else None) or _spelt(text)


def _unseen(text: str) -> str | None:
    """
    What a person does not see but a model reads: tag characters spell ASCII,
    overrides reverse the reading order.
    """
    if tags := _TAGS.search(_FLAGS.sub("", text)):
        spelt = "".join(chr(ord(character) & 0x7F) for character in tags[0])
        return f"unseen: {spelt if spelt.isprintable() else f'U+{ord(tags[0][0]):X}'}"[:LENGTH]
    if override := _OVERRIDE.search(text):
        return f"unseen: U+{ord(override[0]):X} turns the reading order"
    return None


def _folded(text: str) -> str:
    """Text in one case and one width, without accents, with Latin letters in place of look-alikes."""
    text = normalize("NFKD", text.casefold()).casefold()
    return normalize("NFC", _ACCENTS.sub("", text)).translate(_ALIKE)


def _spelt(text: str) -> str | None:
    """A phrase of letters written apart: i g n o r e."""
    if not any(part in text for part in _APART):
        return None
    runs = ("".join(filter(str.isalpha, run)) for run in _LETTERS.findall(text))
    return next((phrase for run in runs if (phrase := _found(run, _run_together()))), None)


class Signs(NamedTuple):
    """A table of signs, prepared: all stems, and each pattern with the groups of stems it needs."""

    stems: tuple[str, ...]
    rows: tuple[tuple[tuple[frozenset[str], ...], str], ...]


def _found(text: str, signs: Signs) -> str | None:
    flat = text.replace("\n", " ")
    present = {stem for stem in signs.stems if stem in flat}
    if not present:
        return None
    for groups, pattern in signs.rows:
        if not any(map(present.isdisjoint, groups)) and (match := _compiled(pattern).search(text)):
            return " ".join(match[0].split())[:LENGTH]
    return None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _ready(signs: tuple[Sign, ...], space: str) -> Signs:
    rows = [
        (tuple(frozenset(group.split(",")) for group in sign.stems), sign.pattern.replace(" ", space)) for sign in signs
    ]
    return Signs(tuple(sorted({stem for groups, _ in rows for stem in chain(*groups)})), tuple(rows))


@cache
def _spaced() -> Signs:
    return _ready((*ENGLISH, *MARKUP, *GERMAN, *FRENCH, *SPANISH), r"\s")


@cache
def _unspaced() -> Signs:
    return _ready(UNSPACED, "")


@cache
def _run_together() -> Signs:
    """For words whose letters stood apart: where each began is lost, so patterns match anywhere."""
    return _ready(tuple(Sign(sign.stems, sign.pattern.replace(r"\b", "")) for sign in ENGLISH[:3]), "")
