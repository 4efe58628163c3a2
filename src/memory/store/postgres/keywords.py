"""The keyword retriever: what the index knows of a term, and BM25 inside a scope, computed by the server."""

from __future__ import annotations

import math
import sys
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from psycopg.types.json import Jsonb

from memory.schema.answer import Ranking
from memory.schema.query import EVERYTHING
from memory.store.postgres.database import Part, many, narrowed, one, reading
from memory.store.postgres.index import CLASSES, LONGEST, cut
from memory.store.postgres.posting_lists import LAST
from memory.store.postgres.rows import BROAD, keys, where
from memory.store.rarer import best_by_rarer
from memory.text.lookup import folded, forms, phrased, stems, weighed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory.schema.memory import ChunkId
    from memory.schema.query import Scope, Term
    from memory.store.bm25 import Held, Listed
    from memory.store.postgres.database import Database
    from memory.store.postgres.opening import Db
    from memory.store.postgres.posting_lists import Facts
    from memory.store.postgres.postings import Postings
    from memory.store.postgres.scopes import Scopes
    from memory.store.records import Row, Values
    from memory.text.lookup import Phrased

    Often: TypeAlias = Mapping[int, float]
    """Of chunks the sum of the weights of the places where a form of a term is."""

SLACK = 6  # chunks ranked beyond k in a broad scope, for the few that it leaves out

TIMES = 10  # as many chunks as wanted are ranked first, in a scope that has a tenth of all or more

LOOKED_AT = 4_000  # chunks ranked before it is asked which of them are in a scope; then it is asked what is in scope

FEW = 1_000  # memories of a scope whose chunks are ranked by themselves, whatever words they hold

REMEMBERED = 10_000  # words

READ = 10_000
"""Chunks that one query may read to count its phrases and beginnings of words: 50 ms. What would read more is not looked for."""

BEGINNINGS = 200
"""Words with one beginning among which a phrase that ends so is narrowed: to ask the index for more takes longer than to read."""

SEARCHED = 10
"""What asking the index for a word costs, in chunks that are read."""

K1, B = 1.2, 0.75
FLOOR = 1e-6
"""Of BM25 as FTS5 has it; the floor is its idf of a term that more than half of all chunks hold."""


class Form(NamedTuple):
    """
    One form of a term.

    Attributes:
        words: Stems that stand side by side.
        prefix: Whether the last one is the beginning of a word.
    """

    words: tuple[str, ...]
    prefix: bool

    @property
    def word(self) -> str:
        """The form, if it is one whole word."""
        return "" if self.prefix or len(self.words) != 1 else self.words[0]

    @property
    def whole(self) -> tuple[str, ...]:
        """Its whole words."""
        return self.words[:-1] if self.prefix else self.words


class Sought(NamedTuple):
    """
    A form as the server ranks by it.

    Attributes:
        rows: How many chunks hold it.
        word: If it is one whole word, that, as the index has it.
        often: Of any other, the chunks that hold it.
    """

    rows: int
    word: str = ""
    often: Often = MappingProxyType({})


class Counted(NamedTuple):
    """
    What the index says of words, as long as nothing comes or goes.

    Attributes:
        state: The last chunk, and how often one went.
        held: Of words how many chunks hold them, and how often they do together.
    """

    state: tuple[int, int]
    held: dict[str, tuple[int, int]]


class PostgresKeywords(Part):
    """See `memory.store.memories.Keywords`."""

    def __init__(self, database: Database, scopes: Scopes) -> None:
        super().__init__(database)
        self._scopes = scopes
        self._counted = Counted((-1, -1), {})

    @reading
    def weigh(self, db: Db, terms: Sequence[Term]) -> tuple[Term, ...]:
        held, left = self._hold(db, _words([*terms, *_parts(terms)])), READ

        def rows(term: Phrased) -> int | None:
            nonlocal left
            found: list[tuple[Form, Often]] = []
            for phrase, tokens in term.phrases:
                form = Form(tokens, phrase.prefix)
                if (read := self._read(db, form, left)) is None:
                    return None
                left -= read[0]
                found.append((form, read[1]))
            return self._together(db, found)

        return weighed(terms, self._scopes.facts(db).chunks, held.__getitem__, rows)

    def _hold(self, db: Db, words: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """How many chunks hold words, and how often they do together."""
        now, counted = self._scopes.facts(db), self._counted
        state = (now.last, now.removals)
        if self._db.writing:  # what it reads may be undone
            counted = Counted(state, {})
        elif counted.state != state or len(counted.held) > REMEMBERED:
            counted = self._counted = Counted(state, {})
        if unknown := [word for word in words if word not in counted.held]:
            counted.held.update(_held(db, unknown))
        return counted.held

    def _read(self, db: Db, form: Form, most: int) -> tuple[int, Often] | None:
        """
        How many chunks are read to find those that hold a form, and these; none of one whole word. Read once in each snapshot.

        Returns:
            None if more than `most` were to be read.
        """
        if form.word or not form.words:
            return 0, {}
        known: dict[Form, tuple[int, Often]] = self._db.once("read", dict)
        if (found := known.get(form)) is None:
            held = self._hold(db, form.whole)
            if (found := _read(db, form, [held[word][0] for word in form.whole], most)) is None:
                return None
            known[form] = found
        return found if found[0] <= most else None

    def _together(self, db: Db, found: Sequence[tuple[Form, Often]]) -> int:
        """How many chunks hold one of these forms."""
        words = [form.word for form, _ in found if form.word]
        own = [cut(word) for word in words]
        others = {chunk for _, often in found for chunk in often}
        if not words:
            return len(others)
        rows = self._hold(db, words)[words[0]][0]
        if len(words) > 1:
            [(rows,)] = narrowed(db, "select count(*) from keywords p where p.words && %s::text[]", [own])
        if not others:
            return rows
        both = "select count(*) from keywords p where p.chunk_id = any(%s) and p.words && %s::text[]"
        [(shared,)] = narrowed(db, both, [keys(others), own])
        return rows + len(others) - int(shared)

    @reading
    def by_keyword(
        self, db: Db, terms: Sequence[Term], scope: Scope, k: int, *, ids: Sequence[ChunkId] | None = None
    ) -> Ranking:
        if not terms or (ids is not None and not ids):
            return Ranking()
        wanted = forms(terms)
        found = self._remembered(db, wanted, scope, k, ids)
        if found is None:
            found = self._best(db, self._sought(db, wanted), scope, k, ids)
        return folded(found, terms)

    def _sought(self, db: Db, wanted: Sequence[Term]) -> list[Sought]:
        own = [Form(stems(form.text), form.prefix) for form in wanted]
        held = self._hold(db, [form.word for form in own if form.word])
        often = self._often(db)
        return [
            Sought(held[form.word][0], cut(form.word)) if form.word else Sought(len(found := often(form)), "", found)
            for form in own
        ]

    def _often(self, db: Db) -> Callable[[Form], Often]:
        """Where forms of more than one word, and beginnings of words, are; nowhere, where that would read too much."""
        left = READ

        def often(form: Form) -> Often:
            nonlocal left
            read, found = self._read(db, form, left) or (0, {})
            left -= read
            return found

        return often

    def _remembered(
        self, db: Db, wanted: Sequence[Term], scope: Scope, k: int, ids: Sequence[ChunkId] | None
    ) -> Ranking | None:
        """
        The same from postings that this process has read; None if it has not. In a process without numpy the server is
        asked: to import that takes longer.
        """
        if "numpy" not in sys.modules or self._db.writing:
            return None
        ask = partial(self._postings.ask, db, self._scopes.facts(db), wanted, self._often(db))
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

    def _best(self, db: Db, sought: Sequence[Sought], scope: Scope, k: int, ids: Sequence[ChunkId] | None) -> Ranking:
        """The best k in scope; of those with these ids."""
        now = self._scopes.facts(db)

        def ranked(scope: Scope, narrow: tuple[str, Values]) -> Ranking:
            return _ranked(db, _scored(now, sought, narrow), scope, k)

        if ids is not None:
            return ranked(scope, ("p.chunk_id = any(%s)", [keys(ids)]))
        # Which memories have a tag takes long to find out: only those that match are asked.
        members = None if scope.tags else self._scopes.members(db, scope)
        if members is not None and len(members) <= FEW:
            return ranked(EVERYTHING, ("p.memory_id = any(%s)", [members]))
        return best_by_rarer(sought, now.chunks, k, lambda some: ranked(scope, _holding(some or sought)), dear=True)

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


def _read(db: Db, form: Form, held: Sequence[int], most: int) -> tuple[int, Often] | None:
    """
    See `PostgresKeywords._read`.

    Args:
        held: How many chunks hold each of its whole words.
    """
    if not all(held):
        return 0, {}
    whole, last = [cut(word) for word in form.whole], cut(form.words[-1])[:LONGEST]
    narrow = {"p.words @> %s::text[]": whole} if whole else {}
    cost = min(held, default=most + 1)
    if cost > most and form.prefix:
        begun = _begun(db, last)
        narrow["p.words && %s::text[]"] = [*begun]
        cost = SEARCHED * len(begun) + sum(begun.values())
    condition, values = " and ".join(narrow), [*narrow.values()]
    if cost > most and whole and (not form.prefix or len(begun) <= BEGINNINGS):
        holding = f"select count(*) from (select 1 from keywords p where {condition} limit %s) held"
        [(cost,)] = narrowed(db, holding, [*values, most + 1])
    if cost > most:
        return None
    begin, *rest = said = [*whole, last] if form.prefix else whole
    end = "" if form.prefix else " "
    pattern = f"(?<= ){begin}(?={' '.join(['', *rest])}{end})"  # what follows is looked at only: places of a phrase may overlap
    count = " + ".join(f"{weight} * regexp_count(p.said[{n}], %s)" for n, weight in enumerate(CLASSES, start=1))
    counted = f"""
        select chunk_id, often from (
            select p.chunk_id, {count} as often from (select p.chunk_id, p.said from keywords p where {condition} offset 0) p
            where strpos(array_to_string(p.said, '|'), %s) > 0 offset 0
        ) counted where often > 0"""
    found = narrowed(db, counted, [*[pattern] * len(CLASSES), *values, f" {' '.join(said)}{end}"])
    return cost, {chunk: float(often) for chunk, often in found}


def _begun(db: Db, beginning: str) -> dict[str, int]:
    """The words that begin so, and how many chunks hold each."""
    begun = "select term, chunks from vocabulary where term >= %s and term < %s limit %s"
    return dict(narrowed(db, begun, (beginning, beginning + LAST, READ)))


# BM25 ------------------------------------------------------------------------------


def _holding(some: Sequence[Sought]) -> tuple[str, Values]:
    """A condition on rows p of `keywords`: they hold one of these forms."""
    words, chunks = [one.word for one in some if one.word], {chunk for one in some for chunk in one.often}
    parts: list[tuple[str, object]] = [("p.words && %s::text[]", words)] if words else []
    parts += [("p.chunk_id = any(%s)", keys(chunks))] if chunks else []
    return " or ".join(part for part, _ in parts) or "false", [value for _, value in parts]


def _ranked(db: Db, chunks: tuple[str, Values], scope: Scope, k: int) -> Ranking:
    """
    The best k in scope.

    Args:
        chunks: As `_scored` gives them.
    """
    condition, values = where(scope)
    scored, bound = chunks
    best = "order by score desc, chunk_id limit %s"
    if scope in BROAD:  # spares a look-up for each of the many that hold a common word
        ranked = narrowed(
            db,
            f"""select f.*, {condition} from ({scored} {best}) f
                join memories m on m.id = f.memory_id order by f.score desc, f.chunk_id""",
            [*values, *bound, k + SLACK],
        )
        inside = [row[:-1] for row in ranked if row[-1]]
        if len(ranked) < k + SLACK or len(inside) >= k:
            return _ranking(inside[:k])
    within = f"select f.* from ({scored}) f join memories m on m.id = f.memory_id where {condition} {best}"
    return _ranking(narrowed(db, within, [*bound, *values, k]))


def _scored(now: Facts, sought: Sequence[Sought], narrow: tuple[str, Values]) -> tuple[str, Values]:
    """
    Chunks with their scores: https://www.sqlite.org/fts5.html#the_bm25_function.

    Args:
        narrow: A condition on rows p of `keywords` that an index answers, with its values.

    Returns:
        A statement for chunk_id, memory_id, score and how often each form is held; and its values.
    """
    average = max(now.words / max(1, now.chunks), 1e-9)
    idfs = [max(FLOOR, math.log((now.chunks - one.rows + 0.5) / (one.rows + 0.5))) for one in sought]
    held = "p.often[array_position(p.words, %s)]"
    given = "(%s -> p.chunk_id::text)::float8"  # looked up, where a join may compare each with each
    often = ", ".join(f"coalesce({held if one.word else given}, 0)::float8 as t{n}" for n, one in enumerate(sought))
    score = " + ".join(f"%s * t{n} * {K1 + 1} / (t{n} + norm)" for n in range(len(sought)))
    own = ", ".join(f"t{n}" for n in range(len(sought)))
    statement = f"""
        select chunk_id, memory_id, score, {own} from (
            select chunk_id, memory_id, {score} as score, {own} from (
                select p.chunk_id, p.memory_id, {K1} * ({1 - B} + {B} * p.size / %s::float8) as norm, {often}
                from (
                    select p.chunk_id, p.memory_id, p.size, p.words || '{{}}' as words, p.often || '{{}}' as often
                    from keywords p where {narrow[0]} offset 0
                ) p offset 0
            ) counted offset 0
        ) scored where score > 0"""
    counting = [one.word or Jsonb({str(chunk): count for chunk, count in one.often.items()}) for one in sought]
    return statement, [*idfs, average, *counting, *narrow[1]]


def _ranking(rows: Sequence[Row]) -> Ranking:
    if not rows:
        return Ranking()
    chunks, memories, scores, *often = zip(*rows, strict=True)
    bits = [sum(1 << n for n, count in enumerate(own) if count) for own in zip(*often, strict=True)]
    return Ranking(chunks, memories, list(scores), bits, list(scores))
