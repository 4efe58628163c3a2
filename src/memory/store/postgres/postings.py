"""Keywords ranked in a process that runs, from postings that it reads once: a search asks the server what is new."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from memory.store.bm25 import Held
from memory.store.postgres.database import many
from memory.store.postgres.index import LONGEST, cut
from memory.store.postgres.keywords import Form
from memory.store.postgres.posting_lists import LEAST, Facts, Lists
from memory.text.lookup import stems

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.schema.answer import Ranking
    from memory.schema.query import Term
    from memory.store.bm25 import Listed
    from memory.store.postgres.keywords import Often
    from memory.store.postgres.opening import Db

AT_ONCE = 1_000
"""Chunks that one search reads of those that came since, some 50 ms; where more came, the server ranks meanwhile."""


class Postings:
    """The postings of one database, for all threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[int | None, Lists, Held] | None = None

    def ask(
        self,
        db: Db,
        now: Facts,
        forms: Sequence[Term],
        often: Callable[[Form], Often],
        ranked: Callable[[Held, Sequence[Listed]], Ranking],
    ) -> Ranking | None:
        """
        What is ranked by forms of terms, as the server would rank it. None if that is to be asked.

        Args:
            now: How far the snapshot is.
            often: What the server says of a form of several words: the chunks that hold it, and how often each does.
        """
        words = [stems(form.text) for form in forms]
        keys = [
            (cut(own[0])[:LONGEST] if form.prefix else cut(own[0]), form.prefix) if len(own) == 1 else None
            for form, own in zip(forms, words, strict=True)
        ]
        with self._lock:
            if (found := self._current(db, now)) is None:
                return None
            lists, held = found
            lists.load(db, [key for key in keys if key])
            listed = held.asked(
                forms,
                lambda: [
                    held.listed(key[0], prefix=key[1]) if key else held.counted(often(Form(own, form.prefix)))
                    for form, own, key in zip(forms, words, keys, strict=True)
                ],
            )
            return ranked(held, listed)

    def _current(self, db: Db, now: Facts) -> tuple[Lists, Held] | None:
        """What is held, as it is in this snapshot; None if it cannot be, or would be read chunk by chunk."""
        if now.base is None and now.chunks >= LEAST:
            return None
        known, self._known = self._known, None  # what is interrupted is half done, and read anew
        if known is None or known[0] != now.base:
            lists = Lists(db, now)
            known = (now.base, lists, Held(lists))
        _, lists, held = known
        if now.removals < held.number or now.last < held.last:  # another thread reads a newer snapshot
            self._known = known
            return None
        if not self._without(db, now, held):
            return None
        complete = now.last == held.last or self._with(db, now, held)
        if complete and held.totals != (now.chunks, now.words):
            return None
        self._known = known
        return (lists, held) if complete else None

    def _without(self, db: Db, now: Facts, held: Held) -> bool:
        """Take out what went since; False if nobody knows any more what that was."""
        if now.removals == held.number:
            return True
        gone = many(db, "select chunk_id from removals where number > %s", (held.number,))
        if len(gone) != now.removals - held.number:
            return False
        held.forget([chunk for (chunk,) in gone], now.removals)
        return True

    def _with(self, db: Db, now: Facts, held: Held) -> bool:
        """Put in what came since, in the order of the ids; whether that is all."""
        came = many(
            db,
            """select chunk_id, memory_id, size, words, often from keywords
               where chunk_id > %s order by chunk_id limit %s""",
            (held.last, AT_ONCE),
        )
        for chunk, memory, size, words, often in came:
            held.add(chunk, memory, dict(zip(words, [round(2 * one) for one in often], strict=True)), size)
        if len(came) == AT_ONCE:
            return False
        held.last = now.last
        return True
