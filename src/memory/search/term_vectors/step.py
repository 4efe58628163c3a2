"""A page of passages as numbers, and what is known after it: all that a process needs which has no store."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.rank.fuse import SHRINK
from memory.search.term_vectors.axes import basis
from memory.search.term_vectors.known import stored
from memory.search.term_vectors.pages import PAIRS, place_in, said
from memory.search.term_vectors.whole import taught

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memory.embed.words import WordVectors
    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Plain, Vectors
    from memory.search.term_vectors.known import Columns, Known
    from memory.search.term_vectors.pages import Numbers, Page, Said, Vocabulary
    from memory.search.term_vectors.whole import Taught
    from memory.store import Learned, TermVector

    Found = Sequence[tuple[Excerpt, Vectors]]

RECENT = 200
"""The fit is a mean over about so many passages, the last ones."""

GRID = 1 << 20
"""Steps of a centre in 1. Sums of the same vectors in other orders differ by 1e-13, centres by less: all the same here."""

UNSHARED = 1 << 18
"""Products in one multiplication of matrices: OpenBLAS shares more among threads, which wait for one another."""


class Given(NamedTuple):
    """
    A page of passages.

    Attributes:
        said: The words of those passages whose vectors are not damaged; a damaged one teaches nothing.
        lies: Where these lie, from the centre, shape (passages, dimension), float32.
        sound: Which of all passages these are.
        passages: How many there are, with those.
    """

    said: Said
    lies: Vectors
    sound: Numbers
    passages: int


class Made(NamedTuple):
    """
    What came of a page, as far as a store keeps it.

    Attributes:
        learned: What all terms have in common.
        keys, columns: The rows that changed.
        owners, pairs: See `Taught`.
    """

    learned: Learned
    keys: Numbers
    columns: Columns
    owners: Numbers
    pairs: Numbers

    def kept(
        self, ids: Sequence[ChunkId], sound: Numbers, vocabulary: Vocabulary
    ) -> tuple[Learned, list[TermVector], dict[ChunkId, list[str]]]:
        """
        The same as `TermVectors.learn` takes it; of passages before the last `HEARD` no pairs.

        Args:
            ids: Of the passages of the page.
            sound: See `Given`.
        """
        chunks: dict[ChunkId, list[str]] = {id: [] for id in ids}
        for owner, pair in zip(sound[self.owners].tolist(), vocabulary.terms(self.pairs), strict=True):
            chunks[ids[owner]].append(pair)
        return self.learned, stored(self.keys, self.columns, vocabulary), chunks


def given(found: Found, sums: Plain, count: int) -> Given:
    """
    What is learned from of passages.

    Args:
        sums, count: Of all vectors there are.
    """
    lies = (_means([vectors for _, vectors in found]) - centre(np.asarray(sums), count)).astype(np.float32, copy=False)
    sound = np.flatnonzero(np.isfinite(lies).all(axis=1))
    return Given(said([found[number][0] for number in sound.tolist()]), lies[sound], sound, len(found))


def step(
    page: Given, read: Page, former: Learned, before: Known, *, vocabulary: Vocabulary, words: WordVectors | None
) -> tuple[Made, Taught]:
    """
    What is known after a page.

    Args:
        read: What `page_of` makes of its words.
        former, before: What is known before it.
        words: What new terms begin with.
    """
    across = basis(former, page.lies.shape[1])
    wanted = projected(page.lies, across)
    begun = _begun(read, before, vocabulary, words, across) if words else {}
    made = taught(read, before, wanted, former.passages + 1 + page.sound, words=begun, prior=former.prior)
    learned = _learned(former, made, wanted, page.lies)._replace(passages=former.passages + page.passages)
    return Made(learned, *made.known.some(made.changed), made.owners, made.pairs), made


def _begun(
    page: Page, before: Known, vocabulary: Vocabulary, words: WordVectors, across: Vectors
) -> dict[int, Vectors]:
    """What the model makes of words that have no row, by their keys."""
    new = page.keys[(page.keys < PAIRS) & (place_in(before.keys, page.keys) < 0)]
    stems = dict(zip(vocabulary.terms(new), new.tolist(), strict=True))
    return {stems[stem]: across @ vector for stem, vector in words.of(list(stems)).items()}


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
