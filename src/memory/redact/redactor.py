"""Removes secrets from what is about to be saved. Pure functions of a text and the rules."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple, cast

from memory.redact.assigned import FIELD, assigned, may_name_secret, names_secret
from memory.redact.contexts import ADDRESSES, COMMANDS, CONTEXTS
from memory.redact.detectors import Finder, Rule, widened
from memory.redact.patterns import FORMATS, KEYS
from memory.redact.shape import said_elsewhere, stand_in, strong
from memory.schema.errors import Invalid
from memory.schema.limits import DEPTH_LIMIT

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from memory.redact.detectors import Span
    from memory.schema.draft import Draft
    from memory.schema.memory import Json

MARKED = "marked"
"""The name under which text between the tags is reported."""


def marker(name: str) -> str:
    return "[redacted]" if name == MARKED else f"[redacted:{name}]"


def marked(text: str, field: str) -> list[Span]:
    """
    The outermost `<redacted>…</redacted>` of a text, including the tags.

    Opening tags alone or closing tags alone are text: logs and examples write `<redacted>` for what they leave out.

    Raises:
        Invalid: One is never closed, though another is.
    """
    found, depth, start = [], 0, 0
    tags = list(_tags().finditer(text))
    if not any(tag[1] for tag in tags):
        return []
    for tag in tags:
        if tag[1]:
            if depth == 1:
                found.append((start, tag.end()))
            depth = max(0, depth - 1)
        else:
            start = start if depth else tag.start()
            depth += 1
    if depth:
        raise Invalid(
            f"{field} has a <redacted> at position {start} that is not closed",
            hint="Close each with </redacted>, or leave the tag out.",
        )
    return found


def between(text: str, names: Container[str]) -> Iterator[Span]:
    """The stretches of a text between its markers; a marker names a known rule, or none."""
    start = 0
    for match in _markers().finditer(text):
        if match[1] is None or match[1] in names or re.fullmatch(r"memoryignore:\d{1,6}", match[1]):
            yield start, match.start()
            start = match.end()
    yield start, len(text)


@cache
def _tags() -> re.Pattern[str]:
    return re.compile(r"<(/?)redacted\s{0,8}>", re.IGNORECASE)


@cache
def _markers() -> re.Pattern[str]:
    return re.compile(r"\[redacted(?::([^\[\]\s]{1,64}))?\]")


BUILT_IN: tuple[Rule, ...] = (*KEYS, *FORMATS, *ADDRESSES, *CONTEXTS, *COMMANDS, *assigned())
"""In the order of precedence: where two rules overlap, the name of the first is used."""

_FIELDS = (
    *("title", "what", "why", "impact", "description", "body", "category", "tags", "related_files", "metadata"),
    *("project", "source", "agent_id", "session_id", "task_code", "query_id"),
)
_DESCRIBES = frozenset(
    "type format kind name title description file path url host user username email id status".split()
)
"""Keys below the name of a secret that only describe it."""


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

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        known = (*BUILT_IN, *rules)
        self._find = Finder(known)
        self._names = frozenset((FIELD, *(rule.name for rule in known)))

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
            pieces += [self._unmarked(text[start:begin], found), marker(MARKED)]
            found.append(MARKED)
            start = stop
        pieces.append(self._unmarked(text[start:], found))
        return Redacted("".join(pieces) if found else text, tuple(found))

    def _unmarked(self, text: str, found: list[str]) -> str:
        """The text with each stretch between its markers redacted separately."""
        if "[redacted" not in text:
            return self._stretch(text, found)
        pieces, end = [], 0
        for start, stop in between(text, self._names):
            pieces += [text[end:start], self._stretch(text[start:stop], found)]
            end = stop
        return "".join(pieces)

    def _stretch(self, text: str, found: list[str]) -> str:
        """
        A text without markers, redacted; what surrounds a removed secret is searched again,
        because it may now be one.
        """
        # A stack instead of recursion: a text of many secrets would exceed Python's depth.
        pieces: list[str] = []
        waiting: list[str | Span] = [(0, len(text))]
        depths = [0]
        while waiting:
            part, depth = waiting.pop(), depths.pop()
            if isinstance(part, str):
                found.append(part)
                pieces.append(marker(part))
                continue
            begin, stop = part
            places = self._find.places(text[begin:stop])
            if not places:
                pieces.append(text[begin:stop])
                continue
            rest: list[str | Span] = []
            start = begin
            for place in widened(places, depth, stop - begin):
                rest += [(start, begin + place.start), place.name]
                start = begin + place.stop
            rest.append((start, stop))
            waiting += reversed(rest)
            depths += [depth + 1] * len(rest)
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
            item, taken = _below(last.lstrip("-"), item, depth)
        new, found = self._value(field, item, depth + 1)
        return new, (*taken, *found)

    def _mapping(self, field: str, value: Mapping[str, Json], depth: int) -> tuple[dict[str, Json], tuple[str, ...]]:
        """The pairs of a mapping; keys that become equal are numbered, so that none is lost."""
        pairs: dict[str, Json] = {}
        names: list[str] = []
        for key, item in value.items():
            clean, found = self._text(field, str(key))
            names += found
            new, taken = _below(_name(str(key), value), item, depth)
            new, found = self._value(field, new, depth)
            names += (*taken, *found)
            pairs[_free(clean, pairs)] = new
        return (pairs if names else cast("dict[str, Json]", value)), tuple(names)


def _name(key: str, pairs: Mapping[str, Json]) -> str:
    """The name of a value: its key, or in `{"name": "DB_PASSWORD", "value": …}` the text beside it."""
    beside = pairs.get("name", pairs.get("key")) if key == "value" else None
    return beside if isinstance(beside, str) else key


def _below(name: str, value: Json, depth: int) -> tuple[Json, tuple[str, ...]]:
    if names_secret(name):
        return _whole(value, depth)
    if may_name_secret(name) and isinstance(value, str) and strong(value) and not stand_in(value):
        return marker(FIELD), (FIELD,)
    return value, ()


def _whole(value: Json, depth: int) -> tuple[Json, tuple[str, ...]]:
    """The value below a secret's name, with its texts replaced except placeholders, markers and descriptions."""
    match value:
        case str() if value.strip() and not stand_in(value) and not said_elsewhere(value):
            return marker(FIELD), (FIELD,)
        case list() | tuple() if depth <= DEPTH_LIMIT:
            done = [_whole(item, depth + 1) for item in value]
            names = tuple(name for _, found in done for name in found)
            return (type(value)(item for item, _ in done) if names else value), names
        case dict() if depth <= DEPTH_LIMIT:
            pairs = {key: (item, ()) if key in _DESCRIBES else _whole(item, depth + 1) for key, item in value.items()}
            names = tuple(name for _, found in pairs.values() for name in found)
            return ({key: item for key, (item, _) in pairs.items()} if names else value), names
    return value, ()


def _free(key: str, taken: Mapping[str, Json]) -> str:
    return next(name for name in chain((key,), (f"{key} {number}" for number in count(2))) if name not in taken)


def _replaced(draft: Draft, changed: Mapping[str, object]) -> Draft:
    try:
        return replace(draft, **changed)  # type: ignore[arg-type]
    except Invalid as error:
        raise Invalid(
            f"with its secrets replaced by markers, {error}", hint="Shorten it, or leave the secrets out."
        ) from error
