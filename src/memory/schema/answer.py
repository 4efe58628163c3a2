"""The result of a search: rankings, the gate's verdict on them, hits, and the answer they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, overload

if TYPE_CHECKING:
    from datetime import datetime

    from memory.schema.memory import Chunk, ChunkId, Memory, MemoryId
    from memory.schema.query import Query, Term


class Tier(StrEnum):
    """How far a search went. DISTILLED calls no model; VECTOR only when it was asked for by mode."""

    KEYWORD = "keyword"
    DISTILLED = "distilled"
    HYBRID = "hybrid"
    VECTOR = "vector"


class Outcome(StrEnum):
    """
    How far an answer can be trusted.

    ANSWERED: something fits. WEAK: something may fit. NOTHING_RELEVANT: there are memories in scope, but none fits; the
    hits are the nearest ones. NOTHING_SAVED: nothing is in scope. DEGRADED: the model was needed and did not answer, or
    many chunks have no vector yet.
    """

    ANSWERED = "answered"
    WEAK = "weak"
    NOTHING_RELEVANT = "nothing_relevant"
    NOTHING_SAVED = "nothing_saved"
    DEGRADED = "degraded"


class Scored(NamedTuple):
    """
    One chunk in one ranking.

    Attributes:
        score: Higher is better; comparable within its ranking only.
        matched: Bit i is set if term i of the query occurs in the chunk.
        keyword: Its BM25, above 0; None if no keyword retriever scored it.
        cosine: Cosine of its best window with the query, -1..1; None if no vector from the model was compared.
    """

    chunk: ChunkId
    memory: MemoryId
    score: float
    matched: int = 0
    keyword: float | None = None
    cosine: float | None = None


class Ranking(Sequence[Scored]):
    """
    Chunks, best first; ties by chunk id, highest first: those of what was changed last.

    Hundreds are ranked for one answer and few are shown, so they are kept in columns, of one length: see `Scored` for
    what is in them. An item is made where it is asked for.
    """

    __slots__ = ("chunks", "cosines", "keywords", "matched", "memories", "scores")

    def __init__(
        self,
        chunks: Sequence[ChunkId] = (),
        memories: Sequence[MemoryId] = (),
        scores: Sequence[float] = (),
        matched: Sequence[int] | None = None,
        keywords: Sequence[float | None] | None = None,
        *,
        cosines: Sequence[float | None] | None = None,
    ) -> None:
        """
        Args:
            matched, keywords, cosines: None stands for the default of every item.
        """
        count = len(chunks)
        self.chunks, self.memories, self.scores = chunks, memories, scores
        self.matched = [0] * count if matched is None else matched
        self.keywords: Sequence[float | None] = [None] * count if keywords is None else keywords
        self.cosines: Sequence[float | None] = [None] * count if cosines is None else cosines

    @classmethod
    def of(cls, items: Iterable[Scored]) -> Ranking:
        return cls.of_columns([*zip(*items, strict=True)] or [()] * len(Scored._fields))

    @classmethod
    def of_columns(cls, columns: Sequence[Sequence[Any]]) -> Ranking:
        """A ranking from `columns`."""
        *others, cosines = columns
        return cls(*others, cosines=cosines)

    @property
    def columns(self) -> tuple[Sequence[Any], ...]:
        """In the order of the fields of `Scored`."""
        return self.chunks, self.memories, self.scores, self.matched, self.keywords, self.cosines

    def at(self, places: Sequence[int], scores: Sequence[float] | None = None) -> Ranking:
        """
        The items at these places, in this order.

        Args:
            scores: Theirs from now on, in the same order.
        """
        columns = [[column[place] for place in places] for column in self.columns]
        if scores is not None:
            columns[2] = [*scores]
        return Ranking.of_columns(columns)

    def by_memory(self) -> Ranking:
        """The best chunk of each memory."""
        firsts: dict[MemoryId, int] = {}
        for place, memory in enumerate(self.memories):
            firsts.setdefault(memory, place)
        return self.at([*firsts.values()])

    def first(self, most: int, *, by_memory: bool) -> list[Scored]:
        """
        The best.

        Args:
            most: More are not wanted.
            by_memory: Only the best chunk of each memory.
        """
        return [*(self.by_memory() if by_memory else self)[:most]]

    def followed_by(self, other: Ranking) -> Ranking:
        """Both, the other behind all of it."""
        return Ranking.of_columns([[*one, *two] for one, two in zip(self.columns, other.columns, strict=True)])

    def __len__(self) -> int:
        return len(self.chunks)

    def __iter__(self) -> Iterator[Scored]:
        return map(Scored._make, zip(*self.columns, strict=True))

    @overload
    def __getitem__(self, place: int) -> Scored: ...

    @overload
    def __getitem__(self, place: slice) -> Ranking: ...

    def __getitem__(self, place: int | slice) -> Scored | Ranking:
        if isinstance(place, slice):
            return Ranking.of_columns([column[place] for column in self.columns])
        return Scored._make([column[place] for column in self.columns])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        return all([*mine] == [*theirs] for mine, theirs in zip(self.columns, other.columns, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as of any list

    def __repr__(self) -> str:
        return f"Ranking.of({[*self]})"


class Verdict(NamedTuple):
    """
    Whether the ranking so far answers the query, and why.

    Attributes:
        enough: Keywords are enough; no further tier is needed.
        why: The reason, as a clause.
        found: Memories found.
        complete: Memories that hold every term of the query.
        mass: The margin: the best candidate's share of the softmax, 0..1.
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
"""A section counts as found as a whole if at least this share of its chunks matches."""


LONGER = "longer"
"""The retriever of longer words than those of the query, whose results come last."""


class Hit(NamedTuple):
    """
    One passage of one memory.

    Attributes:
        chunk: The best chunk, which made this a hit. If it holds several sections, `header_path` and `level` are those of the
            one that was found; with COARSE, of what all of it stands below.
        text: What is shown: the slice of the chunk (FINE), its section (MEDIUM), or the best passage (COARSE).
        score: Tier keyword: the keyword part of a merge, 0..1 (see `memory.search.shape.by_words`), with
            `search.profile: documented` BM25; vector: the cosine;
            hybrid, distilled: the merged score, 0..1. MEDIUM: its mean over the matching chunks.
        relevance: The number that the hits are sorted by, comparable within their answer, 0..1; see
            `memory.search.shape.relevances`.
        similarity: Cosine with the query, -1..1; MEDIUM: its mean over the matching chunks, or that of `chunk` if none
            matches. None if the query has no vector, or the chunk has none.
        coverage: Share of the query's weight that the memory's found chunks hold, 0..1.
        keyword: BM25 of `chunk`, above 0; None if no words were looked for in it.
        cosine: That of `chunk`, -1..1; None as for `similarity`.
        ranks: Its rank with each retriever that found it, from 1, by the retriever's name; `LONGER` found only longer words.
        matched, chunks: MEDIUM: how many chunks of the section match, and how many it has; else 1. A hit that fills up
            has none that match.
        topup: Empty for a hit that was found. Otherwise how it fills up the answer: "similar", by the model's vectors;
            "distilled", similar by the store's own vectors; "recent", most recently changed.
        sections: How many sections `chunk` holds; 1 with COARSE.
        newer_than: The short id of an older memory that says something else of the same thing, and stands behind this one;
            empty if there is none. Where this one took its place, the score and the coverage are at least the older one's.
        duplicates: How many older memories say nearly the same and are not shown.
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
    sections: int = 1
    newer_than: str = ""
    duplicates: int = 0

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to say of other memories beside it."""
        newer = (f"newer than {self.newer_than}",) if self.newer_than else ()
        return (*newer, f"and {self.duplicates:,} nearly the same") if self.duplicates else newer

    @property
    def distance(self) -> float | None:
        """1 - cosine, 0..2; None as for `similarity`."""
        return None if self.similarity is None else 1 - self.similarity

    @property
    def match_ratio(self) -> float:
        """Share of the chunks that match, 0..1."""
        return self.matched / self.chunks

    @property
    def auto_merged(self) -> bool:
        """Whether it counts as found as a whole."""
        return self.match_ratio >= MERGED


class Answer(NamedTuple):
    """
    Hits, best first, with how they were found.

    Attributes:
        terms: What the keyword retriever looked for; empty if it did not run.
        verdict: The gate's verdict on the keyword ranking; None if there was no gate.
        worth: Why the outcome is what it is, as a clause.
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
        type, filters = self.query.scope.remembered(self.query.granularity)
        return Searched(moment, type, self.tier, self.seconds, self.query.limit, self.found, filters)


class Searched(NamedTuple):
    """
    A search as it is remembered: never its text, and of its filters the names alone.

    Attributes:
        moment: When it was answered.
        type, filters: See `Scope.remembered`.
        results: Hits found, without those that fill up.
    """

    moment: datetime
    type: str
    tier: str
    seconds: float
    limit: int
    results: int
    filters: tuple[str, ...]
