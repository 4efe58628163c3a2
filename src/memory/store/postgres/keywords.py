"""The keyword retriever: what the index knows of a term, and BM25 inside a scope, computed by the server."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from psycopg.types.json import Jsonb

from memory.schema.answer import Ranking
from memory.schema.query import NONE, Scope, Term
from memory.store.memories import K1, LAST, B, best_by_rarer, ranking_idf
from memory.store.postgres.index import CLASSES, DIMENSION, Totals, id_of, totals
from memory.store.postgres.rows import BROAD, LONGEST, Db, cut, few_members, keys, where
from memory.store.shared import Part
from memory.text.fold import folds
from memory.text.lookup import Phrased, folded, forms, phrased, stems, weighed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memory.schema.memory import ChunkId
    from memory.store.postgres.database import ServerPool
    from memory.store.records import Row, Values

    Often: TypeAlias = Mapping[int, float]
    """Of chunks the sum of the weights of the places where a form of a term is."""

SLACK = 6  # chunks ranked beyond k in a broad scope, for the few that it leaves out

FEW = 1_000  # memories of a scope whose chunks are ranked by themselves, whatever words they hold

READ = 10_000
"""Chunks that one query may read to count its phrases and beginnings of words: 50 ms. What would read more is not looked for."""

BEGINNINGS = 200
"""Words with one beginning among which a phrase that ends so is narrowed: to ask the index for more takes longer than to read."""

SEARCHED = 10
"""What asking the index for a word costs, in chunks that are read."""


class IndexedWord(NamedTuple):
    """
    What the index knows of a word.

    Attributes:
        id: 0 if no chunk holds it.
        chunks, occurrences: How many chunks hold it, and how often they do together.
    """

    id: int = 0
    chunks: int = 0
    occurrences: int = 0


class TermForm(NamedTuple):
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
        word: If it is one whole word, its id.
        often: Of any other, the chunks that hold it.
    """

    rows: int
    word: int = 0
    often: Often = MappingProxyType({})


class PostgresKeywords(Part):
    """See `memory.store.memories.Keywords`."""

    _db: ServerPool

    def weigh(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        with self._db.read() as db:
            wanted = phrased([*terms, *_parts(terms)])
            known = self._known(db, [*{word for term in wanted for _, tokens in term.phrases for word in tokens}])
            left = READ

            def rows(term: Phrased) -> int | None:
                nonlocal left
                found: list[tuple[TermForm, Often]] = []
                for phrase, tokens in term.phrases:
                    form = TermForm(tokens, phrase.prefix)
                    if (read := self._read(db, form, left)) is None:
                        return None
                    left -= read[0]
                    found.append((form, read[1]))
                return self._together(db, found)

            return weighed(terms, self._totals(db).chunks, lambda word: known[word][1:], rows)

    def _totals(self, db: Db) -> Totals:
        return self._db.once("totals", lambda: totals(db))

    def _known(self, db: Db, words: Sequence[str]) -> Mapping[str, IndexedWord]:
        """What the index knows of words, asked once in each snapshot."""
        known: dict[str, IndexedWord] = self._db.once("words", dict)
        if unknown := {cut(word): word for word in words if word not in known}:
            rows = db.rows("select term, id, chunks, occurrences from vocabulary where term = any(%s)", ([*unknown],))
            known |= dict.fromkeys(unknown.values(), IndexedWord())
            known |= {unknown[term]: IndexedWord(*rest) for term, *rest in rows}
        return known

    def _read(self, db: Db, form: TermForm, most: int) -> tuple[int, Often] | None:
        """
        How many chunks are read to find those that hold a form, and these; none of one whole word. Read once in each snapshot.

        Returns:
            None if more than `most` were to be read.
        """
        if form.word or not form.words:
            return 0, {}
        known: dict[TermForm, tuple[int, Often]] = self._db.once("read", dict)
        if (found := known.get(form)) is None:
            words = self._known(db, form.whole)
            if (found := _read(db, form, [words[word] for word in form.whole], most)) is None:
                return None
            known[form] = found
        return found if found[0] <= most else None

    def _together(self, db: Db, found: Sequence[tuple[TermForm, Often]]) -> int:
        """How many chunks hold one of these forms."""
        words = self._known(db, [form.word for form, _ in found if form.word])
        own = [words[form.word] for form, _ in found if form.word]
        others = {chunk for _, often in found for chunk in often}
        if not own:
            return len(others)
        rows, ids = own[0].chunks, [word.id for word in own]
        if len(own) > 1:
            [(rows,)] = db.narrowed("select count(*) from keywords p where p.words && %s::integer[]", [ids])
        if not others:
            return rows
        both = "select count(*) from keywords p where p.chunk_id = any(%s) and p.words && %s::integer[]"
        [(shared,)] = db.narrowed(both, [keys(others), ids])
        return rows + len(others) - int(shared)

    def by_keyword(
        self, terms: Sequence[Term], scope: Scope, k: int, *, ids: Sequence[ChunkId] | None = None
    ) -> Ranking:
        with self._db.read() as db:
            if not terms or (ids is not None and not ids):
                return Ranking()
            return folded(self._best(db, self._sought(db, forms(terms)), scope, k, ids), terms)

    def _sought(self, db: Db, wanted: Sequence[Term]) -> list[Sought]:
        own = [TermForm(stems(form.text), form.prefix) for form in wanted]
        known = self._known(db, [form.word for form in own if form.word])
        left, found = READ, list[Sought]()
        for form in own:
            if form.word:
                found.append(Sought(known[form.word].chunks, known[form.word].id))
            else:  # nowhere, where that would read too much
                read, often = self._read(db, form, left) or (0, {})
                left -= read
                found.append(Sought(len(often), 0, often))
        return found

    def _best(self, db: Db, sought: Sequence[Sought], scope: Scope, k: int, ids: Sequence[ChunkId] | None) -> Ranking:
        """The best k in scope; of those with these ids."""
        now = self._totals(db)
        scored = partial(_scored, now, sought)

        def ranked(narrow: str, values: Values) -> Ranking:
            return _ranked(db, partial(scored, (narrow, values)), scope, k)

        if ids is not None:
            return ranked("p.chunk_id = any(%s)", [keys(ids)])
        if scope not in BROAD and (members := few_members(self._db, scope, FEW)) is not None:
            return ranked("p.memory_id = any(%s)", [members])
        return best_by_rarer(
            sought, now.chunks, k, lambda some: ranked(*_holding(some or sought, scope.projects)), dear=True
        )

    def vocabulary(self, beginning: str) -> Mapping[str, int]:
        with self._db.read() as db:
            begun = "select term, chunks from vocabulary where term >= %s and term < %s and chunks > 0"
            return dict(db.narrowed(begun, (beginning, beginning + LAST)))

    def ending(self, part: str, most: int) -> Sequence[str]:
        with self._db.read() as db:
            if self._totals(db).chunks > most:
                return []
            held = "select term from vocabulary where right(term, %s) = %s and chunks > 0 order by length(term), term limit 20"
            return [term for (term,) in db.rows(held, (len(part), part))]

    def texts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, str]:
        with self._db.read() as db:
            rows = db.rows(
                "select id, title, heading, text, why, impact from passages where id = any(%s)", (keys(ids),)
            )
            texts = folds(["\n".join(filter(None, cells)) for _, *cells in rows])
            return {row[0]: text for row, text in zip(rows, texts, strict=True)}


# What is known of words -----------------------------------------------------------


def _parts(terms: Iterable[Term]) -> list[Term]:
    """The parts of terms, and the parts of those."""
    own = [part for term in terms for part in term.parts]
    return [*own, *_parts(own)] if own else []


def _read(db: Db, form: TermForm, held: Sequence[IndexedWord], most: int) -> tuple[int, Often] | None:
    """
    See `PostgresKeywords._read`.

    Args:
        held: Its whole words.
    """
    if not all(word.chunks for word in held):
        return 0, {}
    whole, last = [cut(word) for word in form.whole], cut(form.words[-1])[:LONGEST]
    narrow = {"p.words @> %s::integer[]": [word.id for word in held]} if held else {}
    cost = min((word.chunks for word in held), default=most + 1)
    if cost > most and form.prefix:
        beginning = "select id, chunks from vocabulary where term >= %s and term < %s limit %s"
        begun: dict[int, int] = dict(db.narrowed(beginning, (last, last + LAST, READ)))
        narrow["p.words && %s::integer[]"] = [*begun]
        cost = SEARCHED * len(begun) + sum(begun.values())
    condition, values = " and ".join(narrow), [*narrow.values()]
    if cost > most and whole and (not form.prefix or len(begun) <= BEGINNINGS):
        holding = f"select count(*) from (select 1 from keywords p where {condition} limit %s) held"
        [(cost,)] = db.narrowed(holding, [*values, most + 1])
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
    found = db.narrowed(counted, [*[pattern] * len(CLASSES), *values, f" {' '.join(said)}{end}"])
    return cost, {chunk: float(often) for chunk, often in found}


# BM25 ------------------------------------------------------------------------------


def _holding(some: Sequence[Sought], projects: Iterable[str]) -> tuple[str, Values]:
    """A condition on rows p of `keywords`: they hold one of these forms, and, as far as words say, are of these projects."""
    words, chunks = [one.word for one in some if one.word], {chunk for one in some for chunk in one.often}
    parts: list[tuple[str, Values]] = [("p.words && %s::integer[]", [words])] if words else []
    if words and projects and NONE not in projects:
        parts = [(f"{parts[0][0]} and p.words && %s::integer[]", [words, [id_of(one) for one in projects]])]
    parts += [("p.chunk_id = any(%s)", [keys(chunks)])] if chunks else []
    return " or ".join(part for part, _ in parts) or "false", [value for _, own in parts for value in own]


def _ranked(db: Db, scored: Callable[[tuple[str, Values], int], tuple[str, Values]], scope: Scope, k: int) -> Ranking:
    """
    The best k in scope.

    Args:
        scored: `_scored`, which lacks a further condition and how many are wanted.
    """
    condition, values = where(scope)
    if scope in BROAD:  # spares a look-up for each of the many that hold a common word
        best, bound = scored(("true", []), k + SLACK)
        inside = f"select f.*, {condition} from ({best}) f join memories m on m.id = f.memory_id order by f.score desc, f.chunk_id desc"
        ranked = db.narrowed(inside, [*values, *bound])
        found = [row[:-1] for row in ranked if row[-1]]
        if len(ranked) < k + SLACK or len(found) >= k:
            return _ranking(found[:k])
    within = f"exists (select from memories m where m.id = p.memory_id and {condition})"
    return _ranking(db.narrowed(*scored((within, values), k)))


def _scored(
    now: Totals, sought: Sequence[Sought], narrow: tuple[str, Values], within: tuple[str, Values], k: int
) -> tuple[str, Values]:
    """
    The best k chunks with their scores: https://www.sqlite.org/fts5.html#the_bm25_function.

    Args:
        narrow, within: Conditions on rows p of `keywords`, with their values; an index answers the first.

    Returns:
        A statement for chunk_id, memory_id, score and how often each form is held; and its values.
    """
    average = max(now.words / max(1, now.chunks), 1e-9)
    idfs = [ranking_idf(one.rows, now.chunks) for one in sought]
    held = "-(p.often <#> %s::sparsevec)"  # the weight of a word: its product with a vector that has 1 at its place
    given = "coalesce((%s -> p.chunk_id::text)::float8, 0)"  # looked up, where a join may compare each with each
    often = ", ".join(f"{held if one.word else given} as t{n}" for n, one in enumerate(sought))
    score = " + ".join(f"%s * t{n} * {K1 + 1} / (t{n} + norm)" for n in range(len(sought)))
    own = ", ".join(f"t{n}" for n in range(len(sought)))
    statement = f"""
        select chunk_id, memory_id, score, {own} from (
            select chunk_id, memory_id, {score} as score, {own} from (
                select p.chunk_id, p.memory_id, {K1} * ({1 - B} + {B} * p.size / %s::float8) as norm, {often}
                from (select p.* from keywords p where ({narrow[0]}) and {within[0]} offset 0) p offset 0
            ) counted offset 0
        ) scored where score > 0 order by score desc, chunk_id desc limit {int(k)}"""
    counting = [
        f"{{{one.word}:1}}/{DIMENSION}"
        if one.word
        else Jsonb({str(chunk): count for chunk, count in one.often.items()})
        for one in sought
    ]
    return statement, [*idfs, average, *counting, *narrow[1], *within[1]]


def _ranking(rows: Sequence[Row]) -> Ranking:
    if not rows:
        return Ranking()
    chunks, memories, scores, *often = zip(*rows, strict=True)
    bits = [sum(1 << n for n, count in enumerate(own) if count) for own in zip(*often, strict=True)]
    return Ranking(chunks, memories, list(scores), bits, list(scores))
