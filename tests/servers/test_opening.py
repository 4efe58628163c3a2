"""How a server is opened: what is refused is said in a sentence with what to do, and never with a password."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from threading import Thread

import postgres
import psycopg
import pytest
from entries import everything

from memory.config import Config, load, value, with_setting
from memory.engine import Engine
from memory.schema.databases import without_password
from memory.schema.draft import Draft
from memory.schema.errors import ConfigError, Error, StoreError, StoreTooNew
from memory.schema.query import Mode, Query
from memory.store.postgres import PostgresStore, opening
from memory.vectors.providers.inside import HashedEmbedder

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

SECRET = "hunter2hunter2"


@contextmanager
def refusing(said: str, fatal: str = "FATAL"):
    """A server that answers whoever connects with a fatal error, as PostgreSQL words it; its URL."""
    fields = f"S{fatal}\0VFATAL\0C28P01\0M{said}\0\0".encode()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                with client:
                    if client.recv(8)[4:] == (80877103).to_bytes(4, "big"):  # asked for TLS
                        client.sendall(b"N")
                        client.recv(8)
                    client.sendall(b"E" + (len(fields) + 4).to_bytes(4, "big") + fields)
                    client.recv(4096)

        thread = Thread(target=answer, daemon=True)
        thread.start()
        yield f"postgresql://somebody:{SECRET}@127.0.0.1:{listening.getsockname()[1]}/notes"
        listening.shutdown(socket.SHUT_RDWR)


@contextmanager
def made(options: str = ""):
    """A database of its own, by what leads to the server."""
    with postgres.another("memory_other", options):
        yield psycopg.conninfo.conninfo_to_dict(postgres.URL)


@contextmanager
def roles(db: psycopg.Connection, *names: str):
    """Roles that may log in, and no more."""
    for name in names:
        db.execute(f"drop role if exists {name}")
        db.execute(f"create role {name} login")
    try:
        yield
    finally:
        for name in names:
            db.execute(f"drop owned by {name}")
            db.execute(f"drop role {name}")


def url_of(named: dict[str, object], *, user: str | None = None) -> str:
    place = f"host={named['host']}" + (f"&port={named['port']}" if "port" in named else "")
    return f"postgresql://{user or named['user']}:{SECRET}@/memory_other?{place}"


def refused(url: str, kind: type[Error] = StoreError) -> Error:
    with pytest.raises(kind) as caught:
        PostgresStore(url, busy_seconds=1)
    assert SECRET not in f"{caught.value} {caught.value.hint} {caught.value!r}"
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("said", "told", "hint"),
    [
        ('password authentication failed for user "somebody"', "it refuses the password", "Check user and password"),
        ('no pg_hba.conf entry for host "127.0.0.1", no encryption', "it asks for TLS", "sslmode=require"),
        ('database "notes" does not exist', "there is no such database or role", "createdb"),
        ('no pg_hba.conf entry for host "127.0.0.1"', "it refuses that user", "pg_hba.conf"),
        ('pg_hba.conf rejects connection for host "127.0.0.1"', "it refuses that user", "pg_hba.conf"),
        ('Peer authentication failed for user "somebody"', "an account of that name", "and use a password"),
        ('permission denied for database "notes"', "may not use that database", "grant connect"),
        ('role "somebody" is not permitted to log in', "may not log in", "alter role"),
        ("connection is insecure (try using `sslmode=require`)", "it asks for TLS", "sslmode=require"),
        (
            "Passwort-Authentifizierung fehlgeschlagen",
            "opened: Passwort-Authentifizierung fehl",
            "what the server says",
        ),
    ],
)
def test_a_server_that_refuses_is_told_with_what_to_do(said: str, told: str, hint: str) -> None:
    with refusing(said) as url:
        error = refused(url)

    assert told in str(error)
    assert hint in error.hint


def test_a_server_whose_words_are_of_another_language_is_told_from_one_that_is_down() -> None:
    with refusing("пользователь не прошёл проверку подлинности (по паролю)", "ВАЖНО") as url:
        error = refused(url)

    assert "cannot be opened: пользователь не прошёл" in str(error)
    assert "what the server says" in error.hint


def test_where_no_server_listens_it_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    assert "cannot be reached" in str(refused(f"postgresql://me:{SECRET}@127.0.0.1:{port}/notes"))


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}",
        f"postgresql://me:{SECRET}/with@host/db",
        f"postgresql://me:50%off{SECRET}@host/db",
        f"host=x password={SECRET}",
    ],
)
def test_what_is_no_url_is_not_repeated(url: str) -> None:
    refused(url, ConfigError)


def test_no_password_is_shown_of_a_url() -> None:
    assert without_password(f"postgresql://me:{SECRET}@a:1,b:2/db?x=1&password={SECRET}&y=2") == (
        "postgresql://me@a:1,b:2/db?x=1&y=2"
    )
    assert without_password("postgres:///notes?host=/run/pg") == "postgres:///notes?host=/run/pg"


def test_a_database_that_is_not_utf8_is_refused() -> None:
    with made("encoding 'SQL_ASCII' template template0 locale 'C'") as named:
        error = refused(url_of(named))

    assert "SQL_ASCII" in str(error)
    assert "--encoding=UTF8" in error.hint


def test_who_may_not_install_the_extension_is_told_who_can() -> None:
    with made() as named, psycopg.connect(postgres.URL, autocommit=True) as db:
        with roles(db, "memory_guest"):
            error = refused(url_of(named, user="memory_guest"))

    assert "let this role install extensions" in str(error)
    assert "superuser" in error.hint


def test_who_may_not_make_tables_is_told_what_to_grant() -> None:
    with made() as named, psycopg.connect(postgres.URL, autocommit=True) as db:
        with psycopg.connect(url_of(named), autocommit=True) as own:
            own.execute("create extension vector")
        with roles(db, "memory_guest"):
            error = refused(url_of(named, user="memory_guest"))

    assert "lack of rights" in str(error)
    assert "needs the right to create" in error.hint


def test_roles_that_act_as_the_owner_share_a_memory(tmp_path) -> None:
    with made() as named, psycopg.connect(url_of(named), autocommit=True) as db:
        db.execute("create extension vector")
        with roles(db, "memory_owner", "memory_alice", "memory_bob"):
            db.execute("grant create on database memory_other to memory_owner")
            for role in ("memory_alice", "memory_bob"):
                db.execute(f"grant memory_owner to {role}")
                db.execute(f"alter role {role} in database memory_other set role = memory_owner")

            for number, role in enumerate(("memory_alice", "memory_bob", "memory_alice", "memory_owner")):
                with closing(PostgresStore(url_of(named, user=role))) as store:
                    model = HashedEmbedder(16 + number)
                    own = Engine(store, Config(home=str(tmp_path)), embedder=model, lasting=False)
                    own.vectors.reindex()
                    own.save(Draft(title=f"note {number}", what=f"of {role}"))
                    assert len(own.search(Query("note", mode=Mode.HYBRID)).hits) == number + 1
                    assert store.wipe()
                    assert list(store.check()) == []


def test_tables_of_a_newer_version_are_left_alone() -> None:
    with made() as named:
        PostgresStore(url_of(named)).close()
        with psycopg.connect(url_of(named), autocommit=True) as db:
            db.execute("insert into memory.format values (99)")
            error = refused(url_of(named), StoreTooNew)

    assert "format 99" in str(error)


def test_a_schema_of_another_program_is_left_alone() -> None:
    with made() as named:
        with psycopg.connect(url_of(named), autocommit=True) as db:
            db.execute("create schema memory; create table memory.theirs (id integer)")
        error = refused(url_of(named))

    assert "another program" in str(error)


def test_tables_that_tell_no_version_are_left_alone() -> None:
    with made() as named:
        PostgresStore(url_of(named)).close()
        with psycopg.connect(url_of(named), autocommit=True) as db:
            db.execute("delete from memory.format")
        error = refused(url_of(named))

    assert "another program" in str(error)


def test_tables_of_an_older_version_are_refused_with_what_to_do() -> None:
    with made() as named:
        PostgresStore(url_of(named)).close()
        with psycopg.connect(url_of(named), autocommit=True) as db:
            db.execute("update memory.format set version = version - 1")
            before = db.execute("select count(*) from pg_class").fetchone()
            error = refused(url_of(named))

            assert db.execute("select count(*) from pg_class").fetchone() == before
    assert f"format {opening.FORMAT - 1}, of an older version" in str(error)
    assert "`memory migrate OLD FILE` with the version that made it" in error.hint
    assert "`memory migrate FILE NEW` with this one" in error.hint


def test_an_older_pgvector_is_refused_before_anything_is_made() -> None:
    with made() as named, psycopg.connect(url_of(named), autocommit=True) as db:
        db.execute("create extension vector")
        db.execute("update pg_extension set extversion = '0.6.2' where extname = 'vector'")
        error = refused(url_of(named))

        assert db.execute("select to_regnamespace('memory')").fetchone() == (None,)
    assert "pgvector 0.6.2; memory needs 0.8 or newer" in str(error)
    assert "alter extension vector update" in error.hint


def test_the_settings_show_no_password_and_no_file_holds_one(tmp_path) -> None:
    url = f"postgresql://me:{SECRET}@host/db"
    config = with_setting(Config(), "store.url", url, "$MEMORY_STORE_URL")

    assert config.store.url == url
    assert value(config, "store.url") == config.place == "postgresql://me@host/db"
    assert SECRET not in repr(config)
    with pytest.raises(ConfigError, match="never saved in a file") as caught:
        with_setting(Config(), "store.url", url, "config.yaml")
    assert SECRET not in str(caught.value)


def test_who_names_a_folder_means_its_file(tmp_path) -> None:
    env = {"MEMORY_STORE_URL": "postgresql://host/db", "MEMORY_HOME": str(tmp_path)}

    assert load(env=env).store.url
    assert not load(env=env, flags={"home": str(tmp_path)}).store.url


SET = {
    "array_nulls": "off",
    "default_transaction_isolation": "serializable",
    "extra_float_digits": "-15",
    "session_replication_role": "replica",
    "standard_conforming_strings": "off",
    "client_encoding": "latin1",
    "bytea_output": "escape",
    "datestyle": "'SQL, DMY'",
    "intervalstyle": "sql_standard",
    "timezone": "'Pacific/Kiritimati'",
    "search_path": "''",
    "lock_timeout": "1",
    "default_transaction_deferrable": "on",
    "row_security": "off",
    "enable_indexscan": "off",
    "work_mem": "64",
}
"""Settings of a database that others may have given it, none of which may make a difference."""


@pytest.mark.parametrize("encoding", ["", "LATIN1", "SQL_ASCII"])
def test_settings_of_the_database_and_of_the_environment_make_no_difference(encoding, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", encoding or "UTF8")
    with made() as named, psycopg.connect(postgres.URL, autocommit=True, client_encoding="utf8") as db:
        for name, given in SET.items():
            db.execute(f"alter database memory_other set {name} = {given}")
        stores = [PostgresStore(url_of(named), busy_seconds=60) for _ in range(2)]
        engines = [
            Engine(one, Config(home=str(tmp_path)), embedder=HashedEmbedder(32), lasting=False) for one in stores
        ]

        def save(worker: int) -> list[str]:
            drafts = [Draft(title=f"Zürich 東京 {worker} {n}", what="back\\slash 'quoted'") for n in range(12)]
            return [engines[worker % 2].save(one).memory.title for one in drafts]

        with ThreadPoolExecutor(4) as pool:
            told = [title for titles in pool.map(save, range(4)) for title in titles]

        assert sorted(told) == sorted(one.title for one in everything(stores[0]))
        assert len(told) == 48
        engines[0].delete(1)
        engines[1].trash.undo(engines[1].trash.last(1), lambda _done, _total: None)
        engines[0].delete(1)
        Engine(stores[0], Config(home=str(tmp_path)), embedder=HashedEmbedder(16), lasting=False).vectors.reindex()
        found = engines[0].search(Query("東京 slash", 48, mode=Mode.KEYWORD)).hits
        assert {hit.memory.what for hit in found} == {"back\\slash 'quoted'"}
        assert len(found) == 47
        assert abs(stores[0].now() - datetime.now(UTC)) < timedelta(hours=1)
        for one in stores:
            assert list(one.check()) == []
            one.close()
