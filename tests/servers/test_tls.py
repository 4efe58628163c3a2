"""A server that talks TLS: who it is, and that nobody listens, is asked for and told as libpq does, in a sentence each."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import own_server
import postgres
import pytest

from memory.schema.errors import StoreError
from memory.store.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

SECRET = "hunter2hunter2"


def programs() -> Path:
    """Of a server that is built with TLS: the wheel's is not, Debian's is."""
    found = [Path(there).resolve().parent for there in (shutil.which("postgres"),) if there]
    for folder in (*found, *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)):
        if (folder / "initdb").exists() and b"libssl" in (folder / "postgres").read_bytes():
            return folder
    pytest.skip("no server here is built with TLS: apt install postgresql")


def authority(folder: Path, name: str) -> Path:
    """A certificate of an authority, and its key beside it."""
    made = folder / f"{name}.crt"
    openssl("req", "-x509", "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", made)
    return made


def openssl(*words: str | Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("there is no command openssl to make certificates")
    common = ("-newkey", "rsa:2048", "-nodes", "-days", "2")
    made = subprocess.run(["openssl", *words, *common], check=False, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"this openssl makes no such certificate: {made.stderr.strip()}")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        yield Path(folder)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[own_server.OwnServer]:
    """Lets people in by TLS alone, with a password or a certificate; its own is for the name localhost."""
    server = own_server.OwnServer(folder / "data", programs(), free_port())
    right, _ = (authority(folder, name) for name in ("right", "wrong"))
    server.folder.mkdir()
    server.make()
    signed = ("-CA", right, "-CAkey", right.with_suffix(".key"), "-addext", "subjectAltName=DNS:localhost")
    key, certificate = server.folder / "server.key", server.folder / "server.crt"
    openssl("req", "-x509", "-subj", "/CN=localhost", *signed, "-keyout", key, "-out", certificate)
    key.chmod(0o600)
    server.own(key)
    shutil.copy(right, server.folder / "right.crt")
    server.set("ssl = on", "ssl_ca_file = 'right.crt'")
    lines = ("local all postgres trust", "hostssl all certified all cert", "hostssl all all all scram-sha-256")
    (server.folder / "pg_hba.conf").write_text("\n".join(lines) + "\n")
    server.start()
    try:
        server.execute(
            f"create role somebody login password '{SECRET}'", "create role certified login", "create database notes"
        )
        yield server
    finally:
        server.stop()


def url(server: own_server.OwnServer, more: str, host: str = "localhost", user: str = "somebody") -> str:
    return f"postgresql://{user}:{SECRET}@{host}:{server.port}/notes?{more}"


def told(url: str) -> StoreError:
    with pytest.raises(StoreError) as caught:
        PostgresStore(url, busy_seconds=5.0)
    assert SECRET not in f"{caught.value}{caught.value.hint}{caught.value!r}"
    assert "\n" not in f"{caught.value}{caught.value.hint}"
    return caught.value


@pytest.mark.parametrize("more", ["sslmode=require", "sslmode=prefer", "sslmode=verify-ca", "sslmode=verify-full"])
def test_who_trusts_its_certificate_is_let_in(server, folder, more) -> None:
    try:
        PostgresStore(url(server, f"{more}&sslrootcert={folder}/right.crt"), busy_seconds=5.0).close()
    except StoreError as error:  # it is let in, and finds no pgvector, or may not install it
        assert "extension" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "refused",
    [
        ("sslmode=disable", "localhost", "it asks for TLS", "sslmode=require"),
        ("sslmode=disable", "127.0.0.1,localhost", "it asks for TLS", "sslmode=require"),
        (
            "sslmode=verify-full&sslrootcert={folder}/wrong.crt",
            "localhost",
            "its certificate is not trusted",
            "sslrootcert",
        ),
        (
            "sslmode=verify-ca&sslrootcert={folder}/wrong.crt",
            "localhost",
            "its certificate is not trusted",
            "sslrootcert",
        ),
        ("sslmode=verify-full&sslrootcert=system", "localhost", "its certificate is not trusted", "sslrootcert"),
        (
            "sslmode=verify-full&sslrootcert={folder}/right.crt",
            "127.0.0.1",
            "its certificate is for another name",
            "that name",
        ),
        ("sslmode=verify-full", "localhost", "no certificate of an authority", "sslrootcert"),
        ("sslmode=require&sslrootcert={folder}/data/postgresql.conf", "localhost", "no certificate of", "sslrootcert"),
    ],
)
def test_who_does_not_is_told_why_and_what_to_do(server, folder, monkeypatch, refused) -> None:
    more, host, what, hint = refused
    monkeypatch.setenv("HOME", str(folder))  # no certificates of whoever runs the tests

    error = told(url(server, more.format(folder=folder), host))

    assert what in str(error)
    assert hint in error.hint


def test_who_has_no_certificate_where_one_is_asked_for_is_told(server) -> None:
    error = told(url(server, "sslmode=require", user="certified"))

    assert "it asks for a certificate of this role" in str(error)
    assert "sslcert" in error.hint


def test_a_server_without_tls_is_told_of() -> None:
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        server = own_server.OwnServer(Path(folder), port=free_port())
        server.make()
        server.start()
        try:
            error = told(url(server, "sslmode=require", user="postgres"))
        finally:
            server.stop()

    assert "it has no TLS" in str(error)
    assert "Take sslmode out" in error.hint
