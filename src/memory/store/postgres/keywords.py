"""The keyword retriever: what the index knows of a term, and BM25 inside a scope, computed by the server."""

from __future__ import annotations

import math
import sys
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Ranking
from memory.schema.query import EVERYTHING
from memory.store.postgres.database import Part, many, one, reading
from memory.store.postgres.index import CLASSES, LONGEST, cut
from memory.store.postgres.posting_lists import LAST
from memory.store.postgres.rows import BROAD, counted, keys, where
from memory.text.lookup import folded, forms, phrased, stems, weighed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.memory import ChunkId
    from memory.schema.query import Scope, Term
    from memory.store.bm25 import Held, Listed
    from memory.store.postgres.database import Database
    from memory.store.postgres.opening import Db
    from memory.store.postgres.postings import Postings
    from memory.store.postgres.scopes import Scopes
    from memory.store.records import Row, Values
    from memory.text.lookup import Phrased

SLACK = 6  # chunks ranked beyond k in a broad scope, for the few that it leaves out

TIMES = 10  # as many chunks as wanted are ranked first, in a scope that has a tenth of all or more

LOOKED_AT = 4_000  # chunks ranked before it is asked which of them are in a scope; then it is asked what is in scope

REMEMBERED = 10_000  # words and terms

K1, B = 1.2, 0.75
FLOOR = 1e-6
"""Of BM25 as FTS5 has it; the floor is its idf of a term that more than half of all chunks hold."""


class Sought(NamedTuple):
    """
    One form of a term in SQL, about rows p of `keywords`.

    Attributes:
        held: A condition that holds of each chunk with the form, and perhaps of others.
        often: How often a chunk holds it, by the weights of the columns.
        exact: Whether `held` holds of no others.
        word: The form, if it is one whole word.
    """

    held: str
    holding: Values
    often: str
    counting: Values
    exact: bool
    word: str = ""


class Counted(NamedTuple):
    """
    What the index says of words, as long as nothing comes or goes.

    Attributes:
        state: The last chunk, and how often one went.
        held: Of words how many chunks hold them, and how often they do together.
        rows: How many chunks hold terms.
    """

    state: tuple[int, int]
    held: dict[str, tuple[int, int]]
    rows: dict[Phrased, int]


class PostgresKeywords(Part):
    """See `memory.store.memories.Keywords`."""

    def __init__(self, database: Database, scopes: Scopes) -> None:
        super().__init__(database)
        self._scopes = scopes
        self._counted = Counted((-1, -1), {}, {})

    @reading
    def weigh(self, db: Db, terms: Sequence[Term]) -> tuple[Term, ...]:
        counted = self._current(db)
        self._hold(db, counted, _words([*terms, *_parts(terms)]))

        def held(word: str) -> tuple[int, int]:
            self._hold(db, counted, [word])
            return counted.held[word]

        def rows(term: Phrased) -> int:
            if (found := counted.rows.get(term)) is None:
                found = counted.rows[term] = _rows(db, term)
            return found

        return weighed(terms, self._scopes.facts(db).chunks, held, rows)

    def _current(self, db: Db) -> Counted:
        now = self._scopes.facts(db)
        state, counted = (now.last, now.removals), self._counted
        if self._db.writing:
            return Counted(state, {}, {})
        if counted.state != state or len(counted.held) + len(counted.rows) > REMEMBERED:
            counted = self._counted = Counted(state, {}, {})
        return counted

    def _hold(self, db: Db, counted: Counted, words: Sequence[str]) -> None:
        if unknown := [word for word in words if word not in counted.held]:
            counted.held.update(_held(db, unknown))

    @reading
    def by_keyword(
        self, db: Db, terms: Sequence[Term], scope: Scope, k: int, *, ids: Sequence[ChunkId] | None = None
    ) -> Ranking:
        if not terms or (ids is not None and not ids):
            return Ranking()
        wanted = forms(terms)
        found = self._remembered(db, wanted, scope, k, ids)
        if found is None:
            found = _best(db, [_sought(db, form) for form in wanted], scope, k, ids)
        return folded(found, terms)

    def _remembered(
        self, db: Db, wanted: Sequence[Term], scope: Scope, k: int, ids: Sequence[ChunkId] | None
    ) -> Ranking | None:
        """
        The same from postings that this process has read; None if it has not. In a process without numpy the server is
        asked: to import that takes longer.
        """
        if "numpy" not in sys.modules or self._db.writing:
            return None
        ask = partial(self._postings.ask, db, self._scopes.facts(db), wanted, partial(_alone, db))
        if ids is not None:
            chunks = keys(ids)
            ranking = ask(lambda held, listed: held.of(listed, chunks))
            return None if ranking is None else self._inside(db, ranking, scope)[:k]
        if (members := self._scopes.members(db, scope)) is not None:
            return ask(lambda held, listed: held.best(listed, k, held.owned(members.read())))
        for count in (k,) if scope == EVERYTHING else (k + SLACK if scope in BROAD else TIMES * k, LOOKED_AT):
            if (ranking := ask(partial(_first, count))) is None:
                return None
            inside = self._inside(db, ranking, scope)
            if len(ranking) < count or len(inside) >= k:
                return inside[:k]
        return ask(lambda held, listed: held.best(listed, k, held.owned(_every(db, scope))))

    def _inside(self, db: Db, ranking: Ranking, scope: Scope) -> Ranking:
        """What of it is in scope."""
        if (outside := self._scopes.outside(db, scope)) is None:
            condition, values = where(scope)
            inside = f"select m.id from memories m where m.id = any(%s) and {condition}"
            ranked = frozenset(ranking.memories)
            outside = ranked.difference(id for (id,) in many(db, inside, [[*ranked], *values]))
        if outside.isdisjoint(ranking.memories):
            return ranking
        return ranking.at([place for place, memory in enumerate(ranking.memories) if memory not in outside])

    @cached_property
    def _postings(self) -> Postings:
        from memory.store.postgres.postings import Postings

        return Postings()

    @reading
    def texts(self, db: Db, ids: Sequence[ChunkId]) -> Mapping[ChunkId, str]:
        rows = many(db, "select id, title, heading, text, why, impact from passages where id = any(%s)", (keys(ids),))
        return {id: "\n".join(filter(None, cells)) for id, *cells in rows}


def _first(count: int, held: Held, listed: Sequence[Listed]) -> Ranking:
    return held.best(listed, count)


def _every(db: Db, scope: Scope) -> NDArray[np.int64]:
    """All memories in scope."""
    import numpy as np

    condition, values = where(scope)
    packed = one(db, f"select string_agg(int8send(m.id), '') from memories m where {condition}", values)
    return np.frombuffer(packed or b"", ">i8").astype(np.int64)


def _alone(db: Db, form: Term) -> list[tuple[int, float]]:
    """Every chunk that holds a form, and its BM25 by that alone."""
    statement, values = _scores(db, [_sought(db, form)], "true", [], joined=False)
    return [(chunk, score) for chunk, _, score, *_ in many(db, statement, values)]


# What is known of words -----------------------------------------------------------


def _parts(terms: Iterable[Term]) -> list[Term]:
    """The parts of terms, and the parts of those."""
    own = [part for term in terms for part in term.parts]
    return [*own, *_parts(own)] if own else []


def _words(terms: Sequence[Term]) -> list[str]:
    return list({word for term in phrased(terms) for _, tokens in term.phrases for word in tokens})


def _held(db: Db, words: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Of words how many chunks hold them, and how often they do together; (0, 0) of those that none does."""
    known = {cut(word): word for word in words}
    rows = many(db, "select term, chunks, occurrences from vocabulary where term = any(%s)", (list(known),))
    return dict.fromkeys(words, (0, 0)) | {known[term]: (chunks, count) for term, chunks, count in rows}


def _rows(db: Db, term: Phrased) -> int:
    """How many chunks hold a term in any of its forms."""
    sought = [_sought(db, form) for form, _ in term.phrases]
    if len(sought) == 1:
        return _chunks(db, sought[0])
    held = [one.held if one.exact else f"({one.held} and {one.often} > 0)" for one in sought]
    values = chain.from_iterable([*one.holding, *([] if one.exact else one.counting)] for one in sought)
    return int(one(db, f"select count(*) from keywords p where {' or '.join(held)}", list(values)))


def _chunks(db: Db, sought: Sought) -> int:
    """How many chunks hold a form."""
    if sought.word:
        return int(one(db, "select chunks from vocabulary where term = %s", (sought.word,)) or 0)
    held, values = sought.held, sought.holding
    if not sought.exact:
        held, values = f"{held} and {sought.often} > 0", [*values, *sought.counting]
    return int(one(db, f"select count(*) from keywords p where {held}", values))


def _sought(db: Db, form: Term) -> Sought:
    words = [cut(word) for word in stems(form.text)]
    if not words:
        return Sought("false", [], "0", [], exact=True)
    *former, last = words
    if form.prefix:
        last = last[:LONGEST]
        begun = "select term from vocabulary where term >= %s and term < %s"
        beginnings = [term for (term,) in many(db, begun, (last, last + LAST))]
        held, holding = "p.words && %s::text[]", [beginnings]
        if former:
            held, holding = f"({held} and p.words @> %s::text[])", [beginnings, former]
    elif former:
        held, holding = "p.words @> %s::text[]", [words]
    else:
        once = "coalesce(p.often[array_position(p.words, %s)], 0)"
        return Sought("p.words @> %s::text[]", [words], once, [last], exact=True, word=last)
    pattern = f"(?<= ){' '.join(words if not form.prefix else [*former, last])}{'[^ ]*' if form.prefix else ''}(?= )"
    count = " + ".join(f"{weight} * regexp_count(p.said[{n}], %s)" for n, weight in enumerate(CLASSES, start=1))
    return Sought(held, holding, f"({count})", [pattern] * len(CLASSES), exact=form.prefix and not former)


# BM25 ------------------------------------------------------------------------------


def _best(db: Db, sought: Sequence[Sought], scope: Scope, k: int, ids: Sequence[ChunkId] | None) -> Ranking:
    """The best k in scope; of those with these ids."""
    among, chosen = ("true", []) if ids is None else ("p.chunk_id = any(%s)", [keys(ids)])
    condition, values = where(scope)
    if scope in BROAD:  # spares a look-up for each of the many that hold a common word
        scored, bound = _scores(db, sought, among, chosen, joined=False)
        ranked = many(
            db,
            f"""select f.*, {condition} from ({scored} order by score desc, chunk_id limit %s) f
                join memories m on m.id = f.memory_id order by f.score desc, f.chunk_id""",
            [*values, *bound, k + SLACK],
        )
        inside = [row[:-1] for row in ranked if row[-1]]
        if len(ranked) < k + SLACK or len(inside) >= k:
            return _ranking(inside[:k])
    scored, bound = _scores(db, sought, f"{among} and {condition}", [*chosen, *values])
    return _ranking(many(db, f"{scored} order by score desc, chunk_id limit %s", [*bound, k]))


def _scores(
    db: Db, sought: Sequence[Sought], condition: str, values: Values, *, joined: bool = True
) -> tuple[str, Values]:
    """See `_scored`."""
    total = counted(db, "chunks")
    average = counted(db, "words") / max(1, total)
    rows = [_chunks(db, one) for one in sought]
    idfs = [max(FLOOR, math.log((total - n + 0.5) / (n + 0.5))) for n in rows]
    return _scored(sought, idfs, average, condition, values, joined=joined)


def _scored(
    sought: Sequence[Sought],
    idfs: Sequence[float],
    average: float,
    condition: str,
    values: Values,
    *,
    joined: bool = True,
) -> tuple[str, Values]:
    """
    Chunks that hold any of the forms, with their scores: https://www.sqlite.org/fts5.html#the_bm25_function.

    Args:
        condition: On rows p of `keywords`, and the memories m they are of if these are `joined`.

    Returns:
        A statement for chunk_id, memory_id, score and how often each form is held; and its values.
    """
    # Each is computed once, and what takes long only where the index says that it may be held.
    often: list[str] = []
    counting: Values = []
    for n, form in enumerate(sought):
        found = form.often if form.word else f"case when {form.held} then {form.often} else 0 end"
        often.append(f"({found})::float8 as t{n}")
        counting += form.counting if form.word else [*form.holding, *form.counting]
    others = [form for form in sought if not form.word]
    words = [form.word for form in sought if form.word]
    held = " or ".join(["p.words && %s::text[]", *(form.held for form in others)])
    score = " + ".join(f"%s * t{n} * {K1 + 1} / (t{n} + norm)" for n in range(len(sought)))
    own = ", ".join(f"t{n}" for n in range(len(sought)))
    statement = f"""
        select chunk_id, memory_id, score, {own} from (
            select chunk_id, memory_id, {score} as score, {own} from (
                select p.chunk_id, p.memory_id, {K1} * ({1 - B} + {B} * p.size / %s::float8) as norm, {", ".join(often)}
                from keywords p {"join memories m on m.id = p.memory_id" if joined else ""}
                where ({held}) and {condition} offset 0
            ) counted
        ) scored where score > 0"""
    holding = [words, *(value for form in others for value in form.holding)]
    return statement, [*idfs, max(average, 1e-9), *counting, *holding, *values]


def _ranking(rows: Sequence[Row]) -> Ranking:
    if not rows:
        return Ranking()
    chunks, memories, scores, *often = zip(*rows, strict=True)
    bits = [sum(1 << n for n, count in enumerate(own) if count) for own in zip(*often, strict=True)]
    return Ranking(chunks, memories, list(scores), bits, list(scores))
