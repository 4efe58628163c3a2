"""Text into vectors: the promises that every provider makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from memory.schema.space import Space, recipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.embed.usage import ProcessStore
    from memory.schema.space import Vectors
    from memory.store import Generation
    from memory.store.vectors import Generations

Role: TypeAlias = Literal["query", "passage"]
"""Some models embed queries and passages differently."""

FINGERPRINT_TEXT = "The quick brown fox jumps over the lazy dog."
"""
A text that every model accepts; its vector is the model's fingerprint.

If it differs from the one stored with a generation, even months later, it is another model of the same name.
"""

RECHECK_SECONDS = 600.0
"""Seconds after which a living process takes the fingerprint again."""

_SAME = 0.98  # least cosine of a model with itself: runtimes and batches change the fourth digit


class Embedder(Protocol):
    """
    Turns text into vectors.

    `tests/conformance/embedder_suite.py` checks implementations: equal text gives equal vectors, order is kept,
    rows have length 1, and no text is cut silently.

    An embedder may also have:
        host: The URL it sends texts to; missing or empty if they stay in this process.
        passage_prefix: What it puts before a passage; part of its space.
        tokens: Counts its tokens in a text, as `memory.text.chunk.chunk` needs it to cut bodies.
            Used only of an embedder passed to the engine; `local` has a counter of its own.
    """

    @property
    def provider(self) -> str:
        """Its name in the configuration, e.g. "local"."""

    @property
    def model(self) -> str:
        """The provider's own name for the model, e.g. "all-MiniLM-L6-v2"."""

    @property
    def dimension(self) -> int:
        """Width of its vectors; found by a probe the first time, if the provider does not say."""

    @property
    def warm(self) -> bool:
        """Whether a query can be embedded without first loading a model for seconds."""

    def windows(self, text: str) -> Sequence[str]:
        """
        The text itself if the model can read it whole, else slices that it can.

        The slices, in order, cover the text; each fits the model's length. At least one, even for an empty text.
        """

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        One unit vector a text, in order: shape (len(texts), dimension).

        Args:
            texts: May be empty. Each should fit the model's window (see `windows`).

        Raises:
            Unreachable: No answer within the configured time and retries.
            Refused: The provider is not installed, or rejected the key, the model or the quota.
            Garbled: The answer has the wrong number or width of vectors, or contains something that is not a number.
        """


class Names(NamedTuple):
    """A space as far as it is known without asking anybody."""

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
    """Whether the fingerprint that is stored for a generation, if one is, is that of another model."""
    import numpy as np

    former = np.frombuffer(generation.fingerprint, "<f4")
    return bool(len(former)) and float(former @ fingerprint) < _SAME


def mark(generations: Generations | ProcessStore, generation: Generation, fingerprint: Vectors) -> None:
    """Store a fingerprint for a generation that has none."""
    if not generation.fingerprint:
        generations.mark(generation.id, fingerprint.astype("<f4").tobytes())
