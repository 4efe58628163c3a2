"""The default model, all-MiniLM-L6-v2, without torch: in numpy, or many passages in 8 bits by onnxruntime."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from memory.schema.errors import Garbled, Refused
from memory.text.tokens import batches
from memory.vectors.local import INSTALL, VOCABULARY, WEIGHTS, model_folder
from memory.vectors.local.minilm import HEADS, POSITIONS, WIDTH, Network, network
from memory.vectors.local.wordpiece import WordPiece, tokenizer
from memory.vectors.models import library, tried_twice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from memory.schema.space import Vectors
    from memory.vectors import Role
    from memory.vectors.local.minilm import Dense, Floats, Norm

PIECES = POSITIONS - 2  # without [CLS] and [SEP]
BATCH = POSITIONS  # tokens in one pass: larger passes are no faster, and leave cores idle at the end
THREADS = 16  # at most: each takes about 5 MB

LARGEST = 64  # of 127: a processor without VNNI adds two products in 16 bits, at most 2 * 255 * 64
OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8  # of that opset: an older runtime reads it too


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
            bulk: Loads the network for passages, e.g. `quantised`.
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


class Quantised:
    """
    The network with 8-bit weights, run by onnxruntime: many passages in less than half the time.

    Its vectors are close enough to those of `Network` to be mixed with them (docs/decisions/embedding.md).
    The graph is built from the same weights at each load, which takes less time than checking a stored copy.
    Activations are quantised with one scale per run, so each text has its own run:
    its vector does not depend on other texts.
    """

    def __init__(self, network: Network) -> None:
        """
        Raises:
            Refused: onnx or onnxruntime is not installed.
        """
        runtime = library("onnxruntime", "onnxruntime", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # the caller already has a thread for each core
        self._network = network
        graph = _Graph(network).model()
        self._session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def means(self, sentences: Sequence[Sequence[int]]) -> Floats:
        """See `Network.means`."""
        return np.stack([self._mean(sentence) for sentence in sentences])

    def _mean(self, sentence: Sequence[int]) -> Floats:
        tokens = self._network.words[list(sentence)] + self._network.places[: len(sentence)]
        (hidden,) = self._session.run(None, {"tokens": tokens[None]})
        mean: Floats = hidden[0].mean(axis=0)
        return mean


def quantised(path: Path) -> Quantised:
    """
    The network of a `model.safetensors`.

    Raises:
        Refused: The file is damaged, or onnx or onnxruntime is not installed.
    """
    return Quantised(network(path))


class _Graph:
    """An ONNX graph under construction; each method takes the names of values and returns the name of its result."""

    def __init__(self, network: Network) -> None:
        self._onnx = library("onnx", "onnx", "onnx")
        self._network = network
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> bytes:
        """The graph from tokens, shape (1, tokens, 384), to the last layer's output of the same shape, serialised."""
        helper, kind = self._onnx.helper, self._onnx.TensorProto.FLOAT
        x = self._norm("tokens", self._network.norm)
        for layer in self._network.layers:
            names = [f"{part}of{len(self._nodes)}" for part in ("query", "key", "value")]
            parts = self._dense(x, [layer.query, layer.key, layer.value])
            self._nodes.append(helper.make_node("Split", [parts], names, axis=2))
            mixed = self._node("MultiHeadAttention", names, domain="com.microsoft", num_heads=HEADS)
            x = self._norm(self._node("Add", [x, self._dense(mixed, [layer.mixed])]), layer.mixed_norm)
            wide = self._node("Gelu", [self._dense(x, [layer.widen])], domain="com.microsoft")
            x = self._norm(self._node("Add", [x, self._dense(wide, [layer.narrow])]), layer.norm)
        ends = [helper.make_tensor_value_info(name, kind, [1, "tokens", WIDTH]) for name in ("tokens", x)]
        graph = helper.make_graph(self._nodes, "minilm", ends[:1], ends[1:], self._constants)
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        content: bytes = helper.make_model(graph, opset_imports=sets, ir_version=IR_VERSION).SerializeToString()
        return content

    def _dense(self, x: str, parts: Sequence[Dense]) -> str:
        """The outputs of all parts side by side, each with its own scale."""
        weight = np.concatenate([part.weight for part in parts])
        bias = np.concatenate([part.bias for part in parts])[:, 0]
        scale = np.abs(weight).max(axis=1) / np.float32(LARGEST)
        scale[scale == 0] = 1  # damaged weights
        integers = np.rint(weight / scale[:, None]).astype(np.int8)
        zeros = np.zeros(len(scale), dtype=np.int8)
        inputs = [self._constant(array) for array in (integers.T, scale, zeros, bias)]
        return self._node("DynamicQuantizeMatMul", [x, *inputs], domain="com.microsoft")

    def _norm(self, x: str, norm: Norm) -> str:
        inputs = [x, self._constant(norm.weight[:, 0]), self._constant(norm.bias[:, 0])]
        return self._node("LayerNormalization", inputs, axis=-1, epsilon=1e-12)

    def _node(self, operation: str, inputs: Sequence[str], **attributes: object) -> str:
        name = f"value{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operation, inputs, [name], **attributes))
        return name

    def _constant(self, array: Any) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name
