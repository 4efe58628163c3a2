"""A standby is searched like its primary; whoever would write to it is told what it is, and nothing changes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import own_server
import postgres
import pytest
from entries import everything
from own_server import patiently

from memory import Config, Draft, Engine
from memory.carry.migrate import compare
from memory.engine.move import Move
from memory.schema.errors import StoreError, StoreReadOnly
from memory.schema.query import Mode, Query
from memory.store.postgres import PostgresStore
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from own_server import OwnServer

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")

ASKED = [Query(text, 20, mode=mode) for text in ("how does beta work", "w17 w18", "gam*") for mode in Mode]


@contextmanager
def opened(server: OwnServer, home: Path, dimension: int = 32) -> Iterator[Engine]:
    store = patiently(lambda: PostgresStore(server.url(database="notes"), busy_seconds=30.0))
    with Engine(store, Config(home=str(home)), embedder=HashedEmbedder(dimension), lasting=False) as engine:
        yield engine


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def primary() -> Iterator[OwnServer]:
    with own_server.own_server() as server:
        server.execute("create database notes", "create database bare")
        yield server


@pytest.fixture(scope="module")
def writing(primary: OwnServer, home: Path) -> Iterator[Engine]:
    """An engine at the primary: with vectors, history, what is learnt from them, and something in the trash."""
    with opened(primary, home) as engine:
        engine.save_all(
            [Draft(title=f"{WORDS[n % 5]} {n}", what=f"w{n} {WORDS[n * 3 % 5]} works by w{n + 1}") for n in range(60)]
        )
        engine.embed()
        engine.learn()
        engine.update(4, what="beta works otherwise")
        engine.delete(8)
        yield engine


@pytest.fixture(scope="module")
def standby(primary: OwnServer, writing: Engine) -> Iterator[OwnServer]:
    with own_server.standby_of(primary) as standby:
        yield standby


@pytest.fixture
def reading(standby: OwnServer, home: Path) -> Iterator[Engine]:
    with opened(standby, home) as engine:
        yield engine


def follow(primary: OwnServer) -> None:
    """Wait until the standby has also what nobody waits for: vectors and what is learnt, which could be made again."""
    primary.execute("select pg_logical_emit_message(true, 'tests', '')")


def answers(engine: Engine) -> list[tuple[list[tuple[object, float]], object]]:
    found = map(engine.search, ASKED)
    return [([(hit.memory, hit.score) for hit in one.hits], one.tier) for one in found]


def test_a_standby_gives_the_answers_of_its_primary(primary, writing, reading) -> None:
    follow(primary)
    found = answers(reading)

    assert all(hits for hits, _ in found)
    assert found == answers(writing)
    assert reading.recent() == writing.recent()
    assert reading.details(4)[:3] == writing.details(4, count=False)[:3]
    assert reading.details(4).notices == ()  # that it was read is not counted, and nobody is bothered with that
    assert compare(writing.store, reading.store, lambda _done, _total: None).same
    assert list(reading.store.check()) == []


def test_a_program_that_stays_searches_a_standby_too(primary, standby, writing, home) -> None:
    follow(primary)
    store = PostgresStore(standby.url(database="notes"), folder=str(home))
    with Engine(store, Config(home=str(home)), embedder=HashedEmbedder(32)) as engine:
        engine.vectors.wake()

        assert answers(engine) == answers(writing)


def test_what_the_primary_keeps_its_standby_finds_at_once_in_every_mode(writing, reading) -> None:
    saved = writing.save(Draft(title="unheard", what="zephyr quibbles"))

    for mode in Mode:
        assert reading.search(Query("zephyr quibbles", mode=mode)).hits[0].memory == saved.memory
    writing.delete(saved.memory.uid)
    for mode in Mode:
        assert saved.memory.uid not in {
            hit.memory.uid for hit in reading.search(Query("zephyr quibbles", mode=mode)).hits
        }


def test_what_waits_for_a_vector_keeps_nobody_from_searching_a_standby(writing, reading) -> None:
    writing.vectors.postponed = True
    saved = writing.save(Draft(title="waiting", what="walnut jukebox"))
    writing.vectors.postponed = False
    assert writing.store.queue.queued()

    for mode in (Mode.KEYWORD, Mode.TIERED, Mode.HYBRID):
        assert reading.search(Query("walnut jukebox", mode=mode)).hits[0].memory == saved.memory
    vectors = reading.search(Query("how does beta work", mode=Mode.VECTOR))

    assert vectors.hits
    assert any("chunks wait for their vectors" in notice.text for notice in vectors.notices)
    assert "may only be read" in str(vectors.notices)
    assert writing.embed().embedded == 1


def reindexed(engine: Engine) -> None:
    other = Engine(engine.store, engine.config, embedder=HashedEmbedder(48), lasting=False)
    other.reindex()


WRITES: dict[str, Callable[[Engine], object]] = {
    "save": lambda engine: engine.save(Draft(title="new", what="new")),
    "save several": lambda engine: engine.save_all([Draft(title=f"new {n}", what="new") for n in range(3)]),
    "supersede": lambda engine: engine.save(Draft(title="new", what="new"), supersedes=5),
    "update": lambda engine: engine.update(5, what="new"),
    "pin": lambda engine: engine.documents.pin([5]),
    "delete": lambda engine: engine.delete(5),
    "delete for good": lambda engine: engine.delete(5, purge=True),
    "restore": lambda engine: engine.trash.restore([8]),
    "empty the trash": lambda engine: engine.trash.empty(),
    "embed": lambda engine: engine.embed(memories=[5]),
    "reindex": reindexed,
    "repair": lambda engine: engine.store.repair(),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_a_standby_is_refused_with_what_to_do_and_nothing_changes(write, primary, writing, reading) -> None:
    follow(primary)
    before = everything(writing.store)

    with pytest.raises(StoreReadOnly, match="may only be read") as caught:
        WRITES[write](reading)

    assert "target_session_attrs=read-write" in caught.value.hint
    assert "\n" not in f"{caught.value}{caught.value.hint}"
    assert everything(reading.store) == everything(writing.store) == before
    assert answers(reading) == answers(writing)


def test_nothing_is_moved_to_a_standby(standby, tmp_path) -> None:
    with Engine.open(Config(home=str(tmp_path)), embedder=HashedEmbedder(32)) as engine:
        engine.save(Draft(title="note", what="in a file"))

    for database in ("notes", "bare"):
        with pytest.raises(StoreError, match=r"holds memories|may only be read"):
            Move.of(Config(), str(tmp_path), standby.url(database=database)).run(lambda _done, _total: None)


def test_a_standby_without_tables_is_refused_as_one(standby) -> None:
    with pytest.raises(StoreReadOnly, match="may only be read") as caught:
        PostgresStore(standby.url(database="bare"))

    assert "target_session_attrs=read-write" in caught.value.hint


def test_who_asks_for_a_server_to_write_to_is_told_that_there_is_none(standby) -> None:
    with pytest.raises(StoreError, match="none of its hosts can be written") as caught:
        PostgresStore(standby.url(database="notes", more="&target_session_attrs=read-write"), busy_seconds=1.0)

    assert "until one of them is the primary" in caught.value.hint


def test_a_standby_is_read_also_where_its_database_asks_for_an_isolation_that_it_cannot_give(
    primary, standby, writing, tmp_path
) -> None:
    primary.execute("alter database notes set default_transaction_isolation = 'serializable'")
    try:
        with opened(standby, tmp_path) as engine:
            assert engine.search(Query("alpha", mode=Mode.KEYWORD)).hits
    finally:
        primary.execute("alter database notes reset default_transaction_isolation")
