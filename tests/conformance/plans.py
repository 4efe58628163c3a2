"""What SQLite is told during a call, and how it goes about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from memory.store.sqlite import SqliteStore

EXPLAINED = ("select", "with", "insert", "update", "delete")


def every_statement(store: SqliteStore, call: Callable[[], object]) -> list[tuple[str, Any]]:
    """All that SQLite is told during a call, with what is bound to it."""
    told: list[tuple[str, Any]] = []

    def listen(_cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        told.append((sql.strip(), bindings))
        return True

    store._db.connection.exec_trace = listen
    try:
        call()
    finally:
        store._db.connection.exec_trace = None
    return told


def statements(store: SqliteStore, call: Callable[[], object]) -> list[tuple[str, Any]]:
    """The statements that read or write, with what is bound to them."""
    return [(sql, bindings) for sql, bindings in every_statement(store, call) if sql.startswith(EXPLAINED)]


def steps(store: SqliteStore, call: Callable[[], object]) -> list[str]:
    """Each step of the plans of its statements but those that read what is bound."""
    found: list[str] = []
    for sql, bindings in statements(store, call):
        plan = store._db.connection.execute(f"explain query plan {sql}", bindings)
        found += [f"{step} <- {sql}" for *_, step in plan if "json_each VIRTUAL TABLE" not in step]
    return found
