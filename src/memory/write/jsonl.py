"""Memories as lines of JSON and back, and Markdown files as memories."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from os.path import isfile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memory.config.files import TEXT_BYTES, contents, utf8
from memory.schema.draft import SHARED, Draft
from memory.schema.errors import Invalid, StoreDamaged, did_you_mean, explained
from memory.schema.kinds import GENERAL, Kind, kind
from memory.schema.limits import TITLE_LIMIT, printable
from memory.schema.memory import Memory, MemoryId, Revision, Status
from memory.store import Links
from memory.text.outline import title
from memory.write.edges import SCHEMAS, parsed as parsed_edge
from memory.write.entry import content_hash
from memory.write.salvage import every

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from memory.store import Store, ToolCall
    from memory.write.edges import EdgeLine

SCHEMA = "memory.memory/1"
SUFFIXES = (".md", ".markdown")  # of Markdown files
MOST = 2**53  # within what a store counts, and what every JSON reader takes for a whole number

_TEXTS = {field.name for field in fields(Draft)} - {"parent_id"}
_KEPT = {"uid", "status", "created_at", "updated_at", "accessed_at", "access_count"}
_LINKS = {"parent", "superseded_by"}
_KNOWN = _TEXTS | _KEPT | _LINKS | {"schema", "history", "replaced_at"}


@dataclass(frozen=True, slots=True)
class Exported:
    """
    A memory with all that belongs to it. Ids mean nothing in another database, so uids replace them.

    Attributes:
        parent, superseded_by: Uids of the memories it points to.
    """

    memory: Memory
    body: str
    history: tuple[Revision, ...]
    parent: str | None
    superseded_by: str | None


def exported(store: Store, lost: Callable[[str], None] | None = None) -> Iterator[Exported]:
    """
    Every memory, oldest first.

    Args:
        lost: Called with a sentence for each part of a damaged store that cannot be read; the rest is exported. Bytes
            that are not text become U+FFFD.

    Raises:
        StoreDamaged: Something cannot be read, and `lost` is None.
    """
    for found in every(store, lost):
        memory = found.memory
        yield Exported(*found[:3], _uid_of(store, memory.parent_id), _uid_of(store, memory.superseded_by))


def _uid_of(store: Store, id: MemoryId | None) -> str | None:
    try:
        return None if id is None else next((found.uid for found in store.memories.by_id([id]).values()), None)
    except StoreDamaged:  # reported with that memory itself
        return None


class MemoryLine(NamedTuple):
    """
    A memory as an export has it.

    Attributes:
        memory: Restores uid, times and status; None if the line has no uid.
        history: Its former versions, newest first.
        links: What it points to, if it has a uid.
        renews: See `memory.store.Entry`.
    """

    draft: Draft
    memory: Memory | None = None
    history: tuple[Revision, ...] = ()
    links: Links | None = None
    renews: tuple[str, ...] = ()


Line: TypeAlias = "MemoryLine | EdgeLine | ToolCall"
"""A line of an export: a memory, a relation or link, or a tool call."""


def parsed(line: str, *, place: str) -> Line:
    """
    Parse one line of an export, or a draft's fields as a JSON object.

    Args:
        place: Where the line is, for the error: "notes.jsonl:12".

    Raises:
        Invalid: It is not such a line; the message begins with the place.
    """
    values = _object(line, place)
    if values.get("schema") in SCHEMAS:
        return _edge(values, place)
    if values.get("schema", SCHEMA) != SCHEMA:
        raise Invalid(f"{place}: schema {values['schema']!r} is not {SCHEMA}", hint="Was it made by a newer version?")
    if unknown := sorted(set(values) - _KNOWN):
        raise Invalid(f"{place}: no field {unknown[0][:60]!r}", hint=did_you_mean(unknown[0], _KNOWN, ""))
    try:
        draft = _draft(values)
        if "uid" not in values:
            return MemoryLine(draft)
        restored = _memory(values, draft)
        history = tuple(_revision(revision) for revision in values.get("history", []))
        links = Links(restored.uid, _uid(values.get("parent")), _uid(values.get("superseded_by")))
        return MemoryLine(draft, restored, history, links)
    except Invalid as error:
        raise Invalid(f"{place}: {error}", hint=error.hint) from error
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise Invalid(f"{place}: not a memory: {error}") from error


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise Invalid(f"{place}: not JSON: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise Invalid(f"{place}: not a memory: brackets inside brackets without end") from error
    except ValueError as error:  # a number with thousands of digits
        raise Invalid(f"{place}: not a memory: {error}") from error
    if not isinstance(values, dict):
        raise Invalid(f"{place}: expected an object, not {type(values).__name__}")
    return values


def _edge(values: Mapping[str, Any], place: str) -> EdgeLine | ToolCall:
    try:
        return parsed_edge(values["schema"], values)
    except Invalid as error:
        raise Invalid(f"{place}: {error}", hint=error.hint) from error


def _draft(values: Mapping[str, Any]) -> Draft:
    texts = {name: value for name, value in values.items() if name in _TEXTS}
    for name in ("tags", "related_files"):
        if name in texts:
            if not isinstance(texts[name], list):
                raise Invalid(f"{name} must be a list of texts, not {texts[name]!r}")
            texts[name] = tuple(texts[name])
    if not isinstance(texts.get("metadata", {}), dict):
        raise Invalid(f"metadata must be an object, not {texts['metadata']!r}")
    _number("session_iter", texts.get("session_iter") or 0)
    if "kind" in texts:
        texts["kind"] = kind(texts["kind"])
    return Draft(**texts)


def _memory(values: Mapping[str, Any], draft: Draft) -> Memory:
    uid = _uid(values["uid"])
    if uid is None:
        raise Invalid("uid is null")
    shared = {name: getattr(draft, name) for name in SHARED}
    accessed = values.get("accessed_at")
    return Memory(
        **shared,
        id=MemoryId(0),
        uid=uid,
        status=Status(values.get("status", Status.ACTIVE)),
        superseded_by=None,
        content_hash=content_hash(draft),
        created_at=_moment(values["created_at"]),
        updated_at=_moment(values["updated_at"]),
        accessed_at=_moment(accessed) if accessed else None,
        access_count=_number("access_count", values.get("access_count", 0)),
        body_size=len(draft.body),
    )


def _revision(values: Mapping[str, Any]) -> Revision:
    draft = _draft(values)
    return Revision(_moment(values["replaced_at"]), _memory(values, draft), draft.body)


def _uid(value: object) -> str | None:
    if value is None or (isinstance(value, str) and len(value) == 32 and set(value) <= set("0123456789abcdef")):
        return value
    raise Invalid(f"uid {value!r} is not 32 hexadecimal digits")


def _number(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST:
        return value
    raise Invalid(f"{name} is a whole number from 0 to {MOST}, not {value!r}")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def markdown(path: Path, *, name: str, project: str | None, clean: Callable[[str], str]) -> Draft | None:
    """
    A Markdown file as a knowledge base entry, its text verbatim except for secrets; None if it is blank.

    Args:
        name: The path to remember: the same for the same file, whatever folder is imported.
        clean: Removes secrets from a text (`Engine.clean`), before a title is taken from it that could contain one.

    Raises:
        Invalid: It cannot be read, or is not UTF-8 text.
    """
    with explained(Invalid, str(path)):
        text = utf8(contents(path, TEXT_BYTES), str(path), mark=True)
    if not text.removeprefix("\ufeff").strip():
        return None
    try:
        text = clean(text)
        return Draft(
            kind=Kind.KNOWLEDGE_BASE,
            category=GENERAL,
            title=title(text) or printable(path.stem)[:TITLE_LIMIT],
            body=text,
            related_files=(name,),
            project=project,
            source="import",
        )
    except Invalid as error:
        raise Invalid(f"{path}: {error}", hint=error.hint) from error


def files(path: Path) -> Iterable[Path]:
    """The Markdown files in a folder and its subfolders, except hidden ones; a path that is no folder gives itself."""
    if not path.is_dir():
        return [path]
    found = (item for suffix in SUFFIXES for item in path.rglob(f"*{suffix}") if isfile(item))  # noqa: PTH113  # Path raises where nobody may look
    return sorted(item for item in found if not any(part.startswith(".") for part in item.relative_to(path).parts))


def same(memory: Memory, draft: Draft) -> bool:
    """Whether the memory of a file still equals the file."""
    return memory.content_hash == content_hash(draft) and memory.title == draft.title
