"""The embedders of a process: made at first use, by name, and the vectors of recent queries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from memory.embed import fingerprint
from memory.embed.providers import DEFAULTS, LASTING, SERVERS, Maker, ModelSpec, spec_of, token_counter
from memory.embed.third_party import guarded_counter
from memory.embed.usage import check_circuit, utc_now
from memory.schema.errors import DimensionMismatch, Refused, SpaceMismatch, Unembedded
from memory.schema.space import Space

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from memory.config.settings import EmbeddingSettings
    from memory.embed import Embedder, Names
    from memory.embed.client import Client, WithFallback
    from memory.embed.fingerprint import EmbedderStore
    from memory.embed.third_party import Metered
    from memory.schema.space import Vectors
    from memory.store import Generation

MeteredEmbedder: TypeAlias = "Metered | Client | WithFallback"
"""
An embedder as the engine has it: what it sends is in the usage log before. Its names, its host and its fallback, empty
if it has none, do not change while it lives; its fingerprint is there when it was taken.
"""

CACHED = 1_000  # query vectors that are kept (CAP A49)


class Embedders:
    """
    Which embedder answers for which space.

    Attributes:
        enabled: Whether the configuration names an embedder at all.
        local: Whether the configured model runs in this process, as far as its name says; nothing is made for it.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        store: EmbedderStore,
        *,
        embedder: Embedder | None = None,
        key: str | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """
        Args:
            now: The clock; what is embedded, claimed and sent is dated by it.
            embedder: Takes the place of the configured one.
            key: In place of that in the environment.
        """
        self._settings, self._store, self._key, self.now = settings, store, key, now
        self._maker = Maker(settings, store.usage, now)
        self._given = None if embedder is None else self._maker.metered(embedder)
        self._tokens: Callable[[str], int] | None = getattr(embedder, "tokens", None)
        self.enabled = embedder is not None or settings.provider != "none"
        self.local = embedder is not None or settings.provider not in SERVERS
        self._lasting: MeteredEmbedder | None = self._given  # the configured one, if no store can make it another
        self._embedders: dict[ModelSpec, tuple[MeteredEmbedder, int]] = {}  # with the width it was made for
        self._queries: OrderedDict[tuple[Space, str, bytes], Vectors] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def _spec(self) -> ModelSpec:
        return spec_of(self._settings, self._key)

    @property
    def inside(self) -> bool:
        """
        Whether the configured model runs in this process.

        Raises:
            Refused: It is a plug-in's that cannot be used.
        """
        return self.local and not self.configured().host

    @cached_property
    def counter(self) -> Callable[[str], int] | None:
        """
        Counts the tokens that the configured model makes of a text; None if nothing here knows them.

        That of an embedder that was passed in raises Refused if it fails.
        """
        if self._given is None:
            return token_counter(self._settings)
        return None if self._tokens is None else guarded_counter(self._tokens)

    def check_circuit(self, text: str) -> None:
        """
        Look, before anything is made or imported, whether the server that would embed a query is left alone.

        Raises:
            Unreachable: It is, there is no second one, and the query was not asked before.
        """
        settings = self._settings
        if self.local or settings.fallback:
            return
        active, _ = self._living()
        if active is not None and (active.space.provider != settings.provider or self._asked(active.space, text)):
            return
        from memory.embed.remote import host_of

        check_circuit(self._store.usage.circuit(host_of(settings.provider, settings)), self.now())

    def configured(self) -> MeteredEmbedder:
        """
        Raises:
            Refused: There is none, it cannot be used, or its vectors have another width than the settings expect.
        """
        if self._lasting is not None:
            return self._lasting
        embedder = self._of(self._spec)
        if self._settings.provider in LASTING:
            self._expect(embedder, embedder.dimension)
            self._lasting = embedder
        return embedder

    def fresh(self) -> MeteredEmbedder:
        """
        The configured embedder, without a belief about its width or its fingerprint: what a reindex begins with.

        Raises:
            Refused: There is none, or it cannot be used.
        """
        return self._given or self._maker.make(self._spec)

    def answering(self) -> tuple[Generation, MeteredEmbedder]:
        """
        The active generation and the embedder that made it. While its successor is being built that is still the
        former model, whatever the settings name.

        Raises:
            Unembedded: Nothing has a vector yet.
            Refused: Its model cannot be used.
            SpaceMismatch: The settings name another model, and nobody has begun to reindex.
        """
        configured = self.configured()  # first: without a model, that is what is amiss
        active, building = self._living()
        if active is None:
            raise Unembedded("nothing is embedded yet", hint="Run `memory embed` to embed what is kept.")
        if self._is_of(configured, active.space):
            return active, configured
        if building is not None and self._is_of(configured, building.space):
            return active, self.of(active.space)
        raise self._mismatch(active.space, configured)

    def saving(self) -> MeteredEmbedder:
        """
        The embedder for what is saved now: the configured one.

        Raises:
            Refused, SpaceMismatch: It cannot be used, or its vectors would not be kept.
        """
        configured = self.configured()
        active, building = self._living()
        if active is not None and not any(
            self._is_of(configured, one.space) for one in (active, building) if one is not None
        ):
            raise self._mismatch(active.space, configured)
        return configured

    def of(self, target: Space) -> MeteredEmbedder:
        """
        The embedder that made the vectors of a space, also if the configuration has moved on to another.

        Raises:
            Refused: It cannot be used, or not as it was.
        """
        if self.enabled and self._is_of(configured := self.configured(), target):
            return configured
        settings = replace(self._settings, provider=target.provider, model=target.model, dimensions=0, max_tokens=0)
        if target.model.startswith("text-embedding-3") or self._settings.dimensions == target.dimension:
            settings = replace(settings, dimensions=target.dimension)
        for prefix in dict.fromkeys((self._settings.passage_prefix, "auto", "")):
            embedder = self._of(spec_of(replace(settings, passage_prefix=prefix, query_prefix="auto"), self._key))
            if self._is_of(embedder, target):
                return embedder
        raise Refused(f"{embedder.names} cannot answer for the stored vectors, {target}", hint="Run `memory reindex`.")

    def outdated(self) -> bool:
        """
        Whether the vectors that answer are of another model than the settings name; nothing is made or imported for it.

        Raises:
            Refused: The configured model is a plug-in's that cannot be used.
        """
        active, building = self._living()
        stored = [one.space[:3] for one in (active, building) if one is not None]
        return active is not None and self._names() not in stored

    def _names(self) -> Names:
        """The configured model's, without making it if it is one of ours."""
        ours = self._given is None and self._settings.provider in DEFAULTS
        return self._spec.names if ours else self.configured().names

    def hosts(self) -> tuple[str, ...]:
        """Where the configured model sends texts; empty if they stay in this process. `Refused` if it cannot be used."""
        embedder = self.configured()
        return tuple(filter(None, (embedder.host, embedder.fallback)))

    def named(self, generations: Iterable[Generation]) -> Generation | None:
        """Of generations the one that the configured model would go on with, without asking it for its width."""
        own, width = self._names(), self._settings.dimensions
        return next(
            (
                one
                for one in reversed(list(generations))
                if one.space[:3] == own and (not width or one.space.dimension == width)
            ),
            None,
        )

    @property
    def price(self) -> float:
        """US dollars for a million tokens of the configured model; 0 if none is known."""
        return self._settings.price or self._spec.profile.price

    def write(self) -> None:
        """Record in the usage log what is not recorded yet."""
        self._maker.write()

    def keep_fingerprint(self) -> None:
        """Keep the fingerprint of the configured embedder with its generation, if it was taken and none is kept yet."""
        embedder = self.configured()
        if embedder.fingerprint is not None:
            fingerprint.keep(self._store.generations, embedder, embedder.fingerprint)

    # Queries -------------------------------------------------------------

    def query(self, embedder: MeteredEmbedder, text: str) -> tuple[Vectors, bool]:
        """
        The vector of a query, shape (dimension,), from the cache if it was asked before; and whether all of it was read.

        A query that is longer than the model reads is embedded by its first window.
        """
        space = Space(*embedder.names, embedder.dimension)
        key = (space, text, self._stamp(space))
        windows = embedder.windows(text)
        with self._lock:
            if (vector := self._queries.get(key)) is not None:
                self._queries.move_to_end(key)
        if vector is None:
            vector = embedder.embed(windows[:1], "query")[0]
            with self._lock:
                self._queries[key] = vector
                if len(self._queries) > CACHED:
                    self._queries.popitem(last=False)
        return vector, len(windows) == 1

    def forget_queries(self) -> None:
        """Have every query embedded anew."""
        with self._lock:
            self._queries.clear()

    def _asked(self, space: Space, text: str) -> bool:
        """Whether a query was asked before, of whatever model had this name."""
        with self._lock:
            return any(key[:2] == (space, text) for key in self._queries)

    def _stamp(self, space: Space) -> bytes:
        """What tells the model of the stored vectors from another of its name; empty if there can be none."""
        if self._given is not None or space.provider in LASTING:
            return b""
        return fingerprint.stamp(self._store.generations, space)

    def close(self) -> None:
        """Record what is not recorded yet, and hang up."""
        self._maker.close()

    # Making them ---------------------------------------------------------

    def _of(self, spec: ModelSpec) -> MeteredEmbedder:
        # Asking a server for its width would cost a request, and loading a model seconds.
        spaces = [one.space for one in self._living() if one is not None]
        dimension = next((one.dimension for one in spaces if one[:3] == spec.names), 0)
        dimension = 0 if spec.settings.provider in LASTING else spec.settings.dimensions or dimension
        with self._lock:
            embedder, width = self._embedders.get(spec, (None, 0))
            # One that was asked since knows its width, which may have been stored by now.
            if embedder is None or not (
                width == dimension or (embedder.fingerprint is not None and embedder.dimension == dimension)
            ):
                embedder = self._maker.make(spec._replace(dimension=dimension), self._check)
                self._embedders[spec] = (embedder, dimension)
            return embedder

    # What is stored ------------------------------------------------------

    def _living(self) -> tuple[Generation | None, Generation | None]:
        """The active generation, and the one being built."""
        by_state = {str(generation.state): generation for generation in self._store.generations.every()}
        return by_state.get("active"), by_state.get("building")

    def _is_of(self, embedder: MeteredEmbedder, space: Space) -> bool:
        """
        Whether its vectors are of a space, by what is known of both.

        Raises:
            SpaceMismatch: They were, until another process found the model exchanged.
        """
        if embedder.names != space[:3] or embedder.dimension != space.dimension:
            return False
        if embedder.fingerprint is not None:
            self._check(embedder, embedder.fingerprint)
        return True

    def _mismatch(self, stored: Space, embedder: MeteredEmbedder) -> SpaceMismatch:
        if embedder.names == stored[:3]:
            return DimensionMismatch(stored, stored._replace(dimension=embedder.dimension))
        cheap = self._given is not None or embedder.provider in LASTING  # to say how wide its vectors are
        return SpaceMismatch(stored, Space(*embedder.names, embedder.dimension) if cheap else embedder.names)

    def _expect(self, embedder: MeteredEmbedder, dimension: int) -> None:
        """
        Raises:
            Refused: The settings expect vectors of another width of the model that they name.
        """
        expected = self._settings.expected_dimension
        if not expected or dimension == expected or embedder.provider != self._settings.provider:
            return
        raise Refused(
            f"{embedder.names} gives vectors of {dimension} dimensions; {expected} are expected",
            hint="Set `embedding.expected_dimension` ($EMBEDDING_DIM) to that, to 0, or name another model.",
        )

    def _check(self, embedder: MeteredEmbedder, vector: Vectors) -> None:
        """
        Raises:
            Refused: The settings expect another width of the model.
            SpaceMismatch: Its fingerprint is not the one that is kept with the vectors of its space.
        """
        self._expect(embedder, len(vector))
        fingerprint.compare(self._store.generations, embedder, vector)
