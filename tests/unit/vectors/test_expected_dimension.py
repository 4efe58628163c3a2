"""`embedding.dimensions` and $EMBEDDING_DIM refuse a model of another width; only the setting requests it of a model."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from asking import config
from provider import Provider

from memory import Config, Draft, Engine, Mode, Query
from memory.config import load
from memory.config.settings import EmbeddingSettings
from memory.schema.errors import ConfigError, EmbedError, Refused
from memory.vectors.registry import Embedders
from oracle.ram import RamStore


def test_the_documented_variable_sets_it() -> None:
    config = load("/dev/null", env={"EMBEDDING_DIM": "384"})

    assert (config.embedding.expected_dimension, config.embedding.dimensions) == (384, 0)


def test_a_width_that_is_none_is_refused_with_the_name_of_the_variable() -> None:
    with pytest.raises(ConfigError, match=r"\$EMBEDDING_DIM: expected a whole number"):
        load("/dev/null", env={"EMBEDDING_DIM": "wide"})


def kept(settings: Config, tmp_path) -> tuple[str, type[Exception] | None]:
    """What a save and what follows it say, and what a search by meaning raises. A slow server has answered by then."""
    with Engine.open(
        replace(settings, home=str(tmp_path)), key="sk-test", lasting=False
    ) as engine:  # nobody embeds beside
        said = [notice.text for notice in engine.save(Draft(title="Pool", what="The pool has 40 connections")).notices]
        try:
            engine.vectors.embed()
        except EmbedError as error:
            said.append(str(error))
        assert engine.search("pool connections").hits
        try:
            engine.search(Query("something else", mode=Mode.VECTOR))
        except Refused as error:
            return " ".join(said), type(error)
        return " ".join(said), None


@pytest.mark.parametrize(("expected", "refused"), [(0, False), (256, False), (384, True)])
def test_a_model_of_another_width_is_refused(tmp_path, expected: int, refused: bool) -> None:
    embedding = replace(Config().embedding, provider="hashed", dimensions=expected)

    said, raised = kept(replace(Config(), embedding=embedding), tmp_path)

    assert ("256 dimensions, not 384" in said) is refused
    assert raised is (Refused if refused else None)


@pytest.mark.parametrize("name", ["ollama", "openai"])
@pytest.mark.parametrize("right", [True, False])
def test_so_is_the_model_of_a_server_once_it_has_answered(tmp_path, name: str, right: bool) -> None:
    with Provider() as provider:
        width = len(provider.vectors(config(name, provider).embedding.model, ["x"])[0])
        settings = config(name, provider, dimensions=width + (not right), fill="eager")

        said, raised = kept(settings, tmp_path)

    words = {"ollama": f"{width} dimensions, not {width + 1}", "openai": "Must be less than or equal to"}
    assert (words[name] in said) is not right
    assert raised is None if right else issubclass(raised or Exception, Refused)


@pytest.mark.parametrize(("expected", "refused"), [(0, False), (256, False), (384, True)])
def test_a_model_of_a_width_that_is_not_expected_is_refused(tmp_path, expected: int, refused: bool) -> None:
    embedding = replace(Config().embedding, provider="hashed", expected_dimension=expected)

    said, raised = kept(replace(Config(), embedding=embedding), tmp_path)

    assert ("256 dimensions; 384 are expected" in said) is refused
    assert raised is (Refused if refused else None)


@pytest.mark.parametrize("name", ["ollama", "openai"])
@pytest.mark.parametrize("right", [True, False])
def test_no_server_is_asked_for_the_width_that_is_expected(tmp_path, name: str, right: bool) -> None:
    with Provider() as provider:
        width = len(provider.vectors(config(name, provider).embedding.model, ["x"])[0])
        settings = config(name, provider, expected_dimension=width + (not right), fill="eager")

        said, raised = kept(settings, tmp_path)
        with Engine.open(replace(settings, home=str(tmp_path)), key="sk-test") as engine:
            with nullcontext() if right else pytest.raises(Refused, match="are expected"):
                engine.vectors.probe()

    assert (f"{width} dimensions; {width + 1} are expected" in said) is not right
    assert raised is (None if right else Refused)
    assert provider.seen
    assert not any(seen.body.get("dimensions") for seen in provider.seen if "embed" in seen.path)


def test_no_model_of_this_process_is_cut_to_the_width_that_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the library; the real one is asked in tests/models."""
    cut = []
    library = ModuleType("sentence_transformers")
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)

    class Model:
        def __init__(self, *_: object, truncate_dim: int | None, **__: object) -> None:
            cut.append(truncate_dim)

        def encode(self, texts: list[str], **_: object) -> np.ndarray:
            return np.ones((len(texts), 4), np.float32)

    library.SentenceTransformer = Model
    names = ("transformers", "transformers.utils", "transformers.utils.logging")
    modules = {name: ModuleType(name) for name in names}
    logging = modules["transformers.utils.logging"]
    modules["transformers.utils"].logging = logging
    logging.is_progress_bar_enabled, logging.disable_progress_bar = lambda: False, lambda: None
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    settings = EmbeddingSettings(provider="sentence-transformers", model="some/model", expected_dimension=2)

    with pytest.raises(Refused, match="4 dimensions; 2 are expected"):
        Embedders(settings, RamStore()).configured().embed(["a text"], "passage")

    assert cut == [None]
