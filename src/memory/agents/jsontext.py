"""
JSON text that can be changed in one place while every other character stays as it was.

Agents' settings files belong to people: indentation, order of keys, spelling of numbers, line ends and comments are
theirs. So nothing is rewritten; a value is found as a span of the text, and text is inserted or cut there.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

DEPTH_LIMIT = 200
"""Levels of a document; Python's own limit of calls would end a deeper one in a traceback."""

MARK = "\ufeff"
"""The byte order mark, which some editors put first."""

_SPACE = re.compile(r"[ \t\r\n]*")
_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/)*")
_BESIDE = re.compile(r"(?:[ \t]*/\*[^\r\n]*?\*/)*([ \t]*//[^\r\n]*)?")
"""Comments on the rest of a line, which belong to what precedes them."""

_DECODER = json.JSONDecoder()


class Fault(ValueError):
    """
    Text that cannot be changed safely.

    Attributes:
        at: Where, as an index into the text.
    """

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.at = at


class JsonValue(NamedTuple):
    """A value and its span `text[start:stop]`; `members` are those of an object or an array."""

    start: int
    stop: int
    value: Json
    members: tuple[Member, ...] = ()


class Member(NamedTuple):
    """`text[start:stop]` is a name (None in an array), its value, and the comma after it if there is one."""

    name: str | None
    start: int
    stop: int
    node: JsonValue
    comma: bool


class JsonText(NamedTuple):
    """A text and its parsed value; a change makes another one."""

    text: str
    root: JsonValue
    comments: bool

    def spliced(self, start: int, stop: int, text: str) -> JsonText:
        """With another text in the place of `text[start:stop]`."""
        return parsed(self.text[:start] + text + self.text[stop:], comments=self.comments)


def blank(text: str) -> bool:
    """Whether a file has no content yet."""
    return not text.strip(f"{MARK} \t\r\n")


def parsed(text: str, *, comments: bool) -> JsonText:
    """
    Args:
        comments: Accept comments, and a comma after the last value.

    Raises:
        Fault: The text is not JSON.
    """
    return JsonText(text, _Reader(text, comments=comments).document(), comments)


class _Reader:
    def __init__(self, text: str, *, comments: bool) -> None:
        self.text = text
        self.comments = comments

    def document(self) -> JsonValue:
        node = self.node(self.gap(len(MARK) if self.text.startswith(MARK) else 0), 0)
        end = self.gap(node.stop)
        if end != len(self.text):
            raise Fault("there is text after the end of the JSON", end)
        return node

    def gap(self, at: int) -> int:
        """Where the next token begins."""
        found = (_GAP if self.comments else _SPACE).match(self.text, at)
        at = found.end() if found else at
        if self.text.startswith(("//", "/*"), at):
            raise Fault("a comment that does not end" if self.comments else "a comment; this file is plain JSON", at)
        return at

    def node(self, at: int, depth: int) -> JsonValue:
        if depth > DEPTH_LIMIT:
            raise Fault(f"nested more than {DEPTH_LIMIT} deep", at)
        match self.text[at : at + 1]:
            case "{":
                members, stop = self.members(at, "}", depth)
                return JsonValue(at, stop, {str(member.name): member.node.value for member in members}, members)
            case "[":
                members, stop = self.members(at, "]", depth)
                return JsonValue(at, stop, [member.node.value for member in members], members)
        return self.scalar(at)

    def scalar(self, at: int) -> JsonValue:
        if not re.match(r'["tfn0-9]|-[0-9]', self.text[at : at + 2]):  # Python would accept NaN and -Infinity
            raise Fault("a value is expected here", at)
        try:
            value, stop = _DECODER.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise Fault(f"broken JSON: {error.msg}", error.pos) from error
        except ValueError as error:
            raise Fault(f"broken JSON: {error}", at) from error
        return JsonValue(at, stop, value)

    def members(self, at: int, close: str, depth: int) -> tuple[tuple[Member, ...], int]:
        members: list[Member] = []
        here = self.gap(at + 1)
        while self.text[here : here + 1] != close:
            start, name = here, None
            if close == "}":
                name, here = self.name(here)
            node = self.node(here, depth + 1)
            here = self.gap(node.stop)
            comma = self.text.startswith(",", here)
            members.append(Member(name, start, here + 1 if comma else node.stop, node, comma))
            if not comma and not self.text.startswith(close, here):
                raise Fault(f"a comma or {close} is missing", here)
            if comma:
                here = self.gap(here + 1)
            if comma and not self.comments and self.text.startswith(close, here):
                raise Fault("a comma with nothing after it", members[-1].stop - 1)
        return tuple(members), here + 1

    def name(self, at: int) -> tuple[str, int]:
        """A key, and where its value begins."""
        if not self.text.startswith('"', at):
            raise Fault("a name in double quotes is expected here", at)
        node = self.scalar(at)
        at = self.gap(node.stop)
        if not self.text.startswith(":", at):
            raise Fault("a colon is missing", at)
        return str(node.value), self.gap(at + 1)


def child(node: JsonValue, name: str) -> Member | None:
    """
    The member of an object with a name.

    Raises:
        Fault: It is not an object, or has the name twice: which of them the agent uses is not ours to guess.
    """
    if not isinstance(node.value, dict):
        raise Fault(f"an object with {name!r} is expected here", node.start)
    found = [member for member in node.members if member.name == name]
    if len(found) > 1:
        raise Fault(f"{name!r} appears here twice", found[1].start)
    return found[0] if found else None


def descended(node: JsonValue, keys: Sequence[str]) -> tuple[JsonValue, tuple[str, ...]]:
    """The deepest node on a path, and the keys that are missing below it."""
    for depth, key in enumerate(keys):
        member = child(node, key)
        if member is None:
            return node, tuple(keys[depth:])
        node = member.node
    return node, ()


def node_at(node: JsonValue, keys: Sequence[str]) -> JsonValue | None:
    """The node at the end of a path, or None."""
    node, missing = descended(node, keys)
    return None if missing else node


def inserted(document: JsonText, node: JsonValue, name: str | None, value: Json) -> JsonText:
    """The document with one more member at the end of an object (with a name) or array, in its neighbours' style."""
    text = document.text
    wide = _wide(document, node)
    last = node.members[-1] if node.members else None
    indent = _indent(text, last.start) if last else _indent(text, node.start) + _unit(text)
    body = ("" if name is None else f"{_quoted(name)}: ") + rendered(text, value, indent, wide=wide)
    if last is not None:
        lead = _newline(text) + indent if wide else " "
        at = _beside(document, last.stop) if wide else last.stop
        comma = "," * (not last.comma)
        return document.spliced(last.node.stop, at, comma + text[last.node.stop : at] + lead + body + "," * last.comma)
    if not wide:
        return document.spliced(node.start + 1, node.start + 1, body)
    at = _beside(document, node.start + 1)
    close = "" if "\n" in text[at : node.stop] else _newline(text) + _indent(text, node.start)
    return document.spliced(at, at, _newline(text) + indent + body + close)


def removed(document: JsonText, node: JsonValue, member: Member) -> JsonText:
    """The document without a member; comments on other members stay."""
    # Commas and comments belong to what precedes them, so the cut differs for a first, a last and an only member.
    text, place = document.text, node.members.index(member)
    before = node.members[place - 1] if place else None
    stop = member.stop
    ends = text[stop : stop + 1] in (
        "\r",
        "\n",
    )  # else the line end of a comment before has to stay, or it swallows what follows
    start = _beside(document, before.stop if before else node.start + 1, line=not ends)
    if member is not node.members[-1]:
        if before is None and text[stop:].lstrip(" \t")[:1] not in ("", "\r", "\n", "/"):
            stop = node.members[place + 1].start
    elif before is not None and not member.comma:
        return document.spliced(before.stop - 1, stop, text[before.stop : start])
    if len(node.members) == 1 and not (text[node.start + 1 : start] + text[stop : node.stop - 1]).strip():
        start, stop = node.start + 1, node.stop - 1
    return document.spliced(start, stop, "")


def replaced(document: JsonText, node: JsonValue, value: Json) -> JsonText:
    """The document with one value replaced."""
    body = rendered(document.text, value, _indent(document.text, node.start), wide=_wide(document, node))
    return document.spliced(node.start, node.stop, body)


def rendered(text: str, value: Json, indent: str, *, wide: bool) -> str:
    """A value in the style of a text; its lines from the second on are indented."""
    line, inner = _newline(text) + indent, indent + _unit(text)
    match value:
        case dict() if wide and value:
            items = [f"{_quoted(name)}: {rendered(text, item, inner, wide=True)}" for name, item in value.items()]
            brackets = "{}"
        case list() if wide and any(isinstance(item, (dict, list)) for item in value):
            items = [rendered(text, item, inner, wide=True) for item in value]
            brackets = "[]"
        case _:  # a list of words stays on one line
            return json.dumps(value, ensure_ascii=False)
    return brackets[0] + ",".join(_newline(text) + inner + item for item in items) + line + brackets[1]


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _wide(document: JsonText, node: JsonValue) -> bool:
    """Whether members of a node get lines of their own: as they do now, or as in the rest of the file."""
    text = document.text
    if node.members:
        start = node.members[-1].start
        return not text[text.rfind("\n", 0, start) + 1 : start].strip(f" \t{MARK}")
    return "\n" in text.strip(f"{MARK} \t\r\n") or not document.root.members


def _beside(document: JsonText, at: int, *, line: bool = False) -> int:
    """The position after comments on the same line; with `line`, after the line end if the last comment needs it."""
    found = _BESIDE.match(document.text, at) if document.comments else None
    if not found:
        return at
    if not (line and found[1]):
        return found.end()
    return found.end() + (2 if document.text.startswith("\r\n", found.end()) else 1)


def _indent(text: str, at: int) -> str:
    """The white space at the beginning of the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(MARK)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation: that of the first indented line."""
    found = re.search(r"\n([ \t]+)[^\s]", text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
