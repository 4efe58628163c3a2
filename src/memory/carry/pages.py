"""
Pages: memories as Markdown files with YAML front matter, read back after people, editors and git were at them.

A page is a memory's facts by the names of an export, and its body. Its links are the paths of other pages in two brackets,
which Obsidian follows and renames.

A page that somebody else wrote keeps every line that it has, and none of them means what it would on a page of ours. What
it says is read as an import reads it, and one line of ours, `LINE`, has the rest: its uid, and where the memory differs.
"""

from __future__ import annotations

import json
import re
import unicodedata
from contextlib import suppress
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memory.carry.formats.items import times
from memory.carry.formats.notes import note
from memory.config.front_matter import JSON, TOML, UNPRINTED, YAML, Front, entries, split, yaml_values
from memory.schema.draft import MOMENTS
from memory.schema.errors import Invalid, clipped_repr, iso
from memory.schema.kinds import GENERAL, Kind
from memory.schema.memory import Json, Memory, Standing
from memory.text.markdown import listed, observations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LISTS = ("tags", "related_files", "about", "relations")
FLAGS = ("keyword_only", "pinned")
NUMBERS = ("session_iter",)
NESTED = ("metadata",)
LINKS = ("superseded_by", "parent", "about", "relations")
TEXTS = ("what", "why", "impact", "description", "source", "agent_id", "session_id", "task_code", "query_id")
NAMES = (
    *("uid", "title", "kind", "category", "tags", "project", "status", "pinned", *LINKS),
    *(*TEXTS, "session_iter", "related_files", "metadata", "keyword_only", *MOMENTS, "created_at", "updated_at"),
)
"""Facts of a page, in their order; all other lines of its front matter are somebody else's and stay as they are."""

LINE = "memory_page"
"""The one entry of ours in the front matter of a page that somebody else wrote."""

USUAL: Mapping[str, Json] = {"kind": str(Kind.KNOWLEDGE_BASE), "category": GENERAL, "source": "mirror"}
"""The facts of such a page that need not be said."""

WRITTEN = frozenset({"kind", "created_at", "updated_at"})
"""What stands beside a uid on every page that we wrote."""

BODY, FOREIGN, OWN = "body", "foreign", "~"
UNMARKED = frozenset({"uid", "updated_at"})
"""What makes no page another: a memory gets a new time wherever a change arrives, which would travel to and fro."""

NOTHING: tuple[object, ...] = (None, "", False, (), {}, [])

Marks: TypeAlias = "dict[str, str]"
"""For each fact of a page a few digits of its hash, which say whether it changed."""

UID = re.compile(r"[0-9a-f]{32}")
OPEN = re.compile(r"\ufeff?---[ \t]*\r?\n(?:.*\n)*?uid[ \t]*:")
IN_JSON = re.compile(rf'\{{\n"{LINE}": ("(?:[^"\\]|\\.)*"),?')
NEWLINE, WINDOWS = "\n", "\r\n"
LINK = re.compile(r"(?:(?P<type>.*\S)\s+)?\[\[(?P<path>.+?)\]\]", re.DOTALL)


class Page(NamedTuple):
    """
    Attributes:
        facts: By their names in `NAMES`; those that are absent, empty or usual are left out. Links are paths of pages.
        body: The memory's body, verbatim.
        foreign: Lines of the front matter that are no facts of a memory, verbatim.
        front: The parts of a page that somebody else wrote, without our line; None of a page of ours.
        own: What such a page says by itself.
    """

    facts: Mapping[str, Json]
    body: str
    foreign: str = ""
    front: Front | None = None
    own: Mapping[str, Json] = MappingProxyType({})

    @property
    def uid(self) -> str:
        return str(self.facts.get("uid", ""))

    def marks(self) -> Marks:
        own = {} if self.front is None else {f"{OWN}{name}": mark(self.own.get(name)) for name in SAID}
        return marks_of(self.facts) | {BODY: mark(self.body), FOREIGN: mark(self.foreign)} | own


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
        if value not in NOTHING:
            found[name] = list(value) if isinstance(value, tuple) else value
    return found


MADE: Mapping[str, Callable[[Any], Json]] = {
    "kind": str,
    "status": lambda status: None if status is Standing.ACTIVE else str(status),
    "metadata": dict,
    "created_at": iso,
    "updated_at": iso,
    **dict.fromkeys(MOMENTS, lambda moment: moment and iso(moment)),
}
"""How a page has what is no text in a memory."""


# Written ----------------------------------------------------------------------


def rendered(page: Page) -> str:
    """
    The text of a page: a line of JSON, which is YAML too, for each fact; then the body as it is.

    All lines end as the first of the body does. A page that somebody else wrote has its own lines, and ours.
    """
    if page.front is not None:
        return _with_line(page, page.front)
    lines = [
        f"{name}: {json.dumps(page.facts[name], ensure_ascii=False).translate(UNPRINTED)}\n"
        for name in NAMES
        if name in page.facts
    ]
    front = f"---\n{''.join(lines)}{page.foreign}---\n"
    windows = page.body.partition("\n")[0].endswith("\r") and "\n" in page.body
    return f"{front.replace(NEWLINE, WINDOWS) if windows else front}{page.body}"


def _with_line(page: Page, front: Front) -> str:
    usual = {**USUAL, **page.own}
    facts = {name: page.facts.get(name) for name in NAMES if page.facts.get(name) != usual.get(name)}
    said = json.dumps(facts, ensure_ascii=False).translate(UNPRINTED)
    windows = front.begin.endswith("\r\n") or page.body.partition("\n")[0].endswith("\r")
    end = WINDOWS if windows and (front.begin or "\n" in page.body) else NEWLINE
    body = front.body if not front.body.strip() and page.body == page.own.get(BODY) else page.body
    if front.style == JSON:
        more = "" if page.foreign[1:].strip() == "}" else ","
        return f'{front.begin}{{\n"{LINE}": {json.dumps(said)}{more}{page.foreign[1:]}{front.end}{body}'
    if front.style == TOML:
        return f"{front.begin}{LINE} = {json.dumps(said)}{end}{page.foreign}{front.end}{body}"
    begin, close = (front.begin, front.end) if front.style else (f"{front.begin}---{end}", f"---{end}")
    return f"{begin}{page.foreign}{LINE}: {said}{end}{close}{body}"


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


def parsed(
    text: str,
    stem: str = "",
    *,
    clean: Callable[[str], str] = str,
    known: Callable[[str], bool] = lambda _: True,
    ours: bool = False,
) -> Page:
    """
    A page from the text of a file.

    Args:
        stem: The name of the file without the ending.
        clean: Removes secrets.
        known: Whether a uid is one of ours.
        ours: Whether it was a page that we wrote.

    Raises:
        Invalid: The front matter of a page of ours cannot be read, or a fact has a value that it does not take.
    """
    front = split(text)
    names = dict(entries(front.text)) if front.style == YAML else {}
    if not front.style and (ours or UID.search(text)) and OPEN.match(text):
        raise Invalid("its front matter is not closed", hint="It ends with a line of three dashes.")
    uid = str((yaml_values(names.get("uid", ""), typed=False) or {}).get("uid"))
    if ours and not front.style:
        return Page({}, text.removeprefix("\ufeff"))
    if (ours and names.keys() & {*WRITTEN, "uid"}) or (UID.fullmatch(uid) and (known(uid) or names.keys() >= WRITTEN)):
        return _parsed_ours(front)
    mark = "\ufeff" if not front.style and text.startswith("\ufeff") else ""
    front = front._replace(begin=front.begin or mark, body=front.body.removeprefix(mark))
    front, line = _without_line(front)
    own = _own(front, front.body, stem, clean)
    said = {name: str(value) if name in NUMBERS and value else value for name, value in line.items() if name in NAMES}
    facts = {**USUAL, **own} | {name: _fact(name, value) for name, value in said.items()}
    body = str(facts.pop(BODY, ""))
    return Page({name: value for name, value in facts.items() if value not in NOTHING}, body, front.text, front, own)


def _parsed_ours(front: Front) -> Page:
    facts: dict[str, Json] = {}
    foreign: list[str] = []
    read: set[str] = set()
    for name, lines in entries(front.text.replace(WINDOWS, NEWLINE)):
        if name not in NAMES:
            foreign.append(lines)
            continue
        if name in read:
            raise Invalid(f"{name} appears twice in its front matter", hint="Keep one of the two lines.")
        read.add(name)
        if (fact := _fact(name, _value(name, lines))) not in NOTHING:
            facts[name] = fact
    if facts.get("status") == Standing.ACTIVE:
        del facts["status"]
    return Page(facts, front.body, "".join(foreign))


def _without_line(front: Front) -> tuple[Front, dict[str, Any]]:
    """
    Front matter without our line, and what that says.

    Raises:
        Invalid: It cannot be read.
    """
    text, said = front.text, ""
    if front.style == JSON and (found := IN_JSON.match(text)):
        text, said = f"{{{text[found.end() :]}", found[1]
    elif front.style in (YAML, TOML):
        parts = [*entries(text, front.style)]
        text = "".join(lines for name, lines in parts if name != LINE)
        said = "".join(lines for name, lines in parts if name == LINE).partition("=" if front.style == TOML else ":")[2]
    if not said.strip():
        return front, {}
    try:
        line = json.loads(said)
        line = json.loads(line) if isinstance(line, str) else line
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{LINE} in its front matter cannot be read", hint="Remove it, or put it back.") from error
    if not isinstance(line, dict) or not UID.fullmatch(str(line.get("uid"))):
        raise Invalid(f"{LINE} in its front matter has no uid", hint="Remove it, or put it back.")
    return front._replace(text=text), line


SAID = ("title", "tags", "what", "metadata", *MOMENTS, BODY)
"""What the text of somebody's page says of a memory; and its dates, which count once."""


def _own(front: Front, body: str, stem: str, clean: Callable[[str], str]) -> dict[str, Json]:
    found = note(front._replace(body=body), stem, clean)
    created = found.created or found.updated
    happened, ends = times(found.metadata, created)
    facts: dict[str, Json] = {
        "title": found.title,
        "tags": list(found.tags),
        "what": found.what,
        "metadata": dict(found.metadata),
        "happened_at": iso(happened) if happened else None,
        "valid_until": iso(ends) if ends else None,
        "created_at": iso(created) if created else None,
        "updated_at": iso(max(created, found.updated or created)) if created else None,
        BODY: body if body.strip("\ufeff \t\r\n") else found.title,
    }
    return {name: fact for name, fact in facts.items() if fact not in NOTHING}


def dressed(page: Page, like: Page, stem: str, clean: Callable[[str], str]) -> Page:
    """The page of a memory with the lines of somebody that another has, without their secrets."""
    foreign = clean(like.foreign)
    if like.front is None:
        return page._replace(foreign=foreign)
    front = like.front._replace(text=foreign)
    blank = page.body == like.own.get(BODY) and not front.body.strip()
    own = _own(front, front.body if blank else page.body, stem, clean)
    return page._replace(foreign=foreign, front=front, own=own)


def renewed(page: Page, former: Marks) -> Page:
    """A page on which what somebody has changed of it since holds, and not what our line has said of that before."""
    changed = [
        name for name in SAID if former.get(f"{OWN}{name}", mark(page.own.get(name))) != mark(page.own.get(name))
    ]
    if page.front is None or not changed:
        return page
    facts = {**page.facts, **{name: page.own.get(name) for name in changed if name != BODY}}
    return page._replace(facts={name: fact for name, fact in facts.items() if fact not in NOTHING})


def _fact(name: str, value: Any) -> Json:
    try:
        fact = _checked(name, value)
        json.dumps(fact, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:  # a number without end, half a character, brackets in brackets
        raise Invalid(f"{name} in its front matter cannot be read") from error
    return fact


def _value(name: str, lines: str) -> Any:
    """The value of an entry. Scalars are texts, except inside of `NESTED`."""
    said = lines.partition(":")[2].strip()
    if "\n" not in lines.rstrip("\n") and said[:1] in ('"', "[", "{"):
        with suppress(ValueError, RecursionError):  # it may be YAML that is no JSON
            return json.loads(said)
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
    names = {name for name in one.keys() | other.keys() if name != FOREIGN and not name.startswith(OWN)}
    return any(one.get(name) != other.get(name) for name in names)


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
    known = {name: value for name, value in facts.items() if value is not None}
    return one._replace(facts=known, body=body, foreign=foreign), whole


def _as_it_was(was: Marks, name: str, value: Json) -> bool:
    return was.get(name) == (None if value is None else mark(value))


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()
