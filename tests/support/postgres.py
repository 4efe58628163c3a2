"""A PostgreSQL server for tests: the one of `MEMORY_TEST_POSTGRES`, and in it a database that is emptied for each store."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.store.postgres import PostgresStore

URL = os.environ.get("MEMORY_TEST_POSTGRES", "")
"""Of a database that tests may empty; without one, none of them is run."""


def url_of(user: str) -> str:
    """The same database, for another role that needs no password."""
    there = urlsplit(URL)
    return there._replace(netloc=f"{user}@{there.netloc.rpartition('@')[2]}").geturl()


@contextmanager
def another(name: str, options: str = "template template0 encoding 'UTF8'") -> Iterator[str]:
    """
    A new database of the same server, by its URL.

    Args:
        options: Of `create database`.
    """
    import psycopg

    with psycopg.connect(URL, autocommit=True) as db:
        db.execute(f"drop database if exists {name} with (force)")
        db.execute(f"create database {name} {options}")
        try:
            yield urlsplit(URL)._replace(path=f"/{name}").geturl()
        finally:
            db.execute(f"drop database {name} with (force)")


def emptied(url: str = URL) -> str:
    """Take away what is there; the URL. Tables that are up to date stay: to make them takes longer than most tests."""
    import psycopg

    from memory.store.postgres.opening import FORMAT

    with psycopg.connect(url, autocommit=True) as db:
        db.execute("set client_min_messages = warning; set search_path = memory")
        there = db.execute("select to_regclass('memory.format')").fetchone()
        if there == (None,) or db.execute("select max(version) from format").fetchone() != (FORMAT,):
            db.execute("drop schema if exists memory cascade")
            return url
        # One by one: to truncate a table makes its file, and those of its indexes, anew.
        vectors = "relkind = 'r' and relnamespace = 'memory'::regnamespace and relname ~ '^vectors_[0-9]+$'"
        for (table,) in db.execute(f"select relname from pg_class where {vectors}").fetchall():
            db.execute(f"drop table {table}")
        for table in (
            "arrival",  # first: it forbids the others
            "memories",
            "generations",
            "ledger",
            "outages",
            "tool_calls",
            "vocabulary",
            "trash",
            "unwiped",
            "steps",
        ):
            db.execute(f"delete from {table}")
        for table in (
            "memories",
            "chunks",
            "history",
            "generations",
            "ledger",
            "tool_calls",
            "lexicon_pairs",
            "steps",
            "changes",
        ):
            db.execute(f"alter table {table} alter column id restart")
        db.execute("update counters set value = 0")
    return url


@contextmanager
def opened(url: str = URL) -> Iterator[PostgresStore]:
    """A store with nothing in it, which is as it should be at the end."""
    from memory.store.postgres import PostgresStore

    store = PostgresStore(emptied(url))
    try:
        yield store
        assert list(store.check()) == []
    finally:
        store.close()
