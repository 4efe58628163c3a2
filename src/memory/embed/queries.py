"""The vectors of recent queries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memory.schema.space import Space, Vectors

CACHED = 1_000  # query vectors that are kept (CAP A49)


class QueryKey(NamedTuple):
    """
    Attributes:
        stamp: Tells a model from what another process put in its place under the same name.
    """

    space: Space
    text: str
    stamp: bytes = b""


class Queries:
    """The last that were asked; threads may share it."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[QueryKey, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, space: Space, text: str) -> bool:
        """Whether a query was asked before, of whatever model had this name."""
        with self._lock:
            return any((key.space, key.text) == (space, text) for key in self._vectors)

    def get(self, key: QueryKey) -> Vectors | None:
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
            return self._vectors.get(key)

    def add(self, key: QueryKey, vector: Vectors) -> None:
        with self._lock:
            self._vectors[key] = vector
            if len(self._vectors) > CACHED:
                self._vectors.popitem(last=False)
