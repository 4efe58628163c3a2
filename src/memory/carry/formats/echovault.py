"""
EchoVault: its database and the Markdown of its vault, a memory a decision.

Both have the id of a memory, which stays its uid. The database knows more (tags, files, dates); the vault is all there
is where it was deleted, or copied alone. https://github.com/mraza007/echovault, 0.4.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memory.carry.formats import Belongs, Format
from memory.carry.formats.items import (
    ImportTarget,
    Item,
    Read,
    left_out,
    moment_of,
    one_line,
    own_uid,
    tags_of,
    text_of,
    uid_of,
)
from memory.carry.formats.memories import database
from memory.carry.formats.notes import note
from memory.carry.formats.reading import parsed
from memory.config.front_matter import split
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, NAME_LIMIT, Invalid
from memory.schema.kinds import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memory.carry.formats.reading import Source


PROGRAM = "echovault"

TABLES = frozenset({"memories", "memory_details"})

COLUMNS = (
    *("id", "title", "what", "why", "impact", "tags", "category", "project", "source", "related_files"),
    *("created_at", "updated_at", "status", "archived_at", "archive_reason", "superseded_by", "body"),
)
QUERY = "memories m left join memory_details d on d.memory_id = m.id"

HEADINGS = {
    "Decisions": "decision",
    "Patterns": "pattern",
    "Bugs Fixed": "bug",
    "Context": "context",
    "Learnings": "learning",
}
ARCHIVED = "archived"

_FIELD = re.compile(r"\*\*(What|Why|Impact|Source|Category|Archived|Archive Reason|Superseded By):\*\*\s*(.*)")
_ID = re.compile(r"<!-- memory-id:\s*(\S+)\s*-->")


def stored(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The memories of a database."""
    for row in database(source, QUERY, COLUMNS, "m.created_at"):
        try:
            yield _item(row, target)
        except Invalid as error:
            yield left_out(f"{source.name}, memory {row.get('id')}", error)


def _item(row: Mapping[str, Any], target: ImportTarget) -> Item:
    """
    Raises:
        Invalid: It is no memory.
    """
    category = text_of(row.get("category")).strip().lower()
    known = category in CATEGORIES
    text = {key: target.text(row.get(key)) for key in ("title", "what", "why", "impact", "project", "source")}
    project = one_line(text["project"], NAME_LIMIT) or None
    archived = {key: text_of(row.get(key)) for key in ("archived_at", "archive_reason") if row.get(key)}
    superseded = row.get("status") == ARCHIVED
    draft = Draft(
        title=one_line(text["title"]) or one_line(text["what"]),
        what=text["what"][:LINE_LIMIT],
        why=text["why"][:LINE_LIMIT],
        impact=text["impact"][:LINE_LIMIT],
        body=text_of(row.get("body")),
        category=category if known else None,
        tags=tags_of(
            target.clean, _listed(row.get("tags")), () if known else category
        ),  # it has had others, such as "setup"
        related_files=tags_of(target.clean, _listed(row.get("related_files"))),
        project=target.of(project),
        source=one_line(text["source"], NAME_LIMIT) or PROGRAM,
        metadata=archived,
    )
    uid = own_uid(row.get("id")) or uid_of(PROGRAM, row.get("id"))
    successor = own_uid(row.get("superseded_by") or "")
    times = moment_of(row.get("created_at")), moment_of(row.get("updated_at"))
    return Item(draft, uid, *times, superseded, successor)


def _listed(value: object) -> list[str]:
    """A list that a database has as JSON; older ones have commas between its texts."""
    text = text_of(value).strip()
    if not text.startswith("["):
        return text.split(",") if text else []
    try:
        found = parsed(text)
    except Invalid:  # a tag that begins with a bracket
        return text.split(",")
    return [str(one) for one in found] if isinstance(found, list) else []


# The vault --------------------------------------------------------------------------


def of_vault(text: str) -> bool:
    """Whether a Markdown file is a session of the vault."""
    front = split(text)
    return all(f"{name}:" in front.text for name in ("project", "sources", "created")) and "**What:**" in front.body


def sections(text: str, name: str, target: ImportTarget) -> Iterator[Read]:
    """The memories of a session file."""
    found = note(split(text), "", target.clean)
    project = found.metadata.get("project")
    # Its own reader takes a heading in the details of one memory for another, which then has neither an id nor a text.
    entries = [entry for entry in _entries(found.body) if entry.get("id") or entry.get("what")]
    for number, entry in enumerate(entries, start=1):
        common = {"project": project, "created_at": found.created and found.created.isoformat()}
        if len(entries) == 1:  # else nobody knows which of them has which
            common["tags"] = ",".join(found.tags)
        entry.setdefault("id", uid_of(PROGRAM, project, found.created, entry["title"], number))
        try:
            yield _item(common | entry, target)
        except Invalid as error:
            yield left_out(f"{name}, {entry['title']}", error)


def _entries(body: str) -> Iterator[dict[str, Any]]:
    """The sections of a file by the columns that a database has for them."""
    entry: dict[str, Any] | None = None
    category, status, details = "", "", False
    for line in body.replace("\r\n", "\n").split("\n"):
        if details and entry is not None and line.strip() != "</details>":
            entry["body"] += f"{line}\n"
        elif line.strip() in {"<details>", "</details>"}:
            details = line.strip() == "<details>"
        elif line.startswith("## "):
            heading = line.removeprefix("## ").strip()
            category, status = HEADINGS.get(heading, ""), ARCHIVED if heading.lower() == ARCHIVED else ""
        elif line.startswith("### "):
            if entry is not None:
                yield _ended(entry)
            entry = {"title": line.removeprefix("### ").strip(), "category": category, "status": status, "body": ""}
        elif entry is not None:
            _add(entry, line.strip())
    if entry is not None:
        yield _ended(entry)


_NAMES = {"archived": "archived_at"}


def _add(entry: dict[str, Any], line: str) -> None:
    """Add what a line of a section says; a line below a field continues."""
    if found := _ID.fullmatch(line):
        entry["id"] = found[1]
    elif found := _FIELD.fullmatch(line):
        name = found[1].lower().replace(" ", "_")
        entry["last"] = _NAMES.get(name, name)
        entry[entry["last"]] = found[2].strip()
    elif line and "last" in entry:
        entry[entry["last"]] += f"\n{line}"


def _ended(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "last"} | {"body": entry["body"].strip("\n")}


FORMATS = (
    Format(
        "EchoVault database",
        "EchoVault databases",
        "notes",
        stored,
        lambda look: look.tables.keys() >= TABLES,
        belongs=Belongs.NAMED,
    ),
)
