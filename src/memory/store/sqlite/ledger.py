"""What embedding costs: requests booked before they are made, days added up, and hosts that give no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import Invalid
from memory.schema.times import iso
from memory.store.sqlite.rows import key, moment

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    import apsw

    from memory.schema.usage import Budget, Call, Outage
    from memory.store.sqlite.rows import Row, Values

_DAY = len("2026-01-01")

_INSERT = """
    insert into ledger
        (moment, provider, model, purpose, host, calls, texts, tokens, bytes_out, seconds, cost, error)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id
"""


def book(db: apsw.Connection, call: Call, budget: Budget | None) -> int | None:
    """See `Store.book`. Exact only in a transaction that holds the write lock."""
    if not call.host:
        raise Invalid("only a request to a host is booked; what stays in the process is noted")
    if budget is not None and _beyond(db, call, budget):
        return None
    id: int = db.execute(_INSERT, _values(call)).get
    return id


def _beyond(db: apsw.Connection, call: Call, budget: Budget) -> bool:
    """Whether the day of a call would come to more than the budget with it."""
    calls, tokens = db.execute(
        "select ifnull(sum(calls), 0), ifnull(sum(tokens), 0) from ledger where host = ? and day = ?",
        (call.host, iso(call.moment)[:_DAY]),
    ).get
    return (budget.calls is not None and calls + call.calls > budget.calls) or (
        budget.tokens is not None and tokens + call.tokens > budget.tokens
    )


def settle(db: apsw.Connection, id: int, *, tokens: int, seconds: float, cost: float, error: str) -> None:
    db.execute(
        "update ledger set tokens = ?, seconds = ?, cost = ?, error = ? where id = ?",
        (tokens, seconds, cost, error, key(id)),
    )


def note(db: apsw.Connection, call: Call) -> None:
    """See `Store.note`."""
    told = iso(call.moment)
    added = (call.calls, call.texts, call.tokens, call.bytes_out, call.seconds, call.cost)
    line = db.execute(  # not `on conflict do update`, which uses up an id each time
        """update ledger set moment = min(moment, ?), calls = calls + ?, texts = texts + ?, tokens = tokens + ?,
               bytes_out = bytes_out + ?, seconds = seconds + ?, cost = cost + ?, error = iif(? = '', error, ?)
           where host = '' and (day, provider, model, purpose) = (?, ?, ?, ?) returning id""",
        (told, *added, call.error, call.error, told[:_DAY], call.provider, call.model, call.purpose),
    ).get
    if line is None:
        db.execute(_INSERT, _values(call._replace(host="")))


def _values(call: Call) -> Values:
    return [iso(call.moment), *call[1:-1]]


def lines(db: apsw.Connection, since: datetime | None, limit: int) -> list[Call]:
    """See `Store.ledger`."""
    from memory.schema.usage import Call

    rows: Iterable[Row] = db.execute(
        """select moment, provider, model, purpose, host, calls, texts, tokens, bytes_out, seconds, cost, error, id
           from ledger where moment >= ? order by moment desc, id desc limit ?""",
        (_since(since), limit),
    )
    return [Call(moment(at), *rest) for at, *rest in rows]


def spent(db: apsw.Connection, since: datetime | None) -> list[Call]:
    """See `Store.spent`."""
    from memory.schema.usage import Call

    rows: Iterable[Row] = db.execute(
        """select day || 'T00:00:00Z', provider, model, purpose, host, sum(calls), sum(texts), sum(tokens),
               sum(bytes_out), sum(seconds), sum(cost), ifnull(nullif(count(nullif(error, '')), 0) || ' failed', '')
           from ledger where moment >= ?
           group by day, provider, model, host, purpose
           order by day desc, provider, model, host, purpose""",
        (_since(since),),
    )
    return [Call(moment(at), *rest) for at, *rest in rows]


def _since(since: datetime | None) -> str:
    return "" if since is None else iso(since)


def outage(db: apsw.Connection, host: str) -> Outage | None:
    found = db.execute("select until, error from outages where host = ?", (host,)).get
    if found is None:
        return None
    from memory.schema.usage import Outage

    until, error = found
    return Outage(host, moment(until), error)


def suspend(db: apsw.Connection, outage: Outage) -> None:
    db.execute(
        "insert or replace into outages (host, until, error) values (?, ?, ?)",
        (outage.host, iso(outage.until), outage.error),
    )


def resume(db: apsw.Connection, host: str) -> None:
    db.execute("delete from outages where host = ?", (host,))
