"""Maintenance: the state of a memory, its search statistics, what is wrong, and moving it to another file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memory.schema.errors import StoreError
from memory.schema.limits import midnight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from memory.config.config import Config
    from memory.engine.documents import Documents
    from memory.engine.statistics import Statistics
    from memory.engine.status import Finding, Status
    from memory.engine.vectors import Vectors
    from memory.schema.answer import Searched, Step
    from memory.schema.draft import Saved
    from memory.store import Links, Store
    from memory.write.export import Exported
    from memory.write.jsonl import MemoryLine


CANDIDATES = ("keyword", "distilled", "vector", "fuse")
"""Steps that produce candidates."""


class SearchLog:
    """A record of searches, without what was asked. `memory.engine.Engine.searches` is one."""

    def __init__(self, store: Store, now: Callable[[], datetime], slow_seconds: float) -> None:
        """
        Args:
            slow_seconds: A search that takes longer is counted as slow, with a warning.
        """
        self._store, self._now, self._slow_seconds = store, now, slow_seconds

    def statistics(self, days: int | None = None) -> Statistics:
        """
        How many searches there were, how long they took and how far they went.

        Args:
            days: How many days back, including today (UTC); None is everything on record, at most the last 10,000.
        """
        from memory.engine.statistics import statistics

        since = None if days is None else midnight(self._now(), days)
        return statistics(self._store.usage.searches(since), self._slow_seconds)

    def record(self, one: Searched, steps: Sequence[Step] = (), *, mode: str, outcome: str) -> None:
        """
        Record a search, without what was asked, and warn if it was slow.
        A failure here never makes the search fail.
        """
        slow = one.seconds > self._slow_seconds
        if slow or "logging" in sys.modules:  # otherwise no one can be listening
            _log(one, steps, mode, outcome, slow=slow)
        try:
            self._store.usage.searched(one)
        except StoreError as error:
            import logging

            logging.getLogger("memory").info("this search is not counted: %s", error)


def _log(one: Searched, steps: Sequence[Step], mode: str, outcome: str, *, slow: bool) -> None:
    """
    Log one line about a search (CAP A46), at level DEBUG of the logger `memory.search`; a warning if it was slow.

    It has type, mode, tier, outcome, candidates by step, found, filled up, limit, the names of filters, and seconds;
    never the query's text or a filter's value.
    """
    import logging

    logger = logging.getLogger("memory.search")
    if logger.isEnabledFor(logging.DEBUG):
        candidates = {step.name: step.found for step in steps if step.name in CANDIDATES}  # of a name the last
        logger.debug(
            "%s: mode %s, tier %s, %s; candidates: %s; %s found, %s filled up, limit %s; filters: %s; %.3f s",
            *(one.type, mode, one.tier, outcome),
            ", ".join(f"{name} {found}" for name, found in candidates.items()) or "none",
            *(one.results, next((step.found for step in steps if step.name == "topup"), 0), one.limit),
            ", ".join(one.filters) or "none",
            one.seconds,
        )
    if slow:
        slowest = max(steps, key=lambda step: step.seconds, default=None)
        logging.getLogger("memory").warning(
            "slow search: %s took %.3f s, tier %s, %s%s",
            *(one.type, one.seconds, one.tier, f"{one.results} results"),
            f"; the slowest step was {slowest.name}, {slowest.seconds:.3f} s" if slowest else "",
        )


class Maintenance:
    """What is not daily use. `memory.engine.Engine.maintenance` is one."""

    def __init__(self, store: Store, config: Config, *, documents: Documents, vectors: Vectors) -> None:
        self._store, self._config = store, config
        self._documents, self._vectors = documents, vectors

    def status(self) -> Status:
        """How much is kept, which vectors there are, and what keeps the engine from doing all it could."""
        from memory.engine.status import status

        found = status(self._store, self._vectors.embedders, self._config.embedding)
        problem = self._documents.sanitizer.problem()
        return found if problem is None else found._replace(problems=(problem, *found.problems))

    def doctor(self, *, fix: bool = False) -> tuple[Finding, ...]:
        """
        Look at everything there is, also whether the model answers, and mend what can be mended.

        Args:
            fix: Repair it; otherwise nothing is changed.
        """
        from memory.engine.status import doctor

        parts = (self._store, self._vectors.embedders, self._config)
        return doctor(*parts, sanitizer=self._documents.sanitizer, fix=fix)

    # Carrying over -------------------------------------------------------

    def exported(self, lost: Callable[[str], None] | None = None) -> Iterator[Exported]:
        """
        Every memory with all that belongs to it, oldest first.

        Args:
            lost: Called with a sentence for each part of a damaged store that cannot be read; the rest is exported.

        Raises:
            StoreDamaged: Something cannot be read, and `lost` is None.
        """
        from memory.write.export import exported

        return exported(self._store, lost)

    def restore(self, lines: Sequence[MemoryLine]) -> list[Saved]:
        """
        Keep what an export brought, in one transaction; what is there already is left as it is.

        See `memory.write.jsonl.parsed`. Afterwards `link` connects them.
        """
        return self._documents.restore(lines)

    def link(self, links: Sequence[Links]) -> None:
        """Point restored memories to their parents and successors."""
        from memory.write.jsonl import link_memories

        link_memories(self._store, links)
