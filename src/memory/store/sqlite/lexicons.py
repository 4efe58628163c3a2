"""Term vectors go with the texts that held the terms; what is to be learned from, and what is wrong with them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw

from memory.store import WEIGHTS
from memory.store.records import Row, key, lexicon, packed
from memory.store.sqlite.halves import BYTES
from memory.store.sqlite.rows import listed
from memory.text.lookup import stems

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Sequence

_INDEXED = ", ".join(WEIGHTS)

COMMON = "passages, fit, axes, basis_sum, spread, words, along, square"
"""What all term vectors of a generation have in common."""

_PARTS = ("lexicon_terms", "lexicon_axes", "lexicon_lessons", "lexicon_pairs")

_REMOVE = """
    delete from lexicon_terms
    where generation in (select generation from lexicons) and term in (select value from json_each(?))
"""

# Of words that no chunk holds the terms that hold them: alone, as the first of two, as the second. '!' follows ' '.
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
    select t.term from gone cross join lexicons l
    cross join lexicon_terms t on t.generation = l.generation
        and substr(t.term, instr(t.term, ' ') + 1) = word and instr(t.term, ' ') > 0
"""


@contextmanager
def unlearning(db: apsw.Connection, memories: Sequence[int]) -> Generator[None]:
    """Around whatever removes chunks of memories; see `TermVectors`."""
    if db.execute("select max(generation) from lexicons").get is None:
        yield
        return
    words = _unlearn(db, memories)
    yield
    rows: Iterable[Row] = db.execute(_VANISHED, (packed(sorted(words)),))
    db.execute(_REMOVE, (packed([term for (term,) in rows]),))


def _unlearn(db: apsw.Connection, memories: Sequence[int]) -> set[str]:
    """Take away the vectors of two words that stand together in memories; all words that the index holds of these."""
    from memory.store.pairs import neighbours

    found: set[str] = set()
    rows: Iterable[Row] = db.execute(
        f"select {_INDEXED} from passages where memory_id in (select value from json_each(?))", (listed(memories),)
    ).fetchall()
    for row in rows:
        columns = [stems(text or "") for text in row]
        found.update(*columns)
        db.execute(_REMOVE, (packed(list(neighbours(columns))),))
    return found


SOUND_LEXICON = f"""
    l.passages >= 0 and abs(l.fit) <= 1.001 and abs(l.along) < 1.7e308 and l.square between 0 and 1.7e308
    and length(l.spread) = 8 * l.axes and (l.basis_sum is null or exists (select 1 from lexicon_axes a
        join generations g on g.id = l.made_of
        where a.generation = l.generation and length(a.basis) in {BYTES.format(count="(l.axes * g.dimension)")}))
"""
"""Of a row of `lexicons` as l."""


def forget_terms(db: apsw.Connection, generation: int) -> None:
    """Take the term vectors of a generation away."""
    for table in (*_PARTS, "lexicons"):  # also without foreign keys
        db.execute(f"delete from {table} where generation = ?", (lexicon(generation),))


def switch(db: apsw.Connection, generation: int) -> None:
    """Put those that were learned beside in the place of the term vectors of a generation, unless somebody did."""
    if not db.execute("select 1 from lexicons where generation = ?", (-key(generation),)).get:
        return
    with counting(db, generation):
        forget_terms(db, generation)
        db.execute(
            f"insert into lexicons (generation, {COMMON}) select made_of, {COMMON} from lexicons where generation = ?",
            (-key(generation),),
        )
        for table in _PARTS:
            db.execute(f"update {table} set generation = -generation where generation = ?", (-key(generation),))
        db.execute("delete from lexicons where generation = ?", (-key(generation),))


@contextmanager
def counting(db: apsw.Connection, generation: int) -> Generator[None]:
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
        (lexicon(generation),),
    )


def term_faults(db: apsw.Connection) -> list[tuple[int, str]]:
    """Generations whose term vectors are not as `TermVectors` promises, and what is wrong with each."""
    codes: Iterable[Row] = db.execute(
        f"""select l.generation, 'has codes or a basis of another length' from lexicons l
            where not ifnull({SOUND_LEXICON}, 0) or exists (
                select 1 from lexicon_terms t where t.generation = l.generation and length(t.code) <> l.axes
            )
            union all
            select l.generation, 'has miscounted its terms' from lexicons l
            where terms <> (select count(*) from lexicon_terms t where t.generation = l.generation)"""
    )
    words: Iterable[Row] = db.execute(
        """with held as materialized (select term from vocabulary)
           select distinct generation, 'knows a word that no chunk holds' from (
               select generation, substr(term, 1, instr(term || ' ', ' ') - 1) as word from lexicon_terms
               union all
               select generation, substr(term, instr(term, ' ') + 1) from lexicon_terms
           )
           where word not in (select term from held)"""
    )
    return [*codes, *words]


def teach(db: apsw.Connection, generation: int, chunks: Collection[int]) -> None:
    """Chunks got vectors: they are lessons, if anything was learned. Otherwise all are."""
    # One after the other: a list for `json_each` takes three times as long for the one chunk of a note.
    db.executemany(
        """insert or ignore into lexicon_lessons (chunk_id, generation)
           select ?1, generation from lexicons where generation in (?2, -?2)""",
        [(key(chunk), generation) for chunk in chunks],
    )


def forget_chunks(db: apsw.Connection, generation: int, chunks: Collection[int]) -> None:
    """Chunks lost their vectors: they are no lessons, and what they were the first to say is not known."""
    for table in ("lexicon_lessons", "lexicon_pairs"):
        db.execute(
            f"delete from {table} where generation in (?, ?) and chunk_id in (select value from json_each(?))",
            (generation, -generation, listed(chunks)),
        )
