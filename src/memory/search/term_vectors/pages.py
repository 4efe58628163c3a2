"""
Many passages as arrays of numbers: which terms each holds, and each of its sentences.

The terms are those of `learn.lesson`. To count them with one array operation for a thousand passages takes a fifth of the
time of a `Counter` for each.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory.search.term_vectors import stop_stems
from memory.text.lookup import LONGEST, spelled, stem
from memory.text.terms import Letters, indexed, names, parted
from memory.text.tokens import passage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from memory.schema.memory import Excerpt

    Numbers = NDArray[np.int64]

SENTENCES, SENTENCE = 8, 15
"""Sentences of a passage that are learned from, its first ones, and the characters that each has more than."""

PAIRS = 1 << 32
"""A key below is a word: the number of its stem. Others are pairs: PAIRS · (number of the first + 1) + number of the second."""

REMEMBERED = 1 << 18
"""Of so many spellings the numbers are remembered: some 30 MB. Texts have hardly more, but for names and numbers."""

STEPS = 1 + SENTENCES
"""Of a passage: itself, and its sentences."""

MARK, BEGIN = "\x02", -2
"""What stands before each run of words while a passage is spelled, and its number."""

TITLE, APART = STEPS, 2 * STEPS
"""Kinds of runs: a sentence has its number, or 0 if only its passage is learned from; and so has it again, from APART on."""

_END = re.compile(r"\s(?:(?<=[.!?。！？]\s)|(?<=\n))\s*")  # looks behind white space alone: half the time


def sentences(text: str) -> list[str]:
    """The sentences of a passage, and what stands on lines of its own; some may be empty."""
    return [sentence.strip() for sentence in _END.split(text)]


def longer(said: Sequence[str]) -> list[int]:
    """Which of these sentences are learned from."""
    return [number for number, sentence in enumerate(said) if len(sentence) > SENTENCE][:SENTENCES]


class Vocabulary(dict[str, int]):
    """The number of the stem of each spelling of a word; -1 of those that say nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._stems: list[str] = []
        self._numbers: dict[str, int] = {}
        self[MARK] = BEGIN

    def __missing__(self, spelling: str) -> int:
        if len(self) > REMEMBERED:
            self.clear()  # a number stays that of its stem
            self[MARK] = BEGIN
        word = stem(spelling) if len(spelling) <= LONGEST else spelling
        found = self[spelling] = -1 if word in stop_stems() else self.number(word)
        return found

    def number(self, word: str) -> int:
        """Of a stem."""
        if (known := self._numbers.get(word)) is not None:
            return known
        self._stems.append(word)
        found = self._numbers[word] = len(self._stems) - 1
        return found

    @property
    def full(self) -> bool:
        """Whether it is time to begin with another one."""
        return len(self._stems) > REMEMBERED

    @property
    def stems(self) -> Sequence[str]:
        """All, by their numbers."""
        return self._stems

    def add(self, stems: Iterable[str]) -> None:
        """Stems that another one has, in the order of their numbers."""
        for word in stems:
            self.number(word)

    def back(self, count: int) -> None:
        """As if the stems from this number on had not been added."""
        for word in self._stems[count:]:
            del self._numbers[word]
        del self._stems[count:]

    def key(self, term: str) -> int:
        """Of a term."""
        first, _, second = term.partition(" ")
        return PAIRS * (self.number(first) + 1) + self.number(second) if second else self.number(first)

    def terms(self, keys: Numbers) -> list[str]:
        """The opposite."""
        stems = self._stems
        firsts, seconds = (keys // PAIRS - 1).tolist(), (keys % PAIRS).tolist()
        return [stems[b] if a < 0 else f"{stems[a]} {stems[b]}" for a, b in zip(firsts, seconds, strict=True)]


def place_in(keys: Numbers, wanted: Numbers) -> Numbers:
    """Where these stand among ascending keys; -1 of those that do not."""
    if not len(keys):
        return np.full(len(wanted), -1)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, places, -1)


class Page(NamedTuple):
    """
    Attributes:
        keys: The terms of all passages, ascending.
        owners, terms, times: Of each term of each passage, by passage and then by term: whose it is, which one, by its
            place in `keys`, and how often it stands there.
        steps, held, often: The same of the sentences, by sentence: `steps` counts these, each passage's from
            STEPS times its number on, and 1 for its first sentence; `held` are places in `owners`.
        sentences: How many each passage has.
    """

    keys: Numbers
    owners: Numbers
    terms: Numbers
    times: Numbers
    steps: Numbers
    held: Numbers
    often: Numbers
    sentences: Numbers


class Said(NamedTuple):
    """
    The words of passages, run by run: those that stand together.

    Attributes:
        words: As they are spelled, with blanks between; before each run its mark.
        kinds, behind: Of each run its kind, and how many runs before it a run is that it goes on, 0 if it goes on none.
        runs, sentences: Of each passage how many it has, and how many of its sentences are learned from.
    """

    words: str
    kinds: Numbers
    behind: Numbers
    runs: Numbers
    sentences: Numbers

    def terms(self, vocabulary: Vocabulary) -> tuple[Numbers, Numbers, Numbers]:
        """The keys of all words and of each two adjacent ones; whose they are; and the kinds of their runs."""
        every = self.words.split()
        words = np.fromiter(map(vocabulary.__getitem__, every), np.int64, len(every))
        run = np.cumsum(words == BEGIN) - 1
        run, words = run[words >= 0], words[words >= 0]
        owner_of = np.repeat(np.arange(len(self.runs)), self.runs)
        owners, kinds = owner_of[run], self.kinds[run]
        together = run[1:] == run[:-1]
        near = (together & (kinds[1:] != TITLE)) | ((owners[1:] == owners[:-1]) & (kinds[1:] < TITLE))
        first, second = np.flatnonzero(near), np.flatnonzero(near) + 1
        inside = np.where(together, kinds[1:], 0)[near]
        # Where a run goes on another, their ends are adjacent.
        begun = np.flatnonzero(self.behind)
        lengths = np.bincount(run, minlength=len(self.behind))
        ends = np.cumsum(lengths)
        on = begun[(lengths[begun] > 0) & (lengths[begun + self.behind[begun]] > 0)]
        first = np.concatenate([first, ends[on] - 1])
        second = np.concatenate([second, (ends - lengths)[on + self.behind[on]]])
        pairs = PAIRS * (words[first] + 1) + words[second]
        return (
            np.concatenate([words, pairs]),
            np.concatenate([owners, owners[first]]),
            np.concatenate([kinds, inside, kinds[second[len(inside) :]]]),
        )


class _Texts:
    """Words that stand together, run by run, as a passage after another brings them."""

    def __init__(self) -> None:
        self._texts: list[str] = []  # of each passage, its runs with marks between
        self._kinds: list[int] = []
        self._behind: list[int] = []  # how many runs before it a run is that another one goes on
        self._runs: list[int] = []  # how many each passage has
        self.sentences: list[int] = []

    def add(self, excerpt: Excerpt) -> None:
        """The sentences of a passage; what all of them do not show; its title; what each of its sentences does not show."""
        text, title = passage(excerpt, 0), excerpt.title
        said, plain = sentences(text), text.isascii()
        numbers, named = longer(said), _named(said)
        runs, kinds, behind = [*said], [0] * len(said), [0] * len(said)
        for place, number in enumerate(numbers, start=1):
            kinds[number] = place
        if named or not plain:
            runs.append(_unseen(chain.from_iterable(named.values()), () if plain else said))
            kinds.append(0)
        runs.append(f"{title} {_unseen([name for _, name in names(title)], [title])}")
        kinds.append(TITLE)
        for place, number in enumerate(numbers, start=1):
            if plain and number not in named:
                continue
            if more := _unseen(named.get(number, ()), [said[number]]):
                behind[number] = len(runs) - number
                runs.append(more)
                kinds.append(APART + place)
        if MARK in text or MARK in title:
            runs = [run.replace(MARK, " ") for run in runs]
        self._texts.append(f" {MARK} ".join(["", *runs]))
        self._kinds += kinds
        self._behind += behind + [0] * (len(runs) - len(behind))
        self._runs.append(len(runs))
        self.sentences.append(len(numbers))

    def said(self) -> Said:
        texts = [(plain, "".join(texts)) for plain, texts in groupby(self._texts, str.isascii)]
        words = [text.translate(_PLAIN if plain else _letters()) for plain, text in texts]
        numbers = (self._kinds, self._behind, self._runs, self.sentences)
        return Said("".join(words), *[np.array(one, np.int64) for one in numbers])


def _named(said: Sequence[str]) -> dict[int, list[str]]:
    """The names in sentences that have any."""
    found: dict[int, list[str]] = {}
    number, stop = 0, len(said[0]) if said else 0
    for start, name in names("\n".join(said)):
        while start > stop:
            number += 1
            stop += 1 + len(said[number])
        found.setdefault(number, []).append(name)
    return found


def _unseen(named: Iterable[str], texts: Sequence[str]) -> str:
    """See `hidden`, of the names in some texts, and of these."""
    return " ".join([*parted(named), *filter(None, map(indexed, texts))])


_PLAIN = "".join(
    chr(code) if chr(code) == MARK else spelled(chr(code))[0] if spelled(chr(code)) else " " for code in range(128)
)


@cache
def _letters() -> Letters:
    found = Letters()
    found[ord(MARK)] = MARK
    return found


def said(excerpts: Iterable[Excerpt]) -> Said:
    """The words of passages."""
    texts = _Texts()
    for excerpt in excerpts:
        texts.add(excerpt)
    return texts.said()


def read(excerpts: Iterable[Excerpt], vocabulary: Vocabulary) -> Page:
    """The terms of passages, whose numbers are their places."""
    return page_of(said(excerpts), vocabulary)


def page_of(said: Said, vocabulary: Vocabulary) -> Page:
    """The terms of passages whose words are known."""
    every, owners, kinds = said.terms(vocabulary)
    whole = kinds < APART
    keys, places = np.unique(every[whole], return_inverse=True)
    count = max(1, len(keys))
    cells, cell, times = np.unique(owners[whole] * count + places, return_inverse=True, return_counts=True)
    # Of sentences: their words among those of the passages, or apart.
    kind = kinds[whole]
    inside = (kind > 0) & (kind < TITLE)
    steps, held = (owners[whole] * STEPS + kind)[inside], cell[inside]
    if not whole.all():
        apart = place_in(keys, every[~whole])
        apart = np.where(apart >= 0, place_in(cells, owners[~whole] * count + apart), -1)
        steps = np.concatenate([steps, (owners * STEPS + kinds - APART)[~whole][apart >= 0]])
        held = np.concatenate([held, apart[apart >= 0]])
    parts, often = np.unique(steps * max(1, len(cells)) + held, return_counts=True)
    steps, held = np.divmod(parts, max(1, len(cells)))
    whose, which = np.divmod(cells, count)
    return Page(keys, whose, which, times, steps, held, often, said.sentences)
