"""The usage log: requests reserved before they are made, days added up, and hosts left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import Invalid, iso
from memory.store import LINES
from memory.store.postgres.database import LEDGER, Part, many, one, reading, writing
from memory.store.records import Values, key, moment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.space import Budget, Call, OpenCircuit
    from memory.store.postgres.opening import Db

_DAY = len("2026-01-01")

_COLUMNS = "moment, provider, model, purpose, host, calls, texts, tokens, bytes_out, seconds, cost, error"
_INSERT = f"insert into ledger ({_COLUMNS}) values ({', '.join(['%s'] * 12)}) returning id"
_LINES = f"select {_COLUMNS}, id from ledger where moment >= %s order by moment desc, id desc limit {LINES}"
_DAILY = """
    select day || 'T00:00:00Z', provider, model, purpose, host, sum(calls)::bigint, sum(texts)::bigint,
        sum(tokens)::bigint, sum(bytes_out)::bigint, sum(seconds), sum(cost),
        coalesce(nullif(count(nullif(error, '')), 0) || ' failed', '')
    from ledger where moment >= %s
    group by day, provider, model, host, purpose
    order by day desc, provider, model, host, purpose
"""


class PostgresUsage(Part):
    """See `memory.store.usage.Usage`."""

    @writing(durable=False, lock=LEDGER)  # else two requests together could come to more than the budget
    def reserve_call(self, db: Db, call: Call, budget: Budget | None = None) -> int | None:
        if not call.host:
            raise Invalid("only a request to a host is booked; what stays in the process is noted")
        if budget is not None and _exceeds(db, call, budget):
            return None
        return int(one(db, _INSERT, _values(call)))

    @writing(durable=False, lock=None)
    def record_call(
        self, db: Db, id: int, *, tokens: int, seconds: float, cost: float, error: str = "", sent: bool = True
    ) -> None:
        db.execute(
            "update ledger set tokens = %s, seconds = %s, cost = %s, error = %s, bytes_out = bytes_out * %s where id = %s",
            (tokens, seconds, cost, error, int(sent), key(id)),
        )

    @writing(durable=False, patience=0.1, lock=LEDGER)
    def add_calls(self, db: Db, calls: Sequence[Call]) -> None:
        for call in calls:
            _add(db, call)

    @reading
    def lines(self, db: Db, since: datetime | None = None, *, daily: bool = False) -> Sequence[Call]:
        from memory.schema.space import Call

        rows = many(db, _DAILY if daily else _LINES, ("" if since is None else iso(since),))
        return [Call(moment(at), *rest) for at, *rest in rows]

    @reading
    def circuit(self, db: Db, host: str) -> OpenCircuit | None:
        rows = many(db, "select until, error from outages where host = %s", (host,))
        if not rows:
            return None
        from memory.schema.space import OpenCircuit

        [(until, error)] = rows
        return OpenCircuit(host, moment(until), error)

    @writing(durable=False, lock=LEDGER)
    def set_circuit(self, db: Db, host: str, circuit: OpenCircuit | None) -> None:
        db.execute("delete from outages where host = %s", (host,))
        if circuit is not None:
            row = (host, iso(circuit.until), circuit.error)
            db.execute("insert into outages (host, until, error) values (%s, %s, %s)", row)


def _exceeds(db: Db, call: Call, budget: Budget) -> bool:
    """Whether the day of a call would come to more than the budget with it."""
    [(calls, tokens)] = many(
        db,
        """select coalesce(sum(calls), 0)::bigint, coalesce(sum(tokens), 0)::bigint
           from ledger where host = %s and day = %s""",
        (call.host, iso(call.moment)[:_DAY]),
    )
    over_calls = budget.calls is not None and call.calls + calls > budget.calls
    return over_calls or (budget.tokens is not None and tokens + call.tokens > budget.tokens)


def _add(db: Db, call: Call) -> None:
    """Add a call inside this process to the line of its day."""
    time = iso(call.moment)
    numbers = (call.calls, call.texts, call.tokens, call.bytes_out, call.seconds, call.cost)
    line = db.execute(
        """update ledger set moment = least(moment, %s), calls = calls + %s, texts = texts + %s, tokens = tokens + %s,
               bytes_out = bytes_out + %s, seconds = seconds + %s, cost = cost + %s,
               error = coalesce(nullif(%s, ''), error)
           where host = '' and (day, provider, model, purpose) = (%s, %s, %s, %s)""",
        (time, *numbers, call.error, time[:_DAY], call.provider, call.model, call.purpose),
    )
    if not line.rowcount:
        db.execute(_INSERT, _values(call._replace(host="")))


def _values(call: Call) -> Values:
    return [iso(call.moment), *call[1:-1]]
