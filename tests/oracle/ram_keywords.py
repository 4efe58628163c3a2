"""`RamKeywords`: the keyword index, the obvious way."""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from memory.schema.answer import Ranking, Scored
from memory.store import WEIGHTS
from memory.text.lookup import folded, forms, stems, weighed
from oracle.ram_chunks import columns
from oracle.ram_data import Part, inside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.memory import ChunkId
    from memory.schema.query import Scope, Term
    from oracle.ram_chunks import Piece

K1, B = 1.2, 0.75  # of FTS5's bm25()
FLOOR = 1e-6  # its idf of a term that more than half of all rows hold


class RamKeywords(Part):
    """See `memory.store.memories.Keywords`."""

    def weigh(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        with self.data.lock:
            held = [list(chain.from_iterable(piece.words)) for piece in self.data.pieces.values()]
            occurrences, chunks = Counter(chain.from_iterable(held)), Counter(chain.from_iterable(map(set, held)))
            return weighed(
                terms, len(held), lambda token: (chunks[token], occurrences[token]), lambda one: self._rows(one.term)
            )

    def _rows(self, term: Term) -> int:
        return len({id for form in forms([term]) for id in self._frequencies(form)})

    def by_keyword(
        self, terms: Sequence[Term], scope: Scope, k: int, *, ids: Sequence[ChunkId] | None = None
    ) -> Ranking:
        with self.data.lock:
            found = [one for one in self._scores(terms) if inside(self.data, self.data.memories[one.memory], scope)]
        return Ranking.of(one for one in found if ids is None or one.chunk in ids)[:k]

    def _scores(self, terms: Sequence[Term]) -> Ranking:
        """Every chunk that holds a term, best first: https://www.sqlite.org/fts5.html#the_bm25_function."""
        pieces = self.data.pieces
        average = sum(piece.length for piece in pieces.values()) / max(1, len(pieces))
        scores: dict[ChunkId, float] = {}
        bits: dict[ChunkId, int] = {}
        for place, term in enumerate(forms(terms)):
            frequencies = self._frequencies(term)
            n = len(frequencies)
            idf = max(FLOOR, math.log((len(pieces) - n + 0.5) / (n + 0.5)))
            for id, often in frequencies.items():
                norm = K1 * (1 - B + B * pieces[id].length / average)
                scores[id] = scores.get(id, 0.0) + idf * often * (K1 + 1) / (often + norm)
                bits[id] = bits.get(id, 0) | 1 << place
        ranked = sorted(scores, key=lambda chunk: (-scores[chunk], -chunk))
        found = Ranking.of(Scored(id, pieces[id].memory, scores[id], bits[id], keyword=scores[id]) for id in ranked)
        return folded(found, terms)

    def _frequencies(self, term: Term) -> dict[ChunkId, float]:
        """How often each chunk that holds a term holds it, by the weights of the columns."""
        phrase = stems(term.text)
        found = {id: _often(piece.words, phrase, prefix=term.prefix) for id, piece in self.data.pieces.items()}
        return {id: often for id, often in found.items() if often}

    def vocabulary(self, beginning: str) -> Mapping[str, int]:
        with self.data.lock:
            held = Counter(word for piece in self.data.pieces.values() for word in {*chain.from_iterable(piece.words)})
            return {word: chunks for word, chunks in held.items() if word.startswith(beginning)}

    def ending(self, part: str, most: int) -> Sequence[str]:
        found = [word for word in self.vocabulary("") if word.endswith(part)]
        return sorted(found, key=lambda word: (len(word), word))[:20] if len(self.data.pieces) <= most else []

    def texts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, str]:
        with self.data.lock:
            return {id: self._in_words(self.data.pieces[id]) for id in ids if id in self.data.pieces}

    def _in_words(self, piece: Piece) -> str:
        every = columns(self.data.memories[piece.memory], self.data.bodies[piece.memory], piece.chunk, "")
        return "\n".join(filter(None, every[: list(WEIGHTS).index("impact") + 1]))


def _often(words: Sequence[Sequence[str]], phrase: Sequence[str], *, prefix: bool) -> float:
    """The occurrences of a phrase, each worth the weight of its column; the last word may go on if it is a prefix."""
    if not phrase:
        return 0.0
    often = 0.0
    for column, weight in zip(words, WEIGHTS.values(), strict=True):
        for start in range(len(column) - len(phrase) + 1):
            *first, last = column[start : start + len(phrase)]
            if first == list(phrase[:-1]) and (last.startswith(phrase[-1]) if prefix else last == phrase[-1]):
                often += weight
    return often
