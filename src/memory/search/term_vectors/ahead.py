"""A page ahead: while a process beside learns from one page, the next one is read here, and the last one is written."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from memory.search.term_vectors.beside import Begin, Beside, Gone, Next, possible
from memory.search.term_vectors.step import given

if TYPE_CHECKING:
    from memory.embed.words import WordVectors
    from memory.schema.memory import ChunkId
    from memory.search.term_vectors.beside import Taught
    from memory.search.term_vectors.held import Held
    from memory.search.term_vectors.step import Given
    from memory.store import Store

VAIN = 4
"""Where others write so often that one page in so many was read in vain, the process beside is ended."""


class Page(NamedTuple):
    """Passages that were read before their turn."""

    ids: list[ChunkId]
    given: Given


class Ahead:
    """
    Pages of a generation, in their turn, by a process beside. What comes of them is bit by bit what comes of them here.

    Each is kept in a transaction of its own, and only if nobody wrote since it was read: else all that is ahead is thrown
    away, and the next one is learned from here.
    """

    def __init__(self, store: Store, generation: int, held: Held, *, size: int, least: int, most: int) -> None:
        """
        Args:
            held: What is known, as far as pages were learned from here.
            size: Passages of a page.
            least: Fewer at the end are learned from here.
            most: See `TermVectors.learn`.
        """
        self._store, self._generation, self._held = store, generation, held
        self._size, self._least, self._most = size, least, most
        self._sent: Page | None = None
        self._after: ChunkId | None = None
        self._state: object = None  # of the store, since it was last looked at here
        self._done = self._vain = 0
        self._beside: Beside | None = None

    def __enter__(self) -> Self:
        """Start the process, if it is possible, and if the store can tell whether somebody wrote."""
        if possible() and self._store.term_vectors.state() is not None:
            with suppress(Gone):
                self._beside = Beside()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def page(self, words: WordVectors | None) -> int:
        """
        Learn from the next page, in one transaction.

        Args:
            words: What new terms begin with.

        Returns:
            From how many passages; 0 if they are to be learned from here.
        """
        if self._beside is None:
            return 0
        try:
            if self._sent is None and not self._begun(self._beside, words):
                return 0
            sent, following = self._sent, self._read()  # while it learns
            taught = self._beside.taught()
            self._sent = following if taught else None
            if self._sent:
                self._send(self._beside, self._sent, words)
        except Gone:
            self._end()
            return 0
        assert sent is not None  # noqa: S101  # begun
        if taught is None:
            self._held.renew()
        return self._kept(sent, taught) if taught else 0

    def _begun(self, beside: Beside, words: WordVectors | None) -> bool:
        """Hand over what is known, and send the first page, if the process beside has started and the rows are all here."""
        held = self._held
        known, learned = held.whole, held.learned
        if not beside.ready or known is None or learned is None or learned.basis is None or held.vocabulary.full:
            return False
        self._state, self._after = held.state, None
        if self._store.term_vectors.state() != self._state or (page := self._read()) is None:
            return False
        beside.begin(Begin(known, learned, held.vocabulary.stems, self._most))
        held.forget()  # from here on the rows are there
        self._sent = page
        self._send(beside, page, words)
        return True

    def _read(self) -> Page | None:
        """The passages after those that were read last; None if they are few."""
        found = self._store.term_vectors.lessons(self._generation, self._size, after=self._after)
        if len(found) < self._least:
            return None
        ids = [excerpt.id for excerpt, _ in found]
        self._after = ids[-1]
        return Page(ids, given(found, *self._store.vectors.centre(abs(self._generation))))

    def _send(self, beside: Beside, page: Page, words: WordVectors | None) -> None:
        beside.learn(Next(page.given, None if words is None else (str(words.path), words.count, words.list)))

    def _kept(self, page: Page, taught: Taught) -> int:
        """Keep what a page taught, unless somebody wrote meanwhile; from how many passages."""
        assert self._held.learned is not None  # noqa: S101  # else it would not have been handed over
        vocabulary, terms = self._held.vocabulary, self._store.term_vectors
        stems, learned = len(vocabulary.stems), taught.made.learned._replace(basis=self._held.learned.basis)
        vocabulary.add(taught.stems)
        kept = taught.made._replace(learned=learned).kept(page.ids, page.given.sound, vocabulary)
        with self._store.transaction(durable=False):
            if alone := terms.state() == self._state:
                terms.learn(self._generation, *kept, most=self._most)
                self._state = terms.state()
        if alone:
            self._done += 1
            return len(page.ids)
        vocabulary.back(stems)
        self._sent = None
        self._vain += 1
        if self._vain * VAIN > self._done + VAIN * VAIN:
            self._end()
        return 0

    def _end(self) -> None:
        self._sent = None
        if self._beside is not None:
            self._beside.end()
        self._beside = None
