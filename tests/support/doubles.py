"""Embedders for tests: real vectors of `HashedEmbedder`, and something that is watched or goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import Unreachable
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.schema.space import Vectors
    from memory.vectors import Role


class Watched(HashedEmbedder):
    """Remembers what it was asked, and takes nothing that a provider might refuse."""

    def __init__(self, dimension: int = 64, *, before: Callable[[], None] = lambda: None) -> None:
        super().__init__(dimension)
        self.queries: list[str] = []
        self.passages: list[str] = []
        self._before = before

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        assert role in {"query", "passage"}
        assert texts
        assert all(text.strip() for text in texts)
        self._before()
        (self.queries if role == "query" else self.passages).extend(texts)
        return super().embed(texts, role)


class Away(Watched):
    """A server's: its texts leave this process."""

    host = "http://server.test"


class Down(HashedEmbedder):
    """Gives no answer, not even its dimension."""

    @property
    def dimension(self) -> int:
        raise Unreachable("hashed gives no answer", hint="Is it running?")

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        raise Unreachable("hashed gives no answer", hint="Is it running?")


class Renamed(HashedEmbedder):
    """A model of another name, or of the same name and another width."""

    def __init__(self, model: str, dimension: int = 64) -> None:
        super().__init__(dimension)
        self._model = model

    @property
    def model(self) -> str:
        return self._model
