"""
The default model, all-MiniLM-L6-v2, without torch: the embedder, and its network in numpy on memory-mapped weights, so that
there is no copy of the 90 MB.

It is BERT (Devlin et al. 2019) in the sizes of MiniLM (Wang et al. 2020), on arrays of shape (features, tokens):
`weights @ tokens` is up to twice as fast as `tokens @ weights.T` for a short query, and a head is a slice of rows.
The tokens of many texts are side by side, and only attention looks at one text at a time. So a text's result does not
depend on the other texts, except in the last bits of its sums.
All work is done in the calling thread: to use more cores, call from several threads.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod, sqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from memory.schema.errors import Garbled, Refused
from memory.text.tokens import batches
from memory.vectors.local import INSTALL, VOCABULARY, WEIGHTS, model_folder
from memory.vectors.local.wordpiece import WORDS, WordPiece, tokenizer
from memory.vectors.models import tried_twice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from memory.schema.space import Vectors
    from memory.vectors import Role
    from memory.vectors.local.quantised import Quantised

    Floats: TypeAlias = NDArray[np.float32]

WIDTH = 384
WIDE = 4 * WIDTH
LAYERS = 6
HEADS = 12
POSITIONS = 256  # the model's max_seq_length; the weights have 512, but it was not trained on them
BLOCK = 65_536  # numbers that the GELU handles at once, so that they stay in the cache

# OpenBLAS computes a product of fewer multiplications in the calling thread (interface/gemm.c: twice
# SMP_THRESHOLD_MIN * GEMM_MULTITHREAD_THRESHOLD). It shares a larger one among threads, for one caller at a time, and
# waits for the slowest: on a busy machine, that made a query take 280 ms instead of 7. With small products, one in each
# of the caller's threads, two cores are as busy as with OpenBLAS's large ones (docs/decisions/embedding.md).
ALONE = 2**19
TILE = 48  # tokens in one product; a multiple of 16, because whole registers are fastest

PIECES = POSITIONS - 2  # without [CLS] and [SEP]
BATCH = POSITIONS  # tokens in one pass: larger passes are no faster, and leave cores idle at the end
THREADS = 16  # at most: each takes about 5 MB


class LocalEmbedder:
    """
    all-MiniLM-L6-v2, from the weights that `memory model install` brings, or of a package.

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
            folder: Contains `model.safetensors` and `vocab.txt`. None is where the model is installed.
            bulk: Loads the network for passages, e.g. `memory.vectors.local.quantised.quantised`.
                None uses the one for queries.

        Raises:
            Refused: The model is not installed, or the folder lacks a file.
        """
        folder = folder or model_folder()
        if folder is None:
            raise Refused("the local model is not installed", hint=INSTALL)
        self._folder, self._bulk = folder, bulk
        for name in (WEIGHTS, VOCABULARY):
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
        sentences = self._tokenizer.sentences(texts, PIECES)
        # Longest first, so that threads finish together.
        longest = sorted(enumerate(map(len, sentences)), key=lambda one: -one[1])
        grouped = batches(longest, BATCH)
        vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
        network = self._network if role == "query" else self._passages
        means = _means(network, [[sentences[text] for text in batch] for batch in grouped])
        for batch, rows in zip(grouped, means, strict=True):
            vectors[batch] = rows
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise Garbled(f"the weights in {self._folder} give a vector without a direction", hint=INSTALL)
        vectors /= lengths
        return vectors

    @property
    def loaded(self) -> bool:
        """Whether a query's network is in memory."""
        return "_network" in self.__dict__

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
        return tried_twice(lambda: network(self._folder / WEIGHTS), Refused)

    @cached_property
    def _passages(self) -> Network | Quantised:
        if (bulk := self._bulk) is None:
            return self._network
        return tried_twice(lambda: bulk(self._folder / WEIGHTS), OSError, Refused)


def _means(network: Network | Quantised, batches: Sequence[Sequence[Sequence[int]]]) -> Iterator[Floats]:
    """The means of each batch's sentences, in order; several batches run in threads, at most one for each core."""
    if len(batches) <= 1:
        yield from map(network.means, batches)
        return
    from concurrent.futures import ThreadPoolExecutor

    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    with ThreadPoolExecutor(min(len(batches), cores, THREADS)) as threads:
        yield from threads.map(network.means, batches)


# The network ---------


@dataclass(frozen=True, slots=True)
class Dense:
    """
    Attributes:
        weight: Shape (outputs, inputs).
        bias: Shape (outputs, 1).
    """

    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        y = _product(self.weight, x)
        y += self.bias
        return y


@dataclass(frozen=True, slots=True)
class Norm:
    """
    Layer normalisation (Ba et al. 2016) of every column.

    Attributes:
        weight: Shape (features, 1).
        bias: Shape (features, 1).
    """

    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        y: Floats = x - x.mean(axis=0)
        variance = np.einsum("ij,ij->j", y, y) / np.float32(len(y))
        y *= 1 / np.sqrt(variance + np.float32(1e-12))
        y *= self.weight
        y += self.bias
        return y


@dataclass(frozen=True, slots=True)
class _Layer:
    query: Dense
    key: Dense
    value: Dense
    mixed: Dense
    mixed_norm: Norm
    widen: Dense
    narrow: Dense
    norm: Norm

    def __call__(self, x: Floats, bounds: Sequence[int]) -> Floats:
        """
        Args:
            x: Shape (384, tokens).
            bounds: Where each text begins, and where the last one ends.
        """
        heads = (HEADS, WIDTH // HEADS, x.shape[1])
        query, key, value = (part(x).reshape(heads) for part in (self.query, self.key, self.value))
        texts = [np.s_[:, :, start:stop] for start, stop in pairwise(bounds)]
        context = np.concatenate([_attention(query[text], key[text], value[text]) for text in texts], axis=2)
        x = self.mixed_norm(x + self.mixed(context.reshape(x.shape)))
        return self.norm(x + self._wide(x))

    def _wide(self, x: Floats) -> Floats:
        """`narrow(gelu(widen(x)))`; with many tokens, a quarter of the wide features at once, in taller tiles."""
        step = WIDE if x.shape[1] <= TILE else WIDTH
        y: Floats = np.zeros(x.shape, dtype=np.float32)
        for start in range(0, WIDE, step):
            some = np.s_[start : start + step]
            wide = _product(self.widen.weight[some], x)
            wide += self.widen.bias[some]
            y += _product(self.narrow.weight[:, some], _gelu(wide))
        y += self.narrow.bias
        return y


@dataclass(frozen=True, slots=True)
class Network:
    """
    Attributes:
        words: Shape (30522, 384); in 16 bits if the weights are, since a text needs few of them.
        places: Shape (256, 384): what each position adds, plus what a single text (not a pair) adds.
    """

    words: NDArray[np.floating]
    places: Floats
    norm: Norm
    layers: tuple[_Layer, ...]

    def means(self, sentences: Sequence[Sequence[int]]) -> Floats:
        """
        The mean of the last layer over each sentence's tokens, shape (len(sentences), 384), not normalised.

        Args:
            sentences: Ids with [CLS] and [SEP], at most 256 each.
        """
        bounds = list(accumulate(map(len, sentences), initial=0))
        numbers = np.fromiter((number for sentence in sentences for number in sentence), dtype=np.intp)
        tokens = self.words[numbers].astype(np.float32, copy=False)
        for start, stop in pairwise(bounds):
            tokens[start:stop] += self.places[: stop - start]
        x = self.norm(np.ascontiguousarray(tokens.T))
        for layer in self.layers:
            x = layer(x, bounds)
        means: Floats = np.add.reduceat(x, bounds[:-1], axis=1)
        means /= np.diff(bounds)
        return means.T


def _product(weight: Floats, x: Floats) -> Floats:
    """`weight @ x`, in tiles of less than ALONE multiplications."""
    (outputs, inputs), tokens = weight.shape, x.shape[1]
    y: Floats = np.empty((outputs, tokens), dtype=np.float32)
    rest = tokens % TILE
    for part, columns in ((np.s_[:, : tokens - rest], TILE), (np.s_[:, tokens - rest :], rest)):
        if x[part].size:
            rows = outputs >> (outputs * inputs * columns // ALONE).bit_length()
            np.matmul(
                weight.reshape(-1, 1, rows, inputs),
                x[part].reshape(inputs, -1, columns).transpose(1, 0, 2),
                out=y[part].reshape(outputs // rows, rows, -1, columns).transpose(0, 2, 1, 3),
            )
    return y


def _attention(query: Floats, key: Floats, value: Floats) -> Floats:
    """
    For each token, the values of all tokens weighted by softmax (Vaswani et al. 2017, section 3.2.1).

    All three and the result have the shape (heads, features, tokens).
    """
    _, features, tokens = query.shape
    key = key.transpose(0, 2, 1)
    query = query * np.float32(1 / sqrt(features))
    context = np.empty(query.shape, dtype=np.float32)
    ones = np.ones((1, tokens), dtype=np.float32)
    step = (ALONE - 1) // (features * tokens)
    for start in range(0, tokens, step):
        some = np.s_[:, :, start : start + step]
        weights: Floats = key @ query[some]
        weights -= _greatest(weights)
        np.exp(weights, out=weights)
        context[some] = value @ weights / (ones @ weights)  # a product sums five times as fast as `sum(axis=1)`
    return context


def _greatest(x: Floats) -> Floats:
    """Equal to `x.max(axis=1, keepdims=True)`, which goes row by row and takes three times as long."""
    while x.shape[1] > 1:
        half = -(-x.shape[1] // 2)
        x = np.maximum(x[:, :half], x[:, -half:])
    return x


# erf(x) = x A(x²) / B(x²) for |x| <= 4, beyond which it is 1 in float32. Coefficients from low to high: Eigen,
# MathFunctionsImpl.h, `generic_fast_erf_float` (also used by XLA).
_ERF_ABOVE = (
    -1.60960333262415e-02,
    -2.95459980854025e-03,
    -7.34990630326855e-04,
    -5.69250639462346e-05,
    -2.10102402082508e-06,
    2.77068142495902e-08,
    -2.72614225801306e-10,
)
_ERF_BELOW = (
    -1.42647390514189e-02,
    -7.37332916720468e-03,
    -1.68282697438203e-03,
    -2.13374055278905e-04,
    -1.45660718464996e-05,
)
# The same for erf(x / sqrt 2) / 2, so that the GELU needs no separate step for either factor.
_ABOVE = tuple(np.float32(a * 0.5 * sqrt(0.5) * 0.5**power) for power, a in enumerate(_ERF_ABOVE))
_BELOW = tuple(np.float32(b * 0.5**power) for power, b in enumerate(_ERF_BELOW))
_FLAT = np.float32(4 * sqrt(2))


def _gelu(x: Floats) -> Floats:
    """X times the standard normal distribution function of x (Hendrycks and Gimpel 2016, section 2)."""
    y = np.empty_like(x)
    rows = max(1, BLOCK // x.shape[1])
    for start in range(0, len(x), rows):
        block = x[start : start + rows]
        clipped = np.clip(block, -_FLAT, _FLAT)
        square = clipped * clipped
        clipped *= _polynomial(_ABOVE, square)
        clipped /= _polynomial(_BELOW, square)
        clipped += np.float32(0.5)
        np.multiply(block, clipped, out=y[start : start + rows])
    return y


def _polynomial(coefficients: Sequence[np.float32], x: Floats) -> Floats:
    y: Floats = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        y += coefficient
        y *= x
    y += coefficients[0]
    return y


_TYPES: dict[str, np.dtype[np.floating]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}


class _Weights:
    """
    The tensors of a safetensors file, memory-mapped: in 32 bits, or in 16 of which a copy in 32 is made.

    Format: 8 bytes of header size, little-endian, a JSON header, the numbers
    (https://github.com/huggingface/safetensors#format).
    """

    def __init__(self, path: Path) -> None:
        try:
            data = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
            start = 8 + int.from_bytes(data[:8].tobytes(), "little")
            header: object = json.loads(data[8:start].tobytes())
        except (OSError, ValueError, OverflowError) as error:
            raise Refused(f"cannot read the weights {path}: {error}", hint=INSTALL) from error
        self._path = path
        self._header = header if isinstance(header, dict) else {}
        self._numbers = data[start:]

    def tensor(self, name: str, *shape: int) -> Floats:
        """One tensor in 32 bits."""
        return self.stored(name, *shape).astype(np.float32, copy=False)

    def stored(self, name: str, *shape: int) -> NDArray[np.floating]:
        """A view of one tensor as it is, read-only."""
        match self._header.get(name):
            case {"dtype": "F32" | "F16" as width, "shape": [*found], "data_offsets": [int(start), int(stop)]} if (
                tuple(found) == shape
                and stop - start == (kind := _TYPES[str(width)]).itemsize * prod(shape)
                and start >= 0
                and stop <= len(self._numbers)
            ):
                return self._numbers[start:stop].view(kind).reshape(shape)
            case _:
                raise Refused(f"the weights {self._path} are damaged: no {name} of shape {shape}", hint=INSTALL)

    def dense(self, name: str, outputs: int, inputs: int) -> Dense:
        return Dense(self.tensor(f"{name}.weight", outputs, inputs), self.tensor(f"{name}.bias", outputs)[:, None])

    def norm(self, name: str) -> Norm:
        name += ".LayerNorm"
        return Norm(self.tensor(f"{name}.weight", WIDTH)[:, None], self.tensor(f"{name}.bias", WIDTH)[:, None])


def network(path: Path) -> Network:
    """
    The network in a `model.safetensors`; only the parts that are used are ever read.

    Raises:
        Refused: The file is damaged, or contains another network.
    """
    weights = _Weights(path)
    places = weights.tensor("embeddings.position_embeddings.weight", 512, WIDTH)[:POSITIONS]
    alone = weights.tensor("embeddings.token_type_embeddings.weight", 2, WIDTH)[0]
    return Network(
        words=weights.stored("embeddings.word_embeddings.weight", WORDS, WIDTH),
        places=places + alone,
        norm=weights.norm("embeddings"),
        layers=tuple(_layer(weights, f"encoder.layer.{number}") for number in range(LAYERS)),
    )


def _layer(weights: _Weights, name: str) -> _Layer:
    return _Layer(
        query=weights.dense(f"{name}.attention.self.query", WIDTH, WIDTH),
        key=weights.dense(f"{name}.attention.self.key", WIDTH, WIDTH),
        value=weights.dense(f"{name}.attention.self.value", WIDTH, WIDTH),
        mixed=weights.dense(f"{name}.attention.output.dense", WIDTH, WIDTH),
        mixed_norm=weights.norm(f"{name}.attention.output"),
        widen=weights.dense(f"{name}.intermediate.dense", WIDE, WIDTH),
        narrow=weights.dense(f"{name}.output.dense", WIDTH, WIDE),
        norm=weights.norm(f"{name}.output"),
    )
