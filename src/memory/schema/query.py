"""A search request: the query, its scope, and the terms to look for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.draft import composed
from memory.schema.errors import Invalid, check_text, checked_whole, in_utc
from memory.schema.kinds import Kind, kind
from memory.schema.memory import MemoryId, Standing

if TYPE_CHECKING:
    from datetime import datetime


QUERY_LIMIT = 10_000  # characters
MOST = 10_000  # hits of one answer


class Granularity(StrEnum):
    """How much one hit shows: a chunk, the section around it, or its memory."""

    FINE = "fine"
    MEDIUM = "medium"
    COARSE = "coarse"


class Mode(StrEnum):
    """Which retrievers may run; TIERED lets the gate decide."""

    TIERED = "tiered"
    KEYWORD = "keyword"
    VECTOR = "vector"
    HYBRID = "hybrid"


class Gate(StrEnum):
    """
    AUTO goes by what keywords found, COUNT only by how many memories (the documented rule),
    ALWAYS continues to vectors whatever was found, NEVER stays with keywords.
    """

    AUTO = "auto"
    COUNT = "count"
    ALWAYS = "always"
    NEVER = "never"


class CallPrice(StrEnum):
    """What a call of the model takes, in time and in money: from the least to the most, as a clause."""

    LOADED = "the model is loaded in this process"
    LOADING = "the model is not loaded yet"
    SERVER = "the model is on a server of this machine"
    AWAY = "the model is on a server elsewhere"


class Merge(StrEnum):
    """How two rankings become one: see `memory.search.fuse`."""

    MINMAX = "minmax"
    MAX = "max"
    RRF = "rrf"


NONE = ""
"""In place of the name of a project or an owner: memories that have none."""


class Scope(NamedTuple):
    """
    Which memories may be searched. An empty field does not restrict; a set admits any of its values.

    Attributes:
        projects: With `NONE` among them, memories of no project are included, which hold in every project.
        tags: A memory needs all of them, however they are spelled (`memory.schema.draft.tag_key`).
        since, until: Bounds on the last change, UTC; `since` included, `until` not.
        happened_since, happened_until: The same of when it happened (`Memory.happened`).
        statuses: Superseded memories are left out unless asked for.
        among: Restricts to these memories, which may be none; None does not restrict.
        pinned: Only those that are pinned.
        owners: With `NONE` among them, those that stand in everybody's contexts.
        without: Memories of which a chunk holds one of these words or phrases are left out.
    """

    kinds: frozenset[Kind] = frozenset()
    projects: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    iterations: frozenset[int] = frozenset()
    tasks: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    statuses: frozenset[Standing] = frozenset({Standing.ACTIVE})
    among: frozenset[MemoryId] | None = None
    pinned: bool = False
    authors: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    happened_since: datetime | None = None
    happened_until: datetime | None = None

    def remembered(self, granularity: Granularity) -> tuple[str, tuple[str, ...]]:
        """
        How a search in it is remembered: what sort it is ("search_fine_report", "search_coarse_all"), and its filters, the
        names of the fields that say something else than `ACTIVE`.
        """
        filters = (name for name, value, usual in zip(self._fields, self, ACTIVE, strict=True) if value != usual)
        return f"search_{granularity}_{'+'.join(sorted(self.kinds)) or 'all'}", tuple(filters)


def normalised(scope: Scope) -> Scope:
    """
    A scope as a draft's fields are kept: names without blanks around them, tags in NFC; and kinds that may be given by name,
    in the plural too.

    Raises:
        Invalid: There is no such kind.
    """
    changes: dict[str, Any] = {
        name: frozenset(map(str.strip, values))
        for name in _NAMED
        if (values := getattr(scope, name)) and any(one != one.strip() for one in values)
    }
    if not all(tag.isascii() and tag == tag.strip() for tag in scope.tags):
        changes["tags"] = frozenset(composed(tag.strip()) for tag in scope.tags)
    if not all(isinstance(one, Kind) for one in scope.kinds):
        changes["kinds"] = frozenset(map(kind, scope.kinds))
    return scope._replace(**changes) if changes else scope


_NAMED = ("projects", "sources", "categories", "agents", "sessions", "tasks", "runs", "authors", "owners")


def around(project: str | None) -> Scope:
    """A project's memories and those of no project; without a project, only the latter."""
    return Scope(projects=frozenset({NONE, project or NONE}))


FILTERS = {
    "kind": "kinds",
    "project": "projects",
    "source": "sources",
    "category": "categories",
    "agent_id": "agents",
    "session_id": "sessions",
    "session_iter": "iterations",
    "task_code": "tasks",
    "query_id": "runs",
    "status": "statuses",
    "author": "authors",
    "owner": "owners",
}
"""The field of a scope that says which values a field of a memory may have."""

EVERYTHING = Scope(statuses=frozenset())
ACTIVE = Scope()


@dataclass(frozen=True, slots=True)
class Query:
    """
    A question, and how to answer it.

    Attributes:
        text: Any text; none is a syntax error. `"quoted words"` must be adjacent, `word*` matches longer words, `-word` and
            `NOT word` exclude (`memory.text.terms`).
        limit: Most hits, 1..10,000.
        compared: Compare the hits with a vector of the query even if no retriever needs one,
            provided no server is called.
            It only sets `Hit.similarity`; tier and order stay the same.
        topup: Fill up to the limit with memories in scope that were not found; see `Hit.topup`.
        longer: Where words are looked for, fill up to the limit with what holds longer ones: "authentication" for "auth".
        asked: Compare the hits in any case: the configured model makes the query's vector, a server's too, and what waits
            for a vector gets one, as far as that takes no longer than `embedding.fill_seconds`. If it fails, a notice says
            so, and the search answers by keyword, in mode VECTOR and HYBRID too.
        excludes: Whether `-word` and `NOT word` exclude. A text that was not written as a query excludes nothing.
        time: Whether a time that the text names, as "last week", narrows the search, and "latest" orders what it finds. A scope
            with bounds of its own beats it.
        duplicates: Show every note of several that say nearly the same, not the newest for all; see `Hit.duplicates`.
        as_of: Answer from the memories as they were at this moment, with what was done at it: see `memory.search.as_of`. They
            are ranked by keyword alone, whatever the mode, and shown whole; a time that the text names is not read.

    Raises:
        Invalid: The text is blank, too long or not Unicode, the limit is out of range, or `as_of` is with parts of memories.
    """

    text: str
    limit: int = 5
    granularity: Granularity = Granularity.COARSE
    mode: Mode = Mode.TIERED
    scope: Scope = ACTIVE
    compared: bool = False
    topup: bool = False
    longer: bool = True
    asked: bool = False
    excludes: bool = True
    duplicates: bool = False
    time: bool = True
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        text = self.text.replace("\0", " ") if isinstance(self.text, str) else self.text
        check_text("the query", text, QUERY_LIMIT)
        if not text.strip():
            raise Invalid("a query needs text", hint="`memory list` shows memories without one.")
        if not text.isascii():  # what is canonically equivalent is one question
            object.__setattr__(self, "text", composed(self.text))
        check_limit(self.limit)
        for name, choices in (("granularity", Granularity), ("mode", Mode)):
            if not isinstance(getattr(self, name), choices):
                raise Invalid(f"{name} must be a {choices.__name__}, not {getattr(self, name)!r}")
        object.__setattr__(self, "scope", normalised(self.scope))
        if self.as_of is not None:
            self._check_as_of()

    def _check_as_of(self) -> None:
        from datetime import datetime  # most queries do without

        if not isinstance(self.as_of, datetime):
            raise Invalid(f"as_of must be a datetime, not {self.as_of!r}", hint="`Engine.search` takes a date as text.")
        if self.granularity is not Granularity.COARSE:
            raise Invalid(f"a search as of a time returns whole memories: granularity cannot be {self.granularity}")
        object.__setattr__(self, "as_of", in_utc(self.as_of))


def check_limit(limit: object) -> None:
    """
    Check the limit of a query.

    Raises:
        Invalid: It is not a whole number of hits from 1 to `MOST`.
    """
    checked_whole(limit, 1, MOST, f"limit must be 1..{MOST:,}, a whole number")


class Term(NamedTuple):
    """
    One thing the keyword retriever looks for, with what the store knows of it.

    Attributes:
        text: A word, or words that must be adjacent.
        prefix: Whether longer words that begin with it count too.
        longer: Above 0 if they count because no chunk holds the word itself: what it weighs as that word. What longer words
            match is no evidence that keywords are enough.
        gram: Whether it is a pair of characters of a script without spaces.
        rows: How many chunks hold it, in the whole store.
        weight: Its inverse document frequency, above 0: how much finding it says.
        exact: Whether the query means exactly this: a name in code or a "quoted phrase".
        other: Another spelling that counts as well: "Git Hub" for `GitHub`. Empty if there is none.
        parts: What to look for instead if no chunk holds it, but some chunk holds one of these.
        cut: It was not looked for, because its words occur in too many places (`memory.text.lookup.Allowance`).
    """

    text: str
    prefix: bool = False
    gram: bool = False
    rows: int = 0
    weight: float = 1.0
    exact: bool = False
    other: str = ""
    parts: tuple[Term, ...] = ()
    cut: bool = False
    longer: float = 0.0
