"""
Texts into vectors by requests to a server, which may be slow, dead, busy, dear or wrong.

Everything around a request is here and nowhere else: booked before it is sent, bounded in time, made again where
that can help, checked when it is answered, and left out for a while where nobody answers.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from memory.embed import PLACE, space
from memory.embed.books import now
from memory.embed.hosts import resting
from memory.embed.models import Known
from memory.embed.purpose import PROBE, SEARCH, current, purpose
from memory.embed.windows import estimated, windows
from memory.errors import (
    DimensionMismatch,
    EmbedError,
    Garbled,
    OverBudget,
    SpaceMismatch,
    StoreBusy,
    TooLong,
    Unreachable,
)
from memory.ledger import Budget, Call, Outage
from memory.limits import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memory.embed import Embedder, Role
    from memory.embed.books import Books
    from memory.embed.remote import Remote, Reply
    from memory.space import Vectors

__all__ = ["Requests", "Terms"]

UNSENT = 32  # tokens below which a text that is said to be too long is not halved again
WAIT, LONGEST_WAIT = 0.25, 20.0  # seconds before the second try, doubled each time up to the other


@dataclass(frozen=True, slots=True)
class Terms:
    """
    On what terms a server is asked; see the settings of these names.

    Attributes:
        known: What to put before texts, and how many tokens the model reads.
        price: US dollars for a million tokens.
    """

    known: Known = Known()  # noqa: RUF009  # a NamedTuple: nobody can change it
    timeout_seconds: float = 30.0
    query_seconds: float = 10.0
    retries: int = 3
    pause_seconds: float = 60.0
    budget: Budget | None = None
    price: float = 0.0


class Requests:
    """An embedder that asks a server. Threads may share it."""

    def __init__(
        self,
        remote: Remote,
        terms: Terms,
        books: Books,
        *,
        dimension: int | None = None,
        sealed: Callable[[Embedder, Vectors], None] = lambda _embedder, _place: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """
        Args:
            dimension: What the stored vectors of this model have; None asks the server when it is needed.
            sealed: Told once, before the first vectors are given away, where the model puts `PLACE`; it raises
                `SpaceMismatch` if that is not where it was.
        """
        self._remote, self._terms, self._books = remote, terms, books
        self._stored = self._dimension = dimension
        self._sealed, self._sleep = sealed, sleep
        self._outage: Outage | None = None
        self.place: Vectors | None = None
        self.provider, self.model, self.host = remote.provider, remote.model, remote.host
        self.passage_prefix = terms.known.passage_prefix

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            with purpose(current() if current().asked else PROBE):
                self._asked([], "passage")
        assert self._dimension is not None  # noqa: S101  # an answer has a width
        return self._dimension

    @property
    def warm(self) -> bool:
        try:
            self._let()
            return self._remote.loaded(min(1.0, self._terms.query_seconds))
        except EmbedError:
            return False

    def windows(self, text: str) -> Sequence[str]:
        """Slices that the model can read, with what is put before them, by an estimate that is on the careful side."""
        known = self._terms.known
        before = max(estimated(known.query_prefix), estimated(known.passage_prefix))
        return windows(text, max(UNSENT, known.tokens - before - 2))

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        See `Embedder.embed`. A blank text is not sent: it has a fixed vector. One that the server still finds too long
        is sent in parts, whose mean it gets.

        Raises:
            OverBudget: The day's budget would not take it.
            DimensionMismatch, SpaceMismatch: The model is not the one that the stored vectors are of.
        """
        self._let()  # before numpy is imported: a search that finds the server resting is as quick as one by keyword
        import numpy as np

        blank = [place for place, text in enumerate(texts) if not text.strip()]
        made = [
            (places, self._fitted([texts[place] for place in places], role))
            for places in self._batches(texts, set(blank))
        ]
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        vectors[blank] = np.eye(1, self.dimension, dtype=np.float32)
        for places, rows in made:
            vectors[places] = rows
        return vectors

    def _batches(self, texts: Sequence[str], without: set[int]) -> Iterator[list[int]]:
        """Places of texts that fit one request, in order."""
        batch: list[int] = []
        tokens = 0
        for place, text in enumerate(texts):
            if place in without:
                continue
            size = estimated(text)
            if batch and (len(batch) == self._remote.most_texts or tokens + size > self._remote.most_tokens):
                yield batch
                batch, tokens = [], 0
            batch.append(place)
            tokens += size
        if batch:
            yield batch

    def _fitted(self, texts: Sequence[str], role: Role) -> Vectors:
        """Vectors of texts that may be too long for the server, against our estimate."""
        import numpy as np

        try:
            return self._asked(texts, role)[: len(texts)]
        except TooLong:
            if len(texts) > 1:
                middle = len(texts) // 2
                return np.concatenate([self._fitted(texts[:middle], role), self._fitted(texts[middle:], role)])
            halves = _halves(texts[0])
            if not halves:
                raise
            mean = self._fitted(halves, role).sum(axis=0, keepdims=True)
            return _unit(mean, f"{self.host}: two parts of a text that")

    def _asked(self, texts: Sequence[str], role: Role) -> Vectors:
        """Unit rows for texts; the first time, one more for `PLACE`. Asks again where that may help."""
        patience = current().patience
        for attempt in range(self._terms.retries + 1):
            self._let()
            try:
                vectors = self._once(texts, role)
            except Unreachable as error:
                wait = error.after or min(LONGEST_WAIT, WAIT * 2**attempt)
                wait *= random.uniform(1.0, 1.25)  # noqa: S311  # so that many who wait do not all come back at once
                patience -= wait
                if attempt == self._terms.retries or patience < 0:
                    self._give_up(error)
                    raise
                self._sleep(wait)
            else:
                if self._outage is not None:
                    self._outage = None
                    self._books.resume(self.host)
                return vectors
        raise AssertionError("the last try returns or raises")

    def _let(self) -> None:
        """
        Raises:
            Unreachable: The server gave no answer a moment ago, and nobody waits for just this.
        """
        moment = now()
        if self._outage is None or self._outage.until <= moment:
            self._outage = self._books.outage(self.host)
        if self._outage is not None and not current().asked and (error := resting(self._outage, moment)) is not None:
            raise error

    def _give_up(self, error: Unreachable) -> None:
        pause = max(self._terms.pause_seconds, error.after or 0)
        if self._terms.pause_seconds:
            self._outage = Outage(self.host, now() + timedelta(seconds=pause), plain(str(error)))
            try:
                self._books.suspend(self._outage)
            except StoreBusy:
                return  # then this process alone knows, and the next one finds out for itself

    def _once(self, texts: Sequence[str], role: Role) -> Vectors:
        """One request, entered in the ledger before it is sent."""
        known = self._terms.known
        before = known.query_prefix if role == "query" else known.passage_prefix
        sent = [before + text for text in texts]
        if self.place is None:
            sent.append(known.passage_prefix + PLACE)
        call = self._booked(sent)
        seconds = self._terms.query_seconds if current() is SEARCH else self._terms.timeout_seconds
        begun = time.perf_counter()
        tokens, failure = call.tokens, "interrupted"
        try:
            reply = self._remote.ask(sent, seconds)
            tokens = call.tokens if reply.tokens is None else reply.tokens
            vectors = self._checked(reply, len(sent))
            failure = ""
        except (EmbedError, SpaceMismatch) as error:
            failure = plain(str(error))
            raise
        finally:
            spent = time.perf_counter() - begun
            self._books.settle(call.id, tokens=tokens, seconds=spent, cost=self._cost(tokens), error=failure)
        if self.place is None:
            self._sealed(self, vectors[-1])
            self.place = vectors[-1].copy()
        return vectors

    def _booked(self, texts: Sequence[str]) -> Call:
        tokens = sum(map(estimated, texts))
        size = sum(len(text.encode()) for text in texts)
        call = Call(
            now(),
            self.provider,
            self.model,
            current().name,
            self.host,
            texts=len(texts),
            tokens=tokens,
            bytes_out=size,
            cost=self._cost(tokens),
            error="no answer yet",
        )
        try:
            id = self._books.book(call, self._terms.budget)
        except StoreBusy as error:
            raise EmbedError(f"nothing was sent, for it could not be entered in the ledger: {error}") from error
        if id is None:
            hint = "Raise `embedding.daily_budget`, set `embedding.fallback`, or wait for the next day (UTC)."
            raise OverBudget(f"the budget of {self._terms.budget} a day for {self.host} is spent", hint=hint)
        return call._replace(id=id)

    def _cost(self, tokens: int) -> float:
        return tokens * self._terms.price / 1_000_000

    def _checked(self, reply: Reply, count: int) -> Vectors:
        """
        Raises:
            Garbled: These are not `count` vectors of one width.
            DimensionMismatch: They are not as wide as those that are stored.
        """
        import numpy as np

        if len(reply.rows) != count:
            raise Garbled(f"{self.host} gave {len(reply.rows)} vectors for {count} texts")
        try:
            vectors = np.array(reply.rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise Garbled(f"{self.host} gave vectors of several widths, or something else than numbers") from error
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise Garbled(f"{self.host} gave something else than vectors")
        width = vectors.shape[1]
        if self._dimension is not None and width != self._dimension:
            if self._stored is None:
                raise Garbled(f"{self.host} gave vectors of {width} dimensions, and of {self._dimension} before")
            stored = space(self)
            raise DimensionMismatch(stored, stored._replace(dimension=width))
        unit = _unit(vectors, self.host)
        self._dimension = width
        return unit


def _unit(vectors: Vectors, whose: str) -> Vectors:
    import numpy as np

    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise Garbled(f"{whose} gave a vector that is not finite or has no direction")
    unit: Vectors = np.ascontiguousarray((vectors / lengths).astype(np.float32))
    return unit


def _halves(text: str) -> list[str]:
    """A text in two parts, between words if there are any; nothing if it is short."""
    if estimated(text) <= UNSENT or len(text) < 2:
        return []
    middle = len(text) // 2
    cut = max(text.rfind(" ", 1, middle), text.rfind("\n", 1, middle))
    cut = cut if cut > middle // 2 else middle
    return [half for half in (text[:cut], text[cut:]) if half.strip()] if text.strip() else []
