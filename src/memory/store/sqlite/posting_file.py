"""
Postings as a derived file: of each token which chunks hold it, and how much that weighs. It is read from FTS5's index.

FTS5 walks all postings of a query's terms twice for one ranking, a row at a time. Here they are arrays. The file is used
where it is known to be current (`memory.store.sqlite.postings`), and made anew where too much came or went since.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema import np
from memory.store import WEIGHTS, records
from memory.store.sections import Doubt, Section
from memory.store.sqlite import derived

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import apsw
    from numpy.typing import NDArray

    from memory.store.sqlite.database import Database
    from memory.store.sqlite.marks import Lists

NAME, VERSION = "postings", 5

STALE, SHARE = 1_000, 8
"""So many chunks that came or went since, and one of so many that are in the file, make it old."""

AT_ONCE = 100_000
"""Occurrences read at once: SQLite sorts them in memory, 40 bytes each."""

HALVES = {column: round(2 * weight) for column, weight in WEIGHTS.items()}
"""The weights of the columns as whole numbers, so that sums of them are exact."""

_TYPES = {
    "ids": "<i8",
    "owners": "<i8",
    "lengths": "<i4",
    "changed": "<i8",
    "happened": "<i8",
    "terms": "|u1",
    "starts": "<i8",
    "mark_texts": "|u1",
    "mark_ends": "<i8",
    "mark_starts": "<i8",
    "mark_rows": "<i4",
}
"""Of the sections that are written at once: see `Base`, and `memory.store.sqlite.marks.Read`."""

_MICROSECONDS = "ifnull(unixepoch(substr({0}, 1, 19)) * 1000000 + substr({0}, 21, 6), 0)"
CHANGED, HAPPENED = (_MICROSECONDS.format(moment) for moment in ("m.updated_at", records.HAPPENED))
"""When a memory m was, in `microseconds`; 0 if that is damaged."""

_CODE = 64  # above each of them; an occurrence is read as one number, its chunk times this and its weight


class Base(NamedTuple):
    """
    Postings as they were at one moment, in a file. Chunks are numbered in the order of their ids: their row.

    Attributes:
        ids, owners, lengths: Of each row: the chunk, its memory, and how many tokens it has.
        changed, happened: When its memory was, in `microseconds`.
        terms: All tokens, in bytes, sorted.
        starts: Where the postings of each term begin, and where the last ones end; int64.
        rows: Of each posting, ascending in a term; int32.
        halves: Twice the sum of the weights of the columns where the term stands; uint16.
        number, last: The last removal and the last id of a chunk that are in it.
        marks: What chunks are filtered by.
    """

    ids: NDArray[np.int64]
    owners: NDArray[np.int64]
    lengths: NDArray[np.int32]
    changed: NDArray[np.int64]
    happened: NDArray[np.int64]
    terms: Sequence[bytes]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    halves: NDArray[np.uint16]
    number: int
    last: int
    marks: Lists

    def postings(self, token: str, *, prefix: bool) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """
        The rows of a token, ascending, or those of all tokens that begin so, one token after the other; and of each twice
        the sum of the weights of the columns where it stands.
        """
        begin = token.encode()
        first = bisect_left(self.terms, begin)
        if prefix:
            stop = bisect_left(self.terms, begin + b"\xff", first)  # which UTF-8 has nowhere
        else:
            stop = first + (first < len(self.terms) and self.terms[first] == begin)
        between = slice(self.starts[first], self.starts[stop])
        return self.rows[between], self.halves[between]


def opened(path: str, stamp: bytes) -> Base:
    """
    Raises:
        Doubt: The file is not there, or not as it was written.
    """
    from memory.store.sqlite.marks import Lists, Read

    file = derived.opened(path, NAME, VERSION, stamp)
    terms = file.section("terms").tobytes().split(b"\n")
    names = ("ids", "owners", "lengths", "changed", "happened", "starts", "rows", "halves")
    marks = Lists(*(file.section(f"mark_{name}") for name in Read._fields))
    facts = file.head["facts"]
    return Base(
        **{name: file.section(name) for name in names},
        terms=terms,
        marks=marks,
        number=facts["number"],
        last=facts["last"],
    )


def last(db: apsw.Connection) -> int:
    """The highest id that a chunk ever had; 0 if there was none."""
    found: int = db.execute("select ifnull(max(seq), 0) from sqlite_sequence where name = 'chunks'").get
    return found


def due(database: Database) -> bool:
    """Whether a file should be made: there is none that can be opened, or too much came or went since."""
    if database.frozen is not None:  # nothing can be said to count
        return False
    with database.read() as db:
        if (stamp := derived.stamp(db, NAME)) is None:
            return True
        try:
            facts = derived.opened(database.path, NAME, VERSION, stamp).head["facts"]
        except Doubt:
            return True
        came: int = db.execute("select count(*) from chunks where id > ?", (facts["last"],)).get
        gone = derived.since(db, facts["number"])
        return gone is None or came + len(gone.chunks) > STALE + facts["rows"] // SHARE


def size(db: apsw.Connection, path: str) -> int:
    """How many chunks are in the file that counts; 0 if there is none."""
    if (stamp := derived.stamp(db, NAME)) is None:
        return 0
    try:
        return int(derived.opened(path, NAME, VERSION, stamp).head["facts"]["rows"])
    except Doubt:
        return 0


def build(database: Database) -> bool:
    """Make the file that counts from now on; False if another process is at it."""
    with database.read() as db:
        number, end = derived.latest(db), last(db)
        counted = _vocabulary(db)
        columns = _columns(db, counted)
        postings = int(counted.chunks.sum())
        sections = {
            **{name: Section(_TYPES[name], column.shape) for name, column in columns.items()},
            "rows": Section("<i4", (postings,)),
            "halves": Section("<u2", (postings,)),
        }
        facts = {"number": number, "last": end, "rows": len(columns["ids"])}
        with derived.making(database, NAME, VERSION, facts=facts, sections=sections) as making:
            if making is None:
                return False
            for name, column in columns.items():
                making.put(name, column)
            first = 0
            for rows, halves in _postings(db, columns["ids"], counted):
                making.put("rows", rows, first)
                making.put("halves", halves, first)
                first += len(rows)
    derived.publish(database, NAME, making.stamp)
    return True


def _columns(db: apsw.Connection, counted: TokenCounts) -> dict[str, NDArray[Any]]:
    """All sections but those of the postings."""
    from memory.store.sqlite.marks import read

    of_rows = _chunks(db)
    terms = np.frombuffer(b"\n".join(counted.terms), np.uint8)
    starts = np.concatenate(([0], counted.chunks.cumsum()))
    marks = {f"mark_{name}": array for name, array in read(db, of_rows["owners"])._asdict().items()}
    return {**of_rows, "terms": terms, "starts": starts, **marks}


def _chunks(db: apsw.Connection) -> dict[str, NDArray[Any]]:
    """What a `Base` has of each row."""
    found: Iterable[tuple[int, int, int, int, bytes]] = db.execute(
        f"""select c.id, c.memory_id, {CHANGED}, {HAPPENED}, d.sz
            from chunks c
            cross join passages_fts_docsize d on d.id = c.id
            cross join memories m on m.id = c.memory_id
            order by c.id"""
    )
    names = ("ids", "owners", "changed", "happened", "lengths")
    rows = ((*row, sum(varints(sizes))) for *row, sizes in found)
    read = np.fromiter(rows, np.dtype([(name, _TYPES[name]) for name in names]))
    return {name: read[name].copy() for name in names}


def varints(data: bytes) -> list[int]:
    """The numbers in a record of FTS5: https://www.sqlite.org/fileformat2.html#varint, and none has nine bytes here."""
    found, number = [], 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            found.append(number)
            number = 0
    return found


def totals(db: apsw.Connection) -> tuple[int, int]:
    """How many chunks FTS5 counts, and how many tokens they have together (fts5_index.c: the record of averages)."""
    counted = varints(db.execute("select block from passages_fts_data where id = 1").get)
    return counted[0], sum(counted[1:])


class TokenCounts(NamedTuple):
    """
    The tokens in order, in bytes; how many chunks hold each, and how often they do together.

    Not one object for each: with a million chunks that is a hundred megabytes.
    """

    terms: list[bytes]
    chunks: NDArray[np.int64]
    often: NDArray[np.int64]


def _vocabulary(db: apsw.Connection) -> TokenCounts:
    terms, numbers = list[bytes](), array("q")
    rows: Iterable[tuple[bytes, int, int]] = db.execute("select cast(term as blob), doc, cnt from vocabulary")
    for term, *counts in rows:
        terms.append(term)
        numbers.extend(counts)
    chunks, often = np.array(numbers, np.int64).reshape(-1, 2).T
    return TokenCounts(terms, chunks, often)


def _postings(
    db: apsw.Connection, ids: NDArray[np.int64], counted: TokenCounts
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows and halves of all terms in order, some terms at a time."""
    weights = " ".join(f"when '{column}' then {halves}" for column, halves in HALVES.items())
    first, ends = 0, counted.often.cumsum()
    while first < len(ends):
        before = ends[first - 1] if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, before + AT_ONCE, "right")))
        texts = db.execute(
            f"""select group_concat(doc * {_CODE} + case col {weights} end) from occurrences
                where term between cast(? as text) and cast(? as text) group by term order by term""",
            (counted.terms[first], counted.terms[stop - 1]),
        ).fetchall()
        codes = np.fromstring(",".join([str(text) for (text,) in texts]), np.int64, sep=",")
        terms = np.repeat(np.arange(stop - first), counted.often[first:stop])
        rows, halves = np.searchsorted(ids, codes // _CODE), codes % _CODE
        order = np.lexsort((rows, terms))
        terms, rows, halves = terms[order], rows[order], halves[order]
        begins = np.flatnonzero(np.diff(terms, prepend=-1) | np.diff(rows, prepend=-1))
        summed = np.add.reduceat(halves, begins)
        if summed.max() > np.iinfo(np.uint16).max:
            raise Doubt("a chunk says one word too often")
        yield rows[begins], summed
        first = stop
