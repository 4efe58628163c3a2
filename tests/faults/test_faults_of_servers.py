"""What a server can do to a store: it dies, restarts, lets nobody in, has no room. Nothing acknowledged is lost."""

from __future__ import annotations

import os
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import own_server
import postgres
import psycopg
import pytest
from entries import everything, kept, note
from own_server import PATIENCE, patiently

from memory.config import Config
from memory.engine import Engine
from memory.schema.draft import Draft
from memory.schema.errors import StoreBusy, StoreError
from memory.schema.query import EVERYTHING, Mode, Query
from memory.store import State
from memory.store.postgres import PostgresStore, database
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

SECRET = "hunter2hunter2"

KILLS = 20
"""How often a server is killed in saves, and how often in a reindex; `tests/servers/test_moving.py` does it in moves."""


@pytest.fixture(scope="module")
def server() -> Iterator[own_server.OwnServer]:
    with own_server.own_server() as server:
        yield server


@pytest.fixture
def url(server) -> Iterator[str]:
    """Of a new database."""
    server.execute("drop database if exists notes with (force)", "create database notes")
    yield server.url(database="notes")
    server.execute("drop database notes with (force)")


@contextmanager
def opened(url: str, **options: object) -> Iterator[PostgresStore]:
    store = patiently(lambda: PostgresStore(url, **({"busy_seconds": 3.0} | options)))
    try:
        yield store
    finally:
        store.close()


def saved_through(
    store: PostgresStore, harm: Callable[[], None], after: int, name: str = "note"
) -> tuple[list[str], StoreError | None]:
    """
    What a writer is told that it saved, and the error that ended it, if one did: after so many notes the server is harmed,
    and the writer goes on until it cannot, or has saved five more afterwards.
    """
    acknowledged: list[str] = []
    reached, harmed = threading.Event(), threading.Event()

    def save() -> StoreError | None:
        left, number = 5, 0
        while left:
            left -= harmed.is_set()
            try:
                kept(store, note(f"{name} {number}", body="what is said in it " * 20))
            except StoreError as error:
                return error
            acknowledged.append(f"{name} {number}")
            if number == after:
                reached.set()
            number += 1
        return None

    def hurt() -> None:
        assert reached.wait(PATIENCE)
        try:
            harm()
        finally:
            harmed.set()

    with ThreadPoolExecutor(2) as pool:
        hurting, saving = pool.submit(hurt), pool.submit(save)
        hurting.result()
        return acknowledged, saving.result()


def shared_through(store: PostgresStore, home: Path, harm: Callable[[], None], after: int, run: str = "") -> list[str]:
    """What six writers are told that they saved until each is told of an error."""
    engine = Engine(store, Config(home=str(home)), embedder=HashedEmbedder(32), lasting=False)
    acknowledged: list[str] = []
    reached = threading.Event()

    def save(name: str) -> None:
        for number in range(100_000):
            try:
                engine.save(Draft(title=f"{name} {number}", what=f"{name} {number}", body="what is said in it " * 20))
            except StoreError:
                return
            acknowledged.append(f"{name} {number}")
            if len(acknowledged) > after:
                reached.set()

    with ThreadPoolExecutor(6) as pool:
        saving = [pool.submit(save, f"{run}{name}") for name in "abcdef"]
        assert reached.wait(PATIENCE)
        harm()
        for one in saving:
            one.result()
    return acknowledged


def test_a_server_that_is_killed_keeps_what_was_acknowledged_to_several_at_once(server, url, tmp_path) -> None:
    dice, acknowledged = random.Random(1), set()
    with opened(url, busy_seconds=1.0) as store:
        for kill in range(KILLS // 2):
            acknowledged.update(shared_through(store, tmp_path, server.kill, dice.randint(1, 60), f"{kill} "))
            server.start()

            there = [memory.what for memory in patiently(lambda: everything(store))]
            assert acknowledged <= {*there}
            assert len(there) == len({*there}) <= len(acknowledged) + 6 * (kill + 1)
            assert list(store.check()) == []


def test_a_server_that_is_killed_keeps_every_save_that_was_acknowledged(server, url) -> None:
    dice, acknowledged = random.Random(2), set()
    with opened(url, busy_seconds=1.0) as store:
        for kill in range(KILLS // 2):
            told, ended = saved_through(store, server.kill, dice.randint(0, 31), f"{kill} note")
            server.start()
            acknowledged.update(told)

            there = {memory.what for memory in patiently(lambda: everything(store))}
            assert ended, "a server that is dead cannot save"
            assert acknowledged <= there
            assert len(there) <= len(acknowledged) + kill + 1  # the last may be kept although nobody could be told
            assert list(store.check()) == []
        kept(store, note("after"))


def test_a_process_of_the_server_that_is_killed_ends_all_connections_and_loses_nothing(server, url) -> None:
    def kill_one() -> None:
        with psycopg.connect(url, autocommit=True) as db:
            found = db.execute(
                "select min(pid) from pg_stat_activity where datname = 'notes' and pid <> pg_backend_pid() "
                "and backend_type = 'client backend'"
            )
            os.kill(found.fetchone()[0], signal.SIGKILL)

    with opened(url) as store:
        # Between two saves nobody is told: the pool makes new connections, and waits until the server has recovered.
        acknowledged, _ = saved_through(store, kill_one, 5)

        assert {*acknowledged} <= {memory.what for memory in patiently(lambda: everything(store))}
        assert patiently(lambda: list(store.check())) == []


class Deadly(HashedEmbedder):
    """Does something when it is asked for the vectors of passages the nth time."""

    def __init__(self, dimension: int, nth: int, do: Callable[[], None]) -> None:
        super().__init__(dimension)
        self._left, self._do = nth, do

    def embed(self, texts, purpose):
        if purpose == "passage":
            self._left -= 1
            if self._left == 0:
                self._do()
        return super().embed(texts, purpose)


def test_a_server_that_is_killed_in_reindexes_answers_with_the_former_vectors_until_one_is_done(
    server, url, tmp_path
) -> None:
    dice, config = random.Random(3), Config(home=str(tmp_path))
    config = replace(config, embedding=replace(config.embedding, batch_size=4))

    def reindex(dimension: int, nth: int) -> tuple[int, bool]:
        """
        How often the server was killed: some moments after the nth batch was embedded, while that is written, or the next;
        and whether it was done all the same.
        """
        deaths: list[threading.Timer] = []

        def die() -> None:
            deaths.append(threading.Timer(dice.uniform(0, 0.02), server.kill))
            deaths[0].start()

        deadly = Deadly(dimension, nth, die)
        done = False
        with suppress(StoreError):
            Engine(store, config, embedder=deadly, lasting=False).vectors.reindex()
            done = True
        for death in deaths:
            death.join()
            server.start()
        return len(deaths), done

    def answering() -> int:
        """The dimension of the vectors that answer, which all chunks have."""
        [active] = [one for one in patiently(store.generations.every) if one.state is State.ACTIVE]
        dimension = active.space.dimension
        asking = Engine(store, config, embedder=HashedEmbedder(dimension), lasting=False)
        assert asking.search(Query("word7", mode=Mode.VECTOR)).hits
        assert store.generations.size(active.id).chunks == store.counts().chunks
        assert list(store.check()) == []
        return dimension

    with opened(url, busy_seconds=1.0) as store:
        engine = Engine(store, config, embedder=HashedEmbedder(32), lasting=False)
        engine.save_all(
            [Draft(title=f"note {n}", what=f"the word{n} of {n}", body=f"says word{n} " * 9) for n in range(60)]
        )
        kills, dimension = 0, 33
        while kills < KILLS:
            killed, done = reindex(dimension, dice.randint(1, 45))
            found, kills = answering(), kills + killed
            assert found == dimension if done else found in {dimension - 1, dimension}
            dimension = found + 1
        # Some 30 batches are one reindex; the last, which nothing kills, is done whatever the dice said.
        assert reindex(dimension, nth=1_000) == (0, True)
        assert answering() == dimension


def test_who_searches_a_server_that_is_down_is_told_and_goes_on_when_it_is_there(server, url, tmp_path) -> None:
    with opened(url, busy_seconds=1.0) as store:
        engine = Engine(store, Config(home=str(tmp_path)), embedder=HashedEmbedder(32), lasting=False)
        engine.save(Draft(title="note", what="the word7"))
        server.kill()
        with pytest.raises(StoreError, match="cannot be reached"):
            engine.search("word7")
        server.start()

        assert patiently(lambda: engine.search("word7").hits)


def test_a_server_that_restarts_under_load_is_waited_for_or_told_and_loses_nothing(server, url) -> None:
    acknowledged: list[str] = []
    restarted = threading.Event()

    def work(name: str) -> None:
        after = 0
        for number in range(100_000):
            with suppress(StoreError):  # told
                kept(store, note(f"{name} {number}"))
                acknowledged.append(f"{name} {number}")
                store.memories.count(EVERYTHING)
                after += restarted.is_set()
            if after == 3:
                return
        pytest.fail("it did not go on")

    with opened(url) as store, ThreadPoolExecutor(4) as pool:
        working = [pool.submit(work, name) for name in "abc"]
        server.stop("fast")
        server.start()
        restarted.set()
        for one in working:
            one.result()

        assert {*acknowledged} <= {memory.what for memory in everything(store)}
        assert list(store.check()) == []


# Limits ---------------------------------------------------------------------------


def test_who_finds_no_free_connection_is_told_what_to_do(url) -> None:
    with opened(url, busy_seconds=1.0) as store, ThreadPoolExecutor(database.CONNECTIONS) as pool:
        held, done = threading.Barrier(database.CONNECTIONS + 1, timeout=PATIENCE), threading.Event()

        def hold() -> None:
            with ExitStack() as stack:
                patiently(lambda: stack.enter_context(store.snapshot()))
                held.wait()
                done.wait(PATIENCE)

        holding = [pool.submit(hold) for _ in range(database.CONNECTIONS)]
        held.wait()
        with pytest.raises(StoreBusy, match=r"no connection to .* is free") as caught:
            store.memories.count(EVERYTHING)
        done.set()
        for one in holding:
            one.result()

        assert "raise max_connections" in caught.value.hint
        assert store.memories.count(EVERYTHING) == 0


def test_a_server_with_too_few_connections_is_told_of(server, url) -> None:
    server.execute("alter database notes connection limit 0", "drop role if exists guest", "create role guest login")
    with pytest.raises(StoreBusy, match=r"no connection to .* is free"):
        PostgresStore(url.replace("postgres@", "guest@"), busy_seconds=1.0)


def test_a_statement_that_takes_too_long_for_the_server_is_told_of(url) -> None:
    hasty_url = url + "&options=-c%20statement_timeout%3D2000"
    with opened(url) as store, opened(hasty_url, busy_seconds=PATIENCE) as hasty:
        with store.transaction():
            store.memories.insert(note("first"))
            with pytest.raises(StoreBusy, match="lets no statement take that long") as caught:
                hasty.memories.insert(note("second"))

        assert "statement_timeout" in caught.value.hint
        assert hasty.memories.insert(note("third"))


def test_a_transaction_that_is_idle_too_long_for_the_server_is_told_of(url) -> None:
    hasty_url = url + "&options=-c%20idle_in_transaction_session_timeout%3D100"
    idle = "select count(*) from pg_stat_activity where datname = 'notes' and state = 'idle in transaction'"
    until = monotonic() + PATIENCE

    def read_slowly() -> None:
        with hasty.snapshot():
            hasty.memories.count(EVERYTHING)
            while db.execute(idle).fetchone() != (0,) and monotonic() < until:
                sleep(0.01)
            hasty.memories.page(EVERYTHING, 1)

    with opened(url) as store, opened(hasty_url) as hasty, psycopg.connect(url, autocommit=True) as db:
        with pytest.raises(StoreBusy, match="lets no transaction take that long") as caught:
            read_slowly()

        assert "idle_in_transaction_session_timeout" in caught.value.hint
        assert store.memories.insert(note("after"))


# Who is let in --------------------------------------------------------------------


@contextmanager
def letting_in(server, *lines: str) -> Iterator[None]:
    place = Path(server.folder, "pg_hba.conf")
    before = place.read_text()
    place.write_text("local all postgres trust\n" + "".join(line + "\n" for line in lines))
    server.execute("select pg_reload_conf()")
    try:
        yield
    finally:
        place.write_text(before)
        server.execute("select pg_reload_conf()")


def told(url: str) -> StoreError:
    with pytest.raises(StoreError) as caught:
        PostgresStore(url, busy_seconds=1.0)
    assert SECRET not in f"{caught.value} {caught.value.hint} {caught.value!r}"
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_wrong_password_is_told_and_not_repeated(server, url) -> None:
    server.execute("drop role if exists somebody", "create role somebody login password 'another'")
    with letting_in(server, "local all somebody scram-sha-256"):
        wrong = told(url.replace("postgres@", f"somebody:{SECRET}@"))
        without = told(url.replace("postgres@", "somebody@"))

    assert "refuses the password" in str(wrong)
    assert "Check user and password" in wrong.hint
    assert "asks for a password" in str(without)


def test_who_is_in_no_line_of_its_file_is_told(server, url) -> None:
    server.execute("drop role if exists somebody", "create role somebody login")
    with letting_in(server):
        error = told(url.replace("postgres@", f"somebody:{SECRET}@"))

    assert "pg_hba.conf" in error.hint


def test_a_server_without_pgvector_is_told_what_to_install(server, url) -> None:
    server.execute("alter system set extension_control_path = '/nowhere'", "select pg_reload_conf()")
    try:
        error = told(url)
    finally:
        server.execute("alter system reset extension_control_path", "select pg_reload_conf()")

    assert "no extension vector" in str(error)
    assert "Install pgvector" in error.hint


def test_who_may_not_write_the_tables_is_told_what_to_grant(server, url) -> None:
    server.execute("drop role if exists reader", "create role reader login")
    with opened(url) as store:
        kept(store, note("there"))
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("grant usage on schema memory to reader; grant select on all tables in schema memory to reader")
    with opened(url.replace("postgres@", "reader@")) as store:
        assert store.memories.count(EVERYTHING) == 1
        with pytest.raises(StoreError, match="lack of rights") as caught:
            kept(store, note("more"))

    assert "needs the right to create" in caught.value.hint


# A standby --------------------------------------------------------------------------


def test_a_standby_that_is_promoted_has_all_that_was_acknowledged_and_writers_go_on() -> None:
    with own_server.own_server() as primary:
        primary.execute("create database notes")
        PostgresStore(primary.url(database="notes")).close()
        with own_server.standby_of(primary) as standby:
            hosts = f"host={primary.folder},{standby.folder}&target_session_attrs=read-write"
            with opened(f"postgresql://postgres@/notes?{hosts}") as store:
                acknowledged, _ = saved_through(store, primary.kill, 20)
                with opened(standby.url(database="notes")) as reading:
                    assert {*acknowledged} <= {memory.what for memory in everything(reading)}
                standby.run("pg_ctl", "-w", "-D", str(standby.folder), "promote")

                assert patiently(lambda: kept(store, note("after")))
                assert {*acknowledged, "after"} <= {memory.what for memory in everything(store)}
                assert list(store.check()) == []


def test_a_standby_has_all_that_was_acknowledged_to_several_at_once(tmp_path) -> None:
    with own_server.own_server() as primary:
        primary.execute("create database notes")
        PostgresStore(primary.url(database="notes")).close()
        with own_server.standby_of(primary) as standby, opened(primary.url(database="notes")) as store:
            acknowledged = shared_through(store, tmp_path, primary.kill, 40)

            with opened(standby.url(database="notes")) as reading:
                assert {*acknowledged} <= {memory.what for memory in everything(reading)}
