"""Moving between a file and a server: the same answers there and back, killed and cut off anywhere, beside a writer."""

from __future__ import annotations

import random
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from time import monotonic, sleep
from typing import TYPE_CHECKING

import own_server
import postgres
import profiles
import psycopg
import pytest
from command import Shell
from formats_made import FORMATS, unpacked
from hypothesis import settings
from killing import killed, python

from memory import Config, Draft, Engine
from memory.carry import migrate as moving
from memory.config import FLAG, with_setting
from memory.engine import stored
from memory.engine.move import Move
from memory.schema.errors import Invalid, StoreError
from memory.schema.query import EVERYTHING, Mode, Query
from memory.store.postgres import PostgresStore, care
from memory.vectors.words import place as words_of

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

TIMES = 6 if settings().max_examples <= profiles.QUICK else 20
"""How often something dies: more with `--hypothesis-profile=long`."""

MOVE = """
from memory.engine.move import Move
from memory.config import Config
from memory.carry import migrate

migrate.BATCH = 5
filling = migrate._Copy._filling

def told(self, **how):
    said("batch")
    return filling(self, **how)

migrate._Copy._filling = told
Move.of(Config(), *sys.argv[1:]).run(lambda _done, _total: None)
"""

SAVE = """
with Engine.open(sys.argv[1]) as engine:
    number = 0
    while True:
        number += 1
        kept = engine.save(note(f"note {number}"))
        if number % 3 == 0:
            engine.update(kept.memory.id, description="changed")
        if number % 7 == 0:
            engine.delete(kept.memory.id)
        else:
            said(kept.memory.uid)
"""

ASKED = ("alpha", "how does beta work", "gamma delta", "w17 w18", "what of epsilon")


@contextmanager
def saving(shell: Shell, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A program that saves without end, until it is killed or the test is over."""
    with python(shell, SAVE, *arguments) as child:
        try:
            yield child
        finally:
            child.kill()


def alone() -> None:
    """Wait until nobody else is at the server: one that was killed may still have sent what commits."""
    others = (
        "select count(*) from pg_stat_activity where datname = current_database() and backend_type = 'client backend'"
    )
    until = monotonic() + own_server.PATIENCE
    with psycopg.connect(postgres.URL, autocommit=True) as db:
        while db.execute(others).fetchone() != (1,):
            assert monotonic() < until
            sleep(0.01)


def quiet(_done: int, _total: int) -> None:
    pass


def config(place: str) -> Config:
    base = replace(Config(), embedding=replace(Config().embedding, provider="hashed", model="hashed-64"))
    return with_setting(base, "store.url" if "://" in place else "home", place, FLAG)


@pytest.fixture
def server() -> str:
    return postgres.emptied()


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "home").mkdir()
    words = ("alpha", "beta", "gamma", "delta", "epsilon")
    with Engine.open(config(str(tmp_path / "home"))) as engine:
        engine.save_all(
            [
                Draft(title=f"{words[n % 5]} {n}", what=f"w{n} {words[(n * 3) % 5]} works by w{n + 1}", project="p")
                for n in range(160)
            ]
        )
        engine.embed()
        engine.learn()
        engine.update(4, what="beta works otherwise")
        engine.delete(8)
    return str(tmp_path / "home")


def move(source: str, target: str) -> Move:
    return Move.of(Config(), source, target)


def answers(place: str) -> tuple[list[object], list[float]]:
    """What is found, and with which scores."""
    with Engine.open(config(place)) as engine:
        found = [engine.search(Query(asked, 10, mode=mode)) for asked in ASKED for mode in Mode]
        shown = [([hit.memory for hit in one.hits], one.tier, one.outcome) for one in found]
        return shown, [hit.score for one in found for hit in one.hits]


def test_there_and_back_the_same_store_gives_the_same_answers(file, server, tmp_path) -> None:
    before = answers(file)

    assert move(file, server).run(quiet).memories == 159
    assert move(file, server).compared(quiet).same
    shown, scores = answers(server)
    assert shown == before[0]
    assert scores == pytest.approx(before[1], abs=1e-5)
    move(server, str(tmp_path / "back")).run(quiet)

    assert answers(str(tmp_path / "back")) == before
    assert move(file, str(tmp_path / "back")).compared(quiet).same
    with closing(stored(config(server))) as store:
        assert list(store.check()) == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_of_an_older_format_moves_to_a_server(format, server, tmp_path) -> None:
    home = tmp_path / "home"
    unpacked(format, home)

    assert move(str(home), server).run(quiet).memories > 0

    assert move(str(home), server).compared(quiet).same
    with closing(stored(config(server))) as store:
        assert list(store.check()) == []


def test_a_server_has_looked_at_what_was_moved_before_the_first_search(file, server, monkeypatch) -> None:
    monkeypatch.setattr(care, "LEAST", 1)
    with closing(PostgresStore(server)), psycopg.connect(server, autocommit=True) as db:
        for table in ("keywords", "vocabulary", "memories", "chunks", "bodies"):
            db.execute(f"alter table memory.{table} set (autovacuum_enabled = off)")
            db.execute(f"analyze memory.{table}")  # it was looked at when it had no rows

    Move.of(Config(), file, server).run(lambda _done, _total: None)

    with closing(PostgresStore(server)) as store, psycopg.connect(server) as db:
        assert not store.outdated()
        known = "select reltuples from pg_class where oid = any('{memory.keywords,memory.chunks}'::regclass[])"
        assert all(rows > 0 for (rows,) in db.execute(known))
        assert not store.derive()


def test_word_vectors_come_along_into_a_home_that_is_not_there_yet(file, server, tmp_path) -> None:
    words = word_vectors(file)
    words.write_bytes(b"word vectors")
    taken = tmp_path / "fresh"
    taken.touch()
    home = with_setting(Config(), "home", str(taken / "home"), FLAG)

    with pytest.raises(StoreError, match="cannot write") as failed:
        Move.of(home, file, server).run(quiet)
    assert "159 of 159 memories are in postgresql://" in failed.value.hint
    assert failed.value.hint.endswith("run the same command again, which brings the rest.")
    taken.unlink()

    assert Move.of(home, file, server).run(quiet).memories == 159
    [copy] = (taken / "home").glob("words-*")
    assert (copy.name, copy.read_bytes()) == (words.name, b"word vectors")
    assert (taken / "home").stat().st_mode & 0o777 == 0o700


def word_vectors(place: str) -> Path:
    """Where the word vectors of its model are."""
    with closing(stored(config(place))) as store:
        [generation] = store.generations.every()
        return words_of(store.path, generation)


@pytest.mark.parametrize("way", ["there", "back"])
def test_killed_anywhere_and_run_again_nothing_is_twice_and_nothing_lost(way, file, server, tmp_path) -> None:
    dice = random.Random(way)
    source, target = file, server
    if way == "back":
        move(file, server).run(quiet)
        source, target = server, str(tmp_path / "back")
    for _ in range(TIMES):
        killed(python(Shell(tmp_path / "home", tmp_path), MOVE, source, target), dice, 8)

    move(source, target).run(quiet)

    assert move(source, target).compared(quiet).same
    with closing(stored(config(target))) as store:
        assert list(store.check()) == []


@pytest.mark.parametrize("way", ["there", "back"])
def test_cut_off_from_the_server_anywhere_it_says_so_and_goes_on(way, file, server, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(moving, "BATCH", 5)
    source, target = file, server
    if way == "back":
        move(file, server).run(quiet)
        source, target = server, str(tmp_path / "back")
    dice = random.Random(way)
    cut = 0

    def cutting(done: int, _total: int) -> None:
        nonlocal cut
        if dice.random() < 0.5 and cut < TIMES:
            cut += 1
            _ended()

    for _ in range(3 * TIMES):
        try:
            move(source, target).run(cutting)
        except StoreError as error:
            assert "cannot be reached" in str(error)  # noqa: PT017  # it may also go well
            assert "run the same command again" in error.hint  # noqa: PT017
        else:
            break

    assert cut
    assert move(source, target).compared(quiet).same


@pytest.mark.parametrize(("way", "times"), [("there", 20), ("back", TIMES)])
def test_a_server_that_dies_in_a_move_has_nothing_twice_and_loses_nothing(
    way, times, file, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(moving, "BATCH", 5)
    dice = random.Random(way)
    with own_server.own_server() as server:
        source, target = file, server.url()
        if way == "back":
            move(file, target).run(quiet)
            source, target = target, str(tmp_path / "back")
        hasty, deaths = replace(Config(), store=replace(Config().store, busy_seconds=1.0)), 0
        while deaths < times:
            deadly: list[threading.Timer] = []

            def die(_done: int, _total: int, deadly=deadly) -> None:
                if dice.random() < 0.1 and not deadly:  # some moments later, while something is written
                    deadly.append(threading.Timer(dice.uniform(0, 0.02), server.kill))
                    deadly[0].start()

            done = False
            with suppress(StoreError):
                Move.of(hasty, source, target).run(die)
                done = True
            for one in deadly:
                one.join()
                server.start()
            deaths += len(deadly)
            if done:
                assert move(source, target).compared(quiet).same
                if way == "there":
                    server.execute("drop schema memory cascade")
                else:
                    target = str(tmp_path / f"back{deaths}")
        move(source, target).run(quiet)

        assert move(source, target).compared(quiet).same


def _ended() -> None:
    with psycopg.connect(postgres.URL, autocommit=True) as db:
        db.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()"
        )


def test_what_another_machine_writes_meanwhile_is_caught_up(file, server, tmp_path, monkeypatch) -> None:
    move(file, server).run(quiet)
    monkeypatch.setattr(moving, "BATCH", 5)
    monkeypatch.setattr(moving, "FEW", 0)
    target = str(tmp_path / "target")
    with saving(Shell(tmp_path / "home", tmp_path), server) as child:
        heard = [child.stdout.readline().strip() for _ in range(3)]
        move(server, target).run(quiet)
        child.kill()
        heard += [line.strip() for line in child.stdout.readlines() if line.endswith("\n")]
    alone()

    move(server, target).run(quiet)

    with closing(stored(config(target))) as store:
        assert {one.uid for one in store.memories.page(EVERYTHING, 10_000)}.issuperset(heard)
    assert move(server, target).compared(quiet).same


def test_nobody_changes_a_server_that_is_being_filled(file, server, monkeypatch) -> None:
    monkeypatch.setattr(moving, "BATCH", 20)
    refused: list[bool] = []

    def save(_done: int, _total: int) -> None:
        with (
            Engine.open(config(server)) as other,
            pytest.raises(StoreError, match="is being filled by `memory migrate`"),
        ):
            other.save(Draft(title="too", what="early"))
        refused.append(True)

    move(file, server).run(save)

    assert refused
    with Engine.open(config(server)) as other:
        assert other.save(Draft(title="now", what="it may"))
    with pytest.raises(Invalid, match="holds memories"):
        move(file, server).run(quiet)
    with Engine.open(config(server)) as other:
        assert other.store.counts().memories == 160


@pytest.fixture
def second() -> Iterator[str]:
    """Another database of the server, with nothing in it, by its URL."""
    with postgres.another("memory_moved") as url:
        yield url


def test_from_server_to_server_the_same_store_gives_the_same_answers(file, server, second) -> None:
    move(file, server).run(quiet)

    assert move(server, second).run(quiet).memories == 159

    assert move(server, second).compared(quiet).same
    assert move(file, second).compared(quiet).same
    assert answers(second) == answers(server)
    with closing(stored(config(second))) as store:
        assert list(store.check()) == []


def test_while_a_server_is_moved_both_are_searched_and_what_arrived_is_found(file, server, second, monkeypatch) -> None:
    move(file, server).run(quiet)
    monkeypatch.setattr(moving, "BATCH", 20)
    before, found = answers(server), list[int]()

    with Engine.open(config(second)) as searching:

        def look(_done: int, _total: int) -> None:
            if len(found) < 8:
                assert answers(server) == before
                for mode in (Mode.KEYWORD, Mode.HYBRID):
                    there = {hit.memory.id for hit in searching.search(Query("works", 1000, mode=mode)).hits}
                    assert len(there) == searching.store.counts().memories - searching.store.counts().superseded
                found.append(len(there))

        move(server, second).run(look)

    assert found == sorted(found)
    assert 0 < found[0] < found[-1]
    assert move(server, second).compared(quiet).same
