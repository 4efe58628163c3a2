"""The server's entry in a settings file in TOML, whose comments and order stay."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from memory.integrations.command import NAME, described, ours
from memory.integrations.edits import Occupied
from memory.integrations.jsontext import MARK, Fault, blank

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from tomlkit import TOMLDocument

    from memory.integrations.jsontext import Json

    Table = MutableMapping[str, object]


_UNUSUAL = "written in a way that cannot be changed without touching the rest"


@dataclass(frozen=True, slots=True)
class TomlEdit:
    """
    `[KEY.memory]`, with the members of `value`.

    Attributes:
        key: The table of servers.
    """

    key: str
    value: dict[str, Json]

    def install(self, text: str, *, force: bool) -> str:
        tables = _said(text)
        entry = self._entry(tables, text)
        if entry is None:
            added = self._appended(text)
            after = added if _says(added) else self._edited(text)
        elif ours(entry):
            wanted = {**entry, **self.value}
            after = text if wanted == entry else self._edited(text)
        elif force:
            cut = self._cut(text)
            after = self._edited(text, anew=True) if cut is None else self._appended(cut)
        else:
            raise Occupied(
                f"there is a server {NAME!r} already that is not ours: {described(entry)}",
                hint="Give it another name, or replace it: --force.",
            )
        expected = {**(entry or {}), **self.value} if entry is None or ours(entry) else self.value
        _check(after, {**tables, self.key: {**_table(tables, self.key), NAME: expected}})
        return after

    def _appended(self, text: str) -> str:
        """At the end, where a table of its own can be put without touching anything."""
        body = self._body()
        if blank(text):
            return MARK * text.startswith(MARK) + body
        lines = "\r\n" if "\r\n" in text else "\n"
        return text + lines * (not text.endswith("\n")) + lines + body.replace("\n", lines)

    def _body(self) -> str:
        import tomlkit

        entry = tomlkit.table()
        entry.update(self.value)
        servers = tomlkit.table(is_super_table=True)
        servers.append(NAME, entry)
        document = tomlkit.document()
        document.append(self.key, servers)
        return document.as_string()

    def _edited(self, text: str, *, anew: bool = False) -> str:
        with _library(text) as document:
            servers = cast("Table", document[self.key])
            if NAME not in servers or anew:
                servers[NAME] = self.value
            else:
                entry = cast("Table", servers[NAME])
                for key, value in self.value.items():
                    if entry.get(key) != value:
                        entry[key] = value
            return _like(text, document.as_string())

    def uninstall(self, text: str, before: str | None) -> str:
        tables = _said(text)
        if not ours(self._entry(tables, text)):
            return text
        rest = {name: value for name, value in _table(tables, self.key).items() if name != NAME}
        after = self._cut(text)
        if after is None:
            with _library(text) as document:
                del cast("Table", document[self.key])[NAME]
                if not rest and before is not None and self.key not in _said(before):
                    document.pop(self.key, None)
                after = _like(text, document.as_string())
        if not rest and self.key not in _said(after):  # a table that only its headers named is gone with the last
            del tables[self.key]
        else:
            tables[self.key] = rest
        _check(after, tables)
        return after

    def _cut(self, text: str) -> str | None:
        """
        Without the tables under headers of ours, each up to its last key: comments behind that are the user's.

        None if there is no such header. A line of a string may look like one, so what is left has to be checked.
        """
        header = re.compile(rf"""\s*\[\s*(["']?){re.escape(self.key)}\1\s*\.\s*(["']?){NAME}\2\s*[.\]]""")
        lines = text.removeprefix(MARK).splitlines(keepends=True)
        left: list[str] = []
        at, found = 0, False
        while at < len(lines):
            if not header.match(lines[at]):
                left.append(lines[at])
                at += 1
                continue
            found, at = True, _end_of_table(lines, at)
            if left and not left[-1].strip() and not "".join(lines[at : at + 1]).strip():
                left.pop()
        return MARK * text.startswith(MARK) + "".join(left) if found else None

    def standing(self, text: str) -> TomlEdit | None:
        entry = self._entry(_said(text), text)
        return replace(self, value=entry) if entry is not None and ours(entry) else None

    def current(self, text: str) -> bool:
        try:
            return self.install(text, force=False) == text
        except Occupied:
            return False

    def snippet(self) -> str:
        return self._body()

    @property
    def server(self) -> Json:
        return self.value

    def _entry(self, tables: dict[str, Json], text: str) -> dict[str, Json] | None:
        servers = tables.get(self.key, {})
        entry = servers.get(NAME) if isinstance(servers, dict) else None
        if not isinstance(servers, dict) or not (entry is None or isinstance(entry, dict)):
            raise Fault(f"{self.key} should be a table of tables", max(text.find(self.key), 0))
        return entry


def _end_of_table(lines: list[str], at: int) -> int:
    """Behind the last line of the table whose header stands at a line that is neither empty nor a comment."""
    end = at = at + 1
    while at < len(lines) and not (line := lines[at].strip()).startswith("["):
        at += 1
        end = at if line and not line.startswith("#") else end
    return end


@contextmanager
def _library(text: str) -> Iterator[TOMLDocument]:
    """A text to be changed; tables in an unusual order are valid TOML that the library may not read."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        yield tomlkit.parse(text.removeprefix(MARK))
    except TOMLKitError as error:
        raise Fault(f"{_UNUSUAL}: {error}", 0) from error


def _table(tables: dict[str, Json], key: str) -> dict[str, Json]:
    found = tables.get(key, {})
    return found if isinstance(found, dict) else {}


def _said(text: str) -> dict[str, Json]:
    """What a text says; floats as they are spelled, since nan is not even itself."""
    try:
        return tomllib.loads(text.removeprefix(MARK), parse_float=str)
    except tomllib.TOMLDecodeError as error:
        raise Fault(f"broken TOML: {error}", _place(text, str(error))) from error


def _place(text: str, message: str) -> int:
    """The position that a message of `tomllib` names; Python 3.14 gives it as attributes too."""
    found = re.search(r"line (\d+), column (\d+)", message)
    if not found:
        return len(text)
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: int(found[1]) - 1])) + int(found[2]) - 1


def _says(text: str) -> bool:
    try:
        tomllib.loads(text.removeprefix(MARK))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _check(text: str, expected: dict[str, Json]) -> None:
    """The text has to say what it should, or it is not used."""
    if _said(text) != expected:
        raise Fault(_UNUSUAL, 0)


def _comments(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.removeprefix(MARK).splitlines() if line.lstrip().startswith("#"))


def _like(text: str, changed: str) -> str:
    """
    What a library wrote, with the byte order mark and the line ends of the text it comes from.

    Raises:
        Fault: A line that is a comment has gone.
    """
    if _comments(text) - _comments(changed):
        raise Fault(_UNUSUAL, 0)
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return MARK * text.startswith(MARK) + changed
