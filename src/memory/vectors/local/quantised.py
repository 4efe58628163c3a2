"""
The default model in 8 bits, run by onnxruntime: for many passages at once.

Its graph is made of the installed weights once and kept in the folder of models: a process that reads it loads no `onnx`,
which saves half of the time until the first passage, and a third of the memory.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from memory.config.files import folders, write_file
from memory.vectors.local import models_folder, quantised_files
from memory.vectors.local.embedder import HEADS, WIDTH, network
from memory.vectors.models import library

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memory.vectors.local.embedder import Dense, Floats, Network, Norm

RECIPE = 1  # of the graph: another one makes another file
LARGEST = 64  # of 127: a processor without VNNI adds two products in 16 bits, at most 2 * 255 * 64
OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8  # of that opset: an older runtime reads it too


class Quantised:
    """
    The network with 8-bit weights, run by onnxruntime: many passages in a third of the time.

    Its vectors are close enough to those of `Network` to be mixed with them (docs/decisions/embedding.md).
    Activations are quantised with one scale per run, so each text has its own run:
    its vector does not depend on other texts.
    """

    def __init__(self, network: Network, graph: bytes) -> None:
        """
        Raises:
            Refused: onnxruntime is not installed.
        """
        runtime = library("onnxruntime", "onnxruntime", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # the caller already has a thread for each core
        # Further optimisations merge additions with norms, into a kernel that takes six times as long.
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._network = network
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
    The network of a `model.safetensors`; the first call makes the file of its graph.

    Raises:
        Refused: The weights are damaged, or onnx or onnxruntime is not installed.
        OSError: The weights cannot be looked at.
    """
    library("onnxruntime", "onnxruntime", "onnx")  # nothing is made for nobody
    own, found = network(path), path.stat()
    file = models_folder() / f"{quantised_files()}{RECIPE}-{found.st_size:x}-{found.st_mtime_ns:x}"
    return Quantised(own, _kept(file) or _made(own, file))


def _kept(file: Path) -> bytes | None:
    """The graph in a file, behind its SHA-256; None if there is none, or it is damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    return content[32:] if sha256(content[32:]).digest() == content[:32] else None


def _made(network: Network, file: Path) -> bytes:
    """The graph of a network, also written into a file if that can be, in place of what other weights made."""
    graph = _Graph(network).model()
    with suppress(OSError), folders(file.parent, private=True):
        write_file(file, sha256(graph).digest() + graph)
        for other in file.parent.glob(f"{quantised_files()}*"):
            if other.name != file.name:
                other.unlink(missing_ok=True)
    return graph


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
