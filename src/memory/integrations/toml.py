"""The server's entry in a TOML settings file, whose comments and order stay."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from memory.integrations.command import NAME, ours
from memory.integrations.edits import occupied
from memory.integrations.jsontext import DEPTH_LIMIT, MARK, Fault, blank

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping, Sequence

    from tomlkit import TOMLDocument

    from memory.integrations.jsontext import Json

    Table = MutableMapping[str, object]


_UNUSUAL = "written in a way that cannot be changed without touching the rest"
_TOO_DEEP = f"nested more than {DEPTH_LIMIT} deep"
_DEEP_KEY = re.compile(rf"(?<![\w\"'.-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{DEPTH_LIMIT}}}")
"""A key with so many dots. They take tomllib quadratic memory: 100,000, which are 200 KB of text, take about 40 GB."""


@dataclass(frozen=True, slots=True)
class TomlEdit:
    """
    `[KEY.memory]`, with the members of `value`.

    tomlkit writes and parses. But it has no positions in a text, puts a new table among its neighbours,
    and takes comments after a table for the table's own; so a table is appended and cut out as lines.
    Whichever way is tried, the result is used only if its content is the same except for ours.

    Attributes:
        key: The table of servers.
    """

    key: str
    value: dict[str, Json]

    def install(self, text: str, *, force: bool) -> str:
        tables = _said(text)
        entry = self._entry(tables, text)
        value = self.value
        ways: tuple[Callable[[str], str], ...] = (self._appended, self._edited)
        if entry is not None and ours(entry):
            value, ways = {**entry, **self.value}, (self._edited,)
            if value == entry:
                return text
        elif entry is not None and force:
            ways = (lambda text: self._appended(self._cut(text)), self._edited)
        elif entry is not None:
            raise occupied(entry)
        return _first(text, ways, {**tables, self.key: {**_table(tables, self.key), NAME: value}})

    def _appended(self, text: str) -> str:
        """Append our table, which touches nothing else."""
        import tomlkit

        body = tomlkit.dumps({self.key: {NAME: self.value}})
        if blank(text):
            return MARK * text.startswith(MARK) + body
        lines = "\r\n" if "\r\n" in text else "\n"
        return text + lines * (not text.endswith("\n")) + lines + body.replace("\n", lines)

    def _edited(self, text: str) -> str:
        """Change our entry in its place, or add it among the servers."""

        def change(document: TOMLDocument) -> None:
            servers = cast("Table", document[self.key])
            entry = cast("Table", servers.get(NAME))
            if not ours(cast("Json", entry)):
                servers[NAME] = self.value
                return
            for key, value in self.value.items():
                if entry.get(key) != value:
                    entry[key] = value

        return _by_library(text, change)

    def uninstall(self, text: str, before: str | None) -> str:
        tables = _said(text)
        if not ours(self._entry(tables, text)):
            return text
        rest = {name: value for name, value in _table(tables, self.key).items() if name != NAME}
        alone = not rest and before is not None and self.key not in _said(before)

        def change(document: TOMLDocument) -> None:
            del cast("Table", document[self.key])[NAME]
            if alone:
                document.pop(self.key, None)

        without = {name: table for name, table in tables.items() if name != self.key}
        ways = (self._cut, partial(_by_library, change=change))
        return _first(text, ways, {**tables, self.key: rest}, *([] if rest else [without]))

    def _cut(self, text: str) -> str:
        """Cut out the tables under our headers, each up to its last key: comments after that are the user's."""
        header = re.compile(rf"""\s*\[\s*(["']?){re.escape(self.key)}\1\s*\.\s*(["']?){NAME}\2\s*[.\]]""")
        lines = text.removeprefix(MARK).splitlines(keepends=True)
        left: list[str] = []
        at = 0
        while at < len(lines):
            if not header.match(lines[at]) or not _whole("".join(lines[:at])):
                left.append(lines[at])
                at += 1
                continue
            at = _end_of_table(lines, at)
            if left and not left[-1].strip() and not "".join(lines[at : at + 1]).strip():
                left.pop()
        return MARK * text.startswith(MARK) + "".join(left)

    def standing(self, text: str) -> TomlEdit | None:
        entry = self._entry(_said(text), text)
        return replace(self, value=entry) if entry is not None and ours(entry) else None

    @property
    def server(self) -> Json:
        return self.value

    def _entry(self, tables: dict[str, Json], text: str) -> dict[str, Json] | None:
        servers = tables.get(self.key, {})
        entry = servers.get(NAME) if isinstance(servers, dict) else None
        if not isinstance(servers, dict) or not (entry is None or isinstance(entry, dict)):
            raise Fault(f"{self.key} should be a table of tables", max(text.find(self.key), 0))
        return entry


def _whole(text: str) -> bool:
    """Whether a text is valid TOML; text that ends within a string or a list is not."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _end_of_table(lines: list[str], at: int) -> int:
    """
    The index after a table's last line that is neither blank nor a comment.

    Args:
        at: Index of the table's header.
    """
    end = at = at + 1
    while at < len(lines) and not (line := lines[at].strip()).startswith("["):
        at += 1
        end = at if line and not line.startswith("#") else end
    return end


def _by_library(text: str, change: Callable[[TOMLDocument], None]) -> str:
    """
    Change a text with tomlkit.

    Raises:
        Fault: tomlkit cannot read or change it, such as tables in an unusual order, which are valid TOML; or a comment
            got lost.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text.removeprefix(MARK))
        change(document)
    except (TOMLKitError, RecursionError) as error:
        raise Fault(f"{_UNUSUAL}: {error}", 0) from error
    after = document.as_string()
    if _comments(text) - _comments(after):
        raise Fault(_UNUSUAL, 0)
    return after


def _table(tables: dict[str, Json], key: str) -> dict[str, Json]:
    found = tables.get(key, {})
    return found if isinstance(found, dict) else {}


def _said(text: str) -> dict[str, Json]:
    """The content of a text; floats as they are spelled, because nan does not equal itself."""
    if found := _DEEP_KEY.search(text):
        raise Fault(_TOO_DEEP, found.start())
    try:
        return tomllib.loads(text.removeprefix(MARK), parse_float=str)
    except tomllib.TOMLDecodeError as error:
        raise Fault(f"broken TOML: {error}", _place(text, str(error))) from error
    except RecursionError as error:
        raise Fault(_TOO_DEEP, 0) from error


def _place(text: str, message: str) -> int:
    """The position in a message of `tomllib`, which Python 3.14 also has as attributes."""
    found = re.search(r"line (\d+), column (\d+)", message)
    if not found:
        return len(text)
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: int(found[1]) - 1])) + int(found[2]) - 1


def _first(text: str, ways: Sequence[Callable[[str], str]], *sayings: dict[str, Json]) -> str:
    """
    The result of the first way whose content is one of `sayings`.

    Raises:
        Fault: None is; the error of the last way.
    """
    fault = Fault(_UNUSUAL, 0)
    for way in ways:
        try:
            after = _like(text, way(text))
            if _said(after) in sayings:
                return after
        except Fault as error:
            fault = error
    raise fault


def _comments(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.removeprefix(MARK).splitlines() if line.lstrip().startswith("#"))


def _like(text: str, changed: str) -> str:
    """The changed text with the byte order mark and the line ends of the original."""
    changed = changed.removeprefix(MARK)
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return MARK * text.startswith(MARK) + changed
