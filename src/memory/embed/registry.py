"""The providers by name, and what each is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from memory.config.settings import PLUGINS
from memory.embed.third_party import third_party
from memory.schema.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memory.config.settings import EmbeddingSettings
    from memory.embed import Embedder
    from memory.embed.models import Known
    from memory.embed.remote import Remote


class Wanted(NamedTuple):
    """
    What an embedder is to be made of.

    Attributes:
        model: The provider's name of it.
        known: Its prefixes and its length.
        dimension: Width of its vectors, if that is known; 0 if not.
        key: In place of that in the environment.
        second: Whether the fallback is meant.
    """

    model: str
    settings: EmbeddingSettings
    known: Known
    dimension: int = 0
    key: str | None = None
    second: bool = False


def _local(wanted: Wanted) -> Embedder:
    from memory.embed.local.embedder import LocalEmbedder

    if wanted.model != LocalEmbedder.model:
        raise Refused(f"the local provider has no model {wanted.model!r}", hint=f"Its model is {LocalEmbedder.model}.")
    _check_width(wanted, LocalEmbedder.dimension)
    if wanted.settings.runtime == "numpy":
        return LocalEmbedder()
    from memory.embed.local.onnx import quantised

    return LocalEmbedder(bulk=quantised)


def _hashed(wanted: Wanted) -> Embedder:
    from memory.embed.providers.hashed import HashedEmbedder

    dimension = wanted.model.removeprefix("hashed-")
    known = dimension.isascii() and dimension.isdigit() and len(dimension) <= 4
    if not known or not 1 <= int(dimension) <= 4096:
        hint = "hashed-1 to hashed-4096, e.g. hashed-256."
        raise Refused(f"the hashed provider has no model {wanted.model!r}", hint=hint)
    _check_width(wanted, int(dimension))
    return HashedEmbedder(int(dimension))


def _check_width(wanted: Wanted, dimension: int) -> None:
    if wanted.settings.dimensions not in (0, dimension):
        hint = "Set `embedding.dimensions` to 0."
        raise Refused(f"{wanted.model} gives {dimension} dimensions, not {wanted.settings.dimensions}", hint=hint)


def _sentence_transformers(wanted: Wanted) -> Embedder:
    from memory.embed.providers.sentence_transformers import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder(
        wanted.model,
        device=wanted.settings.device,
        known=wanted.known,
        most_tokens=wanted.settings.max_tokens,
        dimension=wanted.dimension or None,
        shortened=wanted.settings.dimensions,
    )


def _ollama(wanted: Wanted) -> Remote:
    from memory.embed.providers.ollama import Ollama

    settings = wanted.settings
    return Ollama(
        wanted.model,
        host=settings.fallback if wanted.second else settings.ollama_host,
        keep_alive=settings.ollama_keep_alive,
        dimensions=settings.dimensions,
    )


def _openai(wanted: Wanted) -> Remote:
    from memory.embed.providers.openai import OpenAI

    settings = wanted.settings
    return OpenAI(
        wanted.model,
        base_url=settings.fallback if wanted.second else settings.openai_base_url,
        key=wanted.key,
        key_env=settings.openai_key_env,
        dimensions=settings.dimensions,
    )


def _none(_wanted: Wanted) -> Embedder:
    raise Refused("no embedder is configured", hint="Set `embedding.provider`, e.g. to `local`.")


PROVIDERS: Mapping[str, Callable[[Wanted], Embedder | Remote]] = {
    "local": _local,
    "sentence-transformers": _sentence_transformers,
    "ollama": _ollama,
    "openai": _openai,
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
"""The model of a provider if none is named."""

LASTING = frozenset({"local", "hashed"})
"""Providers whose model cannot change under its name."""

SERVERS = frozenset({"ollama", "openai"})
"""Providers that send texts out of this process."""


def made(provider: str, wanted: Wanted) -> Embedder | Remote:
    """
    Raises:
        Refused: There is no such provider, or it cannot be used.
    """
    if provider in PROVIDERS:
        return PROVIDERS[provider](wanted)
    from importlib.metadata import entry_points

    found = tuple(entry_points(group=PLUGINS, name=provider))
    if not found:
        names = ", ".join((*PROVIDERS, *sorted(entry_points(group=PLUGINS).names)))
        raise Refused(f"no provider {provider!r} is installed", hint=f"There are: {names}.")
    named = f"the provider {provider!r} of {found[0].value}"
    with third_party(named):
        factory = cast("Callable[[EmbeddingSettings], Embedder | Remote]", found[0].load())
        embedder = factory(wanted.settings)
        lacking = [name for name in ("provider", "model") if not isinstance(getattr(embedder, name, None), str)]
    if lacking or not (hasattr(embedder, "embed") or hasattr(embedder, "ask")):
        raise Refused(f"{named} gave {type(embedder).__name__}, which is no embedder", hint="See docs/embedding.md.")
    return embedder


def known_of(provider: str, settings: EmbeddingSettings) -> Known:
    """What is known of the configured model, and what the settings say instead."""
    from memory.embed.models import Known, known

    found = known(settings.model or DEFAULTS.get(provider, "")) if provider not in LASTING else Known()
    return Known(
        found.query_prefix if settings.query_prefix == "auto" else settings.query_prefix,
        found.passage_prefix if settings.passage_prefix == "auto" else settings.passage_prefix,
        settings.max_tokens or found.tokens,
        found.price,
    )
