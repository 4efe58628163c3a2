"""The vectors of the terms of a store, learned from one generation, and what they are to be learned from."""

from __future__ import annotations

from array import array
from contextlib import nullcontext
from itertools import count
from struct import pack
from types import MappingProxyType
from typing import TYPE_CHECKING
from zlib import crc32

from memory.store import HEARD, LEAST, Asked, Learned, Prior, Progress, TermVector
from memory.store.pairs import check, pair_sums, said_once
from memory.store.records import Row, Values, key, lexicon, packed
from memory.store.sqlite import generations, lexicons
from memory.store.sqlite.database import Database, Part, reading, writing
from memory.store.sqlite.excerpts import OWNER, excerpts
from memory.store.sqlite.halves import halved, widened
from memory.store.sqlite.opening import unmap
from memory.store.sqlite.translate import translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import apsw

    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Vectors

_SOUND = lexicons.SOUND_LEXICON
"""Damaged term vectors are as if they were not there: they are learned again."""

MANY = 100
"""Chunks learned from at once by whoever goes through a whole store."""

LOG = 4000
"""Pages of the log, 16 MB, from which on it goes into the database while many teach: that waits for the disk."""

TRIMMED = 16
"""Of so many saves one takes away pairs that are not known any more: that writes two pages."""

_TERM = "t.term, t.passages, t.last, t.met, t.scale, t.code, t.id"
_WHOLE = "t.passages > 0 and t.met between 0 and 1e30 and t.scale between 0 and 1e30 and length(t.code) = l.axes"

_FIT = f"(select fit from lexicons l where l.generation = g.id and passages >= {LEAST} and {_SOUND})"
_ANSWERING = f"select g.id, {_FIT} from generations g where +g.state = 'active'"  # +: few, and an index may be damaged

# The numbers are those of a `TermVector`; behind it comes the id.
_KEEP = """
    insert into lexicon_terms (id, generation, term, passages, last, met, scale, code)
    values (?7, {generation}, ?1, ?2, ?3, ?4, ?5, ?6)
    on conflict do update set passages = excluded.passages, last = excluded.last, met = excluded.met,
        scale = excluded.scale, code = excluded.code
"""

_AGAIN = """
    update lexicon_terms set passages = ?2, last = ?3, met = ?4, scale = ?5, code = ?6
    where id = ?7 and generation = {generation} and term = ?1
"""


class SqliteTermVectors(Part):
    """See `memory.store.vectors.TermVectors`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        # By generation and sum: to read one takes longer than to search.
        self._bases: dict[tuple[int, int], Vectors] = {}
        self._blobs: dict[tuple[int, int], bytes] = {}  # the same for questions
        self._rows: dict[str, int] = {}  # where the terms were found that were asked for last: not always true now

    @reading
    def learned(self, db: apsw.Connection, generation: int) -> Learned | None:
        row: Row | None = db.execute(
            f"""select passages, fit, spread, axes, basis_sum, words, along, square
                from lexicons l where generation = ? and {_SOUND}""",
            (lexicon(generation),),
        ).get
        if row is None:
            return None
        import numpy as np

        passages, fit, spread, axes, basis_sum, *prior = row
        along_axes = np.frombuffer(spread, "<f8")
        basis = None if basis_sum is None else self._bases.get((generation, basis_sum))
        if basis_sum is not None and basis is None:
            blob = db.execute("select basis from lexicon_axes where generation = ?", (generation,)).get
            basis = np.frombuffer(widened(blob), "<f4").reshape(axes, -1)
            if not np.isfinite(basis).all():
                return None
            self._bases = {(generation, basis_sum): basis}
        if not np.isfinite(along_axes).all():
            return None
        return Learned(passages, fit, along_axes, basis, Prior._make(prior))

    @reading
    def asked(self, db: apsw.Connection, generation: int) -> Asked | None:
        row: Row | None = db.execute(
            f"""select passages, spread, basis_sum, along, square
                from lexicons l where generation = ? and {_SOUND}""",
            (lexicon(generation),),
        ).get
        if row is None:
            return None
        passages, spread, basis_sum, along, square = row
        basis = None if basis_sum is None else self._blobs.get((generation, basis_sum))
        if basis_sum is not None and basis is None:
            basis = widened(db.execute("select basis from lexicon_axes where generation = ?", (generation,)).get)
            self._blobs = {(generation, basis_sum): basis}
        return Asked(passages, array("d", spread), basis, Prior(0, along, square).scale)

    def progress(self, generation: int, most: int | None = None) -> Progress:
        with translated(self._db.path):  # one statement is a snapshot by itself, and every save asks
            row: Row | None = self._db.connection.execute(
                f"""select passages, terms, (select count(*) from (
                        select 1 from lexicon_lessons where generation = ?1 limit ifnull(?2, -1)
                    ))
                    from lexicons l where generation = ?1 and {_SOUND}""",
                (lexicon(generation), most),
            ).get
        return self._all_wait(generation, most) if row is None else Progress(*row)

    @reading
    def _all_wait(self, db: apsw.Connection, generation: int, most: int | None) -> Progress:
        if not generations.there(db, abs(generation)):
            return Progress()
        every = f"select distinct chunk_id from vectors_{abs(generation)} limit ifnull(?, -1)"
        return Progress(waiting=db.execute(f"select count(*) from ({every})", (most,)).get)

    @reading
    def answering(self, db: apsw.Connection) -> tuple[int, float | None]:
        row: Row | None = self._db.remembered.once(db, "answering", lambda: db.execute(_ANSWERING).get)
        return (0, None) if row is None else (row[0], row[1])

    @writing(durable=False)  # what is lost can be learned again
    def learn(
        self,
        db: apsw.Connection,
        generation: int,
        learned: Learned | None,
        term_vectors: Sequence[TermVector] = (),
        chunks: Mapping[ChunkId, Sequence[str]] = MappingProxyType({}),
        *,
        most: int | None = None,
    ) -> None:
        dimension = db.execute("select dimension from generations where id = ?", (key(abs(generation)),)).get
        if dimension is None:
            return
        if learned is None:
            lexicons.forget_terms(db, generation)
            return
        check(learned, term_vectors, generation, dimension)
        _write_lexicon(db, generation, learned, self._sum_of(learned.basis))
        self._keep(db, generation, term_vectors)
        _take_away(db, "lexicon_lessons", generation, chunks)
        _remember(db, generation, chunks)
        if len(chunks) > 1 or learned.passages % TRIMMED == 0:
            _trim(db, generation)
        terms = db.execute("select terms from lexicons where generation = ?", (generation,)).get
        if most is not None and terms > most:
            for term in _drop_rarest(db, generation, terms - most * 9 // 10):
                self._rows.pop(term, None)
        db.wal_autocheckpoint(LOG if len(chunks) >= MANY else 1000)  # SQLite's own
        if len(chunks) >= MANY:
            unmap(db)

    @writing(durable=False)
    def switch(self, db: apsw.Connection, generation: int) -> None:
        lexicons.switch(db, generation)

    def _keep(self, db: apsw.Connection, generation: int, term_vectors: Sequence[TermVector]) -> None:
        rows, before = self._rows, db.total_changes()
        places = [rows.get(one[0]) for one in term_vectors]
        known = ((*one, place) for one, place in zip(term_vectors, places, strict=True) if place is not None)
        db.executemany(_AGAIN.format(generation=lexicon(generation)), known)  # half of the time
        if db.total_changes() - before == len(places) - places.count(None):
            term_vectors = [one for one, place in zip(term_vectors, places, strict=True) if place is None]
        last: int = db.execute("select ifnull(max(id), 0) from lexicon_terms").get
        new = [(*one, id) for id, one in enumerate(term_vectors, last + 1)]
        with lexicons.counting(db, generation) if len(new) >= 10 * MANY else nullcontext():
            db.executemany(_KEEP.format(generation=lexicon(generation)), new)
        rows.update(zip([one.term for one in term_vectors], count(last + 1)))

    def _sum_of(self, basis: Vectors | None) -> int | None:
        """Its crc32; None of none."""
        if basis is None:
            return None
        known = [basis_sum for (_, basis_sum), one in self._bases.items() if one is basis]
        return known[0] if known else crc32(basis.astype("<f4").tobytes())

    def of_terms(self, generation: int, terms: Sequence[str] | None, *, once: bool = False) -> Mapping[str, TermVector]:
        named, joined = ("", "") if terms is None else ("cross join json_each(?) w", "and t.term = w.value")
        values: Values = [*([] if terms is None else [packed(terms)]), lexicon(generation)]
        with translated(self._db.path):  # one statement is a snapshot by itself, and a search waits for this
            rows: list[Row] = self._db.connection.execute(
                f"""select {_TERM} from lexicons l {named}
                    cross join lexicon_terms t on t.generation = l.generation {joined}
                    where l.generation = ? and {_WHOLE}""",
                values,
            ).fetchall()
        found = {row[0]: TermVector._make(row[:-1]) for row in rows}
        if once or terms is None:
            self._rows = {row[0]: row[-1] for row in rows}
        if once and terms is not None:
            found |= self._said_once(generation, [term for term in terms if " " in term and term not in found])
        return found

    @reading
    def _said_once(self, db: apsw.Connection, generation: int, pairs: Sequence[str]) -> Mapping[str, TermVector]:
        if not pairs:
            return {}
        rows: list[tuple[bytes]] = db.execute(
            """select pairs from (
                   select pairs from lexicon_pairs where generation = ? order by id desc limit ?
               ) where length(pairs) % 4 = 0""",
            (lexicon(generation), HEARD),
        ).fetchall()  # type: ignore[assignment]  # as the column is declared
        return said_once([blob for (blob,) in rows], pairs)

    @reading
    def lessons(
        self,
        db: apsw.Connection,
        generation: int,
        limit: int,
        *,
        after: ChunkId | None = None,
        learned: bool | None = False,
    ) -> Sequence[tuple[Excerpt, Vectors]]:
        import numpy as np

        sound: bool | None = db.execute(
            f"""select exists (select 1 from lexicons l where l.generation = ? and {_SOUND})
                from generations g where id = ?""",
            (lexicon(generation), key(abs(generation))),
        ).get
        if sound is None:
            return []
        every = waiting = f"select chunk_id from vectors_{abs(generation)} where chunk_id > ?1"
        if sound:
            waiting = f"select chunk_id from lexicon_lessons where generation = {generation} and chunk_id > ?1"
        wanted = {None: every, False: waiting, True: f"{every} and chunk_id not in ({waiting})"}[learned]
        rows: Iterable[Row] = db.execute(
            f"""select v.chunk_id, v.window, v.embedding
                from (
                    select distinct chunk_id from ({wanted}) w where exists (
                        select 1 from chunks c cross join memories m on m.id = c.memory_id where c.id = w.chunk_id
                    ) order by 1 limit ?2
                ) l
                cross join vectors_{abs(generation)} v on v.chunk_id = l.chunk_id""",
            (after or 0, limit),
        )
        found: dict[ChunkId, list[bytes]] = {}
        for id, _, embedding in sorted(rows):  # SQLite would make a table for that
            found.setdefault(id, []).append(embedding)
        among = excerpts(db, f"chunks c {OWNER} where c.id in (select value from json_each(?))", ids=found)
        texts = {excerpt.id: excerpt for excerpt in among}
        return [(texts[id], np.frombuffer(b"".join(own), "<f4").reshape(len(own), -1)) for id, own in found.items()]


def _write_lexicon(db: apsw.Connection, generation: int, learned: Learned, basis_sum: int | None) -> None:
    """Write what all terms have in common."""
    spread = learned.spread.astype("<f8").tobytes()
    again = db.execute(
        f"""update lexicons as l set passages = ?, fit = ?, spread = ?, words = ?, along = ?, square = ?
            where generation = ? and axes = ? and basis_sum is ? and {_SOUND} returning 1""",
        (learned.passages, learned.fit, spread, *learned.prior, generation, len(learned.spread), basis_sum),
    ).get
    if not again:
        _write_other_lexicon(db, generation, learned, basis_sum)


def _write_other_lexicon(db: apsw.Connection, generation: int, learned: Learned, basis_sum: int | None) -> None:
    """The same with other axes, or of the first of its generation: then every chunk with a vector is a lesson."""
    spread = learned.spread.astype("<f8").tobytes()
    before = db.execute(f"select basis_sum, 1 from lexicons l where generation = ? and {_SOUND}", (generation,)).get
    if before is None:
        lexicons.forget_terms(db, generation)  # damaged ones
    db.execute(
        "delete from lexicon_terms where generation = ? and length(code) <> ?", (generation, len(learned.spread))
    )
    db.execute(
        """insert into lexicons (generation, passages, fit, axes, basis_sum, spread, words, along, square)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?)
           on conflict do update set passages = excluded.passages, fit = excluded.fit, axes = excluded.axes,
               basis_sum = excluded.basis_sum, spread = excluded.spread, words = excluded.words,
               along = excluded.along, square = excluded.square""",
        (generation, learned.passages, learned.fit, len(learned.spread), basis_sum, spread, *learned.prior),
    )
    if before is None:
        db.execute(
            f"""insert into lexicon_lessons (generation, chunk_id)
                select distinct ?, chunk_id from vectors_{abs(generation)}""",
            (generation,),
        )
    if learned.basis is None:
        db.execute("delete from lexicon_axes where generation = ?", (generation,))
    elif before is None or before[0] != basis_sum:
        db.execute(
            "insert or replace into lexicon_axes (generation, basis) values (?, ?)",
            (generation, halved(learned.basis)),
        )


def _remember(db: apsw.Connection, generation: int, chunks: Mapping[ChunkId, Sequence[str]]) -> None:
    """Note the pairs that chunks were the first to say."""
    _take_away(db, "lexicon_pairs", generation, chunks)
    db.executemany(
        "insert into lexicon_pairs (generation, chunk_id, pairs) values (?, ?, ?)",
        [(generation, id, pack(f"<{len(pairs)}I", *pair_sums(pairs))) for id, pairs in chunks.items() if pairs],
    )


def _trim(db: apsw.Connection, generation: int) -> None:
    """Only of the last chunks are pairs known."""
    db.execute(
        """delete from lexicon_pairs where generation = ?1 and id <= (
               select id from lexicon_pairs where generation = ?1 order by id desc limit 1 offset ?2
           )""",
        (generation, HEARD),
    )


def _take_away(db: apsw.Connection, table: str, generation: int, chunks: Iterable[ChunkId]) -> None:
    ids = [key(id) for id in chunks]
    if len(ids) < MANY:
        db.executemany(f"delete from {table} where chunk_id = ? and +generation = ?", [(id, generation) for id in ids])
    else:
        named = "chunk_id in (select value from json_each(?))"
        db.execute(f"delete from {table} where {named} and +generation = ?", (packed(ids), lexicon(generation)))


def _drop_rarest(db: apsw.Connection, generation: int, count: int) -> list[str]:
    with lexicons.counting(db, generation):
        rows: Iterable[Row] = db.execute(
            """delete from lexicon_terms where id in (
                   select id from lexicon_terms not indexed where generation = ?1  -- in the order of the table
                   order by instr(term, ' ') > 0 desc, passages, last, term limit ?2
               ) returning term""",
            (generation, count),
        ).fetchall()
    return [term for (term,) in rows]
