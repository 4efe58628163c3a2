"""What an importer reads: memories with their times, relations, links, and what was wrong with the rest."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memory.keep.jsonl import MemoryLine
from memory.schema.answer import Notice
from memory.schema.draft import SHARED, Draft, content_hash
from memory.schema.errors import TITLE_LIMIT, Error, printable
from memory.schema.memory import Memory, MemoryId, Standing
from memory.store import Links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from memory.schema.memory import Json


class ImportTarget(NamedTuple):
    """
    Where what is read goes.

    Attributes:
        project: The project of what belongs where it lies.
        fixed: The user named it: it is the project of everything.
        clean: Removes secrets from a text, before any of it is cut off: half a secret is not recognised.
        project_of: The project of a folder that a file names; None if it has none.
        remembered: The path by which a file is known again.
    """

    project: str | None
    fixed: bool
    clean: Callable[[str], str]
    project_of: Callable[[str], str | None]
    remembered: Callable[[Path], str]

    def text(self, value: object) -> str:
        """A text of another program as one that can be kept, without its secrets; empty if it is none."""
        return self.clean(text_of(value))

    def of(self, own: str | None) -> str | None:
        """The project of what says it is of the project `own`, or of none."""
        return self.project if self.fixed else own


class Item(NamedTuple):
    """
    A memory that somebody brings along; an entity is one of kind ENTITY.

    Attributes:
        uid: The same whenever it is read; None makes one.
        created, updated: None means now. If it is known and was updated since, what it says now is taken.
        superseded: It no longer holds where it comes from.
        successor: The uid of what replaced it.
    """

    draft: Draft
    uid: str | None = None
    created: datetime | None = None
    updated: datetime | None = None
    superseded: bool = False
    successor: str | None = None


class NamedRelation(NamedTuple):
    """
    A relation between two entities, by their names.

    Attributes:
        makes: An entity that does not exist is made: its source speaks of it as of one.
    """

    source: str
    target: str
    type: str
    makes: bool = False


class About(NamedTuple):
    """A link between an entity, by its name, and the memory with a uid."""

    entity: str
    uid: str


OTHER = "memory does not import this kind of file"
"""Why a file is left out that is known neither by its name nor by its beginning."""

BLANK = "there is nothing in it"
"""Why a file is left out that is empty, or has nothing of what its format is for."""


class LeftOut(NamedTuple):
    """
    A file, or a part of one, that was left out.

    Attributes:
        name: The name to show.
        why: The reason, as a clause after the name and a colon.
        ruled: Whether a rule leaves it out, e.g. because it is a link; nothing is wrong with it.
    """

    name: str
    why: str
    hint: str = ""
    ruled: bool = False

    @property
    def notice(self) -> Notice:
        """The omission and its reason as a notice."""
        return Notice(f"{self.name}: {self.why}" if self.name else self.why, self.hint)


class Aside(NamedTuple):
    """
    Parts of a conversation that are nobody's words, and are never saved: counted, and told once of each program.

    Attributes:
        what: In the plural, as "calls of tools".
    """

    program: str
    what: str
    number: int


Read: TypeAlias = "Item | NamedRelation | About | LeftOut | Aside"


def told(asides: Mapping[tuple[str, str], int]) -> tuple[Notice, ...]:
    """What was passed over, a sentence a program, from counts by program and what it is."""
    programs: dict[str, list[str]] = {}
    for (program, what), number in asides.items():
        programs.setdefault(program, []).append(f"{what} ({number:,})")
    return tuple(Notice(f"not saved of {program}: {'; '.join(parts)}") for program, parts in programs.items())


def left_out(name: str, why: object, hint: str = "", *, ruled: bool = False) -> LeftOut:
    """What is left out, from a name and a reason as they come; a reason that begins with the name does not repeat it."""
    shown, text = printable(name), str(why)
    for said in (name, shown):
        text = text.removeprefix(f"{said}: ")
        text = f"it {text.removeprefix(f'{said} ')}" if text.startswith(f"{said} ") else text
    return LeftOut(shown, text, hint or (why.hint if isinstance(why, Error) else ""), ruled)


def uid_of(program: str, *names: object) -> str:
    """The uid of what a program calls so: 32 hexadecimal digits, the same for the same names."""
    return sha256("\0".join((program, *map(str, names))).encode("utf-8", "replace")).hexdigest()[:32]


def own_uid(text: object) -> str | None:
    """A UUID of another program as a uid; None if it is none."""
    digits = str(text).strip().lower().replace("-", "")
    return digits if len(digits) == 32 and set(digits) <= set("0123456789abcdef") else None


def line(item: Item, moment: datetime) -> MemoryLine:
    """An item as what an export has of a memory; `moment` is for what has no times."""
    created = item.created or item.updated or moment
    memory = Memory(
        **{name: getattr(item.draft, name) for name in SHARED},
        id=MemoryId(0),
        uid=item.uid or uid_of("", moment.isoformat(), item.draft),
        status=Standing.SUPERSEDED if item.superseded else Standing.ACTIVE,
        superseded_by=None,
        content_hash=content_hash(item.draft),
        created_at=created,
        updated_at=max(created, item.updated or created),
        accessed_at=None,
        access_count=0,
        body_size=len(item.draft.body),
    )
    links = Links(memory.uid, None, item.successor) if item.successor else None
    return MemoryLine(item.draft, memory, links=links, foreign=True)


HAPPENED = ("happened_at", "happened", "occurred_at", "event_date", "event_time", "valid_at", "valid_from", "date")
ENDS = ("valid_until", "valid_to", "invalid_at", "expires_at", "expires", "expiration_date", "expiry")
"""What programs and people call when something happened, and when it ends, among the facts that stand beside a text."""

WHOLE_DAY = re.compile(r"\d{4}-\d\d-\d\d")


LEAST = 1e8
"""Seconds since 1970: a smaller number is no moment, but perhaps how many days something lasts."""


def timed(item: Item) -> Draft:
    """The draft of an item with when it happened and until when it holds, as far as its metadata say so."""
    draft = item.draft
    happened, ends = times(draft.metadata, item.created, draft.happened_at, draft.valid_until)
    return replace(draft, happened_at=happened, valid_until=ends)


def times(
    metadata: Mapping[str, Json],
    created: datetime | None,
    happened: datetime | None = None,
    ends: datetime | None = None,
) -> tuple[datetime | None, datetime | None]:
    """
    When something happened, None if that is when it was made, and from when on it has ended.

    Args:
        happened, ends: Where they are known; else the metadata may say them.
    """
    known = {name.casefold().replace("-", "_").replace(" ", "_"): value for name, value in metadata.items()}

    def first(names: tuple[str, ...]) -> tuple[object, datetime] | tuple[None, None]:
        values = (known[name] for name in names if name in known)
        stated = (value for value in values if not isinstance(value, int | float) or value >= LEAST)
        return next(((value, found) for value in stated if (found := moment_of(value))), (None, None))

    (_, stated), (said, end) = first(HAPPENED), first(ENDS)
    if end and WHOLE_DAY.fullmatch(str(said).strip()):  # that whole day
        end += timedelta(days=1)
    happened = happened or (None if stated == created else stated)
    ends = ends or end
    return happened, None if happened and ends and ends <= happened else ends


# Values of other programs ---------------------------------------------------------


MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()

DATE = 100
"""Characters of a date; one with a weekday, a zone and its name has about 60."""

_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)(.*)", re.DOTALL)
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d)(.*)", re.DOTALL)
_NAMED = re.compile(
    rf"(?:[a-z]+\.?,?\s+)?(?:(\d{{1,2}})(?:st|nd|rd|th)?\.?\s+)?({'|'.join(MONTHS)})[a-z]*\.?,?\s+"
    r"(?:(\d{1,2})(?:st|nd|rd|th)?,?\s+)?(\d{4})(?!\d)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_CLOCK = re.compile(
    r"[\sT,]*(?:at\s+)?(\d{1,2}):(\d\d)(?::(\d\d))?(?:[.,]\d+)?\s*([ap])?\.?(?:m\b\.?)?"
    r"\s*(?:utc|gmt|z)?\s*([+-]\d\d:?\d\d)?\s*(?:\(.*\))?",
    re.IGNORECASE,
)


def moment_of(value: object) -> datetime | None:
    """
    A time of another program: ISO 8601, seconds since 1970, or a date as people write it; without a zone it is UTC.

    None if it is none of these, or if it may be one of two: 06/05/2024 is May in one country and June in another.
    """
    try:
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        text = str(value)[:DATE].strip().removeprefix("[[").removesuffix("]]").strip()
        text = re.sub(r"\s*[日일]", "", re.sub(r"[年月년월]\s*", "-", text))
        if text.isdecimal() and len(text) in (10, 13):  # seconds, or milliseconds
            return datetime.fromtimestamp(int(text[:10]), UTC)
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            found = _written(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _written(text: str) -> datetime:
    """
    A date as people write it, perhaps with a time.

    Raises:
        ValueError: It is none, or may be one of two.
    """
    if found := _YEAR_FIRST.fullmatch(text):
        year, month, day, rest = int(found[1]), int(found[3]), int(found[4]), found[5]
    elif found := _YEAR_LAST.fullmatch(text):
        day, month, year, rest = int(found[1]), int(found[3]), int(found[4]), found[5]
        if day <= 12 and month <= 12 and day != month:
            raise ValueError(text)
        day, month = max(day, month), min(day, month)
    elif (found := _NAMED.fullmatch(text)) and bool(found[1]) != bool(found[3]):
        day, month, year = int(found[1] or found[3]), MONTHS.index(found[2].lower()) + 1, int(found[4])
        rest = found[5]
    else:
        raise ValueError(text)
    if not rest.strip():
        return datetime(year, month, day, tzinfo=UTC)
    if not (clock := _CLOCK.fullmatch(rest)):
        raise ValueError(text)
    hour = int(clock[1]) % 12 + 12 * (clock[4].lower() == "p") if clock[4] else int(clock[1])
    zone = clock[5] or "+0000"
    return datetime.fromisoformat(f"{year:04}-{month:02}-{day:02}T{hour:02}:{clock[2]}:{clock[3] or '00'}{zone}")


def text_of(value: object) -> str:
    """A text of another program as one that can be kept; empty if it is none."""
    if not isinstance(value, str):
        return ""
    return value.replace("\0", "").encode("utf-8", "replace").decode()


def rows_of(value: object) -> list[dict[str, Any]]:
    """The objects of a list of another program; none if it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def one_line(value: object, limit: int = TITLE_LIMIT) -> str:
    """The first line of a text that is not blank, at most so many characters."""
    first = next((text for text in text_of(value).splitlines() if text.strip()), "")
    text = printable(first)
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def tags_of(clean: Callable[[str], str], *values: object, most: int = 100) -> tuple[str, ...]:
    """Tags from lists, or texts with commas between them; each once, without its # mark, and without secrets."""
    found: dict[str, None] = {}
    for value in values:
        parts: Iterable[object] = value if isinstance(value, list | tuple) else text_of(value).split(",")
        for part in parts:
            said = clean(str(part) if isinstance(part, int | float) else text_of(part))
            tag = one_line(said).strip().removeprefix("#").strip()
            if tag:
                found.setdefault(tag)
    return tuple(found)[:most]
