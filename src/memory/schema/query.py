"""A search request: the query, its scope, and the terms to look for."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from memory.schema import NamedTuple
from memory.schema.draft import composed
from memory.schema.errors import Invalid, check_text, checked_whole, in_utc
from memory.schema.kinds import Kind, kind
from memory.schema.memory import MemoryId, Standing
from memory.schema.record import record

if TYPE_CHECKING:
    from datetime import datetime


QUERY_LIMIT = 10_000  # characters
MOST = 10_000  # hits of one answer


class Granularity(StrEnum):
    """How much a hit shows: FINE a chunk, MEDIUM its section, COARSE the best passage of a memory, which is one hit."""

    FINE = "fine"
    MEDIUM = "medium"
    COARSE = "coarse"


class Mode(StrEnum):
    """
    Which retrievers a search uses.

    TIERED: keywords, then vectors if the gate says that keywords are not enough. KEYWORD: full-text search only.
    VECTOR: the model's vectors only. HYBRID: both, merged.
    """

    TIERED = "tiered"
    KEYWORD = "keyword"
    VECTOR = "vector"
    HYBRID = "hybrid"


class Gate(StrEnum):
    """
    When a search continues from keywords to vectors.

    AUTO decides by how well keywords match, COUNT by the number of memories found (the documented rule). ALWAYS
    continues in any case, NEVER stops after keywords.
    """

    AUTO = "auto"
    COUNT = "count"
    ALWAYS = "always"
    NEVER = "never"


class CallPrice(StrEnum):
    """How much a call of the model costs, in time and money: from the cheapest to the dearest, each value a clause."""

    LOADED = "the model is loaded in this process"
    LOADING = "the model is not loaded yet"
    SERVER = "the model is on a server of this machine"
    AWAY = "the model is on a server elsewhere"


class Merge(StrEnum):
    """How two rankings are merged; see `memory.search.fuse`."""

    MINMAX = "minmax"
    MAX = "max"
    RRF = "rrf"


NONE = ""
"""Written in place of a project or an owner: memories without one."""


class Scope(NamedTuple):
    """
    A filter on memories. An empty field does not restrict; a set matches memories that have one of its values.

        >>> Scope(projects=frozenset({"db"}), tags=frozenset({"wal"}), since=datetime(2026, 1, 1, tzinfo=UTC))

    Attributes:
        projects: "" in the set includes memories without a project, which apply to every project.
        tags: A memory needs all of them; case and Unicode form do not matter.
        since, until: Bounds on the last change, UTC; `since` is inclusive, `until` exclusive.
        happened_since, happened_until: The same bounds on `Memory.happened`.
        statuses: Active memories by default; an empty set includes superseded ones.
        among: Only memories with these ids; an empty set matches nothing, None does not restrict.
        pinned: Only pinned memories.
        owners: "" in the set includes memories without an owner, which are in everybody's contexts.
        without: Excludes memories with a chunk that contains one of these words or phrases.
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
        The type and the filters of a search in this scope, for the search log.

        Returns:
            A type such as "search_fine_report" or "search_coarse_all", and the names of the fields that differ from
            their defaults.
        """
        filters = (name for name, value, usual in zip(self._fields, self, ACTIVE, strict=True) if value != usual)
        return f"search_{granularity}_{'+'.join(sorted(self.kinds)) or 'all'}", tuple(filters)


def normalised(scope: Scope) -> Scope:
    """
    A scope normalised as a draft's fields are: names without white space around them, tags in NFC, kinds from their
    names (also plurals).

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
"""For a field of a memory, the field of `Scope` that filters it."""

EVERYTHING = Scope(statuses=frozenset())
ACTIVE = Scope()


@record(frozen=True)
class Query:
    """
    A search request.

        >>> Query("wal readers", limit=10, mode=Mode.HYBRID, scope=Scope(projects=frozenset({"db"})))

    Attributes:
        text: 1..10,000 characters; any text is valid. `"quoted words"` must be adjacent, `word*` matches longer words,
            `-word` and `NOT word` exclude.
        limit: Maximum number of hits, 1..10,000.
        granularity: How much text a hit shows.
        mode: Which retrievers may run.
        scope: Which memories are searched; active ones by default.
        compared: Set `Hit.similarity` even if no retriever needs a vector of the query, provided that no server is
            called. Tier and order stay the same.
        topup: Fill up to the limit with memories in scope that do not match; see `Hit.topup`.
        longer: Fill up to the limit with keyword matches of longer words: "authentication" for "auth".
        asked: Set `Hit.similarity` in any case. The configured model embeds the query, on a server too, and also
            waiting chunks, for at most `embedding.fill_seconds`. If it fails, the search answers by keyword in every
            mode, with a notice.
        excludes: Whether `-word` and `NOT word` exclude; False for text that was not written as a query.
        duplicates: Show near-duplicates too, instead of only the newest; see `Hit.duplicates`.
        time: Whether a time in the text ("last week") restricts the search and "latest" sorts by time. Bounds in
            `scope` take precedence.
        as_of: Search the memories as they were at this moment, inclusive. Ranks by keyword in every mode, requires
            COARSE, and ignores times in the text.

    Raises:
        Invalid: The text is blank, too long or not Unicode; the limit is out of range; or `as_of` is combined with FINE
            or MEDIUM.
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
        if not text.isascii():  # canonically equivalent texts are one query
            object.__setattr__(self, "text", composed(self.text))
        check_limit(self.limit)
        for name, choices in (("granularity", Granularity), ("mode", Mode)):
            if not isinstance(getattr(self, name), choices):
                raise Invalid(f"{name} must be a {choices.__name__}, not {getattr(self, name)!r}")
        object.__setattr__(self, "scope", normalised(self.scope))
        if self.as_of is not None:
            self._check_as_of()

    def _check_as_of(self) -> None:
        from datetime import datetime  # most queries need no import

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
    A term of the keyword search, with its statistics in the store.

    Attributes:
        text: A word, or words that must be adjacent.
        prefix: Whether longer words that begin with it count too.
        longer: Above 0 if longer words count because no chunk contains the word itself; then their weight as that word.
            Matches of longer words are no evidence that keywords are enough.
        gram: Whether it is a pair of characters of a script without spaces.
        rows: Number of chunks in the whole store that contain it.
        weight: Its inverse document frequency, above 0.
        exact: Whether the query asks for exactly this: a name in code or a "quoted phrase".
        other: Another spelling that counts as well: "Git Hub" for `GitHub`. Empty if there is none.
        parts: Terms to look for instead if no chunk contains the term itself, but some chunk contains one of these.
        cut: Whether it was skipped because its words occur in too many places (`memory.text.lookup.Allowance`).
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
