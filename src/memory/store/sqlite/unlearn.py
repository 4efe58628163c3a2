"""Term vectors go with the texts that held the terms."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memory.store.columns import WEIGHTS
from memory.store.sqlite.rows import key, listed, packed
from memory.text.stems import stems

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    import apsw

    from memory.store.sqlite.rows import Row

_COLUMNS = ", ".join(WEIGHTS)

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
    from memory.store.neighbours import neighbours

    found: set[str] = set()
    rows: Iterable[Row] = db.execute(
        f"select {_COLUMNS} from passages where memory_id in (select value from json_each(?))", (listed(memories),)
    ).fetchall()
    for row in rows:
        columns = [stems(text or "") for text in row]
        found.update(*columns)
        db.execute(_REMOVE, (packed(list(neighbours(columns))),))
    return found


def forget(db: apsw.Connection, generation: int) -> None:
    """See `TermVectors.forget`."""
    db.execute("delete from lexicon_terms where generation = ?", (key(generation),))  # also without foreign keys
    db.execute("delete from lexicons where generation = ?", (key(generation),))


def faults(db: apsw.Connection) -> list[tuple[int, str]]:
    """Generations whose term vectors are not as `TermVectors` promises, and what is wrong with each."""
    codes: Iterable[Row] = db.execute(
        """select l.generation, 'has codes or a basis of another length'
           from lexicons l cross join generations g on g.id = l.generation
           where length(l.basis) <> 4 * l.axes * g.dimension
              or exists (select 1 from lexicon_terms t where t.generation = l.generation and length(t.code) <> l.axes)"""
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
