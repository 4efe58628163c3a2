"""
Embedding by requests to a server, which may be slow, dead, busy, expensive or wrong.

Everything around a request is here and nowhere else: it is reserved in the log before it is sent, limited in time,
retried where that can help, checked when answered, and skipped for a while if the server does not answer.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from memory.schema import np
from memory.schema.errors import (
    DimensionMismatch,
    EmbedError,
    Garbled,
    OverBudget,
    Refused,
    TooLong,
    Unfit,
    Unreachable,
)
from memory.schema.step import PURPOSE
from memory.text.tokens import batches, estimated, windows
from memory.vectors import FINGERPRINT_TEXT, RECHECK_SECONDS, Role, names, space, utc_now
from memory.vectors.meter import Check, Meter, of_text, third_party, unit_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from memory.schema.space import Budget, Vectors
    from memory.store.usage import UsageLog
    from memory.vectors.providers import ModelSpec
    from memory.vectors.remote import Remote, Reply

UNSENT = 4  # a text of at most this many tokens is not halved again, even if the server finds it too long
NUMBER_BYTES = 64  # most bytes of a number in JSON; ten to twenty are usual
MORE_BYTES = 1_000_000  # for everything in an answer except the vectors
WIDEST = 16_384  # numbers in a vector whose width is not known yet
WAIT, LONGEST_WAIT = 0.25, 20.0  # seconds before the second try, doubled for each further one up to the longest


class Client:
    """An embedder that asks a server. Threads may share it."""

    fallback = ""

    def __init__(
        self,
        remote: Remote,
        spec: ModelSpec,
        log: UsageLog,
        *,
        budget: Budget | None = None,
        check: Check | None = None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """
        Args:
            spec: What to ask for and how. Its dimension is the width of the stored vectors of this model;
                0 asks the server when needed.
            budget: For a day (UTC).
            check: Gets the model's fingerprint from time to time, before vectors are returned; None accepts any.
        """
        self._remote, self._settings, self._profile = remote, spec.settings, spec.profile
        self._stored = self._dimension = spec.dimension or None
        self._check, self._sleep = check, sleep
        self._checked_at = -RECHECK_SECONDS
        self.fingerprint: Vectors | None = None
        self.provider, self.model, self.host = remote.provider, remote.model, remote.host
        self.passage_prefix, self.most_texts = spec.profile.passage_prefix, remote.most_texts
        self.names = names(self)
        pause_seconds = spec.settings.pause_seconds
        self.meter = Meter(
            self.names, self.host, log, budget=budget, price=spec.price, pause_seconds=pause_seconds, now=now
        )

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            self._with_retries([], "passage")
        assert self._dimension is not None  # noqa: S101  # an answer has a width
        return self._dimension

    @property
    def warm(self) -> bool:
        try:
            self.meter.check()
            with third_party(self.host):
                return self._remote.loaded(min(1.0, self._settings.query_seconds))
        except EmbedError:
            return False

    def windows(self, text: str) -> Sequence[str]:
        """Slices that the model can read together with their prefix, by a cautious estimate."""
        profile = self._profile
        before = max(estimated(profile.query_prefix), estimated(profile.passage_prefix))
        if (room := profile.tokens - before - 2) < 1:
            raise Refused(f"a model that reads {profile.tokens} tokens leaves no room for a text after its prefix")
        return windows(text, room)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        See `Embedder.embed`. A blank text is not sent: it has a fixed vector.

        If the server still finds a text too long, its parts are sent, and it gets the mean of their vectors.

        Raises:
            OverBudget: The day's budget does not allow it.
            DimensionMismatch, SpaceMismatch: The model is not the one that made the stored vectors.
        """
        self.meter.check()  # before numpy is imported: with an open circuit, a search takes as long as by keyword
        sizes = [(index, estimated(text)) for index, text in enumerate(texts) if text.strip()]
        parts = [
            (indices, self._in_parts([texts[index] for index in indices], role))
            for indices in batches(sizes, self._remote.most_tokens, self._remote.most_texts)
        ]
        vectors = np.eye(1, self.dimension, dtype=np.float32).repeat(len(texts), axis=0)
        for indices, rows in parts:
            vectors[indices] = rows
        return vectors

    def _in_parts(self, texts: Sequence[str], role: Role) -> Vectors:
        """Vectors of texts that the server may find too long, whatever our estimate says."""
        try:
            return self._with_retries(texts, role)[: len(texts)]
        except TooLong:
            if len(texts) > 1:
                middle = len(texts) // 2
                return np.concatenate([self._in_parts(texts[:middle], role), self._in_parts(texts[middle:], role)])
            halves = _halves(texts[0])
            if not halves:
                raise
            mean = self._in_parts(halves, role).sum(axis=0, keepdims=True)
            return unit_rows(mean, 1, f"{self.host}: two parts of a text")

    def _with_retries(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        Unit rows for texts, maybe one more for the fingerprint. Retries where that may help and time allows.

        Raises:
            Unfit: The server accepts another text, but not these together: they are halved before any wait.
        """
        reason = PURPOSE.get()
        patience = reason.patience
        for attempt in range(self._settings.retries + 1):
            self.meter.check()
            begin = time.monotonic()
            try:
                return self._request(texts, role)
            except Refused as error:
                self._blame(texts, error)
                raise
            except Unreachable as error:
                if attempt == 0:
                    self._blame(texts, error)
                wait = error.after or min(LONGEST_WAIT, WAIT * 2**attempt)
                wait *= random.uniform(1.0, 1.25)  # noqa: S311  # jitter, so that clients do not all return at once
                # Someone who asked for just this has time for slow tries;
                # a search that waited for one has waited enough.
                patience -= wait + (0 if reason.asked else time.monotonic() - begin)
                if attempt == self._settings.retries or patience < 0:
                    self._blame(texts, error)
                    self.meter.open(error)
                    raise
                self._sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _blame(self, texts: Sequence[str], error: Unreachable | Refused) -> None:
        """
        Find out whether the texts or the model are at fault, by asking for a text that the server must accept.

        Raises:
            Unfit: The server accepts that text, so one of these is at fault.
        """
        if len(texts) < 2 or isinstance(error, Unfit) or not of_text(error):
            return
        try:
            self._request([], "passage")
        except EmbedError:
            return
        raise Unfit(str(error), hint=error.hint) from error

    def _request(self, texts: Sequence[str], role: Role) -> Vectors:
        """One request, reserved in the log before it is sent."""
        profile = self._profile
        before = profile.query_prefix if role == "query" else profile.passage_prefix
        inputs = [before + text for text in texts]
        # With all passages, and with a query from time to time: the server's model may be replaced while this
        # process lives.
        rechecks = role == "passage" or time.monotonic() - self._checked_at >= RECHECK_SECONDS
        if rechecks:
            inputs.append(profile.passage_prefix + FINGERPRINT_TEXT)
        seconds = self._settings.timeout_seconds if PURPOSE.get().asked else self._settings.query_seconds
        if hasattr(self._remote, "prepare"):  # plug-ins of former versions have none
            with third_party(self.host):
                self._remote.prepare(seconds)
        with self.meter.call(inputs) as outcome:
            with third_party(self.host):
                width = self._dimension or self._settings.dimensions or WIDEST
                reply = self._remote.ask(inputs, seconds, NUMBER_BYTES * len(inputs) * width + MORE_BYTES)
            outcome.tokens = _token_count(reply.tokens) or outcome.tokens
            vectors = self._vectors(reply, len(inputs))
        if rechecks:
            if self._check is not None:
                self._check(self, vectors[-1])
            self.fingerprint, self._checked_at = vectors[-1].copy(), time.monotonic()
        return vectors

    def _vectors(self, reply: Reply, count: int) -> Vectors:
        """
        The rows of a reply as unit vectors, shape (count, width).

        Raises:
            Garbled: They are not `count` vectors of one width.
            DimensionMismatch, Refused: They differ in width from the stored vectors, or from what was requested.
        """
        vectors = unit_rows(reply.rows, count, self.host)
        width = vectors.shape[1]
        if self._settings.dimensions not in (0, width):
            hint = (
                "Set `embedding.dimensions` to 0, or to a width that the model and its server can shorten vectors to."
            )
            raise Refused(f"{self.model} gives {width} dimensions, not {self._settings.dimensions}", hint=hint)
        if self._dimension is not None and width != self._dimension:
            if self._stored is None:
                raise Garbled(f"{self.host} gave vectors of {width} dimensions, but {self._dimension} before")
            stored = space(self)
            raise DimensionMismatch(stored, stored._replace(dimension=width))
        self._dimension = width
        return vectors

    def close(self) -> None:
        """Write pending usage entries and close connections."""
        self.meter.write()
        with suppress(Refused), third_party(self.host):
            self._remote.close()


class WithFallback:
    """
    Two servers of one provider and model.

    The second is used if the first does not answer or its daily budget is spent. Both must have the same fingerprint: a
    server with another model is refused.
    """

    def __init__(self, first: Client, second: Client) -> None:
        self._first, self._second = first, second
        self.provider, self.model, self.names = first.provider, first.model, first.names
        self.host, self.fallback = first.host, second.host
        self.passage_prefix, self.most_texts = first.passage_prefix, first.most_texts

    @property
    def fingerprint(self) -> Vectors | None:
        return self._second.fingerprint if self._first.fingerprint is None else self._first.fingerprint

    @property
    def dimension(self) -> int:
        try:
            return self._first.dimension
        except (Unreachable, OverBudget) as error:
            try:
                return self._second.dimension
            except EmbedError:
                raise error from None

    @property
    def warm(self) -> bool:
        return self._first.warm or self._second.warm

    def windows(self, text: str) -> Sequence[str]:
        return self._first.windows(text)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """See `Embedder.embed`. If the second server fails too, raises the error of the first."""
        try:
            return self._first.embed(texts, role)
        except (Unreachable, OverBudget) as error:
            try:
                return self._second.embed(texts, role)
            except (Unreachable, OverBudget):
                raise error from None


def _token_count(tokens: object) -> int:
    """The server's token count if it is a plausible number, else 0."""
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 < tokens < 1 << 53 else 0


def _halves(text: str) -> list[str]:
    """A text in two parts, cut between words if possible; nothing if it is short."""
    if estimated(text) <= UNSENT or len(text) < 2:
        return []
    middle = len(text) // 2
    cut = max(text.rfind(" ", 1, middle), text.rfind("\n", 1, middle))
    cut = cut if cut > middle // 2 else middle
    return [half for half in (text[:cut], text[cut:]) if half.strip()] if text.strip() else []
