"""An embedder whose calls stand in the ledger, and that notices if the model behind it was exchanged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from memory.embed import AGAIN, PLACE, host
from memory.embed.books import now
from memory.embed.desk import Desk
from memory.embed.purpose import current
from memory.embed.third_party import third_party, unit_rows
from memory.embed.windows import estimated
from memory.schema.errors import Error, Unreachable
from memory.schema.usage import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.embed import Embedder, Role
    from memory.embed.books import Books, Notes
    from memory.schema.space import Vectors
    from memory.schema.usage import Budget

__all__ = ["Counted"]


class Counted:
    """
    Any embedder that is not asked by `Requests`.

    What stays in this process is noted afterwards and costs a search nothing; what leaves it, as a plug-in may, is
    booked before, within the day's budget.
    """

    def __init__(
        self,
        embedder: Embedder,
        books: Books,
        notes: Notes,
        *,
        budget: Budget | None = None,
        pause_seconds: float = 60.0,
        sealed: Callable[[Embedder, Vectors], None] | None = None,
    ) -> None:
        """
        Args:
            budget, pause_seconds: Of one that sends texts; see `memory.embed.requests.Terms`.
            sealed: Told now and then, before vectors are given away, where the model puts `PLACE`; None for models
                that cannot change under their name.
        """
        self._embedder, self._notes, self._sealed = embedder, notes, sealed
        self._sealed_at = -AGAIN
        with third_party("the embedder"):
            self.provider, self.model, self.host = embedder.provider, embedder.model, host(embedder)
            self.passage_prefix = str(getattr(embedder, "passage_prefix", ""))
        self._named = f"{self.provider}:{self.model}"
        self._desk = Desk(self.host, books, budget=budget, pause_seconds=pause_seconds) if self.host else None
        self.place: Vectors | None = None

    @property
    def dimension(self) -> int:
        with third_party(self._named):
            return int(self._embedder.dimension)

    @property
    def warm(self) -> bool:
        with third_party(self._named):
            return bool(self._embedder.warm)

    def windows(self, text: str) -> Sequence[str]:
        with third_party(self._named):
            return self._embedder.windows(text)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        See `Embedder.embed`. What it gives is checked, whoever wrote it.

        Raises:
            Refused, Garbled: It raised something, or gave something that is no vectors of its dimension.
        """
        if self._sealed is not None and time.monotonic() - self._sealed_at >= AGAIN:
            self.place = self._counted([PLACE], "passage")[0]
            self._sealed(self, self.place)
            self._sealed_at = time.monotonic()
        return self._counted(texts, role)

    def _counted(self, texts: Sequence[str], role: Role) -> Vectors:
        tokens = sum(map(estimated, texts))
        call = Call(now(), self.provider, self.model, current().name, self.host, texts=len(texts), tokens=tokens)
        if self._desk is None:
            begun = time.perf_counter()
            vectors = self._made(texts, role)
            self._notes.add(call._replace(seconds=time.perf_counter() - begun))
            return vectors
        self._desk.let()
        size = sum(len(text.encode()) for text in texts)
        id = self._desk.book(call._replace(bytes_out=size, error="no answer yet"))
        begun = time.perf_counter()
        failure = "interrupted"
        try:
            vectors = self._made(texts, role)
            failure = ""
        except Error as error:
            failure = str(error)
            if isinstance(error, Unreachable):
                self._desk.give_up(error)
            raise
        finally:
            spent = time.perf_counter() - begun
            self._desk.settle(id, tokens=tokens, seconds=spent, cost=0.0, error=failure)
        self._desk.answered()
        return vectors

    def _made(self, texts: Sequence[str], role: Role) -> Vectors:
        with third_party(self._named):
            rows = self._embedder.embed(texts, role)
        if not texts:
            return rows
        return unit_rows(rows, len(texts), self._named, self.dimension)

    def close(self) -> None:
        """Write down what is still owed."""
        if self._desk is not None:
            self._desk.close()
