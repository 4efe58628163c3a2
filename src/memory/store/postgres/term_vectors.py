"""The vectors of terms on a server, and whose words vanished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store import TermVector
from memory.store.postgres.rows import cut
from memory.store.term_vectors import TermVectors

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memory.store.postgres.database import ServerPool
    from memory.store.postgres.rows import Db
    from memory.store.records import Values

_KEEP = """
    insert into lexicon_terms (generation, term, passages, last, met, scale, code)
    select %s, * from unnest(%s::text[], %s::bigint[], %s::bigint[], %s::float8[], %s::float8[], %s::bytea[])
    on conflict (generation, term) do update set passages = excluded.passages, last = excluded.last,
        met = excluded.met, scale = excluded.scale, code = excluded.code
"""


class PostgresTermVectors(TermVectors):
    """See `memory.store.term_vectors.TermVectors`."""

    _db: ServerPool

    def _keep(self, db: Db, generation: int, term_vectors: Sequence[TermVector], *, of: int) -> None:
        own = {one.term: one for one in term_vectors}.values()
        if own:
            db.execute(_KEEP, (generation, *(list(column) for column in zip(*own, strict=True))))

    def _drop_rarest(self, db: Db, generation: int, count: int) -> None:
        db.execute(
            """delete from lexicon_terms where generation = %s and term in (
                   select term from lexicon_terms where generation = %s
                   order by strpos(term, ' ') > 0 desc, passages, last, term limit %s
               )""",
            (generation, generation, count),
        )

    def _known(self, db: Db, generation: int, terms: Sequence[str] | None, *, once: bool) -> dict[str, TermVector]:
        wanted = "generation = %s"
        values: Values = [generation]
        if terms is not None:
            wanted += " and term = any(%s)"
            values.append(list(terms))
        rows = db.rows(f"select term, passages, last, met, scale, code from lexicon_terms where {wanted}", values)
        return {row[0]: TermVector._make(row) for row in rows}


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


def vanished(db: Db, words: Collection[str]) -> list[str]:
    """See `memory.store.shared.Connection`."""
    rows = db.rows("select term from vocabulary where term = any(%s)", ([cut(word) for word in words],))
    held = {term for (term,) in rows}
    return [term for (term,) in db.rows(_HOLDING, (sorted(word for word in words if cut(word) not in held),))]


def outlived(db: Db) -> list[int]:
    """See `memory.store.shared.Connection`."""
    # A word that is too long is kept otherwise among the words.
    held = {term for (term,) in db.rows("select term from vocabulary")}
    terms = db.rows("select generation, term from lexicon_terms")
    return sorted({generation for generation, term in terms if not held.issuperset(map(cut, term.split(" ")))})
