"""The embedders of a process: made at first use, by name, and the vectors of recent queries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from memory.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memory.embed import Embedder
    from memory.space import Space, Vectors

CACHED = 1_000  # query vectors that are kept (CAP A49)


def _local(model: str) -> Embedder:
    from memory.embed.local import LocalEmbedder

    if model not in ("", "all-MiniLM-L6-v2"):
        raise Refused(f"the local provider has no model {model!r}", hint="Its model is all-MiniLM-L6-v2.")
    return LocalEmbedder()


def _hashed(model: str) -> Embedder:
    from memory.embed.hashed import HashedEmbedder

    dimension = model.removeprefix("hashed-") or "256"
    known = dimension.isascii() and dimension.isdigit() and len(dimension) <= 4
    if not known or not 1 <= int(dimension) <= 4096:
        raise Refused(f"the hashed provider has no model {model!r}", hint="hashed-1 to hashed-4096, e.g. hashed-256.")
    return HashedEmbedder(int(dimension))


def _none(_model: str) -> Embedder:
    raise Refused("no embedder is configured", hint="Set `embedding.provider`, e.g. to `local`.")


PROVIDERS: Mapping[str, Callable[[str], Embedder]] = {"local": _local, "hashed": _hashed, "none": _none}
"""Embedders by the name of their provider; each takes the name of a model, "" for its default."""


class Embedders:
    """Which embedder answers for which space."""

    def __init__(self, provider: str, model: str = "", *, given: Embedder | None = None) -> None:
        """
        Args:
            given: An embedder that was made elsewhere takes the place of the configured one.
        """
        self._provider, self._model = provider, model
        self._made: dict[tuple[str, str], Embedder] = {}
        self._configured = given
        self._vectors: OrderedDict[tuple[Space, str], Vectors] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def enabled(self) -> bool:
        """Whether the configuration names an embedder at all."""
        return self._configured is not None or self._provider != "none"

    def configured(self) -> Embedder:
        """
        Raises:
            Refused: There is none, or it cannot be used.
        """
        with self._lock:
            if self._configured is None:
                self._configured = PROVIDERS[self._provider](self._model)
            return self._configured

    def of(self, wanted: Space) -> Embedder:
        """
        The embedder that made the vectors of a space, also if the configuration has moved on to another.

        Raises:
            Refused: It is of a provider this version does not have, or cannot be used.
        """
        from memory.embed import space

        if self.enabled and space(embedder := self.configured()) == wanted:
            return embedder
        if wanted.provider not in PROVIDERS:
            raise Refused(f"no provider {wanted.provider!r} for the stored vectors", hint="Run `memory reindex`.")
        with self._lock:
            key = (wanted.provider, wanted.model)
            if key not in self._made:
                self._made[key] = PROVIDERS[wanted.provider](wanted.model)
            embedder = self._made[key]
        if space(embedder) != wanted:
            raise Refused(
                f"{space(embedder)} cannot answer for the stored vectors, {wanted}", hint="Run `memory reindex`."
            )
        return embedder

    def query(self, embedder: Embedder, text: str) -> tuple[Vectors, bool]:
        """
        The vector of a query, shape (dimension,), from the cache if it was asked before; and whether all of it was read.

        A query that is longer than the model reads is embedded by its first window.
        """
        from memory.embed import space

        key = (space(embedder), text)
        windows = embedder.windows(text)
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                return self._vectors[key], len(windows) == 1
        vector = embedder.embed(windows[:1], "query")[0]
        with self._lock:
            self._vectors[key] = vector
            if len(self._vectors) > CACHED:
                self._vectors.popitem(last=False)
        return vector, len(windows) == 1
