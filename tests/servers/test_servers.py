"""What several machines, a server that ends connections, and a large generation do to the store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import postgres
import psycopg
import pytest
from command import Shell
from entries import SPACE, START, embedded, everything, kept, note, waiting, words

from memory.config import Config
from memory.engine import Engine
from memory.keep.rules import SAME
from memory.schema.draft import Draft
from memory.schema.errors import StoreBusy, StoreError
from memory.schema.query import ACTIVE, EVERYTHING, Scope
from memory.schema.space import Embedded, Window
from memory.store import Match
from memory.store.postgres import PostgresStore, database, index, rows as sent, vectors as nearest
from memory.store.postgres.database import CONNECTIONS
from memory.store.records import COLUMNS
from memory.tools.render import care_text
from memory.vectors.providers.inside import HashedEmbedder

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")


@pytest.fixture
def store():
    with postgres.opened() as store:
        yield store


@pytest.fixture
def other(store):
    """Another machine: a store with connections and copies of its own."""
    other = PostgresStore(postgres.URL, busy_seconds=5.0)
    yield other
    other.close()


def ended(store: PostgresStore) -> None:
    """End all connections of others, as a server does that restarts."""
    with psycopg.connect(postgres.URL, autocommit=True) as db:
        db.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()"
        )


def test_what_one_machine_saves_another_finds_at_once(store, other) -> None:
    [id] = kept(store, note("shared", body="a word that is rare"))

    assert [one.memory for one in other.keywords.by_keyword(other.keywords.weigh(words("rare")), ACTIVE, 5)] == [id]
    other.memories.delete([id])
    assert not everything(store)
    assert not store.keywords.by_keyword(store.keywords.weigh(words("rare")), ACTIVE, 5)


def test_two_machines_claim_different_chunks_and_nobody_waits(store, other) -> None:
    kept(store, *(note(f"note {number}") for number in range(4)))
    later = START.replace(year=2027)

    with store.transaction():  # holds what it claims until its end
        mine = store.queue.claim(2, now=START, until=later, by="one")
        theirs = _asked(other, later)

    assert {excerpt.id for excerpt in mine}.isdisjoint(theirs)
    assert len(theirs) == 2


def _asked(other: PostgresStore, later) -> set[int]:
    return {excerpt.id for excerpt in other.queue.claim(2, now=START, until=later, by="two")}


def test_who_waits_for_a_writer_too_long_is_told(store, other) -> None:
    with store.transaction():
        store.memories.insert(note("first"))
        with pytest.raises(StoreBusy):
            other.memories.insert(note("second"))

    assert other.memories.insert(note("third"))


def test_a_writer_that_says_nothing_for_long_ends_and_others_write(store, other, monkeypatch) -> None:
    monkeypatch.setattr(database, "SLEEPING", database.SLEEPING.replace("1min", "100ms"))

    def save_slowly() -> None:
        with store.transaction():
            store.memories.insert(note(title="lost"))
            store.memories.count(EVERYTHING)
            other.memories.insert(note(title="kept"))  # waits for the lock, until the server ends who holds it
            store.memories.count(EVERYTHING)

    with pytest.raises(StoreBusy, match="lets no transaction take that long"):
        save_slowly()
    assert [one.title for one in everything(other)] == ["kept"]


def test_a_limit_of_the_server_for_writers_that_say_nothing_stays(store) -> None:
    asked = "select current_setting('idle_in_transaction_session_timeout')"
    with store._db.write() as db:
        assert db.execute(asked).fetchone() == ("1min",)
    with store._db.read() as db:
        assert db.execute(asked).fetchone() == ("0",)
    with postgres.another("memory_hasty") as url, psycopg.connect(url, autocommit=True) as owner:
        owner.execute("alter database memory_hasty set idle_in_transaction_session_timeout = '30s'")
        with postgres.opened(url) as hasty, hasty._db.write() as db:
            assert db.execute(asked).fetchone() == ("30s",)


def test_words_keep_their_ids_when_a_note_is_rewritten_and_go_with_it(store) -> None:
    def known() -> dict[str, int]:
        with store._db.read() as db:
            return dict(db.execute("select term, id from vocabulary").fetchall())

    saved = store.memories.insert(note("zebra", body="okapi"))
    before = known()
    store.memories.rewrite(saved.id, note("zebra", body="quagga"))

    after = known()
    assert after["zebra"] == before["zebra"]
    assert "okapi" in before
    assert "okapi" not in after
    store.memories.delete([saved.id])
    assert known() == {}


def test_no_word_has_an_id_beyond_the_vectors_of_words(store) -> None:
    with store._db.write() as db:
        db.execute(f"alter table vocabulary alter column id restart with {index.DIMENSION}")
    for text in ("alpha", "beta"):
        store.memories.insert(note(text, title=text))

    assert {one.title for one in everything(store)} == {"alpha", "beta"}


def test_connections_that_ended_are_made_anew(store) -> None:
    [id] = kept(store, note("kept"))
    ended(store)

    assert [one.id for one in everything(store)] == [id]
    ended(store)
    assert store.memories.insert(note("after"))


def test_nothing_is_printed_of_connections_that_ended(store) -> None:
    program = """if True:
        import sys, psycopg
        from memory.schema.query import EVERYTHING
        from memory.store.postgres import PostgresStore
        store = PostgresStore(sys.argv[1])
        with psycopg.connect(sys.argv[1], autocommit=True) as db:
            others = "pid <> pg_backend_pid() and datname = current_database()"
            db.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where {others}")
        print(store.memories.count(EVERYTHING))
        store.close()
    """
    command = [sys.executable, "-c", program, postgres.URL]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    assert (ran.stdout, ran.stderr) == ("0\n", "")


def test_a_transaction_after_all_connections_ended_happens_whole_or_not_at_all(store) -> None:
    together = threading.Barrier(CONNECTIONS, timeout=300)

    def connected() -> None:
        with store.snapshot():
            together.wait()

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for one in [pool.submit(connected) for _ in range(CONNECTIONS)]:
            one.result()
    ended(store)

    def fail_within() -> None:
        with store.transaction():
            store.memories.insert(note("undone"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_within()
    assert store.memories.count(EVERYTHING) == 0


def test_a_connection_that_ends_within_a_transaction_keeps_nothing_of_it(store) -> None:
    def cut_within() -> None:
        with store.transaction():
            store.memories.insert(note(title="lost"))
            ended(store)
            store.memories.insert(note("too"))

    with pytest.raises(StoreError):
        cut_within()

    assert store.memories.count(EVERYTHING) == 0
    assert store.memories.insert(note("after"))


def test_what_is_known_is_found_by_its_hash_before_the_server_has_numbers(store) -> None:
    [id] = kept(store, note("known", project="one"))
    entry = note("known", project="one")
    fields = {name: getattr(entry.draft, name) for name in SAME} | {"content_hash": entry.content_hash}
    with suppress(KeyboardInterrupt), store.transaction():
        db = store.memories._db.local.open
        others = ", ".join(name for name in (*COLUMNS, "tag_keys") if name not in {"id", "uid", "content_hash"})
        db.execute(
            f"""insert into memories (uid, content_hash, {others})
                select md5(n::text), md5(n::text), {others} from memories, generate_series(1, 3000) n"""
        )
        assert [one and one.id for one in store.memories.find([Match(fields, active=True)])] == [id]
        used = """select relname from pg_class
                  where relname like 'memories%' and relkind in ('r', 'i') and pg_stat_get_xact_numscans(oid) > 0
                  except values ('memories'), ('memories_uid_key')"""  # the insert reads all, and a short id uids
        assert {name for (name,) in db.execute(used)} == {"memories_by_hash", "memories_pkey"}
        raise KeyboardInterrupt  # nothing of it is kept


@pytest.mark.parametrize("largest", [1, 2000])
def test_rows_that_are_sent_in_pieces_are_all_there_in_order(store, monkeypatch, largest: int) -> None:
    monkeypatch.setattr(sent, "LARGEST", largest)
    ids = kept(store, *(note(f"n {n}") for n in range(9)))

    assert ids == sorted(ids)
    assert [store.memories.by_id([id])[id].what for id in ids] == [f"n {n}" for n in range(9)]
    assert store.check() == ()


def indexed_from(monkeypatch, vectors: int, *, few: int = 0) -> None:
    """From so many vectors on there is an index, which answers for scopes of more than so few memories."""
    monkeypatch.setattr(nearest, "FROM", vectors)
    monkeypatch.setattr(nearest, "FEW", few)


@pytest.mark.parametrize("few", [0, 100, 5_000])
def test_the_index_finds_what_comparing_all_finds(store, monkeypatch, few: int) -> None:
    indexed_from(monkeypatch, 300, few=few)
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(1200, SPACE.dimension)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    kept(
        store,
        *(
            note(f"n {n}", project="rare" if n % 100 == 0 else "p", embedded=embedded([row]), unless_known=False)
            for n, row in enumerate(rows)
        ),
    )
    asked = [ACTIVE, Scope(projects=frozenset({"p"})), Scope(projects=frozenset({"rare"}))]
    exact = [[store.vectors.by_vector(1, row, scope, 10) for row in rows[:20]] for scope in asked]

    assert store.vectors.unsigned()
    assert store.vectors.signed(1) == 0
    assert store.vectors.sign()
    assert not store.vectors.unsigned()
    assert not store.vectors.sign()
    assert store.vectors.signed(1) == 1200
    for scope, wanted in zip(asked, exact, strict=True):
        found = [store.vectors.by_vector(1, row, scope, 10) for row in rows[:20]]
        shared = [len({*left.chunks} & {*right.chunks}) / 10 for left, right in zip(wanted, found, strict=True)]
        assert sum(shared) / len(shared) >= 0.97
        assert all(len(one) == 10 for one in found)
    with psycopg.connect(postgres.URL) as db:  # it knows of the memories too, or it would not take the index
        counted = (
            "select relname, reltuples from pg_class where oid = any('{memory.memories, memory.vectors_1}'::regclass[])"
        )
        assert {*db.execute(counted)} == {("memories", 1200), ("vectors_1", 1200)}
    assert store.wipe()
    assert store.vectors.signed(1) == 1200


def test_chunks_of_many_windows_hide_no_others(store, monkeypatch) -> None:
    indexed_from(monkeypatch, 2)
    rows = np.eye(SPACE.dimension, dtype=np.float32)
    long = note("long", project="p", embedded=Embedded(SPACE, rows[[0] * 4], tuple(Window(0, n, n) for n in range(4))))
    ids = kept(store, long, *(note(f"n {n}", project="p", embedded=embedded([rows[n]])) for n in range(1, 6)))
    assert store.vectors.sign()

    found = store.vectors.by_vector(1, rows[0], Scope(projects=frozenset({"p"})), 3)

    assert (len(found), found.memories[0]) == (3, ids[0])


def test_a_memory_that_is_put_into_another_project_is_found_in_that(store, monkeypatch) -> None:
    indexed_from(monkeypatch, 2)
    rows = np.eye(SPACE.dimension, dtype=np.float32)
    ids = kept(store, *(note(f"n {n}", project="p", embedded=embedded([row])) for n, row in enumerate(rows)))
    assert store.vectors.sign()

    with store.transaction():
        store.memories.rewrite(ids[3], note("n 3", project="q", embedded=embedded([rows[3]])))

    for project, wanted in (("q", [ids[3]]), ("p", [])):
        found = store.vectors.by_vector(1, rows[3], Scope(projects=frozenset({project})), 8)
        assert [one.memory for one in found if one.score > 0.5] == wanted


def test_vectors_that_come_are_in_the_index_at_once(store, tmp_path, monkeypatch) -> None:
    indexed_from(monkeypatch, 20)
    rows = np.eye(SPACE.dimension, dtype=np.float32)
    kept(store, *(note(f"old {n}", embedded=embedded([rows[n % 4]]), unless_known=False) for n in range(30)))
    assert store.vectors.sign()

    new = [
        store.memories.insert(note(f"new {n}", embedded=embedded([rows[5]]), unless_known=False)).id for n in range(5)
    ]

    assert list(store.vectors.by_vector(1, rows[5], EVERYTHING, 5).memories) == new[::-1]  # of equals the latest first
    assert store.vectors.signed(1) == 35
    assert not store.vectors.unsigned()
    status = Engine(store, Config(home=str(tmp_path)), embedder=HashedEmbedder(8)).maintenance.status()
    assert "vector index: 35 vectors" in care_text.status(status, "database")


def test_an_engine_opens_a_url_and_everything_else_stays(store, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path))
    monkeypatch.setenv("MEMORY_EMBEDDING_PROVIDER", "hashed")
    with Engine.open(postgres.URL) as engine:
        engine.save(Draft(title="WAL", what="Readers never block the writer", project="db"))
        assert engine.search("do readers block").hits[0].memory.title == "WAL"
        assert engine.maintenance.status().counts.memories == 1

    assert not (tmp_path / "memory.db").exists()


def test_a_command_uses_the_server_that_the_environment_names(store, tmp_path) -> None:
    env = os.environ | {
        "MEMORY_HOME": str(tmp_path),
        "MEMORY_STORE_URL": postgres.URL,
        "MEMORY_EMBEDDING_PROVIDER": "hashed",
    }

    def run(*command: str):
        return subprocess.run(
            [sys.executable, "-m", "memory", *command], env=env, capture_output=True, text=True, check=True, timeout=120
        )

    run("save", "Rollout", "--what", "The flag goes away in May")
    found = json.loads(run("search", "when does the flag go", "--json").stdout)
    assert "Rollout" in json.dumps(found)
    assert json.loads(run("status", "--json").stdout)["memories"] == 1
    assert "vector index: not used, every vector is compared" in run("status").stdout
    assert waiting(store) == []
    run("doctor")


def test_a_table_of_vectors_that_is_missing_is_named(store) -> None:
    kept(store, note("one", embedded=embedded([np.eye(SPACE.dimension, dtype=np.float32)[0]])))
    with psycopg.connect(postgres.URL, autocommit=True) as db:
        db.execute("alter table memory.vectors_1 rename to hidden")
        try:
            assert list(store.check()) == ["the table vectors_1 is missing, which holds the vectors of index version 1"]
        finally:
            db.execute("alter table memory.hidden rename to vectors_1")


def test_a_move_to_a_server_switches_the_settings_and_writes_no_password(store, tmp_path) -> None:
    url = (
        postgres.URL.replace("@", ":hunter2hunter2@", 1)
        if ":@" not in postgres.URL
        else postgres.URL.replace(":@", ":hunter2hunter2@")
    )
    shell = Shell(tmp_path / "home", tmp_path, {"MEMORY_HOME": "", "HOME": str(tmp_path)})
    shell("save", "alpha", "--what", "beta")
    source = shell("status", "--json").json["database"]

    ran = shell("migrate", source, url, "--verify", "--switch")

    assert "switched: store.url = postgresql://" in ran.out
    assert "~/.pgpass" in ran.out
    file = shell("config", "--json").json["file"]
    assert "hunter2" not in ran.out + Path(file).read_text(encoding="utf-8")
    assert shell("status", "--json").json["database"].startswith("postgresql://")
