"""The vectors of terms in a file: rows that a save writes again are found by their numbers; whose words vanished."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from itertools import count
from typing import TYPE_CHECKING

import apsw

from memory.store import TermVector
from memory.store.records import Values, packed
from memory.store.term_vectors import TermVectors

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Sequence

    from memory.store.records import Row
    from memory.store.sqlite.database import Database
    from memory.store.sqlite.rows import SqliteConnection

MET, SCALE = float(1 << 24), float(1 << 36)
"""What `met` and `scale` of a term are multiplied by: most of these float32 are whole then, and SQLite keeps them in 4 bytes."""

MANY = 100
"""Chunks learned from at once by whoever goes through a whole store."""

LOG = 4000
"""Pages of the log, 16 MB, from which on it goes into the database while many teach: that waits for the disk."""

_TERM = f"t.term, t.passages, t.last, t.met / {MET}, t.scale / {SCALE}, t.code, t.id"
_WHOLE = "t.passages > 0 and t.met between 0 and 1e30 and t.scale between 0 and 1e30 and length(t.code) = l.axes"

# The numbers are those of a `TermVector`; behind it comes the id.
_KEEP = f"""
    insert into lexicon_terms (id, generation, term, passages, last, met, scale, code)
    values (?7, {{generation}}, ?1, ?2, ?3, ?4 * {MET}, ?5 * {SCALE}, ?6)
    on conflict do update set passages = excluded.passages, last = excluded.last, met = excluded.met,
        scale = excluded.scale, code = excluded.code
"""

_AGAIN = f"""
    update lexicon_terms set passages = ?2, last = ?3, met = ?4 * {MET}, scale = ?5 * {SCALE}, code = ?6
    where id = ?7 and generation = {{generation}} and term = ?1
"""


class SqliteTermVectors(TermVectors):
    """See `memory.store.term_vectors.TermVectors`."""

    _db: Database

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._rows: dict[str, int] = {}  # where the terms were found that were asked for last: not always true now

    def _keep(self, db: SqliteConnection, generation: int, term_vectors: Sequence[TermVector], *, of: int) -> None:
        rows, before = self._rows, db.total_changes()
        places = [rows.get(one[0]) for one in term_vectors]
        known = ((*one, place) for one, place in zip(term_vectors, places, strict=True) if place is not None)
        db.executemany(_AGAIN.format(generation=generation), known)  # half of the time
        if db.total_changes() - before == len(places) - places.count(None):
            term_vectors = [one for one, place in zip(term_vectors, places, strict=True) if place is None]
        last: int = db.execute("select ifnull(max(id), 0) from lexicon_terms").get
        new = [(*one, id) for id, one in enumerate(term_vectors, last + 1)]
        with _counting(db, generation) if len(new) >= 10 * MANY else nullcontext():
            db.executemany(_KEEP.format(generation=generation), new)
        rows.update(zip([one.term for one in term_vectors], count(last + 1)))
        db.wal_autocheckpoint(LOG if of >= MANY else 1000)  # SQLite's own
        if of >= MANY:
            db.unmap()

    def _drop_rarest(self, db: SqliteConnection, generation: int, count: int) -> None:
        with _counting(db, generation):
            rows: Iterable[Row] = db.execute(
                """delete from lexicon_terms where id in (
                       select id from lexicon_terms not indexed where generation = ?1  -- in the order of the table
                       order by instr(term, ' ') > 0 desc, passages, last, term limit ?2
                   ) returning term""",
                (generation, count),
            ).fetchall()
        for (term,) in rows:
            self._rows.pop(term, None)

    def _known(
        self, db: SqliteConnection, generation: int, terms: Sequence[str] | None, *, once: bool
    ) -> dict[str, TermVector]:
        named, joined = ("", "") if terms is None else ("cross join json_each(?) w", "and t.term = w.value")
        values: Values = [*([] if terms is None else [packed(terms)]), generation]
        rows: list[Row] = db.execute(
            f"""select {_TERM} from lexicons l {named}
                cross join lexicon_terms t on t.generation = l.generation {joined}
                where l.generation = ? and {_WHOLE}""",
            values,
        ).fetchall()
        if once or terms is None:
            self._rows = {row[0]: row[-1] for row in rows}
        return {row[0]: TermVector._make(row[:-1]) for row in rows}


@contextmanager
def _counting(db: apsw.Connection, generation: int) -> Generator[None]:
    """
    Around whatever adds or removes a thousand terms: they are counted afterwards, not one by one by triggers. All
    statements of the connection are prepared again then.
    """
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    try:
        yield
    finally:
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
    db.execute(
        """update lexicons set terms = (select count(*) from lexicon_terms t where t.generation = lexicons.generation)
           where generation = ?""",
        (generation,),
    )


# Of words that no chunk holds the terms that hold them: alone, as the first of two ('!' follows ' '), as the second. Those
# are looked for in all: an index of them would take a tenth of the room of all terms.
_VANISHED = """
    with gone as materialized (
        select w.value as word from json_each(?) w
        where not exists (select 1 from occurrences o where o.term = w.value)
    )
    select t.term from gone cross join lexicons l
    cross join lexicon_terms t on t.generation = l.generation and t.term = word
    union
    select t.term from gone cross join lexicons l
    cross join lexicon_terms t on t.generation = l.generation and t.term > word || ' ' and t.term < word || '!'
    union
    select t.term from lexicons l cross join lexicon_terms t on t.generation = l.generation
    where exists (select 1 from gone) and substr(t.term, instr(t.term, ' ') + 1) in (select word from gone)
"""


def vanished(db: apsw.Connection, words: Collection[str]) -> list[str]:
    """See `memory.store.shared.Connection`."""
    return [term for (term,) in db.execute(_VANISHED, (packed(sorted(words)),))]


def outlived(db: apsw.Connection) -> list[int]:
    """See `memory.store.shared.Connection`."""
    rows = db.execute(
        """with held as materialized (select term from vocabulary)
           select distinct generation from (
               select generation, substr(term, 1, instr(term || ' ', ' ') - 1) as word from lexicon_terms
               union all
               select generation, substr(term, instr(term, ' ') + 1) from lexicon_terms
           )
           where word not in (select term from held)"""
    )
    return [generation for (generation,) in rows]
