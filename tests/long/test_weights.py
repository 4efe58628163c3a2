"""The package of weights that scripts/weights.py builds: 16 bits, the same space, nothing that it depends on."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from memory.vectors.local import MINILM, OWN, VOCABULARY, WEIGHTS
from memory.vectors.local.embedder import LocalEmbedder
from memory.vectors.local.install import install, sound

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "weights.py"


@pytest.fixture(scope="module")
def weights() -> ModuleType:
    spec = spec_from_file_location("weights", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tensors(header: dict[str, object], numbers: bytes) -> bytes:
    said = json.dumps(header).encode()
    return len(said).to_bytes(8, "little") + said + numbers


def test_numbers_of_32_bits_are_halved_and_others_stay(weights: ModuleType) -> None:
    places, exact = np.arange(3, dtype="<i8").tobytes(), np.array([[1, 0.1], [-2.5, 1e-3]], dtype="<f4")
    header = {
        "__metadata__": {"format": "pt"},
        "places": {"dtype": "I64", "shape": [3], "data_offsets": [0, 24]},
        "dense": {"dtype": "F32", "shape": [2, 2], "data_offsets": [24, 40]},
    }

    content = weights.halved(tensors(header, places + exact.tobytes()))

    start = 8 + int.from_bytes(content[:8], "little")
    assert start % 8 == 0
    assert json.loads(content[8:start]) == {
        "__metadata__": {"format": "pt"},
        "places": {"dtype": "I64", "shape": [3], "data_offsets": [0, 24]},
        "dense": {"dtype": "F16", "shape": [2, 2], "data_offsets": [24, 32]},
    }
    assert content[start : start + 24] == places
    assert np.frombuffer(content[start + 24 :], "<f2").tolist() == pytest.approx(exact.ravel().tolist(), rel=1e-3)


@pytest.mark.parametrize(("number", "shape"), [(70_000.0, [1]), (1.0, [2])])
def test_what_16_bits_cannot_hold_and_what_is_damaged_is_refused(
    weights: ModuleType, number: float, shape: list[int]
) -> None:
    header = {"dense": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}

    with pytest.raises(ValueError, match="dense"):
        weights.halved(tensors(header, np.array([number], dtype="<f4").tobytes()))


def test_the_package_is_taken_by_its_check_sum_and_gives_the_same_vectors(tmp_path: Path) -> None:
    built = subprocess.run([sys.executable, SCRIPT, "--to", tmp_path], capture_output=True, text=True, check=True)
    [wheel] = tmp_path.iterdir()

    folder = install(wheel=wheel, into=tmp_path / "models")

    assert folder is not None
    assert sound(folder)
    assert (folder / WEIGHTS).stat().st_size < 0.51 * max(MINILM.files[WEIGHTS].values())
    texts = ["a query", "Postgres pool raised to 20", "naïve café 日本語", "word " * 400]
    ours, exact = (LocalEmbedder(one).embed(texts, "query") for one in (folder, None))
    assert np.abs(ours - exact).max() < 1e-3
    assert "vectors differ by at most" in built.stdout


def test_the_package_has_its_notice_its_record_and_no_dependency(tmp_path: Path, weights: ModuleType) -> None:
    wheel = weights.wheel(tmp_path, b"weights", b"words")

    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    info = next(name.partition("/")[0] for name in files if name.endswith("/METADATA"))
    assert files[f"{OWN}/model/{WEIGHTS}"] == b"weights"
    assert files[f"{OWN}/model/{VOCABULARY}"] == b"words"
    assert b"Requires-Dist" not in files[f"{info}/METADATA"]
    assert b"apache.org/licenses/LICENSE-2.0" in files[f"{info}/licenses/NOTICE"]
    recorded = {line.split(",")[0] for line in files[f"{info}/RECORD"].decode().splitlines()}
    assert recorded == set(files)


def test_the_same_input_makes_the_same_package(tmp_path: Path, weights: ModuleType) -> None:
    sums = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        sums.append(hashlib.sha256(weights.wheel(tmp_path / name, b"weights", b"words").read_bytes()).hexdigest())

    assert sums[0] == sums[1]
