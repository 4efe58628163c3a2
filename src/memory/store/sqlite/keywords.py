"""The keyword retriever: what the index knows of a term, and BM25 inside a scope."""

from __future__ import annotations

import sys
from functools import cached_property, partial
from typing import TYPE_CHECKING

from memory.schema.answer import Ranking
from memory.schema.query import EVERYTHING, Scope, Term
from memory.store import WEIGHTS
from memory.store.memories import LAST, best_by_rarer
from memory.store.shared import Part
from memory.store.sqlite.rows import BROAD, chunks, inside, listed, read, where, within
from memory.text.fold import folds
from memory.text.lookup import Phrase, Phrased, folded, forms, phrased, weighed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.memory import ChunkId
    from memory.store.records import Row, Values
    from memory.store.sqlite.database import Database
    from memory.store.sqlite.postings import Postings

BM25 = f"bm25(passages_fts, {', '.join(map(str, WEIGHTS.values()))})"

SLACK = 6  # chunks ranked beyond k in a broad scope, for the few that it leaves out
REMEMBERED = 10_000  # terms

NARROW = 100
"""A scope of fewer memories than a hundredth of all chunks is looked up first, then what matches in it is ranked."""

MANY = 4000
"""Chunks that match from which it pays to see whether some need no score: FTS5 scores two of them in a microsecond."""


class WordCounts(dict[str, tuple[int, int]]):
    """
    How many chunks hold a token, and how often they do together; as long as nobody writes: a count costs 40 µs and more,
    and words come again.

    Attributes:
        total: The number of all chunks.
        filed: Whether there is a file of postings that counts: see `memory.store.sqlite.posting_file`.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db, self._rows, self.total = db, dict[tuple[object, ...], int](), chunks(db)
        self.filed = bool(db.execute("select count(*) from derived where name = 'postings'").get)

    def __missing__(self, token: str) -> tuple[int, int]:
        found = self._db.execute("select doc, cnt from vocabulary where term = ?", (token,)).get or (0, 0)
        self[token] = found
        return found

    def rows(self, term: Phrased, held: Callable[[str], tuple[int, int]]) -> int:
        """How many chunks hold a term, in the present state of the database; `held` says how many hold a token."""
        read = [phrase for phrase in term.phrases if phrase.tokens and _may_be(phrase, held)]
        if not read:
            return 0
        if len(read) == 1 and len(read[0].tokens) == 1 and not term.term.prefix:
            return held(read[0].tokens[0])[0]
        known = (term.term.prefix, *(phrase.tokens for phrase in read))
        if (found := self._rows.get(known)) is None:
            match = (expression([phrase.form for phrase in read]),)
            counted = self._db.execute("select count(*) from passages_fts where passages_fts match ?", match).get
            found = self._rows[known] = int(counted)
        return found

    def limit(self) -> None:
        """Forget all if it is too much."""
        if len(self._rows) + len(self) > REMEMBERED:
            self._rows.clear()
            self.clear()


def _may_be(phrase: Phrase, held: Callable[[str], tuple[int, int]]) -> bool:
    """Whether all words of a form are held: otherwise there is nothing to read. A beginning need not be a word."""
    return all(held(token)[0] for token in (phrase.tokens[:-1] if phrase.form.prefix else phrase.tokens))


class SqliteKeywords(Part):
    """See `memory.store.memories.Keywords`."""

    _db: Database

    def weigh(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        with self._db.read() as db:
            vocabulary = self._vocabulary(db)
            if terms and (postings := self._postings(vocabulary)):
                found = postings.weigh(db, terms, vocabulary.total, vocabulary.rows)
                if found is not None:
                    return found
            held = vocabulary.__getitem__
            return weighed(terms, vocabulary.total, held, lambda term: vocabulary.rows(term, held))

    def by_keyword(
        self, terms: Sequence[Term], scope: Scope, k: int, *, ids: Sequence[ChunkId] | None = None
    ) -> Ranking:
        with self._db.read() as db:
            if ids is None:
                return _folded(terms, lambda own: self._best(db, own, scope, k))
            return _folded(terms, lambda own: self._of(db, own, scope, k, ids)) if terms and ids else Ranking()

    def _best(self, db: apsw.Connection, terms: Sequence[Term], scope: Scope, k: int) -> Ranking:
        if terms and (postings := self._postings(self._vocabulary(db))):
            best = partial(postings.best, db, terms, scores=partial(_scores, db))
            found = _filtered(db, best, scope, k) if scope in BROAD else best(k, scope=scope)
            if found is not None:
                return found
        return self._by_form(db, terms, scope, k)

    def _by_form(self, db: apsw.Connection, terms: Sequence[Term], scope: Scope, k: int) -> Ranking:
        if not terms:
            return Ranking()
        if scope.tags:  # which memories have them takes long to find out: only those that match are asked
            return _best(db, terms, scope, k, wide=False)
        wide = scope in BROAD
        if not wide and (ids := within(db, scope, most=chunks(db) // NARROW)) is not None:
            of_them = "+f.rowid in (select id from chunks where memory_id in (select value from json_each(?)))"
            return _filtered_then_ranked(db, terms, of_them, [listed(ids)], k) if ids else Ranking()
        if sum(term.rows for term in terms) < MANY:
            return _best(db, terms, scope, k, wide=wide)
        known = self._vocabulary(db)
        counted = [one.term._replace(rows=known.rows(one, known.__getitem__)) for one in phrased(terms)]
        # A score takes FTS5 ten times as long as to find the chunk.
        return best_by_rarer(
            counted, known.total, k, lambda some: _best(db, terms, scope, k, wide=wide, holding=some or ())
        )

    def _of(self, db: apsw.Connection, terms: Sequence[Term], scope: Scope, k: int, ids: Sequence[ChunkId]) -> Ranking:
        if scope == EVERYTHING and (postings := self._postings(self._vocabulary(db))):
            found = postings.of(db, terms, ids, partial(_scores, db))
            if found is not None:
                return found[:k]
        condition, values = where(scope)
        # The plus keeps FTS5 from starting the match anew for each id: 0.6 ms instead of 10 for a hundred of 10k.
        of_them = f"+f.rowid in (select value from json_each(?)) and {condition}"
        return _filtered_then_ranked(db, terms, of_them, [listed(ids), *values], k)

    def members(self, db: apsw.Connection, scope: Scope) -> NDArray[np.int64] | None:
        """See `memory.store.sqlite.postings.Postings.members`; None in a process without numpy too."""
        return postings.members(db, scope) if (postings := self._postings(self._vocabulary(db))) else None

    def _vocabulary(self, db: apsw.Connection) -> WordCounts:
        """That of what the file says now: others may have written since terms were weighed."""
        found: WordCounts = self._db.remembered.once(db, "vocabulary", partial(WordCounts, db))
        found.limit()
        return found

    def _postings(self, vocabulary: WordCounts) -> Postings | None:
        """None where there are none, and in a process without numpy: to import that takes longer than to ask FTS5."""
        return self._copied if vocabulary.filed and "numpy" in sys.modules else None

    @cached_property
    def _copied(self) -> Postings:
        from memory.store.sqlite.postings import Postings

        return Postings(self._db)

    def vocabulary(self, beginning: str) -> Mapping[str, int]:
        with self._db.read() as db:
            begun = "select term, doc from vocabulary where term >= ? and term < ?"
            return dict(read(db, begun, (beginning, beginning + LAST)))

    def ending(self, part: str, most: int) -> Sequence[str]:
        with self._db.read() as db:
            if chunks(db) > most:
                return []
            held = "select term from vocabulary where term glob ? order by length(term), term limit 20"
            return [term for (term,) in read(db, held, (f"*{part}",))]

    def texts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, str]:
        with self._db.read() as db:
            rows = read(
                db,
                """select p.id, p.title, p.heading, p.text, p.why, p.impact
                   from json_each(?) w cross join passages p on p.id = w.value""",
                ids=ids,
            )
            texts = folds(["\n".join(filter(None, cells)) for _, *cells in rows])
            return {row[0]: text for row, text in zip(rows, texts, strict=True)}


def _folded(terms: Sequence[Term], ranked: Callable[[Sequence[Term]], Ranking]) -> Ranking:
    """What is ranked by the forms of terms, told of the terms; most terms have one form, which they are themselves."""
    return folded(ranked(forms(terms)), terms) if any(term.other for term in terms) else ranked(terms)


def _best(
    db: apsw.Connection, terms: Sequence[Term], scope: Scope, k: int, *, wide: bool, holding: Sequence[Term] = ()
) -> Ranking:
    """
    The best k in scope; of those that hold one of some terms.

    Args:
        wide: Whether nearly everything is in scope: `memory.store.sqlite.rows.BROAD`.
    """
    held, wanted = "1", []
    if holding:
        held = "+f.rowid in (select rowid from passages_fts where passages_fts match ?)"
        wanted = [expression(holding)]
    if wide and (found := _ranked_then_filtered(db, terms, scope, k, held=held, wanted=wanted)) is not None:
        return found
    condition, values = where(scope)
    return _filtered_then_ranked(db, terms, f"{held} and {condition}", [*wanted, *values], k)


def _ranked_then_filtered(
    db: apsw.Connection, terms: Sequence[Term], scope: Scope, k: int, *, held: str, wanted: Values
) -> Ranking | None:
    """
    The best k of all chunks in scope; None if too many of the best are out of it.

    Spares two look-ups for each of the thousands of rows that match. FTS5 computes `matched` only for rows that
    enter the best k, because SQLite defers what the order does not need.

    Args:
        held: A condition on the chunks, as rows f of the index.
    """
    condition, values = where(scope)
    rows = db.execute(
        f"""select f.id, c.memory_id, f.score, f.bits, {condition}
            from (
                select f.rowid as id, {BM25} as score, matched(passages_fts) as bits
                from passages_fts f where f.passages_fts match ? and {held}
                order by score, f.rowid desc limit ?
            ) f
            cross join chunks c on c.id = f.id
            cross join memories m on m.id = c.memory_id
            order by f.score, f.id desc""",
        (*values, expression(terms), *wanted, k + SLACK),
    ).fetchall()
    found = [row for row in rows if row[-1]][:k]
    return _ranking(found) if len(found) == k or len(rows) < k + SLACK else None


def _filtered_then_ranked(
    db: apsw.Connection, terms: Sequence[Term], condition: str, values: Values, k: int
) -> Ranking:
    """
    The best k of the chunks that meet a condition.

    Args:
        condition: On rows f of the index and the memories m they are of.
    """
    rows = db.execute(
        f"""select f.rowid, c.memory_id, {BM25} as score, matched(passages_fts)
            from passages_fts f
            cross join chunks c on c.id = f.rowid
            cross join memories m on m.id = c.memory_id
            where f.passages_fts match ? and {condition}
            order by score, f.rowid desc limit ?""",
        (expression(terms), *values, k),
    ).fetchall()
    return _ranking(rows)


def _filtered(db: apsw.Connection, best: Callable[[int], Ranking | None], scope: Scope, k: int) -> Ranking | None:
    """
    The best k in a broad scope, of the best of more.

    Args:
        best: Gives so many; None if it cannot.
    """
    count = k if scope == EVERYTHING else k + SLACK
    while (found := best(count)) is not None:
        ranking = inside(db, found, scope)
        if len(ranking) >= k or len(found) < count:
            return ranking[:k]
        count *= 4
    return None


def _scores(db: apsw.Connection, form: Term) -> list[Row]:
    """Every chunk that holds a form, and its BM25 by that alone."""
    return db.execute(
        f"select rowid, -{BM25} from passages_fts where passages_fts match ?", (expression([form]),)
    ).fetchall()


def _ranking(rows: Sequence[Row]) -> Ranking:
    if not rows:
        return Ranking()
    chunks, memories, scores, bits, *_ = zip(*rows, strict=True)
    best = [-score for score in scores]  # FTS5 gives better matches lower numbers
    return Ranking(chunks, memories, best, [int.from_bytes(one, "little") for one in bits], best)


# What FTS5 is asked: https://www.sqlite.org/fts5.html#full_text_query_syntax ----------


def quoted(text: str) -> str:
    """
    A text as one FTS5 string, whatever it holds.

    Bare words can be operators (`AND`, `NEAR`), and `apsw.fts5query.quote` leaves those bare.
    """
    return '"{}"'.format(text.replace("\0", " ").replace('"', '""'))


def expression(terms: Sequence[Term]) -> str:
    """Any of the terms. The i-th term is the i-th phrase, which `matched` (`memory.store.sqlite.rows`) relies on."""
    return " OR ".join(quoted(term.text) + "*" * term.prefix for term in terms)
