"""An embedder whose calls stand in the ledger, and that notices if the model behind it was exchanged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from memory.embed import PLACE, host
from memory.embed.books import now
from memory.embed.purpose import current
from memory.embed.windows import estimated
from memory.errors import Error, OverBudget
from memory.ledger import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.embed import Embedder, Role
    from memory.embed.books import Books, Notes
    from memory.ledger import Budget
    from memory.space import Vectors

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
        sealed: Callable[[Embedder, Vectors], None] | None = None,
    ) -> None:
        """
        Args:
            sealed: Told once, before the first vectors are given away, where the model puts `PLACE`; None for models
                that cannot change under their name.
        """
        self._embedder, self._books, self._notes = embedder, books, notes
        self._budget, self._sealed = budget, sealed
        self.provider, self.model, self.host = embedder.provider, embedder.model, host(embedder)
        self.passage_prefix = str(getattr(embedder, "passage_prefix", ""))
        self.place: Vectors | None = None

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def warm(self) -> bool:
        return self._embedder.warm

    def windows(self, text: str) -> Sequence[str]:
        return self._embedder.windows(text)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """See `Embedder.embed`."""
        if self._sealed is not None and self.place is None:
            place = self._counted([PLACE], "passage")[0]
            self._sealed(self, place)
            self.place = place
        return self._counted(texts, role)

    def _counted(self, texts: Sequence[str], role: Role) -> Vectors:
        tokens = sum(map(estimated, texts))
        call = Call(now(), self.provider, self.model, current().name, self.host, texts=len(texts), tokens=tokens)
        return self._booked(call, texts, role) if self.host else self._noted(call, texts, role)

    def _noted(self, call: Call, texts: Sequence[str], role: Role) -> Vectors:
        begun = time.perf_counter()
        vectors = self._embedder.embed(texts, role)
        self._notes.add(call._replace(seconds=time.perf_counter() - begun))
        return vectors

    def _booked(self, call: Call, texts: Sequence[str], role: Role) -> Vectors:
        size = sum(len(text.encode()) for text in texts)
        id = self._books.book(call._replace(bytes_out=size, error="no answer yet"), self._budget)
        if id is None:
            hint = "Raise `embedding.daily_budget`, or wait for the next day (UTC)."
            raise OverBudget(f"the budget of {self._budget} a day for {self.host} is spent", hint=hint)
        begun = time.perf_counter()
        failure = "interrupted"
        try:
            vectors = self._embedder.embed(texts, role)
            failure = ""
        except Error as error:
            failure = str(error)
            raise
        finally:
            seconds = time.perf_counter() - begun
            self._books.settle(id, tokens=call.tokens, seconds=seconds, cost=0.0, error=failure)
        return vectors
