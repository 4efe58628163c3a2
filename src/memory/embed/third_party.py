"""Calls into code that is not ours (plug-ins, passed embedders, providers' clients): errors, values and costs."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from memory.embed import FINGERPRINT_TEXT, names
from memory.embed.fingerprint import RECHECK_SECONDS
from memory.embed.usage import Meter, utc_now
from memory.schema.errors import Error, Garbled, Raised, Unreachable
from memory.schema.limits import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from datetime import datetime

    from memory.embed import Embedder, Role
    from memory.embed.fingerprint import Check
    from memory.schema.space import Vectors
    from memory.schema.usage import Budget
    from memory.store.usage import UsageLog

T = TypeVar("T")


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


def tried_twice(load: Callable[[], T], *failures: type[Exception]) -> T:
    """
    Load a model, with a second try if it fails (CAP D39): a remote disk or a download may be back.

    Args:
        failures: The exceptions that are worth a second try.
        failures: What it raises then.
    """
    try:
        return load()
    except failures:
        return load()


def guarded_counter(tokens: Callable[[str], int]) -> Callable[[str], int]:
    """A third-party token counter that raises Refused, whatever goes wrong in it."""

    def count(text: str) -> int:
        with third_party("counting tokens"):
            return int(tokens(text))

    return count


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
            budget, pause_seconds: For an embedder that sends texts; see `memory.embed.client.Terms`.
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
        """The vectors of one call, which is recorded in the usage log."""
        if self.host:
            self.meter.check()
        try:
            with self.meter.call(texts):
                with third_party(self._name):
                    rows = self._embedder.embed(texts, role)
                    dimension = int(self._embedder.dimension)
                return unit_rows(rows, len(texts), self._name, dimension)
        except Unreachable as error:
            self.meter.open(error)
            raise

    def close(self) -> None:
        """Write what is not in the usage log yet."""
        self.meter.write()
