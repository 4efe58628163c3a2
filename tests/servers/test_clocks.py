"""Machines whose clocks differ share one: the server's. By minutes or by years, whoever is wrong harms nobody."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import asking
import postgres
import pytest
from command import Shell

from faults import Status
from memory.config import Config
from memory.engine import Engine
from memory.schema.draft import Draft
from memory.schema.errors import EmbedError, OverBudget
from memory.schema.query import EVERYTHING
from memory.store.postgres import PostgresStore
from memory.store.postgres.opening import Clock
from memory.tools.hook import FOLDER, QUIET_SECONDS
from memory.vectors.backfill import CLAIM
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

WRONG = [timedelta(days=-400), timedelta(minutes=-7), timedelta(minutes=7), timedelta(days=40)]
"""By how much clocks are wrong: less than the trash keeps and more, less than a claim lasts and more."""

NEAR = timedelta(minutes=2)
"""What a test may take, on the slowest machine, between two looks at a clock."""

Machine = "Callable[..., Engine]"


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Makes machines whose clocks are wrong by so much, each with connections of its own."""
    machines = []

    def made(wrong: timedelta = timedelta(), config: Config | None = None, **how: object) -> Engine:
        store = PostgresStore(postgres.URL, clock=Clock(lambda: datetime.now(UTC) + wrong))
        if config is None:
            how = {"embedder": HashedEmbedder(16)} | how
        machines.append(engine := Engine(store, config or Config(), lasting=False, **how))
        return engine

    with postgres.opened():
        yield made
        for one in machines:
            one.close()


@pytest.mark.parametrize("wrong", WRONG)
def test_moments_are_the_servers(machine, wrong) -> None:
    engine = machine(wrong)

    kept = engine.save(Draft(title="a", what="b")).memory
    engine.update(kept.uid, why="c")

    now = datetime.now(UTC)
    changed = engine.documents.get(kept.uid)
    assert all(abs(now - one) < NEAR for one in (engine.now(), changed.created_at, changed.updated_at))


def test_a_clock_that_is_set_meanwhile_is_followed() -> None:
    wrong = [timedelta()]
    with postgres.opened():
        clock = Clock(lambda: datetime.now(UTC) + wrong[-1])
        with closing(PostgresStore(postgres.URL, clock=clock)) as store:
            for one in WRONG:
                wrong.append(one)
                store.memories.count(EVERYTHING)
                assert abs(store.now() - datetime.now(UTC)) < NEAR


def test_a_clock_that_is_right_is_left_alone() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    clock = Clock(lambda: moment)

    clock.heard((moment + timedelta(seconds=0.9)).timestamp(), moment)
    assert clock.now() == moment
    clock.heard(
        (moment - timedelta(seconds=20)).timestamp(), moment - timedelta(seconds=60)
    )  # it was on its way for long
    assert clock.now() == moment
    clock.heard((moment + timedelta(seconds=90)).timestamp(), moment)
    assert clock.now() == moment + timedelta(seconds=90)


@pytest.mark.parametrize("wrong", WRONG)
def test_the_trash_of_others_is_kept_for_its_days(machine, wrong) -> None:
    right, other = machine(), machine(wrong)
    mine, theirs = (one.save(Draft(title="a", what=f"by {n}")).memory for n, one in enumerate((right, other)))

    right.delete(mine.uid)
    other.delete(theirs.uid)
    other.save(Draft(title="b", what="takes what is over in the trash away"))
    right.save(Draft(title="c", what="so does this"))

    assert {one.uid for one in other.trash.rows()} == {mine.uid, theirs.uid}
    left = [one.until - datetime.now(UTC) for one in right.trash.rows()]
    assert all(abs(one - timedelta(days=Config().trash.days)) < NEAR for one in left)
    right.trash.undo(right.trash.last(theirs.uid), lambda _done, _total: None)
    other.trash.restore([mine.uid])
    assert {one.uid for one in right.documents.recent(EVERYTHING, 9)} >= {mine.uid, theirs.uid}


class Beside(HashedEmbedder):
    """Does something while it embeds passages."""

    def __init__(self, do: Callable[[], None]) -> None:
        super().__init__(16)
        self._do = do

    def embed(self, texts, purpose):
        if purpose == "passage":
            self._do()
        return super().embed(texts, purpose)


@pytest.mark.parametrize(("one", "other"), [(WRONG[0], WRONG[3]), (WRONG[3], WRONG[0]), (WRONG[1], WRONG[2])])
def test_what_one_machine_embeds_no_other_does(machine, one, other) -> None:
    first, second = machine(one), machine(other)
    first.save(Draft(title="embedded", what="at once"))
    unable = replace(Config(), embedding=replace(Config().embedding, provider="none"))
    machine(other, unable).save_all([Draft(title=f"note {n}", what=f"the {n}th") for n in range(3)])
    left = []

    def look() -> None:
        moment = datetime.now(UTC)
        left.extend(claim.until - moment for claim in second.store.queue.claims(second.now()))
        assert second.embed().embedded == 0

    assert machine(one, embedder=Beside(look)).embed().embedded

    assert left
    assert all(abs(time - CLAIM) < NEAR for time in left)
    assert not second.store.queue.queued()


def budgeted(machine, wrong: timedelta, provider, **more: object) -> Engine:
    return machine(wrong, asking.config("ollama", provider, **more))


def test_all_machines_have_one_days_budget(machine, provider) -> None:
    engines = [budgeted(machine, wrong, provider, daily_budget="3 calls") for wrong in WRONG]
    refused, days = 0, {datetime.now(UTC).date()}
    for engine in engines * 2:
        try:
            engine.vectors.probe()
        except OverBudget:
            refused += 1

    days.add(datetime.now(UTC).date())
    assert len(provider.seen) <= 3 * len(days)
    assert refused


@pytest.mark.parametrize("wrong", WRONG)
def test_a_server_that_fails_is_left_alone_as_long_as_it_should(machine, provider, wrong) -> None:
    provider.always(Status(500))
    engine = budgeted(machine, wrong, provider)
    with pytest.raises(EmbedError):
        engine.vectors.probe()

    [host] = {line.host for line in engine.store.usage.lines()}
    until = machine().store.usage.circuit(host).until
    assert abs(until - datetime.now(UTC)) < timedelta(minutes=1) + NEAR


# Whole machines --------------------------------------------------------------------------


@pytest.fixture
def faketime() -> str:
    return shutil.which("faketime") or pytest.skip(
        "no program faketime gives a command another clock: apt install faketime"
    )


@pytest.mark.parametrize("days", [-3, 40])
def test_commands_of_a_machine_whose_clock_is_wrong(tmp_path, faketime, days) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    shell = Shell(tmp_path / "home", tmp_path / "shop", {"MEMORY_STORE_URL": postgres.URL})

    def run(*command: str, wrong: int = days, stdin: str = "") -> str:
        words = (faketime, f"{wrong:+} days", sys.executable, "-m", "memory", *command)
        return subprocess.run(
            words, input=stdin, env=shell.env, cwd=shell.folder, capture_output=True, text=True, check=True, timeout=300
        ).stdout

    def event(name: str, command: str) -> str:
        said = {"session_id": "one", "transcript_path": "", "cwd": str(shell.folder), "hook_event_name": name}
        said |= {"permission_mode": "default", "source": "startup", "stop_hook_active": False}
        return run("hook", command, "--agent", "claude-code", stdin=json.dumps(said))

    with postgres.opened():
        first = json.loads(run("save", "first", "--what", "by the one that is wrong", "--json"))["memory"]["id"]
        run("save", "second", "--what", "by the one that is right", wrong=0)
        run("delete", first)
        run("save", "third", "--what", "by the one that is wrong")
        rows = json.loads(run("trash", "list", "--json", wrong=0))
        event("SessionStart", "session-start")
        [mark] = [file for file in Path(shell.home, FOLDER).iterdir() if not file.suffix[1:].isdecimal()]
        os.utime(mark, (time.time() - 2 * QUIET_SECONDS,) * 2)

        assert first in json.dumps(rows)
        assert not event("Stop", "session-end")  # something was saved since
