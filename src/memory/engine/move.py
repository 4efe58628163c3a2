"""Moving a store: from a file to a server, back, or between two of a kind."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory.carry.migrate import Compared, Moved, compare, migrate
from memory.config import DATABASE, FLAG, Config, with_setting
from memory.config.files import contents, folders, write_file
from memory.engine import stored
from memory.schema.errors import Invalid, StoreDamaged, StoreError, explained
from memory.store.tables import GENERATIONS, MEMORIES, Movable, following
from memory.vectors.words import place as words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memory.store.sqlite.frozen import Predecessor

    Progress = Callable[[int, int], None]

__all__ = ["Compared", "Move", "Moved"]

SCHEMES = ("postgres://", "postgresql://")

WORDS_BYTES = 1 << 30


class Move(NamedTuple):
    """
    A move from one store to another.

    Attributes:
        source, target: The settings of each store.
        predecessor: The source, if the target replaces it in the end; else None.
    """

    source: Config
    target: Config
    predecessor: Predecessor | None = None

    @classmethod
    def of(cls, config: Config, source: str, target: str | None) -> Move:
        """
        Plan a move between two places, each a folder with the file memory.db, that file, or the URL of a server.
        Without a target, a new file replaces the source, which has an older format.

        Raises:
            ConfigError: A URL is not valid.
            Invalid: There is no such file, both are the same, a target is missing, or see `Predecessor.at`.
            StoreError: The source cannot be used.
        """
        origin = _at(config, source)
        if not origin.store.url and not os.path.isfile(origin.database):  # noqa: PTH113  # too long a name
            raise Invalid(f"no database {origin.database}", hint="FROM is its folder, or a server's URL.")
        if target is None:
            if origin.store.url:
                raise Invalid(
                    "TO is missing", hint="Only a file of an older format is brought up to date in its place."
                )
            from memory.store.sqlite.frozen import Predecessor

            predecessor = Predecessor.at(origin.database, DATABASE)
            return cls(origin, _at(config, str(predecessor.new)), predecessor)
        move = cls(origin, _at(config, target))
        if move.source.place == move.target.place:
            raise Invalid(f"{move.source.place} cannot be moved onto itself")
        return move

    @property
    def replaced(self) -> bool:
        """Whether the target has already replaced the source, so nothing is left to do."""
        return self.predecessor is not None and self.predecessor.replaced

    def size(self) -> Mapping[str, int]:
        """Number of rows to move, by table. Does not open the target."""
        with closing(stored(self.source, older=True)) as source:
            generations = [id for (id,) in source.tables.rows(GENERATIONS, GENERATIONS.key)]
            return {one.name: source.tables.count(one) for one in (GENERATIONS, *following(generations))}

    def run(self, progress: Progress) -> Moved:
        """
        Move everything; see `memory.carry.migrate.migrate`. Files of word vectors are copied too.

        Raises:
            Invalid: The target has other content. It was not changed.
            StoreError: A store cannot be read or written. Moved rows stay, and the hint says how many, unless a store
                is damaged.
        """
        if self.replaced:
            with closing(stored(self.source)) as store:
                return Moved(store.tables.count(MEMORIES), written=0, removed=0, rounds=0)
        if not self.target.store.url:
            with explained(StoreError, f"cannot make the folder {self.target.folder}"):
                Path(self.target.folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        with closing(stored(self.source, older=True)) as source, closing(stored(self.target)) as target:
            try:
                moved = migrate(source, target, self._name(), progress)
                if self.predecessor is None:
                    _copy_words(source, target)
                    # Without this, searches would compare all vectors and read all postings until a long-running
                    # program builds the index.
                    target.vectors.sign()
                    target.derive()
            except StoreDamaged:  # trying again would not help
                raise
            except StoreError as error:
                error.hint = " ".join(filter(None, [error.hint, self._left(source, target)]))
                raise
        return moved

    def _left(self, source: Movable, target: Movable) -> str:
        """A hint after a failed move: how much was moved, and how to continue."""
        there = f"what arrived in {self.target.place} stays"
        with suppress(StoreError):  # either store may be the one that failed
            arrived, every = (one.tables.count(MEMORIES) for one in (target, source))
            there = f"{arrived:,} of {every:,} memories are in {self.target.place}"
        return f"{there[0].upper()}{there[1:]}; run the same command again, which brings the rest."

    def compared(self, progress: Progress) -> Compared:
        """Compare the contents of both stores; see `memory.carry.migrate.compare`."""
        with closing(stored(self.source, older=True)) as source, closing(stored(self.target)) as target:
            return compare(source, target, progress)

    def take_place(self, predecessor: Predecessor) -> None:
        """
        Replace the source by the target and keep the source under another name; see `Predecessor.replace`. Continues
        after an interruption.

        Raises:
            StoreError: It cannot be replaced. Moved rows stay, and the same move can continue.
        """
        predecessor.replace()
        # Everything is moved: if this fails, a long-running program builds the index later.
        with suppress(StoreError), closing(stored(self.source)) as store:
            store.vectors.sign()
        predecessor.clear()

    def _name(self) -> str:
        return self.source.place if self.source.store.url else os.path.realpath(self.source.database)


def _at(config: Config, place: str) -> Config:
    """The settings of a store at a place."""
    if place.startswith(SCHEMES):
        return with_setting(config, "store.url", place, FLAG)
    path = Path(place)
    folder = path.parent if path.name == DATABASE else path
    return with_setting(with_setting(config, "store.url", "", FLAG), "home", str(folder.absolute()), FLAG)


def _copy_words(source: Movable, target: Movable) -> None:
    for generation in target.generations.every():  # an older source has only its rows
        here, there = words_of(source.path, generation), words_of(target.path, generation)
        if here and there and here.is_file() and not there.exists():
            with explained(StoreError, f"cannot write {there}"), folders(there.parent, private=True):
                write_file(there, contents(here, WORDS_BYTES), private=True)
