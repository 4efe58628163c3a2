"""The vectors of the terms of a store, learned from one generation, and what they are to be learned from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from struct import pack
from sys import maxsize
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from zlib import crc32

from memory.schema import np
from memory.schema.errors import Invalid
from memory.store import generations
from memory.store.learned import (
    COMMON,
    HEARD,
    PARTS,
    Asked,
    Learned,
    LearningState,
    PendingPage,
    PendingPassages,
    Prior,
    TermVector,
    forget_terms,
    replace_lexicon,
)
from memory.store.records import key
from memory.store.shared import Connection, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memory.schema.memory import ChunkId
    from memory.schema.space import Vectors
    from memory.store.records import Row

TRIMMED = 16
"""Of so many saves one takes away pairs that are not known any more: that writes two pages."""


class TermVectors(Part, ABC):
    """
    A vector for each term of a store, learned from the vectors of one generation; asked instead of the model. A term is
    one stem, or two with a blank between them. A generation that is emptied or dropped takes its term vectors along.

    A chunk with a vector in the generation was learned from, or is pending.

    What is learned again stands beside what answers: in all methods, minus the number of a generation is
    that of the term vectors beside, until `switch`. Whatever removes texts or vectors changes both.

    Nothing of a text that is removed or replaced stays but numbers. In the same transaction, and of every generation,
    those go whose term holds a word which no chunk holds any more, and those of two words that stood together in a chunk
    which was removed (`neighbours`), wherever else they do. What the text did to the numbers of other terms, and to what
    they have in common, stays until all is learned again.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def __init__(self, database: Any) -> None:
        super().__init__(database)
        # By generation and sum: to read one takes longer than to search.
        self._bases: dict[tuple[int, int], Vectors] = {}
        self._plain: dict[tuple[int, int], bytes] = {}  # the same for questions

    def learned(self, generation: int) -> Learned | None:
        """What its term vectors have in common; None if it has none or is gone."""
        with self._db.read() as db:
            return self._learned(db, generation, _common(db, generation))

    def _learned(self, db: Connection, generation: int, common: Sequence[Sequence[Any]]) -> Learned | None:
        for passages, fit, _, basis_sum, spread, *prior in common:
            along_axes = np.frombuffer(spread, "<f8")
            basis = None if basis_sum is None else self._bases.get((generation, basis_sum))
            if basis_sum is not None and basis is None:
                basis = db.unpacked(*_basis(db, generation))
                if not np.isfinite(basis).all():
                    return None
                self._bases = {(generation, basis_sum): basis}
            if np.isfinite(along_axes).all():
                return Learned(passages, fit, along_axes, basis, Prior._make(prior))
        return None

    def asked(self, generation: int) -> Asked | None:
        """What a question needs of the same; None where `learned` is. Its numbers may be damaged."""
        with self._db.read() as db:
            for passages, _, _, basis_sum, spread, _, along, square in _common(db, generation):
                basis = None if basis_sum is None else self._plain.get((generation, basis_sum))
                if basis_sum is not None and basis is None:
                    basis = db.plain(*_basis(db, generation))
                    self._plain = {(generation, basis_sum): basis}
                return Asked(passages, array("d", spread), basis, Prior(0, along, square).scale)
            return None

    def progress(self, generation: int, most: int | None = None) -> LearningState:
        """
        How far they are; nothing if the generation is gone.

        Args:
            most: Pending chunks are counted up to this.
        """
        generation = _lexicon(generation)
        with self._db.read() as db:
            limit = maxsize if most is None else most
            for passages, terms, pending in db.rows(
                f"""select passages, terms,
                        (select count(*) from (select 1 from lexicon_lessons where generation = ? limit ?) w)
                    from generations o
                    left join lexicons l on l.generation = ? and {generations.legible(db.BYTES)} where o.id = ?""",
                (generation, limit, generation, abs(generation)),
            ):
                if passages is not None:
                    return LearningState(passages, terms, pending)
                every = f"select distinct chunk_id from vectors_{abs(generation)} limit ?"  # nothing was learned
                return LearningState(waiting=db.value(f"select count(*) from ({every}) w", (limit,)))
            return LearningState()

    def learn(
        self,
        generation: int,
        learned: Learned | None,
        term_vectors: Sequence[TermVector] = (),
        chunks: Mapping[ChunkId, Sequence[str]] = MappingProxyType({}),
        *,
        most: int | None = None,
    ) -> None:
        """
        Keep what was learned from pending chunks, in the transaction that read them; nothing if the generation is gone.

        Args:
            learned: None forgets all term vectors of the generation: every chunk that has a vector is pending again.
            term_vectors: In place of those of the same terms, and if there are as many axes as before, beside the others.
                Their words are those of the chunks.
            chunks: Which were learned from, and are no longer pending, each with the pairs of words that it was the
                first to say.
            most: If there are more terms now, nine tenths of so many stay. Terms of two words go first, then those that
                fewest chunks hold, then those that were met longest ago, then by name.

        Raises:
            Invalid: The basis is not as wide as the vectors, or a code has not as many numbers as there are axes.
        """
        generation = _lexicon(generation)
        with self._db.write(durable=False) as db:  # what is lost can be learned again
            if learned is None:
                forget_terms(db, generation)
                return
            if not _write_lexicon(db, generation, learned, self._sum_of(learned.basis)):
                return
            axes = len(learned.spread)
            if any(len(one.code) != axes for one in term_vectors):
                raise Invalid(f"a term vector along {axes} axes has {axes} bytes")
            self._keep(db, generation, term_vectors, of=len(chunks))
            _remember(db, generation, chunks, learned.passages)
            terms = db.value("select terms from lexicons where generation = ?", (generation,))
            if most is not None and terms > most:
                self._drop_rarest(db, generation, terms - most * 9 // 10)

    def _sum_of(self, basis: Vectors | None) -> int | None:
        """Its crc32; None of none."""
        if basis is None:
            return None
        known = [basis_sum for (_, basis_sum), one in self._bases.items() if one is basis]
        return known[0] if known else crc32(basis.astype("<f4").tobytes())

    @abstractmethod
    def _keep(self, db: Any, generation: int, term_vectors: Sequence[TermVector], *, of: int) -> None:
        """Write term vectors, learned from so many chunks, in place of those of the same terms."""

    @abstractmethod
    def _drop_rarest(self, db: Any, generation: int, count: int) -> None:
        """Take so many away, as `learn` says."""

    def switch(self, generation: int) -> None:
        """
        Put the term vectors beside in the place of those that answer, in one transaction. Nothing happens if there are none
        beside: another process has put them there.
        """
        with self._db.write(durable=False) as db:
            beside = -key(generation)
            if db.value("select 1 from lexicons where generation = ?", (beside,)) is None:
                return
            forget_terms(db, generation)
            db.change(
                f"""insert into lexicons (generation, terms, {COMMON})
                    select made_of, terms, {COMMON} from lexicons where generation = ?""",
                (beside,),
            )
            for table in PARTS:
                db.change(f"update {table} set generation = -generation where generation = ?", (beside,))
            forget_terms(db, -generation)

    def of_terms(self, generation: int, terms: Sequence[str] | None, *, once: bool = False) -> Mapping[str, TermVector]:
        """
        Those that are known.

        Args:
            terms: None asks for all.
            once: Also pairs of words that have no vector, because only one chunk said them until now, of the last `HEARD`
                that were learned from. What a chunk said goes with it, and with its vectors. Once in a million times
                a pair was never said.
        """
        generation = _lexicon(generation)
        with self._db.read() as db:
            found = self._known(db, generation, terms, once=once)
            pairs = [term for term in terms or () if " " in term and term not in found] if once else []
            return {**found, **_said_once(db, generation, pairs)} if pairs else found

    @abstractmethod
    def _known(self, db: Any, generation: int, terms: Sequence[str] | None, *, once: bool) -> dict[str, TermVector]:
        """Those that have a vector."""

    def page(self, generation: int, limit: int) -> PendingPage:
        """What is read before a page is learned; nothing if the generation is gone."""
        generation = _lexicon(generation)
        with self._db.read() as db:
            for total, vectors, dimension, *common in db.rows(
                f"""select total, vectors, dimension, {COMMON} from generations o
                    left join lexicons l on l.generation = ? and {generations.legible(db.BYTES)} where o.id = ?""",
                (generation, abs(generation)),
            ):
                started = common[0] is not None
                learned = self._learned(db, generation, [common] if started else [])
                pending = _pending(db, generation, limit, started=started)
                return PendingPage(learned, pending, generations.sums(total, dimension), vectors)
            return PendingPage(None, (), array("d"), 0)

    def pending(
        self, generation: int, limit: int, *, after: ChunkId | None = None, learned: bool | None = False
    ) -> PendingPassages:
        """
        Chunks with vectors that were not learned from yet, lowest id first, and the vectors of each, shape
        (windows, dimension); none if the generation is gone.

        Args:
            after: Only those whose id is above.
            learned: Those that were learned from instead; None asks for both.
        """
        with self._db.read() as db:
            if not generations.there(db, abs(generation)):
                return []
            started = bool(_common(db, generation))
            return _pending(db, generation, limit, started=started, after=after, learned=learned)


def _pending(
    db: Connection,
    generation: int,
    limit: int,
    *,
    started: bool,
    after: ChunkId | None = None,
    learned: bool | None = False,
) -> PendingPassages:
    """
    See `TermVectors.pending`, of a generation that is there.

    Args:
        started: Whether anything was learned.
    """
    every = waiting = f"select chunk_id from vectors_{abs(generation)} v where chunk_id > ?"
    pending = f"lexicon_lessons s where generation = {generation}"
    if started:
        waiting = f"select chunk_id from {pending} and chunk_id > ?"
        known = f"{every} and not exists (select 1 from {pending} and s.chunk_id = v.chunk_id)"
    else:
        known = f"{every} and false"
    wanted = {None: every, False: waiting, True: known}[learned]
    rows, vectors = db.vectors(
        abs(generation),
        f"""chunk_id in (
                select distinct chunk_id from ({wanted}) w where exists (
                    select 1 from chunks c {db.JOIN} memories m on m.id = c.memory_id where c.id = w.chunk_id
                ) order by 1 limit ?
            ) order by chunk_id, place""",
        (after or 0, limit),
    )
    windows: dict[ChunkId, list[int]] = {}
    for place, (_, chunk, _) in enumerate(rows):
        windows.setdefault(chunk, []).append(place)
    texts = {excerpt.id: excerpt for excerpt in db.excerpts([*windows])}
    return [(texts[id], vectors[own]) for id, own in windows.items()]


def _lexicon(generation: int) -> int:
    """The id of a generation, or minus that, as a database takes it; 0, which names nothing, beyond its integers."""
    return generation if abs(generation) < 1 << 63 else 0


def _common(db: Connection, generation: int) -> list[Row]:
    """A row of what all terms have in common; none if there is nothing that can be read."""
    common = f"select {COMMON} from lexicons l where generation = ? and {generations.legible(db.BYTES)}"
    return db.rows(common, (_lexicon(generation),))


def _basis(db: Connection, generation: int) -> tuple[bytes, int]:
    """As it is kept, and its dimension."""
    basis = f"select basis, dimension from lexicon_axes a {db.JOIN} generations g on g.id = abs(a.generation)"
    [(packed, dimension)] = db.rows(f"{basis} where generation = ?", (generation,))
    return packed, dimension


def _write_lexicon(db: Connection, generation: int, learned: Learned, basis_sum: int | None) -> bool:
    """
    Write what all terms have in common; whether the generation is there.

    Raises:
        Invalid: The basis is not as wide as its vectors.
    """
    spread, axes = learned.spread.astype("<f8").tobytes(), len(learned.spread)
    again = db.changed(
        f"""update lexicons as l set passages = ?, fit = ?, spread = ?, words = ?, along = ?, square = ?
            where generation = ? and axes = ? and basis_sum is not distinct from ? and {generations.legible(db.BYTES)}""",
        (learned.passages, learned.fit, spread, *learned.prior, generation, axes, basis_sum),
    )
    if again:
        return True
    dimension = db.value("select dimension from generations where id = ?", (abs(generation),))
    if dimension is None:
        return False
    if learned.basis is not None and learned.basis.shape != (axes, dimension):
        raise Invalid(f"the vectors of index version {generation} have {dimension} numbers, their axes are {axes}")
    values = (generation, learned.passages, learned.fit, axes, basis_sum, spread, *learned.prior)
    replace_lexicon(db, generation, values, learned.basis, before=_common(db, generation))
    return True


# Pairs of words ---------------------------------------------------------------


def _remember(db: Connection, generation: int, chunks: Mapping[ChunkId, Sequence[str]], passages: int) -> None:
    """
    Chunks were learned from, and are no longer pending: note the pairs that they were the first to say.

    Args:
        passages: From how many the generation has learned now.
    """
    ids = db.ids(chunks)
    for table in ("lexicon_lessons", "lexicon_pairs"):
        db.change(f"delete from {table} where chunk_id {db.IN} and {db.SCANNED}generation = ?", (ids, generation))
    db.each(
        "insert into lexicon_pairs (generation, chunk_id, pairs) values (?, ?, ?)",
        [(generation, id, pack(f"<{len(pairs)}I", *_pair_sums(pairs))) for id, pairs in chunks.items() if pairs],
    )
    if len(chunks) > 1 or passages % TRIMMED == 0:  # only of the last chunks are pairs known
        db.change(
            """delete from lexicon_pairs where generation = ? and id <= (
                   select id from lexicon_pairs where generation = ? order by id desc limit 1 offset ?
               )""",
            (generation, generation, HEARD),
        )


def _said_once(db: Connection, generation: int, pairs: Sequence[str]) -> Mapping[str, TermVector]:
    """Of pairs those that one of the last chunks was the first to say."""
    rows = db.rows(
        """select pairs from (
               select pairs from lexicon_pairs where generation = ? order by id desc limit ?
           ) said where length(pairs) / 4 * 4 = length(pairs)""",
        (generation, HEARD),
    )
    return _matching([blob for (blob,) in rows], pairs)


def _pair_sums(pairs: Iterable[str]) -> Iterator[int]:
    """What is kept of pairs of words."""
    return map(crc32, map(str.encode, pairs))


def _matching(kept: Sequence[bytes], pairs: Sequence[str]) -> Mapping[str, TermVector]:
    """
    Of pairs those that are known: whose sums, as unsigned numbers of 32 bits, little-endian, were kept.

    Args:
        kept: Of each chunk, the last one first.
    """
    known = np.frombuffer(b"".join(kept), "<u4")
    last = np.repeat(np.arange(-1, -1 - len(kept), -1), [len(sums) // 4 for sums in kept])
    own = np.fromiter(_pair_sums(pairs), np.uint32, len(pairs))
    alike = np.zeros(1 << 12, bool)  # few pass this look at 12 of 32 bits
    alike[own & 0xFFF] = True
    near = alike[known & 0xFFF]
    said = dict(zip(known[near][::-1].tolist(), last[near][::-1].tolist(), strict=True))
    found = zip(pairs, own.tolist(), strict=True)
    return {pair: TermVector(pair, 1, said[one], 0.0, 0.0, b"") for pair, one in found if one in said}
