"""The vectors of recent queries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memory.schema.space import Space, Vectors

CACHED = 1_000  # query vectors that are kept (CAP A49)


class Asked(NamedTuple):
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
        self._vectors: OrderedDict[Asked, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, space: Space, text: str) -> bool:
        """Whether a query was asked before, of whatever model had this name."""
        with self._lock:
            return any((asked.space, asked.text) == (space, text) for asked in self._vectors)

    def get(self, asked: Asked) -> Vectors | None:
        with self._lock:
            if asked in self._vectors:
                self._vectors.move_to_end(asked)
            return self._vectors.get(asked)

    def put(self, asked: Asked, vector: Vectors) -> None:
        with self._lock:
            self._vectors[asked] = vector
            if len(self._vectors) > CACHED:
                self._vectors.popitem(last=False)
