"""The vectors of the terms of a store, learned from one generation, and what they are to be learned from."""

from __future__ import annotations

from array import array
from struct import pack
from types import MappingProxyType
from typing import TYPE_CHECKING
from zlib import crc32

from memory.store import HEARD, LEAST, Asked, Learned, Prior, Progress, TermVector
from memory.store.pairs import check, pair_sums, said_once
from memory.store.postgres import generations, lexicons
from memory.store.postgres.database import Database, Part, many, one, reading, writing
from memory.store.postgres.rows import excerpts, read_vectors
from memory.store.records import key, lexicon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Vectors
    from memory.store.postgres.opening import Db
    from memory.store.records import Values

_KEEP = """
    insert into lexicon_terms (generation, term, passages, last, met, scale, code)
    select %s, * from unnest(%s::text[], %s::bigint[], %s::bigint[], %s::float8[], %s::float8[], %s::bytea[])
    on conflict (generation, term) do update set passages = excluded.passages, last = excluded.last,
        met = excluded.met, scale = excluded.scale, code = excluded.code
"""


class PostgresTermVectors(Part):
    """See `memory.store.vectors.TermVectors`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._bases: dict[tuple[int, int], bytes] = {}  # by generation and sum: to read one takes long

    @reading
    def learned(self, db: Db, generation: int) -> Learned | None:
        rows = many(db, f"select {lexicons.COMMON} from lexicons where generation = %s", (lexicon(generation),))
        if not rows:
            return None
        import numpy as np

        [(passages, fit, axes, basis_sum, spread, *prior)] = rows
        blob = self._basis(db, generation, basis_sum)
        basis = None if blob is None else np.frombuffer(blob, "<f4").reshape(axes, -1)
        return Learned(passages, fit, np.frombuffer(spread, "<f8"), basis, Prior._make(prior))

    @reading
    def asked(self, db: Db, generation: int) -> Asked | None:
        rows = many(db, f"select {lexicons.COMMON} from lexicons where generation = %s", (lexicon(generation),))
        if not rows:
            return None
        [(passages, _, _, basis_sum, spread, _, along, square)] = rows
        basis = self._basis(db, generation, basis_sum)
        return Asked(passages, array("d", spread), basis, Prior(0, along, square).scale)

    def _basis(self, db: Db, generation: int, basis_sum: int | None) -> bytes | None:
        if basis_sum is None:
            return None
        place = (generation, basis_sum)
        if (known := self._bases.get(place)) is None:
            known = one(db, "select basis from lexicon_axes where generation = %s", (generation,))
            self._bases = {place: known}
        return known

    @reading
    def progress(self, db: Db, generation: int, most: int | None = None) -> Progress:
        if not generations.there(db, abs(generation)):
            return Progress()
        found = many(db, "select passages, terms from lexicons where generation = %s", (generation,))
        every = f"select distinct chunk_id from vectors_{abs(generation)}"
        if found:
            every = f"select chunk_id from lexicon_lessons where generation = {generation}"
        waiting = one(db, f"select count(*) from ({every} limit %s) w", (most,))
        return Progress._make([*(found[0] if found else (0, 0)), waiting])

    @reading
    def answering(self, db: Db) -> tuple[int, float | None]:
        rows = many(
            db,
            f"""select g.id, l.fit from generations g
                left join lexicons l on l.generation = g.id and l.passages >= {LEAST} where g.state = 'active'""",
        )
        return (rows[0][0], rows[0][1]) if rows else (0, None)

    @writing(durable=False)  # what is lost can be learned again
    def learn(
        self,
        db: Db,
        generation: int,
        learned: Learned | None,
        term_vectors: Sequence[TermVector] = (),
        chunks: Mapping[ChunkId, Sequence[str]] = MappingProxyType({}),
        *,
        most: int | None = None,
    ) -> None:
        dimension = one(db, "select dimension from generations where id = %s", (key(abs(generation)),))
        if dimension is None:
            return
        if learned is None:
            lexicons.forget_terms(db, generation)
            return
        check(learned, term_vectors, generation, dimension)
        _write_lexicon(db, generation, learned)
        own = {one.term: one for one in term_vectors}.values()
        if own:
            db.execute(_KEEP, (generation, *(list(column) for column in zip(*own, strict=True))))
        _remember(db, generation, chunks)
        terms = one(db, "select terms from lexicons where generation = %s", (generation,))
        if most is not None and terms > most:
            _drop_rarest(db, generation, terms - most * 9 // 10)

    @writing(durable=False)
    def switch(self, db: Db, generation: int) -> None:
        lexicons.switch(db, generation)

    @reading
    def of_terms(
        self, db: Db, generation: int, terms: Sequence[str] | None, *, once: bool = False
    ) -> Mapping[str, TermVector]:
        wanted = "generation = %s"
        values: Values = [lexicon(generation)]
        if terms is not None:
            wanted += " and term = any(%s)"
            values.append(list(terms))
        rows = many(db, f"select term, passages, last, met, scale, code from lexicon_terms where {wanted}", values)
        found = {row[0]: TermVector._make(row) for row in rows}
        if once and terms is not None:
            found |= _said_once(db, generation, [term for term in terms if " " in term and term not in found])
        return found

    @reading
    def lessons(
        self,
        db: Db,
        generation: int,
        limit: int,
        *,
        after: ChunkId | None = None,
        learned: bool | None = False,
    ) -> Sequence[tuple[Excerpt, Vectors]]:
        rows = many(
            db,
            "select dimension, (select generation from lexicons where generation = %s) from generations where id = %s",
            (lexicon(generation), key(abs(generation))),
        )
        if not rows:
            return []
        [(dimension, begun)] = rows
        waiting = (
            f"exists (select 1 from lexicon_lessons s where s.generation = {generation} and s.chunk_id = v.chunk_id)"
        )
        condition = {None: "true", False: waiting if begun else "true", True: f"not {waiting}" if begun else "false"}
        found: dict[ChunkId, list[bytes]] = {}
        for id, sent in many(
            db,
            f"""select v.chunk_id, vector_send(v.embedding) from (
                    select distinct v.chunk_id from vectors_{abs(generation)} v
                    where v.chunk_id > %s and {condition[learned]} order by 1 limit %s
                ) l join vectors_{abs(generation)} v on v.chunk_id = l.chunk_id order by v.chunk_id, v.place""",
            (after or 0, limit),
        ):
            found.setdefault(id, []).append(sent)
        texts = {excerpt.id: excerpt for excerpt in excerpts(db, "c.id = any(%s)", (list(found),))}
        return [(texts[id], read_vectors(own, dimension)) for id, own in found.items()]


def _write_lexicon(db: Db, generation: int, learned: Learned) -> None:
    """Write what all terms have in common. With the first of its generation every chunk with a vector is a lesson."""
    axes, basis = len(learned.spread), None
    if learned.basis is not None:
        basis = learned.basis.astype("<f4").tobytes()
    basis_sum = None if basis is None else crc32(basis)
    before = many(db, "select axes, basis_sum from lexicons where generation = %s", (generation,))
    values: Values = [
        learned.passages,
        learned.fit,
        axes,
        basis_sum,
        learned.spread.astype("<f8").tobytes(),
        *learned.prior,
        generation,
    ]
    if before:
        assigned = ", ".join(f"{name} = %s" for name in lexicons.COMMON.split(", "))
        db.execute(f"update lexicons set {assigned} where generation = %s", values)
        if before[0][0] != axes:
            db.execute("delete from lexicon_terms where generation = %s", (generation,))
    else:
        db.execute(
            f"insert into lexicons ({lexicons.COMMON}, generation) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)", values
        )
        db.execute(
            f"insert into lexicon_lessons (generation, chunk_id) select distinct {generation}, chunk_id from vectors_{abs(generation)}"
        )
    if basis is None:
        db.execute("delete from lexicon_axes where generation = %s", (generation,))
    elif not before or before[0][1] != basis_sum:
        db.execute(
            """insert into lexicon_axes (generation, basis) values (%s, %s)
               on conflict (generation) do update set basis = excluded.basis""",
            (generation, basis),
        )


def _remember(db: Db, generation: int, chunks: Mapping[ChunkId, Sequence[str]]) -> None:
    """Chunks were learned from: note the pairs of words that they were the first to say; of the last chunks alone."""
    lexicons.forget_chunks(db, generation, [key(id) for id in chunks])
    said = [(generation, id, pack(f"<{len(pairs)}I", *pair_sums(pairs))) for id, pairs in chunks.items() if pairs]
    db.cursor().executemany("insert into lexicon_pairs (generation, chunk_id, pairs) values (%s, %s, %s)", said)
    db.execute(
        """delete from lexicon_pairs where generation = %s and id <= (
               select id from lexicon_pairs where generation = %s order by id desc limit 1 offset %s
           )""",
        (generation, generation, HEARD),
    )


def _said_once(db: Db, generation: int, pairs: Sequence[str]) -> Mapping[str, TermVector]:
    if not pairs:
        return {}
    rows = many(
        db,
        "select pairs from lexicon_pairs where generation = %s order by id desc limit %s",
        (lexicon(generation), HEARD),
    )
    return said_once([blob for (blob,) in rows], pairs)


def _drop_rarest(db: Db, generation: int, count: int) -> None:
    db.execute(
        """delete from lexicon_terms where generation = %s and term in (
               select term from lexicon_terms where generation = %s
               order by strpos(term, ' ') > 0 desc, passages, last, term limit %s
           )""",
        (generation, generation, count),
    )
