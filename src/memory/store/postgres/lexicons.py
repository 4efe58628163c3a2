"""Term vectors go with the texts that held the terms; what is to be learned from, and what is wrong with them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memory.store.postgres.database import many, one
from memory.store.postgres.index import COLUMNS, cut
from memory.store.postgres.rows import keys
from memory.store.records import key, lexicon
from memory.text.lookup import stems

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Sequence

    from memory.store.postgres.opening import Db

COMMON = "passages, fit, axes, basis_sum, spread, words, along, square"
"""What all term vectors of a generation have in common."""

_REMOVE = "delete from lexicon_terms where generation in (select generation from lexicons) and term = any(%s)"

# Of words the terms that hold them: alone, as the first of two, as the second. '!' follows ' '.
_HOLDING = """
    with gone as materialized (select * from unnest(%s::text[]) w (word))
    select t.term from gone cross join lexicons l
    join lexicon_terms t on t.generation = l.generation and t.term = word
    union
    select t.term from gone cross join lexicons l
    join lexicon_terms t on t.generation = l.generation
        and t.term > (word || ' ') collate "C" and t.term < (word || '!') collate "C"
    union
    select t.term from gone cross join lexicons l
    join lexicon_terms t on t.generation = l.generation
        and split_part(t.term, ' ', 2) = word and strpos(t.term, ' ') > 0
"""


@contextmanager
def unlearning(db: Db, memories: Sequence[int]) -> Generator[None]:
    """Around whatever removes chunks of memories; see `TermVectors`."""
    if one(db, "select max(generation) from lexicons") is None:
        yield
        return
    words = _unlearn(db, memories)
    yield
    rows = many(db, "select term from vocabulary where term = any(%s)", ([cut(word) for word in words],))
    held = {term for (term,) in rows}
    terms = many(db, _HOLDING, (sorted(word for word in words if cut(word) not in held),))
    db.execute(_REMOVE, ([term for (term,) in terms],))


def _unlearn(db: Db, memories: Sequence[int]) -> set[str]:
    """Take away the vectors of two words that stand together in memories; all words that the index holds of these."""
    from memory.store.pairs import neighbours

    found: set[str] = set()
    for row in many(db, f"select {COLUMNS} from passages p where memory_id = any(%s)", (keys(memories),)):
        columns = [stems(text or "") for text in row]
        found.update(*columns)
        db.execute(_REMOVE, (list(neighbours(columns)),))
    return found


def forget_terms(db: Db, generation: int) -> None:
    """Take the term vectors of a generation away."""
    db.execute("delete from lexicons where generation = %s", (lexicon(generation),))


def switch(db: Db, generation: int) -> None:
    """Put those that were learned beside in the place of the term vectors of a generation, unless somebody did."""
    if not many(db, "select from lexicons where generation = %s", (-key(generation),)):
        return
    forget_terms(db, generation)
    db.execute(
        f"""insert into lexicons (generation, terms, {COMMON})
            select made_of, terms, {COMMON} from lexicons where generation = %s""",
        (-key(generation),),
    )
    for table in ("lexicon_terms", "lexicon_axes", "lexicon_lessons", "lexicon_pairs"):
        db.execute(f"update {table} set generation = -generation where generation = %s", (-key(generation),))
    forget_terms(db, -generation)


def term_faults(db: Db) -> list[tuple[int, str]]:
    """Generations whose term vectors are not as `TermVectors` promises, and what is wrong with each."""
    counts = many(
        db,
        """select l.generation, 'has miscounted its terms' from lexicons l
           where terms <> (select count(*) from lexicon_terms t where t.generation = l.generation)""",
    )
    # A word that is too long is kept otherwise among the words.
    words = many(db, "select generation, term from lexicon_terms")
    held = {term for (term,) in many(db, "select term from vocabulary")}
    lost = {generation for generation, term in words if not held.issuperset(map(cut, term.split(" ")))}
    return [*counts, *((generation, "knows a word that no chunk holds") for generation in sorted(lost))]


def teach(db: Db, generation: int, chunks: Collection[int]) -> None:
    """Chunks got vectors: they are lessons, if anything was learned. Otherwise all are."""
    db.execute(
        """insert into lexicon_lessons (generation, chunk_id)
           select l.generation, w.id from lexicons l cross join unnest(%s::bigint[]) w (id) where l.made_of = %s
           on conflict do nothing""",
        (list(chunks), generation),
    )


def forget_chunks(db: Db, generation: int, chunks: Collection[int]) -> None:
    """Chunks lost their vectors: they are no lessons, and what they were the first to say is not known."""
    for table in ("lexicon_lessons", "lexicon_pairs"):
        db.execute(
            f"delete from {table} where generation in (%s, %s) and chunk_id = any(%s)",
            (generation, -generation, list(chunks)),
        )
