"""The server's entry in a settings file in TOML, whose comments and order stay."""

from __future__ import annotations

import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from memory.setup.command import NAME, described, ours
from memory.setup.edits import Occupied
from memory.setup.jsontext import MARK, Fault, blank

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from tomlkit import TOMLDocument

    from memory.setup.jsontext import Json

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

    def put(self, text: str, *, force: bool) -> str:
        said = _said(text)
        entry = self._entry(said, text)
        if entry is None:
            added = self._appended(text)
            after = added if _says(added) else self._edited(text)
        elif ours(entry):
            wanted = {**entry, **self.value}
            after = text if wanted == entry else self._edited(text)
        elif force:
            after = self._edited(text, anew=True)
        else:
            raise Occupied(
                f"there is a server {NAME!r} already that is not ours: {described(entry)}",
                hint="Give it another name, or replace it: --force.",
            )
        expected = {**(entry or {}), **self.value} if entry is None or ours(entry) else self.value
        _check(after, {**said, self.key: {**_table(said, self.key), NAME: expected}})
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

    def take(self, text: str, before: str | None) -> str:
        said = _said(text)
        if not ours(self._entry(said, text)):
            return text
        rest = {name: value for name, value in _table(said, self.key).items() if name != NAME}
        with _library(text) as document:
            del cast("Table", document[self.key])[NAME]
            if not rest and before is not None and self.key not in _said(before):
                document.pop(self.key, None)
            after = _like(text, document.as_string())
        if not rest and self.key not in _said(after):  # a table that only its headers named is gone with the last
            del said[self.key]
        else:
            said[self.key] = rest
        _check(after, said)
        return after

    def standing(self, text: str) -> TomlEdit | None:
        entry = self._entry(_said(text), text)
        return replace(self, value=entry) if entry is not None and ours(entry) else None

    def current(self, text: str) -> bool:
        try:
            return self.put(text, force=False) == text
        except Occupied:
            return False

    def snippet(self) -> str:
        return self._body()

    def _entry(self, said: dict[str, Json], text: str) -> dict[str, Json] | None:
        servers = said.get(self.key, {})
        entry = servers.get(NAME) if isinstance(servers, dict) else None
        if not isinstance(servers, dict) or not (entry is None or isinstance(entry, dict)):
            raise Fault(f"{self.key} should be a table of tables", max(text.find(self.key), 0))
        return entry


@contextmanager
def _library(text: str) -> Iterator[TOMLDocument]:
    """A text to be changed; tables in an unusual order are valid TOML that the library may not read."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        yield tomlkit.parse(text.removeprefix(MARK))
    except TOMLKitError as error:
        raise Fault(f"{_UNUSUAL}: {error}", 0) from error


def _table(said: dict[str, Json], key: str) -> dict[str, Json]:
    found = said.get(key, {})
    return found if isinstance(found, dict) else {}


def _said(text: str) -> dict[str, Json]:
    try:
        return tomllib.loads(text.removeprefix(MARK))
    except tomllib.TOMLDecodeError as error:
        raise Fault(f"broken TOML: {error}", _place(text, str(error))) from error


def _place(text: str, message: str) -> int:
    """The position that a message of `tomllib` names; Python 3.14 gives it as attributes too."""
    import re

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
    """A library wrote part of the text: it has to say what it should, or it is not used."""
    if _said(text) != expected:
        raise Fault(_UNUSUAL, 0)


def _like(text: str, changed: str) -> str:
    """With the byte order mark and the line ends of the text it comes from."""
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return MARK * text.startswith(MARK) + changed
