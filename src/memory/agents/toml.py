"""The server's entry in a TOML settings file, whose comments and order stay."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from memory.agents.command import NAME, ours
from memory.agents.edits import occupied
from memory.agents.jsontext import MARK, Fault, Json, blank

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tomlkit import TOMLDocument
    from tomlkit.items import AoT, Item, Key, Table

    Body: TypeAlias = list[tuple[Key | None, Item]]
    Path: TypeAlias = tuple[str, ...]

NESTED_LIMIT = 12
"""Parts of a key, and values in one another: tomlkit's time grows with the third power of them."""

_UNUSUAL = "written in a way that cannot be changed without touching the rest"
_ENDS_BLANK = re.compile(r"(?:(?<=\n)|\A)[ \t]*\r?\n\Z")
_STARTS_BLANK = re.compile(r"[ \t]*(?:\r?\n|\Z)")


@dataclass(frozen=True, slots=True)
class TomlEdit:
    """
    `[KEY.memory]`, with the members of `server`.

    tomlkit parses, changes and renders, but only the sections that change: of a whole document it would move elements of
    an array of tables that stand apart. The result is used only if its content is the same except for ours.

    Attributes:
        key: The table of servers.
    """

    key: str
    server: dict[str, Json]

    def install(self, text: str, *, force: bool) -> str:
        from tomlkit.items import InlineTable

        content, servers, entry = self._found(text)
        value = {**entry, **self.server} if entry and ours(entry) else self.server
        if entry == value:
            return text
        if entry is not None and not (force or ours(entry)):
            raise occupied(entry)
        if ours(entry) or isinstance(_document(text).get(self.key), InlineTable):
            after = self._updated(text)
        else:
            after = self._appended(_without(text, (self.key, NAME)) if entry else text)
        return _checked(text, after, {**content, self.key: {**servers, NAME: value}})

    def _appended(self, text: str) -> str:
        """Our table goes to the end: elsewhere it would stand between a comment and what that is about."""
        import tomlkit

        table = tomlkit.dumps({self.key: {NAME: self.server}})
        if blank(text):
            return table
        end = "\r\n" if "\r\n" in text else "\n"
        return text + end * (not text.endswith("\n")) + end + table.replace("\n", end)

    def _updated(self, text: str) -> str:
        """Our members change in their places; those that the user added stay."""
        document = _document(text)
        sections = [(section, section.text) for section in _sections(document.body)]
        servers: Any = document[self.key]
        if not ours(servers.get(NAME)):
            servers[NAME] = self.server
        for name, value in self.server.items():
            if servers[NAME].get(name) != value:
                servers[NAME][name] = value
        for section, before in sections:
            text = _replaced(text, before, section.text)
        return text

    def uninstall(self, text: str, before: str | None) -> str:
        content, servers, entry = self._found(text)
        if not ours(entry):
            return text
        servers.pop(NAME)
        rest = {name: table for name, table in content.items() if name != self.key}
        return _checked(text, _without(text, (self.key, NAME)), {**rest, self.key: servers}, *[rest] * (not servers))

    def standing(self, text: str) -> TomlEdit | None:
        _, _, entry = self._found(text)
        return replace(self, server=entry) if entry is not None and ours(entry) else None

    def _found(self, text: str) -> tuple[dict[str, Json], dict[str, Json], dict[str, Json] | None]:
        """The content, the servers in it, and our entry or another one of the name."""
        content = _content(text)
        servers = content.get(self.key, {})
        entry = servers.get(NAME) if isinstance(servers, dict) else None
        if not isinstance(servers, dict) or not (entry is None or isinstance(entry, dict)):
            raise Fault(f"{self.key} should be a table of tables", max(text.find(self.key), 0))
        return content, servers, entry


class _Section(NamedTuple):
    """
    A header, and what stands below it up to the next one; the first section of a document has no header.

    Attributes:
        body: What tomlkit has in it, tables with headers of their own included.
    """

    path: Path
    header: str
    body: Body

    @property
    def text(self) -> str:
        return self.header + _rendered(self._own)

    @property
    def rest(self) -> str:
        """The comments and blank lines behind the last value: the user's, though tomlkit gives them to the table."""
        behind = [*takewhile(lambda pair: pair[0] is None, reversed(self._own))]
        return _rendered(behind[::-1])

    @property
    def _own(self) -> Body:
        return [(key, item) for key, item in self.body if not _headed(key, item)]


def _rendered(body: Body) -> str:
    from tomlkit.container import Container

    container = Container(parsed=True)
    container.body.extend(body)
    return container.as_string()


def _sections(body: Body, path: Path = (), header: str = "") -> Iterator[_Section]:
    yield _Section(path, header, body)
    for key, item in body:
        if key is not None and _headed(key, item):
            for table in cast("AoT", item).body if item.is_aot() else [cast("Table", item)]:
                yield from _sections(table.value.body, (*path, key.key), _header(table))


def _headed(key: Key | None, item: Item) -> bool:
    """Whether an item has a header of its own, or its tables have."""
    return item.is_aot() or (item.is_table() and key is not None and not key.is_dotted())


def _header(table: Table) -> str:
    if table.is_super_table():
        return ""
    name, trivia = table.display_name, table.trivia
    header = f"[[{name}]]" if table.is_aot_element() else f"[{name}]"
    return f"{trivia.indent}{header}{trivia.comment_ws}{trivia.comment}{trivia.trail}"


def _without(text: str, path: Path) -> str:
    """The text without what stands under a path."""
    for section in list(_sections(_document(text).body)):
        before = section.text
        if section.path[: len(path)] == path:
            text = _replaced(text, before, section.rest)
        elif section.path == path[: len(section.path)]:
            _drop(section.body, path[len(section.path) :])
            text = _replaced(text, before, section.text)
    return text


def _drop(body: Body, path: Path) -> None:
    """Take values out that have no header: `a = …`, `a.b = …`, `a = {b = …}`."""
    for place, (key, item) in reversed([*enumerate(body)]):
        if key is None or key.key != path[0] or _headed(key, item):
            continue
        if len(path) == 1:
            del body[place]
        elif item.is_inline_table():
            cast("Any", item).remove(path[1])
        elif item.is_table():
            _drop(cast("Table", item).value.body, path[1:])


def _replaced(text: str, before: str, after: str) -> str:
    """The text with a section changed. Of two blank lines that meet where it was, one goes, and one at the end."""
    if before == after:
        return text
    head, found, tail = text.partition(before)
    if not found or before in tail:
        raise Fault(_UNUSUAL, 0)
    if _STARTS_BLANK.match(after + tail):
        head = _ENDS_BLANK.sub("", head)
    return head + after + tail


def _document(text: str) -> TOMLDocument:
    """
    Raises:
        Fault: It is not TOML, or nested too deep.
    """
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.parser import Parser

    parser = Parser(text.removeprefix(MARK))
    parser.MAX_NESTING_DEPTH = NESTED_LIMIT
    try:
        return parser.parse()
    except TOMLKitError as error:
        line, column = getattr(error, "line", 1), getattr(error, "col", 0)
        place = sum(map(len, text.splitlines(keepends=True)[: line - 1])) + column
        problem = str(error).partition(" at line ")[0]
        raise Fault(problem if "nested more than" in problem else f"broken TOML: {problem}", place) from error


def _checked(text: str, after: str, *contents: Mapping[str, Json]) -> str:
    """
    A changed text with the byte order mark and the line ends of the original.

    Raises:
        Fault: Its content is none of `contents`.
    """
    after = after.removeprefix(MARK)
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    if _comparable(_content(after)) not in map(_comparable, contents):
        raise Fault(_UNUSUAL, 0)
    return MARK * text.startswith(MARK) + after


def _content(text: str) -> dict[str, Any]:
    """
    In plain types.

    Raises:
        Fault: It is not TOML, or nested too deep.
    """
    from tomlkit.exceptions import TOMLKitError

    try:
        return _document(text).unwrap()
    except TOMLKitError as error:  # a table defined twice, which the parser lets pass
        raise Fault(f"broken TOML: {error}", 0) from error


def _comparable(content: Mapping[str, Json]) -> str:
    """A text, because nan does not equal itself."""
    return json.dumps(content, sort_keys=True, default=str)
