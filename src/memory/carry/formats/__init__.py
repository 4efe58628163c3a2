"""
What other programs keep, read as drafts: from bytes or rows to items, a module a sort; `formats` tells them apart.

Here is what each of them says of itself: how a file of it is told, and read.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from memory.carry.formats.reading import shapes
from memory.store.sqlite import foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memory.carry.formats.items import ImportTarget, Read
    from memory.carry.formats.reading import Shape, Source


class Belongs(Enum):
    """
    Which project the memories of a file get.

    Attributes:
        HERE: That of the folder it lies in.
        NAMED: The one that the file names.
        NOWHERE: None, unless the user names one.
        NEVER: None, even if the user names one, as for a graph.
    """

    HERE = "here"
    NAMED = "named"
    NOWHERE = "nowhere"
    NEVER = "never"


MARKDOWN = (".md", ".markdown")
"""How the names of Markdown files end."""

FIRST = 20
"""How many of the JSON values that a file begins with are looked at."""


class Beginning:
    """What is seen of a file at first: its beginning, and the tables of a database; each is looked at once."""

    def __init__(self, source: Source, head: bytes) -> None:
        self.source, self._head = source, head
        self._seen: list[Shape] = []

    @cached_property
    def _more(self) -> Iterator[Shape]:
        return iter(()) if self.is_database else islice(shapes(self._head.decode("utf-8-sig", "replace")), FIRST)

    @property
    def shapes(self) -> Iterator[Shape]:
        """The shapes of the JSON values it begins with; none if it is a database."""
        yield from self._seen
        for shape in self._more:
            self._seen.append(shape)
            yield shape

    @cached_property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """
        The columns of each table; empty if it is no database, or one in an archive.

        Raises:
            Invalid: The database cannot be read.
        """
        path = self.source.path
        return {} if path is None or not self.is_database else foreign.tables(path)

    @property
    def is_database(self) -> bool:
        return self._head.startswith(foreign.MAGIC)

    @property
    def keys(self) -> frozenset[str]:
        """Of the first JSON value: its keys, or those of the objects in it if it is an array."""
        first = next(self.shapes, None)
        return frozenset() if first is None else first.outer or first.inner

    @property
    def wrapped(self) -> frozenset[str]:
        """Of the first JSON value: the keys of the objects in its arrays, or in it if it is an array."""
        first = next(self.shapes, None)
        return frozenset() if first is None else first.inner


class Format(NamedTuple):
    """
    What a program writes.

    Attributes:
        one, many: What a file of it is called.
        becomes: What it is kept as.
        read: Reads a file.
        tells: Whether a file is of it, told from its beginning. Markdown is told elsewhere.
        project: The project of all that it writes, unless the user says which.
    """

    one: str
    many: str
    becomes: str
    read: Callable[[Source, ImportTarget], Iterator[Read]]
    tells: Callable[[Beginning], bool] = lambda _look: False
    belongs: Belongs = Belongs.NOWHERE
    project: str | None = None
