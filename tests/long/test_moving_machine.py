"""A store that moves to another now and then is the same store, whatever is done to it before and after."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import postgres
from entries import at
from hypothesis import HealthCheck
from hypothesis.stateful import rule
from profiles import examples
from sound import sound

from laws.test_store_machine import Stores
from memory.carry.migrate import compare, migrate
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from memory.store import Store


def moved(source: Store, target: Store, name: str) -> None:
    migrate(source, target, name, lambda _done, _total: None)

    found = compare(source, target, lambda _done, _total: None)
    assert found.same, found
    assert source.tables.numbers().items() <= target.tables.numbers().items()
    assert list(target.check()) == []


class Moving(Stores):
    """The oracle stays where it is; the store is in another file after each move, and one beside it catches up."""

    def opened(self) -> Store:
        self.folder = Path(tempfile.mkdtemp())
        self.files = 0
        self.beside = self.new()
        return self.new()

    def new(self) -> Store:
        self.files += 1
        return SqliteStore(self.folder / f"{self.files}.db")

    @rule()
    def move(self) -> None:
        self.give_up_claims()
        former, self.store = self.store, self.new()
        moved(former, self.store, "former")
        former.close()
        self.beside.close()
        self.beside = self.new()

    def give_up_claims(self) -> None:
        """A move leaves them where they were made: whoever embeds does so in the store that they opened."""
        for claim in self.same("queue.claims", at(0)):
            self.same("queue.release", list(claim.chunks))

    @rule()
    def catch_up(self) -> None:
        moved(self.store, self.beside, "here")

    def teardown(self) -> None:
        self.store.close()
        self.beside.close()
        for file in self.folder.glob("*.db"):
            sound(file)
        shutil.rmtree(self.folder)


class ServersMoving(Moving):
    """From a file to a server and back; the one beside it is on the server while the store is in a file."""

    def opened(self) -> Store:
        self.folder = Path(tempfile.mkdtemp())
        self.files = 0
        self.server = postgres.opened()
        self.beside = self.server.__enter__()
        return self.new()

    @rule()
    def move(self) -> None:
        self.give_up_claims()
        moved(self.store, self.beside, "here")
        file = self.new()
        moved(self.beside, file, "server")
        self.store.close()
        self.store = file
        postgres.emptied()

    def teardown(self) -> None:
        self.store.close()
        self.server.__exit__(None, None, None)
        shutil.rmtree(self.folder)


TestMoving = Moving.TestCase
TestMoving.settings = examples(1, stateful_step_count=35, suppress_health_check=list(HealthCheck))

if postgres.URL:  # `make test-postgres`
    TestServersMoving = ServersMoving.TestCase
    TestServersMoving.settings = examples(0.2, stateful_step_count=25, suppress_health_check=list(HealthCheck))
