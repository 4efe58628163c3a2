"""A server that has no room: what is not kept is told in a sentence, what was kept stays, and with room it goes on."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import own_server
import postgres
import pytest
from entries import everything
from own_server import patiently

from memory.carry.migrate import compare, migrate
from memory.config import Config
from memory.engine import Engine
from memory.schema.draft import Draft
from memory.schema.errors import StoreError, StoreFull
from memory.schema.query import Mode, Query
from memory.store import State
from memory.store.postgres import PostgresStore
from memory.store.sqlite import SqliteStore
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from own_server import OwnServer


pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

MB = 1 << 20
SETTINGS = ("max_wal_size = 8MB", "min_wal_size = 2MB", "autovacuum = off")
SEGMENT = 1


class Limit:
    """Its processes may write no large files, as by `ulimit -f`. Needs no rights."""

    ends = False

    def __init__(self, server: OwnServer) -> None:
        self.server = server
        self.url = server.url(database="notes")
        server.execute("create database notes")

    def fill(self) -> None:
        self.server.stop("fast")
        self.server.start(3 * MB)

    def free(self) -> None:
        self.server.stop("fast")
        self.server.start()


class Disk:
    """Its tables lie on a small disk; its log may lie there too, so that it ends when it cannot write that."""

    def __init__(self, server: OwnServer, disk: Path, *, ends: bool) -> None:
        self.server, self.url, self._ballast = server, server.url(database="notes"), disk / "ballast"
        self.ends = ends

    def fill(self) -> None:
        # The files of a new database have holes, which the server fills when it likes.
        self.server.execute("checkpoint")
        with self._ballast.open("wb") as file:
            there = os.statvfs(self._ballast)
            os.posix_fallocate(file.fileno(), 0, max(1, there.f_bavail * there.f_frsize - 2 * MB))

    def free(self) -> None:
        self._ballast.unlink()
        if self.ends:
            self.server.stop()
            self.server.start()


@contextmanager
def mounted(size: int) -> Iterator[Path]:
    """A disk in memory, of so many MB."""
    if shutil.which("mount") is None:
        pytest.skip("there is no command mount")
    options = ("-t", "tmpfs", "-o", f"size={size}m,mode=777", "tmpfs")
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        made = subprocess.run(["mount", *options, folder], check=False, capture_output=True, text=True)
        if made.returncode:
            pytest.skip(f"this user may mount no file system: {made.stderr.strip()}")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def limit() -> Iterator[Limit]:
    with own_server.own_server(None, *SETTINGS, segment=SEGMENT) as server:
        yield Limit(server)


@contextmanager
def tablespace() -> Iterator[Disk]:
    """Its tables lie on a small disk, its log on another."""
    with own_server.own_server(None, *SETTINGS, segment=SEGMENT) as server, mounted(40) as disk:
        place = disk / "space"
        place.mkdir()
        place.chmod(0o777)
        server.own(place)
        server.execute(f"create tablespace small location '{place}'", "create database notes tablespace small")
        try:
            yield Disk(server, disk, ends=False)
        finally:
            server.stop()


@contextmanager
def disk() -> Iterator[Disk]:
    """All that it has lies on a small disk."""
    with mounted(150) as disk, own_server.own_server(disk, *SETTINGS, segment=SEGMENT) as server:
        server.execute("create database notes")
        yield Disk(server, disk, ends=True)


WAYS = {"limit": limit, "tablespace": tablespace, "disk": disk}


@pytest.fixture(params=WAYS)
def small(request: pytest.FixtureRequest) -> Iterator[Limit | Disk]:
    with WAYS[request.param]() as small:
        yield small


@contextmanager
def opened(url: str, size: int = 16, **how: object) -> Iterator[Engine]:
    with closing(PostgresStore(url, busy_seconds=10.0)) as store:
        yield Engine(store, Config(), embedder=HashedEmbedder(size), lasting=False)


def long(number: int) -> Draft:
    """A memory that takes room, and little time."""
    noise = random.Random(number)
    filling = {f"{n}": noise.randbytes(1000).hex() for n in range(100)}
    return Draft(title=f"note {number}", what=f"the {number}th, on zebras", metadata=filling)


def told(error: StoreError) -> None:
    """It says what is the matter in a sentence, and what to do."""
    assert "\n" not in f"{error}{error.hint}"
    if isinstance(error, StoreFull):
        assert "no room left on the server" in str(error)
        assert "Free some space" in error.hint
    else:  # it could not write its log, and has ended
        assert "cannot be reached" in str(error)
        assert "Is the server running" in error.hint


def saved(engine: Engine) -> tuple[list[str], StoreError]:
    """What is told to be saved before there is no room, and the error that tells of that."""
    acknowledged: list[str] = []
    while len(acknowledged) < 1000:
        try:
            acknowledged.append(engine.save(long(len(acknowledged))).memory.title)
        except StoreError as error:
            return acknowledged, error
    pytest.fail("there is room without end")


def test_a_save_that_has_no_room_keeps_nothing_of_it_and_all_else(small) -> None:
    with opened(small.url) as engine:
        engine.save(Draft(title="first", what="on zebras"))
        small.fill()
        patiently(engine.store.counts)
        acknowledged, error = saved(engine)
        told(error)
        if not small.ends:
            assert isinstance(error, StoreFull)
            assert {memory.title for memory in everything(engine.store)} == {"first", *acknowledged}
            assert engine.search("zebras").hits
        small.free()
        patiently(engine.store.counts)

        there = {memory.title for memory in everything(engine.store)}
        assert {"first", *acknowledged} <= there
        assert len(there) <= len(acknowledged) + 2  # the last may be kept where nobody could be told
        assert list(engine.store.check()) == []
        assert engine.save(Draft(title="after")).memory.id


def test_a_reindex_that_has_no_room_leaves_the_former_vectors(small) -> None:
    with opened(small.url) as engine:
        engine.save_all([Draft(title=f"note {n}", what=f"the {n}th, on zebras and {n * n}") for n in range(400)])
        small.fill()
        patiently(engine.store.counts)
        with opened(small.url, 2500) as wide, pytest.raises(StoreError) as caught:
            wide.vectors.reindex()
        told(caught.value)
        if not small.ends:
            assert isinstance(caught.value, StoreFull)
            assert engine.search(Query("zebras and 4", mode=Mode.HYBRID)).tier == "hybrid"
        small.free()
        patiently(engine.store.counts)

        assert engine.search(Query("zebras and 4", mode=Mode.HYBRID)).tier == "hybrid"
        with opened(small.url, 2500) as wide:
            wide.vectors.reindex()
            assert wide.search(Query("zebras and 4", mode=Mode.HYBRID)).tier == "hybrid"
        [active] = [one for one in engine.store.generations.every() if one.state is State.ACTIVE]
        assert engine.store.generations.size(active.id).chunks == engine.store.counts().chunks
        assert list(engine.store.check()) == []


def test_a_move_that_finds_no_room_goes_on_once_there_is(small, tmp_path) -> None:
    with closing(SqliteStore(tmp_path / "memory.db")) as source, closing(PostgresStore(small.url)) as target:
        Engine(source, Config(), embedder=HashedEmbedder(16), lasting=False).save_all([long(n) for n in range(45)])
        small.fill()
        patiently(target.counts)
        with pytest.raises(StoreError) as caught:
            migrate(source, target, "file", quiet)
        told(caught.value)
        small.free()
        patiently(target.counts)

        assert migrate(source, target, "file", quiet).memories == 45
        assert compare(source, target, quiet).same
        assert list(target.check()) == []


def quiet(_done: int, _total: int) -> None:
    pass
