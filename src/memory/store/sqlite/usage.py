"""The usage log: requests reserved before they are made, days added up, and hosts left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import Invalid, iso
from memory.store import LINES
from memory.store.records import Row, Values, key, moment
from memory.store.sqlite.database import Part, reading, writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import apsw

    from memory.schema.space import Budget, Call, OpenCircuit

_DAY = len("2026-01-01")

_INSERT = """
    insert into ledger
        (moment, provider, model, purpose, host, calls, texts, tokens, bytes_out, seconds, cost, error)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id
"""

_LINES = f"""
    select moment, provider, model, purpose, host, calls, texts, tokens, bytes_out, seconds, cost, error, id
    from ledger where moment >= ? order by moment desc, id desc limit {LINES}
"""

_DAILY = """
    select day || 'T00:00:00Z', provider, model, purpose, host, sum(calls), sum(texts), sum(tokens),
        sum(bytes_out), sum(seconds), sum(cost), ifnull(nullif(count(nullif(error, '')), 0) || ' failed', '')
    from ledger where moment >= ?
    group by day, provider, model, host, purpose
    order by day desc, provider, model, host, purpose
"""


class SqliteUsage(Part):
    """See `memory.store.usage.Usage`."""

    @writing(durable=False)
    def reserve_call(self, db: apsw.Connection, call: Call, budget: Budget | None = None) -> int | None:
        if not call.host:
            raise Invalid("only a request to a host is booked; what stays in the process is noted")
        if budget is not None and _exceeds(db, call, budget):
            return None
        id: int = db.execute(_INSERT, _values(call)).get
        return id

    @writing(durable=False)
    def record_call(
        self,
        db: apsw.Connection,
        id: int,
        *,
        tokens: int,
        seconds: float,
        cost: float,
        error: str = "",
        sent: bool = True,
    ) -> None:
        db.execute(
            "update ledger set tokens = ?, seconds = ?, cost = ?, error = ?, bytes_out = bytes_out * ? where id = ?",
            (tokens, seconds, cost, error, sent, key(id)),
        )

    @writing(durable=False, patience=0.1)
    def add_calls(self, db: apsw.Connection, calls: Sequence[Call]) -> None:
        for call in calls:
            _add(db, call)

    @reading
    def lines(self, db: apsw.Connection, since: datetime | None = None, *, daily: bool = False) -> Sequence[Call]:
        from memory.schema.space import Call

        rows: Iterable[Row] = db.execute(_DAILY if daily else _LINES, ("" if since is None else iso(since),))
        return [Call(moment(at), *rest) for at, *rest in rows]

    @reading
    def circuit(self, db: apsw.Connection, host: str) -> OpenCircuit | None:
        row = db.execute("select until, error from outages where host = ?", (host,)).get
        if row is None:
            return None
        from memory.schema.space import OpenCircuit

        until, error = row
        return OpenCircuit(host, moment(until), error)

    @writing(durable=False)
    def set_circuit(self, db: apsw.Connection, host: str, circuit: OpenCircuit | None) -> None:
        db.execute("delete from outages where host = ?", (host,))
        if circuit is not None:
            row = (host, iso(circuit.until), circuit.error)
            db.execute("insert into outages (host, until, error) values (?, ?, ?)", row)


def _exceeds(db: apsw.Connection, call: Call, budget: Budget) -> bool:
    """Whether the day of a call would come to more than the budget with it. Exact only under the write lock."""
    calls, tokens = db.execute(
        "select ifnull(sum(calls), 0), ifnull(sum(tokens), 0) from ledger where host = ? and day = ?",
        (call.host, iso(call.moment)[:_DAY]),
    ).get
    return (budget.calls is not None and calls + call.calls > budget.calls) or (
        budget.tokens is not None and tokens + call.tokens > budget.tokens
    )


def _add(db: apsw.Connection, call: Call) -> None:
    """Add a call inside this process to the line of its day."""
    time = iso(call.moment)
    numbers = (call.calls, call.texts, call.tokens, call.bytes_out, call.seconds, call.cost)
    line = db.execute(  # not `on conflict do update`, which uses up an id each time
        """update ledger set moment = min(moment, ?), calls = calls + ?, texts = texts + ?, tokens = tokens + ?,
               bytes_out = bytes_out + ?, seconds = seconds + ?, cost = cost + ?, error = iif(? = '', error, ?)
           where host = '' and (day, provider, model, purpose) = (?, ?, ?, ?) returning id""",
        (time, *numbers, call.error, call.error, time[:_DAY], call.provider, call.model, call.purpose),
    ).get
    if line is None:
        db.execute(_INSERT, _values(call._replace(host="")))


def _values(call: Call) -> Values:
    return [iso(call.moment), *call[1:-1]]
