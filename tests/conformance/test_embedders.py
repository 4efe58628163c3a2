from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from asking import embedders, servers
from embedder_suite import EmbedderSuite
from provider import Provider

from memory.vectors.local.embedder import LocalEmbedder
from memory.vectors.meter import Metered
from memory.vectors.providers.inside import HashedEmbedder
from oracle.ram_usage import RamUsage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.vectors import Embedder


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


class TestLocalEmbedder(EmbedderSuite):
    @pytest.fixture
    def embedder(self) -> LocalEmbedder:
        return LocalEmbedder()


class TestHashedEmbedder(EmbedderSuite):
    @pytest.fixture(params=[16, 256])
    def embedder(self, request: pytest.FixtureRequest) -> HashedEmbedder:
        return HashedEmbedder(request.param)


class TestMetered(EmbedderSuite):
    @pytest.fixture
    def embedder(self) -> Metered:
        return Metered(HashedEmbedder(64), RamUsage(), check=lambda _embedder, _fingerprint: None)


class TestOllama(EmbedderSuite):
    @pytest.fixture
    def embedder(self, provider: Provider) -> Iterator[Embedder]:
        with closing(embedders("ollama", provider)) as made:
            yield made.configured()


class TestOllamaThatFindsTextsTooLong(EmbedderSuite):
    """Its limit is lower than what is known of the model, as when it was started with another."""

    @pytest.fixture
    def embedder(self) -> Iterator[Embedder]:
        with Provider() as provider:
            provider.context["nomic-embed-text"] = 100
            with closing(embedders("ollama", provider)) as made:
                yield made.configured()


class TestOpenAI(EmbedderSuite):
    @pytest.fixture
    def embedder(self, provider: Provider) -> Iterator[Embedder]:
        with closing(embedders("openai", provider)) as made:
            yield made.configured()


class TestServerLikeOpenAI(EmbedderSuite):
    """It wants no key, does not normalise, and shortens."""

    @pytest.fixture
    def embedder(self) -> Iterator[Embedder]:
        with Provider({"bge-small-en-v1.5": 384}) as provider:
            provider.key, provider.scale = None, 17.0
            with closing(embedders("openai", provider, model="bge-small-en-v1.5", dimensions=128)) as made:
                yield made.configured()


class TestFallback(EmbedderSuite):
    """The first of two servers is down."""

    @pytest.fixture
    def embedder(self, provider: Provider) -> Iterator[Embedder]:
        with Provider() as first:
            first.down()
            with closing(embedders("ollama", first, **servers(first.url, provider.url))) as made:
                yield made.configured()
