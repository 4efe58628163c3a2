"""Embedders as the engine uses them: with the ledger, the budget and all that is around a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memory.embed.books import Notes
from memory.embed.hosts import host_of
from memory.embed.registry import LASTING, SERVERS, made

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.config.settings import EmbeddingSettings
    from memory.embed import Embedder
    from memory.embed.books import Books
    from memory.embed.counted import Counted
    from memory.embed.registry import Wanted
    from memory.embed.remote import Remote
    from memory.embed.requests import Requests
    from memory.schema.space import Vectors
    from memory.schema.usage import Budget


class Maker:
    """Makes them, and closes what it made."""

    def __init__(self, settings: EmbeddingSettings, books: Books) -> None:
        self._settings, self._books = settings, books
        self.notes = Notes(books)
        self._open: list[Requests | Counted] = []

    def made(
        self, provider: str, wanted: Wanted, sealed: Callable[[Embedder, Vectors], None] | None = None
    ) -> Embedder:
        """
        Args:
            sealed: See `Requests`; None believes nothing of the model, not even the width in `wanted`.

        Raises:
            Refused: There is no such provider, or it cannot be used.
        """
        embedder = made(provider, wanted)
        if not hasattr(embedder, "ask"):
            return self.counted(embedder, sealed=None if provider in LASTING else sealed)
        first = self._requests(cast("Remote", embedder), wanted, sealed)
        if sealed is None or not wanted.settings.fallback or provider not in SERVERS:
            return first  # what says how a space is must not come from the second server
        from memory.embed.fallback import WithFallback

        wanted = wanted._replace(second=True)
        return WithFallback(first, self._requests(cast("Remote", made(provider, wanted)), wanted, sealed))

    def counted(self, embedder: Embedder, *, sealed: Callable[[Embedder, Vectors], None] | None = None) -> Counted:
        """One that asks no server itself, or that was made elsewhere."""
        from memory.embed.counted import Counted

        settings = self._settings
        found = Counted(
            embedder,
            self._books,
            self.notes,
            budget=_budget(settings),
            pause_seconds=settings.pause_seconds,
            sealed=sealed,
        )
        self._open.append(found)
        return found

    def _requests(self, remote: Remote, wanted: Wanted, sealed: Callable[[Embedder, Vectors], None] | None) -> Requests:
        from memory.embed.requests import Requests, Terms

        settings, known = wanted.settings, wanted.known
        own = not wanted.second or remote.host == host_of(remote.provider, settings)  # a fallback has no budget
        terms = Terms(
            known,
            settings.timeout_seconds,
            settings.query_seconds,
            settings.retries,
            settings.pause_seconds,
            _budget(settings) if own else None,
            settings.price or known.price,
            settings.dimensions,
        )
        if sealed is None:
            found = Requests(remote, terms, self._books)
        else:
            found = Requests(remote, terms, self._books, dimension=wanted.dimension or None, sealed=sealed)
        self._open.append(found)
        return found

    def close(self) -> None:
        """Write down what is still to be noted, and hang up."""
        self.notes.write()
        for embedder in self._open:
            embedder.close()


def _budget(settings: EmbeddingSettings) -> Budget | None:
    from memory.schema.usage import budget

    return budget(settings.daily_budget) if settings.daily_budget else None
