"""
Removes secrets from what is about to be saved, before anything is written: puts markers where rules match.

Pure functions of a text and the rules. A text is also searched as its reader sees it: without terminal colours, with
one kind of space, and with continued lines joined.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple, cast

from memory.redact.blocks import BLOCKS
from memory.redact.commands import COMMANDS
from memory.redact.detectors import said_elsewhere, stand_in, strong
from memory.redact.formats import FORMATS
from memory.redact.named import MAYBE, NAMED, STEM, SUFFIX
from memory.redact.rules import (
    MARK,
    MARKED,
    SecretRule,
    SecretSpan,
    Text,
    View,
    between,
    compiled,
    finder,
    marked,
    marker,
)
from memory.redact.told import TOLD
from memory.schema.errors import DEPTH_LIMIT, Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memory.schema.draft import Draft
    from memory.schema.memory import Json

__all__ = ["BUILT_IN", "Redacted", "Redactor", "SecretRule"]

BUILT_IN: tuple[SecretRule, ...] = (*FORMATS, *COMMANDS, *NAMED, *TOLD, *BLOCKS)
"""In the order of precedence: where two rules overlap, the name of the first is used."""

DEEP = 4
"""How many searches around removed secrets remove only the secret they find; later ones remove more."""

MARGIN = 32
"""
Characters removed on both sides of a secret at depth `DEEP`; four times as many at each further depth.

Otherwise a text could keep the search going for ever.
"""

LOOKS = 2
"""How often a text is made plain: JSON in which code joins the parts of a text takes two."""

AGAIN = 3
"""How often a text is read again as a whole after something was removed from it: what was removed may hide a name."""

FIELD = "secret-field"
"""The marker's name for text removed because its JSON key names a secret."""

_MEANS = rf"(?:{STEM}(?:(?<!token)s)?|(?:proxy[-_])?authorization|(?:set[-_])?cookie){SUFFIX}"
"""A JSON key that names a secret: `password`, `apiKey`, `X-Auth-Token`, `Authorization`."""

_MAY_MEAN = rf"(?:session|storage|shared|application|app|host|service|account)[-_. ]?key|auth|bearer|{MAYBE}"
"""A JSON key that names a secret or something else: `session_key`, `auth`."""

_DESCRIBES = frozenset(
    "type format kind name title description file path url host user username email id status".split()
)
"""Keys below the name of a secret that only describe it."""

_FIELDS = (
    *("title", "what", "why", "impact", "description", "body", "category", "tags", "related_files", "metadata"),
    *("project", "source", "agent_id", "session_id", "task_code", "query_id"),
)


class Redacted(NamedTuple):
    """
    A text without its secrets.

    Attributes:
        found: The names of the rules that removed something, in order of position, once for each place.
    """

    text: str
    found: tuple[str, ...]


class Redactor:
    """
    Replaces secrets by markers: `[redacted:NAME]`, and `[redacted]` for what stood between `<redacted>` tags.

    Redacting twice is the same as once; text around a secret stays as it is.

    Args:
        rules: The user's own rules, added to the built-in ones.
    """

    def __init__(self, rules: Sequence[SecretRule] = ()) -> None:
        self._rules = (*BUILT_IN, *rules)
        self._find = finder(self._rules)
        self._names = frozenset((FIELD, *(rule.name for rule in self._rules)))

    def text(self, text: str) -> Redacted:
        """
        Raises:
            Invalid: A `<redacted>` in it is not closed.
        """
        return self._text("the text", text)

    def value(self, value: Json) -> tuple[Json, tuple[str, ...]]:
        """
        A JSON value without secrets in its texts and keys. Where a key names a secret, all text below it goes.

        Returns:
            The same object if nothing was found.

        Raises:
            Invalid: A `<redacted>` in it is not closed, or it is nested more than `DEPTH_LIMIT` deep.
        """
        return self._value("the value", value)

    def draft(self, draft: Draft) -> tuple[Draft, tuple[str, ...]]:
        """
        A draft without secrets in any of its texts.

        Returns:
            The same object if nothing was found.

        Raises:
            Invalid: A `<redacted>` in it is not closed, or the markers make a text of the draft too long.
        """
        changed: dict[str, object] = {}
        found: list[str] = []
        for name in _FIELDS:
            content = getattr(draft, name)
            if not content:
                continue
            value, names = self._mapping(name, content, 1) if name == "metadata" else self._value(name, content)
            if names:
                changed[name] = value
                found += names
        return (_replaced(draft, changed), tuple(found)) if found else (draft, ())

    def _text(self, field: str, text: str) -> Redacted:
        found: list[str] = []
        pieces, start = [], 0
        for begin, stop in marked(text, field) if "<" in text else ():
            pieces += [self._read(text[start:begin], found), marker(MARKED)]
            found.append(MARKED)
            start = stop
        pieces.append(self._read(text[start:], found))
        return Redacted("".join(pieces) if found else text, tuple(found))

    def _read(self, text: str, found: list[str]) -> str:
        """The text redacted: first what its readers find, markers or not, and then all else between markers."""
        whole, tried = self._find.begin(text)
        if not tried and self._formless(whole):
            return text
        for _ in range(AGAIN):  # what is removed may have hidden the head of a table
            places = _seen(whole, self._find.read)
            pieces, end = [], 0
            for place in places:
                name = self._rules[place.rank].name
                pieces += [self._unmarked(Text(whole.text[end : place.start]), found), marker(name)]
                found.append(name)
                end = place.stop
            rest = self._unmarked(Text(whole.text[end:]) if end else whole, found)
            done = "".join((*pieces, rest))
            if done == whole.text:
                break
            whole = Text(done)
            if not _seen(whole, self._find.read):
                break
        return whole.text

    def _formless(self, whole: Text, looks: int = LOOKS) -> bool:
        """Whether a text that no rule has anything to try on has none in another form either, as most texts."""
        form = _form(whole) if looks else None
        return form is None or (not self._find.tries(form.whole) and self._formless(form.whole, looks - 1))

    def _unmarked(self, whole: Text, found: list[str]) -> str:
        """The text with each stretch between its markers redacted separately."""
        text = whole.text
        if MARK not in text:
            return self._stretch(whole, found)
        pieces, end = [], 0
        for start, stop in between(text, self._names):
            pieces += [text[end:start], self._stretch(Text(text[start:stop]), found)]
            end = stop
        return "".join(pieces)

    def _stretch(self, whole: Text, found: list[str]) -> str:
        """
        A text without markers, redacted; what surrounds a removed secret is searched again,
        because it may now be one.
        """
        # A stack instead of recursion: a text of many secrets would exceed Python's depth.
        pieces: list[str] = []
        text = whole.text
        waiting: list[str | tuple[int, int, int]] = [(0, len(text), 0)]
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                found.append(part)
                pieces.append(marker(part))
                continue
            start, stop, depth = part
            places = _seen(Text(text[start:stop]) if depth else whole, self._find.places)
            if not places:
                pieces.append(text[start:stop])
                continue
            end = stop
            for place in reversed(widened(places, depth, stop - start)):
                waiting += [(start + place.stop, end, depth + 1), self._rules[place.rank].name]
                end = start + place.start
            waiting.append((start, end, depth + 1))
        return "".join(pieces)

    def _value(self, field: str, value: Json, depth: int = 0) -> tuple[Json, tuple[str, ...]]:
        if depth > DEPTH_LIMIT:
            raise Invalid(f"{field} is nested more than {DEPTH_LIMIT} deep")
        match value:
            case str():
                return self._text(field, value)
            case dict():
                return self._mapping(field, value, depth + 1)
            case list() | tuple():
                done = [self._item(field, last, item, depth) for last, item in zip((None, *value), value, strict=False)]
                names = tuple(name for _, found in done for name in found)
                return (type(value)(item for item, _ in done) if names else value), names
        return value, ()

    def _item(self, field: str, last: Json, item: Json, depth: int) -> tuple[Json, tuple[str, ...]]:
        """A list item; after a flag it is that flag's value: `["--password", "…"]`."""
        taken: tuple[str, ...] = ()
        if isinstance(last, str) and last.startswith("-") and isinstance(item, str) and not item.startswith("-"):
            item, taken = _without_named(last.lstrip("-"), item, depth)
        new, found = self._value(field, item, depth + 1)
        return new, (*taken, *found)

    def _mapping(self, field: str, value: Mapping[str, Json], depth: int) -> tuple[dict[str, Json], tuple[str, ...]]:
        """The pairs of a mapping; keys that become equal are numbered, so that none is lost."""
        pairs: dict[str, Json] = {}
        names: list[str] = []
        for key, item in value.items():
            clean, found = self._text(field, str(key))
            names += found
            # A value is called by its key, and in `{"name": "DB_PASSWORD", "value": …}` by the text beside it.
            beside = value.get("name", value.get("key")) if key == "value" else None
            name = beside if isinstance(beside, str) else str(key)
            new, taken = _without_named(name, item, depth)
            new, found = self._value(field, new, depth)
            names += (*taken, *found)
            free = chain((clean,), (f"{clean} {number}" for number in count(2)))
            pairs[next(name for name in free if name not in pairs)] = new
        return (pairs if names else cast("dict[str, Json]", value)), tuple(names)


def _without_named(name: str, value: Json, depth: int) -> tuple[Json, tuple[str, ...]]:
    """A JSON value without its texts if its name says that it is secret, and how often something was removed."""
    if _means(name, _MAY_MEAN):
        secret = isinstance(value, str) and strong(value) and not stand_in(value)
        return (marker(FIELD), (FIELD,)) if secret else (value, ())
    return _emptied(value, depth) if _means(name, _MEANS) else (value, ())


def _means(name: str, pattern: str) -> bool:
    """Whether a JSON key is spelled so, or ends so: `apiKey` as `api_Key`."""
    spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    whole = compiled(rf"(?:.{{0,64}}[^a-z])??(?:{pattern})", folded=True)
    return len(name) <= 128 and whole.fullmatch(spelled) is not None


def _emptied(value: Json, depth: int) -> tuple[Json, tuple[str, ...]]:
    """The value below a secret's name, with its texts replaced except placeholders, markers and descriptions."""
    match value:
        case str() if value.strip() and not stand_in(value) and not said_elsewhere(value):
            return marker(FIELD), (FIELD,)
        case list() | tuple() if depth <= DEPTH_LIMIT:
            done = [_emptied(item, depth + 1) for item in value]
            return type(value)(item for item, _ in done), tuple(name for _, found in done for name in found)
        case dict() if depth <= DEPTH_LIMIT:
            pairs = {key: (item, ()) if key in _DESCRIBES else _emptied(item, depth + 1) for key, item in value.items()}
            found = tuple(name for _, names in pairs.values() for name in names)
            return {key: item for key, (item, _) in pairs.items()}, found
    return value, ()


def _replaced(draft: Draft, changed: Mapping[str, object]) -> Draft:
    try:
        return replace(draft, **changed)  # type: ignore[arg-type]
    except Invalid as error:
        raise Invalid(
            f"with its secrets replaced by markers, {error}", hint="Shorten it, or leave the secrets out."
        ) from error


def _seen(whole: Text, places: Callable[[Text], list[SecretSpan]], looks: int = LOOKS) -> list[SecretSpan]:
    """
    Every secret in a text, in order; overlapping ones as one, with the rank of the earliest rule.

    The plain form of the text is searched too, for secrets that only show there, and the plain form of that.
    """
    found = places(whole)
    if looks and (form := _form(whole)):
        look, at, after = form  # a secret has what was removed inside it, and not what was removed around it
        plainly = [SecretSpan(at(start), after(stop - 1), rank) for start, stop, rank in _seen(look, places, looks - 1)]
        starts = {place.start for place in plainly}
        on = compiled(_ON, folded=False)
        found = [
            _bare(whole.text, one) for one in found if one.start not in starts or not on.search(whole.text, *one[:2])
        ]
        found += plainly
    return _merged(found)


def _form(whole: Text) -> View | None:
    if whole.form is None:
        seen = plain(whole.text)
        whole.form = (View(Text(seen[0]), *seen[1:]) if seen else None,)
    return whole.form[0]


def _bare(text: str, place: SecretSpan) -> SecretSpan:
    """A place without the colours around it: `\\x1b[1mSECRET\\x1b[0m`."""
    start, stop, rank = place
    gone = compiled(_GONE, folded=False)
    for one in reversed([*gone.finditer(text, start, stop)]):
        if one.end() != stop:
            break
        stop = one.start()
    while start < stop and (first := gone.match(text, start, stop)):
        start = first.end()
    return SecretSpan(start, stop, rank) if start < stop else place


def _merged(found: Iterable[SecretSpan]) -> list[SecretSpan]:
    merged: list[SecretSpan] = []
    for place in sorted(found):
        if merged and place.start < merged[-1].stop:
            last = merged.pop()
            merged.append(SecretSpan(last.start, max(last.stop, place.stop), min(last.rank, place.rank)))
        else:
            merged.append(place)
    return merged


def widened(places: list[SecretSpan], depth: int, size: int) -> list[SecretSpan]:
    """
    The places found at a depth of repeated searches, in a text of this size; from depth `DEEP` on with margins.

    Each search reads all that is left of a text. Without margins, a text in which each removed secret turns what
    precedes it into another, such as a row of names of secrets, would be read once for each.
    """
    if depth < DEEP:
        return places
    more = MARGIN << 2 * (depth - DEEP)
    return _merged(SecretSpan(max(0, start - more), min(size, stop + more), rank) for start, stop, rank in places)


_ESCAPE = r"(?:\x1b|\\x1[bB]|\\0?33|\\e|\\u001[bB]|\^\[)"
_JOINT = (  # "abc" + "def", as code splits a text: `+` or what other languages write, or a new line alone
    r"(?P<joint>[\"'`])(?<=[\w+/=-].)(?:[ \t]{0,40}(?:\+|\.\.?|&|\|\||<>)\s{0,80}\\?\s{0,80}"
    r"|[ \t]{0,40}\\?\r?\n(?:[ \t]{0,80}(?:\+|\.\.?|&))?[ \t]{0,80})"
    r"[bru]?(?P=joint)(?=[\w+/=-])"
)
_GONE = (
    rf"{_ESCAPE}\[[0-9;:?]{{0,32}}[A-Za-z]|\x9b[0-9;:?]{{0,32}}[A-Za-z]"  # colours, also as sources write them
    r"|\\\r?\n[ \t]{0,200}|\\\\\\n[ \t]{0,200}"  # a continued line, also as JSON writes it
    "|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"  # zero width
)
_ON = r"\\{1,3}[nrt][A-Za-z]?[a-z_-]*\Z"
"""A line break as JSON writes it, and the word after: with it, what goes for a value goes on into the next line."""

_BLANK = "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|&nbsp;|&#160;"
_ENTITY = (
    r"&(?:#\d{2,7}|#[xX][0-9a-fA-F]{2,6}|equals|colon|quot|apos|amp|lowbar|UnderBar|period|sol|commat|excl|percnt|plus|num|ast"
    r"|hyphen|dash|dollar|semi|quest|lpar|rpar|comma|vert|verbar);|\\{1,3}(?:u[0-9a-fA-F]{4}|[nrt\"'])"
)
_ESCAPED = {"n": "\n", "r": "\n", "t": "\t"}
_UNSEEN = rf"{_GONE}|(?P<blank>{_BLANK})|(?P<entity>{_ENTITY})"
_SIGN = "[\x1b\x9b\\\\&^\u00a0\u00ad\u1680\u2000-\u200f\u202a-\u202f\u205f-\u2064\u3000\ufeff]"
"""With what each begins, but for joints."""

_SIGNS = "\x1b\\&^"
"""Those of them in ASCII."""


def plain(text: str) -> tuple[str, Callable[[int], int], Callable[[int], int]] | None:
    """
    The text as a reader sees it, with where a character of it begins and ends in the text; None if it is plain already.

    Entities are characters, and a text that code puts together is one.
    """
    found: list[re.Match[str]] = []
    if not text.isascii() or any(map(text.__contains__, _SIGNS)):
        starts_of = (sign.start() for sign in re.finditer(_SIGN, text))
        found = [unseen for at in starts_of if (unseen := compiled(_UNSEEN, folded=False).match(text, at))]
    if any(map(text.__contains__, "\"'`")) and (joints := [*compiled(_JOINT, folded=False).finditer(text)]):
        found = sorted((*found, *joints), key=re.Match.start)
    if not found:
        return None
    pieces: list[str] = []
    starts, shifts, end = [0], [0], 0
    ends: dict[int, int] = {}
    for one in found:
        if one.start() < end:
            continue
        groups = one.groupdict()
        sign = " " if groups.get("blank") else _meant(groups["entity"]) if groups.get("entity") else ""
        pieces.append(text[end : one.start()] + sign)
        end = one.end()
        starts.append(starts[-1] + len(pieces[-1]))
        shifts.append(end - starts[-1])
        if sign:
            ends[starts[-1] - 1] = end

    def at(place: int) -> int:
        return place + shifts[bisect_right(starts, place) - 1]

    return "".join((*pieces, text[end:])), at, lambda last: ends.get(last) or at(last) + 1


def _meant(entity: str) -> str:
    """The character that `&#61;`, `\\u003d`, `\\"` or `\\n` stands for; the last as JSON writes it in a text."""
    if entity.startswith("\\"):
        written = entity.lstrip("\\")
        return chr(int(written[1:], base=16)) if written[0] == "u" else _ESCAPED.get(written, written)
    from html import unescape

    return unescape(entity)[:1]
