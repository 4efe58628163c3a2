"""
Pages: memories as Markdown files with YAML front matter, read back after people, editors and git were at them.

A page is a memory's facts by the names of an export, and its body. Its links are the paths of other pages in two brackets,
which Obsidian follows and renames.
"""

from __future__ import annotations

import json
import re
import unicodedata
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memory.carry.markdown import UNPRINTED
from memory.config.front_matter import yaml_values
from memory.schema.errors import Invalid, clipped_repr, iso
from memory.schema.kinds import Kind
from memory.schema.memory import Json, Memory, Standing
from memory.text.markdown import listed, observations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memory.schema.memory import Json

LISTS = ("tags", "related_files", "about", "relations")
FLAGS = ("keyword_only", "pinned")
NUMBERS = ("session_iter",)
NESTED = ("metadata",)
LINKS = ("superseded_by", "parent", "about", "relations")
TEXTS = ("what", "why", "impact", "description", "source", "agent_id", "session_id", "task_code", "query_id")
NAMES = (
    *("uid", "title", "kind", "category", "tags", "project", "status", "pinned", *LINKS),
    *(*TEXTS, "session_iter", "related_files", "metadata", "keyword_only", "created_at", "updated_at"),
)
"""Facts of a page, in their order; all other lines of its front matter are somebody else's and stay as they are."""

BODY, FOREIGN = "body", "foreign"
UNMARKED = frozenset({"uid", "updated_at"})
"""What makes no page another: a memory gets a new time wherever a change arrives, which would travel to and fro."""

Marks: TypeAlias = "dict[str, str]"
"""For each fact of a page a few digits of its hash, which say whether it changed."""

FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<facts>(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)")
OPEN = re.compile(r"\ufeff?---[ \t]*\r?\n(?:.*\n)*?uid[ \t]*:")
KEY = re.compile(r"(?P<quote>[\"']?)(?P<name>[^\s#\"':-][^\"':]*)(?P=quote)[ \t]*:(?=\s|\Z)(?P<value>[^\n]*)")
NEWLINE, WINDOWS = "\n", "\r\n"
LINK = re.compile(r"(?:(?P<type>.*\S)\s+)?\[\[(?P<path>.+?)\]\]", re.DOTALL)


class Page(NamedTuple):
    """
    Attributes:
        facts: By their names in `NAMES`; those that are absent, empty or usual are left out. Links are paths of pages.
        body: The memory's body, verbatim.
        foreign: Lines of the front matter that are no facts of a memory, verbatim.
    """

    facts: Mapping[str, Json]
    body: str
    foreign: str = ""

    @property
    def uid(self) -> str:
        return str(self.facts.get("uid", ""))

    def marks(self) -> Marks:
        return marks_of(self.facts) | {BODY: mark(self.body), FOREIGN: mark(self.foreign)}


def marks_of(facts: Mapping[str, Json]) -> Marks:
    return {name: mark(value) for name, value in facts.items() if name not in UNMARKED}


def mark(value: Json) -> str:
    """A few digits of the hash of a fact; of a text whatever its line ends are, which git and editors change."""
    same = value.replace("\r\n", "\n") if isinstance(value, str) else value
    text = json.dumps(same, ensure_ascii=False, sort_keys=True)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def facts_of(memory: Memory, links: Mapping[str, Json], names: Sequence[str] = NAMES) -> dict[str, Json]:
    """
    The facts of a memory's page.

    Args:
        links: Those in `LINKS`, as paths in brackets.
        names: Only these.
    """
    found: dict[str, Json] = {}
    for name in names:
        value: Any = links.get(name) if name in LINKS else getattr(memory, name)
        if name in MADE:
            value = MADE[name](value)
        if value not in (None, "", False, (), {}, []):
            found[name] = list(value) if isinstance(value, tuple) else value
    return found


MADE: Mapping[str, Callable[[Any], Json]] = {
    "kind": str,
    "status": lambda status: None if status is Standing.ACTIVE else str(status),
    "metadata": dict,
    "created_at": iso,
    "updated_at": iso,
}
"""How a page has what is no text in a memory."""


# Written ----------------------------------------------------------------------


def rendered(page: Page) -> str:
    """
    The text of a page: a line of JSON, which is YAML too, for each fact; then the body as it is.

    All lines end as the first of the body does.
    """
    lines = [
        f"{name}: {json.dumps(page.facts[name], ensure_ascii=False).translate(UNPRINTED)}\n"
        for name in NAMES
        if name in page.facts
    ]
    front = f"---\n{''.join(lines)}{page.foreign}---\n"
    windows = page.body.partition("\n")[0].endswith("\r") and "\n" in page.body
    return f"{front.replace(NEWLINE, WINDOWS) if windows else front}{page.body}"


UNFIT = re.compile(r"[\\/:*?\"<>|#^\[\]%\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")
"""Characters that no file name may have on some system, or that mean something in a link of Obsidian."""

RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
NAME_BYTES = 120
SUPERSEDED = "superseded"  # the folder, in that of a project


def file_name(text: str, otherwise: str) -> str:
    """A name for a file or a folder, made from a title, that every system takes; without suffix."""
    name = " ".join(UNFIT.sub(" ", unicodedata.normalize("NFC", text)).split())
    name = name.encode("utf-8", "ignore")[:NAME_BYTES].decode("utf-8", "ignore").strip(" .")
    if not name or not name.isprintable():
        name = "".join(letter for letter in name if letter.isprintable()).strip(" .") or otherwise
    return f"{name} page" if RESERVED.match(name) else name


def usual_path(memory: Memory) -> str:
    """Where the page of a memory is unless somebody moves it: its project's folder, by its title, without suffix."""
    title = memory.title or memory.what or memory.description
    name = file_name(title, f"{memory.kind} {memory.short_id or memory.uid[:8]}")
    folder = file_name(memory.project, "project") + "/" if memory.project else ""
    return f"{folder}{f'{SUPERSEDED}/' if memory.status is Standing.SUPERSEDED else ''}{name}"


def folded(path: str) -> str:
    """A path as systems compare it that do not tell cases or compositions apart."""
    return unicodedata.normalize("NFC", path).casefold()


def link(path: str, type: str = "") -> str:
    """A link to a page, as Obsidian follows it."""
    return f"{type} [[{path}]]" if type else f"[[{path}]]"


def linked(text: Json, name: str) -> tuple[str, str]:
    """
    The type of a link, empty if there is none, and all that stands in its brackets.

    Raises:
        Invalid: It is no link.
    """
    found = LINK.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None or (name == "relations") != bool(found["type"]):
        like = "uses [[Page]]" if name == "relations" else "[[Page]]"
        raise Invalid(f"{name} has {clipped_repr(text)}", hint=f'A link is written "{like}".')
    return found["type"] or "", found["path"].strip()


def link_paths(inside: str) -> tuple[str, ...]:
    """What the brackets of a link may mean: a path with whatever is in it, or one with a heading or another text."""
    return tuple(dict.fromkeys(path.strip().removesuffix(".md") for path in (inside, re.split("[|#]", inside)[0])))


# Read -------------------------------------------------------------------------


def parsed(text: str) -> Page:
    """
    A page from the text of a file; one without front matter has a body alone.

    Raises:
        Invalid: Its front matter cannot be read, or a fact has a value that it does not take.
    """
    found = FRONT.match(text)
    if found is None and OPEN.match(text):
        raise Invalid("its front matter has no end", hint="It ends with a line of three dashes.")
    if found is None:
        return Page({}, text.removeprefix("\ufeff"))
    facts: dict[str, Json] = {}
    foreign: list[str] = []
    read: set[str] = set()
    for name, value, lines in _entries(found["facts"]):
        if name not in NAMES:
            foreign.append(lines)
            continue
        if name in read:
            raise Invalid(f"{name} stands in its front matter twice", hint="Make one line of the two.")
        read.add(name)
        if (fact := _fact(name, value, lines)) not in (None, "", False, [], {}):
            facts[name] = fact
    if facts.get("status") == Standing.ACTIVE:
        del facts["status"]
    return Page(facts, text[found.end() :], "".join(foreign))


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Of each entry of a front matter its name, what stands behind the colon, and its lines; comments have no name."""
    name, value, lines = "", "", ""
    for line in text.replace("\r\n", "\n").split("\n")[:-1]:  # not splitlines: U+2028 may stand in a text
        found = KEY.match(line)
        if found is None and not line.startswith("#"):
            lines += f"{line}\n"
            continue
        if lines:
            yield name, value, lines
        name, value = (found["name"].strip(), found["value"].strip()) if found else ("", "")
        lines = f"{line}\n"
    if lines:
        yield name, value, lines


def _fact(name: str, value: str, lines: str) -> Json:
    try:
        fact = _checked(name, _value(name, value, lines))
        json.dumps(fact, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:  # a number without end, half a character, brackets in brackets
        raise Invalid(f"{name} in its front matter cannot be read") from error
    return fact


def _value(name: str, value: str, lines: str) -> Any:
    whole = len(lines) == lines.find("\n") + 1
    if whole and value[:1] in ('"', "[", "{"):
        with suppress(json.JSONDecodeError):  # it may be YAML that is no JSON
            return json.loads(value)
    return _yaml(name, lines)


def _yaml(name: str, lines: str) -> Any:
    """The value of an entry. Scalars are texts, except inside of `NESTED`."""
    values = yaml_values(lines, typed=name in NESTED)
    if values is None or len(values) != 1:
        raise Invalid(f"{name} in its front matter cannot be read", hint='Write a text as "text".')
    (value,) = values.values()
    return None if isinstance(value, str) and value.strip() in ("", "~", "null") else value


def _checked(name: str, value: Any) -> Json:
    if name in FLAGS:
        return _flag(name, value)
    if name in LISTS:
        return _list(name, value)
    if name in NESTED:
        if value is not None and not isinstance(value, dict):
            raise Invalid(f"{name} has names with values, not {clipped_repr(value)}")
        return value
    if value is not None and not isinstance(value, str):
        raise Invalid(f"{name} is a text, not {clipped_repr(value)}")
    if name in NUMBERS and value:
        if not value.isdecimal():
            raise Invalid(f"{name} is a number, not {clipped_repr(value)}")
        return int(value)
    if name == "status" and value and value not in set(Standing):
        raise Invalid(f"status is {' or '.join(Standing)}, not {clipped_repr(value)}")
    return value


def _list(name: str, value: Any) -> Json:
    items = value or []
    if isinstance(items, str):
        items = [item.strip() for item in items.split(",")] if name == "tags" else [items]
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise Invalid(f"{name} is a list of texts, not {clipped_repr(value)}")
    return items


def _flag(name: str, value: object) -> bool:
    text = str(value or "false").lower()
    if text not in {"true", "yes", "on", "false", "no", "off"}:
        raise Invalid(f"{name} is true or false, not {clipped_repr(value)}")
    return text in {"true", "yes", "on"}


def differ(one: Marks, other: Marks) -> bool:
    """Whether two pages say different things of a memory."""
    return any(one.get(name) != other.get(name) for name in (one.keys() | other.keys()) - {FOREIGN})


def derived_uid(*texts: str) -> str:
    """The uid of a page that has none: the same if a look ends before it stands in the file."""
    return blake2b("\0".join(texts).encode(), digest_size=16).hexdigest()


# Two versions of a page become one, and the two that a merge of git leaves in a file -------------

LINES = re.compile(r"[^\n]*\n|[^\n]+")
OURS, BASE, THEIRS, END = "<<<<<<< ", "|||||||", "=======", ">>>>>>> "


def torn(text: str) -> bool:
    """Whether there are marks in a text like those between which git leaves what it could not merge."""
    return f"\n{OURS}" in f"\n{text}" and f"\n{END}" in text


def versions(text: str) -> list[str]:
    """The text of a file; both texts that a merge of git left in it between its marks."""
    if not torn(text):
        return [text]
    ours: list[str] = []
    theirs: list[str] = []
    into: tuple[list[str], ...] = (ours, theirs)
    for line in LINES.findall(text):
        if line.startswith(OURS):
            into = (ours,)
        elif line.startswith(BASE) and into == (ours,):
            into = ()
        elif line.rstrip("\r\n") == THEIRS and len(into) < 2:  # both: a line of a heading
            into = (theirs,)
        elif line.startswith(END) and into == (theirs,):
            into = (ours, theirs)
        else:
            for side in into:
                side.append(line)
    return ["".join(ours), "".join(theirs)]


def merged(former: Marks | None, one: Page, other: Page) -> tuple[Page, bool]:
    """
    One page of two that began as the same; and whether it has all of both.

    Of a fact that only one side changed it has that change; of one that both changed, what `one` says. Of lists in `LISTS`
    it has what either side added, and of an entity every observation.

    Args:
        former: What they began as; None if that is not known: then a fact that only one of them has is kept.
    """
    was = former or {}
    sides = [{**page.facts, BODY: page.body, FOREIGN: page.foreign} for page in (one, other)]
    facts, whole = {}, True
    for name in (*NAMES, BODY, FOREIGN):
        mine, yours = (side.get(name) for side in sides)
        facts[name] = mine
        if mark(mine) == mark(yours) or name in UNMARKED or (former is not None and _as_it_was(was, name, yours)):
            continue
        if former is not None and _as_it_was(was, name, mine):
            facts[name] = yours
        elif former is None and name not in (BODY, FOREIGN) and (mine is None or yours is None):
            facts[name] = yours if mine is None else mine
        elif name in LISTS:
            facts[name] = list(dict.fromkeys([*_items(mine), *_items(yours)]))
        elif name == BODY and facts["kind"] == Kind.ENTITY:
            facts[name] = listed(dict.fromkeys(text for side in (mine, yours) for text in observations(str(side))))
        else:
            whole = False
    body, foreign = str(facts.pop(BODY) or ""), str(facts.pop(FOREIGN) or "")
    return Page({name: value for name, value in facts.items() if value is not None}, body, foreign), whole


def _as_it_was(was: Marks, name: str, value: Json) -> bool:
    return was.get(name) == (None if value is None else mark(value))


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()
