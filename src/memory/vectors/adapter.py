"""
Embedders by the names other programs call them: `generate`, `batch_generate`, `dimensions`, `model_name`.

    from memory import set_embedding_provider

    provider = set_embedding_provider("openai", model="text-embedding-3-small", api_key=key)
    provider.generate("a text")
    Engine.open()  # of this process, from now on: with that provider
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memory.config import Config, load
from memory.schema import np
from memory.text.tokens import windows
from memory.vectors import Embedder, ProcessStore, Role
from memory.vectors.meter import third_party, unit_rows
from memory.vectors.registry import Embedders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from memory.config.settings import EmbeddingSettings
    from memory.schema.space import Vectors


class Generating(Protocol):
    """An object of the shape that other programs' providers have."""

    @property
    def dimensions(self) -> int: ...

    @property
    def model_name(self) -> str: ...

    def generate(self, text: str) -> ArrayLike: ...

    def batch_generate(self, texts: list[str]) -> Sequence[ArrayLike]: ...


class EmbeddingProvider:
    """
    An embedding model under the names that other programs use. Texts are embedded as passages, not as queries.

        >>> provider = set_embedding_provider("openai", model="text-embedding-3-small", api_key=key)
        >>> provider.generate("a text").shape
        (1536,)

    `embed` and `embed_batch` are other names of `generate` and `batch_generate`. A subclass may define its own
    `generate`, `batch_generate`, `dimensions` and `model_name`.
    """

    def __init__(self, embedder: Embedder) -> None:
        """
        Args:
            embedder: Any object with the methods of `memory.vectors.Embedder`.
        """
        self.embedder = embedder

    @property
    def dimensions(self) -> int:
        """Width of the vectors."""
        return self.embedder.dimension

    @property
    def model_name(self) -> str:
        """The provider's name for the model."""
        return self.embedder.model

    def generate(self, text: str) -> Vectors:
        """
        Embed a text.

        Returns:
            A vector of length 1, shape (dimensions,), float32. A text that is longer than the model reads gets the mean
            of its parts' vectors.

        Raises:
            EmbedError: The model cannot be used, or refuses the text.
        """
        return self.batch_generate([text])[0]

    def batch_generate(self, texts: Sequence[str]) -> list[Vectors]:
        """Embed texts; returns one vector for each, in order. See `generate`."""
        parts = [self.embedder.windows(text) for text in texts]
        rows = iter(self.embedder.embed([window for some in parts for window in some], "passage"))
        means = [np.mean([next(rows) for _ in some], axis=0) for some in parts]
        return [(mean / (np.linalg.norm(mean) or 1.0)).astype(np.float32) for mean in means]

    def close(self) -> None:
        """Close the connection to the provider's server, if there is one."""
        getattr(self.embedder, "close", lambda: None)()

    embed = generate
    embed_batch = batch_generate


class SentenceTransformerProvider(EmbeddingProvider):
    """A model of the sentence-transformers library, loaded with the first text."""

    def __init__(self, model_name: str = "all-MiniLM-L6-v2") -> None:
        """
        Args:
            model_name: Its name on the Hugging Face hub, or the path of its folder.
        """
        from memory.vectors.providers.inside import SentenceTransformersEmbedder

        super().__init__(SentenceTransformersEmbedder(model_name))


class Adapted:
    """An `Embedder` made from an object that generates."""

    provider = "custom"
    warm = True

    def __init__(self, generating: Generating, *, most_tokens: int = 512) -> None:
        """
        Args:
            most_tokens: What its model reads, by `memory.text.tokens.estimated`;
                longer texts are passed to it in parts.
        """
        self._generating, self._most_tokens = generating, most_tokens

    @property
    def model(self) -> str:
        return self._generating.model_name

    @property
    def dimension(self) -> int:
        return self._generating.dimensions

    def windows(self, text: str) -> Sequence[str]:
        return windows(text, self._most_tokens)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        See `Embedder.embed`.

        Raises:
            Refused, Garbled: It raised something, or did not return vectors of its dimensions.
        """
        del role
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        with third_party(self.model):
            rows = self._generating.batch_generate(list(texts))
        return unit_rows(rows, len(texts), self.model, self.dimension)


class Choice(NamedTuple):
    """The arguments of `set_embedding_provider`: settings and a key, or an embedder."""

    settings: EmbeddingSettings | None = None
    key: str | None = None
    embedder: Embedder | None = None


_chosen = Choice()
_provider: EmbeddingProvider | None = None


def chosen(config: Config) -> tuple[Config, Embedder | None, str | None]:
    """The settings, embedder and key that `Engine.open` uses in place of the configured ones."""
    if (found := _chosen.settings) is not None:
        named = replace(config.embedding, provider=found.provider, model=found.model, dimensions=found.dimensions)
        config = replace(config, embedding=named)
    return config, _chosen.embedder, _chosen.key


def set_embedding_provider(
    provider: str | Generating | None = "sentence-transformers",
    model: str = "",
    dimensions: int | None = None,
    api_key: str | None = None,
) -> EmbeddingProvider | None:
    """
    Set the embedding model of every engine that this process opens from now on.

        >>> set_embedding_provider("openai", model="text-embedding-3-small", api_key=key)

    Args:
        provider: A value of the setting `embedding.provider`, or an object with the methods of `EmbeddingProvider`.
            None returns to the settings.
        model: The provider's name for the model; "" takes its default.
        dimensions: Width of the vectors, for models that can shorten theirs.
        api_key: Replaces the key in the environment. It is not stored.

    Returns:
        The model as an `EmbeddingProvider`, before any request to it; None if `provider` is None. The ledger counts the
        engines' calls, not those on this object.

    Raises:
        Refused: There is no such provider, or it cannot be used.
    """
    global _chosen, _provider  # noqa: PLW0603  # that is what the name promises
    if _provider is not None:
        _provider.close()
        _provider = None
    if provider is None:
        _chosen = Choice()
        return None
    if not isinstance(provider, str):
        adapted = Adapted(provider)
        _chosen = Choice(embedder=adapted)
        return EmbeddingProvider(adapted)
    settings = replace(load().embedding, provider=provider, model=model, dimensions=dimensions or 0)
    _provider = EmbeddingProvider(Embedders(settings, ProcessStore(), key=api_key).configured())
    _chosen = Choice(settings, api_key)
    return _provider
