from __future__ import annotations

import pytest
from embedder_suite import EmbedderSuite

from memory.embed.hashed import HashedEmbedder
from memory.embed.local import LocalEmbedder


class TestLocalEmbedder(EmbedderSuite):
    @pytest.fixture
    def embedder(self) -> LocalEmbedder:
        return LocalEmbedder()


class TestHashedEmbedder(EmbedderSuite):
    @pytest.fixture(params=[16, 256])
    def embedder(self, request: pytest.FixtureRequest) -> HashedEmbedder:
        return HashedEmbedder(request.param)
