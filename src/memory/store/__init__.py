"""Where memories, their chunks and their vectors live: what every store promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memory.store.sessions import Sessions
from memory.store.usage import UsageLog
from memory.store.values import (
    Aged,
    Attached,
    Claim,
    Cleared,
    Counts,
    Entry,
    Generation,
    GraphCounts,
    Learned,
    Links,
    Relation,
    Run,
    Salvaged,
    Session,
    State,
    TermVector,
    ToolCall,
    Waiting,
    active,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from memory.schema.answer import Ranking, Searched
    from memory.schema.document import Details
    from memory.schema.memory import Chunk, ChunkId, Excerpt, Memory, MemoryId, Revision
    from memory.schema.query import Scope, Term
    from memory.schema.saved import Saved
    from memory.schema.space import Space, Vectors, Window
    from memory.store.begun import Begun
    from memory.store.graph import Graph
    from memory.store.runs import Runs
    from memory.store.term_vectors import TermVectors

__all__ = [
    "PRIOR",
    "RESOLVED",
    "SAME",
    "SEARCHES",
    "SPARSE",
    "UID_PREFIX",
    "Aged",
    "Attached",
    "Claim",
    "Cleared",
    "Counts",
    "Entry",
    "Generation",
    "GraphCounts",
    "Learned",
    "Links",
    "Relation",
    "Run",
    "Salvaged",
    "Session",
    "State",
    "Store",
    "TermVector",
    "ToolCall",
    "Waiting",
    "active",
]

SPARSE = 3
"""Fewer chunks than this holding a word make it a prefix: "auth" then also finds "authentication"."""

PRIOR = 50
"""Chunks without any word that are thought beside those that are there: of three chunks, which words are rare is chance."""

SEARCHES = 10_000
"""How many searches are remembered at most."""

UNSEEN = "whether the keyword index is what it should be cannot be found out where nothing may be written"
"""What `Store.check` says of a file that may only be read; it is no fault."""

RESOLVED = 10  # candidates named for an ambiguous reference
UID_PREFIX = 8  # characters from which a prefix of a uid is a reference

SAME = ("kind", "agent_id", "session_id", "session_iter", "task_code", "query_id", "project")
"""Where the same content is the same memory (CAP X25)."""


class Store(UsageLog, Sessions, Protocol):
    """
    Where memories, their chunks and their vectors live.

    Memories and bodies are the truth; chunks, the keyword index and vectors are derived from them and can be
    rebuilt. Every method is one transaction: it happens whole or not at all. Calls may come from any thread, and
    other processes may use the same store. A chunk either has a vector in the active generation or is queued, unless
    its memory is found by keyword only: then it has neither, in no generation.

    Implementations are checked by `tests/conformance/store_suite.py`.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    @property
    def graph(self) -> Graph:
        """Its part for relations between entities."""
        ...

    @property
    def runs(self) -> Runs:
        """Its part for research runs."""
        ...

    @property
    def term_vectors(self) -> TermVectors:
        """Its part for what the words in it mean."""
        ...

    @property
    def begun(self) -> Begun:
        """Its part for chunks that are not embedded to their end."""
        ...

    # Memories ------------------------------------------------------------

    def write_entries(self, entries: Sequence[Entry]) -> Sequence[Saved]:
        """
        Keep entries, all in one transaction. The first vectors of a store found its active generation.

        An entry whose uid is there is known, whatever it says, and so is one of which its kind has only one. One that
        renews another says the new in its place, as `replace` does; one that says the same already is renewed first, and
        keeps no history of that. Vectors of a space that has no living generation
        are not kept; their chunks are queued.

        Raises:
            NotFound: An entry supersedes or descends from a memory, or is about an entity, that is not there.
            Invalid: It supersedes one that was superseded already, or an entity; or it is an entity about another.
        """
        ...

    def known(self, entries: Sequence[Entry]) -> Sequence[MemoryId | None]:
        """For each entry the memory that `write_entries` would answer it with instead of keeping it, as things stand now."""
        ...

    def replace(self, id: MemoryId, entry: Entry, *, former: Details | None = None) -> Saved | None:
        """
        Put new texts in place of a memory's; id, uid, creation time, status and counts stay, the old texts go to
        its history, unless the entry has only grown.

        Args:
            former: What the caller knows of it. If it has another body or more revisions by now, somebody else was
                faster: nothing is written and the answer is None (compare and set).

        Raises:
            NotFound: No such memory, or it descends from one that is not there.
            Invalid: There is another memory of which its kind has only one, or it would become of such a kind.
        """
        ...

    def link(self, links: Sequence[Links]) -> None:
        """
        Point restored memories to their parents and successors.

        What is set already stays; a successor is for superseded memories only. Uids that are not there are skipped.
        """
        ...

    def delete(self, id: MemoryId) -> bool:
        """
        Remove a memory with all that was derived from it.

        What it superseded inherits its status: it holds again, or belongs to the successor of the one removed.
        """
        ...

    def resolve(self, reference: str) -> Sequence[tuple[MemoryId, str]]:
        """
        Ids and uids, at most 10, that a reference may mean: an id in digits, a uid, or at least 8 characters
        of the beginning of one. Nothing else names a memory.
        """
        ...

    def memories(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Memory]:
        """Those that are there."""
        ...

    def body(self, id: MemoryId) -> str | None:
        """The verbatim body; None if there is no such memory."""
        ...

    def details(self, id: MemoryId) -> Details | None:
        """A memory with its body and its history, as they were at one moment; None if there is no such memory."""
        ...

    def touch(self, ids: Sequence[MemoryId], moment: datetime) -> None:
        """
        Count an access to each. Not worth waiting for:

        Raises:
            StoreBusy: Somebody else is writing at the moment.
        """
        ...

    def history(self, id: MemoryId) -> Sequence[Revision]:
        """What updates replaced, latest first."""
        ...

    def recent(self, scope: Scope, limit: int, after: Memory | None = None) -> Sequence[Memory]:
        """Last changed first, of those at one moment the latest id; `after` continues a page behind its last memory."""
        ...

    def count(self, scope: Scope) -> int:
        """How many memories are in scope."""
        ...

    def page(self, after: MemoryId, limit: int) -> Sequence[Memory]:
        """Memories whose id is above `after`, lowest first."""
        ...

    def ids(self, after: MemoryId, limit: int) -> Sequence[MemoryId]:
        """Ids above `after`, lowest first. Of a damaged store there may be some among them that name nothing."""
        ...

    def salvaged(self, id: MemoryId) -> Salvaged | None:
        """
        What can be read of a memory of a damaged store; None if there is no such memory.

        Raises:
            StoreDamaged: Nothing that would be a memory.
        """
        ...

    def excerpts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        """Those that are there."""
        ...

    def texts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, str]:
        """What is indexed of chunks in words: title, heading, text, why, impact, a line each; those that are there."""
        ...

    def outline(self, id: MemoryId) -> Sequence[tuple[ChunkId, Chunk]]:
        """All chunks of a memory, in order."""
        ...

    def outlines(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        """The same of several; those that are there."""
        ...

    def counts(self) -> Counts: ...

    # Keywords ------------------------------------------------------------

    def weigh(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        """
        The terms with what the store knows of them; of those that mean the same to it, in all their forms, the first.

        A word of at least 3 characters that fewer than `SPARSE` chunks hold becomes a prefix, if that finds more. In
        place of a term that no chunk holds in any form stand its parts, if a chunk holds one of them. The rarest are
        looked for first, as long as `memory.store.postings` allows; those that would read more are `cut`.
        """
        ...

    def by_keyword(self, terms: Sequence[Term], scope: Scope, k: int) -> Ranking:
        """The best k chunks in scope that hold any of the terms, by BM25. `terms` come from `weigh`."""
        ...

    def keyword_scores(self, terms: Sequence[Term], ids: Sequence[ChunkId]) -> Ranking:
        """The same scores for given chunks; those that hold no term are left out."""
        ...

    # Vectors: a generation that is gone is NotFound, where nothing else is said ---

    def generations(self) -> Sequence[Generation]:
        """Oldest first."""
        ...

    def embedded_count(self, generation: int) -> int:
        """How many chunks have a vector in it; 0 if it is gone."""
        ...

    def begin(self, space: Space, moment: datetime) -> Generation:
        """
        The living (active, else building) generation of a space, made if there is none: active if no other is,
        else building. Only one is being built: another that was begun is dropped. A retired generation of the
        space, the latest, is taken up again with its vectors and its fingerprint instead of making one.
        """
        ...

    def pending(self, generation: int, after: ChunkId, limit: int) -> Sequence[Excerpt]:
        """Chunks without a vector in the generation whose id is above `after`, lowest first."""
        ...

    def set_vectors(self, generation: int, vectors: Vectors, windows: Sequence[Window]) -> int:
        """
        Add vectors, shape (n, dimension), in place of those their chunks had. Chunks that are gone are skipped.
        In the active generation this takes chunks off the queue.

        Returns:
            How many chunks got vectors; 0 if the generation is gone.
        """
        ...

    def queued(self) -> int:
        """How many chunks are in the queue."""
        ...

    def waiting(self, limit: int, tried_before: datetime | None = None) -> Sequence[Excerpt]:
        """
        Chunks in the queue, those with the fewest failures first, of these the lowest id.

        Args:
            tried_before: Leaves out those that failed at this moment or later; None takes only those never tried.
        """
        ...

    def claim(
        self, limit: int, tried_before: datetime | None = None, *, now: datetime, until: datetime, by: str
    ) -> Sequence[Excerpt]:
        """
        What `waiting` gives of the chunks that nobody claims `now`. They are claimed `until` then, so that two who
        backfill do not both embed them; a vector, a failure or `release` ends a claim.

        Args:
            by: Who claims them, as `claims` says it again.
        """
        ...

    def claims(self, now: datetime) -> Sequence[Claim]:
        """What is claimed `now`: a line for each holder, in their order; the nameless one, of a former version, first."""
        ...

    def release(self, ids: Sequence[ChunkId]) -> None:
        """Give up claims; others are skipped."""
        ...

    def release_of(self, holders: Sequence[str]) -> None:
        """Give up all claims of some holders."""
        ...

    def failed(self, ids: Sequence[ChunkId], error: str, moment: datetime) -> None:
        """Note on queued chunks that embedding them failed; others are skipped."""
        ...

    def unembedded(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Waiting]:
        """Of these memories those that have a chunk in the queue."""
        ...

    def failures(self, limit: int) -> Sequence[Waiting]:
        """Memories with a chunk whose embedding failed, the latest failure first, of those at one moment the lowest id."""
        ...

    def activate(self, generation: int, *, instead_of: int | None, former: State = State.RETIRED) -> bool:
        """
        Let a generation answer, if the active one is still the one named (compare and set).

        Chunks that have no vector in it are queued; what failed for another generation has not failed for this.
        To activate the active one changes nothing.

        Args:
            former: What becomes of the one that answered until now: RETIRED, or BUILDING, so that it can be taken
                up again; another that was being built is then dropped.
        """
        ...

    def fingerprint(self, generation: int) -> Vectors | None:
        """How the model answered a fixed text when the generation was new, shape (dimension,); None if not known."""
        ...

    def mark(self, generation: int, fingerprint: Vectors) -> None:
        """Remember it, unless there is one already or the generation is gone."""
        ...

    def clear(self, generation: int, ids: Sequence[ChunkId] | None = None) -> None:
        """
        Take all vectors of a generation away, its fingerprint and its term vectors; of the active one, queue all chunks.

        Args:
            ids: Only the vectors of these chunks; fingerprint and term vectors stay.
        """
        ...

    def drop(self, generation: int) -> None:
        """Remove a generation with its vectors; the active one stays, one that is gone is no matter."""
        ...

    def by_vector(self, generation: int, vector: Vectors, scope: Scope, k: int) -> Ranking:
        """
        The k most similar chunks in scope, exactly: scope narrows before k counts, any k. A chunk's best window counts.

        Args:
            vector: Shape (dimension,), length 1.
        """
        ...

    def memory_similarities(self, generation: int, vector: Vectors, scope: Scope) -> Mapping[MemoryId, float]:
        """
        Cosine of each memory in scope with `vector`, by its most similar window, up to 1e-5; what has no vector is left
        out.
        """
        ...

    def cosines(
        self, generation: int, vector: Vectors, other: Vectors, ids: Sequence[ChunkId]
    ) -> Mapping[ChunkId, tuple[float, float]]:
        """Cosine of each chunk's window that is most similar to `vector`: with it, and with `other`."""
        ...

    def centre(self, generation: int) -> tuple[Vectors, int]:
        """The sum of all vectors of a generation, shape (dimension,), float64, and how many there are."""
        ...

    # Searches ------------------------------------------------------------

    def searched(self, one: Searched) -> None:
        """Remember a search. It waits for nobody, and a power cut may take it back."""
        ...

    def searches(self, since: datetime | None = None) -> Sequence[Searched]:
        """Those of this moment or later, oldest first: the latest `SEARCHES` at most, and not fewer than some thousands."""
        ...

    # Care ----------------------------------------------------------------

    def check(self) -> Sequence[str]:
        """
        What is wrong with what is stored, a sentence each; empty if all is well. Reads everything. What it cannot look
        at is `UNSEEN`.

        Raises:
            StoreDamaged: It cannot even be read.
        """
        ...

    def lacking(self) -> int:
        """How many bytes are missing at the end of what is stored, as of a file that was cut."""
        ...

    def repair(self) -> None:
        """
        Make everything anew that is derived from memories, bodies, chunks and vectors, in one transaction.

        Raises:
            StoreDamaged: What is stored is damaged itself; nothing was changed.
        """
        ...

    def close(self) -> None: ...
