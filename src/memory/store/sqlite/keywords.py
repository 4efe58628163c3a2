"""The keyword leg: what the index knows of a term, and BM25 inside a scope."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

from memory.query import Scored
from memory.store import SPARSE
from memory.store.sqlite.match import BM25, expression
from memory.store.sqlite.rows import broad, listed, where
from memory.store.stems import stems

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from memory.query import Ranking, Scope, Term
    from memory.record import ChunkId
    from memory.store.sqlite.rows import Row

SLACK = 6  # chunks ranked beyond k in a broad scope, for the few that it leaves out
REMEMBERED = 10_000  # terms


class Vocabulary(threading.local):
    """
    What was counted for a term, as long as nobody writes: a count costs 40 µs, and words come again.

    For each thread its own, as each has its own connection.
    """

    def __init__(self) -> None:
        self._state: tuple[int, int] | None = None
        self._counted: dict[Term, Term] = {}

    def of(self, db: apsw.Connection) -> dict[Term, Term]:
        """Terms as they were asked for, and as they were counted in the present state of the database."""
        state = (int(db.pragma("data_version")), db.total_changes())  # what others, and what this connection wrote
        if state != self._state or len(self._counted) > REMEMBERED:
            self._state, self._counted = state, {}
        return self._counted


def weigh(db: apsw.Connection, terms: Sequence[Term], vocabulary: Vocabulary) -> tuple[Term, ...]:
    """See `Store.weigh`."""
    known = vocabulary.of(db)
    total: int = db.execute("select value from counters where name = 'chunks'").get
    weighed: dict[tuple[tuple[str, ...], bool], Term] = {}
    for term in terms:
        if not (key := stems(term.text)) or (key, term.prefix) in weighed:
            continue
        found = known.get(term) or known.setdefault(term, _counted(db, term, key))
        weighed.setdefault((key, found.prefix), found._replace(weight=idf(found.rows, total)))
    return tuple(weighed.values())


def _counted(db: apsw.Connection, term: Term, key: tuple[str, ...]) -> Term:
    """The term with its rows; as a prefix if it is a rare word that begins others."""
    counted = term._replace(rows=_rows(db, term, key))
    if counted.rows >= SPARSE or term.prefix or term.gram or len(key) > 1 or len(term.text) < 3:
        return counted
    longer = term._replace(prefix=True)
    longer = longer._replace(rows=_rows(db, longer, key))
    return longer if longer.rows > counted.rows else counted


def idf(rows: int, total: int) -> float:
    """
    ln(1 + (N - n + 0.5) / (n + 0.5)): above 0 also for a term that every chunk holds.

    The form of Robertson and Zaragoza 2009 with the 1 that Lucene adds.
    """
    return math.log(1 + (total - rows + 0.5) / (rows + 0.5))


def _rows(db: apsw.Connection, term: Term, key: tuple[str, ...]) -> int:
    if len(key) == 1 and not term.prefix:
        return db.execute("select doc from vocabulary where term = ?", key).get or 0
    return int(db.execute("select count(*) from passages_fts where passages_fts match ?", (expression([term]),)).get)


def by_keyword(db: apsw.Connection, terms: Sequence[Term], scope: Scope, k: int) -> Ranking:
    """See `Store.by_keyword`."""
    if not terms:
        return ()
    if broad(scope):
        ranking, exhausted = _ranked_then_filtered(db, terms, scope, k + SLACK)
        if exhausted or len(ranking) >= k:
            return ranking[:k]
    return _filtered_then_ranked(db, terms, scope, k)


def _ranked_then_filtered(db: apsw.Connection, terms: Sequence[Term], scope: Scope, k: int) -> tuple[Ranking, bool]:
    """
    The best k of all chunks, less those out of scope; and whether there were no more than k.

    Spares two look-ups for each of the thousands of rows that match. FTS5 computes `matched` only for rows that
    enter the best k, because SQLite defers what the order does not need.
    """
    condition, values = where(scope)
    rows = db.execute(
        f"""select f.id, f.score, f.bits, c.memory_id, {condition}
            from (
                select rowid as id, {BM25} as score, matched(passages_fts) as bits
                from passages_fts where passages_fts match ?
                order by score, rowid limit ?
            ) f
            cross join chunks c on c.id = f.id
            cross join memories m on m.id = c.memory_id
            order by f.score, f.id""",
        (*values, expression(terms), k),
    ).fetchall()
    return _ranking((id, memory, score, bits) for id, score, bits, memory, inside in rows if inside), len(rows) < k


def _filtered_then_ranked(db: apsw.Connection, terms: Sequence[Term], scope: Scope, k: int) -> Ranking:
    condition, values = where(scope)
    rows = db.execute(
        f"""select f.rowid, c.memory_id, {BM25} as score, matched(passages_fts)
            from passages_fts f
            cross join chunks c on c.id = f.rowid
            cross join memories m on m.id = c.memory_id
            where f.passages_fts match ? and {condition}
            order by score, f.rowid limit ?""",
        (expression(terms), *values, k),
    )
    return _ranking(rows)


def keyword_scores(db: apsw.Connection, terms: Sequence[Term], ids: Sequence[ChunkId]) -> Ranking:
    """See `Store.keyword_scores`."""
    if not terms or not ids:
        return ()
    rows = db.execute(
        # The plus keeps FTS5 from starting the match anew for each id: 0.6 ms instead of 10 for a hundred of 10k.
        f"""select f.rowid, c.memory_id, {BM25} as score, matched(passages_fts)
            from passages_fts f
            cross join chunks c on c.id = f.rowid
            where f.passages_fts match ? and +f.rowid in (select value from json_each(?))
            order by score, f.rowid""",
        (expression(terms), listed(ids)),
    )
    return _ranking(rows)


def _ranking(rows: Iterable[Row]) -> Ranking:
    # FTS5 gives better matches lower numbers.
    return tuple(
        Scored(id, memory, -score, matched=int.from_bytes(bits, "little"), keyword=-score)
        for id, memory, score, bits in rows
    )
