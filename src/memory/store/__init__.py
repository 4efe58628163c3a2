"""Where memories, their chunks and their vectors live: what every store promises."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memory.store.values import (
    LEAST as LEAST,
    OPENING as OPENING,
    UNAIDED as UNAIDED,
    Attached as Attached,
    Claim as Claim,
    Counts as Counts,  # noqa: TC001  # others import it from here
    Edge as Edge,
    Entry as Entry,
    Failure as Failure,
    Generation as Generation,
    GraphCounts as GraphCounts,
    Links as Links,
    Match as Match,
    Opening as Opening,
    Order as Order,
    Outset as Outset,
    Relation as Relation,
    Run as Run,
    Session as Session,
    Size as Size,
    State as State,
    ToolCall as ToolCall,
    Waiting as Waiting,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from memory.schema.errors import StoreDamaged
    from memory.schema.memory import Details, MemoryId
    from memory.store.generations import Generations
    from memory.store.graph import Graph
    from memory.store.journal import Steps, TrashRows
    from memory.store.learned import (
        HEARD as HEARD,
        Asked as Asked,
        Learned as Learned,
        LearningState as LearningState,
        Prior as Prior,
        TermVector as TermVector,
    )
    from memory.store.memories import Keywords, Memories
    from memory.store.sessions import RunRows, SessionRows
    from memory.store.term_vectors import TermVectors
    from memory.store.usage import Usage
    from memory.store.vectors import Queue, VectorIndex

else:

    def __getattr__(name: str) -> object:
        """What is said of term vectors: a search by keyword does without."""
        if name not in _LEARNED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("memory.store.learned"), name)

    _LEARNED = {"HEARD", "Asked", "Learned", "LearningState", "Prior", "TermVector"}


LINES = 10_000
"""How many lines of the usage log are read at most."""

UNSEEN = "whether the keyword index is what it should be cannot be found out where nothing may be written"
"""What `Store.check` says of a file that may only be read; it is no fault."""

RESOLVED = 10  # candidates named for an ambiguous reference

WEIGHTS = {
    "title": 3.0,
    "heading": 1.5,
    "text": 1.0,
    "why": 1.0,
    "impact": 1.0,
    "tags": 1.5,
    "category": 0.5,
    "project": 0.5,
    "source": 0.5,
    "files": 1.0,
    "grams": 1.0,
}
"""
BM25 weights of the columns, in the order of the index.

Title, heading, text and grams are those of every chunk. The others are facts about the whole memory and stand with
its first chunk only, so that a long memory does not look like many that agree.
"""


class Salvaged(NamedTuple):
    """
    What can be read of a memory.

    Attributes:
        details: None if that is nothing that would be a memory.
        lost: What cannot be read, or not all: its fields, "body", "history". Bytes that are no text are U+FFFD.
        fault: Why it cannot be read as any other memory; None if that succeeds.
    """

    id: MemoryId
    details: Details | None
    lost: tuple[str, ...] = ()
    fault: StoreDamaged | None = None


class Store(Protocol):
    """
    Where memories, their chunks and their vectors live, in parts.

    Memories and bodies are the truth; chunks, the keyword index and vectors are derived from them and can be
    rebuilt. Every method of a part is one transaction: it happens whole or not at all. Several are one inside
    `transaction`. Calls may come from any thread, and other processes may use the same store.

    A store keeps and finds what it is told to. What is the same, renews or supersedes is said in `memory.keep.rules`.

    Implementations are checked by the suites in `tests/conformance`.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.

    Attributes:
        path: Its file, which others may stand beside; of a server a name for such files, where no file is; empty if there
            are none.
        user: Whose changes are noted; whoever opens it says so.
        shared: Whether several people use it, as a server: then it is noted of a memory who saved it.
    """

    path: str
    user: str
    shared: bool

    @property
    def memories(self) -> Memories:
        """Memories, their bodies and their chunks."""

    @property
    def sessions(self) -> SessionRows:
        """Memories by session and age."""

    @property
    def keywords(self) -> Keywords:
        """The keyword index."""

    @property
    def generations(self) -> Generations:
        """Which sets of vectors there are, and which one answers."""

    @property
    def vectors(self) -> VectorIndex:
        """The vectors of chunks."""

    @property
    def queue(self) -> Queue:
        """Chunks that wait for a vector."""

    @property
    def term_vectors(self) -> TermVectors:
        """What the words in it mean."""

    @property
    def graph(self) -> Graph:
        """Relations between entities."""

    @property
    def runs(self) -> RunRows:
        """Research runs."""

    @property
    def trash(self) -> TrashRows:
        """What was deleted and can be restored."""

    @property
    def steps(self) -> Steps:
        """Who did what."""

    @property
    def usage(self) -> Usage:
        """What was embedded."""

    def transaction(
        self, *, durable: bool = True, frees: bool = False, patience: float | None = None
    ) -> AbstractContextManager[object]:
        """
        What this thread asks of any part inside happens whole or not at all, and is durable once it is left.

        Others see nothing of it before, and change nothing between what it reads and what it writes; a server lets them
        claim chunks and count accesses, by which nothing is decided. One inside another is a part of that. An exception that leaves it undoes it all, and so does one that a method that writes
        raised inside, even if it was caught. Nothing is embedded or searched inside and no network is waited for, so
        that nothing is promised of `usage`.

        Args:
            durable: Survive a power cut too. Without, what is acknowledged still survives the end of the process.
            frees: Afterwards there is more room than before, so take what a file keeps for that on a full disk.
            patience: Seconds to wait for others that write, if not as long as configured.

        Raises:
            StoreError: A method that writes failed inside.
        """

    def snapshot(self) -> AbstractContextManager[object]:
        """
        What this thread reads of any part inside is the state of one moment, whatever others write meanwhile.

        One inside another, or inside a transaction, is a part of that. Nothing is written inside; `usage` may be read
        as it is now.
        """

    def now(self) -> datetime:
        """The store's clock: this machine's for a file, the server's by its last known offset. Does no I/O."""

    # Care ----------------------------------------------------------------

    def counts(self) -> Counts: ...

    def highest(self) -> MemoryId:
        """The highest id that a memory ever had, 0 if there was none: a store from a backup has a lower one."""

    def check(self, *, quick: bool = False) -> Sequence[str]:
        """
        What is wrong with what is stored, a sentence each; empty if all is well. Reads everything. What it cannot look
        at is `UNSEEN`.

        Args:
            quick: Only whether the end is missing, as of a file that was cut, by the size and without reading it.

        Raises:
            StoreDamaged: It cannot even be read.
        """

    def repair(self) -> None:
        """
        Make everything anew that is derived from memories, bodies, chunks and vectors, in one transaction.

        Raises:
            StoreDamaged: What is stored is damaged itself; nothing was changed.
        """

    def outdated(self) -> bool:
        """Whether `derive` would make something."""

    def derive(self) -> bool:
        """
        Make postings beside the database, which make searches by keyword quicker, where they are missing or old, and pay;
        let a server look at tables that were filled. Nobody waits meanwhile, and no answer is another for it. Not in a
        transaction.

        Returns:
            Whether something was made; not if another process is at it.
        """

    def wipe(self) -> bool:
        """
        Leave no byte of what was removed in its files; whether that is certain. Where it is not, somebody is reading what
        was there before, and the same call does it once they are done. No part of a transaction. Of a server these are its
        tables; its log, its standbys and backups are in other hands.
        """

    def salvaged(self, after: MemoryId, limit: int) -> Sequence[Salvaged]:
        """
        Memories with an id above `after`, lowest first, each read by itself: what is damaged stops no other.

        There are none only behind the last.
        """

    def close(self) -> None: ...
