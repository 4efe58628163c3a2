"""What went since a copy of chunks or vectors was made: their ids, numbered, of which the last 100,000 are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import apsw


class Removed(NamedTuple):
    """
    Attributes:
        number: Of the last removal; 0 if there was none.
        chunks: Each once.
    """

    number: int
    chunks: frozenset[int]


def latest(db: apsw.Connection) -> int:
    """The number of the last removal; 0 if there was none."""
    found: int = db.execute("select ifnull(max(number), 0) from removals").get
    return found


def since(db: apsw.Connection, number: int, generation: int | None = None) -> Removed | None:
    """
    What went after the removal with this number. None if that is not known any more, or what there was before counts no
    more: then a copy is made anew.

    Args:
        generation: Chunks that lost their vectors in it; they may have others by now. None: chunks that are gone.
    """
    rows: Iterable[tuple[int, int | None, int | None]] = db.execute(
        "select number, generation, chunk_id from removals where number > ? order by number", (number,)
    )
    gone: set[int] = set()
    last = number
    for found, of, chunk in rows:
        if found != last + 1:
            return None
        last = found
        if of == generation:
            if chunk is None:
                return None
            gone.add(chunk)
    return None if last == number and latest(db) != number else Removed(last, frozenset(gone))


def note(db: apsw.Connection, generation: int, chunks: Collection[int]) -> None:
    """Chunks lost their vectors in a generation. A trigger notes those that are deleted themselves."""
    db.executemany(
        "insert into removals (generation, chunk_id) values (?, ?)", [(generation, chunk) for chunk in chunks]
    )


def note_all(db: apsw.Connection, generation: int | None = None) -> None:
    """All vectors of a generation went or were made anew; without one, all that is derived from chunks."""
    db.execute("insert into removals (generation) values (?)", (generation,))
