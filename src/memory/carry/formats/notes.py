"""
Markdown that is not ours: what a file says of itself, a document a file, and the notes of basic-memory.

Front matter is YAML, TOML or JSON. Obsidian writes tags into the text too; architecture decision records
(https://adr.github.io: MADR, Nygard) say their status and date below the title, or in a section of that name.

A note of basic-memory is a document and, if it states facts or relations, an entity of the graph. A fact is an item
`- [category] text #tag (context)`, a relation `- type [[Target]] (context)`, and a `[[Target]]` in a sentence is a
relation `links_to`: https://docs.basicmemory.com/concepts/knowledge-format.
"""

from __future__ import annotations

import re
import unicodedata
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memory.carry.formats.items import (
    About,
    Item,
    NamedRelation,
    moment_of,
    one_line,
    own_uid,
    tags_of,
    text_of,
    uid_of,
)
from memory.config.front_matter import split, values
from memory.schema.draft import READ, Draft, leaves
from memory.schema.errors import LINE_LIMIT, NAME_LIMIT, TITLE_LIMIT, printable
from memory.schema.kinds import GENERAL, Kind
from memory.text.markdown import listed, title as heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from memory.config.front_matter import Front
    from memory.schema.memory import Json, Memory

TITLES = ("title",)
TAGS = ("tags", "tag", "keywords")
CREATED = (
    *("created", "created_at", "createdat", "date_created", "creation_date", "date"),
    *("published", "publishdate", "pubdate"),
)
UPDATED = (
    *("updated", "updated_at", "updatedat", "date_updated", "modified", "modified_at", "date_modified"),
    *("last_modified", "last_modified_at", "lastmod", "last_updated"),
)

_FENCE = re.compile(r"\s*(```|~~~)")
_FACT = re.compile(r"\s*[-*+]\s+\[([^\[\]()]+)\]\s+(\S.*)")
_RELATION = re.compile(
    r"""\s*[-*+]\s+(?:"([^"]+)"|'([^']+)'|([^\s\[\]]+(?:\s[^\s\[\]]+)*))\s*\[\[([^\[\]]+)\]\]\s*(\(.*\))?\s*"""
)
_LINK = re.compile(r"\[\[([^\[\]]+)\]\]")
_FILE = re.compile(
    r"\.(png|jpe?g|gif|svg|webp|bmp|avif|pdf|mp[34]|webm|wav|m4a|ogg|mov|canvas|base|excalidraw)$", re.IGNORECASE
)
_CODE = re.compile(r"`[^`]*`")
_TASK = frozenset(" xX-/>?!")
_TIME = re.compile(r"[\d:.,\s-]+")
_TAG = re.compile(r"(?<![^\s(\[,;])#((?=[\w/-]*[^\W\d])[\w/-]*\w)")
_ABOUT = re.compile(r"[-*+]?\s*[*_]*(status|date|last[ _]updated|updated)[*_]*\s*:\s*[*_]*\s*(\S.*)", re.IGNORECASE)
_SECTION = re.compile(r"#{2,3}\s+(status|date)\s*#*\s*", re.IGNORECASE)

PREAMBLE = 60
"""Lines of a text that are searched for a status and a date."""


class Note(NamedTuple):
    """
    What a file of Markdown says.

    Attributes:
        what: Other names and descriptions, which are read like text.
        body: What stands below the front matter; the title if that is blank.
        metadata: All that front matter says and is not whole in the title or the tags.
        category: Only of what `memory` wrote: where other people have such a property, it is theirs.
    """

    title: str
    body: str
    what: str = ""
    tags: tuple[str, ...] = ()
    created: datetime | None = None
    updated: datetime | None = None
    metadata: Mapping[str, Json] = MappingProxyType({})
    category: str | None = None


def note(front: Front, stem: str, clean: Callable[[str], str]) -> Note:
    """
    What a text says.

    Args:
        front: The text in its parts.
        stem: The name of its file without the ending: the title if nothing else is.
        clean: Removes secrets from a value, before any of it is cut off: YAML may write them as nobody reads them.
    """
    found = values(front)
    names = {_folded(name): name for name in reversed(found)}

    def first(wanted: tuple[str, ...]) -> list[str]:
        return [names[name] for name in wanted if name in names]

    stated = _stated(front.body)
    whole = clean(_text([found[name] for name in first(TITLES)]))
    title = one_line(whole) or heading(front.body) or printable(stem)[:TITLE_LIMIT]
    listed_tags = [tag for name in first(TAGS) for tag in _tags(found[name])]
    tags = tags_of(clean, listed_tags, _inline(front.body))
    read = {name for name in first(TITLES) if whole in ("", title)}
    if {tag.strip().removeprefix("#").strip() for tag in map(clean, listed_tags)} <= {*tags}:
        read |= {*first(TAGS)}
    kept = {name: value for name, value in found.items() if name not in read}
    described = (_text(found[names[name]]) for name in READ if name in names)
    return Note(
        title,
        front.body if front.body.removeprefix("\ufeff").strip() else title,
        clean("\n".join(filter(None, described)))[:LINE_LIMIT],
        tags,
        _moment([*(found[name] for name in first(CREATED)), stated.pop("date", None)]),
        _moment([*(found[name] for name in first(UPDATED)), stated.pop("updated", None)]),
        {**stated, **kept},
        text_of(found.get("category")) or None if own_uid(found.get("uid")) and "created_at" in found else None,
    )


def _folded(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def _text(value: Json) -> str:
    return text_of(", ".join(leaves(value)))


def _tags(value: Json) -> list[str]:
    """Tags in one text have commas between them, else spaces; in a list each stands for itself."""
    if not isinstance(value, str):
        return [*leaves(value)]
    text = value.strip(" \t\n[]")  # of a list that is not closed
    return text.split("," if "," in text else None)


def _moment(found: list[Json]) -> datetime | None:
    """The first of several values that is a time, or a list of one."""
    texts = (str(one[0] if isinstance(one, list) and len(one) == 1 else one) for one in found if one is not None)
    return next((moment for one in texts if (moment := moment_of(one)) is not None), None)


def _prose(body: str) -> Iterator[str]:
    """The lines of a text that are no code, without the code in them."""
    fenced = False
    for line in body.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield _CODE.sub("", line) if "`" in line else line


def _inline(body: str) -> list[str]:
    """The tags in a text, as Obsidian has them."""
    return [tag for line in _prose(body) for tag in _TAG.findall(line)] if "#" in body else []


def _stated(body: str) -> dict[str, str]:
    """The status and the dates that stand below a title, or in sections of these names."""
    found: dict[str, str] = {}
    section, headings = "", 0
    for line in body[: PREAMBLE * 200].splitlines()[:PREAMBLE]:
        text = line.strip()
        if text.startswith("#"):
            below = _SECTION.fullmatch(text)
            section, headings = below[1].lower() if below else "", headings + text.startswith("##")
        elif section and text:
            found.setdefault(section, text)
            section = ""
        elif not headings and (about := _ABOUT.fullmatch(text)):
            found.setdefault(about[1].lower().replace("last", "").strip(" _"), about[2].strip())
    return found


def document(text: str, *, stem: str, file: str, project: str | None, clean: Callable[[str], str]) -> Item | None:
    """
    A Markdown file as an entry of the knowledge base; None if it says nothing.

    Args:
        text: Without secrets.
        file: The path to remember.
        stem, clean: As in `note`.

    Raises:
        Invalid: It is too long.
    """
    if not text.removeprefix("\ufeff").strip():
        return None
    found = note(split(text), stem, clean)
    draft = Draft(
        kind=Kind.KNOWLEDGE_BASE,
        category=found.category or GENERAL,
        title=found.title,
        what=found.what,
        body=found.body,
        tags=found.tags,
        related_files=(file,),
        metadata=dict(found.metadata),
        project=project,
        source="import",
    )
    return Item(draft, created=found.created, updated=found.updated)


# basic-memory -----------------------------------------------------------------------


def of_basic_memory(values: Mapping[str, Json]) -> bool:
    """Whether front matter is of a note of basic-memory, which has all of these."""
    return all(values.get(name) not in (None, "") for name in ("title", "type", "permalink"))


def graph_of(item: Item, clean: Callable[[str], str]) -> Iterator[Item | NamedRelation | About]:
    """
    What a note of basic-memory adds to the graph; nothing if it states neither a fact nor a relation.

    Args:
        item: Its document.
        clean: As in `note`.
    """
    facts, relations = _graph(item.draft.body)
    if not (facts or relations) or item.uid is None:
        return
    name = item.draft.title
    yield Item(
        Draft(
            kind=Kind.ENTITY,
            title=name,
            category=one_line(clean(text_of(item.draft.metadata.get("type"))), NAME_LIMIT) or None,
            body=listed(facts),
            source="basic-memory",
        ),
        uid_of("basic-memory", "entity", name),
        item.created,
        item.updated,
    )
    yield About(name, item.uid)
    for type, target in relations:
        yield NamedRelation(name, target, type, makes=True)


def _graph(body: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The facts of a note, and its relations as type and target."""
    facts: dict[str, None] = {}
    relations: dict[tuple[str, str], None] = {}
    fenced = False
    for line in body.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        if fenced or line.lstrip().startswith((">", "```", "~~~")):
            continue
        if (fact := _FACT.fullmatch(line.rstrip())) and not _mark(fact[1]):
            facts.setdefault(f"[{fact[1].strip()}] {fact[2].strip()}"[:LINE_LIMIT])
        plain = _CODE.sub("", line)
        if relation := _RELATION.fullmatch(plain):
            type = next(filter(None, relation.groups()[:3])).strip()
            relations.setdefault((type[:NAME_LIMIT], one_line(_page(relation[4]))))
            continue
        for target in filter(_leads, _LINK.findall(plain)):
            relations.setdefault(("links_to", one_line(_page(target))))
    return list(facts), [(type, target) for type, target in relations if target]


def _leads(link: str) -> bool:
    """Whether a link is to a page, and not to a picture or another file."""
    return not _FILE.search(_page(link))


def _page(link: str) -> str:
    """The page that a link leads to, without a heading in it and another text for it."""
    return re.split(r"[|#]", link, maxsplit=1)[0].strip()


def _mark(category: str) -> bool:
    """Whether what stands in brackets is the mark of a task or a callout, or a time in a transcript."""
    return (
        category.strip().startswith("!")
        or (len(category.strip()) <= 1 and category.strip() in _TASK | {""})
        or bool(_TIME.fullmatch(category))
    )


# Links ------------------------------------------------------------------------------


def folded(name: str) -> str:
    """The name of a page as links are compared: without case, compositions, kinds of blanks and the ending of its file."""
    low = unicodedata.normalize("NFC", name).casefold().strip().removesuffix(".md")
    return re.sub(r"[\s_-]+", "-", low).strip("-")


def named_pages(memories: Iterable[Memory]) -> dict[str, Memory]:
    """Documents by all names that links have for them: the title before the permalink, aliases, the file."""
    found: dict[str, Memory] = {}
    every = list(memories)
    names: tuple[Callable[[Memory], Iterable[str]], ...] = (
        lambda one: (one.title,),
        lambda one: leaves(one.metadata.get("permalink")),
        lambda one: (*leaves(one.metadata.get("aliases")), *leaves(one.metadata.get("alias"))),
        lambda one: _ends((*one.related_files[:1], *leaves(one.metadata.get("permalink")))),
    )
    for of in names:
        for one in every:
            for name in of(one):
                found.setdefault(folded(name), one)
    return found


def _ends(paths: Iterable[str]) -> Iterator[str]:
    """Paths, and each without its first folders: the longest first."""
    parts = [path.split("/") for path in paths]
    for skip in range(max(map(len, parts), default=0)):
        yield from ("/".join(part[skip:]) for part in parts if part[skip:])
