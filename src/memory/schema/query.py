"""What is asked and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.schema.errors import Invalid
from memory.schema.kinds import Kind, kind
from memory.schema.limits import check_text
from memory.schema.memory import Status

if TYPE_CHECKING:
    from datetime import datetime

    from memory.schema.memory import Chunk, ChunkId, Memory, MemoryId

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
    When keywords are enough. AUTO looks at what they found, COUNT only at how many (the rule of the seed
    system), ALWAYS goes on to vectors whatever was found, NEVER stays with keywords.
    """

    AUTO = "auto"
    COUNT = "count"
    ALWAYS = "always"
    NEVER = "never"


class Merge(StrEnum):
    """How two rankings become one: see `memory.rank.fuse`."""

    MINMAX = "minmax"
    MAX = "max"
    RRF = "rrf"


class Tier(StrEnum):
    """How far a search went. DISTILLED calls no model; VECTOR only when it was asked for by mode."""

    KEYWORD = "keyword"
    DISTILLED = "distilled"
    HYBRID = "hybrid"
    VECTOR = "vector"


class Outcome(StrEnum):
    """
    How far an answer can be trusted.

    ANSWERED: something fits. WEAK: perhaps. NOTHING_RELEVANT: there are memories in scope, and none fits; the hits are the
    nearest all the same. NOTHING_SAVED: nothing is in scope. DEGRADED: the model was needed and did not answer.
    """

    ANSWERED = "answered"
    WEAK = "weak"
    NOTHING_RELEVANT = "nothing_relevant"
    NOTHING_SAVED = "nothing_saved"
    DEGRADED = "degraded"


NONE = ""
"""In place of a project's name: memories that belong to none."""


class Scope(NamedTuple):
    """
    Which memories may be searched. An empty field does not restrict; a set admits any of its values.

    Attributes:
        projects: `NONE` among them admits memories of no project, which hold in every one.
        tags: A memory needs all of them.
        since, until: Bounds on the last change, UTC; `since` included, `until` not.
        statuses: Superseded memories are left out unless asked for.
        among: Only of these memories, which may be none; None does not restrict.
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
    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    among: frozenset[MemoryId] | None = None

    @property
    def filters(self) -> tuple[str, ...]:
        """Names of the fields that say something else than `ACTIVE`."""
        return tuple(name for name, said, usual in zip(self._fields, self, ACTIVE, strict=True) if said != usual)


def named_kinds(scope: Scope) -> Scope:
    """
    A scope whose kinds may be given by their names, in the plural too.

    Raises:
        Invalid: No kind is called that.
    """
    if all(isinstance(one, Kind) for one in scope.kinds):
        return scope
    return scope._replace(kinds=frozenset(map(kind, scope.kinds)))


def around(project: str | None) -> Scope:
    """What concerns a project: its memories, and those of no project; without one, the latter alone."""
    return Scope(projects=frozenset({NONE, project or NONE}))


EVERYTHING = Scope(statuses=frozenset())
ACTIVE = Scope()


@dataclass(frozen=True, slots=True)
class Query:
    """
    A question, and how to answer it.

    Attributes:
        text: Anything: no text is a syntax error. `"quoted words"` must stand together, `word*` is a beginning.
        limit: Most hits, 1..10,000.
        compared: Compare the hits with a vector of the query also where no retriever needs one, if that calls no
            server: for `Hit.similarity` alone. Tier and order stay.
        topup: Fill up to the limit with what is in scope and was not found; see `Hit.topup`.

    Raises:
        Invalid: The text is blank, too long or not Unicode, or the limit is out of range.
    """

    text: str
    limit: int = 5
    granularity: Granularity = Granularity.COARSE
    mode: Mode = Mode.TIERED
    scope: Scope = ACTIVE
    compared: bool = False
    topup: bool = False

    def __post_init__(self) -> None:
        text = self.text.replace("\0", " ") if isinstance(self.text, str) else self.text
        check_text("the query", text, QUERY_LIMIT)
        if not text.strip():
            raise Invalid("a query needs text", hint="`memory list` shows memories without one.")
        check_limit(self.limit)
        for name, choices in (("granularity", Granularity), ("mode", Mode)):
            if not isinstance(getattr(self, name), choices):
                raise Invalid(f"{name} must be a {choices.__name__}, not {getattr(self, name)!r}")
        object.__setattr__(self, "scope", named_kinds(self.scope))

    @property
    def type(self) -> str:
        """What sort of search it is (CAP A52): "search_fine_report", "search_coarse_all"."""
        return sort_of(self.granularity, self.scope)


def sort_of(granularity: Granularity, scope: Scope) -> str:
    """See `Query.type`."""
    return f"search_{granularity}_{'+'.join(sorted(scope.kinds)) or 'all'}"


def check_limit(limit: object) -> None:
    """
    Raises:
        Invalid: It is no whole number of hits from 1 to `MOST`.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise Invalid(f"limit must be 1..{MOST:,}, a whole number, not {limit!r}")


class Term(NamedTuple):
    """
    One thing the keyword retriever looks for, with what the store knows of it.

    Attributes:
        text: A word, or words that must stand together.
        prefix: Whether longer words that begin with it count too.
        gram: Whether it is a pair of characters of a script without spaces.
        rows: Chunks that hold it, in the whole store.
        weight: Its inverse document frequency, above 0: what finding it is worth.
        exact: Whether the query means just this: a name of code or a "quoted phrase".
        other: Another way it is written, which counts as well: "Git Hub" of `GitHub`. Empty if there is none.
        parts: What a store looks for instead, where no chunk holds it but some chunk one of these.
        cut: It was not looked for: its words stand in too many places (`memory.store.postings`).
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


class Scored(NamedTuple):
    """
    One chunk in one ranking.

    Attributes:
        score: Higher is better; comparable within its ranking only.
        matched: Bit i is set when term i of the query occurs in the chunk.
        keyword: Its BM25, above 0; None when no keyword retriever looked at it.
        cosine: Cosine of its best window with the query, -1..1; None where no vector of the model's was compared.
    """

    chunk: ChunkId
    memory: MemoryId
    score: float
    matched: int = 0
    keyword: float | None = None
    cosine: float | None = None


Ranking: TypeAlias = "tuple[Scored, ...]"
"""Best first; ties broken by chunk id, so equal inputs give equal output."""


class Verdict(NamedTuple):
    """
    Whether the ranking so far answers the query, and why.

    Attributes:
        enough: Keywords are: no further tier is needed.
        why: The reason, a clause.
        found: Memories that were found.
        complete: Memories that hold every term of the query.
        mass: The margin: share of the softmax that the best candidate takes, 0..1.
        coverage: Share of the query's weight that the best candidate holds, 0..1.
        tier: How far the search should go.
    """

    enough: bool
    why: str
    found: int = 0
    complete: int = 0
    mass: float = 0.0
    coverage: float = 0.0
    tier: Tier = Tier.HYBRID


class Step(NamedTuple):
    """Something that was done for an answer: its name, what it found, how long it took in seconds."""

    name: str
    found: int
    seconds: float
    note: str = ""


class Notice(NamedTuple):
    """Something the caller should know although the call succeeded."""

    text: str
    hint: str = ""


MERGED = 0.6
"""Share of a section's chunks from which it counts as found as a whole (CAP A26)."""


class Hit(NamedTuple):
    """
    One passage of one memory.

    Attributes:
        chunk: The best chunk: why this is a hit.
        text: What is shown: the chunk's slice (FINE), its section's (MEDIUM), else the best passage (COARSE).
        score: What the keyword part of a merge would be, 0..1 (tier keyword; see `memory.rank.relevance.by_words`), cosine
            (vector) or the merged score, 0..1 (hybrid, distilled); MEDIUM: its mean over the chunks that match.
        relevance: What the hits are in the order of, comparable within their answer, 0..1; see `memory.rank.relevance`.
        similarity: Cosine with the query, -1..1; MEDIUM: its mean over the chunks that match, or that of `chunk` where
            none does. None where no vector of the query was made, or the chunk has none.
        coverage: Share of the query's weight that the memory's found chunks hold, 0..1.
        keyword: BM25 of `chunk`, above 0; None where no words were looked for in it.
        cosine: That of `chunk`, -1..1; None as of `similarity`.
        ranks: Place in the ranking of each retriever that found it, from 1, by the retriever's name.
        matched, chunks: MEDIUM: how many chunks of the section match, and how many it has; else 1. Of what fills up none
            matches.
        topup: Empty of what was found. Else whence it fills up the answer: "distilled", near by what the store's own
            vectors say; "recent", last changed.
    """

    memory: Memory
    chunk: Chunk
    chunk_id: ChunkId
    text: str
    score: float
    coverage: float
    keyword: float | None
    cosine: float | None
    ranks: tuple[tuple[str, int], ...]
    relevance: float = 0.0
    similarity: float | None = None
    matched: int = 1
    chunks: int = 1
    topup: str = ""

    @property
    def match_ratio(self) -> float:
        """Share of the chunks that match, 0..1."""
        return self.matched / self.chunks

    @property
    def auto_merged(self) -> bool:
        """Whether it counts as found as a whole (CAP A26)."""
        return self.match_ratio >= MERGED


class Answer(NamedTuple):
    """
    Hits, best first, with how they were found.

    Attributes:
        terms: What the keyword retriever looked for; empty when none ran.
        verdict: What the gate said of the keyword ranking; None when no gate was asked.
        worth: Why the outcome is what it is, a clause.
    """

    query: Query
    hits: tuple[Hit, ...]
    tier: Tier
    verdict: Verdict | None
    terms: tuple[Term, ...] = ()
    steps: tuple[Step, ...] = ()
    notices: tuple[Notice, ...] = ()
    outcome: Outcome = Outcome.ANSWERED
    worth: str = ""

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    @property
    def found(self) -> int:
        """How many hits were found; the others fill up."""
        return sum(not hit.topup for hit in self.hits)

    def searched(self, moment: datetime) -> Searched:
        """How it is remembered."""
        query = self.query
        return Searched(moment, query.type, self.tier, self.seconds, query.limit, self.found, query.scope.filters)


class Searched(NamedTuple):
    """
    A search as it is remembered: never its text, and of its filters the names alone.

    Attributes:
        moment: When it was answered.
        type: See `Query.type`.
        results: Hits that were found.
        filters: See `Scope.filters`.
    """

    moment: datetime
    type: str
    tier: str
    seconds: float
    limit: int
    results: int
    filters: tuple[str, ...]
