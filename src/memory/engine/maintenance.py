"""Maintenance: status, doctor, the search log, export and import."""

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

    from memory.config import Config
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
            path: The database; the log is a file beside it. If empty, nothing is logged.
            slow_seconds: A search that takes longer counts as slow and logs a warning.
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
        if slow or "logging" in sys.modules:  # not imported: there are no listeners
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
        candidates = {step.name: step.found for step in steps if step.name in CANDIDATES}  # the last of each name
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


# The search log: lines in a file beside the database ------------------------------------------
#
# A table would cost a search by a command 1.8 ms of 68: for a transaction and, when the database is closed, a
# checkpoint with its syncs (0.1 ms each there; 10 ms on many disks). A short append takes 0.03 ms, 0.5 with the import
# of its code, and waits for no lock. Only statistics depend on the file; it may be removed at any time.
#
# The log has two halves: a file that has grown to `HALF` replaces the former one. If several processes find it full at
# once, one of them moves it; the former half is lost early only if another process starts the next within microseconds.

HALF = 400_000  # bytes, some 5,000 lines

SEARCHES = 10_000
"""The most searches that statistics read."""


def enter_search(database: str, one: Searched) -> None:
    """Append a line in one write, so that it does not mix with lines of other processes."""
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
    """The logged searches, oldest first. A line that was cut short, e.g. by a full disk, is left out."""
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

    # Export and import ---------------------------------------------------

    def exported(self, lost: Callable[[str], None] | None = None) -> Iterator[Record]:
        """
        Read every memory with its body, history and links, oldest first, a page at a time.

        Args:
            lost: Called with a sentence for each part of a damaged store that cannot be read; the rest is exported.

        Raises:
            StoreDamaged: Something cannot be read, and `lost` is None.
        """
        from memory.store.export import exported

        return exported(self._store, lost)

    def restore(self, lines: Sequence[MemoryLine]) -> list[Saved]:
        """
        Save memories of an export in one transaction; existing ones are left as they are. Call `link` afterwards.

        Args:
            lines: Up to some hundreds, from `memory.keep.jsonl.parsed`.

        Returns:
            A result for each line, in order.

        Raises:
            StoreBusy, StoreFull: The database could not be written. Nothing was saved.
        """
        return self._documents.restore(lines)

    @contextmanager
    def importing(self) -> Generator[None]:
        """
        Treat everything saved inside as one import: its chunks wait for vectors until `catch_up`.

            >>> with engine.maintenance.importing():
            ...     engine.maintenance.restore(lines)
            ...     notices = engine.maintenance.catch_up()
        """
        self._vectors.postponed = True
        try:
            yield
        finally:
            self._vectors.postponed = False

    def catch_up(self, progress: Callable[[int, int], None] = lambda _done, _total: None) -> tuple[Notice, ...]:
        """
        Embed the chunks of the current import, if saves embed at all, for five times as long as one save would.

        Chunks that waited before the import are not embedded.

        Args:
            progress: Called with the number of finished chunks and the total.

        Returns:
            Notices about chunks that still have no vector.
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
        """Set the parents and successors of restored memories, once all are saved."""
        from memory.keep.jsonl import link_memories

        link_memories(self._store, links, self._documents.now())
