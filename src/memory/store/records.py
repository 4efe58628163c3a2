"""Rows as values, for every store that keeps them in columns of text and numbers: one says what another does."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from memory.schema.draft import MOMENTS, SHARED, Draft, properties, tag_key
from memory.schema.errors import StoreDamaged, iso
from memory.schema.kinds import BY_KEY, RULES, Kind
from memory.schema.memory import DAMAGED, UID_PREFIX, Chunk, ChunkType, Excerpt, Memory, MemoryId, Standing
from memory.store.values import Opening
from memory.text.fold import fold, folds
from memory.text.lookup import changed
from memory.text.terms import grams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from memory.schema.memory import Json
    from memory.schema.query import Scope
    from memory.store.values import Entry

Row: TypeAlias = "tuple[Any, ...]"
Values: TypeAlias = "list[Any]"
Ids: TypeAlias = "Iterable[int] | None"

COLUMNS = Memory._fields[: Memory._fields.index("short_id")]
"""Of `memories`: each has the name of a field."""

MEMORY = ", ".join(COLUMNS)

HAPPENED = "coalesce(m.happened_at, m.created_at)"
"""`Memory.happened` of memories as m; an index has it in these words."""


def time_bounds(scope: Scope) -> Iterator[tuple[str, str]]:
    """What a scope demands of the times of memories as m: the beginning of a comparison, and the moment behind it."""
    for column, since, until in (
        ("m.updated_at", scope.since, scope.until),
        (HAPPENED, scope.happened_since, scope.happened_until),
    ):
        for sign, moment in ((">=", since), ("<", until)):
            if moment is not None:
                yield f"{column} {sign}", iso(moment)


UID_OF = "(select l.uid from memories l where l.id = {0}.{1})"
NEIGHBOURS = (
    "(select max(o.uid) from memories o where o.uid < {0}), (select min(o.uid) from memories o where o.uid > {0})"
)
"""The uids before and after one, which its short id depends on."""


def _seen(name: str) -> str:
    """The columns of a memory, the uids of its parent and its successor, and those before and after its own uid and that."""
    parent, successor = (UID_OF.format(name, column) for column in ("parent_id", "superseded_by"))
    return ", ".join([MEMORY, parent, successor, NEIGHBOURS.format(f"{name}.uid"), NEIGHBOURS.format(successor)])


SEEN, MADE = _seen("m"), _seen("memories")
"""What is read of memories as m, and of one that an insert returns."""


def short_id(uid: str, *others: str | None) -> str:
    """
    As much of a uid as tells it from others, at least `UID_PREFIX` characters.

    Args:
        others: Those just before and after it in order; of all others none shares a longer beginning with it.
    """
    size = UID_PREFIX
    while size < len(uid) and any(other and other.startswith(uid[:size]) for other in others):
        size += 1
    return uid[:size]


def most_first(counts: Iterable[tuple[str | None, int]]) -> list[tuple[str, int]]:
    """Values that are there, those that most memories have first, ties by name."""
    found = [(value, count) for value, count in counts if value is not None]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def tags_most_first(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The same of tags, the spellings of one together, as most memories spell it."""
    found: dict[str, tuple[str, int]] = {}
    for tag, count in most_first(counts):
        first, others = found.get(tag_key(tag), (tag, 0))
        found[tag_key(tag)] = (first, others + count)
    return most_first(found.values())


moment = datetime.fromisoformat


EXPORTED = "`memory export` writes what can be read of it, and says what is lost."

_KINDS = {str(kind): kind for kind in Kind}
_STATUSES = {str(status): status for status in Standing}
ODD = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError)
"""What is raised where a row has other values than were ever written: its file is damaged, or we are wrong."""


def texts(value: str) -> tuple[str, ...]:
    """
    A list of texts, from JSON.

    Raises:
        TypeError, ValueError: It is anything else.
    """
    if value == "[]":  # most memories have none
        return ()
    found = json.loads(value)
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise TypeError(f"{value!r:.60} is no list of texts")
    return tuple(found)


def _object(value: str) -> dict[str, Json]:
    return {} if value == "{}" else {**json.loads(value)}  # TypeError if it is no object


_READ: Mapping[str, Callable[[Any], object]] = {
    "kind": _KINDS.__getitem__,
    "status": _STATUSES.__getitem__,
    "tags": texts,
    "related_files": texts,
    "metadata": _object,
    "created_at": datetime.fromisoformat,
    "updated_at": datetime.fromisoformat,
    **dict.fromkeys(("accessed_at", *MOMENTS), lambda value: value and datetime.fromisoformat(value)),
    "flags": lambda value: tuple(value.split()),
    "keyword_only": bool,
    "pinned": bool,
}
"""How a column is read whose value is not taken as it is."""

_TEXTS = {
    **dict.fromkeys(("title", "what", "why", "impact", "description"), ""),
    **dict.fromkeys(("category", "project", "source", "agent_id", "session_id", "task_code", "query_id"), None),
    **dict.fromkeys(("author", "owner"), None),
}
"""Columns that are taken as they are, and what stands for one that is no text."""

_TEXTS_OF = itemgetter(*map(COLUMNS.index, _TEXTS))
_UID, _WIDTH = COLUMNS.index("uid"), len(COLUMNS)
_READERS = [(COLUMNS.index(name), read) for name, read in _READ.items()]


def memory(row: Iterable[Any]) -> Memory:
    """
    From its columns, by their places: hundreds are read for one answer, and most of them have no lists.

    Raises:
        StoreDamaged: They have values that were never written.
    """
    values = list(row)
    try:
        return _memory(values.copy())
    except ODD as error:
        odd = next((name for name, value in zip(COLUMNS, values, strict=False) if not readable(name, value)), "row")
        raise StoreDamaged(
            f"memory {values[0]} ({values[1]}) cannot be read: its {odd} is damaged",
            hint=EXPORTED,
        ) from error


def metadata(rows: Iterable[Row]) -> dict[MemoryId, dict[str, Json]]:
    """
    From rows of an id and the column of metadata.

    Raises:
        StoreDamaged: One of them is no JSON object.
    """
    found: dict[MemoryId, dict[str, Json]] = {}
    for id, value in rows:
        try:
            found[id] = _object(value)
        except ODD as error:
            raise StoreDamaged(f"memory {id} cannot be read: its metadata is damaged", hint=EXPORTED) from error
    return found


def together(rows: Iterable[Row]) -> Iterator[Row]:
    """
    Rows of `MADE` that one statement has inserted, as if each had been inserted by itself: it does not see those before it,
    which may be beside it.
    """
    from bisect import bisect

    earlier: list[str] = []
    for *row, before, after, last, next in rows:
        place = bisect(earlier, uid := row[_UID])
        lower, higher = [*earlier[max(0, place - 1) : place], before], [*earlier[place : place + 1], after]
        yield (*row, max(filter(None, lower), default=None), min(filter(None, higher), default=None), last, next)
        earlier.insert(place, uid)


def readable(column: str, value: object) -> bool:
    """Whether a value of `memories` is one that was ever written."""
    if column in _TEXTS:
        return value is None or isinstance(value, str)
    try:
        _READ.get(column, bool)(value)
    except ODD:
        return False
    return True


def _memory(values: list[Any]) -> Memory:
    """The same; what was never written raises one of `ODD`. Takes the list and changes it."""
    "".join(filter(None, _TEXTS_OF(values)))  # TypeError if one is no text: damage turns null into a number
    for place, read in _READERS:
        values[place] = read(values[place])
    parent, successor, *beside = values[_WIDTH:] or (None, None)
    shown = successor and short_id(successor, *beside[2:])
    values[_WIDTH:] = [short_id(values[_UID], *beside[:2]), parent, successor, shown]
    return Memory._make(values)


@lru_cache(maxsize=4096)
def tagged(text: str) -> tuple[str, ...]:
    """The tags of a memory; none where they cannot be read, which is said of the memory."""
    try:
        return texts(text)
    except ODD:
        return ()


def columns(texts: Draft | Memory) -> dict[str, str | None]:
    """The columns that hold JSON, and moments."""
    tags, files = packed(texts.tags), packed(texts.related_files)
    values = {name: moment and iso(moment) for name in MOMENTS for moment in (getattr(texts, name),)}
    return {"tags": tags, "related_files": files, "metadata": json.dumps(dict(texts.metadata)), **values}


def record(memory: Memory) -> str:
    """A memory as JSON, its fields by name: a record must be read when `memories` has more columns than now."""
    values: dict[str, Any] = {name: getattr(memory, name) for name in COLUMNS}
    values |= columns(memory)
    for name in ("created_at", "updated_at", "accessed_at"):
        values[name] = values[name] and iso(values[name])
    return json.dumps(values | {"flags": " ".join(memory.flags)})


def recorded(record: str) -> Memory:
    """The opposite of `record`; what was recorded before there was a column has its default."""
    later = {"flags": "", "keyword_only": 0, "pinned": 0, "author": None, "owner": None}
    values = later | dict.fromkeys(MOMENTS) | json.loads(record)
    return memory(values[name] for name in COLUMNS)


packed: Callable[[Sequence[object] | Mapping[str, object]], str] = json.JSONEncoder(ensure_ascii=False).encode
"""
A list, or a row, as JSON, which is one bound value however long it is. Not for metadata: it may hold lone surrogates, which
must be escaped for a database.
"""


def key(id: int) -> int:
    """An id as a database takes it; 0, which names nothing, for one that is beyond its integers."""
    return id if 0 < id < 1 << 63 else 0


def most(limit: int | None) -> int:
    """A limit of rows, or of their ids, as a statement takes it."""
    return (1 << 63) - 1 if limit is None else limit


def memories(rows: Iterable[Row], *, strict: bool) -> list[Memory]:
    """
    From rows of `SEEN`.

    Args:
        strict: Else a default stands for what cannot be read, and the memory's flags say so: `memory.schema.memory.unread`.

    Raises:
        StoreDamaged: One cannot be read.
    """
    return [memory(row) if strict else _shown(row) for row in rows]


def _shown(row: Row) -> Memory:
    try:
        return _memory(list(row))
    except ODD:
        return _defaulted(row)


def excerpts(rows: Iterable[Row]) -> list[Excerpt]:
    """From the ids of a chunk and of its memory, the columns of `chunk`, and the texts of an excerpt."""
    return [
        Excerpt(id, owner, chunk(piece), text, before, title, what, why, impact, tagged(tags))
        for id, owner, *piece, text, before, title, what, why, impact, tags in rows
    ]


def openings(rows: Iterable[Row]) -> list[Opening]:
    """From id, project, when it happened or was last changed, characters of the body, title and what of short memories."""
    return [
        Opening(id, project, changed, body > 0, what if what.startswith(title) else f"{title}. {what}".rstrip(". "))
        for id, project, changed, body, title, what in rows
    ]


def chunk(row: Sequence[Any]) -> Chunk:
    """From chunk_index, start, stop, chunk_type, header_path, level, token_count."""
    index, start, stop, type, header_path, level, token_count = row
    return Chunk(index, start, stop, ChunkType(type), _headers(header_path), level, token_count)


@lru_cache(maxsize=4096)
def _headers(path: str) -> tuple[str, ...]:
    """Many chunks stand below the same headings, and sections are found by reading all chunks of many memories."""
    return texts(path)


# What can be read of a memory some of whose columns are damaged -------------

_LIKELY = (Kind.DISCOVERY, Kind.SESSION_CONTEXT, Kind.REPORT, Kind.NOTE, Kind.KNOWLEDGE_BASE)
"""What a memory is taken for whose kind cannot be read: the first whose rule it keeps, so that it can be imported."""

_PLAIN = _TEXTS | {
    "status": str(Standing.ACTIVE),
    "tags": "[]",
    "related_files": "[]",
    "metadata": "{}",
    **dict.fromkeys(("accessed_at", *MOMENTS)),
    "flags": "",
}
"""What stands for a column that cannot be read, as it would be written."""


def _defaulted(values: Sequence[Any]) -> Memory:
    """
    From the columns of a memory, by their places. What is wrong is named in its flags; see `memory.schema.memory.unread`.

    Raises:
        StoreDamaged: More is wrong than a column that has a default.
    """
    odd = [name for name, value in zip(COLUMNS, values, strict=False) if not readable(name, value)]
    row = dict(zip(COLUMNS, values, strict=False))
    made, changed = (None if name in odd else row[name] for name in ("created_at", "updated_at"))
    moment = made or changed or iso(datetime.fromtimestamp(0, UTC))
    row |= {name: value for name, value in _PLAIN.items() if name in odd}
    row |= {"created_at": made or moment, "updated_at": changed or moment}
    if "kind" in odd:
        row["kind"] = _likely(row)
    found = memory([*(row[name] for name in COLUMNS), *values[_WIDTH:]])
    return found._replace(flags=(*found.flags, *(f"{DAMAGED}{name}" for name in odd)))


def _likely(row: Mapping[str, Any]) -> str:
    held = dict(row) | {"body": row["body_size"]}
    for kind in _LIKELY:
        rule = RULES[kind]
        complete = all(held[name] not in {None, "", 0} for name in rule.required)
        if complete and (rule.categories is None or row["category"] in {None, *rule.categories}):
            return str(kind)
    return str(Kind.NOTE)


# An entry as rows -----------------------------------------------------------


def values_of(entry: Entry) -> dict[str, Any]:
    """The columns that an entry's draft gives, also to a memory that is there."""
    values: dict[str, Any] = {name: getattr(entry.draft, name) for name in SHARED}
    values |= columns(entry.draft)
    facts = {"content_hash": entry.content_hash, "body_size": len(entry.draft.body), "flags": " ".join(entry.flags)}
    item = entry.draft.kind is Kind.ITEM
    place = {name: getattr(entry.draft, name) if item else None for name in BY_KEY}
    return values | facts | place | {"updated_at": iso(entry.moment)}


def new_values(entry: Entry) -> dict[str, Any]:
    """The same with those that only a new memory gets."""
    values = values_of(entry)
    values |= {"uid": entry.uid, "created_at": values["updated_at"]}
    if entry.number is not None:
        values["id"] = entry.number
    if (old := entry.restored) is None:
        return values
    return values | {
        "created_at": iso(old.created_at),
        "updated_at": iso(old.updated_at),
        "accessed_at": old.accessed_at and iso(old.accessed_at),
        "access_count": old.access_count,
        "status": old.status,
        "pinned": old.pinned,
    }


def chunk_rows(id: MemoryId, entry: Entry) -> list[dict[str, Any]]:
    """The columns of the rows of an entry's chunks."""
    draft, chunks = entry.draft, entry.chunks
    headings = [" ".join(header.lstrip("# ") for header in piece.header_path) for piece in chunks]
    tags = " ".join((*draft.tags, *(properties(draft.kind, draft.metadata) if draft.metadata else ())))
    *headings, tags, files = folds([*headings, tags, " ".join(draft.related_files)])
    own = changed([_indexed(entry, number) for number in range(len(chunks))])
    return [
        {
            "memory_id": id,
            "chunk_index": piece.index,
            "start": piece.start,
            "stop": piece.stop,
            "chunk_type": piece.type,
            "header_path": packed(piece.header_path),
            "level": piece.level,
            "token_count": piece.token_count,
            "heading": headings[number],
            "tags": "" if number else tags,
            "files": "" if number else files,
            "grams": entry.grams[number],
            "folded": packed(own[number]) if own[number] else None,
        }
        for number, piece in enumerate(chunks)
    ]


def _indexed(entry: Entry, number: int) -> dict[str, str | None]:
    """What is indexed of a chunk as its memory says it, by column."""
    piece, draft = entry.chunks[number], entry.draft
    text = draft.what if piece.type is ChunkType.HEAD else draft.body[piece.start : piece.stop]
    about = (draft.why, draft.impact, draft.category, draft.project, draft.source) if piece.index == 0 else (None,) * 5
    return dict(zip(FOLDED, (draft.title, text, *about), strict=True))


def refolded(texts: Mapping[str, str | None] | None) -> dict[str, Any]:
    """
    The columns of a chunk that depend on the fold.

    Args:
        texts: What is indexed of it, by column; None if that cannot be read.
    """
    if texts is None:
        return {}
    [own] = changed([{name: texts[name] for name in FOLDED}])
    said = "\n".join(filter(None, map(texts.get, SAID)))
    plain = {name: fold(texts[name] or "") for name in ("heading", "tags", "files")}
    return {**plain, "grams": grams([said])[0], "folded": packed(own) if own else None}


SAID = ("title", "heading", "text", "why", "impact", "tags", "project", "files")
"""Columns that are searched for names in code, signs and scripts without spaces."""

FOLDED = ("title", "text", "why", "impact", "category", "project", "source")
"""Columns of `WEIGHTS` that are read from a memory, if they have no other form with the chunk."""


def passage(entry: Entry, number: int, row: Mapping[str, Any]) -> list[str]:
    """
    What is indexed of an entry's chunk, in the order of `WEIGHTS`; see `memory.store.WEIGHTS`.

    Args:
        row: Its `chunk_rows`.
    """
    from memory.store import WEIGHTS  # which knows of rows

    texts = _indexed(entry, number)
    columns = {**row, **texts, **changed([texts])[0]}
    return [columns[name] or "" for name in WEIGHTS]
