"""Where chunks are found by the words they hold: a part of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId
    from memory.schema.query import Scope, Term


class Keywords(Protocol):
    """
    The keyword index over the chunks.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def weigh(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        """
        The terms with what the store knows of them; of those that mean the same to it, in all their forms, the first.

        A word of at least 3 characters that hardly a chunk holds becomes a prefix, if that finds more. In place of a
        term that no chunk holds in any form stand its parts, if a chunk holds one of them. The rarest are looked for
        first, as long as `memory.text.terms.Allowance` allows; those that would read more are `cut`. The rule is
        `memory.text.terms.weighed`: a store counts.
        """
        ...

    def by_keyword(self, terms: Sequence[Term], scope: Scope, k: int) -> Ranking:
        """The best k chunks in scope that hold any of the terms, by BM25. `terms` come from `weigh`."""
        ...

    def keyword_scores(self, terms: Sequence[Term], ids: Sequence[ChunkId]) -> Ranking:
        """The same scores for given chunks; those that hold no term are left out."""
        ...

    def texts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, str]:
        """What is indexed of chunks in words: title, heading, text, why, impact, a line each; those that are there."""
        ...
