"""What was embedded, and which hosts are left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memory.schema.errors import Invalid, iso
from memory.store import LINES
from memory.store.records import Values, key, moment
from memory.store.shared import LEDGER, Connection, Part

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.space import Budget, OpenCircuit, UsageEntry

_DAY = len("2026-01-01")

_COLUMNS = "moment, provider, model, purpose, host, calls, texts, tokens, bytes_out, seconds, cost, error"
_INSERT = f"insert into ledger ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id"
_LINES = f"select {_COLUMNS}, id from ledger where moment >= ? order by moment desc, id desc limit {LINES}"
_DAILY = """
    select day || 'T00:00:00Z', provider, model, purpose, host, cast(sum(calls) as bigint), cast(sum(texts) as bigint),
        cast(sum(tokens) as bigint), cast(sum(bytes_out) as bigint), sum(seconds), sum(cost),
        coalesce(nullif(count(nullif(error, '')), 0) || ' failed', '')
    from ledger where moment >= ?
    group by day, provider, model, host, purpose
    order by day desc, provider, model, host, purpose
"""


class UsageLog(Protocol):
    """
    What embedders write of what they embed, and which hosts they leave alone.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def reserve_call(self, call: UsageEntry, budget: Budget | None = None) -> int | None:
        """
        Enter a request before it is made, so that no crash hides it; its id.

        Args:
            budget: If the requests to the call's host on the same day (UTC), with this one, come to more calls or
                tokens, nothing is entered and the answer is None. Those not recorded yet count as they were reserved.

        Raises:
            Invalid: The call has no host: see `add_calls`.
        """

    def record_call(
        self, id: int, *, tokens: int, seconds: float, cost: float, error: str = "", sent: bool = True
    ) -> None:
        """
        Write down what became of a request that was reserved. Does nothing if it no longer exists.

        Args:
            sent: False if it turned out that nothing left the process: then no bytes did.
        """

    def add_calls(self, calls: Sequence[UsageEntry]) -> None:
        """
        Add what was embedded inside this process (`host` is empty) to the line of its day, provider, model and
        purpose, whose error is the latest there was. Not worth waiting for:

        Raises:
            StoreBusy: Somebody else is writing at the moment.
        """

    def circuit(self, host: str) -> OpenCircuit | None:
        """Until when a host is left alone, by the latest word on it; also if that time is over."""

    def set_circuit(self, host: str, circuit: OpenCircuit | None) -> None:
        """Leave a host alone, in place of what was known of it; None leaves it alone no longer."""


class Usage(Part):
    """
    `UsageLog` in rows: requests reserved before they are made, days added up, and hosts left alone; and as
    `memory ledger` shows it.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def reserve_call(self, call: UsageEntry, budget: Budget | None = None) -> int | None:
        with self._db.write(
            durable=False, lock=LEDGER
        ) as db:  # else two requests together could come to more than the budget
            if not call.host:
                raise Invalid("only a request to a host is booked; what stays in the process is noted")
            if budget is not None and _exceeds(db, call, budget):
                return None
            return int(db.value(_INSERT, _values(call)))

    def record_call(
        self, id: int, *, tokens: int, seconds: float, cost: float, error: str = "", sent: bool = True
    ) -> None:
        with self._db.write(durable=False, lock=None) as db:
            db.change(
                "update ledger set tokens = ?, seconds = ?, cost = ?, error = ?, bytes_out = bytes_out * ? where id = ?",
                (tokens, seconds, cost, error, int(sent), key(id)),
            )

    def add_calls(self, calls: Sequence[UsageEntry]) -> None:
        with self._db.write(durable=False, patience=0.1, lock=LEDGER) as db:
            for call in calls:
                _add(db, call)

    def lines(self, since: datetime | None = None, *, daily: bool = False) -> Sequence[UsageEntry]:
        """
        Lines whose moment is `since` or later: latest first; ties by id, highest first; the latest `LINES` at most.

        Args:
            daily: All such lines summed over each day (UTC), provider, model, host and purpose; latest day first, then
                in the order of these names. `moment` is the day's beginning, `error` says how many failed
                ("3 failed"), `id` is 0.
        """
        with self._db.read() as db:
            from memory.schema.space import UsageEntry

            rows = db.rows(_DAILY if daily else _LINES, ("" if since is None else iso(since),))
            return [UsageEntry(moment(at), *rest) for at, *rest in rows]

    def circuit(self, host: str) -> OpenCircuit | None:
        with self._db.read() as db:
            for until, error in db.rows("select until, error from outages where host = ?", (host,)):
                from memory.schema.space import OpenCircuit

                return OpenCircuit(host, moment(until), error)
            return None

    def set_circuit(self, host: str, circuit: OpenCircuit | None) -> None:
        with self._db.write(durable=False, lock=LEDGER) as db:
            db.change("delete from outages where host = ?", (host,))
            if circuit is not None:
                row = (host, iso(circuit.until), circuit.error)
                db.change("insert into outages (host, until, error) values (?, ?, ?)", row)


def _exceeds(db: Connection, call: UsageEntry, budget: Budget) -> bool:
    """Whether the day of a call would come to more than the budget with it. Exact only under the lock of the log."""
    [(calls, tokens)] = db.rows(
        "select coalesce(sum(calls), 0), coalesce(sum(tokens), 0) from ledger where host = ? and day = ?",
        (call.host, iso(call.moment)[:_DAY]),
    )
    return (budget.calls is not None and calls + call.calls > budget.calls) or (
        budget.tokens is not None and tokens + call.tokens > budget.tokens
    )


def _add(db: Connection, call: UsageEntry) -> None:
    """Add a call inside this process to the line of its day."""
    time = iso(call.moment)
    numbers = (call.calls, call.texts, call.tokens, call.bytes_out, call.seconds, call.cost)
    added = db.changed(  # not `on conflict do update`, which uses up an id each time
        """update ledger set moment = case when moment < ? then moment else ? end, calls = calls + ?, texts = texts + ?,
               tokens = tokens + ?, bytes_out = bytes_out + ?, seconds = seconds + ?, cost = cost + ?,
               error = coalesce(nullif(?, ''), error)
           where host = '' and (day, provider, model, purpose) = (?, ?, ?, ?)""",
        (time, time, *numbers, call.error, time[:_DAY], call.provider, call.model, call.purpose),
    )
    if not added:
        db.value(_INSERT, _values(call._replace(host="")))


def _values(call: UsageEntry) -> Values:
    return [iso(call.moment), *call[1:-1]]
