"""What is taken for good leaves a server's tables, and as long as that is not certain, its mark stays."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import postgres
import psycopg
import pytest
from entries import kept, note

from memory.config import Config
from memory.engine import Engine
from memory.keep.removing import purge
from memory.schema.draft import Draft
from memory.schema.query import EVERYTHING
from memory.store.postgres import PostgresStore, care as wiping

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

WORD = "zanzibarium"


@pytest.fixture
def store(monkeypatch) -> Iterator[PostgresStore]:
    """Who waits for others only as long as a test may."""
    with postgres.opened() as store:
        monkeypatch.setattr(store._db, "busy_seconds", 0.3)
        yield store


def wiped(store: PostgresStore) -> bool:
    """It may take several times: the server itself looks after its tables now and then, and reads them for that."""
    until = monotonic() + 300
    while monotonic() < until:
        if store.wipe():
            return True
    return False


@contextmanager
def begun(*statements: str) -> Iterator[psycopg.Connection]:
    """Another connection with a transaction in which something was asked."""
    with psycopg.connect(postgres.URL, autocommit=True) as db:
        for statement in ("begin isolation level repeatable read", *statements):
            db.execute(statement)
        yield db


def left() -> bool:
    """Whether the word stands in a file of a table."""
    with psycopg.connect(postgres.URL, autocommit=True) as db:
        db.execute("checkpoint")
        tables = "select oid from pg_class where relkind = 'r' and relnamespace = 'memory'::regnamespace"
        files = db.execute(f"select pg_read_binary_file(pg_relation_filepath(oid)) from ({tables}) t").fetchall()
        return any(WORD.encode() in content for (content,) in files)


def taken(store: PostgresStore) -> None:
    """A memory is saved, and taken for good."""
    [id] = kept(store, note(WORD))
    assert left()
    purge(store, [id])


def test_as_long_as_somebody_reads_what_was_there_before_bytes_are_owed(store) -> None:
    [id] = kept(store, note(WORD))
    with begun("select 1") as reading:  # a snapshot, and no lock
        purge(store, [id])

        assert not store.wipe()
        assert store.counts().unwiped
        assert reading.execute("select count(*) from memory.memories").fetchone() == (1,)
        assert left()  # once nobody reads it, the server may clear it by itself at any moment

    assert wiped(store)
    assert not left()
    assert not store.counts().unwiped


def test_whoever_ends_in_time_is_waited_for() -> None:
    with postgres.opened() as store:
        [id] = kept(store, note(WORD))
        with begun("select 1") as reading:
            purge(store, [id])
            wiped: list[bool] = []
            wipe = threading.Thread(target=lambda: wiped.append(store.wipe()))
            wipe.start()
            wipe.join(0.3)
            assert wipe.is_alive()
            reading.execute("rollback")
            wipe.join()

        assert wiped == [True]
        assert not left()


def test_whoever_came_later_is_in_nobodys_way(store) -> None:
    taken(store)
    with begun("select 1"):
        assert wiped(store)
        assert not left()


def test_nobody_waits_for_long_behind_a_table_that_somebody_reads(store, monkeypatch) -> None:
    monkeypatch.setattr(wiping, "BEHIND", 0.2)
    taken(store)
    with begun("select * from memory.memories"):
        assert not store.wipe()
        assert store.memories.count(EVERYTHING) == 0
    assert wiped(store)


def test_what_is_taken_while_tables_are_written_anew_is_owed(store, monkeypatch) -> None:
    taken(store)
    [id] = kept(store, note("another"))
    rewritten = wiping._rewritten

    def slowly(db, table: str) -> int | None:
        if "trash" in table and store.memories.count(EVERYTHING):
            purge(store, [id])
        return rewritten(db, table)

    monkeypatch.setattr(wiping, "_rewritten", slowly)
    assert not store.wipe()
    assert store.counts().unwiped
    assert wiped(store)


def test_who_does_not_own_the_tables_is_not_told_that_bytes_are_gone(store) -> None:
    taken(store)
    with psycopg.connect(postgres.URL, autocommit=True) as db:
        db.execute("create role memory_guest login")
        try:
            db.execute("grant usage on schema memory to memory_guest")
            db.execute("grant select, insert, update, delete on all tables in schema memory to memory_guest")
            with closing(PostgresStore(postgres.url_of("memory_guest"), busy_seconds=5.0)) as guest:
                assert not guest.wipe()
        finally:
            db.execute("drop owned by memory_guest; drop role memory_guest")
    assert store.counts().unwiped


def test_a_purge_tells_what_is_owed_and_the_next_finishes(store) -> None:
    engine = Engine(store, Config(), lasting=False)
    saved = engine.save(Draft(title="plan", what=WORD)).memory
    with begun("select 1"):
        engine.delete(saved.uid, purge=True)
        assert "bytes" in engine.trash.owed()[0].text
        assert not engine.maintenance.status().counts.memories

    assert left()
    engine.trash.empty()
    assert not engine.trash.owed() or wiped(store)
    assert not left()
