"""Embedders as the engine uses them: with the ledger, the budget and all that is around a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memory.embed.hosts import host_of
from memory.embed.registry import LASTING, SERVERS, made
from memory.embed.usage import ProcessCalls

if TYPE_CHECKING:
    from memory.config.settings import EmbeddingSettings
    from memory.embed import Embedder
    from memory.embed.fingerprint import Check
    from memory.embed.metered import Metered
    from memory.embed.registry import Wanted
    from memory.embed.remote import Remote
    from memory.embed.requests import Requests
    from memory.schema.usage import Budget
    from memory.store.usage import UsageLog


class Maker:
    """Makes them, and closes what it made."""

    def __init__(self, settings: EmbeddingSettings, log: UsageLog) -> None:
        self._settings, self._log = settings, log
        self.calls = ProcessCalls(log)
        self._open: list[Requests | Metered] = []

    def made(self, provider: str, wanted: Wanted, check: Check | None = None) -> Embedder:
        """
        Args:
            check: See `Requests`; None believes nothing of the model, not even the width in `wanted`.

        Raises:
            Refused: There is no such provider, or it cannot be used.
        """
        embedder = made(provider, wanted)
        if not hasattr(embedder, "ask"):
            return self.metered(embedder, check=None if provider in LASTING else check)
        first = self._requests(cast("Remote", embedder), wanted, check)
        if check is None or not wanted.settings.fallback or provider not in SERVERS:
            return first  # what says how a space is must not come from the second server
        from memory.embed.fallback import WithFallback

        wanted = wanted._replace(second=True)
        return WithFallback(first, self._requests(cast("Remote", made(provider, wanted)), wanted, check))

    def metered(self, embedder: Embedder, *, check: Check | None = None) -> Metered:
        """One that asks no server itself, or that was made elsewhere."""
        from memory.embed.metered import Metered

        settings = self._settings
        found = Metered(
            embedder,
            self._log,
            self.calls,
            budget=_budget(settings),
            pause_seconds=settings.pause_seconds,
            check=check,
        )
        self._open.append(found)
        return found

    def _requests(self, remote: Remote, wanted: Wanted, check: Check | None) -> Requests:
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
        if check is None:
            found = Requests(remote, terms, self._log)
        else:
            found = Requests(remote, terms, self._log, dimension=wanted.dimension or None, check=check)
        self._open.append(found)
        return found

    def close(self) -> None:
        """Record what is not recorded yet, and hang up."""
        self.calls.write()
        for embedder in self._open:
            embedder.close()


def _budget(settings: EmbeddingSettings) -> Budget | None:
    from memory.schema.usage import budget

    return budget(settings.daily_budget) if settings.daily_budget else None
