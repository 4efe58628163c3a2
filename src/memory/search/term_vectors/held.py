"""What is held from page to page while a whole store is learned from, so that each row is read once."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from memory.rank.fuse import SHRINK
from memory.search.term_vectors.axes import basis
from memory.search.term_vectors.known import known
from memory.search.term_vectors.pages import PAIRS, Vocabulary, place_in, read
from memory.search.term_vectors.whole import taught
from memory.store import HEARD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memory.embed.words import WordVectors
    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Vectors
    from memory.search.term_vectors.known import Known
    from memory.search.term_vectors.pages import Page
    from memory.search.term_vectors.whole import Taught
    from memory.store import Learned, Store, TermVector

    Found = Sequence[tuple[Excerpt, Vectors]]

RECENT = 200
"""The fit is a mean over about so many passages, the last ones."""

GRID = 1 << 20
"""Steps of a centre in 1. Sums of the same vectors in other orders differ by 1e-13, centres by less: all the same here."""

UNSHARED = 1 << 18
"""Products in one multiplication of matrices: OpenBLAS shares more among threads, which wait for one another."""


class Held:
    """Term vectors of a generation while pages of passages correct them."""

    def __init__(self, store: Store, generation: int, *, many: bool = False) -> None:
        """
        Args:
            many: Whether several pages come, so that all rows are read with the first of them.
        """
        self._store, self._generation, self._many = store, generation, many
        self._vocabulary = Vocabulary()
        self._known: Known | None = None
        self._stamp: object = None
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
        sums, count = self._store.vectors.centre(self._generation)
        place = centre(np.asarray(sums), count)
        lies = (_means([vectors for _, vectors in found]) - place).astype(np.float32, copy=False)
        sound = np.flatnonzero(np.isfinite(lies).all(axis=1))  # a damaged vector teaches nothing
        lies, excerpts = lies[sound], [found[number][0] for number in sound.tolist()]
        across = basis(former, len(place))
        wanted = projected(lies, across)
        before = self._held(_stamp(former, terms, sums.tobytes(), count))
        page = read(excerpts, self._vocabulary)
        if before is None or self._noted < HEARD:
            before = self._read(page, former, before)
        begun = self._begun(page, before, words, across)
        made = taught(page, before, wanted, former.passages + 1 + sound, words=begun, prior=former.prior)
        learned = _learned(former, made, wanted, lies)._replace(passages=former.passages + len(found))
        if self._many:
            self._known, self._noted = made.known.without_rarest(most, self._vocabulary), self._noted + made.noted
            self._stamp = _stamp(learned, len(self._known.keys), sums.tobytes(), count)
        rows = made.known.term_vectors(made.changed, self._vocabulary)
        return learned, rows, {excerpt.id: [] for excerpt, _ in found} | self._first(made, excerpts)

    def _held(self, now: object) -> Known | None:
        """What is known since the last page, unless somebody learned meanwhile, or removed a term or a passage."""
        if self._vocabulary.full:
            self._vocabulary, self._known = Vocabulary(), None
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
            found |= terms.of_terms(self._generation, self._vocabulary.terms(page.keys), once=True)
            found |= terms.of_terms(self._generation, None) if self._many and before is None else {}
        made = known(sorted(found.values()), len(former.spread), self._vocabulary)
        if before is not None:
            return before.hearing(made.heard, made.said, 0)
        self._noted = 0 if former.passages else HEARD
        return made

    def _begun(self, page: Page, before: Known, words: WordVectors | None, across: Vectors) -> dict[int, Vectors]:
        """What the model makes of words that have no row, by their keys."""
        if words is None:
            return {}
        new = page.keys[(page.keys < PAIRS) & (place_in(before.keys, page.keys) < 0)]
        stems = dict(zip(self._vocabulary.terms(new), new.tolist(), strict=True))
        return {stems[stem]: across @ vector for stem, vector in words.of(list(stems)).items()}

    def _first(self, made: Taught, excerpts: Sequence[Excerpt]) -> dict[ChunkId, list[str]]:
        """The pairs that chunks were the first to say."""
        chunks: dict[ChunkId, list[str]] = {}
        for owner, pair in zip(made.owners.tolist(), self._vocabulary.terms(made.pairs), strict=True):
            chunks.setdefault(excerpts[owner].id, []).append(pair)
        return chunks


def _stamp(learned: Learned, terms: int, sums: bytes, count: int) -> object:
    """What differs if others learned, or a term or a vector is gone, or came."""
    return (*learned[:2], learned.spread.tobytes(), learned.prior, terms, sums, count)


def centre(total: NDArray[np.float64], count: int) -> Vectors:
    """As `memory.rank.fuse.shrunk`, for whom numpy is there; rounded, for a sum depends on the order of its terms."""
    return (np.rint(total / (count + SHRINK) * GRID) / GRID).astype(np.float32)


def _means(vectors: Sequence[Vectors]) -> Vectors:
    """Of the windows of each chunk."""
    return np.concatenate([own if len(own) == 1 else own.mean(axis=0, keepdims=True) for own in vectors])


def projected(rows: Vectors, across: Vectors) -> Vectors:
    """The rows · acrossᵀ, in pieces that no library shares among threads."""
    axes, dimension = across.shape
    width = next(one for one in range(min(64, dimension), 0, -1) if dimension % one == 0)
    parts = np.ascontiguousarray(across.T).reshape(-1, width, axes)
    height = max(2, UNSHARED // (axes * width))
    found = np.empty((len(rows), axes), np.float32)
    for start in range(0, len(rows), height):
        some = rows[start : start + height].reshape(-1, len(parts), width).transpose(1, 0, 2)
        found[start : start + height] = (some @ parts).sum(axis=0)
    return found


def _learned(former: Learned, made: Taught, wanted: Vectors, whole: Vectors) -> Learned:
    """
    What all terms have in common after a page, but for how many passages there were.

    Args:
        wanted, whole: Where passages lie, along the axes and in all dimensions.
    """
    foretold = made.foretold
    lengths = np.einsum("ij,ij->i", foretold, foretold, dtype=np.float64)
    lengths *= np.einsum("ij,ij->i", whole, whole, dtype=np.float64)
    cosines = np.einsum("ij,ij->i", foretold, wanted, dtype=np.float64)
    cosines /= np.sqrt(np.where((lengths > 0) & (lengths < inf), lengths, inf))
    fit = former.fit
    for passages, cosine in enumerate(cosines.tolist(), start=former.passages + 1):
        fit += (cosine - fit) / min(passages, RECENT)
    spread = former.spread + np.einsum("ij,ij->j", wanted, wanted, dtype=np.float64)
    return former._replace(fit=fit, spread=spread, prior=made.prior)
