"""The vectors of the terms of a store, learned from one generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import Invalid, iso
from memory.store import Learned, TermVector
from memory.store.sqlite import generations
from memory.store.sqlite.database import Part, reading, writing
from memory.store.sqlite.rows import OWNER, Row, excerpts, key, moment, packed
from memory.store.sqlite.translate import translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import apsw

    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Vectors


_WHOLE = "length(basis) = 4 * axes * (select dimension from generations where id = l.generation)"
_SOUND = f"generation = ? and {_WHOLE}"
"""Damaged term vectors are as if they were not there: they are learned again."""


class SqliteTermVectors(Part):
    """See `memory.store.vectors.TermVectors`."""

    @reading
    def learned(self, db: apsw.Connection, generation: int) -> Learned | None:
        row: Row | None = db.execute(
            f"select passages, last, fit, learned_at, axes, basis from lexicons l where {_SOUND}",
            (key(generation),),
        ).get
        if row is None:
            return None
        import numpy as np

        passages, last, fit, at, axes, basis = row
        return Learned(passages, last, fit, moment(at), np.frombuffer(basis, "<f4").reshape(axes, -1))

    @reading
    def answering(self, db: apsw.Connection) -> tuple[int, float | None]:
        row: Row | None = db.execute(
            f"""select g.id, (select fit from lexicons l where l.generation = g.id and {_WHOLE})
                from generations g where +g.state = 'active'"""  # +: there are few, and an index may be damaged
        ).get
        return (0, None) if row is None else (row[0], row[1])

    @writing(durable=False)  # what is lost can be learned again
    def learn(
        self,
        db: apsw.Connection,
        generation: int,
        learned: Learned,
        term_vectors: Sequence[TermVector],
        *,
        instead_of: Learned | None,
    ) -> bool:
        axes, width = learned.basis.shape
        if any(len(term_vector.code) != axes for term_vector in term_vectors):
            raise Invalid(f"a code of a lexicon of {axes} axes is {axes} bytes")
        before = db.execute(f"select learned_at from lexicons l where {_SOUND}", (key(generation),)).get
        dimension = db.execute("select dimension from generations where id = ?", (key(generation),)).get
        if dimension is None or before != (instead_of and iso(instead_of.learned_at)):
            return False
        if width != dimension:
            raise Invalid(f"the vectors of generation {generation} have {dimension} numbers, not {width}")
        _write(db, generation, learned, term_vectors)
        return True

    def of_terms(self, generation: int, terms: Sequence[str]) -> Mapping[str, TermVector]:
        with translated(self._db.path):  # one statement is a snapshot by itself, and a search waits for this
            rows: Iterable[Row] = self._db.connection.execute(
                """select t.term, t.scale, t.code from json_each(?) w
                   cross join lexicon_terms t on t.generation = ?2 and t.term = w.value
                   where length(t.code) = (select axes from lexicons where generation = ?2)""",
                (packed(terms), key(generation)),
            )
            return {row[0]: TermVector._make(row) for row in rows}

    @reading
    def lessons(
        self, db: apsw.Connection, generation: int, after: ChunkId, limit: int
    ) -> Sequence[tuple[Excerpt, Vectors]]:
        import numpy as np

        generations.need(db, generation)
        rows: Iterable[Row] = db.execute(
            f"""select chunk_id, embedding from vectors_{generation}
                where chunk_id > ?1 and chunk_id <= (
                    select max(chunk_id) from (
                        select distinct chunk_id from vectors_{generation} where chunk_id > ?1 order by chunk_id limit ?2
                    )
                )
                order by chunk_id, window""",
            (after, limit),
        )
        found: dict[ChunkId, list[bytes]] = {}
        for id, embedding in rows:
            found.setdefault(id, []).append(embedding)
        among = excerpts(db, f"chunks c {OWNER} where c.id in (select value from json_each(?))", ids=found)
        texts = {excerpt.id: excerpt for excerpt in among}
        return [(texts[id], np.frombuffer(b"".join(own), "<f4").reshape(len(own), -1)) for id, own in found.items()]


def _write(db: apsw.Connection, generation: int, learned: Learned, term_vectors: Sequence[TermVector]) -> None:
    generations.forget_terms(db, generation)
    db.execute(
        "insert into lexicons (generation, passages, last, fit, learned_at, axes, basis) values (?, ?, ?, ?, ?, ?, ?)",
        (generation, *learned[:3], iso(learned.learned_at), len(learned.basis), learned.basis.astype("<f4").tobytes()),
    )
    # All there are: thousands of look-ups take longer.
    words = {word for (word,) in db.execute("select term from vocabulary")}
    db.executemany(
        "insert into lexicon_terms (generation, term, scale, code) values (?, ?, ?, ?)",
        [
            (generation, *term_vector)
            for term_vector in sorted(term_vectors)
            if words.issuperset(term_vector.term.split(" "))
        ],
    )
