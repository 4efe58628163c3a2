"""Text into vectors: what every provider promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from memory.schema.space import Space, recipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.space import Vectors

Role: TypeAlias = Literal["query", "passage"]
"""Some models want to know which side of the search a text is on."""

FINGERPRINT_TEXT = "The quick brown fox jumps over the lazy dog."
"""A text that every model takes: its vector is a model's fingerprint."""


class Embedder(Protocol):
    """
    Turns text into vectors.

    Implementations are checked by `tests/conformance/embedder_suite.py`: equal text
    gives equal vectors, order is kept, rows have length 1, no text is cut unseen.

    One may also have:
        host: Where it sends texts, a URL; without it, or empty, they stay in this process.
        passage_prefix: What it puts before a passage; part of its space.
        tokens: How many tokens it makes of a text, as `memory.text.chunk.chunk` needs it: so bodies are cut by it.
            Asked of one that was given to the engine; that of `local` is known without it.
    """

    @property
    def provider(self) -> str:
        """Its name in the configuration, e.g. "local"."""
        ...

    @property
    def model(self) -> str:
        """The provider's own name for the model, e.g. "all-MiniLM-L6-v2"."""
        ...

    @property
    def dimension(self) -> int:
        """Width of its vectors; found by a probe the first time, if the provider does not say."""
        ...

    @property
    def warm(self) -> bool:
        """Whether a query can be embedded without first loading a model for seconds."""
        ...

    def windows(self, text: str) -> Sequence[str]:
        """
        The text itself if the model can read it whole, else slices that it can.

        The slices, in order, cover the text; every one is at most the model's length.
        At least one, also for an empty text.
        """
        ...

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        One unit vector a text, in order: shape (len(texts), dimension).

        Args:
            texts: May be empty. Each should fit the model's window (see `windows`).

        Raises:
            Unreachable: No answer within the configured time and retries.
            Refused: The provider is not installed, or rejected the key, the model or the quota.
            Garbled: The answer has the wrong count or width, or holds something that is not a number.
        """
        ...


class Names(NamedTuple):
    """A space as far as it is known without asking anybody."""

    provider: str
    model: str
    recipe: int

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def names(embedder: Embedder) -> Names:
    """Of the space of an embedder."""
    return Names(embedder.provider, embedder.model, recipe(str(getattr(embedder, "passage_prefix", ""))))


def space(embedder: Embedder) -> Space:
    """Where the vectors of an embedder compare. May probe it for its dimension."""
    return Space(*names(embedder), embedder.dimension)
