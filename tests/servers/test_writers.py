"""Many processes save to one server at once: each content is kept once, and nothing that was acknowledged is lost."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING

import postgres
import psycopg
import pytest
from entries import everything, note

from memory.config import Config
from memory.engine import Engine
from memory.schema.draft import Draft
from memory.schema.errors import StoreError
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.store.postgres import PostgresStore

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

GUARD = 120  # seconds against hanging

SAVING = f"""
import sys
from memory import Draft, Engine
from memory.config import Config
from memory.vectors.providers.inside import HashedEmbedder
from memory.store.postgres import PostgresStore

name, home = sys.argv[1:]
engine = Engine(PostgresStore({postgres.URL!r}), Config(home=home), embedder=HashedEmbedder(32), lasting=False)
print("ready", flush=True)
sys.stdin.readline()
for number in range(25):
    title = f"shared {{number}}" if number % 2 else f"{{name}} {{number}}"
    saved = engine.save(Draft(title=title, what="what " + title + " says", body="The details of " + title + "."))
    print(saved.memory.uid, saved.known, title, flush=True)
engine.close()
"""


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    with postgres.opened() as store:
        yield store


@contextmanager
def process(name: str, home: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SAVING, name, str(home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def savers(stack: ExitStack, name: str, home: Path) -> list[subprocess.Popen[str]]:
    """Eight processes that save, and begin together."""
    started = [stack.enter_context(process(f"{name}{n}", home / f"{n}")) for n in range(8)]
    for one in started:
        assert one.stdout.readline() == "ready\n"
    for one in started:
        one.stdin.write("\n")
        one.stdin.flush()
    return started


def saved() -> int:
    with psycopg.connect(postgres.URL) as db:
        return db.execute("select count(*) from memory.memories").fetchone()[0]


def test_eight_processes_keep_each_content_once_and_all_that_they_acknowledged(store, tmp_path) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(8) as pool:
        lines = [line for some in pool.map(list, [one.stdout for one in savers(stack, "p", tmp_path)]) for line in some]
    told = [line.split(maxsplit=2) for line in lines]

    there = {one.title: one.uid for one in everything(store)}
    assert len(told) == 200
    assert len(there) == len(everything(store)) == 8 * 13 + 12
    assert all(there[title.strip()] == uid for uid, _, title in told)
    assert Counter(known for _, known, _ in told) == {"False": 116, "True": 84}
    assert len(store.steps.recent(1000)) == 116


def test_writers_that_are_killed_lose_nothing_that_they_acknowledged(store, tmp_path) -> None:
    dice, told = random.Random(5), list[list[str]]()
    for run in range(3):
        with ExitStack() as stack, ThreadPoolExecutor(8) as pool:
            started = savers(stack, f"r{run} p", tmp_path)
            lines = [pool.submit(lambda one=one: list(one.stdout)) for one in started]
            for one in dice.sample(started, 7):
                enough, ends = saved() + 4, monotonic() + GUARD
                while saved() < enough and any(other.poll() is None for other in started):
                    assert monotonic() < ends
                    sleep(0.01)
                one.kill()
            told += [line.split(maxsplit=2) for some in lines for line in some.result(GUARD) if line.endswith("\n")]

    kept = everything(store)
    there = {one.title: one.uid for one in kept}
    assert len(there) == len(kept)
    assert all(there[title.strip()] == uid for uid, _, title in told)
    saving = Engine(store, Config(home=str(tmp_path)), embedder=HashedEmbedder(32), lasting=False)
    assert not saving.save(Draft(title="afterwards", what="nobody has the lock any more")).known


def test_what_the_server_refuses_of_a_pipeline_left_open_ends_at_the_commit_and_nothing_of_it_is_kept(
    store: PostgresStore,
) -> None:
    def refused(*, read: bool) -> None:
        with store.transaction() as db:
            store.memories.insert(note("a memory"))
            with db.pipelined():
                db.execute("insert into counters (name, value) values ('chunks', 0)")  # which is there
            if read:
                db.rows("select 1")

    for read in (False, True):
        with pytest.raises(StoreError, match="counters"):
            refused(read=read)
        assert store.highest() >= 1, "the insert was sent"
        assert store.counts().memories == 0
    store.memories.insert(note("another"))
    assert store.counts().memories == 1
