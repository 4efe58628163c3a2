"""
Detects text that tries to instruct its reader: prompt injection, as far as its words show it.

A memory is data, but an agent reads it among its instructions (Greshake et al. 2023, "Not what you've signed up for:
Compromising Real-World LLM-Integrated Applications with Indirect Prompt Injection"). Such text is marked, not refused,
because a note that quotes an attack may be marked too. What counts as a sign, and what does not, is in
`memory.text.injection_signs`, `injection_forged` and `injection_tongues`.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from typing import NamedTuple
from unicodedata import normalize

from memory.text import injection_tongues
from memory.text.encoded import decoded
from memory.text.injection_forged import QUOTATION, RANKS, TOOLS
from memory.text.injection_signs import ENGLISH, FRENCH, GERMAN, MARKUP, SPANISH, UNSPACED, Sign

LENGTH = 80  # characters of the phrase returned


_HIDDEN = re.compile("[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202c\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_FLAGS = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{5}\U000e007f")  # England's flag and others: legitimate tags
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_RUN = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]{24,}")
_STEERED = re.compile("[\u202a\u202b\u2066-\u2068\ufff9-\ufffb]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_ACTING = "\x1b\x9b\x9d\x90\x08"
_ATTACKS = ("injection", "jailbreak", "attack", "adversar", "malicious", "poison", "owasp", "red team")
_MARKS = "\"'`\u201c\u201e\u00ab\u300c"
_QUOTED = re.compile(
    "\"[^\"\n]{1,300}\"|`{1,3}[^`]{1,300}`{1,3}|(?<!\\w)'[^'\n]{1,300}'(?!\\w)"
    "|[\u201c\u201e][^\u201d\u201c\n]{1,300}[\u201d\u201c]|\u00ab[^\u00bb\n]{1,300}\u00bb|\u300c[^\u300d\n]{1,300}\u300d"
)
_CLOSING = re.compile(
    r"(?<![`'\"])</((?:recalled|retrieved|untrusted|stored|external|user|tool|search|system)?[_-]?"
    r"(?:memor(?:y|ies)|untrusted|context|conversation|(?:user|tool|search)[_-](?:input|data|message|query|results?|output|response)"
    r"|instructions?|prompt|documents?|quotation|quote|content|notes?|data|results?))>(?![`'\"])"
)
_REVERSED = ("erongi", "dragersid", "tegrof", "metsys")
_ROTATED = ("vtaber", "qvfertneq", "flfgrz cebzcg")
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_DIGITS = re.compile(r"\b(?:[1!]gn[o0]r[e3]|d[1!]sr[e3]g[a@4]rd|f[o0]rg[e3]t|[o0]v[e3]rr[1!]d[e3])\b")
_LETTERS_OF = str.maketrans("01345@$!", "oieasasi")
_OVERRIDE = re.compile("[\u202d\u202e]")
_ALIKE = str.maketrans("асеіјорѕухһԁıοαν\u2019", "aceijopsyxhdioav'")  # Cyrillic and Greek letters; a Turkish i
_LETTERS = re.compile(r"(?:[a-z][ .*|_-]){7,400}[a-z]")
_APART = tuple(between.join(part) for between in " .*|_-" for part in ("gnor", "sreg", "orge", "egle"))


def orders(text: str) -> str | None:
    """
    The phrase by which a text seems to instruct an agent, folded and at most `LENGTH` characters long, or None.

    None proves nothing. Letter case and zero-width characters between letters make no difference, except to what is
    encoded. A phrase in quotation marks is none where the text speaks of such attacks.
    Linear: about 20 million characters a second where no word is suspicious.
    """
    return _controls(text) or _said(text) or next(filter(None, map(_said, decoded(text))), None)


def _said(text: str) -> str | None:
    if not text.isascii():
        if hidden := _RUN.search(text):
            return f"unseen: {len(hidden[0])} characters without width"
        if (steered := _STEERED.search(text)) and not _RIGHT_TO_LEFT.search(text):
            return f"unseen: U+{ord(steered[0]):04X}, although nothing is written from the right"
        text = _HIDDEN.sub("", text)
        if unseen := _unseen(text):
            return unseen
        text = _folded(text)
    text = "\n".join(filter(None, (" ".join(line.split()) for line in text.casefold().splitlines())))
    if any(word in text for word in _ATTACKS) and any(mark in text for mark in _MARKS):
        text = _QUOTED.sub(" ", text)
    squeezed = "" if text.isascii() else "".join(text.split())
    return (
        _found(text, _spaced())
        or _unopened(text)
        or (_found(squeezed, _unspaced()) if squeezed else None)
        or _spelt(text)
        or _turned(text)
    )


def _controls(text: str) -> str | None:
    """What a terminal would act on: it hides, moves or overwrites text."""
    if code := next((code for code in _ACTING if code in text), None):
        return f"unseen: U+{ord(code):04X} controls a terminal"
    return None


def _unopened(text: str) -> str | None:
    """A tag that ends what no tag in this text began: the quotation in which the text might stand."""
    if "</" not in text:
        return None
    for tag in _CLOSING.finditer(text):
        if f"<{tag[1]}" not in text[: tag.start()]:
            return tag[0][:LENGTH]
    return None


def _turned(text: str) -> str | None:
    """A phrase with digits in place of letters, or written backwards or by ROT13."""
    if any(part in text for part in _REVERSED):
        text = text[::-1]
    elif any(part in text for part in _ROTATED):
        text = text.translate(_ROT13)
    elif _DIGITS.search(text):
        text = text.translate(_LETTERS_OF)
    else:
        return None
    return _found(text, _spaced())


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
    tongues = injection_tongues.signs(_folded)
    return _ready((*ENGLISH, *MARKUP, *QUOTATION, *TOOLS, *RANKS, *GERMAN, *FRENCH, *SPANISH, *tongues), r"\s")


@cache
def _unspaced() -> Signs:
    return _ready(UNSPACED, "")


@cache
def _run_together() -> Signs:
    """For words whose letters stood apart: where each began is lost, so patterns match anywhere."""
    return _ready(tuple(Sign(sign.stems, sign.pattern.replace(r"\b", "")) for sign in ENGLISH[:3]), "")
