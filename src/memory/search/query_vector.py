"""
The vector of a query, made once by the model whose vectors are searched;
queued chunks are embedded along with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.answer import Notice
from memory.schema.errors import EmbedError, SpaceMismatch, StoreError, Unembedded

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.embed.registry import Embedders, MeteredEmbedder
    from memory.schema.holder import Backfilled
    from memory.schema.space import Vectors
    from memory.search.retrievers import Trace
    from memory.store import Generation, Store


class QueryVector:
    """The vector of one query; once made, it is in the trace."""

    def __init__(
        self,
        text: str,
        store: Store,
        embedders: Embedders,
        *,
        backfill: Callable[[int], Backfilled | None],
        trace: Trace,
    ) -> None:
        self._text, self._store, self._embedders = text, store, embedders
        self._backfill, self._trace = backfill, trace

    def get(self) -> tuple[Generation, Vectors]:
        """The generation to search, and the query's vector in its space, shape (dimension,)."""
        if self._trace.made is None:
            self._embedders.check_circuit(self._text)
            generation, embedder = self._answering()
            vector, whole = self._embedders.query(embedder, self._text)
            if not whole:
                self._notice("the query is longer than the model reads: its beginning was embedded")
            self._trace.made = (generation, vector)
            self._trace.step("embed", 1, str(generation.space))
            self._try_embed_queue()
        return self._trace.made

    def get_inside(self) -> tuple[Generation, Vectors] | None:
        """
        The same if it exists or a model in this process can make it; otherwise None.

        If that model fails, a notice says why.
        """
        embedders = self._embedders
        try:
            if self._trace.made is None and embedders.enabled and embedders.inside and not self._answering()[1].host:
                self.get()
        except (EmbedError, SpaceMismatch) as error:
            self._notice(f"no similarity is known: {error}", error.hint)
        return self._trace.made

    def _answering(self) -> tuple[Generation, MeteredEmbedder]:
        """The active generation and its embedder; if nothing has been embedded yet, embeds the queue first."""
        try:
            return self._embedders.answering()
        except Unembedded:
            self._embed_queue()
            return self._embedders.answering()

    def _try_embed_queue(self) -> None:
        """Embed the queue; a failure becomes a notice, because most chunks already have a vector to compare with."""
        try:
            self._embed_queue()
        except (EmbedError, SpaceMismatch, StoreError) as error:
            self._notice(f"chunks wait for their vectors: {error}", error.hint)

    def _embed_queue(self) -> None:
        """Embed queued chunks as far as that is worth a search's time."""
        if not (queued := self._store.queue.queued()):
            return
        if (backfilled := self._backfill(queued)) is None:
            self._notice(f"{queued:,} chunks have no vector yet and are found by keyword only", "Run `memory embed`.")
            self._trace.partial = True
            return
        if backfilled.embedded or backfilled.failed:
            self._trace.step("fill", backfilled.embedded, backfilled.error)
        if backfilled.more:
            self._trace.partial = True
            text = f"{backfilled.left:,} chunks have no vector yet and are found by keyword only"
            self._notice(text, "The next searches go on with them; `memory embed` does it now.")

    def _notice(self, text: str, hint: str = "") -> None:
        self._trace.notices.append(Notice(text, hint))
