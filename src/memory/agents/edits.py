"""
Edits that put our part into an agent's settings file and take it out again: pure functions of the text.

What is not ours is never changed. `memory.agents.files` reads and writes the files.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memory.agents.command import NAME, described, our_hook, ours
from memory.agents.jsontext import (
    MARK,
    Fault,
    Json,
    JsonText,
    JsonValue,
    Member,
    blank,
    child,
    descended,
    inserted,
    node_at,
    parsed,
    removed,
    replaced,
)
from memory.schema.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Occupied(ConfigError):
    """Something of someone else is where ours should be; nothing was changed."""


def occupied(entry: Json) -> Occupied:
    """The error for someone else's server under our name."""
    return Occupied(
        f"there already is a server {NAME!r} that memory did not write: {described(entry)}",
        hint="Give it another name, or replace it: --force.",
    )


class Edit(Protocol):
    """Our part of one file. All methods raise `Fault` for a text that cannot be read."""

    def install(self, text: str, *, force: bool) -> str:
        """
        The text with our part as it should be now; unchanged if it is so already. An empty text is a new file.

        Raises:
            Occupied: Someone else's entry is there, and `force` is False.
        """

    def uninstall(self, text: str, before: str | None) -> str:
        """
        The text without our part; unchanged if it has none.

        Args:
            before: The file's text before our part was added, if known.
        """

    def standing(self, text: str) -> Edit | None:
        """The edit with the values that the text has, perhaps from an older version; None if it has none of ours."""


def snippet(edit: Edit) -> str:
    """Our part as a person would write it into a new file."""
    return edit.install("", force=False)


def presence(edit: Edit, text: str) -> str:
    """
    Whether a text has our part: "yes", "old" (of another version or place), "no", or "other" (someone else's is there).

    Raises:
        Fault: The text cannot be read.
    """
    standing = edit.standing(text) is not None
    try:
        current = edit.install(text, force=False) == text
    except Occupied:
        return "old" if standing else "other"
    return ("yes" if current else "old") if standing else "no"


@dataclass(frozen=True, slots=True)
class JsonEdit:
    """
    Attributes:
        slots: What is put in.
        needed: Members that the agent requires of the file; they stay when ours are removed.
        comments: Whether the agent accepts comments in this file; if not, a comment means a broken file.
    """

    slots: tuple[Server | Hook, ...]
    needed: Mapping[str, Json] = field(default_factory=dict)
    comments: bool = False

    def install(self, text: str, *, force: bool) -> str:
        document = self._document(text)
        for name, value in self.needed.items():
            if child(document.root, name) is None:
                document = inserted(document, document.root, name, value)
        for slot in self.slots:
            document = slot.insert(document, force=force)
        return document.text

    def uninstall(self, text: str, before: str | None) -> str:
        document = present = self._document(text)
        for slot in self.slots:
            document = slot.remove(document)
        if document is present:
            return text
        return (document if before is None else self._swept(document, self._document(before))).text

    def _swept(self, document: JsonText, before: JsonText) -> JsonText:
        """Without empty objects and lists that did not exist before."""
        paths = [slot.keys[:depth] for slot in self.slots for depth in range(len(slot.keys), 0, -1)]
        for path in paths:
            parent = node_at(document.root, path[:-1])
            member = child(parent, path[-1]) if parent else None
            if parent and member and member.node.value in ({}, []) and not node_at(before.root, path):
                document = removed(document, parent, member)
        return document

    def standing(self, text: str) -> JsonEdit | None:
        document = self._document(text)
        slots = [slot for slot in (slot.found(document) for slot in self.slots) if slot]
        return replace(self, slots=tuple(slots)) if slots else None

    @property
    def server(self) -> Json:
        """The server's entry, if this edit has one."""
        return next((slot.value for slot in self.slots if isinstance(slot, Server)), None)

    def foreign(self, text: str) -> tuple[str, ...]:
        """The events in which someone else's command contains ours, so that ours is not added."""
        document = self._document(text)
        return tuple(slot.keys[-1] for slot in self.slots if isinstance(slot, Hook) and slot.foreign(document))

    def _document(self, text: str) -> JsonText:
        # A byte order mark stays where it is.
        return parsed(MARK * text.startswith(MARK) + "{}\n" if blank(text) else text, comments=self.comments)


@dataclass(frozen=True, slots=True)
class Server:
    """
    The server's entry in an object of servers.

    Attributes:
        keys: The path of that object.
        envelope: A deeper object that some files have: OpenCode 2 uses `mcp.servers`, OpenCode 1 `mcp`,
            and both read both (anomalyco/opencode, packages/opencode/src/config/v2-compat.ts).
    """

    keys: tuple[str, ...]
    value: dict[str, Json]
    envelope: str = ""

    def _keys(self, document: JsonText) -> tuple[str, ...]:
        if self.envelope:
            deeper = (*self.keys, self.envelope)
            node = node_at(document.root, deeper)
            # With a type it is itself a server, of that name.
            if node and isinstance(node.value, dict) and not isinstance(node.value.get("type"), str):
                return deeper
        return self.keys

    def insert(self, document: JsonText, *, force: bool) -> JsonText:
        path = (*self._keys(document), NAME)
        node, missing = descended(document.root, path)
        if missing:
            return inserted(document, node, missing[0], _wrapped(missing[1:], self.value))
        if not ours(node.value):
            if not force:
                raise occupied(node.value)
            return replaced(document, node, self.value)
        for key, wanted in self.value.items():  # what the user added stays
            node, _ = descended(document.root, path)
            member = child(node, key)
            if member is None:
                document = inserted(document, node, key, wanted)
            elif member.node.value != wanted:
                document = replaced(document, member.node, wanted)
        return document

    def remove(self, document: JsonText) -> JsonText:
        node = node_at(document.root, self._keys(document))
        member = child(node, NAME) if node else None
        return removed(document, node, member) if node and member and ours(member.node.value) else document

    def found(self, document: JsonText) -> Server | None:
        node = node_at(document.root, (*self._keys(document), NAME))
        return replace(self, value=node.value) if node and isinstance(node.value, dict) and ours(node.value) else None


def _wrapped(keys: tuple[str, ...], value: Json) -> Json:
    for key in reversed(keys):
        value = {key: value}
    return value


class _Handler(NamedTuple):
    """A hook: the node with its `command`, and the member to remove with it, which holds nothing else."""

    node: JsonValue
    parent: JsonValue
    member: Member


@dataclass(frozen=True, slots=True)
class Hook:
    """
    One of our commands in the list of an event.

    Attributes:
        keys: The path of that list.
        value: The list's element: the handler itself, or a group with `hooks`, a list of handlers.
        tail: The end of our command in every version; a command that has more was changed by someone.
    """

    keys: tuple[str, ...]
    value: dict[str, Json]
    tail: tuple[str, ...]

    def insert(self, document: JsonText, *, force: bool) -> JsonText:
        node, missing = descended(document.root, self.keys)
        if missing:
            return inserted(document, node, missing[0], _wrapped(missing[1:], [self.value]))
        handler = self._first(document)
        if handler is None:
            return document if self.foreign(document) else inserted(document, node, None, self.value)
        command = child(handler.node, "command")
        inner = self.value.get("hooks")
        wanted = inner[0] if isinstance(inner, list) else self.value
        if not command or not isinstance(wanted, dict) or command.node.value == wanted["command"]:
            return document
        return replaced(document, command.node, wanted["command"])

    def remove(self, document: JsonText) -> JsonText:
        while handler := self._first(document):
            document = removed(document, handler.parent, handler.member)
        return document

    def found(self, document: JsonText) -> Hook | None:
        handler = self._first(document)
        alone = handler is not None and handler.parent is node_at(document.root, self.keys)
        value = handler.member.node.value if handler and alone else None
        return replace(self, value=value) if isinstance(value, dict) else None

    def foreign(self, document: JsonText) -> bool:
        """Whether someone else's command contains ours."""
        mark = " ".join(self.tail)
        return any(mark in (_command(one.node) or "") for one in self._all(document) if not self._mine(one.node))

    def _first(self, document: JsonText) -> _Handler | None:
        return next((one for one in self._all(document) if self._mine(one.node)), None)

    def _all(self, document: JsonText) -> Iterator[_Handler]:
        node = node_at(document.root, self.keys)
        if node is None:
            return
        if not isinstance(node.value, list):
            raise Fault(f"expected a list of hooks here, as {'.'.join(self.keys)}", node.start)
        for element in node.members:
            inner = child(element.node, "hooks") if isinstance(element.node.value, dict) else None
            yield _Handler(element.node, node, element)
            if inner:
                members = inner.node.members
                owner = (node, element) if len(members) == 1 else None
                yield from (_Handler(member.node, *(owner or (inner.node, member))) for member in members)

    def _mine(self, node: JsonValue) -> bool:
        line = _command(node)
        return line is not None and our_hook(line, self.tail)


def _command(node: JsonValue) -> str | None:
    command = node.value.get("command") if isinstance(node.value, dict) else None
    return command if isinstance(command, str) else None
