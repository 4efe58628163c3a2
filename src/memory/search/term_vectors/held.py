"""What is held from page to page while a whole store is learned from, so that each row is read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.search.term_vectors.known import known
from memory.search.term_vectors.pages import Vocabulary, page_of
from memory.search.term_vectors.step import given, step
from memory.store import HEARD

if TYPE_CHECKING:
    from memory.embed.words import WordVectors
    from memory.schema.memory import ChunkId
    from memory.search.term_vectors.known import Known
    from memory.search.term_vectors.pages import Page
    from memory.search.term_vectors.step import Found
    from memory.store import Learned, Store, TermVector


class Held:
    """
    Term vectors of a generation while pages of passages correct them.

    Attributes:
        vocabulary: The stems of all passages so far.
        learned: What all terms had in common after the last page.
        state: Of the store then; see `TermVectors.state`.
    """

    def __init__(self, store: Store, generation: int, *, many: bool = False) -> None:
        """
        Args:
            many: Whether several pages come, so that all rows are read with the first of them.
        """
        self._store, self._generation, self._many = store, generation, many
        self.vocabulary = Vocabulary()
        self._known: Known | None = None
        self._stamp: object = None
        self.learned: Learned | None = None
        self.state: object = None
        self._noted = 0  # passages since the rows were read that were the first to say pairs

    def page(
        self, former: Learned, terms: int, found: Found, words: WordVectors | None, *, most: int
    ) -> tuple[Learned, list[TermVector], dict[ChunkId, list[str]]]:
        """
        Learn from some passages, in the transaction that read them and keeps what is learned.

        Args:
            former: What is known.
            terms: How many terms that is.
            words: What new terms begin with.
            most: See `TermVectors.learn`.

        Returns:
            What to keep, as `TermVectors.learn` takes it; of passages before the last `HEARD` no pairs.
        """
        sums, count = self._store.vectors.centre(abs(self._generation))
        before = self._held(_stamp(former, terms, sums.tobytes(), count))
        page = given(found, sums, count)
        read = page_of(page.said, self.vocabulary)
        if before is None or self._noted < HEARD:
            before = self._read(read, former, before)
        made, taught = step(page, read, former, before, vocabulary=self.vocabulary, words=words)
        self.learned = made.learned
        if self._many:
            self._known, self._noted = taught.known.without_rarest(most, self.vocabulary), self._noted + taught.noted
            self._stamp = _stamp(made.learned, len(self._known.keys), sums.tobytes(), count)
        return made.kept([excerpt.id for excerpt, _ in found], page.sound, self.vocabulary)

    @property
    def whole(self) -> Known | None:
        """All that is known since the last page, if the next one asks the store for nothing."""
        return None if self._noted < HEARD else self._known

    def forget(self) -> None:
        """What is held is not what the store knows."""
        self._known = None

    def renew(self) -> None:
        """The vocabulary is full."""
        self.vocabulary, self._known = Vocabulary(), None

    def _held(self, now: object) -> Known | None:
        """What is known since the last page, unless somebody learned meanwhile, or removed a term or a passage."""
        if self.vocabulary.full:
            self.renew()
        if self._stamp != now:
            self._known = None
        return self._known

    def _read(self, page: Page, former: Learned, before: Known | None) -> Known:
        """
        What the store knows: all terms, or those of a page. Of pairs that were said once it can only be asked by name; if
        the last passages were not all of pages of ours, it is asked again with each.
        """
        found: dict[str, TermVector] = {}
        if former.passages:
            terms = self._store.term_vectors
            found |= terms.of_terms(self._generation, self.vocabulary.terms(page.keys), once=True)
            found |= terms.of_terms(self._generation, None) if self._many and before is None else {}
        made = known(sorted(found.values()), len(former.spread), self.vocabulary)
        if before is not None:
            return before.hearing(made.heard, made.said, 0)
        self._noted = 0 if former.passages else HEARD
        return made


def _stamp(learned: Learned, terms: int, sums: bytes, count: int) -> object:
    """What differs if others learned, or a term or a vector is gone, or came."""
    return (*learned[:2], learned.spread.tobytes(), learned.prior, terms, sums, count)
