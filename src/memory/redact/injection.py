"""
Detects text that tries to instruct its reader: prompt injection, as far as its words show it.

A memory is data, but an agent reads it among its instructions (Greshake et al. 2023, "Not what you've signed up for:
Compromising Real-World LLM-Integrated Applications with Indirect Prompt Injection"). Such text is marked, not refused,
because a note that quotes an attack may be marked too. What counts as a sign, and what does not, is in
`memory.redact.injection_signs` and `injection_forged`.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64, unhexlify
from functools import cache
from html import unescape
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from unicodedata import normalize
from urllib.parse import unquote

from memory.redact.injection_forged import QUOTATION, RANKS, TOOLS
from memory.redact.injection_signs import ENGLISH, FRENCH, GERMAN, MARKUP, SPANISH, UNSPACED, Sign, tongues

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Group: TypeAlias = tuple[str, ...]
    """Stems, of which a text must have one."""

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
_DIGITS_NEAR = tuple("gnor gn0r sreg sr3g rget rg3t rr1d rr!d".split())
"""Of which a phrase with such digits has one."""
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
    Linear.
    """
    return _controls(text) or _said(text) or next(filter(None, map(_said, _decoded(text))), None)


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
    elif any(part in text for part in _DIGITS_NEAR) and _DIGITS.search(text):
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


class SignTable(NamedTuple):
    """
    Signs by the stems that lead to them: of each sign those of the group that costs least.

    Attributes:
        signs: By stem; of each sign its place among all, its other groups, and its pattern.
        fours: Stems by the first four bytes of each, and by the four from its second byte on: wherever it stands in a text,
            one of the two begins at an even place.
        short: Stems of less than five bytes.
    """

    signs: dict[str, list[tuple[int, list[Group], str]]]
    fours: dict[int, list[str]]
    short: list[str]


def _found(text: str, table: SignTable) -> str | None:
    """What the first sign of a table matches."""
    plain = text.replace("\n", " ")
    has = plain.__contains__
    fours = table.fours.keys() & _fours(plain.encode("utf-8", "surrogatepass"))
    stems = filter(has, {*table.short, *chain.from_iterable(map(table.fours.__getitem__, fours))})
    likely = {
        (place, pattern)
        for place, groups, pattern in chain.from_iterable(map(table.signs.__getitem__, stems))
        if all(any(map(has, group)) for group in groups)
    }
    matches = (_compiled(pattern).search(text) for _, pattern in sorted(likely))
    return next((" ".join(match[0].split())[:LENGTH] for match in matches if match), None)


def _fours(text: bytes) -> set[int]:
    """Each four bytes of a text that begin at an even place: a tenth of the time of a search for each stem."""
    whole = memoryview(text)
    return set().union(*[whole[begin : begin + (len(text) - begin) // 4 * 4].cast("I") for begin in (0, 2)])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _ready(signs: Iterable[Sign], space: str) -> SignTable:
    table = SignTable({}, {}, [])
    for place, sign in enumerate(signs):
        lead, *others = sorted((tuple(group.split(",")) for group in sign.stems), key=_cost)
        for stem in lead:
            table.signs.setdefault(stem, []).append((place, others, sign.pattern.replace(" ", space)))
    for stem in table.signs:
        if len(begin := stem.encode()[:5]) < 5:
            table.short.append(stem)
            continue
        for four in _fours(begin[:4]) | _fours(begin[1:]):
            table.fours.setdefault(four, []).append(stem)
    return table


def _cost(stems: Group) -> int:
    """How long it takes to look for these in a usual text: each short one is searched for, others in ASCII are ruled out."""
    return sum(8 if len(stem.encode()) < 5 else stem.isascii() for stem in stems)


@cache
def _spaced() -> SignTable:
    signs = (*ENGLISH, *MARKUP, *QUOTATION, *TOOLS, *RANKS, *GERMAN, *FRENCH, *SPANISH, *tongues(_folded))
    return _ready(signs, r"\s")


@cache
def _unspaced() -> SignTable:
    return _ready(UNSPACED, "")


@cache
def _run_together() -> SignTable:
    """For words whose letters stood apart: where each began is lost, so patterns match anywhere."""
    return _ready(tuple(Sign(sign.stems, sign.pattern.replace(r"\b", "")) for sign in ENGLISH[:3]), "")


# What a text says in base64, hexadecimal digits, percent signs or escapes: a model reads it, and a person does not ---

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{20,20000}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x|\\x)?[0-9a-fA-F]{2}[ :,]?){12,4000}(?![0-9A-Za-z])")
_ESCAPES = re.compile(r"\\u00([4-7][0-9a-fA-F])")
_PERCENTS = re.compile("%[4-7][0-9a-fA-F]")
_ENTITIES = re.compile("&#(?:6[5-9]|[789][0-9]|1[01][0-9]|12[0-2]|[xX][4-7][0-9a-fA-F]);")
_MOST = 40  # parts of a text that are decoded


def _decoded(text: str) -> Iterator[str]:
    """The readable texts that stand encoded in this one, a few of each kind; each at most as long as the text."""
    for number, part in enumerate(_BASE64.finditer(text)):
        if number < _MOST and (said := _readable(_base64(part[0]))):
            yield said
    for number, part in enumerate(_HEX.finditer(text)):
        if number < _MOST and (said := _readable(_hex(part[0]))):
            yield said
    if "%" in text and len(_PERCENTS.findall(text)) > 2:
        yield unquote(text)
    if "&#" in text and _ENTITIES.search(text):
        yield unescape(text)
    if "\\u00" in text:
        yield _ESCAPES.sub(lambda escape: chr(int(escape[1], 16)), text)


def _base64(part: str) -> bytes:
    part = part.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return a2b_base64(part + "=" * (-len(part) % 4))
    except (Error, ValueError):
        return b""


def _hex(part: str) -> bytes:
    try:
        return unhexlify(re.sub(r"0x|\\x|[ :,]", "", part))
    except (Error, ValueError):
        return b""


def _readable(data: bytes) -> str:
    """A text of words; empty if it is none, as what is random or compressed."""
    try:
        said = data.decode()
    except UnicodeDecodeError:
        return ""
    return said if said.replace("\n", " ").isprintable() and " " in said else ""
