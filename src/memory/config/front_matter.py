"""
Front matter: what stands before a text as YAML between dashes, TOML between pluses, or a JSON object.

Its values are read within limits, so that no file can use up the memory; what is no such language as a whole is read
line by line, and what a line says is there even where another cannot be read.
"""

from __future__ import annotations

import json
import re
from datetime import date, time
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import yaml

    from memory.schema.memory import Json

BYTES = 1 << 16
"""The longest front matter whose values are read as a whole; a longer one is read line by line."""

FRONT_LINES = 1_000
"""The most lines of front matter."""

VALUES = 5_000
"""The most values that are read: a few bytes of aliases of aliases stand for more than fit into memory."""

DEEPEST = 16
"""Levels of a value that are read; a page written by a person has three or four."""

YAML, TOML, JSON = "---", "+++", "{"

REST = "front_matter"
"""The name under which lines stand that are nobody's value."""

# JSON is valid YAML 1.1 and 1.2, except for characters that YAML does not print or takes for a line end: these are
# escaped here, all others by JSON.
UNPRINTED = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}

_OPEN = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n")
_CLOSE = {
    YAML: re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE),
    TOML: re.compile(r"^\+\+\+[ \t]*(?:\r?\n|\Z)", re.MULTILINE),
}
_KEY = {
    YAML: re.compile(
        r"(?!- )(?P<quote>[\"']?)(?P<name>[^\s#\"':\[{][^\"':]*+)(?P=quote)[ \t]*+:(?=\s|\Z)(?P<value>[^\n]*)"
    ),
    TOML: re.compile(r"(?P<quote>[\"']?)(?P<name>[^\s#\"'=\[]++)(?P=quote)[ \t]*+=(?P<value>[^\n]*)"),
}
_HASHED = re.compile(r"^[^\s#][^\n:]*:[ \t]+#[^\s#]", re.MULTILINE)
"""A value that begins with a # and a letter, as people write tags: to YAML it is a comment."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # not splitlines: U+2028 may stand in a text
_QUOTED = re.compile(r"([\"'])(.*)\1", re.DOTALL)


class Front(NamedTuple):
    """
    A text in four parts, which together are the text.

    Attributes:
        style: `YAML`, `TOML` or `JSON`; empty if it has no front matter.
        begin, end: The marks around the front matter. An object of JSON has none.
        text: The front matter.
    """

    style: str
    begin: str
    text: str
    end: str
    body: str


def split(text: str) -> Front:
    """
    The front matter of a text, and what stands below it.

    Dashes begin front matter if the next line with a word is an entry, and another line of dashes follows.
    """
    if opened := _OPEN.match(text):
        style = opened[1]
        closed = _CLOSE[style].search(text, opened.end())
        if closed and _begins(text[opened.end() : closed.start()], style):
            parts = text[: opened.end()], text[opened.end() : closed.start()], closed[0], text[closed.end() :]
            return Front(style, *parts)
    start = len(text) - len(text.lstrip("\ufeff"))
    if text.startswith("{", start):
        try:
            found, end = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            found, end = None, start
        rest = text[end:].partition("\n")
        if isinstance(found, dict) and not rest[0].strip():
            return Front(JSON, text[:start], text[start:end], rest[0] + rest[1], rest[2])
    return Front("", "", "", "", text)


def _begins(text: str, style: str) -> bool:
    """
    Whether a text is front matter: its first line with a word is an entry, unless it is a comment, or there is none. Prose
    below a blank line is a text whose front matter has no end, and the dashes below it are a rule.
    """
    if text.count("\n") > FRONT_LINES:
        return False
    begun = blank = False
    for name, lines in entries(text, style):
        plain = lines.strip() and not name and not lines.startswith(("#", "[") if style == TOML else "#")
        if plain and (blank or not begun):
            return False
        begun = begun or bool(name)
        blank = lines.endswith(("\n\n", "\n\r\n"))
    return True


def values(front: Front) -> dict[str, Json]:
    """
    The values of front matter by their keys: numbers and truth values are that if they are written in the one way that JSON
    has, all else is the text as it is written. A key that stands there twice has a list.
    """
    whole = None
    if len(front.text.encode("utf-8", "replace")) <= BYTES:
        yaml = front.style == YAML
        whole = _object(front) if not yaml else None if _HASHED.search(front.text) else yaml_values(front.text)
    if whole is not None or front.style not in _KEY:
        return whole or {}
    found: dict[str, list[Json]] = {}
    for name, lines in entries(front.text, front.style):
        for key, value in _entry(name, lines, front.style):
            found.setdefault(key, []).append(value)
    return {name: several[0] if len(several) == 1 else several for name, several in found.items()}


def _object(front: Front) -> dict[str, Json] | None:
    try:
        if front.style == JSON:
            return _plain(json.loads(front.text))
        import tomllib

        return _plain(tomllib.loads(front.text))
    except (ValueError, RecursionError):
        return None


def _plain(found: dict[str, object]) -> dict[str, Json]:
    room = [VALUES]
    return {name: _json(value, room, 0) for name, value in found.items()}


def entries(text: str, style: str = YAML) -> Iterator[tuple[str, str]]:
    """
    Of each entry of a front matter its name and its lines, in order; together they are the text. Comments, and lines that
    belong to no entry, have no name.
    """
    name, lines = "", ""
    for line in _LINE.findall(text):
        found = _KEY[style].match(line)
        alone = found is not None or not (line[:1].isspace() or line.startswith(("- ", "]", "}", "-\n")))
        if alone and lines:
            yield name, lines
            lines = ""
        if alone:
            name = found["name"].strip() if found else ""
        lines += line
    if lines:
        yield name, lines


def _entry(name: str, lines: str, style: str) -> Iterator[tuple[str, Json]]:
    """What an entry says; where it cannot be read, what its first line says, and then what the others do."""
    if not name:
        if (text := lines.strip()) and not text.startswith("#"):
            yield REST, text
        return
    whole = yaml_values(lines) if style == YAML else _object(Front(style, "", lines, "", ""))
    if whole and not _HASHED.match(lines):
        yield from whole.items()
        return
    first, _, rest = lines.partition("\n")
    found = _KEY[style].match(first)
    value = found["value"].strip() if found else ""
    if not value or not rest.strip():
        yield name, _unquoted(f"{value}\n{rest}".strip())
        return
    yield from _entry(name, first, style)
    for inner, some in entries("".join(line.lstrip() for line in _LINE.findall(rest)), style):
        yield from _entry(inner, some, style)


def _unquoted(text: str) -> str:
    found = _QUOTED.fullmatch(text)
    return found[2] if found else text


def yaml_values(text: str, *, typed: bool = True) -> dict[str, Json] | None:
    """
    The values of YAML by their keys; None if it is none, or has too many. A link in two brackets is a text.

    Args:
        typed: False leaves every number and truth value as the text it is written as.
    """
    if len(text.encode("utf-8", "replace")) > BYTES:
        return None
    import yaml

    try:
        node = yaml.compose(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
        if node is None:
            return {}
        return _pairs(node, [VALUES], 0, typed=typed) if isinstance(node, yaml.MappingNode) else None
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _pairs(node: yaml.MappingNode, room: list[int], depth: int, *, typed: bool) -> dict[str, Json]:
    found: dict[str, list[Json]] = {}
    for key, value in node.value:
        if not isinstance(key.value, str):  # {{title}} of a template
            raise ValueError("a key that is not text")  # noqa: TRY004  # as for all else that is not read as YAML
        found.setdefault(key.value, []).append(_node(value, room, depth + 1, typed=typed))
    return {name: several[0] if len(several) == 1 else several for name, several in found.items()}


def _node(node: yaml.Node, room: list[int], depth: int, *, typed: bool) -> Json:
    """
    Args:
        room: How many more values may follow.

    Raises:
        ValueError: There are too many, they are nested too deep, or a key is no text.
    """
    _check(room, depth)
    import yaml

    if isinstance(node, yaml.ScalarNode):
        text = f"{node.tag} {node.value}" if node.tag.startswith("!") else node.value
        return _scalar(text, typed=typed) if node.style in (None, "") else text
    if isinstance(node, yaml.MappingNode):
        return _pairs(node, room, depth, typed=typed)
    inner = node.value[0] if isinstance(node, yaml.SequenceNode) and node.flow_style and len(node.value) == 1 else None
    if isinstance(inner, yaml.SequenceNode) and inner.value:
        texts = [one.value for one in inner.value if isinstance(one, yaml.ScalarNode) and one.style in (None, "")]
        if len(texts) == len(inner.value):  # a link of Obsidian, which nobody has put into quotes
            return f"[[{', '.join(texts)}]]"
    return [_node(item, room, depth + 1, typed=typed) for item in node.value]


def _scalar(text: str, *, typed: bool) -> Json:
    if text.strip() in {"", "~", "null", "Null", "NULL"}:
        return None
    if not typed:
        return text
    if text in {"true", "false"}:
        return text == "true"
    try:
        found = json.loads(text) if text[0] in "-0123456789" else text
    except ValueError:
        return text
    if isinstance(found, int | float) and abs(found) <= 2**53 and json.dumps(found) == text:
        return found
    return text


def _json(value: object, room: list[int], depth: int) -> Json:
    """As `_node`, of a value of JSON or TOML."""
    _check(room, depth)
    match value:
        case dict():
            return {str(key): _json(item, room, depth + 1) for key, item in value.items()}
        case list():
            return [_json(item, room, depth + 1) for item in value]
        case date() | time():  # a datetime is one too
            return value.isoformat()
        case float() if not isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def _check(room: list[int], depth: int) -> None:
    room[0] -= 1
    if room[0] < 0 or depth > DEEPEST:
        raise ValueError("too many values")
