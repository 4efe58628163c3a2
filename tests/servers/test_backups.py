"""What PostgreSQL's own tools copy is the whole store: dumped and restored as docs/postgres.md says, or started as a server."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import own_server
import postgres
import pytest
from entries import everything
from own_server import patiently

from memory import Config, Draft, Engine
from memory.carry.migrate import compare
from memory.schema.query import Mode, Query
from memory.store.postgres import PostgresStore
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from own_server import OwnServer

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

DOCS = Path(__file__).parents[2] / "docs" / "postgres.md"
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")


def documented() -> str:
    """The commands of the chapter."""
    found = re.search(r"## Back up\n+```sh\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def server() -> Iterator[OwnServer]:
    with own_server.own_server() as server:
        server.execute("create database memory")
        yield server


@contextmanager
def opened(server: OwnServer, home: Path, database: str = "memory") -> Iterator[tuple[PostgresStore, Engine]]:
    store = patiently(lambda: PostgresStore(server.url(database=database)))
    with Engine(store, Config(home=str(home)), embedder=HashedEmbedder(32), lasting=False) as engine:
        yield store, engine


def fill(engine: Engine) -> None:
    """Notes with vectors, history and what is learnt from them, one of them in the trash."""
    engine.save_all(
        [Draft(title=f"{WORDS[n % 5]} {n}", what=f"w{n} {WORDS[n * 3 % 5]} works by w{n + 1}") for n in range(200)]
    )
    engine.embed()
    engine.learn()
    engine.update(4, what="beta works otherwise")
    engine.delete(8)


def answers(engine: Engine) -> list[list[tuple[str, float]]]:
    found = [engine.search(Query(asked, mode=mode)) for asked in ("how does beta work", "w17 w18") for mode in Mode]
    return [[(hit.memory.uid, hit.score) for hit in one.hits] for one in found]


def saved_beside(engine: Engine, do: Callable[[], None]) -> tuple[list[str], list[str]]:
    """The uids of what was acknowledged before something began, and of all that a writer saved until it was done."""
    saved: list[str] = []
    begun, done = Event(), Event()

    def save() -> None:
        while not done.is_set():
            saved.append(engine.save(Draft(title=f"new {len(saved)}", what=f"note {len(saved)}")).memory.uid)
            if len(saved) == 5:
                begun.set()

    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(save)
        assert begun.wait(own_server.PATIENCE)
        before = saved[:5]
        try:
            do()
        finally:
            done.set()
        saving.result()
    return before, saved


def whole(store: PostgresStore, engine: Engine, before: list[str], saved: list[str]) -> None:
    """What was acknowledged before is there, nothing is amiss, and it goes on."""
    there = {memory.uid for memory in everything(store)}
    assert {*before} <= there
    assert list(store.check()) == []
    assert engine.save(Draft(title="after", what="what comes after")).memory.uid not in there | {*saved}


def test_what_is_dumped_and_restored_is_the_same_to_the_last_row(server, tmp_path) -> None:
    with opened(server, tmp_path) as (store, engine):
        fill(engine)
        before = answers(engine)

        server.shell(documented(), tmp_path)

        with opened(server, tmp_path, "again") as (restored, again):
            assert answers(again) == before
            assert compare(store, restored, lambda _done, _total: None).same
            whole(restored, again, [], [])


def test_a_dump_beside_a_writer_has_what_was_acknowledged_before(server, tmp_path) -> None:
    with opened(server, tmp_path) as (_, engine):
        fill(engine)
        before, saved = saved_beside(engine, lambda: server.shell(documented(), tmp_path))

    with opened(server, tmp_path, "again") as (store, engine):
        whole(store, engine, before, saved)


def test_a_base_backup_beside_a_writer_has_what_was_acknowledged_before(server, tmp_path) -> None:
    with ExitStack() as stack:
        with opened(server, tmp_path) as (_, engine):
            fill(engine)
            copies: list[OwnServer] = []
            before, saved = saved_beside(engine, lambda: copies.append(stack.enter_context(own_server.copy_of(server))))

        with opened(copies[0], tmp_path) as (store, engine):
            whole(store, engine, before, saved)
            assert all(answers(engine))
