"""A draft: what a caller asks to save; and the result of saving it."""

from __future__ import annotations

import json
from dataclasses import field, fields
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from memory.schema.errors import (
    BODY_LIMIT,
    DEPTH_LIMIT,
    ITERATIONS,
    LINE_LIMIT,
    NAME_LIMIT,
    TAGS_LIMIT,
    TITLE_LIMIT,
    Invalid,
    check_text,
    check_texts,
    checked_whole,
    in_utc,
    iso,
)
from memory.schema.item import check_item, key_of, namespace_of
from memory.schema.kinds import RULES, Kind, kind, note_category
from memory.schema.moments import FORMS, beginning, ending
from memory.schema.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memory.schema.answer import Notice
    from memory.schema.memory import Json, Memory, MemoryId


@record(frozen=True, kw_only=True)
class Draft:
    """
    A memory to save.

        >>> Draft(title="WAL", what="Readers never block the writer", project="db", tags=("sqlite",))

    Text is saved as given: Unicode without NUL and without lone surrogates. Blank text and None count as absent. Names
    (of a project, an agent, a session, an entity, ...) lose surrounding white space, which a filter would miss.

    Attributes:
        title: One line, at most 200 characters.
        what, why, impact: The fact, the reason and the consequence, shown with every result; at most 10,000 characters
            each.
        description: A sentence about the body, for kinds without a `what`; at most 10,000 characters.
        body: The details, verbatim, at most 500,000 characters; a search does not load them.
        kind: What the memory is; each kind requires some fields and forbids others.
        category: For a note "decision", "bug", "pattern", "learning", "context" or "preference".
        tags: At most 100. White space around a tag is removed; of tags that differ only in case, the first is saved.
        related_files: Paths of files that the memory is about.
        metadata: JSON values by name.
        project: The project that the memory belongs to; None applies to every project.
        source: The program that saves it, e.g. "claude-code".
        agent_id: The agent that wrote it.
        session_id, task_code: The session and the task that it belongs to.
        session_iter: Iteration of the session, from 1.
        query_id: The research run that it belongs to.
        parent_id: Id of the memory that this one comes from.
        keyword_only: Never embed the memory: it is found by keyword only, and no model receives its text.
        author: The person who saved it. The engine fills it in if several people share the store.
        owner: The only person whose contexts include it; everybody can find it by search. None: all contexts. The
            engine fills it in for a preference without a project.
        happened_at: When it happened, if not at the time of saving. A datetime without a time zone is local time. Text
            is a date, a time in ISO format or an age: "2w" is two weeks ago.
        valid_until: The end of its validity, exclusive: afterwards it ranks behind memories that are still valid. Text
            as for `happened_at`, but a date includes that whole day, and "2w" is in two weeks.

    Raises:
        Invalid: A value is too long or of the wrong type, or the kind requires a field that is missing or forbids one
            that is set.
    """

    title: str = ""
    what: str = ""
    why: str = ""
    impact: str = ""
    description: str = ""
    body: str = ""
    kind: Kind = Kind.NOTE
    category: str | None = None
    tags: tuple[str, ...] = ()
    related_files: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    project: str | None = None
    source: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    session_iter: int | None = None
    task_code: str | None = None
    query_id: str | None = None
    parent_id: MemoryId | None = None
    keyword_only: bool = False
    author: str | None = None
    owner: str | None = None
    happened_at: datetime | None = None
    valid_until: datetime | None = None

    def __post_init__(self) -> None:
        for name, absent in _ABSENT.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, absent)
        if not isinstance(self.kind, str):
            raise Invalid(f"kind must be the name of a kind, not {self.kind!r}", hint=f"One of {', '.join(RULES)}.")
        if not isinstance(self.kind, Kind):
            object.__setattr__(self, "kind", kind(self.kind))
        check_texts(self, _TEXTS | dict.fromkeys(NAMES, NAME_LIMIT))
        if "\n" in self.title.strip() or "\r" in self.title.strip():
            raise Invalid("a title is one line", hint="Put the rest into `what` or the details.")
        _check_names(self)
        _check_values(self)
        _check_moments(self)
        rule = RULES[self.kind]
        if "title" in rule.one:  # for these kinds the title is a name
            object.__setattr__(self, "title", self.title.strip())
        for name in rule.required:
            if not str(getattr(self, name) or "").strip():
                raise Invalid(f"{article(self.kind)} needs {article(name)}")
        if wrong := [name for name in rule.forbidden if getattr(self, name) is not None]:
            raise Invalid(
                f"{article(self.kind)} has no {' and no '.join(wrong)}: it holds everywhere", hint="Leave it out."
            )
        if self.category is not None and rule.categories is not None:
            object.__setattr__(self, "category", _category(self, rule.categories))
        if self.kind is Kind.ITEM:
            check_item(self.metadata)

    @property
    def namespace(self) -> str | None:
        """The namespace of an item, as a path; None for other kinds."""
        return namespace_of(self.metadata) if self.kind is Kind.ITEM else None

    @property
    def key(self) -> str | None:
        """The key of an item; None for other kinds."""
        return key_of(self.metadata) if self.kind is Kind.ITEM else None


def _category(draft: Draft, known: tuple[str, ...]) -> str:
    """
    Raises:
        Invalid: The kind has no such category.
    """
    if (found := note_category(draft.category or "")) in known:
        return found
    raise Invalid(f"no category {draft.category!r} of a {draft.kind}", hint=f"One of {', '.join(known)}.")


def content_hash(draft: Draft) -> str:
    """
    SHA-256 of a draft's content, in hexadecimal: of a note everything, of an item also its place and its value, of
    other kinds the body.

    Texts are compared by `identical`, which ignores their Unicode form, their line ends and white space around them.
    Nothing else is ignored: texts that differ in a letter, its case or a digit are two memories.
    """
    from hashlib import sha256  # costs 1 ms, which a search need not spend

    if draft.kind is Kind.ITEM:
        return sha256(json.dumps((dict(draft.metadata), draft.body), sort_keys=True).encode()).hexdigest()
    if RULES[draft.kind].family != "note":
        return sha256(identical(draft.body).encode()).hexdigest()
    texts: list[object] = [identical(getattr(draft, name) or "") for name in _TEXTS]
    texts += [draft.category and identical(draft.category), [*map(identical, draft.tags)]]
    files = [*map(composed, draft.related_files)]
    facts: tuple[object, ...] = (files, dict(draft.metadata), draft.source and identical(draft.source))
    if times := {name: iso(moment) for name in MOMENTS if (moment := getattr(draft, name)) is not None}:
        facts = (*facts, times)
    return sha256(json.dumps((texts, facts), sort_keys=True).encode()).hexdigest()


def check_content(kind: Kind, content: str) -> None:
    """
    Check the body of a memory whose kind requires one.

    Raises:
        Invalid: It is not text, is longer than `BODY_LIMIT`, or blank.
    """
    check_text("content", content, BODY_LIMIT)
    if not content.strip():
        raise Invalid(f"{article(kind)} needs content")


def article(noun: str) -> str:
    """A noun with its indefinite article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


SHARED = tuple(f.name for f in fields(Draft) if f.name != "body")
"""The fields that a draft shares with the memory made from it."""


_ABSENT = {
    f.name: f.default_factory() if callable(f.default_factory) else f.default
    for f in fields(Draft)
    if f.default is not None
}
"""The defaults of fields whose default is not None."""

_LINES = ("what", "why", "impact", "description")
_TEXTS = {"title": TITLE_LIMIT, **dict.fromkeys(_LINES, LINE_LIMIT), "body": BODY_LIMIT}
NAMES = ("category", "project", "source", "agent_id", "session_id", "task_code", "query_id", "author", "owner")


MOMENTS = ("happened_at", "valid_until")


def _check_names(draft: Draft) -> None:
    for name in NAMES:
        if (value := getattr(draft, name)) is not None:
            if not value.strip():
                raise Invalid(f"{name} is blank", hint="Leave it out instead.")
            object.__setattr__(draft, name, value.strip())
    for name, values in (("tags", draft.tags), ("related_files", draft.related_files)):
        if not isinstance(values, (tuple, list)) or len(values) > TAGS_LIMIT:
            raise Invalid(f"{name} must be a list of at most {TAGS_LIMIT} texts")
        for value in values:
            check_text(name, value, LINE_LIMIT)
            if not value.strip():
                raise Invalid(f"{name} has a blank entry")
    tags: dict[str, str] = {}
    for tag in (composed(tag.strip()) for tag in draft.tags):
        tags.setdefault(tag_key(tag), tag)
    object.__setattr__(draft, "tags", tuple(tags.values()))


def _check_values(draft: Draft) -> None:
    if not isinstance(draft.keyword_only, bool):
        raise Invalid(f"keyword_only is true or false, not {draft.keyword_only!r}")
    parent = draft.parent_id  # bool is a subclass of int, but not an id
    if parent is not None and (isinstance(parent, bool) or not isinstance(parent, int)):
        raise Invalid(f"parent_id is the id of a memory, not {parent!r}")
    if draft.session_iter is not None:
        checked_whole(draft.session_iter, 1, ITERATIONS, f"session_iter is a whole number from 1 to {ITERATIONS:,}")
    if draft.metadata == {}:
        return
    try:
        text = json.dumps(dict(draft.metadata), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"metadata must be JSON values by name: {error}") from error
    check_text("metadata", text, BODY_LIMIT)
    if _depth(draft.metadata) > DEPTH_LIMIT:
        raise Invalid(f"metadata is nested more than {DEPTH_LIMIT} deep")


_READ: Mapping[str, Callable[[str], datetime]] = dict(zip(MOMENTS, (beginning, ending), strict=True))


def _check_moments(draft: Draft) -> None:
    for name in MOMENTS:
        if isinstance(value := getattr(draft, name), str):
            value = _READ[name](value) if value.strip() else None
            object.__setattr__(draft, name, value)
        if value is None:
            continue
        if not isinstance(value, datetime):
            raise Invalid(f"{name} is a date or a time, not {value!r}", hint=FORMS)
        try:
            object.__setattr__(draft, name, in_utc(value))
        except (ValueError, OverflowError) as error:
            raise Invalid(f"{name} is not a valid time: {value}") from error
    if draft.happened_at and draft.valid_until and draft.valid_until <= draft.happened_at:
        raise Invalid(
            f"valid_until {iso(draft.valid_until)} is not after happened_at {iso(draft.happened_at)}",
            hint="Give an end after the beginning.",
        )


def _depth(value: object, room: int = DEPTH_LIMIT + 1) -> int:
    """How deep a value is nested; counts to `room` at most."""
    match value:
        case dict() if room:
            return 1 + max((_depth(item, room - 1) for item in value.values()), default=0)
        case list() | tuple() if room:
            return 1 + max((_depth(item, room - 1) for item in value), default=0)
    return 0


READ = ("description", "summary", "aliases", "alias", "name")
"""Properties of a document that are indexed and embedded like its text."""


def leaves(value: Json) -> Iterator[str]:
    """The texts of a JSON value, in order; in an object, each with its name."""
    match value:
        case None:
            return
        case bool():
            yield str(value).lower()
        case list():
            for item in value:
                yield from leaves(item)
        case dict():
            yield from (f"{name}: {', '.join(leaves(item))}" for name, item in value.items())
        case _:
            yield str(value)


def properties(kind: str, metadata: Mapping[str, Json]) -> Iterator[str]:
    """
    The properties by which a keyword search finds a document, as it does by tags. They are not embedded; those in
    `READ` are.
    """
    if kind == "knowledge_base":
        for name, value in metadata.items():
            if name.strip().casefold() not in READ:
                yield from leaves(value)


@record(frozen=True)
class Saved:
    """
    The result of saving a draft.

    Attributes:
        memory: The saved memory, or the earlier one if `known`.
        known: Whether the same content was already saved in the same scope; then nothing was written.
        notices: What to know about it, e.g. that secrets were removed or that it has no vector yet.
        chunks: Number of chunks, including a note's head.
        renewed: Whether an existing memory now has the draft's content.
    """

    memory: Memory
    known: bool
    notices: tuple[Notice, ...] = ()
    chunks: int = 1
    renewed: bool = False


# When two texts are the same. Search is wider: it also finds texts that only look alike (`memory.text.fold`) ------


def identical(text: str) -> str:
    """The form by which texts are compared for identity: NFC, line feeds for line ends, no white space around it."""
    return composed(text.replace("\r\n", "\n").replace("\r", "\n").strip())


def tag_key(tag: str) -> str:
    """The form by which tags are compared: NFC in lower case."""
    return tag.lower() if tag.isascii() else composed(composed(tag).lower())


def composed(text: str) -> str:
    """A text in NFC, the same for all canonically equivalent texts."""
    if text.isascii():
        return text
    from unicodedata import normalize  # most texts are ASCII and need no import

    return normalize("NFC", text)
