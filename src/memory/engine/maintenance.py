"""Maintenance: the state of a memory, its search statistics, what is wrong, and moving it to another file."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING

from memory.schema.answer import Notice, Searched, Step
from memory.schema.errors import StoreError, explained, iso, midnight

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from memory.config.config import Config
    from memory.engine.documents import Documents
    from memory.engine.statistics import Statistics
    from memory.engine.status import Finding, Status
    from memory.engine.vectors import Vectors
    from memory.keep.jsonl import MemoryLine
    from memory.schema.draft import Saved
    from memory.store import Links, Store
    from memory.store.export import Record


CANDIDATES = ("keyword", "distilled", "vector", "fuse")
"""Steps that produce candidates."""


class SearchLog:
    """A log of searches, without their texts. `memory.engine.Engine.searches` is one."""

    def __init__(self, path: str, now: Callable[[], datetime], slow_seconds: float) -> None:
        """
        Args:
            path: Of the database; the file of searches is beside it. Empty if there is none: nothing is recorded.
            slow_seconds: A search that takes longer is counted as slow, with a warning.
        """
        self._path, self._now, self._slow_seconds = path, now, slow_seconds

    def statistics(self, days: int | None = None) -> Statistics:
        """
        Search statistics: counts, latency, tiers.

        Args:
            days: How many days back, including today (local time); None takes the whole log, at most the last 10,000.
        """
        from memory.engine.statistics import statistics

        return statistics(self.entered(days), self._slow_seconds)

    def entered(self, days: int | None = None) -> Sequence[Searched]:
        """The logged searches of some days, oldest first; see `statistics`."""
        since = None if days is None else midnight(self._now(), days, None)
        return entered_searches(self._path, since) if self._path else []

    def record(self, one: Searched, steps: Sequence[Step] = (), *, mode: str, outcome: str) -> None:
        """Log a search, without its text, and warn if it was slow. A failure to log never makes the search fail."""
        slow = one.seconds > self._slow_seconds
        if slow or "logging" in sys.modules:  # otherwise no one can be listening
            _log(one, steps, mode, outcome, slow=slow)
        if not self._path:
            return
        try:
            enter_search(self._path, one)
        except OSError as error:
            import logging

            why = error.strerror or error
            logging.getLogger("memory").info("this search is not counted: cannot write %s: %s", _path(self._path), why)


def _log(one: Searched, steps: Sequence[Step], mode: str, outcome: str, *, slow: bool) -> None:
    """
    Log one line about a search, at level DEBUG of the logger `memory.search`; a warning if it was slow.

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


# What was searched: lines in a file beside the database --------------------------------------
#
# Not in a table of it: one row more cost a search in a process of its own 1.8 ms of 68, for a transaction and, by whoever
# closes the database last, a checkpoint with its syncs; and a sync took 0.1 ms there, where many disks take ten. A short
# append takes 0.03 ms, 0.5 with the loading of its code, and waits for no lock. Nothing but statistics depends on the
# file; it may be removed at any time.
#
# It has two halves: one that has grown to `HALF` takes the place of the former one. Of processes that find it grown at the
# same moment one moves it; only should another begin the next half within those microseconds, the former is lost early.

HALF = 400_000  # bytes, some 5,000 lines

SEARCHES = 10_000
"""How many searches are remembered at most."""


def enter_search(database: str, one: Searched) -> None:
    """Add a line in one write, which those of other processes do not mix with."""
    path = _path(database)
    line = "\t".join([iso(one.moment), *map(str, one[1:-1]), " ".join(one.filters)]) + "\n"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line.encode())
        mine = os.fstat(file)
    finally:
        os.close(file)
    if mine.st_size >= HALF and os.path.samestat(mine, os.stat(path)):
        os.replace(path, _former(path))


def entered_searches(database: str, since: datetime | None) -> list[Searched]:
    """A line that was cut short, as by a full disk, is left out."""
    path = _path(database)
    lines: list[str] = []
    with explained(StoreError, f"cannot read {path}"):
        for name in (_former(path), path):
            with suppress(FileNotFoundError), open(name, encoding="utf-8", errors="replace") as file:
                lines += file
    found = [one for line in lines if (one := _parsed(line)) is not None and (since is None or one.moment >= since)]
    return sorted(found, key=lambda one: one.moment)[-SEARCHES:]


def _path(database: str) -> str:
    return f"{database}-searches"


def _former(path: str) -> str:
    return f"{path}-old"


def _parsed(line: str) -> Searched | None:
    try:
        at, type, tier, seconds, limit, results, filters = line.rstrip("\n").split("\t")
        numbers = (float(seconds), int(limit), int(results))
        found = Searched(datetime.fromisoformat(at), type, tier, *numbers, tuple(filters.split()))
    except ValueError:
        return None
    return found if found.moment.tzinfo is not None and 0 <= found.seconds < float("inf") else None


class Maintenance:
    """Status, doctor, export and import. `memory.engine.Engine.maintenance` is one."""

    def __init__(self, store: Store, config: Config, *, documents: Documents, vectors: Vectors) -> None:
        self._store, self._config = store, config
        self._documents, self._vectors = documents, vectors

    def status(self) -> Status:
        """Counts of memories, the stored vectors, spending and problems. Changes nothing and asks no server."""
        from memory.engine.status import status

        found = status(self._store, self._vectors.embedders, self._config.embedding)
        problem = self._documents.sanitizer.problem()
        return found._replace(problems=(*filter(None, [problem]), *self._config.former, *found.problems))

    def doctor(self, *, fix: bool = False) -> tuple[Finding, ...]:
        """
        Check the database, the settings and the model; repair problems if asked.

        Args:
            fix: Repair what can be repaired; False changes nothing.
        """
        from memory.engine.status import doctor

        parts = (self._store, self._vectors.embedders, self._config)
        found = doctor(*parts, sanitizer=self._documents.sanitizer, fix=fix)
        if fix and all(one.well for one in found if one.name == "database"):
            self._store.vectors.sign()
            self._store.derive()
        return found

    # Carrying over -------------------------------------------------------

    def exported(self, lost: Callable[[str], None] | None = None) -> Iterator[Record]:
        """
        Every memory with all that belongs to it, oldest first.

        Args:
            lost: Called with a sentence for each part of a damaged store that cannot be read; the rest is exported.

        Raises:
            StoreDamaged: Something cannot be read, and `lost` is None.
        """
        from memory.store.export import exported

        return exported(self._store, lost)

    def restore(self, lines: Sequence[MemoryLine]) -> list[Saved]:
        """
        Keep what an export brought, in one transaction; what already exists is left as it is.

        See `memory.keep.jsonl.parsed`. Afterwards `link` connects them.
        """
        return self._documents.restore(lines)

    @contextmanager
    def importing(self) -> Generator[None]:
        """
        What is saved inside is of one import: it waits for its vectors until `catch_up`.

        The one place that every import passes, whatever it reads.
        """
        self._vectors.postponed = True
        try:
            yield
        finally:
            self._vectors.postponed = False

    def catch_up(self, progress: Callable[[int, int], None] = lambda _done, _total: None) -> tuple[Notice, ...]:
        """
        Embed what the import stored, if saves embed at all, `PATIENT` times as long as a save would; notices about what
        is not embedded. What waited before waits on.

        Args:
            progress: Called with how many chunks are done, and of how many.
        """
        vectors, ids = self._vectors, self._vectors.awaiting
        vectors.awaiting = []
        notices = self._documents.writer(patient=True).embed_rest(ids, progress)
        vectors.saved(ids)
        if ids and not notices:
            end = monotonic() + self._config.embedding.fill_seconds
            vectors.try_learning(going=lambda: monotonic() < end)
        return notices

    def link(self, links: Sequence[Links]) -> None:
        """Point restored memories to their parents and successors."""
        from memory.keep.jsonl import link_memories

        link_memories(self._store, links, self._documents.now())
