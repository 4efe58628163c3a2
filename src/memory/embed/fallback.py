"""A second server for the same space, asked when the first cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import EmbedError, OverBudget, Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.embed import Role
    from memory.embed.requests import Requests
    from memory.schema.space import Vectors

__all__ = ["WithFallback"]


class WithFallback:
    """
    Two servers of one provider and model.

    The second is asked when the first gives no answer or the day's budget for it is spent. Both are held to the same
    fingerprint: a server whose model is another is refused.
    """

    def __init__(self, first: Requests, second: Requests) -> None:
        self._first, self._second = first, second
        self.provider, self.model, self.host = first.provider, first.model, first.host
        self.fallback = second.host
        self.passage_prefix = first.passage_prefix

    @property
    def fingerprint(self) -> Vectors | None:
        return self._second.fingerprint if self._first.fingerprint is None else self._first.fingerprint

    @property
    def dimension(self) -> int:
        try:
            return self._first.dimension
        except (Unreachable, OverBudget) as error:
            try:
                return self._second.dimension
            except EmbedError:
                raise error from None

    @property
    def warm(self) -> bool:
        return self._first.warm or self._second.warm

    def windows(self, text: str) -> Sequence[str]:
        return self._first.windows(text)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """See `Embedder.embed`. If the second fails as well, the error is that of the first."""
        try:
            return self._first.embed(texts, role)
        except (Unreachable, OverBudget) as error:
            try:
                return self._second.embed(texts, role)
            except (Unreachable, OverBudget):
                raise error from None
