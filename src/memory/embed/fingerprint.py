"""
The fingerprint of a model: its vector of one fixed text, `memory.embed.FINGERPRINT_TEXT`.

If it differs from the one stored with a generation, even months later, it is another model of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from memory.embed import space
from memory.schema.errors import SpaceMismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.embed.registry import MeteredEmbedder
    from memory.schema.space import Space, Vectors
    from memory.store import Generation
    from memory.store.usage import UsageLog

RECHECK_SECONDS = 600.0
"""Seconds after which a living process takes the fingerprint again."""

_SAME = 0.98  # least cosine of a model with itself: runtimes and batches change the fourth digit

Check: TypeAlias = "Callable[[MeteredEmbedder, Vectors], None]"
"""Gets an embedder and its fingerprint; raises `SpaceMismatch` if the model changed."""


class Generations(Protocol):
    """What embedders read and write of generations; see `memory.store.vectors.Generations`."""

    def every(self) -> Sequence[Generation]: ...

    def mark(self, generation: int, fingerprint: bytes) -> None: ...


class EmbedderStore(Protocol):
    """What embedders read and write; see `memory.store.Store`."""

    @property
    def usage(self) -> UsageLog: ...

    @property
    def generations(self) -> Generations: ...


def exchanged(generation: Generation, fingerprint: Vectors) -> bool:
    """Whether the fingerprint that is stored for a generation, if one is, is that of another model."""
    import numpy as np

    former = np.frombuffer(generation.fingerprint, "<f4")
    return bool(len(former)) and float(former @ fingerprint) < _SAME


def mark(generations: Generations, generation: Generation, fingerprint: Vectors) -> None:
    """Store a fingerprint for a generation that has none."""
    if not generation.fingerprint:
        generations.mark(generation.id, fingerprint.astype("<f4").tobytes())


def compare(generations: Generations, embedder: MeteredEmbedder, fingerprint: Vectors) -> None:
    """
    Compare a fingerprint with those stored for the generations of its space; store it where there is none.

    Raises:
        SpaceMismatch: It is another model of the same name and width.
    """
    own = space(embedder)
    for generation in generations.every():
        if generation.space != own:
            continue
        if exchanged(generation, fingerprint):
            where = f" at {embedder.host}" if embedder.host else ""
            error = SpaceMismatch(own, f"other vectors under the same name{where}")
            error.hint = "Was the model exchanged? `memory reindex` embeds all with it."
            raise error
        mark(generations, generation, fingerprint)


def keep(generations: Generations, embedder: MeteredEmbedder, fingerprint: Vectors) -> None:
    """Store it with the generations of an embedder's space that have none yet."""
    for generation in generations.every():
        if generation.space == space(embedder):
            mark(generations, generation, fingerprint)


def stamp(generations: Generations, of: Space) -> bytes:
    """The fingerprints of a space's model, which tell it from another of its name; empty if none is stored."""
    return b"".join(generation.fingerprint for generation in generations.every() if generation.space == of)
