"""Text into vectors: what every `Embedder` promises."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from memory.schema.errors import NotFound, Unreachable
from memory.schema.space import Budget, Space, recipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.space import OpenCircuit, UsageEntry, Vectors
    from memory.store import Generation
    from memory.store.generations import Generations

Role: TypeAlias = Literal["query", "passage"]
"""Some models embed queries and passages differently."""

FINGERPRINT_TEXT = "The quick brown fox jumps over the lazy dog."
"""
A text that every model accepts; its vector is the model's fingerprint.

If it differs from the one stored with an index version, even months later, another model has the same name now.
"""

RECHECK_SECONDS = 600.0
"""Seconds after which a living process takes the fingerprint again."""

_SAME = 0.98  # least cosine of a model with itself: runtimes and batches change the fourth digit


class Embedder(Protocol):
    """
    Interface of an embedding model, for `Engine.open(embedder=...)`.

    Equal texts give equal vectors, in the order of the texts, each of length 1, and no text is cut silently:
    `tests/conformance/embedder_suite.py` checks this for an implementation.

    An embedder may also have:
        host: The URL it sends texts to; missing or empty if they stay in this process.
        passage_prefix: The text that it puts before each passage; vectors with different prefixes do not compare.
        tokens: A function that counts its tokens in a text, by which bodies are cut into chunks.
    """

    @property
    def provider(self) -> str:
        """The provider's name in the settings, e.g. "local"."""

    @property
    def model(self) -> str:
        """The provider's own name for the model, e.g. "all-MiniLM-L6-v2"."""

    @property
    def dimension(self) -> int:
        """Width of the vectors. May call the model once to find out."""

    @property
    def warm(self) -> bool:
        """Whether a query can be embedded without first loading a model for seconds."""

    def windows(self, text: str) -> Sequence[str]:
        """
        Slices of a text that fit the model's length; one slice, the text itself, if that fits.

        Joined in order, the slices are the text. There is at least one, even for an empty text.
        """

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        Embed texts: one vector of length 1 for each, in order, shape (len(texts), dimension), float32.

        Args:
            texts: May be empty. Each should fit the model's length; see `windows`.
            role: Whether the texts are queries or passages, which some models embed differently.

        Raises:
            Unreachable: No answer within the configured time and retries.
            Refused: The provider is not installed, or rejected the key, the model or the quota.
            Garbled: The answer has the wrong number or width of vectors, or contains something that is not a number.
        """


class Names(NamedTuple):
    """A space as far as it is known without calling the model."""

    provider: str
    model: str
    recipe: int

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def names(embedder: Embedder) -> Names:
    """The names of an embedder's space."""
    return Names(embedder.provider, embedder.model, recipe(str(getattr(embedder, "passage_prefix", ""))))


def space(embedder: Embedder) -> Space:
    """The space of an embedder's vectors. May probe the embedder for its dimension."""
    return Space(*names(embedder), embedder.dimension)


def exchanged(generation: Generation, fingerprint: Vectors) -> bool:
    """Whether the fingerprint of an index version belongs to another model; False if it has none."""
    import numpy as np

    former = np.frombuffer(generation.fingerprint, "<f4")
    return bool(len(former)) and float(former @ fingerprint) < _SAME


def mark(generations: Generations | ProcessStore, generation: Generation, fingerprint: Vectors) -> None:
    """Store a fingerprint for an index version that has none."""
    if not generation.fingerprint:
        generations.mark(generation.id, fingerprint.astype("<f4").tobytes())


# Without a store --------------------------------------------------------------------


def utc_now() -> datetime:
    """The machine's clock, for use outside an engine; an engine has its own."""
    return datetime.now(UTC)


def check_circuit(circuit: OpenCircuit | None, moment: datetime) -> None:
    """
    Raise if a circuit is still open.

    Raises:
        Unreachable: It is open at this moment.
    """
    if circuit is None:
        return
    seconds = (circuit.until - moment).total_seconds()
    if seconds > 0:
        raise Unreachable(circuit.error, hint=f"It is tried again in {seconds:.0f} s, or by `memory embed`.")


class ProcessStore:
    """
    A stand-in for `memory.store.Store` for embedders without a store. Budgets and circuits last until this process
    ends; the log cannot be read, and no vector is stored.
    """

    def __init__(self) -> None:
        self._requests: list[UsageEntry] = []  # the call with id n is the n-th
        self._circuits: dict[str, OpenCircuit | None] = {}
        self._lock = threading.Lock()

    @property
    def usage(self) -> ProcessStore:
        return self

    generations = usage

    def reserve_call(self, call: UsageEntry, budget: Budget | None = None) -> int | None:
        limits = budget or Budget()
        with self._lock:
            today = [one for one in (*self._requests, call) if one.host == call.host and _day(one) == _day(call)]
            spent = ((limits.calls, len(today)), (limits.tokens, sum(one.tokens for one in today)))
            if any(limit is not None and total > limit for limit, total in spent):
                return None
            self._requests.append(call)
            return len(self._requests)

    def record_call(
        self, id: int, *, tokens: int, seconds: float, cost: float, error: str = "", sent: bool = True
    ) -> None:
        del sent  # the size is not needed
        with self._lock:
            call = self._requests[id - 1]
            self._requests[id - 1] = call._replace(tokens=tokens, seconds=seconds, cost=cost, error=error)

    def add_calls(self, calls: Sequence[UsageEntry]) -> None:
        """Calls inside this process have no budget, so nothing is recorded."""

    def circuit(self, host: str) -> OpenCircuit | None:
        return self._circuits.get(host)

    def set_circuit(self, host: str, circuit: OpenCircuit | None) -> None:
        self._circuits[host] = circuit

    def every(self) -> Sequence[Generation]:
        return ()

    def mark(self, generation: int, fingerprint: bytes) -> None:
        raise NotFound(f"no index version {generation}")


def _day(call: UsageEntry) -> date:
    return call.moment.astimezone(UTC).date()
