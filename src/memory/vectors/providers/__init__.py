"""The providers by name: how each makes an embedder, and the usage log around it that the engine needs."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, cast

from memory.config.settings import PLUGINS, EmbeddingSettings
from memory.schema.errors import Refused
from memory.schema.space import Budget, budget, recipe
from memory.vectors import Embedder, Names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from memory.store.usage import UsageLog
    from memory.vectors.client import Client
    from memory.vectors.local.wordpiece import WordPiece
    from memory.vectors.meter import Check, Metered
    from memory.vectors.models import ModelProfile
    from memory.vectors.registry import MeteredEmbedder
    from memory.vectors.remote import Remote


class ModelSpec(NamedTuple):
    """
    What an embedder is made from.

    Attributes:
        model: The provider's name for the model.
        profile: Its prefixes and its length.
        dimension: Width of its vectors if known, else 0.
        key: Replaces the one in the environment.
    """

    settings: EmbeddingSettings
    model: str
    profile: ModelProfile
    dimension: int = 0
    key: str | None = None

    @property
    def names(self) -> Names:
        """The names of its space."""
        return Names(self.settings.provider, self.model, recipe(self.profile.passage_prefix))

    @property
    def price(self) -> float:
        """US dollars for a million tokens; 0 if unknown."""
        return self.profile.price


def _local(spec: ModelSpec) -> Embedder:
    from memory.vectors.local.embedder import LocalEmbedder

    if spec.model != LocalEmbedder.model:
        raise Refused(f"the local provider has no model {spec.model!r}", hint=f"Its model is {LocalEmbedder.model}.")
    _check_width(spec, LocalEmbedder.dimension)
    # Two packages that nothing else here needs: whoever installed both wants many passages read quickly.
    if not all(map(find_spec, ("onnx", "onnxruntime"))):
        return LocalEmbedder()
    from memory.vectors.local.quantised import quantised

    return LocalEmbedder(bulk=quantised)


def _hashed(spec: ModelSpec) -> Embedder:
    from memory.vectors.providers.inside import HashedEmbedder

    dimension = spec.model.removeprefix("hashed-")
    number = dimension.isascii() and dimension.isdigit() and len(dimension) <= 4
    if not number or not 1 <= int(dimension) <= 4096:
        hint = "hashed-1 to hashed-4096, e.g. hashed-256."
        raise Refused(f"the hashed provider has no model {spec.model!r}", hint=hint)
    _check_width(spec, int(dimension))
    return HashedEmbedder(int(dimension))


def _check_width(spec: ModelSpec, dimension: int) -> None:
    if spec.settings.dimensions not in (0, dimension):
        hint = "Set `embedding.dimensions` to that or to 0, or name another model."
        raise Refused(f"{spec.model} gives {dimension} dimensions, not {spec.settings.dimensions}", hint=hint)


def check_expected(model: str, dimension: int, expected: int) -> None:
    """Raise Refused if a model has another width than the environment expects; 0 expects none."""
    if expected not in (0, dimension):
        hint = "Set $EMBEDDING_DIM to that or to 0, or name another model."
        raise Refused(f"{model} gives {dimension} dimensions; {expected} are expected", hint=hint)


def _sentence_transformers(spec: ModelSpec) -> Embedder:
    from memory.vectors.providers.inside import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder(
        spec.model,
        profile=spec.profile,
        dimension=spec.dimension or None,
        shortened=spec.settings.dimensions,
    )


def _server(spec: ModelSpec) -> Remote:
    from memory.vectors.providers.servers import Ollama, OpenAI

    return Ollama(spec) if spec.settings.provider == "ollama" else OpenAI(spec)


def _none(_spec: ModelSpec) -> Embedder:
    raise Refused("no embedder is configured", hint="Set `embedding.provider`, e.g. to `local`.")


def _plugin(spec: ModelSpec) -> Embedder | Remote:
    """An embedder or a server from another package, through the entry-point group `memory.embedders`."""
    from importlib.metadata import entry_points

    from memory.vectors.meter import third_party

    provider = spec.settings.provider
    entries = tuple(entry_points(group=PLUGINS, name=provider))
    if not entries:
        names = ", ".join((*PROVIDERS, *sorted(entry_points(group=PLUGINS).names)))
        raise Refused(f"no provider {provider!r} is installed", hint=f"There are: {names}.")
    name = f"the provider {provider!r} of {entries[0].value}"
    with third_party(name):
        factory = cast("Callable[[EmbeddingSettings], Embedder | Remote]", entries[0].load())
        embedder = factory(spec.settings)
        missing = [field for field in ("provider", "model") if not isinstance(getattr(embedder, field, None), str)]
    if missing or not (hasattr(embedder, "embed") or hasattr(embedder, "ask")):
        raise Refused(
            f"{name} gave {type(embedder).__name__}, which is not an embedder",
            hint="`memory help embedding` explains plug-ins.",
        )
    if spec.settings.dimensions and hasattr(embedder, "embed"):  # the width of a server's vectors shows when it answers
        with third_party(name):
            width = int(cast("Embedder", embedder).dimension)
        _check_width(spec, width)
    return embedder


PROVIDERS: Mapping[str, Callable[[ModelSpec], Embedder | Remote]] = {
    "local": _local,
    "sentence-transformers": _sentence_transformers,
    "ollama": _server,
    "openai": _server,
    "hashed": _hashed,
    "none": _none,
}

DEFAULTS = {
    "local": "all-MiniLM-L6-v2",
    "sentence-transformers": "all-MiniLM-L6-v2",
    "ollama": "nomic-embed-text",
    "openai": "text-embedding-3-small",
    "hashed": "hashed-256",
}
"""Each provider's default model."""

LASTING = frozenset({"local", "hashed"})
"""Providers whose model cannot change under its name."""

SERVERS = frozenset({"ollama", "openai"})
"""Providers that send texts out of this process."""


def build(spec: ModelSpec) -> Embedder | Remote:
    """
    Make the embedder or server of a provider.

    Raises:
        Refused: There is no such provider, or it cannot be used.
    """
    return PROVIDERS.get(spec.settings.provider, _plugin)(spec)


def spec_of(settings: EmbeddingSettings, key: str | None = None) -> ModelSpec:
    """The model that the settings name, with what is known of it."""
    from memory.vectors.models import ModelProfile, profile

    name = settings.model or DEFAULTS.get(settings.provider, "")
    return ModelSpec(settings, name, ModelProfile() if settings.provider in LASTING else profile(name), key=key)


def token_counter(settings: EmbeddingSettings) -> Callable[[str], int] | None:
    """
    A counter of the configured model's tokens; None if its vocabulary is not available.

    Reads the vocabulary, but loads neither numpy nor weights.
    """
    own = tokenizer(settings)
    return None if own is None else own.count


def tokenizer(settings: EmbeddingSettings) -> WordPiece | None:
    """That of the configured model; None where its vocabulary is not available."""
    if settings.provider != "local" or settings.model not in {"", DEFAULTS["local"]}:
        return None
    from memory.vectors.local import model_folder
    from memory.vectors.local.wordpiece import tokenizer as of_folder

    folder = model_folder()
    try:
        return None if folder is None else of_folder(folder)
    except (OSError, ValueError):  # reported when something is embedded with it
        return None


class Maker:
    """Makes embedders, and closes those it made."""

    def __init__(self, settings: EmbeddingSettings, log: UsageLog, now: Callable[[], datetime]) -> None:
        self._settings, self._log, self._now = settings, log, now
        self._open: list[Client | Metered] = []

    def make(self, spec: ModelSpec, check: Check | None = None) -> MeteredEmbedder:
        """
        Make the embedder that a spec describes.

        Args:
            check: See `Client`; with None, nothing is assumed about the model.

        Raises:
            Refused: There is no such provider, or it cannot be used.
        """
        embedder, provider, (_, fallback) = build(spec), spec.settings.provider, spec.settings.servers
        if not hasattr(embedder, "ask"):
            return self.metered(embedder, check=None if provider in LASTING else check)
        first = self._client(cast("Remote", embedder), spec, check, self._budget)
        if check is None or not fallback or provider not in SERVERS:
            return first  # a second server must not decide what a space is like
        from memory.vectors.client import WithFallback

        spec = spec._replace(settings=replace(spec.settings, base_url=fallback))
        second = cast("Remote", build(spec))
        budget = self._budget if second.host == first.host else None  # a fallback has none of its own
        return WithFallback(first, self._client(second, spec, check, budget))

    def metered(self, embedder: Embedder, *, check: Check | None = None) -> Metered:
        """Meter an embedder that uses no server itself, or that was made elsewhere."""
        from memory.vectors.meter import Metered

        pause_seconds = self._settings.pause_seconds
        made = Metered(
            embedder, self._log, budget=self._budget, pause_seconds=pause_seconds, check=check, now=self._now
        )
        self._open.append(made)
        return made

    def _client(self, remote: Remote, spec: ModelSpec, check: Check | None, budget: Budget | None) -> Client:
        from memory.vectors.client import Client

        client = Client(remote, spec, self._log, budget=budget, check=check, now=self._now)
        self._open.append(client)
        return client

    @property
    def _budget(self) -> Budget | None:
        return budget(self._settings.daily_budget) if self._settings.daily_budget else None

    def write(self) -> None:
        """Write pending usage entries."""
        for embedder in self._open:
            embedder.meter.write()

    def close(self) -> None:
        """Write pending usage entries and close connections."""
        for embedder in self._open:
            embedder.close()
