"""The usage log in a list, the slow and plain way."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, time as time_of_day
from math import fsum
from typing import TYPE_CHECKING

from memory.schema.errors import Invalid
from memory.schema.space import UsageEntry
from memory.store import LINES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.space import Budget, OpenCircuit


class RamUsage:
    """The usage log of a `RamStore`, or one that stands by itself. See `memory.store.usage.Usage`."""

    def __init__(self) -> None:
        self._calls: list[UsageEntry] = []  # the call with id n is the n-th
        self._circuits: dict[str, OpenCircuit | None] = {}
        self._lock = threading.RLock()

    def reserve_call(self, call: UsageEntry, budget: Budget | None = None) -> int | None:
        if not call.host:
            raise Invalid("only a request to a host is booked; what stays in the process is noted")
        with self._lock:
            today = [one for one in (*self._calls, call) if one.host == call.host and _day(one) == _day(call)]
            for limit, total in (
                (budget and budget.calls, sum(one.calls for one in today)),
                (budget and budget.tokens, sum(one.tokens for one in today)),
            ):
                if limit is not None and total > limit:
                    return None
            return self._enter(call)

    def _enter(self, call: UsageEntry) -> int:
        id = len(self._calls) + 1
        self._calls.append(call._replace(id=id))
        return id

    def record_call(
        self, id: int, *, tokens: int, seconds: float, cost: float, error: str = "", sent: bool = True
    ) -> None:
        with self._lock:
            if 0 < id <= len(self._calls):
                call = self._calls[id - 1]
                known = call._replace(tokens=tokens, seconds=seconds, cost=cost, error=error)
                self._calls[id - 1] = known if sent else known._replace(bytes_out=0)

    def add_calls(self, calls: Sequence[UsageEntry]) -> None:
        with self._lock:
            for call in (one._replace(host="") for one in calls):
                line = next((one for one in self._calls if _group(one) == _group(call)), None)
                if line is None:
                    self._enter(call)
                else:
                    self._calls[line.id - 1] = _sum([line, call])._replace(
                        moment=min(line.moment, call.moment), error=call.error or line.error, id=line.id
                    )

    def lines(self, since: datetime | None = None, *, daily: bool = False) -> Sequence[UsageEntry]:
        with self._lock:
            calls = [call for call in self._calls if since is None or call.moment >= since]
        calls.sort(key=lambda call: (call.moment, call.id), reverse=True)
        if not daily:
            return calls[:LINES]
        by_name = sorted({_group(call) for call in calls}, key=lambda group: group[1:])
        groups = sorted(by_name, key=lambda group: group[0], reverse=True)
        return [_sum([call for call in calls if _group(call) == group]) for group in groups]

    def circuit(self, host: str) -> OpenCircuit | None:
        with self._lock:
            return self._circuits.get(host)

    def set_circuit(self, host: str, circuit: OpenCircuit | None) -> None:
        with self._lock:
            self._circuits |= {host: circuit}


def _day(call: UsageEntry) -> datetime:
    return datetime.combine(call.moment.astimezone(UTC), time_of_day(), UTC)


def _group(call: UsageEntry) -> tuple[datetime, str, str, str, str]:
    return (_day(call), call.provider, call.model, call.host, call.purpose)


def _sum(calls: Sequence[UsageEntry]) -> UsageEntry:
    """Calls of one group as one."""
    day, provider, model, host, purpose = _group(calls[0])
    failures = sum(call.error != "" for call in calls)
    return UsageEntry(
        moment=day,
        provider=provider,
        model=model,
        purpose=purpose,
        host=host,
        calls=sum(call.calls for call in calls),
        texts=sum(call.texts for call in calls),
        tokens=sum(call.tokens for call in calls),
        bytes_out=sum(call.bytes_out for call in calls),
        seconds=fsum(call.seconds for call in calls),
        cost=fsum(call.cost for call in calls),
        error=f"{failures} failed" if failures else "",
    )
