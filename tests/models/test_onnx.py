"""Passages by onnxruntime, where it is installed: `make test-models`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from embedder_suite import TEXTS, EmbedderSuite, cosines

from memory.schema.errors import Refused
from memory.vectors.local import quantised_files
from memory.vectors.local.embedder import LocalEmbedder
from memory.vectors.local.install import remove
from memory.vectors.local.quantised import quantised

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PASSAGES = [text for text in TEXTS if text.strip()]

for module in ("onnx", "onnxruntime"):
    pytest.importorskip(module)


@pytest.fixture(autouse=True, scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the model in 8 bits is kept."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memory.vectors.local.platform_folder", lambda: str(folder))
        yield folder / "models"


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
    monkeypatch: pytest.MonkeyPatch, module: str, tmp_path: Path
) -> None:
    monkeypatch.setattr("memory.vectors.local.platform_folder", lambda: str(tmp_path))
    monkeypatch.setitem(sys.modules, module, None)  # how the import system writes "no such module"

    with pytest.raises(Refused, match="not installed") as refused:
        LocalEmbedder(bulk=quantised).embed(["a text"], "passage")

    assert "onnx" in refused.value.hint


def test_it_is_made_once_and_again_where_it_is_damaged_or_the_weights_are_others(data: Path) -> None:
    LocalEmbedder(bulk=quantised).embed(["a text"], "passage")
    [file] = data.iterdir()
    made, number = file.read_bytes(), file.stat().st_ino

    LocalEmbedder(bulk=quantised).embed(["a text"], "passage")
    assert file.stat().st_ino == number

    file.write_bytes(made[:-1])
    (data / f"{quantised_files()}of-other-weights").write_bytes(made)
    LocalEmbedder(bulk=quantised).embed(["a text"], "passage")
    assert [file.read_bytes() for file in data.iterdir()] == [made]


def test_removing_the_model_deletes_it_in_8_bits(data: Path) -> None:
    LocalEmbedder(bulk=quantised).embed(["a text"], "passage")

    remove()

    assert not list(data.iterdir())


def test_where_it_cannot_be_kept_passages_are_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("memory.vectors.local.platform_folder", lambda: str(tmp_path / "file"))

    assert LocalEmbedder(bulk=quantised).embed(["a text"], "passage").shape == (1, 384)
