"""A model that fails to load is tried once more, and once only."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from memory.schema.errors import Refused
from memory.vectors.local.embedder import LocalEmbedder, network
from memory.vectors.local.wordpiece import tokenizer
from memory.vectors.models import tried_twice
from memory.vectors.providers.inside import SentenceTransformersEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable


class Failing:
    """Does what it stands for, but for the first times, when the disk is away."""

    def __init__(self, act: Callable[..., Any], times: int, error: type[Exception] = OSError) -> None:
        self.act, self.times, self.error, self.calls = act, times, error, 0

    def __call__(self, *given: Any, **said: Any) -> Any:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error("the disk is away")
        return self.act(*given, **said)


def test_what_fails_once_is_tried_once_more() -> None:
    assert tried_twice(Failing(lambda: 7, 1), OSError) == 7
    with pytest.raises(OSError, match="away"):
        tried_twice(Failing(lambda: 7, 2), OSError)


def test_what_fails_in_another_way_is_not_tried_again() -> None:
    load = Failing(lambda: 7, 1, KeyError)
    with pytest.raises(KeyError):
        tried_twice(load, OSError)
    assert load.calls == 1


@pytest.mark.parametrize("times", [1, 2])
def test_weights_that_cannot_be_read_are_read_again(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    embedder = LocalEmbedder()
    mapped = Failing(np.memmap, times)
    monkeypatch.setattr(np, "memmap", mapped)

    with nullcontext() if times == 1 else pytest.raises(Refused, match="away"):
        assert embedder.embed(["a text"], "query").shape == (1, 384)
    assert mapped.calls == 2


def test_a_vocabulary_that_cannot_be_read_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer.cache_clear()
    read = Failing(Path.read_text, 1)
    monkeypatch.setattr(Path, "read_text", lambda path, **said: read(path, **said))  # noqa: PLW0108  # a method of it

    assert LocalEmbedder().tokens("a text") == 2
    assert read.calls == 2


def test_the_network_that_reads_passages_is_loaded_again() -> None:
    bulk = Failing(network, 1)

    assert LocalEmbedder(bulk=bulk).embed(["a text"], "passage").shape == (1, 384)
    assert bulk.calls == 2


@pytest.mark.parametrize(("times", "error"), [(1, OSError), (1, RuntimeError), (2, OSError)])
def test_a_model_of_sentence_transformers_is_loaded_again(
    monkeypatch: pytest.MonkeyPatch, times: int, error: type[Exception]
) -> None:
    """With a stand-in for the library; the real one is asked in tests/models."""

    class Model:
        def encode(self, texts: list[str], **_: object) -> np.ndarray:
            return np.ones((len(texts), 4), np.float32)

    load = Failing(lambda *_, **__: Model(), times, error)
    names = ("sentence_transformers", "transformers", "transformers.utils", "transformers.utils.logging")
    modules = {name: ModuleType(name) for name in names}
    modules["sentence_transformers"].SentenceTransformer = load
    logging = modules["transformers.utils.logging"]
    modules["transformers.utils"].logging = logging
    logging.is_progress_bar_enabled = lambda: False
    logging.disable_progress_bar = lambda: None
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    embedder = SentenceTransformersEmbedder("some/model")

    with nullcontext() if times == 1 else pytest.raises(Refused, match="away"):
        assert embedder.embed(["a text"], "query").shape == (1, 4)
    assert load.calls == 2
