"""The keyword index as it is written: the stems of each chunk, how often it says them, and how many chunks do."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from memory.store import WEIGHTS
from memory.store.postgres.rows import Db, cut, sent
from memory.text.lookup import stems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


COLUMNS = ", ".join(f"p.{name}" for name in WEIGHTS)

CLASSES = tuple(sorted(set(WEIGHTS.values()), reverse=True))
"""The weights there are: what a chunk says is kept for each, since phrases are counted for each."""

MOST_WORDS = 16_000
"""Different words of a chunk that are looked for, its first; pgvector takes no more (SPARSEVEC_MAX_NNZ)."""

DIMENSION = 1_000_000_000
"""Of the vectors in which weights of words stand, each at the id of its word; no id of one is above it."""

BLOCK = 500  # chunks indexed at a time


class IndexRow(NamedTuple):
    """
    What is kept of a chunk.

    Attributes:
        said: For each of `CLASSES` the words of its columns in order, each between blanks, a bar between columns.
        often: Of each word the sum of the weights of its places.
        words: All words, as often as they stand there.
        project: Of its memory.
    """

    said: Sequence[str]
    often: Mapping[str, float]
    words: Sequence[str]
    project: str | None = None

    @property
    def weights(self) -> dict[str, float]:
        """Of the words that are looked for."""
        return dict(list(self.often.items())[:MOST_WORDS])


class Totals(NamedTuple):
    """How many chunks and words are indexed."""

    chunks: int
    words: int


def totals(db: Db) -> Totals:
    return Totals(*(value for (value,) in db.rows("select value from counters order by name")))


def said(columns: Sequence[str]) -> tuple[str, ...]:
    """
    What a chunk says, as `IndexRow` has it.

    Args:
        columns: Their texts, in the order of `WEIGHTS`.
    """
    texts: dict[float, list[str]] = {weight: [] for weight in CLASSES}
    for text, weight in zip(columns, WEIGHTS.values(), strict=True):
        if words := [cut(word) for word in stems(text)]:
            texts[weight].append(f" {' '.join(words)} ")
    return tuple("|".join(own) for own in texts.values())


def counted(said: Sequence[str], project: str | None = None) -> IndexRow:
    """What is kept of a chunk that says this."""
    often: dict[str, float] = {}
    words: list[str] = []
    for text, weight in zip(said, CLASSES, strict=True):
        own = [word for word in text.split() if word != "|"]  # which is no word: a word has a letter or a digit
        for word in own:
            often[word] = often.get(word, 0.0) + weight
        words += own
    return IndexRow(said, often, words, project)


def id_of(project: str) -> int:
    """What stands for a project among the ids of words: a number below 0, which two projects may share."""
    return -1 - (crc32(project.encode(errors="replace")) >> 1)


def passages(db: Db, ids: Sequence[int]) -> dict[int, tuple[int, IndexRow]]:
    """Of chunks their memories, and what should be kept of them."""
    rows = db.rows(
        f"""select p.id, p.memory_id, m.project, {COLUMNS} from passages p join memories m on m.id = p.memory_id
            where p.id = any(%s) order by p.id""",
        (list(ids),),
    )
    return {id: (owner, counted(said([text or "" for text in texts]), project)) for id, owner, project, *texts in rows}


def add(db: Db, ids: Sequence[int]) -> None:
    """Index chunks that were written."""
    write(db, passages(db, ids))


_WRITE = f"""
    insert into keywords (chunk_id, memory_id, words, often, said, size)
    select r.chunk_id, r.memory_id, coalesce(w.ids, '{{}}') || r.places,
        ('{{' || coalesce(w.often, '') || '}}/{DIMENSION}')::sparsevec, r.said, r.size
    from json_to_recordset(%s::json) r (
        chunk_id bigint, memory_id bigint, places integer[], words text[], often real[], said text[], size bigint
    ) cross join lateral (
        select array_agg(f.id), string_agg(f.id || ':' || f.often, ',')
        from (
            select u.often, (select v.id from vocabulary v where v.term = u.word)
            from unnest(r.words, r.often) u (word, often)
        ) f (often, id)
    ) w (ids, often)
"""


def write(db: Db, found: Mapping[int, tuple[int, IndexRow]]) -> None:
    """Write what is kept of chunks. No answer is waited for in a pipeline."""
    _count(db, [one for _, one in found.values()], 1)
    rows = [
        {
            "chunk_id": id,
            "memory_id": owner,
            "places": [] if one.project is None else [id_of(one.project)],
            "words": [*one.weights],
            "often": [*one.weights.values()],
            "said": one.said,
            "size": len(one.words),
        }
        for id, (owner, one) in found.items()
    ]
    for piece in sent(rows):
        db.execute(_WRITE, (piece,))


def remove(db: Db, ids: Sequence[int]) -> set[str]:
    """
    Chunks are about to go, and what is kept of them with them.

    Returns:
        Their words, for `sweep`: those that what takes their place says too keep their ids until then.
    """
    rows = db.rows("delete from keywords where chunk_id = any(%s) returning said", (list(ids),))
    gone = [counted(own) for (own,) in rows]
    _count(db, gone, -1)
    return {word for one in gone for word in one.often}


def sweep(db: Db, words: Iterable[str]) -> None:
    """Forget those of these words that no chunk holds any more. No answer is waited for in a pipeline."""
    db.execute(f"delete from vocabulary where term = any({_WORDS}) and chunks <= 0", (" ".join(words),))


_WORDS = "string_to_array(%s, ' ')"
"""A list of words. No word has a blank, and to send an array takes a hundred times as long."""


def _count(db: Db, chunks: Sequence[IndexRow], sign: int) -> None:
    """Count the words of chunks that come (1) or go (-1)."""
    if not chunks:
        return
    held = Counter(chain.from_iterable(one.often for one in chunks))
    occurrences = Counter(chain.from_iterable(one.words for one in chunks))
    words = " ".join(held)
    # First the words that are not there: an upsert takes a new id for each row, also where it uses none.
    db.execute(
        f"""insert into vocabulary (term, chunks, occurrences)
            select w.word, 0, 0 from unnest({_WORDS}) w (word)
            where (select true from vocabulary v where v.term = w.word) is null""",
        (words,),
    )
    numbers = (" ".join([str(sign * count[word]) for word in held]) for count in (held, occurrences))
    db.execute(
        f"""insert into vocabulary as v (id, term, chunks, occurrences) overriding system value
            select 0, * from unnest({_WORDS}, {_WORDS}::bigint[], {_WORDS}::bigint[])
            on conflict (term) do update
            set chunks = v.chunks + excluded.chunks, occurrences = v.occurrences + excluded.occurrences""",
        (words, *numbers),
    )
    db.execute(
        "update counters set value = value + case name when 'chunks' then %s else %s end",
        (sign * len(chunks), sign * occurrences.total()),
    )


def anew(db: Db) -> None:
    """Make the whole index anew."""
    db.execute("delete from keywords; delete from vocabulary; update counters set value = 0")
    after = 0
    while ids := following(db, after):
        add(db, ids)
        after = ids[-1]


def following(db: Db, after: int) -> list[int]:
    """The next chunks, lowest id first."""
    rows = db.rows("select id from chunks where id > %s order by id limit %s", (after, BLOCK))
    return [id for (id,) in rows]


def drifted(db: Db) -> bool:
    """Whether anything that is kept differs from what it should be."""
    vocabulary = {id: (term, *counts) for id, term, *counts in db.rows("select * from vocabulary")}
    held: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    after = 0
    while ids := following(db, after):
        wanted = passages(db, ids)
        rows = db.rows("select chunk_id, words, often::text, said from keywords where chunk_id = any(%s)", (ids,))
        kept = {id: (_kept(words, often, vocabulary), tuple(own)) for id, words, often, own in rows}
        if kept != {id: (_wanted(one), tuple(one.said)) for id, (_, one) in wanted.items()}:
            return True
        for _, one in wanted.values():
            held.update(one.often.keys())
            occurrences.update(one.words)
        after = ids[-1]
    counts = sorted((word, held[word], occurrences[word]) for word in held)
    return sorted(vocabulary.values()) != counts or totals(db).words != occurrences.total()


def _kept(words: Sequence[int], often: str, vocabulary: Mapping[int, tuple[str, int, int]]) -> dict[str, float]:
    """The words of a chunk with their weights; of what is among the words and has none, 0."""
    weights = dict.fromkeys(words, 0.0)
    for part in often.partition("}")[0].strip("{").split(","):
        id, _, weight = part.partition(":")
        weights |= {int(id): float(weight)} if id else {}
    return {vocabulary[id][0] if id in vocabulary else str(id): weight for id, weight in weights.items()}


def _wanted(one: IndexRow) -> dict[str, float]:
    return one.weights | ({} if one.project is None else {str(id_of(one.project)): 0.0})
