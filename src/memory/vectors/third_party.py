"""Calls into code that is not ours (plug-ins, passed embedders, providers' clients): errors and values."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeAlias

from memory.schema.errors import (
    EmbedError,
    Error,
    Garbled,
    Raised,
    Refused,
    Unfit,
    Unreachable,
    printable,
)
from memory.vectors import FINGERPRINT_TEXT, RECHECK_SECONDS, Embedder, Role, names, utc_now
from memory.vectors.meter import CURRENT, Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from datetime import datetime

    from memory.schema.space import Budget, Vectors
    from memory.store.usage import UsageLog
    from memory.vectors.registry import MeteredEmbedder

Check: TypeAlias = "Callable[[MeteredEmbedder, Vectors], None]"
"""Gets an embedder and its fingerprint; raises `SpaceMismatch` if the model changed."""


@contextmanager
def third_party(whose: str, mask: Callable[[str], str] = lambda text: text) -> Generator[None]:
    """
    Turn whatever third-party code raises inside into an error of ours, so that no save and no search crashes.

    This is the only place that catches every Exception, because the exceptions of others cannot be listed.

    Args:
        mask: Removes keys from the message.

    Raises:
        Raised: Something other than one of our errors was raised.
    """
    try:
        yield
    except Error:
        raise
    except Exception as error:
        cause = printable(mask(f"{type(error).__name__}: {error}"))[:300]
        raise Raised(f"{whose} failed: {cause}") from error


def unit_rows(rows: object, count: int, whose: str, dimension: int | None = None) -> Vectors:
    """
    Vectors from third-party code as unit rows, shape (count, width), C order, float32.

    Args:
        rows: Whatever the code returned.
        dimension: The width that rows must have; None accepts any common width.

    Raises:
        Garbled: These are not `count` vectors of that width, finite and longer than 0.
    """
    import numpy as np

    if not count:
        return np.empty((0, dimension or 0), dtype=np.float32)
    try:
        with np.errstate(over="ignore"):
            vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise Garbled(f"{whose} gave vectors of several widths, or something else than numbers") from error
    rows_count = vectors.shape[0] if vectors.ndim else 0
    if rows_count != count:
        raise Garbled(f"{whose} gave {rows_count} vectors for {count} texts")
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise Garbled(f"{whose} gave something else than vectors")
    if dimension is not None and vectors.shape[1] != dimension:
        raise Garbled(f"{whose} gave vectors of {vectors.shape[1]} dimensions, and said {dimension}")
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise Garbled(f"{whose} gave a vector that is not finite or has no direction")
    unit: Vectors = np.ascontiguousarray((vectors / lengths).astype(np.float32))
    return unit


def of_text(error: EmbedError) -> bool:
    """
    Whether an error may be of the texts that were embedded, whatever it says of its reason: if they were sent, and it is
    not said when others will be taken. Who is in a hurry has waited enough for one that did not come in time.
    """
    if isinstance(error, Unreachable):
        return error.sent and not (error.limited or error.after) and (CURRENT.get().asked or not error.late)
    return isinstance(error, Refused | Garbled) and error.sent and not error.limited


class Metered:
    """
    Any embedder that is not a `Client`: its exceptions become errors of ours, and its vectors are checked.

    Calls that stay in this process are logged afterwards and cost a search nothing; calls that leave it,
    as a plug-in's may, are reserved first, within the day's budget.
    """

    fallback = ""

    def __init__(
        self,
        embedder: Embedder,
        log: UsageLog,
        *,
        budget: Budget | None = None,
        pause_seconds: float = 60.0,
        check: Check | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """
        Args:
            budget, pause_seconds: For an embedder that sends texts; see the settings of these names.
            check: Gets the model's fingerprint from time to time, before vectors are returned;
                None for models that cannot change under their name.
        """
        self._embedder, self._check = embedder, check
        self._checked_at = -RECHECK_SECONDS
        with third_party("the embedder"):
            self.provider, self.model = embedder.provider, embedder.model
            self.host = str(getattr(embedder, "host", ""))
            self.passage_prefix = str(getattr(embedder, "passage_prefix", ""))
            self.names = names(embedder)
        self._name = str(self.names)
        self.meter = Meter(self.names, self.host, log, budget=budget, pause_seconds=pause_seconds, now=now)
        self.fingerprint: Vectors | None = None

    @property
    def dimension(self) -> int:
        with third_party(self._name):  # read each time: a user's own embedder may change while it lives
            return int(self._embedder.dimension)

    @property
    def warm(self) -> bool:
        with third_party(self._name):
            return bool(self._embedder.warm)

    @property
    def loaded(self) -> bool:
        """Whether a query is embedded without loading anything, as far as the embedder tells."""
        with third_party(self._name):
            return bool(getattr(self._embedder, "loaded", self._embedder.warm))

    def windows(self, text: str) -> Sequence[str]:
        with third_party(self._name):
            return self._embedder.windows(text)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        See `Embedder.embed`.

        Raises:
            Refused, Garbled: It raised something, or did not return vectors of its dimension.
        """
        if self._check is not None and time.monotonic() - self._checked_at >= RECHECK_SECONDS:
            self.fingerprint = self._vectors([FINGERPRINT_TEXT], "passage")[0]
            self._check(self, self.fingerprint)
            self._checked_at = time.monotonic()
        return self._vectors(texts, role)

    def _vectors(self, texts: Sequence[str], role: Role) -> Vectors:
        """The vectors of one call, which is recorded in the usage log: reserved before, if texts leave the process."""
        if self.host:
            self.meter.check()
        try:
            with self.meter.call(texts) if self.host else nullcontext():
                return self._called(texts, role)
        except (Unreachable, Refused) as error:
            other = list(texts) != [FINGERPRINT_TEXT] and not isinstance(error, Unfit | Raised)
            if other and of_text(error) and self._takes_another():
                raise Unfit(str(error), hint=error.hint) from error
            if isinstance(error, Unreachable):
                self.meter.open(error)
            raise

    def _called(self, texts: Sequence[str], role: Role) -> Vectors:
        begin = time.perf_counter()
        with third_party(self._name):
            rows = self._embedder.embed(texts, role)
            dimension = int(self._embedder.dimension)
        vectors = unit_rows(rows, len(texts), self._name, dimension)
        if not self.host:
            self.meter.inside(texts, time.perf_counter() - begin)
        return vectors

    def _takes_another(self) -> bool:
        try:
            self._vectors([FINGERPRINT_TEXT], "passage")
        except EmbedError:
            return False
        return True

    def close(self) -> None:
        """Write what is not in the usage log yet."""
        self.meter.write()
