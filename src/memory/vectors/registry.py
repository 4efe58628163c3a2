"""The embedders of a process, made at first use; the vectors of recent queries, and of chunks that are not stored yet."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from memory.schema.errors import DimensionMismatch, Refused, SpaceMismatch, Unembedded
from memory.schema.query import CallPrice
from memory.schema.space import Embedded, Space, Window, stays
from memory.store.narrow import rounded
from memory.text.tokens import passages
from memory.vectors import Embedder, Names, ProcessStore, Role, check_circuit, exchanged, mark, utc_now
from memory.vectors.meter import Metered, third_party
from memory.vectors.providers import (
    DEFAULTS,
    LASTING,
    SERVERS,
    Maker,
    ModelSpec,
    check_expected,
    spec_of,
    token_counter,
    tokenizer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from memory.config.settings import EmbeddingSettings
    from memory.schema.memory import Excerpt
    from memory.schema.space import Vectors
    from memory.store import Generation, Store
    from memory.vectors.client import Client, WithFallback
    from memory.vectors.local.wordpiece import WordPiece

MeteredEmbedder: TypeAlias = "Metered | Client | WithFallback"
"""
An embedder as the engine uses it: everything it sends is in the usage log first.

Its names, host and fallback (empty if it has none) never change; its fingerprint is None until taken.
"""

CACHED = 1_000  # vectors kept


class Embedders:
    """
    The embedders of an engine: the configured one, and those of stored vectors. `Vectors.embedders` is one.

    Attributes:
        enabled: Whether the settings name a model at all.
        local: Whether the configured model runs in this process, judged by its name; loads nothing.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        store: Store | ProcessStore,
        *,
        embedder: Embedder | None = None,
        key: str | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """
        Args:
            now: The clock that dates what is embedded, claimed and sent.
            embedder: Replaces the configured one.
            key: Replaces the one in the environment.
        """
        self._settings, self._store, self._key, self.now = settings, store, key, now
        self._maker = Maker(settings, store.usage, now)
        self.write, self.close = self._maker.write, self._maker.close
        self._given = None if embedder is None else self._maker.metered(embedder)
        self._tokens: Callable[[str], int] | None = getattr(embedder, "tokens", None)
        self.enabled = embedder is not None or settings.provider != "none"
        self.local = embedder is not None or settings.provider not in SERVERS
        self._lasting: MeteredEmbedder | None = self._given  # the configured one, if nothing stored can change it
        self._embedders: dict[ModelSpec, tuple[MeteredEmbedder, int]] = {}  # each with the width it was made for
        self._vectors: dict[tuple[Space, str, Role, bytes], Vectors] = {}
        self._tokenizer: WordPiece | None = None
        self._lock = threading.Lock()

    @cached_property
    def _spec(self) -> ModelSpec:
        return spec_of(self._settings, self._key)

    @property
    def inside(self) -> bool:
        """
        Whether the configured model runs in this process.

        Raises:
            Refused: It is a plug-in that cannot be used.
        """
        return self.local and not self.configured().host

    @property
    def warm(self) -> bool:
        """
        Whether the configured model answers at once, without loading for seconds; the default model does.

        Raises:
            Refused: It cannot be used.
        """
        ours = self._given is None and self._settings.provider in LASTING
        return ours or self.configured().warm

    @property
    def call_price(self) -> CallPrice:
        """How much a call of the configured model costs now, as far as known. Loads nothing."""
        if not self.local:
            from memory.vectors.remote import urls

            server, fallback = self._settings.servers
            try:
                hosts = [urls(self._settings.provider, one)[1] for one in (server, fallback or server)]
            except Refused:  # a call will report it
                return CallPrice.AWAY
            return CallPrice.SERVER if all(map(stays, hosts)) else CallPrice.AWAY
        made = self._lasting or self._embedders.get(self._spec, (None, 0))[0]
        if made is None or (not made.host and isinstance(made, Metered) and not made.loaded):
            return CallPrice.LOADING
        if made.host:
            return CallPrice.SERVER if stays(made.host) else CallPrice.AWAY
        return CallPrice.LOADED

    @cached_property
    def counter(self) -> Callable[[str], int] | None:
        """
        A function that counts the configured model's tokens in a text; None if there is none.

        If a given embedder's own counter fails, it raises Refused.
        """
        if self._given is None:
            return token_counter(self._settings)
        tokens = self._tokens
        return None if tokens is None else third_party("counting tokens")(lambda text: int(tokens(text)))

    def knows(self, text: str) -> bool:
        """
        Whether the vocabulary of the configured model has a word of a text. True for a given embedder, and if the
        vocabulary is not available.
        """
        if self._tokenizer is None and self._given is None:
            self._tokenizer = tokenizer(self._settings)  # it may be installed by now
        return self._tokenizer is None or self._tokenizer.knows(text)

    def check_circuit(self, text: str) -> None:
        """
        Raise if the circuit of the server for queries is open, before anything is imported.

        Raises:
            Unreachable: The circuit is open, there is no fallback, and the query's vector is not cached.
        """
        if self.local:
            return
        settings = self._settings
        server, fallback = settings.servers
        if fallback:
            return
        active, _ = self._living()
        if active is not None and (active.space.provider != settings.provider or self._asked(active.space, text)):
            return
        from memory.vectors.remote import urls

        _, host = urls(settings.provider, server)
        check_circuit(self._store.usage.circuit(host), self.now())

    def configured(self) -> MeteredEmbedder:
        """
        The configured embedder.

        Raises:
            Refused: No model is configured, it cannot be used, or its width is not the expected one.
        """
        if self._lasting is not None:
            return self._lasting
        embedder = self._of(self._spec)
        if self._settings.provider in LASTING:
            check_expected(embedder.model, embedder.dimension, self._settings.expected_dimension)
            self._lasting = embedder
        return embedder

    def fresh(self) -> MeteredEmbedder:
        """
        The configured embedder for a reindex, without assumptions about its width or fingerprint.

        Raises:
            Refused: No model is configured, it cannot be used, or its width is not the expected one.
        """
        embedder = self._given or self._maker.make(self._spec)
        if self._given is None and (expected := self._settings.expected_dimension):
            check_expected(embedder.model, embedder.dimension, expected)
        return embedder

    def answering(self) -> tuple[Generation, MeteredEmbedder]:
        """
        The active index version and its embedder. During a reindex this is still the former model.

        Raises:
            Unembedded: Nothing has a vector yet.
            Refused: The model cannot be used.
            SpaceMismatch: The settings name another model, and no reindex has started.
        """
        configured = self.configured()  # first: if there is no model, that is the error to report
        active, building = self._living()
        if active is None:
            raise Unembedded("nothing is embedded yet", hint="Run `memory embed` to embed what is saved.")
        if self._is_of(configured, active.space):
            return active, configured
        if building is not None and self._is_of(configured, building.space):
            return active, self.of(active.space)
        raise self._mismatch(active.space, configured)

    def saving(self) -> MeteredEmbedder | None:
        """
        The embedder for new memories: the configured one. None during a reindex to it, while the former one is active.

        Raises:
            Refused, SpaceMismatch: The model cannot be used, or no index version has its space.
        """
        configured = self.configured()
        active, building = self._living()
        if active is None or self._is_of(configured, active.space):
            return configured
        if building is not None and self._is_of(configured, building.space):
            return None
        raise self._mismatch(active.space, configured)

    def of(self, target: Space) -> MeteredEmbedder:
        """
        The embedder that made the vectors of a space, even if another is configured now. Not for a server of another
        provider, because the settings no longer have its URL.

        Raises:
            Refused: The embedder cannot be used, or differs from the former one.
        """
        if self.enabled and self._is_of(configured := self.configured(), target):
            return configured
        shortened = target.model.startswith("text-embedding-3") or self._settings.dimensions == target.dimension
        width = target.dimension if shortened else 0
        settings = replace(
            self._settings, provider=target.provider, model=target.model, dimensions=width, expected_dimension=0
        )
        elsewhere = target.provider != self._settings.provider
        embedder = self._of(spec_of(replace(settings, base_url="") if elsewhere else settings, self._key))
        if elsewhere and embedder.host:
            hint = f"Searches use keywords until `memory reindex` is done, or {target.provider} is the provider again."
            raise Refused(
                f"the vectors are from a server of {target.provider}, which the settings no longer name", hint=hint
            )
        if self._is_of(embedder, target):
            return embedder
        raise Refused(f"{embedder.names} cannot answer for the stored vectors, {target}", hint="Run `memory reindex`.")

    def outdated(self) -> bool:
        """
        Whether the stored vectors are of another model than the settings name. Loads no model of our own providers.

        Raises:
            Refused: The configured model is a plug-in that cannot be used.
        """
        active, building = self._living()
        stored = [one.space[:3] for one in (active, building) if one is not None]
        return active is not None and self._names() not in stored

    def _names(self) -> Names:
        """The names of the configured model, without making it if the provider is one of ours."""
        ours = self._given is None and self._settings.provider in DEFAULTS
        return self._spec.names if ours else self.configured().names

    def hosts(self) -> tuple[str, ...]:
        """The servers that the configured model sends texts to; none if it runs here. Refused if unusable."""
        embedder = self.configured()
        return tuple(filter(None, (embedder.host, embedder.fallback)))

    def named(self, generations: Iterable[Generation]) -> Generation | None:
        """
        The latest of these index versions that is of the configured model, judged without calling it; None if there is
        none.
        """
        own, width = self._names(), self._settings.dimensions
        same = (one for one in reversed(list(generations)) if one.space[:3] == own)
        return next((one for one in same if width in {0, one.space.dimension}), None)

    @property
    def free(self) -> bool:
        """Whether the configured model is free of charge: in this process, or with Ollama. Refused if unusable."""
        return self.inside or self._settings.provider == "ollama"

    @property
    def words(self) -> bool:
        """Whether the configured model embeds the list of words (`embedding.words`). Refused if unusable."""
        return self._settings.words == "always" or (self._settings.words == "auto" and self.inside)

    @property
    def price(self) -> float:
        """US dollars for a million tokens of the configured model; 0 if unknown."""
        return self._spec.price

    def keep_fingerprint(self) -> None:
        """Store the configured embedder's fingerprint, once known, with those of its index versions that have none."""
        embedder = self.configured()
        if embedder.fingerprint is not None:
            self._check(embedder, embedder.fingerprint)

    def query(self, text: str) -> tuple[Generation, Vectors, bool]:
        """
        Embed a query for the active index version; a vector that was made before comes from a cache.

        Returns:
            The active index version; the vector, shape (dimension,); and whether the whole query was embedded: of one
            longer than the model reads, only the first window is.

        Raises:
            EmbedError: The circuit is open, or the model fails.
            Unembedded, Refused, SpaceMismatch: See `answering`.
        """
        self.check_circuit(text)
        generation, embedder = self.answering()
        windows = embedder.windows(text)
        vectors = self._cached(embedder, generation.space, {text: windows[0]}, "query")
        return generation, vectors[text], len(windows) == 1

    def vectors(self, embedder: MeteredEmbedder, texts: Sequence[str], role: Role) -> Mapping[str, Vectors]:
        """The vectors of texts that are not stored, from the first window of each, with the cache of `query`."""
        space = Space(*embedder.names, embedder.dimension)
        return self._cached(embedder, space, {text: embedder.windows(text)[0] for text in texts}, role)

    def _cached(
        self, embedder: MeteredEmbedder, space: Space, firsts: Mapping[str, str], role: Role
    ) -> Mapping[str, Vectors]:
        """
        Args:
            firsts: The first window of each text.
        """
        stamp = self._stamp(space)
        keys = [(space, text, role, stamp) for text in firsts]
        with self._lock:
            known = {key: self._vectors[key] for key in keys if key in self._vectors}
        if new := [key for key in keys if key not in known]:
            known |= zip(new, embedder.embed([firsts[text] for _, text, *_ in new], role), strict=True)
        with self._lock:
            for key in known:
                self._vectors.pop(key, None)
                self._vectors[key] = known[key]  # last, because the first is forgotten first
            while len(self._vectors) > CACHED:
                del self._vectors[next(iter(self._vectors))]
        return {key[1]: vector for key, vector in known.items()}

    def forget_queries(self) -> None:
        """Empty the cache, so that every query is embedded again."""
        with self._lock:
            self._vectors.clear()

    def _asked(self, space: Space, text: str) -> bool:
        """Whether the cache has a query, from any model of this name."""
        with self._lock:
            return any(key[:3] == (space, text, "query") for key in self._vectors)

    def _stamp(self, space: Space) -> bytes:
        """
        A stamp of the model of the stored vectors, which differs for another model of the same name; empty if the model
        cannot be replaced.
        """
        if self._given is not None or space.provider in LASTING:
            return b""
        return b"".join(one.fingerprint for one in self._store.generations.every() if one.space == space)

    def _of(self, spec: ModelSpec) -> MeteredEmbedder:
        # Asking a server for its width would cost a request, and loading a model seconds.
        spaces = [one.space for one in self._living() if one is not None]
        dimension = next((one.dimension for one in spaces if one[:3] == spec.names), 0)
        dimension = 0 if spec.settings.provider in LASTING else spec.settings.dimensions or dimension
        with self._lock:
            embedder, width = self._embedders.get(spec, (None, 0))
            # An embedder used since then knows its width, which may be stored by now.
            if embedder is None or not (
                width == dimension or (embedder.fingerprint is not None and embedder.dimension == dimension)
            ):
                check = partial(self._check, expected=spec.settings.expected_dimension)
                embedder = self._maker.make(spec._replace(dimension=dimension), check)
                self._embedders[spec] = (embedder, dimension)
            return embedder

    def _living(self) -> tuple[Generation | None, Generation | None]:
        """The active index version, and the one being built."""
        by_state = {str(one.state): one for one in self._store.generations.every()}
        return by_state.get("active"), by_state.get("building")

    def _is_of(self, embedder: MeteredEmbedder, space: Space) -> bool:
        """
        Whether its vectors are of a space, as far as both are known.

        Raises:
            SpaceMismatch: They were, until another process found that the model was replaced.
        """
        same = embedder.names == space[:3] and embedder.dimension == space.dimension
        if same and embedder.fingerprint is not None:
            self._check(embedder, embedder.fingerprint)
        return same

    def _mismatch(self, stored: Space, embedder: MeteredEmbedder) -> SpaceMismatch:
        if embedder.names == stored[:3]:
            return DimensionMismatch(stored, stored._replace(dimension=embedder.dimension))
        if embedder.names[:2] == stored[:2]:
            return SpaceMismatch(stored, "vectors of texts that were cut in another way")
        cheap = self._given is not None or embedder.provider in LASTING  # cheap to ask for its width
        return SpaceMismatch(stored, Space(*embedder.names, embedder.dimension) if cheap else embedder.names)

    def _check(self, embedder: MeteredEmbedder, vector: Vectors, *, expected: int = 0) -> None:
        """
        Check a fingerprint against the expected width, if any, and the store.

        Raises:
            Refused: It has another width.
            SpaceMismatch: It differs from the fingerprint stored with the vectors of its space.
        """
        check_expected(embedder.model, len(vector), expected)
        own = Space(*embedder.names, embedder.dimension)
        for generation in self._store.generations.every():
            if generation.space != own:
                continue
            if exchanged(generation, vector):
                where = f" at {embedder.host}" if embedder.host else ""
                error = SpaceMismatch(own, f"other vectors under the same name{where}")
                error.hint = "Was the model exchanged? `memory reindex` embeds all with it."
                raise error
            mark(self._store.generations, generation, vector)


def embedded(embedder: MeteredEmbedder, excerpts: Sequence[Excerpt], overlap: int) -> Embedded:
    """
    Vectors for chunks; a chunk longer than the model reads gets one for each window.

    Args:
        overlap: The most tokens of preceding text embedded with a chunk; see `memory.text.tokens.passage`.

    Returns:
        In its windows, `chunk` is the index in `excerpts`.

    Raises:
        EmbedError: See `Embedder.embed`.
    """
    texts: list[str] = []
    windows: list[Window] = []
    for index, whole in enumerate(passages(excerpts, overlap)):
        for number, text in enumerate(embedder.windows(whole)):
            windows.append(Window(index, number, len(texts)))
            texts.append(text)
    vectors = rounded(embedder.embed(texts, "passage"))
    return Embedded(Space(*embedder.names, vectors.shape[1]), vectors, tuple(windows))
