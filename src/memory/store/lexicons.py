"""Term vectors go with the texts that held the terms; what is to be learned from, and what is wrong with them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memory.store.records import key, lexicon

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Sequence

    from memory.store.shared import Connection

COMMON = "passages, fit, axes, basis_sum, spread, words, along, square"
"""What all term vectors of a generation have in common."""

_PARTS = ("lexicon_terms", "lexicon_axes", "lexicon_lessons", "lexicon_pairs")


def sound(db: Connection) -> str:
    """SQL: of a row of `lexicons` as l, that it can be read. Damaged term vectors are as if not there: they are learned again."""
    return f"""
        l.passages >= 0 and abs(l.fit) <= 1.001 and abs(l.along) < 1.7e308 and l.square between 0 and 1.7e308
        and length(l.spread) = 8 * l.axes and (l.basis_sum is null or exists (
            select 1 from lexicon_axes a join generations g on g.id = l.made_of
            where a.generation = l.generation and length(a.basis) = l.axes * {db.BYTES.format(count="g.dimension")}
        ))
    """


@contextmanager
def unlearning(db: Connection, memories: Sequence[int]) -> Generator[None]:
    """Around whatever removes chunks of memories; see `memory.store.term_vectors.TermVectors`."""
    if db.value("select max(generation) from lexicons") is None:
        yield
        return
    words = _unlearn(db, memories)
    yield
    _remove(db, db.vanished(words))


def _unlearn(db: Connection, memories: Sequence[int]) -> set[str]:
    """Take away the vectors of two words that stand together in memories; all words that the index holds of these."""
    from memory.store import WEIGHTS
    from memory.store.learned import neighbours
    from memory.text.lookup import stems

    found: set[str] = set()
    indexed = f"select {', '.join(WEIGHTS)} from passages where memory_id {db.IN}"
    for row in db.rows(indexed, (db.ids(memories),), strict=True):
        columns = [stems(text or "") for text in row]
        found.update(*columns)
        _remove(db, neighbours(columns))
    return found


def _remove(db: Connection, terms: Iterable[str]) -> None:
    known = f"delete from lexicon_terms where generation in (select generation from lexicons) and term {db.IN}"
    db.change(known, (db.texts(terms),))


def forget_terms(db: Connection, generation: int) -> None:
    """Take the term vectors of a generation away."""
    for table in ("lexicons", *_PARTS):  # also without foreign keys
        db.change(f"delete from {table} where generation = ?", (lexicon(generation),))


def switch(db: Connection, generation: int) -> None:
    """Put those that were learned beside in the place of the term vectors of a generation, unless somebody did."""
    beside = -key(generation)
    if db.value("select 1 from lexicons where generation = ?", (beside,)) is None:
        return
    forget_terms(db, generation)
    db.change(
        f"""insert into lexicons (generation, terms, {COMMON})
            select made_of, terms, {COMMON} from lexicons where generation = ?""",
        (beside,),
    )
    for table in _PARTS:
        db.change(f"update {table} set generation = -generation where generation = ?", (beside,))
    forget_terms(db, -generation)


def faults(db: Connection) -> list[tuple[int, str]]:
    """Generations whose term vectors are not as `memory.store.term_vectors.TermVectors` promises, and what is wrong with each."""
    counts = db.rows(
        f"""select l.generation, 'has codes or a basis of another length' from lexicons l
            where not coalesce({sound(db)}, false) or exists (
                select 1 from lexicon_terms t where t.generation = l.generation and length(t.code) <> l.axes
            )
            union all
            select l.generation, 'has miscounted its terms' from lexicons l
            where terms <> (select count(*) from lexicon_terms t where t.generation = l.generation)"""
    )
    return [*counts, *((generation, "knows a word that no chunk holds") for generation in db.outlived())]


def teach(db: Connection, generation: int, chunks: Collection[int]) -> None:
    """Chunks got vectors: they are lessons, if anything was learned. Otherwise all are."""
    # One after the other: a list takes SQLite three times as long for the one chunk of a note.
    db.each(
        """insert into lexicon_lessons (chunk_id, generation)
           select ?, generation from lexicons where generation in (?, ?) on conflict do nothing""",
        [(chunk, generation, -generation) for chunk in chunks],
    )


def forget_chunks(db: Connection, generation: int, chunks: Collection[int]) -> None:
    """Chunks lost their vectors: they are no lessons, and what they were the first to say is not known."""
    for table in ("lexicon_lessons", "lexicon_pairs"):
        db.change(
            f"delete from {table} where generation in (?, ?) and chunk_id {db.IN}",
            (generation, -generation, db.ids(chunks)),
        )
