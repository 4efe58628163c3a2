"""An embedder whose calls are in the usage log, and that notices if the model behind it was exchanged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from memory.embed import FINGERPRINT_TEXT, host
from memory.embed.breaker import CircuitBreaker
from memory.embed.fingerprint import RECHECK_SECONDS
from memory.embed.third_party import third_party, unit_rows
from memory.embed.usage import HostCalls, current, utc_now
from memory.embed.windows import estimated
from memory.schema.errors import Unreachable
from memory.schema.usage import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from memory.embed import Embedder, Role
    from memory.embed.fingerprint import Check
    from memory.embed.usage import ProcessCalls
    from memory.schema.space import Vectors
    from memory.schema.usage import Budget
    from memory.store.usage import UsageLog

__all__ = ["Metered"]


class Metered:
    """
    Any embedder that is not a `Client`.

    What stays in this process is added up afterwards and costs a search nothing; what leaves it, as a plug-in's may,
    is reserved before, within the day's budget.
    """

    def __init__(
        self,
        embedder: Embedder,
        log: UsageLog,
        calls: ProcessCalls,
        *,
        budget: Budget | None = None,
        pause_seconds: float = 60.0,
        check: Check | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """
        Args:
            budget, pause_seconds: Of one that sends texts; see `memory.embed.client.Terms`.
            check: Gets the model's fingerprint now and then, before vectors are given away; None for models that
                cannot change under their name.
        """
        self._embedder, self._process_calls, self._check, self._now = embedder, calls, check, now
        self._checked_at = -RECHECK_SECONDS
        with third_party("the embedder"):
            self.provider, self.model, self.host = embedder.provider, embedder.model, host(embedder)
            self.passage_prefix = str(getattr(embedder, "passage_prefix", ""))
        self._name = f"{self.provider}:{self.model}"
        self._host_calls = HostCalls(self.host, log, budget=budget) if self.host else None
        self._breaker = CircuitBreaker(self.host, log, pause_seconds, now)
        self.fingerprint: Vectors | None = None

    @property
    def dimension(self) -> int:
        with third_party(self._name):  # read each time: an embedder of one's own may change while it lives
            return int(self._embedder.dimension)

    @property
    def warm(self) -> bool:
        with third_party(self._name):
            return bool(self._embedder.warm)

    def windows(self, text: str) -> Sequence[str]:
        with third_party(self._name):
            return self._embedder.windows(text)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """
        See `Embedder.embed`. What it gives is checked, whoever wrote it.

        Raises:
            Refused, Garbled: It raised something, or gave something that is no vectors of its dimension.
        """
        if self._check is not None and time.monotonic() - self._checked_at >= RECHECK_SECONDS:
            self.fingerprint = self._logged([FINGERPRINT_TEXT], "passage")[0]
            self._check(self, self.fingerprint)
            self._checked_at = time.monotonic()
        return self._logged(texts, role)

    def _logged(self, texts: Sequence[str], role: Role) -> Vectors:
        tokens = sum(map(estimated, texts))
        moment, purpose = self._now(), current().name
        call = Call(moment, self.provider, self.model, purpose, self.host, texts=len(texts), tokens=tokens)
        if self._host_calls is None:
            begin = time.perf_counter()
            vectors = self._vectors(texts, role)
            self._process_calls.add(call._replace(seconds=time.perf_counter() - begin))
            return vectors
        self._breaker.check()
        call = call._replace(bytes_out=sum(len(text.encode()) for text in texts))
        try:
            with self._host_calls.reserved(call):
                vectors = self._vectors(texts, role)
        except Unreachable as error:
            self._breaker.open(error)
            raise
        self._breaker.close()
        return vectors

    def _vectors(self, texts: Sequence[str], role: Role) -> Vectors:
        with third_party(self._name):
            rows = self._embedder.embed(texts, role)
        if not texts:
            return rows
        return unit_rows(rows, len(texts), self._name, self.dimension)

    def close(self) -> None:
        """Record what is not recorded yet."""
        if self._host_calls is not None:
            self._host_calls.write()
