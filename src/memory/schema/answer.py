"""The result of a search: rankings, the gate's verdict on them, hits, and the answer they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, overload

from memory.schema import NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from memory.schema.memory import Chunk, ChunkId, Memory, MemoryId
    from memory.schema.query import Query, Term


class Tier(StrEnum):
    """
    How far a search went.

    KEYWORD: full-text search only. DISTILLED: also the store's own term vectors; no model was called. HYBRID: also the
    model's vectors. VECTOR: the model's vectors only, by `Mode.VECTOR`.
    """

    KEYWORD = "keyword"
    DISTILLED = "distilled"
    HYBRID = "hybrid"
    VECTOR = "vector"


class Outcome(StrEnum):
    """
    How far an answer can be trusted.

    ANSWERED: at least one hit is relevant. WEAK: a hit may be relevant. NOTHING_RELEVANT: no memory in scope is
    relevant; the hits are the nearest ones. NOTHING_SAVED: no memory is in scope. DEGRADED: the model was needed and
    did not answer, or many chunks have no vector yet.
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
    Chunks, best first. Ties are sorted by chunk id, highest first, so the chunk of the latest change leads.

    An answer ranks hundreds of chunks and shows a few, so they are stored in columns of equal length, one for each
    field of `Scored`; an item is made when it is read.
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
            matched, keywords, cosines: None gives every item the default.
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
        """The columns, in the order of the fields of `Scored`."""
        return self.chunks, self.memories, self.scores, self.matched, self.keywords, self.cosines

    def at(self, places: Sequence[int], scores: Sequence[float] | None = None) -> Ranking:
        """
        The items at these places, in this order.

        Args:
            scores: Their new scores, in the same order; None keeps the present ones.
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
        The best items, at most `most`.

        Args:
            by_memory: Take only the best chunk of each memory.
        """
        return [*(self.by_memory() if by_memory else self)[:most]]

    def followed_by(self, other: Ranking) -> Ranking:
        """All items of this ranking, then all of the other."""
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


# The words of a query in a ranking: a chunk covers the share of their weight that it holds ---


def coverage(terms: Sequence[Term], matched: int) -> float:
    """Share of the query's weight held by the terms whose bits are set in `matched`, 0..1."""
    return coverages(terms, [matched])[0]


def coverages(terms: Sequence[Term], matched: Sequence[int]) -> list[float]:
    """`coverage` for each of these bits."""
    weights = [term.weight for term in terms]
    total = sum(weights) or 1.0
    known = {
        bits: sum([weight for place, weight in enumerate(weights) if bits >> place & 1]) / total
        for bits in set(matched)
    }
    return [known[bits] for bits in matched]


def held_by_memory(ranking: Ranking, most: int | None = None) -> Mapping[MemoryId, int]:
    """
    For each memory, best first: the terms that its chunks hold between them, as bits like `Scored.matched`.

    Args:
        most: Only the first so many chunks are looked at.
    """
    held: dict[MemoryId, int] = {}
    for memory, matched in zip(ranking.memories[:most], ranking.matched[:most], strict=True):
        held[memory] = held.get(memory, 0) | matched
    return held


def coverage_by_memory(terms: Sequence[Term], ranking: Ranking) -> Mapping[MemoryId, float]:
    """For each memory, best first: the share of the query's weight that its chunks hold between them, 0..1."""
    held = held_by_memory(ranking)
    return dict(zip(held, coverages(terms, [*held.values()]), strict=True))


class Verdict(NamedTuple):
    """
    The gate's decision: whether the keyword results answer the query, and why.

    Attributes:
        enough: Whether the keyword results are enough, so that no further tier runs.
        why: The reason, as a clause.
        found: Number of memories found by keyword.
        complete: Number of memories that contain every term of the query.
        mass: Margin of the best candidate: its share of the softmax over all candidates, 0..1.
        coverage: Share of the query's term weight that the best candidate contains, 0..1.
        tier: The tier to continue with.
    """

    enough: bool
    why: str
    found: int = 0
    complete: int = 0
    mass: float = 0.0
    coverage: float = 0.0
    tier: Tier = Tier.HYBRID


class Step(NamedTuple):
    """A step of a search: its name, the number of results, and its duration in seconds."""

    name: str
    found: int
    seconds: float
    note: str = ""


class Notice(NamedTuple):
    """
    A remark on a call that succeeded, e.g. that a memory was saved but has no vector yet.

    Attributes:
        text: What happened.
        hint: What to do about it; may be empty.
    """

    text: str
    hint: str = ""


MERGED = 0.6
"""A section counts as found as a whole if at least this share of its chunks matches."""


LONGER = "longer"
"""The retriever of longer words than those of the query, whose results come last."""


class Hit(NamedTuple):
    """
    A passage of a memory in an answer.

    Attributes:
        chunk: The chunk that matches best. If it spans several sections, `header_path` and `level` are those of the
            section that matches; with COARSE, those of the headings above the whole chunk.
        text: The text to show: the chunk (FINE), its section (MEDIUM), or the best passage (COARSE).
        score: Depends on the tier. KEYWORD: the keyword part of the merged score, 0..1 (see
            `memory.search.shape.by_words`); with `search.profile: documented`, BM25. VECTOR: the cosine, -1..1.
            HYBRID, DISTILLED: the merged score, 0..1. MEDIUM hits have the mean over their matching chunks.
        relevance: The sort key, 0..1, comparable within one answer; see `memory.search.shape.relevances`.
        similarity: Cosine with the query, -1..1; for MEDIUM the mean over the matching chunks, or the cosine of `chunk`
            if none matches. None if the query or the chunk has no vector.
        coverage: Share of the query's term weight that the memory's matching chunks contain, 0..1.
        keyword: BM25 of `chunk`, above 0; None if keywords did not score it.
        cosine: Cosine of `chunk` with the query, -1..1; None as for `similarity`.
        ranks: Pairs of a retriever's name and this hit's rank with it, from 1. The retriever "longer" finds words that
            begin with a word of the query.
        matched, chunks: MEDIUM: number of matching chunks in the section, and of all its chunks; otherwise 1 and 1.
            A top-up hit has no matching chunk.
        topup: Empty for a hit that matches. Otherwise how it was chosen to fill up the answer: "similar" by the model's
            vectors, "distilled" by the store's own term vectors, "recent" by its last change.
        sections: Number of sections in `chunk`; 1 with COARSE.
        newer_than: Short id of an older memory that says something different on the same subject and ranks behind;
            empty if there is none. If this hit moved up for it, its score and coverage are at least the older one's.
        duplicates: Number of older near-duplicates that the answer leaves out.
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
        """Remarks about newer or duplicate memories, as clauses to print after the hit."""
        newer = (f"newer than {self.newer_than}",) if self.newer_than else ()
        return (
            (*newer, f"and {self.duplicates:,} near-duplicate{'s' * (self.duplicates > 1)}")
            if self.duplicates
            else newer
        )

    @property
    def distance(self) -> float | None:
        """1 - `similarity`, 0..2; None as for `similarity`."""
        return None if self.similarity is None else 1 - self.similarity

    @property
    def match_ratio(self) -> float:
        """Share of the section's chunks that match, 0..1."""
        return self.matched / self.chunks

    @property
    def auto_merged(self) -> bool:
        """Whether enough chunks match (60 %) for the section to count as a match as a whole."""
        return self.match_ratio >= MERGED


class Answer(NamedTuple):
    """
    The result of a search: hits, best first, and how they were found.

    Attributes:
        query: The query as it was run, with its defaults and its scope.
        hits: At most `query.limit`; see `Hit`.
        tier: How far the search went.
        verdict: The gate's decision on the keyword results; None if no gate ran.
        terms: The terms that the keyword search looked for; empty if it did not run.
        steps: What was done, in order, each with its name, number of results and seconds.
        notices: What went wrong or should be known, e.g. that the model did not answer.
        outcome: How far the answer can be trusted.
        worth: The reason for the outcome, as a clause.
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
        """How long the search took: the sum of its steps."""
        return sum(step.seconds for step in self.steps)

    @property
    def found(self) -> int:
        """Number of hits that match; the others are top-up hits."""
        return sum(not hit.topup for hit in self.hits)

    def searched(self, moment: datetime) -> Searched:
        """The entry for the search log, without the query's text."""
        type, filters = self.query.scope.remembered(self.query.granularity)
        return Searched(moment, type, self.tier, self.seconds, self.query.limit, self.found, filters)


class Searched(NamedTuple):
    """
    An entry of the search log. It has the names of the filters, never their values, and never the query's text.

    Attributes:
        moment: When the answer was given, UTC.
        type, filters: See `Scope.remembered`.
        results: Number of hits that match, without top-up hits.
    """

    moment: datetime
    type: str
    tier: str
    seconds: float
    limit: int
    results: int
    filters: tuple[str, ...]
