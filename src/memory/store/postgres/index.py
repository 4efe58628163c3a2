"""The keyword index as it is written: the stems of each chunk, how often it says them, and how many chunks do."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from memory.store import WEIGHTS
from memory.store.postgres import posting_lists
from memory.store.postgres.database import many, one
from memory.store.postgres.rows import insert
from memory.text.lookup import stems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.store.postgres.opening import Db

COLUMNS = ", ".join(WEIGHTS)

CLASSES = tuple(sorted(set(WEIGHTS.values()), reverse=True))
"""The weights there are: what a chunk says is kept for each, since phrases are counted for each."""

LONGEST = 200
"""Characters of a word that are looked for; no index takes one of some thousand bytes."""

BLOCK = 500  # chunks indexed at a time

NOTED = 100_000
"""Removals that are noted. Whoever has a copy from before them makes it anew."""


class Said(NamedTuple):
    """
    What is kept of a chunk.

    Attributes:
        said: For each of `CLASSES` the words of its columns in order, each between blanks, a bar between columns.
        often: Of each word the sum of the weights of its places.
        words: All words, as often as they stand there.
    """

    said: Sequence[str]
    often: Mapping[str, float]
    words: Sequence[str]


def cut(word: str) -> str:
    """A word as it is kept: one that is too long ends in a digest of all of it."""
    return word if len(word) <= LONGEST else word[:LONGEST] + sha256(word.encode()).hexdigest()


def said(columns: Sequence[str]) -> tuple[str, ...]:
    """
    What a chunk says, as `Said` has it.

    Args:
        columns: Their texts, in the order of `WEIGHTS`.
    """
    texts: dict[float, list[str]] = {weight: [] for weight in CLASSES}
    for text, weight in zip(columns, WEIGHTS.values(), strict=True):
        if words := [cut(word) for word in stems(text)]:
            texts[weight].append(f" {' '.join(words)} ")
    return tuple("|".join(own) for own in texts.values())


def counted(said: Sequence[str]) -> Said:
    """What is kept of a chunk that says this."""
    often: dict[str, float] = {}
    words: list[str] = []
    for text, weight in zip(said, CLASSES, strict=True):
        own = [word for word in text.split() if word != "|"]  # which is no word: a word has a letter or a digit
        for word in own:
            often[word] = often.get(word, 0.0) + weight
        words += own
    return Said(said, often, words)


def passages(db: Db, ids: Sequence[int]) -> dict[int, tuple[int, Said]]:
    """Of chunks their memories, and what should be kept of them."""
    rows = many(db, f"select id, memory_id, {COLUMNS} from passages where id = any(%s) order by id", (list(ids),))
    return {id: (owner, counted(said([text or "" for text in texts]))) for id, owner, *texts in rows}


def add(db: Db, ids: Sequence[int]) -> None:
    """Index chunks that were written."""
    write(db, passages(db, ids))


def write(db: Db, found: Mapping[int, tuple[int, Said]]) -> None:
    """Write what is kept of chunks, lowest id first. No answer is waited for in a pipeline."""
    insert(
        db,
        "keywords",
        [
            {
                "chunk_id": id,
                "memory_id": owner,
                "words": [*one.often],
                "often": [*one.often.values()],
                "said": one.said,
                "size": len(one.words),
            }
            for id, (owner, one) in found.items()
        ],
    )
    _count(db, [one for _, one in found.values()], 1, last=max(found, default=0))


_WORDS = "string_to_array(%s, ' ')"
"""A list of words. No word has a blank, and to send an array takes a hundred times as long."""


def disown(db: Db, first: int) -> None:
    """Chunks from this one on are about to come. Copies look for new ones behind the last: where it is not, none is of any use."""
    db.execute(
        """update counters set value = value + 1 where name = 'removals'
           and (select value from counters where name = 'last') >= %s""",
        (first,),
    )


def remove(db: Db, ids: Sequence[int]) -> None:
    """Chunks are about to go, and what is kept of them with them."""
    rows = many(db, "delete from keywords where chunk_id = any(%s) returning said", (list(ids),))
    _count(db, [counted(own) for (own,) in rows], -1)
    last = one(db, "update counters set value = value + %s where name = 'removals' returning value", (len(ids),))
    db.execute(
        "insert into removals (number, chunk_id) select %s + place, id from unnest(%s::bigint[]) with ordinality w (id, place)",
        (last - len(ids), list(ids)),
    )
    db.execute("delete from removals where number <= %s", (last - NOTED,))


def _count(db: Db, chunks: Sequence[Said], sign: int, *, last: int = 0) -> None:
    """Count the words of chunks that come (1) or go (-1); the last of them."""
    if not chunks:
        return
    held = Counter(chain.from_iterable(one.often for one in chunks))
    occurrences = Counter(chain.from_iterable(one.words for one in chunks))
    numbers = (" ".join([str(sign * count[word]) for word in held]) for count in (held, occurrences))
    db.execute(
        f"""insert into vocabulary as v (term, chunks, occurrences)
            select * from unnest({_WORDS}, {_WORDS}::bigint[], {_WORDS}::bigint[])
            on conflict (term) do update
            set chunks = v.chunks + excluded.chunks, occurrences = v.occurrences + excluded.occurrences""",
        (" ".join(held), *numbers),
    )
    if sign < 0:
        db.execute("delete from vocabulary where term = any(%s) and chunks <= 0", (list(held),))
    db.execute(
        """update counters set value = case name when 'chunks' then value + %s when 'words' then value + %s
           else greatest(value, %s) end where name in ('chunks', 'words', 'last')""",
        (sign * len(chunks), sign * occurrences.total(), last),
    )


def anew(db: Db) -> None:
    """Make the whole index anew."""
    posting_lists.forget(db)
    db.execute(
        """delete from keywords; delete from vocabulary;
           update counters set value = case name when 'removals' then value + 1 else 0 end where name <> 'last'"""
    )  # a removal that is not noted: no copy is of any use
    after = 0
    while ids := following(db, after):
        add(db, ids)
        after = ids[-1]


def following(db: Db, after: int) -> list[int]:
    """The next chunks, lowest id first."""
    rows = many(db, "select id from chunks where id > %s order by id limit %s", (after, BLOCK))
    return [id for (id,) in rows]


def drifted(db: Db) -> bool:
    """Whether anything that is kept differs from what it should be."""
    held: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    after = 0
    while ids := following(db, after):
        rows = many(db, "select chunk_id, words, often, said from keywords where chunk_id = any(%s)", (ids,))
        kept = {id: (dict(zip(words, often, strict=True)), tuple(own)) for id, words, often, own in rows}
        wanted = passages(db, ids)
        if kept != {id: (dict(one.often), tuple(one.said)) for id, (_, one) in wanted.items()}:
            return True
        for _, one_said in wanted.values():
            held.update(one_said.often.keys())
            occurrences.update(one_said.words)
        after = ids[-1]
    vocabulary = {term: (chunks, count) for term, chunks, count in many(db, "select * from vocabulary")}
    words = one(db, "select value from counters where name = 'words'")
    return words != occurrences.total() or vocabulary != {word: (held[word], occurrences[word]) for word in held}
