"""Where an embedder accounts that no store stands behind: in this process, until it ends."""

from __future__ import annotations

from datetime import UTC, datetime, time
from math import fsum
from threading import RLock
from typing import TYPE_CHECKING

from memory.schema.errors import Invalid, NotFound
from memory.schema.usage import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.embed.books import Stored
    from memory.schema.space import Vectors
    from memory.schema.usage import Budget, Outage


class Unkept:
    """What embedding costs, in a list and a dictionary. See `memory.schema.usage_store.Accounts`, and `memory.embed.books.Books`."""

    def __init__(self) -> None:
        self._lines: list[Call] = []  # the line with id n stands in place n - 1
        self._outages: dict[str, Outage] = {}
        self._lock = RLock()

    def book(self, call: Call, budget: Budget | None = None) -> int | None:
        if not call.host:
            raise Invalid("only a request to a host is booked; what stays in the process is noted")
        with self._lock:
            today = [line for line in (*self._lines, call) if line.host == call.host and _day(line) == _day(call)]
            for limit, used in (
                (budget and budget.calls, sum(line.calls for line in today)),
                (budget and budget.tokens, sum(line.tokens for line in today)),
            ):
                if limit is not None and used > limit:
                    return None
            return self._enter(call)

    def _enter(self, call: Call) -> int:
        id = len(self._lines) + 1
        self._lines.append(call._replace(id=id))
        return id

    def settle(self, id: int, *, tokens: int, seconds: float, cost: float, error: str = "") -> None:
        with self._lock:
            if 0 < id <= len(self._lines):
                line = self._lines[id - 1]
                self._lines[id - 1] = line._replace(tokens=tokens, seconds=seconds, cost=cost, error=error)

    def note(self, calls: Sequence[Call]) -> None:
        with self._lock:
            for call in calls:
                mine = call._replace(host="")
                same = (line for line in self._lines if _group(line) == _group(mine))
                if (line := next(same, None)) is None:
                    self._enter(mine)
                else:
                    self._lines[line.id - 1] = _sum([line, mine])._replace(
                        moment=min(line.moment, mine.moment), error=mine.error or line.error, id=line.id
                    )

    def ledger(self, since: datetime | None = None, limit: int = 10_000) -> Sequence[Call]:
        with self._lock:
            found = [line for line in self._lines if since is None or line.moment >= since]
        return sorted(found, key=lambda line: (line.moment, line.id), reverse=True)[:limit]

    def spent(self, since: datetime | None = None) -> Sequence[Call]:
        found = self.ledger(since, len(self._lines))
        by_name = sorted({_group(line) for line in found}, key=lambda group: group[1:])
        groups = sorted(by_name, key=lambda group: group[0], reverse=True)
        return [_sum([line for line in found if _group(line) == group]) for group in groups]

    def outage(self, host: str) -> Outage | None:
        with self._lock:
            return self._outages.get(host)

    def suspend(self, outage: Outage) -> None:
        with self._lock:
            self._outages[outage.host] = outage

    def resume(self, host: str) -> None:
        with self._lock:
            self._outages.pop(host, None)

    def generations(self) -> Sequence[Stored]:
        """None: nothing it embeds is kept here."""
        return ()

    def fingerprint(self, generation: int) -> Vectors | None:
        raise NotFound(f"no generation {generation}")

    def mark(self, generation: int, fingerprint: Vectors) -> None:
        raise NotFound(f"no generation {generation}")


def _day(call: Call) -> datetime:
    return datetime.combine(call.moment.astimezone(UTC), time(), UTC)


def _group(call: Call) -> tuple[datetime, str, str, str, str]:
    return (_day(call), call.provider, call.model, call.host, call.purpose)


def _sum(lines: Sequence[Call]) -> Call:
    """Lines of one group as one."""
    day, provider, model, host, purpose = _group(lines[0])
    failed = sum(line.error != "" for line in lines)
    return Call(
        moment=day,
        provider=provider,
        model=model,
        purpose=purpose,
        host=host,
        calls=sum(line.calls for line in lines),
        texts=sum(line.texts for line in lines),
        tokens=sum(line.tokens for line in lines),
        bytes_out=sum(line.bytes_out for line in lines),
        seconds=fsum(line.seconds for line in lines),
        cost=fsum(line.cost for line in lines),
        error=f"{failed} failed" if failed else "",
    )
