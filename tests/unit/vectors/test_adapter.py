from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from provider import Provider

from memory import Draft, Engine
from memory.config import Config
from memory.schema.errors import Garbled, Refused
from memory.vectors.adapter import Adapted, EmbeddingProvider, set_embedding_provider
from memory.vectors.providers.inside import HashedEmbedder


class Elsewhere:
    """A provider of the shape that other programs have, whose vectors have any length."""

    dimensions = 32
    model_name = "elsewhere-1"

    def __init__(self):
        self.asked = []

    def generate(self, text):
        return self.batch_generate([text])[0]

    def batch_generate(self, texts):
        self.asked += texts
        return [3.0 * row for row in HashedEmbedder(32).embed(texts, "passage")]


@pytest.fixture(autouse=True)
def _nothing_chosen():
    yield
    set_embedding_provider(None)


def test_an_embedder_has_the_other_names():
    embedder = HashedEmbedder(64)
    provider = EmbeddingProvider(embedder)

    assert (provider.dimensions, provider.model_name) == (64, "hashed-64")
    assert provider.generate("a text").shape == (64,)
    assert np.allclose(provider.batch_generate(["a", "b"]), embedder.embed(["a", "b"], "passage"))
    assert np.allclose(provider.embed("a"), provider.generate("a"))
    assert np.allclose(provider.embed_batch(["a"]), [provider.generate("a")])
    assert provider.batch_generate([]) == []


def test_all_of_a_long_text_counts():
    from memory.vectors.local.embedder import LocalEmbedder

    provider = EmbeddingProvider(LocalEmbedder())
    start = "the database is slow " * 80

    vector = provider.generate(start + "penguins eat fish " * 80)

    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert vector @ provider.generate("penguins and fish") > provider.generate(start) @ provider.generate(
        "penguins and fish"
    )


def test_engines_opened_after_a_choice_use_it(tmp_path):
    elsewhere = Elsewhere()
    provider = set_embedding_provider(elsewhere)

    with Engine.open(Config(home=str(tmp_path))) as engine:
        engine.save(Draft(title="zebra"))
        [(generation, filled)] = engine.status().generations
    assert provider.dimensions == 32
    assert (generation.space.provider, generation.space.model, filled) == ("custom", "elsewhere-1", 1)
    assert any("zebra" in text for text in elsewhere.asked)


def test_a_choice_by_name_with_a_key(tmp_path, monkeypatch):
    with Provider() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        set_embedding_provider("openai", model="text-embedding-3-small", dimensions=64, api_key="sk-test")
        lazy = replace(Config().embedding, fill="lazy")  # or a thread beside may be first
        with Engine.open(Config(home=str(tmp_path), embedding=lazy)) as engine:
            engine.save(Draft(title="zebra"))
            assert engine.embed().embedded == 1
            [(generation, _)] = engine.status().generations

    assert (generation.space.provider, generation.space.dimension) == ("openai", 64)


def test_no_choice_is_the_settings(tmp_path):
    set_embedding_provider("hashed", model="hashed-16")
    assert set_embedding_provider(None) is None

    with Engine.open(Config(home=str(tmp_path))) as engine:
        assert engine.vectors.probe().provider == "local"


def test_an_embedder_given_to_an_engine_comes_first(tmp_path):
    set_embedding_provider("hashed", model="hashed-16")

    with Engine.open(Config(home=str(tmp_path)), embedder=HashedEmbedder(8)) as engine:
        assert engine.vectors.probe().dimension == 8


def test_what_does_not_exist_is_refused_and_changes_nothing(tmp_path):
    with pytest.raises(Refused, match="nobody"):
        set_embedding_provider("nobody")
    with Engine.open(Config(home=str(tmp_path))) as engine:
        assert engine.vectors.probe().provider == "local"


@pytest.mark.parametrize(
    "rows", [[[1.0] * 32], [[0.0] * 32] * 2, [[float("nan")] * 32] * 2, [[1.0] * 31] * 2, ["ab", "c"], None], ids=str
)
def test_what_is_generated_is_checked(rows):
    class Wrong(Elsewhere):
        def batch_generate(self, texts):
            return rows

    with pytest.raises(Garbled, match="elsewhere-1"):
        Adapted(Wrong()).embed(["a", "b"], "passage")
