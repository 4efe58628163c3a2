"""Passages by onnxruntime, where it is installed: `make test-models`."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from embedder_suite import TEXTS, EmbedderSuite, cosines

from memory.schema.errors import Refused
from memory.vectors.local.embedder import LocalEmbedder
from memory.vectors.local.quantised import quantised

PASSAGES = [text for text in TEXTS if text.strip()]

for module in ("onnx", "onnxruntime"):
    pytest.importorskip(module)


@pytest.fixture(scope="module")
def bulk() -> LocalEmbedder:
    return LocalEmbedder(bulk=quantised)


class TestOnnx(EmbedderSuite):
    @pytest.fixture
    def embedder(self, bulk: LocalEmbedder) -> LocalEmbedder:
        return bulk


def test_a_query_has_the_vector_of_the_local_model(bulk: LocalEmbedder) -> None:
    assert (bulk.embed(TEXTS, "query") == LocalEmbedder().embed(TEXTS, "query")).all()


def test_a_passage_is_where_the_local_model_puts_it(bulk: LocalEmbedder) -> None:
    assert cosines(bulk.embed(PASSAGES, "passage"), LocalEmbedder().embed(PASSAGES, "passage")).min() >= 0.98


def test_passages_are_read_with_integers(bulk: LocalEmbedder) -> None:
    assert cosines(bulk.embed(PASSAGES, "passage"), bulk.embed(PASSAGES, "query")).max() < 0.9999


def test_passages_rank_as_with_the_local_model(bulk: LocalEmbedder) -> None:
    queries = bulk.embed(PASSAGES, "query")

    nearest = np.argmax(queries @ bulk.embed(PASSAGES, "passage").T, axis=1)

    assert [PASSAGES[near] for near in nearest] == PASSAGES


@pytest.mark.parametrize("module", ["onnx", "onnxruntime"])
def test_a_missing_library_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # how the import system writes "no such module"

    with pytest.raises(Refused, match="not installed") as refused:
        LocalEmbedder(bulk=quantised).embed(["a text"], "passage")

    assert "onnx" in refused.value.hint
