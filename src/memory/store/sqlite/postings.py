"""Keywords from postings instead of FTS5, in a process that runs and where they are known to be current."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import apsw

from memory.schema.memory import Standing
from memory.schema.query import EVERYTHING, Scope, Term
from memory.store import WEIGHTS
from memory.store.sections import Doubt
from memory.store.sqlite import derived
from memory.store.sqlite.bm25 import LivePostings, met
from memory.store.sqlite.marks import COLUMNS, Marks, groups, keys
from memory.store.sqlite.posting_file import CHANGED, HALVES, HAPPENED, NAME, opened, totals
from memory.store.sqlite.rows import HOLDING, SUPERSEDED, ids, read, unwanted, within
from memory.text.lookup import Phrased, phrased, stems, weighed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.answer import Ranking
    from memory.schema.memory import ChunkId
    from memory.store.sqlite.bm25 import Listed, Rows
    from memory.store.sqlite.database import Database

AT_ONCE = 250
"""Chunks that one search reads of those that came since, some 25 ms; where more came, FTS5 answers meanwhile."""

_CAME = f"""
    select p.id, p.memory_id, {CHANGED}, {HAPPENED}, m.tags, {", ".join(f"m.{column}" for column in COLUMNS)},
        {", ".join(f"ifnull(p.{column}, '')" for column in WEIGHTS)}
    from passages p cross join memories m on m.id = p.memory_id where p.id > ? order by p.id limit {AT_ONCE + 1}
"""

Often: TypeAlias = "Callable[[str], tuple[int, int]]"
Scores: TypeAlias = "Callable[[Term], Sequence[tuple[int, float]]]"


class Current(NamedTuple):
    """What is held, as it is in a snapshot."""

    held: LivePostings
    marks: Marks

    def rows(self, db: apsw.Connection, scope: Scope) -> Rows | None:
        """The chunks in scope, ascending, and perhaps some that went; None if these are all."""
        held, wanted = self.held, groups(scope)
        rows = self.marks.rows(wanted, held.count) if wanted else None
        moments = (scope.since, scope.until, scope.happened_since, scope.happened_until)
        rows = held.between(rows, [None if one is None else _microseconds(one) for one in moments])
        active = Standing.ACTIVE in scope.statuses
        named = EVERYTHING._replace(
            statuses=frozenset() if active else scope.statuses,
            **{name: getattr(scope, name) for name in ("among", "pinned", "authors", "owners")},
        )
        if named != EVERYTHING:
            own = held.owned(within(db, named) or [])
            rows = own if rows is None else rows[met(rows, own)[0]]
        if active and Standing.SUPERSEDED not in scope.statuses:
            rows = held.outside(rows, ids(db, f"select m.id from memories m where {SUPERSEDED}"))
        for phrase in unwanted(scope):
            rows = held.outside(rows, held.memories(self._holding(db, phrase)))
        return rows

    def _holding(self, db: apsw.Connection, phrase: str) -> Rows:
        """The chunks that hold a phrase, ascending."""
        if len(tokens := stems(phrase)) == 1 and _readable(tokens):
            return self.held.listed(tokens[0], prefix=False).rows
        return self.held.rows(ids(db, HOLDING, phrase))

    def often(self, token: str) -> tuple[int, int]:
        """How many chunks hold a token, and how often they do together, at most."""
        listed = self.held.listed(token, prefix=False)
        return len(listed.rows), int(listed.halves.sum()) if listed.halves is not None else 0

    def holding(self, term: Phrased, rows: Callable[[Phrased, Often], int]) -> int:
        """How many chunks hold a term."""
        if len(term.phrases) == 1 and len(tokens := term.phrases[0].tokens) == 1:
            return len(self.held.listed(tokens[0], prefix=term.term.prefix).rows)
        return rows(term, self.often)


class Among:
    """
    What is in a scope.

    Attributes:
        rows: See `Current.rows`.
        memories: Theirs, ascending; None if these are all.
    """

    def __init__(self, held: LivePostings, rows: Rows | None) -> None:
        self._held, self.rows = held, rows

    @cached_property
    def memories(self) -> NDArray[np.int64] | None:
        return None if self.rows is None else self._held.memories(self.rows)


class Postings:
    """The postings of one database, for all threads of a process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._known: tuple[object, Current | None] | None = None

    def weigh(
        self, db: apsw.Connection, terms: Sequence[Term], total: int, rows: Callable[[Phrased, Often], int]
    ) -> tuple[Term, ...] | None:
        """
        See `memory.text.lookup.weighed`. None if FTS5 is to be asked how often words are said.

        Here that is not known, only that it is not more often than their weights: if no term is cut then, none is.

        Args:
            rows: How many chunks hold a term of several tokens, given how many hold one.
        """
        with self._lock:
            if (now := self._current(db)) is None or not _all_readable(phrased(terms)):
                return None
            found = weighed(terms, total, now.often, lambda term: now.holding(term, rows))
        return None if any(term.cut for term in found) else found

    def best(
        self,
        db: apsw.Connection,
        terms: Sequence[Term],
        count: int,
        scores: Scores,
        *,
        scope: Scope = EVERYTHING,
    ) -> Ranking | None:
        """
        The best chunks in scope by BM25, as FTS5 would rank them. None if that is to be asked.

        Args:
            terms: Of one form each.
            scores: What FTS5 says of a form of several tokens: the chunks that hold it, and their BM25 by it alone.
        """
        return self._ask(
            db, terms, scores, lambda now, listed: now.held.best(listed, count, self._among(db, now, scope).rows)
        )

    def of(self, db: apsw.Connection, terms: Sequence[Term], ids: Sequence[ChunkId], scores: Scores) -> Ranking | None:
        """The same of some chunks: all that hold one of the terms."""
        return self._ask(db, terms, scores, lambda now, listed: now.held.of(listed, ids))

    def members(self, db: apsw.Connection, scope: Scope) -> NDArray[np.int64] | None:
        """The memories in scope, ascending; None if that is not known, or these are all."""
        with self._lock:
            now = self._current(db)
            return None if now is None else self._among(db, now, scope).memories

    def _among(self, db: apsw.Connection, now: Current, scope: Scope) -> Among:
        """What is in scope: of the last one it is remembered, because a search asks several times."""
        known: dict[Scope, Among] = self._database.remembered.once(db, "among", dict)
        if scope not in known:
            known.clear()
            known[scope] = Among(now.held, now.rows(db, scope))
        return known[scope]

    def _ask(
        self,
        db: apsw.Connection,
        terms: Sequence[Term],
        scores: Scores,
        ranked: Callable[[Current, Sequence[Listed]], Ranking],
    ) -> Ranking | None:
        with self._lock:
            if (now := self._current(db)) is None or not _all_readable(known := phrased(terms)):
                return None
            held, forms = now.held, [term.phrases[0] for term in known]
            listed = held.asked(
                terms,
                lambda: [
                    held.listed(form.tokens[0], prefix=form.form.prefix)
                    if len(form.tokens) == 1
                    else held.given(scores(form.form) if form.tokens else ())
                    for form in forms
                ],
            )
            return ranked(now, listed)

    def _current(self, db: apsw.Connection) -> Current | None:
        """What is held, as it is in the snapshot of this connection; None if it cannot be."""
        if db.txn_state("main") == apsw.SQLITE_TXN_WRITE:  # what it reads may be rolled back
            return None
        now = self._database.remembered.once(db, NAME, lambda: _now(db))
        source = (self._database.frozen, now.stamp)  # a file that may not be written may be replaced by another
        known, self._known = self._known, None  # what is interrupted is half done, and opened anew
        try:
            if known is None or known[0] != source:
                known = (source, None if now.stamp is None else self._opened(now.stamp))
            current = known[1] is not None and _advanced(db, known[1], now)
        except Doubt:
            known, current = (source, None), False
        self._known = known
        return known[1] if current else None

    def _opened(self, stamp: bytes) -> Current:
        base = opened(self._database.path, stamp)
        return Current(LivePostings(base), Marks(base.marks))


class _Now(NamedTuple):
    """
    What a snapshot says.

    Attributes:
        stamp: Of the file of postings; None if there is none.
        number, last: The last removal, and the last id of a chunk.
        totals: How many chunks there are, and how many tokens they have together.
    """

    stamp: bytes | None
    number: int
    last: int
    totals: tuple[int, int]


def _now(db: apsw.Connection) -> _Now:
    stamp = derived.stamp(db, NAME)
    number, last = db.execute(
        """select ifnull((select max(number) from removals), 0),
                  ifnull((select seq from sqlite_sequence where name = 'chunks'), 0)"""
    ).get
    return _Now(stamp, number, last, (0, 0) if stamp is None else totals(db))


def _advanced(db: apsw.Connection, current: Current, now: _Now) -> bool:
    """
    Bring it up to this snapshot; whether it is there.

    Raises:
        Doubt: It can never be.
    """
    held, marks = current
    if now.number < held.number or now.last < held.last:  # another thread reads a newer snapshot
        return False
    if now.number > held.number:
        if (gone := derived.since(db, held.number)) is None:
            raise Doubt("it is unknown what was deleted since the postings were made")
        held.forget(gone.chunks, gone.number)
    if now.last > held.last:
        came = read(db, _CAME, (held.last,))
        for id, memory, changed, happened, tags, *columns in came[:AT_ONCE]:
            values = dict(zip(COLUMNS, columns, strict=False))
            row = held.add(id, memory, *_said(columns[len(COLUMNS) :]), times=(changed, happened))
            marks.add(row, keys(values, tags))
        if len(came) > AT_ONCE:
            return False
        held.last = now.last
    if held.totals != now.totals:
        raise Doubt("the postings are not those of the chunks")
    return True


def _all_readable(terms: Sequence[Phrased]) -> bool:
    return all(_readable(tokens) for term in terms for _, tokens in term.phrases)


def _readable(tokens: Sequence[str]) -> bool:
    """Whether all stems are UTF-8: one that is not is read as U+FFFD, whichever it is."""
    return not any("\ufffd" in token for token in tokens)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _said(columns: Sequence[str]) -> tuple[dict[str, int], int]:
    """Of each token of a chunk twice the sum of the weights of its places; and how many tokens it has."""
    said: dict[str, int] = {}
    length = 0
    for halves, text in zip(HALVES.values(), columns, strict=True):
        for token in stems(text):
            length += 1
            said[token] = said.get(token, 0) + halves
    return said, length
