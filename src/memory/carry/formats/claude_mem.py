"""
claude-mem: its database, `~/.claude-mem/claude-mem.db`, or what its script for that exports: the observations that it makes
in sessions of Claude Code, and its summaries of them.
https://github.com/thedotmack/claude-mem, e2d1df5 (`src/services/sqlite`, `scripts/export-memories.ts`), 13.15, writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.carry.formats import Belongs, Format
from memory.carry.formats.conversation import cut, in_parts
from memory.carry.formats.items import (
    ImportTarget,
    Item,
    LeftOut,
    Read,
    left_out,
    moment_of,
    one_line,
    tags_of,
    text_of,
)
from memory.carry.formats.reading import Source, elements, parsed
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, NAME_LIMIT, Invalid
from memory.store.sqlite import foreign

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    Row = Mapping[str, Any]

CLAUDE_MEM = "claude-mem"

OBSERVATIONS, SUMMARIES, PROMPTS = "observations", "session_summaries", "user_prompts"
EXPORTED = ((OBSERVATIONS, OBSERVATIONS), (SUMMARIES, "summaries"))

_COMMON = ("id", "memory_session_id", "project", "merged_into_project", "created_at", "created_at_epoch", "files_read")
COLUMNS = {
    OBSERVATIONS: (
        *_COMMON,
        *("type", "title", "subtitle", "text", "narrative", "facts", "concepts", "files_modified"),
    ),
    SUMMARIES: (
        *_COMMON,
        *("request", "investigated", "learned", "completed", "next_steps", "notes", "files_edited"),
    ),
}
SECTIONS = {
    "investigated": "Investigated",
    "learned": "Learned",
    "completed": "Completed",
    "next_steps": "Next steps",
    "notes": "Notes",
}
CATEGORIES = {"decision": "decision", "bugfix": "bug", "discovery": "learning"}


def database(source: Source, target: ImportTarget) -> Iterator[Read]:
    """Its observations and summaries; what a person asked is in the transcripts of Claude Code."""
    if source.path is None:
        raise Invalid(f"{source.name}: a database in an archive is not read", hint="Unpack it.")
    for table in (OBSERVATIONS, SUMMARIES):
        rows = foreign.rows(source.path, table, COLUMNS[table], "created_at_epoch, id")
        yield from _items(rows, table, f"{source.name}, {table}", target)
    if PROMPTS in foreign.tables(source.path):
        prompts = sum(1 for _ in foreign.rows(source.path, PROMPTS, ("id",)))
        yield from _prompts(source, prompts)


def export(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The same, from JSON."""
    for table, key in EXPORTED:
        with source.opened() as file:
            yield from _items(elements(file, source.name, key), table, f"{source.name}, {key}", target)
    with source.opened() as file:
        yield from _prompts(source, sum(1 for _ in elements(file, source.name, "prompts")))


def _prompts(source: Source, count: int) -> Iterator[LeftOut]:
    if count:
        why = f"{count:,} {'prompt' if count == 1 else 'prompts'}: the transcripts of Claude Code have them"
        yield left_out(f"{source.name}, {PROMPTS}", why, "`memory import ~/.claude/projects` reads them.", ruled=True)


def _items(rows: Iterable[Row | LeftOut], table: str, name: str, target: ImportTarget) -> Iterator[Read]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, LeftOut):
            yield row
            continue
        items = list(_observation(row, target) if table == OBSERVATIONS else _summary(row, target))
        yield from items
        if not items:
            yield left_out(f"{name}, row {number}", "it contains no text", ruled=True)


def _observation(row: Row, target: ImportTarget) -> Iterator[Item]:
    text = {name: target.text(row.get(name)).strip() for name in ("title", "subtitle", "text", "narrative")}
    facts = "\n".join(f"- {target.clean(fact)}" for fact in _listed(row.get("facts")))
    type = one_line(target.text(row.get("type")), NAME_LIMIT)
    body = "\n\n".join(filter(None, (text["narrative"], text["text"], facts)))
    title = text["title"] or text["subtitle"] or body
    tags = tags_of(target.clean, _listed(row.get("concepts")), () if type in CATEGORIES else [type])
    files = tags_of(target.clean, _listed(row.get("files_read")), _listed(row.get("files_modified")))
    yield from _notes(
        row,
        target,
        OBSERVATIONS,
        title,
        what=text["subtitle"],
        body=body,
        category=CATEGORIES.get(type),
        tags=tags,
        files=files,
    )


def _summary(row: Row, target: ImportTarget) -> Iterator[Item]:
    texts = {heading: target.text(row.get(name)).strip() for name, heading in SECTIONS.items()}
    body = "\n\n".join(f"## {heading}\n\n{text}" for heading, text in texts.items() if text)
    title = target.text(row.get("request")).strip() or next(filter(None, texts.values()), "")
    files = tags_of(target.clean, _listed(row.get("files_read")), _listed(row.get("files_edited")))
    yield from _notes(row, target, SUMMARIES, title, what=title, body=body, tags=("session summary",), files=files)


def _notes(
    row: Row,
    target: ImportTarget,
    table: str,
    title: str,
    *,
    what: str,
    body: str,
    tags: tuple[str, ...],
    files: tuple[str, ...],
    category: str | None = None,
) -> Iterator[Item]:
    """A row as a note; as several where it is longer than the body of one; none where it says nothing."""
    if not title.strip():
        return
    line = one_line(title)
    if title != line and title not in {what, body}:
        body = f"{title}\n\n{body}"
    if len(what) > LINE_LIMIT:
        body, what = f"{what}\n\n{body}", ""
    project = one_line(target.text(row.get("merged_into_project") or row.get("project")), NAME_LIMIT) or None
    session = text_of(row.get("memory_session_id"))
    created = moment_of(row.get("created_at")) or _milliseconds(row.get("created_at_epoch"))
    draft = Draft(
        title=line,
        what=what.strip() or line,
        category=category,
        tags=tags,
        related_files=files,
        project=target.of(project),
        source=CLAUDE_MEM,
        metadata={"session": session} if session else {},
    )
    key = (table, session, row.get("created_at_epoch"), row.get("id"))
    for item in in_parts(draft, cut(body), CLAUDE_MEM, *key):
        yield item._replace(created=created)


def _milliseconds(value: object) -> datetime | None:
    number = value / 1000 if isinstance(value, int | float) and not isinstance(value, bool) else None
    return moment_of(number) if number is not None else None


def _listed(value: object) -> list[str]:
    """A list as a database has it, as JSON; a text that is none is its only element."""
    text = text_of(value).strip()
    try:
        found = value if isinstance(value, list) else parsed(text) if text.startswith("[") else [text]
    except Invalid:
        found = [text]
    return [text_of(one) for one in found if text_of(one).strip()] if isinstance(found, list) else []


FORMATS = (
    Format(
        "claude-mem database",
        "claude-mem databases",
        "notes",
        database,
        lambda look: (
            {OBSERVATIONS, SUMMARIES} <= look.tables.keys() and "memory_session_id" in look.tables[OBSERVATIONS]
        ),
        belongs=Belongs.NAMED,
    ),
    Format(
        "claude-mem export",
        "claude-mem exports",
        "notes",
        export,
        lambda look: {"totalObservations", "totalSummaries"} <= look.keys,
        belongs=Belongs.NAMED,
    ),
)
