"""Where memories are kept and found: parts of every store, and the best of many by keyword."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from memory.schema.errors import NotFound, StoreDamaged, iso
from memory.schema.memory import UID_PREFIX, Chunk, ChunkId, Excerpt, Memory, MemoryId, Revision
from memory.store import RESOLVED, records
from memory.store.records import EXPORTED, ODD, Values, chunk, key, moment, most_first, record, recorded, values_of
from memory.store.shared import Connection, Part
from memory.store.values import OPENING, Entry, Match, Opening, Order

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from memory.schema.answer import Ranking
    from memory.schema.memory import Details, Json
    from memory.schema.query import Scope, Term

ENDED = 200
"""If no more memories than so many have ended, all are read, whichever are asked for."""

BY_PLACE = "one_item_a_key"
"""The index of items by namespace and key."""

_CHUNK = "id, chunk_index, start, stop, chunk_type, header_path, level, token_count"

_ITERATION = ("coalesce(m.session_iter, 0)", "m.created_at", "m.id")
_ORDERS = {
    Order.CHANGED: (("m.updated_at", "m.id"), "<", "desc"),
    Order.ITERATION: (_ITERATION, "<", "desc"),
    Order.ASCENDING: (_ITERATION, ">", "asc"),
}


class Memories(Part, ABC):
    """
    Memories with their bodies and chunks. How they are written and searched each store says itself.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    @abstractmethod
    def find(self, matches: Sequence[Match]) -> Sequence[Memory | None]:
        """
        For each the memory that it asks for; None if there is none.

        Raises:
            StoreDamaged: One of them cannot be read: no default stands for what is lost.
        """

    def insert(self, entry: Entry) -> Memory:
        """
        Keep an entry as a new memory with its history, whatever already exists. Its id is above all that were ever
        given, but perhaps not the next.

        The first vectors of a store found its active generation. Vectors of a space that has no living generation are
        not kept; their chunks are queued.
        """
        return self.insert_all([entry])[0]

    @abstractmethod
    def insert_all(self, entries: Sequence[Entry]) -> Sequence[Memory]:
        """The same for several, one after the other, at least one."""

    def rewrite(
        self,
        id: MemoryId,
        entry: Entry,
        former: Revision | None = None,
        *,
        revisions: int | None = None,
        undone: int = 0,
    ) -> bool:
        """
        Put an entry's texts, chunks and vectors in place of a memory's; id, uid, creation time, status and counts stay.

        Args:
            former: Goes to its history.
            revisions: If its history has another length, nothing is written and the answer is False (compare and set).
            undone: So many revisions of its history go, the latest first.

        Raises:
            NotFound: No such memory.
        """
        from memory.store.learned import unlearning

        with self._db.write() as db:
            count = "select count(*) from history where memory_id = ?"
            if revisions is not None and db.value(count, (key(id),)) != revisions:
                return False
            with unlearning(db, [id]):
                forgotten = self._forget(db, [id])
                db.change("delete from chunks where memory_id = ?", (key(id),))
                values = self._with_keys(values_of(entry))
                names = ", ".join(f"{name} = ?" for name in values)
                if not db.changed(f"update memories set {names} where id = ?", (*values.values(), key(id))):
                    raise NotFound(f"no memory {id}")
                if former is not None:
                    remember(db, id, former)
                latest = "select id from history where memory_id = ? order by id desc limit ?"
                if undone:
                    db.change(f"delete from history where id in ({latest})", (id, undone))
                db.change("update bodies set body = ? where memory_id = ?", (entry.draft.body, id))
                self._write_chunks(db, id, entry, forgotten)
            return True

    @abstractmethod
    def _forget(self, db: Any, ids: Sequence[MemoryId]) -> Any:
        """Take what memories say out of sums and counts, before their chunks go."""

    @abstractmethod
    def _write_chunks(self, db: Any, id: MemoryId, entry: Entry, forgotten: Any) -> None:
        """
        Write the chunks of a memory, index them, and write their vectors or their place in the queue.

        Args:
            forgotten: What `_forget` answered.
        """

    def set_links(self, memories: Sequence[Memory]) -> None:
        """Set the status, successor, parent and pin of memories to those of the values; nothing else of them is written."""
        with self._db.write() as db:
            db.each(
                "update memories set status = ?, superseded_by = ?, parent_id = ?, pinned = ? where id = ?",
                [(str(one.status), one.superseded_by, one.parent_id, one.pinned, key(one.id)) for one in memories],
            )

    def _with_keys(self, values: dict[str, Any]) -> dict[str, Any]:
        """The columns of a memory with those that a store derives from them."""
        return values

    @abstractmethod
    def delete(self, ids: Sequence[MemoryId]) -> int:
        """
        Remove memories with all that was derived from them; how many there were.

        Those that descend from one have no parent any more, and those that one superseded no successor.
        """

    def resolve(self, reference: str) -> Sequence[tuple[MemoryId, str]]:
        """
        Ids and uids, at most 10, that a reference may mean: an id in digits, a uid, or at least 8 characters
        of the beginning of one. Nothing else names a memory.
        """
        with self._db.read() as db:
            found: dict[MemoryId, str] = {}
            if reference.isascii() and reference.isdigit() and len(reference) < UID_PREFIX * 2:  # 2**63 has 19 digits
                found.update(db.rows("select id, uid from memories where id = ?", (int(reference),)))
            prefix = reference.lower().replace("-", "")
            if len(prefix) >= UID_PREFIX and set(prefix) <= set("0123456789abcdef"):
                begun = "select id, uid from memories where uid >= ? and uid < ? order by uid limit ?"
                found.update(db.rows(begun, (prefix, prefix + "g", RESOLVED)))
            return list(found.items())[:RESOLVED]

    def by_id(self, ids: Sequence[MemoryId], *, pointing: bool = False) -> Mapping[MemoryId, Memory]:
        """Those that are there; with `pointing`, also those that one of these superseded, or that descend from one."""
        with self._db.read() as db:
            columns = ("id", "superseded_by", "parent_id") if pointing else ("id",)
            condition = " or ".join(f"m.{column} {db.IN}" for column in columns)  # each by its own index
            return {memory.id: memory for memory in db.memories(condition, (db.ids(ids),) * len(columns))}

    def metadata(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Mapping[str, Json]]:
        """
        The metadata of those that are there: a filter reads it of thousands.

        Raises:
            StoreDamaged: One of them cannot be read.
        """
        with self._db.read() as db:
            return records.metadata(db.rows(f"select id, metadata from memories where id {db.IN}", ids=ids))

    def openings(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Opening]:
        """What active short notes say, of those that are there: a search reads them of many memories."""
        with self._db.read() as db:
            plus = db.SCANNED  # by id: an index of kinds has all notes
            rows = db.rows(
                f"""select id, project, coalesce(happened_at, updated_at), body_size, title, what from memories
                    where {plus}kind = 'note' and {plus}status = 'active' and length(what) <= {OPENING} and id {db.IN}""",
                ids=ids,
            )
            read = [(id, project, moment(changed), *rest) for id, project, changed, *rest in rows]
            return {one.memory: one for one in records.openings(read)}

    def titles(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        """Of those that are there."""
        with self._db.read() as db:
            return dict(db.rows(f"select id, title from memories where id {db.IN}", ids=ids))

    def bodies(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
        """The verbatim bodies of those that are there."""
        with self._db.read() as db:
            return dict(db.rows(f"select memory_id, body from bodies where memory_id {db.IN}", ids=ids))

    def details(self, id: MemoryId) -> Details | None:
        """A memory with its body and its history, as they were at one moment; None if there is no such memory."""
        with self._db.read() as db:
            return details(db, id)

    def ended(self, ids: Collection[MemoryId], moment: datetime) -> Collection[MemoryId]:
        """Which of these hold no longer at a moment."""
        over = "select id from memories where valid_until <= ?"
        with self._db.read() as db:
            found = db.rows(f"{over} limit ?", (iso(moment), ENDED + 1))
            if len(found) > ENDED:
                found = db.rows(f"{over} and {db.SCANNED}id {db.IN}", (iso(moment), db.ids(ids)))
            return {id for (id,) in found if id in ids}

    def former(self, moment: datetime) -> Mapping[MemoryId, Revision]:
        """
        Of each memory that is there and was changed after a moment, what it said then: the first that was replaced.

        Raises:
            StoreDamaged: One of them cannot be read.
        """
        with self._db.read() as db:
            first = "select min(id) from history where replaced_at > ? group by memory_id"
            rows = db.rows(
                f"select memory_id, replaced_at, record, body from history where id in ({first})", (iso(moment),)
            )
            return {id: _revision(db, id, row) for id, *row in rows}

    # Items -----------------------------------------------------------------

    def items(
        self, prefix: str, moment: datetime, limit: int | None, *, offset: int = 0, reverse: bool = False
    ) -> Sequence[MemoryId]:
        """
        Items that have not ended, by namespace and key in the order of code points.

        Args:
            prefix: The beginning of their namespaces, a path; see `memory.schema.item.path`.
            limit: None: all.
        """
        condition, values = _below(prefix, moment)
        order = "namespace desc, key desc" if reverse else "namespace, key"
        with self._db.read() as db:
            # Left to itself, SQLite reads all items, and sorts them.
            wanted = (
                f"select id from memories {db.indexed(BY_PLACE)} where {condition} order by {order} limit ? offset ?"
            )
            return [id for (id,) in db.rows(wanted, [*values, records.most(limit), offset])]

    def namespaces(self, prefix: str, moment: datetime) -> Sequence[str]:
        """The namespaces, as paths in their order, of items that have not ended."""
        condition, values = _below(prefix, moment)
        with self._db.read() as db:
            by = db.indexed(BY_PLACE)
            rows = db.rows(f"select distinct namespace from memories {by} where {condition} order by 1", values)
            return [namespace for (namespace,) in rows]

    def ended_items(self, moment: datetime, limit: int) -> Sequence[MemoryId]:
        """Items that have ended, the first that did so first."""
        ended = "kind = 'item' and valid_until <= ? order by valid_until, id limit ?"
        with self._db.read() as db:
            wanted = f"select id from memories {db.indexed('ended_memories')} where {ended}"
            return [id for (id,) in db.rows(wanted, (iso(moment), limit))]

    def hold(self, id: MemoryId, until: datetime | None) -> None:
        """Set when a memory ends; nothing else of it is written."""
        with self._db.write() as db:
            db.change("update memories set valid_until = ? where id = ?", (until and iso(until), key(id)))

    def touch(self, ids: Sequence[MemoryId], moment: datetime) -> None:
        """
        Count an access to each. Not worth waiting for:

        Raises:
            StoreBusy: Somebody else is writing at the moment.
        """
        with self._db.write(durable=False, patience=0.1, lock=None) as db:
            accessed = "update memories set accessed_at = ?, access_count = access_count + 1 where id"
            db.change(f"{accessed} {db.IN}", (iso(moment), db.ids(ids)))

    @abstractmethod
    def page(
        self, scope: Scope, limit: int, *, order: Order = Order.CHANGED, after: Memory | None = None
    ) -> Sequence[Memory]:
        """
        Memories in scope, in an order.

        Args:
            after: The last memory of the page before.
        """

    @abstractmethod
    def count(self, scope: Scope, *, most: int | None = None) -> int:
        """How many memories are in scope; no more than `most` are counted."""

    @abstractmethod
    def tags(self, scope: Scope) -> Sequence[tuple[str, int]]:
        """The tags of the memories in scope and how many memories have each: most first, ties by name."""

    def values(self, field: str, scope: Scope) -> Sequence[tuple[str, int]]:
        """
        The values of a field of the memories in scope and how many memories have each: most first, ties by name.

        Args:
            field: One of `memory.schema.query.FILTERS`, but no iteration.
        """
        with self._db.read() as db:
            condition, values = db.where(scope)
            return most_first(
                db.rows(f"select m.{field}, count(*) from memories m where {condition} group by 1", values)
            )

    def excerpts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Excerpt]:
        """Those that are there."""
        with self._db.read() as db:
            return {excerpt.id: excerpt for excerpt in db.excerpts(ids)}

    def shown(
        self, chunks: Sequence[ChunkId], others: Sequence[MemoryId] = ()
    ) -> tuple[Mapping[ChunkId, Excerpt], Mapping[MemoryId, Memory]]:
        """What an answer shows: chunks that are there, the memories they are of, and other memories."""
        with self._db.read() as db:
            excerpts = {excerpt.id: excerpt for excerpt in db.excerpts(chunks)}
            owners = {*others, *[excerpt.memory for excerpt in excerpts.values()]}
            return excerpts, {one.id: one for one in db.memories(f"m.id {db.IN}", ids=owners)}

    def outlines(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Sequence[tuple[ChunkId, Chunk]]]:
        """All chunks of each memory that is there, in order."""
        with self._db.read() as db:
            found: dict[MemoryId, list[tuple[ChunkId, Chunk]]] = {}
            chunks = db.rows(
                f"select memory_id, {_CHUNK} from chunks where memory_id {db.IN} order by memory_id, chunk_index",
                ids=ids,
            )
            for owner, id, *row in chunks:
                found.setdefault(owner, []).append((id, chunk(row)))
            return found


def _below(prefix: str, moment: datetime) -> tuple[str, Values]:
    """A condition over memories, and its values: items of namespaces that begin so, and not ended."""
    beyond = f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}" if prefix else LAST
    condition = "kind = 'item' and namespace >= ? and namespace < ? and (valid_until is null or valid_until > ?)"
    return condition, [prefix, beyond, iso(moment)]


def paged(condition: str, values: Values, limit: int, *, order: Order, after: Memory | None) -> tuple[str, Values]:
    """
    A condition over memories as m with its values, for a page of them: see `Memories.page`.

    Args:
        condition, values: Of the scope.
    """
    columns, beyond, direction = _ORDERS[order]
    if after is not None:
        condition += f" and ({', '.join(columns)}) {beyond} ({', '.join('?' * len(columns))})"
        iteration = (after.session_iter or 0, iso(after.created_at))
        values = [*values, *((iso(after.updated_at),) if order is Order.CHANGED else iteration), after.id]
    ordered = f"order by {', '.join(f'{column} {direction}' for column in columns)}"
    return f"{condition} {ordered} limit ?", [*values, limit]


def details(db: Connection, id: MemoryId) -> Details | None:
    """See `Memories.details`."""
    from memory.schema.memory import Details  # a search does without

    body = db.value("select body from bodies where memory_id = ?", (key(id),))
    if body is not None:
        [memory] = db.memories("m.id = ?", (key(id),), strict=True)
        return Details(memory, body, tuple(history(db, id)))
    if uid := db.value("select uid from memories where id = ?", (key(id),)):
        raise StoreDamaged(f"memory {id} ({uid}) cannot be read: its details are missing", hint=EXPORTED)
    return None


def remember(db: Connection, id: MemoryId, revision: Revision) -> None:
    """Add a former text to the history of a memory."""
    db.change(
        "insert into history (memory_id, replaced_at, record, body) values (?, ?, ?, ?)",
        (id, iso(revision.replaced_at), record(revision.memory._replace(id=id)), revision.body),
    )


def history(db: Connection, id: MemoryId) -> list[Revision]:
    """
    The former texts of a memory, the latest first, with the uids of their parents and successors, as far as these are still
    there.

    Raises:
        StoreDamaged: One of them cannot be read.
    """
    rows = db.rows("select replaced_at, record, body from history where memory_id = ? order by id desc", (key(id),))
    revisions = [_revision(db, id, row) for row in rows]
    links = [(one.memory.parent_id, one.memory.superseded_by) for one in revisions]
    if not (ids := {id for pair in links for id in pair if id is not None}):
        return revisions
    uids: dict[int | None, str] = dict(db.rows(f"select id, uid from memories where id {db.IN}", ids=ids))
    return [
        one._replace(memory=one.memory._replace(parent_uid=uids.get(parent), successor_uid=uids.get(successor)))
        for one, (parent, successor) in zip(revisions, links, strict=True)
    ]


def _revision(db: Connection, id: MemoryId, row: Sequence[Any]) -> Revision:
    at, old, body = row
    try:
        return Revision(moment(at), recorded(old), body)
    except (*ODD, StoreDamaged) as error:
        raise StoreDamaged(f"the history of {db.named(id)} cannot be read: {error}") from error


class Keywords(Protocol):
    """
    The keyword index over the chunks.

    Raises:
        StoreBusy, StoreFull, StoreDamaged, StoreError: From any method.
    """

    def weigh(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        """
        The terms with what the store knows of them; of those that mean the same to it, in all their forms, the first.

        A word of at least 3 characters that no chunk holds becomes a prefix, if a chunk holds a `longer` one. In place of
        a term that no chunk holds in any form stand its parts, if a chunk holds one of them. The rarest are looked for
        first, as long as `memory.text.lookup.Allowance` allows; those that would read more are `cut`. The rule is
        `memory.text.lookup.weighed`: a store counts.
        """

    def by_keyword(
        self, terms: Sequence[Term], scope: Scope, k: int, *, ids: Sequence[ChunkId] | None = None
    ) -> Ranking:
        """
        The best k chunks in scope that hold any of the terms, by BM25. `terms` come from `weigh`.

        Args:
            ids: Only these chunks.
        """

    def vocabulary(self, beginning: str) -> Mapping[str, int]:
        """The tokens of the index that begin so, and how many chunks hold each."""

    def ending(self, part: str, most: int) -> Sequence[str]:
        """Tokens of the index that end so, shortest first, at most 20; none in a store of more chunks than `most`."""

    def texts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, str]:
        """What is indexed of chunks in words, folded: title, heading, text, why, impact, a line each; those that are there."""


# The best by keyword -----------------------------------------------------------

LAST = chr(0x10FFFF)
"""Behind all that begins with a word, in the order of code points."""

K1, B, LEAST_IDF = 1.2, 0.75, 1e-6
"""Of BM25 as FTS5 has it (fts5_aux.c)."""

MOST_OF_A_TERM = K1 + 1
"""What BM25 gives a term stays below this times its inverse document frequency."""

# When k chunks are likely to score that much: measured with questions of four words.
LIKELY, USUAL_SCORE = 4, 1.5


def ranking_idf(rows: int, total: int) -> float:
    """The inverse document frequency by which FTS5 ranks; `LEAST_IDF` of a term that more than half of all chunks hold."""
    return max(LEAST_IDF, math.log((total - rows + 0.5) / (rows + 0.5)))


class Counted(Protocol):
    """
    Attributes:
        rows: How many chunks hold it.
    """

    @property
    def rows(self) -> int: ...


T = TypeVar("T", bound=Counted)


def best_by_rarer(
    terms: Sequence[T], total: int, k: int, best: Callable[[Sequence[T] | None], Ranking], *, dear: bool = False
) -> Ranking:
    """
    The best k without a score for each of the many chunks that hold common terms only.

    If the k best of those that hold a rarer term score more than the other terms could together, they are the best of
    all (MaxScore: Turtle and Flood, Information Processing & Management 31, 1995).

    Args:
        total: Chunks.
        best: The best k of the chunks that hold one of these terms, by all terms; None stands for all of them.
        dear: Whether a score takes long, so that the rarest terms are always tried first.
    """
    rarest = sorted(terms, key=lambda term: term.rows)
    idfs = [ranking_idf(term.rows, total) for term in rarest]
    most = [MOST_OF_A_TERM * sum(idfs[first:]) for first in range(1, len(idfs) + 1)]
    found = list(accumulate(term.rows for term in rarest))
    few = next((n for n, rows in enumerate(found) if rows >= LIKELY * k), len(found) - 1)
    last = few if dear else _enough(most, USUAL_SCORE * idfs[few] if found[few] >= LIKELY * k else 0.0)
    while found[last] * 2 < found[-1]:
        ranking = best(rarest[: last + 1])
        score = ranking.scores[-1] if len(ranking) == k else 0.0
        if score > most[last]:
            return ranking
        last = _enough(most, score)
    return best(None)


def _enough(most: Sequence[float], score: float) -> int:
    """The last of the terms of which one must be held to score so much."""
    return next((n for n, other in enumerate(most) if other < score), len(most) - 1)
