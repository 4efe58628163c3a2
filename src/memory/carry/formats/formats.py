"""Which program wrote a file: told from its beginning, never from its name alone."""

from __future__ import annotations

import re
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memory.carry.formats import conversation, echovault, memories, notes
from memory.carry.formats.items import BLANK, ImportTarget, Item, Read, left_out, uid_of
from memory.config.files import TEXT_BYTES, bounded, utf8
from memory.config.front_matter import split, values
from memory.schema.errors import Invalid
from memory.store.sqlite import foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memory.carry.formats.reading import Source


HEAD_BYTES = 1 << 16
"""How much of a file is looked at."""

MARKDOWN = (".md", ".markdown")
JSON = (".json", ".jsonl", ".ndjson")
DATABASES = (".db", ".sqlite", ".sqlite3")

# A string that is cut off goes to the end. Begun again at each quote in it, a match of 64 KB took twenty seconds.
_TOKEN = re.compile(r'"((?:[^"\\]++|\\.)*)(?:"(\s*:)?|\\?\Z)|[{}\[\]]', re.DOTALL)


class Belongs(Enum):
    """
    Which project the memories of a file get.

    Attributes:
        HERE: That of the folder it lies in.
        NAMED: The one that the file names.
        NOWHERE: None, unless the user names one.
        NEVER: None, even if the user names one, as for a graph.
    """

    HERE = "here"
    NAMED = "named"
    NOWHERE = "nowhere"
    NEVER = "never"


class Format(NamedTuple):
    """
    What a program writes.

    Attributes:
        one, many: What a file of it is called.
        becomes: What it is kept as.
        read: Reads a file.
        project: The project of all that it writes, unless the user says which.
    """

    one: str
    many: str
    becomes: str
    read: Callable[[Source, ImportTarget], Iterator[Read]]
    belongs: Belongs = Belongs.NOWHERE
    project: str | None = None


# Markdown ---------------------------------------------------------------------------


def _markdown(source: Source, target: ImportTarget) -> Iterator[Read]:
    item = _document(_text(source, target), source, target)
    if item is not None:
        yield item


def _document(text: str, source: Source, target: ImportTarget) -> Item | None:
    file = source.name if source.path is None else target.remembered(source.path)
    return notes.document(text, stem=_stem(source), file=file, project=target.project, clean=target.clean)


def _basic_memory(source: Source, target: ImportTarget) -> Iterator[Read]:
    text = _text(source, target)
    item = _document(text, source, target)
    if item is not None:
        known = item._replace(uid=uid_of("basic-memory", target.project, item.draft.metadata.get("permalink")))
        yield known
        yield from notes.graph_of(text, known, target.clean)


def _vault(source: Source, target: ImportTarget) -> Iterator[Read]:
    return echovault.sections(_text(source, target), source.name, target)


def _text(source: Source, target: ImportTarget) -> str:
    """
    The text of a file, without its secrets.

    Raises:
        Invalid: It is too long, or not UTF-8.
    """
    with source.opened() as file:
        try:
            return target.clean(utf8(bounded(file, TEXT_BYTES, source.name), source.name, mark=True))
        except OSError as error:
            raise Invalid(f"{source.name}: {error.strerror or error}") from error


def _stem(source: Source) -> str:
    return source.name.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]


# Databases --------------------------------------------------------------------------


def _echovault(source: Source, target: ImportTarget) -> Iterator[Read]:
    return echovault.rows(_rows(source, echovault.QUERY, echovault.COLUMNS, "m.created_at"), source.name, target)


def _mem0(source: Source, target: ImportTarget) -> Iterator[Read]:
    found = memories.last_events(_rows(source, memories.MEM0_TABLE, memories.MEM0_COLUMNS, "created_at, updated_at"))
    return memories.rows(found, source.name, target, memories.of_mem0)


def _service(source: Source, target: ImportTarget) -> Iterator[Read]:
    where = "memories where deleted_at is null" if _has(source, "deleted_at") else "memories"
    return memories.rows(
        _rows(source, where, memories.SERVICE_COLUMNS, "created_at"), source.name, target, memories.of_service
    )


def _has(source: Source, column: str) -> bool:
    return source.path is not None and column in foreign.tables(source.path).get("memories", ())


def _rows(source: Source, table: str, columns: tuple[str, ...], order: str) -> Iterator[Mapping[str, object]]:
    if source.path is None:
        raise Invalid(f"{source.name}: a database is read from a file of its own", hint="Unpack it.")
    return foreign.rows(source.path, table, columns, order)


# The table --------------------------------------------------------------------------

PLAIN = Format("Markdown file", "Markdown files", "the knowledge base", _markdown, Belongs.HERE)
BASIC_MEMORY = Format(
    "note of basic-memory", "notes of basic-memory", "the graph and the knowledge base", _basic_memory, Belongs.HERE
)
VAULT = Format(
    "session of an EchoVault vault", "sessions of an EchoVault vault", "notes", _vault, belongs=Belongs.NAMED
)
ECHOVAULT = Format("EchoVault database", "EchoVault databases", "notes", _echovault, belongs=Belongs.NAMED)
TRANSCRIPT = Format(
    "Claude Code transcript", "Claude Code transcripts", "notes", conversation.transcript, belongs=Belongs.NAMED
)
CHATGPT = Format(
    "ChatGPT export",
    "ChatGPT exports",
    "notes, one a conversation,",
    partial(conversation.conversations, parse=conversation.of_chatgpt),
    project=conversation.CHATGPT,
)
CLAUDE_AI = Format(
    "claude.ai export",
    "claude.ai exports",
    "notes, one a conversation,",
    partial(conversation.conversations, parse=conversation.of_claude_ai),
    project=conversation.CLAUDE_AI,
)
MEM0 = Format("mem0 export", "mem0 exports", "notes", memories.mem0)
MEM0_HISTORY = Format("mem0 database", "mem0 databases", "notes", _mem0)
GRAPH = Format("graph of entities", "graphs of entities", "the graph", memories.graph_lines, belongs=Belongs.NEVER)
GRAPH_DOCUMENT = Format(
    "graph of entities", "graphs of entities", "the graph", memories.graph_document, belongs=Belongs.NEVER
)
SERVICE = Format("mcp-memory-service export", "mcp-memory-service exports", "notes", memories.service)
SERVICE_DATABASE = Format("mcp-memory-service database", "mcp-memory-service databases", "notes", _service)


def by_name(name: str, source: Source) -> Format | None:
    """
    What a file of no known format is taken for: Markdown, as most texts are; None for lines of JSON.

    Raises:
        Invalid: It is no text.
    """
    with source.opened() as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(foreign.MAGIC):
        raise Invalid(f"{name}: a database of no program that is known", hint="docs/importing.md lists them.")
    if b"\0" in head:
        raise Invalid(f"{name}: binary data, of no program that is known", hint="docs/importing.md lists them.")
    return None if name == "-" or name.lower().endswith(JSON) else PLAIN


def told(name: str, head: bytes, source: Source) -> Format | None:
    """
    The format of a file; None if it is none of these.

    Args:
        name: Its name; only its ending counts.
        head: Its first `HEAD_BYTES`.

    Raises:
        Invalid: It is a web page, which some exports have besides; or a database that cannot be read.
    """
    low = name.lower()
    if head[:500].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html")):
        raise Invalid(f"{name}: a web page is not imported", hint="Exports have JSON beside it.")
    if low.endswith(MARKDOWN):
        return _of_markdown(head.decode("utf-8", "replace"))
    if head.startswith(foreign.MAGIC):
        return None if source.path is None else _of_database(foreign.tables(source.path))
    return _of_json(head)


def _of_markdown(text: str) -> Format:
    if echovault.of_vault(text):
        return VAULT
    return BASIC_MEMORY if notes.of_basic_memory(values(split(text))) else PLAIN


def _of_database(tables: Mapping[str, frozenset[str]]) -> Format | None:
    if tables.keys() >= echovault.TABLES:
        return ECHOVAULT
    if {"content", "content_hash", "tags"} <= tables.get("memories", frozenset()):
        return SERVICE_DATABASE
    if {"memory_id", "new_memory", "event"} <= tables.get(memories.MEM0_TABLE, frozenset()):
        return MEM0_HISTORY
    return None


def _of_json(head: bytes) -> Format | None:
    outer, inner, first = _keys(head.decode("utf-8-sig", "replace"))
    array, nodes = not outer, frozenset({"name", "from", "to", "source", "target", "entity"})
    signs = {
        CHATGPT: array and "mapping" in inner,
        CLAUDE_AI: array and "chat_messages" in inner,
        MEM0: {"memory", "id"} <= inner and bool(array or outer & {"results", "memories"}),
        SERVICE: "export_metadata" in outer,
        GRAPH: first in memories.GRAPH_SORTS and bool(outer & nodes),
        GRAPH_DOCUMENT: bool(outer & {"entities", "relations"} and inner & nodes),
        TRANSCRIPT: first in conversation.TYPES | conversation.TITLES.keys()
        and bool(outer & {"sessionId", "leafUuid"}),
    }
    return next((format for format, seen in signs.items() if seen), None)


def _keys(text: str) -> tuple[set[str], set[str], str]:
    """
    Of the first value of a JSON text: its own keys if it is an object; the keys of the objects in its arrays, or in it if it
    is an array; and the value of its key `type`.
    """
    outer, inner = set[str](), set[str]()
    depth: list[str] = []
    first, last = "", ""
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark in {"{", "["}:
            depth.append(mark)
        elif mark in {"}", "]"}:
            del depth[-1:]
            if not depth:
                break
        elif found[2]:
            shape = "".join(depth)
            (outer if shape == "{" else inner if shape in {"[{", "{[{"} else set[str]()).add(last := found[1])
        elif depth == ["{"] and last == "type" and not first:
            first = found[1]
    return outer, inner, first


def items(format: Format, source: Source, target: ImportTarget) -> Iterator[Read]:
    """What a file brings, or why it brings nothing."""
    nothing = True
    try:
        for one in format.read(source, target):
            nothing = False
            yield one
        if nothing:
            yield left_out(source.name, BLANK, ruled=True)
    except Invalid as error:
        yield left_out(source.name, error)
    except OSError as error:
        yield left_out(source.name, error.strerror or error)
