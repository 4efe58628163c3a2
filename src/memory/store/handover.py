"""How those who wait for their turn to write hand over what they would write: a part of stores where many wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from memory.store.values import Entry


class Handed(NamedTuple):
    """
    What somebody hands over, and waits for.

    Attributes:
        id: Tells it from all others.
        entry, vectors: What is to be written, as `memory.write.handover` has it.
    """

    id: int
    entry: str
    vectors: bytes


class Turn(NamedTuple):
    """
    Whose turn it is.

    Attributes:
        outcome: What came of what was handed over; None if it was not: then whoever waited for the turn has it, and writes.
        others: What others have handed over until now, first come first; they wait for it.
        over: Whether something in the trash may be.
        queued: Whether chunks may wait for their vectors.
    """

    outcome: str | None = None
    others: Sequence[Handed] = ()
    over: bool = True
    queued: bool = True


class Handover(Protocol):
    """
    Writers who find another at work hand over what they would write, and whoever is next writes it with its own.

    Whoever hands over is told of an outcome when it is committed, and as durable as if it had written by itself. What was
    handed over is written at most once, and by nobody any more once its writer has been told of an error; if the
    connection was lost, it may be.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def prepared(self, entry: Entry) -> Entry:
        """An entry with all that can be made of it before the turn, for which others would wait."""

    def turn(
        self, form: int, moment: datetime, made: Callable[[], tuple[str, bytes]] | None = None
    ) -> AbstractContextManager[Turn]:
        """
        `Store.transaction`, once it is the caller's turn; none, if there is an outcome. Where others handed something over,
        what a statement was refused for is told when an answer is read, at the latest when the turn ends.

        Args:
            form: Of what the caller hands over, and can read of others.
            moment: Of the caller's, by which the trash is over.
            made: The entry and its vectors, asked for if the caller has to wait; None hands over nothing.
        """

    def expect(self, entries: Sequence[Entry]) -> None:
        """
        In a turn with what others handed over: ask where entries would go, together with what is asked next, so that they
        are written without another question. All are plain (`memory.write.batch.plain`), and the next that are written.
        """

    def answer(self, outcomes: Mapping[int, str]) -> None:
        """In a turn: note what came of what others handed over, in the same transaction."""

    def leave(self, ids: Collection[int]) -> None:
        """After a turn that failed: leave what others handed over to themselves."""
