"""
Markdown files with YAML front matter: a document a file, and the notes of basic-memory.

A note of basic-memory is a document and, if it states facts or relations, an entity of the graph. A fact is an item
`- [category] text #tag (context)`, a relation `- type [[Target]] (context)`, and a `[[Target]]` in a sentence is a
relation `links_to`: https://docs.basicmemory.com/concepts/knowledge-format.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.carry.formats.items import About, Item, NamedRelation, moment_of, one_line, tags_of, text_of, uid_of
from memory.config.front_matter import yaml_values
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, NAME_LIMIT, TITLE_LIMIT, printable
from memory.schema.kinds import GENERAL, Kind
from memory.text.markdown import listed, parted, title as heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from memory.schema.memory import Json

TITLES = ("title",)
CATEGORIES = ("category", "categories")
TAGS = ("tags", "tag", "keywords")
ALIASES = ("aliases", "alias")
CREATED = ("created", "created_at", "date")
UPDATED = ("updated", "updated_at", "modified", "last_modified", "lastmod")
READ = frozenset((*TITLES, *CATEGORIES, *TAGS, *ALIASES, *CREATED, *UPDATED))

_FENCE = re.compile(r"\s*(```|~~~)")
_FACT = re.compile(r"\s*[-*+]\s+\[([^\[\]()]+)\]\s+(\S.*)")
_RELATION = re.compile(
    r"""\s*[-*+]\s+(?:"([^"]+)"|'([^']+)'|([^\s\[\]]+(?:\s[^\s\[\]]+)*))\s*\[\[([^\[\]]+)\]\]\s*(\(.*\))?\s*"""
)
_LINK = re.compile(r"\[\[([^\[\]|#]+)(?:[|#][^\[\]]*)?\]\]")
_CODE = re.compile(r"`[^`]*`")
_TASK = frozenset(" xX-/>?!")
_TIME = re.compile(r"[\d:.,\s-]+")


class Matter(NamedTuple):
    """
    What front matter says, and the text below it.

    Attributes:
        aliases: Other names; they are tags too, by which the document is found.
        rest: What has no field of its own.
    """

    body: str
    title: str = ""
    category: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    created: datetime | None = None
    updated: datetime | None = None
    rest: Mapping[str, Json] = MappingProxyType({})


def matter(text: str, clean: Callable[[str], str]) -> Matter:
    """
    The front matter of a text. If it is no YAML that can be read, it is kept as it stands, under `front_matter`.

    Args:
        clean: Removes secrets from a value, before any of it is cut off: YAML may write them as nobody reads them.
    """
    yaml, body = parted(text)
    if not yaml:
        return Matter(text)
    values = yaml_values(yaml)
    if values is None:
        return Matter(body, rest={"front_matter": yaml})
    first = {names: next((values[name] for name in names if values.get(name)), None) for names in _FIELDS}
    category = first[CATEGORIES]
    rest = {name: value for name, value in values.items() if name not in READ and value not in (None, "", [], {})}
    aliases = tags_of(clean, first[ALIASES])
    return Matter(
        body,
        one_line(clean(text_of(first[TITLES]))),
        one_line(clean(text_of(category[0] if isinstance(category, list) else category)), NAME_LIMIT) or None,
        tags_of(clean, first[TAGS] if isinstance(first[TAGS], list) else _words(first[TAGS]), aliases),
        aliases,
        moment_of(first[CREATED]),
        moment_of(first[UPDATED]),
        rest | ({"aliases": list(aliases)} if aliases else {}),
    )


_FIELDS = (TITLES, CATEGORIES, TAGS, ALIASES, CREATED, UPDATED)


def _words(tags: object) -> list[str]:
    """Tags in one text: with commas between them, else with spaces."""
    text = str(tags or "")
    return text.split(",") if "," in text else text.split()


def document(text: str, *, stem: str, file: str, project: str | None, clean: Callable[[str], str]) -> Item | None:
    """
    A Markdown file as an entry of the knowledge base; None if it has no text.

    Args:
        text: Without secrets.
        stem: The name of the file without its ending: a title if nothing else is.
        file: The path to remember.
        clean: As in `matter`.

    Raises:
        Invalid: It is too long.
    """
    found = matter(text, clean)
    if not found.body.removeprefix("\ufeff").strip():
        return None
    draft = Draft(
        kind=Kind.KNOWLEDGE_BASE,
        category=found.category or GENERAL,
        title=found.title or heading(found.body) or printable(stem)[:TITLE_LIMIT],
        body=found.body,
        tags=found.tags,
        related_files=(file,),
        metadata=dict(found.rest),
        project=project,
        source="import",
    )
    return Item(draft, created=found.created, updated=found.updated)


# basic-memory -----------------------------------------------------------------------


def of_basic_memory(values: Mapping[str, Any]) -> bool:
    """Whether front matter is of a note of basic-memory, which has all of these."""
    return all(isinstance(values.get(name), str) for name in ("title", "type", "permalink"))


def graph_of(text: str, item: Item, clean: Callable[[str], str]) -> Iterator[Item | NamedRelation | About]:
    """
    What a note of basic-memory adds to the graph; nothing if it states neither a fact nor a relation.

    Args:
        item: Its document.
        clean: As in `matter`.
    """
    found = matter(text, clean)
    facts, relations = _stated(found.body)
    if not (facts or relations) or item.uid is None:
        return
    name = item.draft.title
    yield Item(
        Draft(
            kind=Kind.ENTITY,
            title=name,
            category=one_line(clean(text_of(found.rest.get("type"))), NAME_LIMIT) or None,
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


def _stated(body: str) -> tuple[list[str], list[tuple[str, str]]]:
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
            relations.setdefault((type[:NAME_LIMIT], one_line(relation[4])))
            continue
        for target in _LINK.findall(plain):
            relations.setdefault(("links_to", one_line(target)))
    return list(facts), [(type, target) for type, target in relations if target]


def _mark(category: str) -> bool:
    """Whether what stands in brackets is the mark of a task, or a time in a transcript."""
    return (len(category.strip()) <= 1 and category.strip() in _TASK | {""}) or bool(_TIME.fullmatch(category))
