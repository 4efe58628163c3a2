"""The provider on the library itself, with the weights of the default model: `make test-models`."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import numpy as np
import pytest
from embedder_suite import TEXTS, EmbedderSuite, cosines

from memory import Draft, Engine
from memory.config import Config
from memory.config.settings import EmbeddingSettings
from memory.schema.errors import DimensionMismatch, Refused, SpaceMismatch
from memory.schema.query import Mode, Query
from memory.store import State
from memory.vectors.adapter import SentenceTransformerProvider
from memory.vectors.local import whole_folder
from memory.vectors.local.embedder import LocalEmbedder
from memory.vectors.models import ModelProfile
from memory.vectors.providers.inside import SentenceTransformersEmbedder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def embedder() -> SentenceTransformersEmbedder:
    """Loading it takes seconds; threads and tests may share it."""
    return SentenceTransformersEmbedder()


@pytest.fixture(scope="module")
def prefixed() -> SentenceTransformersEmbedder:
    return SentenceTransformersEmbedder(str(whole_folder()), profile=ModelProfile("query: ", "passage: "))


class TestSentenceTransformers(EmbedderSuite):
    @pytest.fixture
    def embedder(self, embedder: SentenceTransformersEmbedder) -> SentenceTransformersEmbedder:
        return embedder


class TestWithPrefixes(EmbedderSuite):
    @pytest.fixture
    def embedder(self, prefixed: SentenceTransformersEmbedder) -> SentenceTransformersEmbedder:
        return prefixed


def settings(**more: object) -> EmbeddingSettings:
    return EmbeddingSettings(**{"provider": "sentence-transformers"} | more)


def engine(home: Path, **more: object) -> Engine:
    return Engine.open(Config(home=str(home), embedding=settings(**more)))


def test_it_gives_what_the_local_model_gives(embedder: SentenceTransformersEmbedder) -> None:
    texts = [text for text in TEXTS if text.strip()]

    assert cosines(embedder.embed(texts, "passage"), LocalEmbedder().embed(texts, "passage")).min() > 0.9999


def test_a_prefix_is_put_before_and_the_models_own_prompt_is_not(embedder: SentenceTransformersEmbedder) -> None:
    prefixed = SentenceTransformersEmbedder(profile=ModelProfile("ask: ", "tell: "))

    assert np.allclose(prefixed.embed(["x y"], "query"), embedder.embed(["ask: x y"], "passage"), atol=1e-6)
    assert np.allclose(prefixed.embed(["x y"], "passage"), embedder.embed(["tell: x y"], "passage"), atol=1e-6)


@pytest.mark.parametrize("text", ["two words " * 500, "ünïcödé " * 500, "x" * 3000, "数据库" * 500, "a.b/c-d" * 400])
def test_no_window_is_longer_than_the_model_reads(embedder: SentenceTransformersEmbedder, text: str) -> None:
    windows = embedder.windows(text)

    assert "".join(windows) == text
    assert all(len(embedder._model.tokenizer(window)["input_ids"]) <= 256 for window in windows)


def test_vectors_can_be_shortened() -> None:
    assert SentenceTransformersEmbedder(shortened=64).embed(["a"], "query").shape == (1, 64)


def test_another_width_than_the_stored_one_is_a_mismatch() -> None:
    with pytest.raises(DimensionMismatch, match="384"):
        SentenceTransformersEmbedder(dimension=768).embed(["a"], "query")


def test_a_model_that_is_not_there_is_refused_without_a_download(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    program = """
        from memory.vectors.providers.inside import SentenceTransformersEmbedder
        from memory.schema.errors import Refused
        try:
            SentenceTransformersEmbedder("nobody/no-such-model").embed(["a"], "query")
        except Refused as error:
            print(error)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cannot load the model nobody/no-such-model" in ran.stdout, ran.stderr


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")

    with pytest.raises(Refused, match="cannot load"):
        SentenceTransformersEmbedder(str(tmp_path)).embed(["a"], "query")


def test_a_search_in_its_space_and_the_way_back(tmp_path: Path) -> None:
    with engine(tmp_path) as kept:
        kept.save(Draft(title="Postgres pool raised", what="Requests waited for connections"))
        kept.save(Draft(title="Switched to JWT", what="Cookies are gone"))
        assert kept.search("how do people log in").hits[0].memory.title == "Switched to JWT"
        [(generation, filled)] = kept.status().generations
        assert (str(generation.space.provider), filled) == ("sentence-transformers", 2)
    with Engine.open(Config(home=str(tmp_path))) as local:
        assert "memory reindex" in local.search("how do people log in").notices[0].hint
        local.reindex()
        assert local.search("how do people log in").hits[0].memory.title == "Switched to JWT"


QUESTION = "what is the longest a client waits for a database connection"


def test_a36_a37_the_documented_call_gives_the_vector_that_the_engine_compares(
    embedder: SentenceTransformersEmbedder,
) -> None:
    """The folder of the weights stands for the name "all-MiniLM-L6-v2": the hub is not asked."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(whole_folder()))
    found = model.encode([QUESTION], show_progress_bar=False)[0]

    assert (found.shape, found.dtype, len(found.tobytes())) == ((384,), np.float32, 1536)
    assert np.allclose(found, embedder.embed([QUESTION], "query")[0], atol=1e-6)
    assert np.allclose(found, LocalEmbedder().embed([QUESTION], "query")[0], atol=1e-5)


def test_e9_the_documented_class_generates_what_the_library_encodes() -> None:
    from sentence_transformers import SentenceTransformer

    provider = SentenceTransformerProvider(model_name="all-MiniLM-L6-v2")
    found = SentenceTransformer(str(whole_folder())).encode([QUESTION, "cookies"], show_progress_bar=False)

    assert (provider.model_name, provider.dimensions) == ("all-MiniLM-L6-v2", 384)
    assert np.allclose(provider.generate(QUESTION), found[0], atol=1e-5)
    assert np.allclose(provider.batch_generate([QUESTION, "cookies"]), found, atol=1e-5)


class Listening(SentenceTransformersEmbedder):
    """Remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.passages: list[str] = []

    def embed(self, texts, role):
        self.passages += texts if role == "passage" else []
        return super().embed(texts, role)


def test_a36_a39_the_cosine_of_a_hit_is_that_of_the_documented_vectors(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    model, listening = SentenceTransformer(str(whole_folder())), Listening()
    with Engine.open(Config(home=str(tmp_path), embedding=settings()), embedder=listening) as kept:
        kept.save(Draft(title="Postgres pool raised", what="Requests waited for connections"))

        (hit,) = kept.search(Query(QUESTION, mode=Mode.HYBRID)).hits

    (passage,) = [text for text in listening.passages if "Postgres" in text]
    query, found = model.encode([QUESTION, passage], show_progress_bar=False)
    assert hit.cosine == pytest.approx(float(query @ found), abs=1e-5)
    assert hit.cosine == pytest.approx(1 - float(np.linalg.norm(query - found)) ** 2 / 2, abs=1e-5)


def test_a36_e9_from_the_local_model_and_back_every_step_finds_the_same(tmp_path: Path) -> None:
    local, theirs = Config(home=str(tmp_path)), Config(home=str(tmp_path), embedding=settings())
    drafts = (
        Draft(title="Postgres pool raised", what="Requests waited for connections"),
        Draft(title="Switched to JWT", what="Cookies are gone"),
    )
    found = []
    for number, config in enumerate((local, theirs, local)):
        with Engine.open(config) as kept:
            if number:
                assert kept.reindex().embedded == (2 if number == 1 else 0)  # its own vectors were kept
            else:
                kept.save_all(drafts)
            hits = kept.search(Query(QUESTION, mode=Mode.HYBRID)).hits
            active = [one.space.provider for one, _ in kept.status().generations if one.state is State.ACTIVE]
            found.append((active, [(hit.memory.title, hit.cosine) for hit in hits]))

    assert [active for active, _ in found] == [["local"], ["sentence-transformers"], ["local"]]
    (_, first), *others = found
    assert first[0][0] == "Postgres pool raised"
    for _, hits in others:
        assert [title for title, _ in hits] == [title for title, _ in first]
        # The local model reads passages in 8 bits where onnx is installed, as here.
        assert [cosine for _, cosine in hits] == pytest.approx([cosine for _, cosine in first], abs=0.02)


def test_asking_for_the_state_loads_no_model(tmp_path: Path) -> None:
    with engine(tmp_path) as kept:
        kept.save(Draft(title="Postgres pool raised"))
        kept.vectors.renew_baseline()  # else a forecast times the model for what is left
    program = f"""
        import sys
        from memory import Engine
        from memory.config import Config
        from memory.config.settings import EmbeddingSettings
        settings = EmbeddingSettings(provider="sentence-transformers")
        with Engine.open(Config(home={str(tmp_path)!r}, embedding=settings)) as engine:
            engine.status(), engine.details(1), engine.forecast(), engine.search("postgres")
        sys.exit("torch" in sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_a_folder_whose_model_was_exchanged_does_not_answer(tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "model"
    shutil.copytree(whole_folder(), folder)
    with engine(tmp_path / "home", model=str(folder)) as kept:
        kept.save(Draft(title="Postgres pool raised"))
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    numbers = np.frombuffer(data[-40_000_000:], dtype=np.float32)
    data[-40_000_000:] = (0.5 * numbers).tobytes()  # another model
    weights.write_bytes(data)

    with engine(tmp_path / "home", model=str(folder)) as kept:
        answer = kept.search("zebra crossings")
        assert "same name" in answer.notices[0].text
        with pytest.raises(SpaceMismatch):
            kept.embed() if kept.status().counts.queued else kept.vectors.embedders.configured().embed(["x"], "query")


def test_e9_the_documented_provider_generates_what_the_embedder_does(embedder: SentenceTransformersEmbedder) -> None:
    provider = SentenceTransformerProvider("all-MiniLM-L6-v2")

    assert (provider.dimensions, provider.model_name) == (384, "all-MiniLM-L6-v2")
    assert np.allclose(provider.batch_generate(["a text"]), embedder.embed(["a text"], "passage"), atol=1e-6)
