"""
Text into the word pieces of BERT's uncased vocabulary, their number, and windows of a limited number of them.

The same ids as from Hugging Face's `BertNormalizer`, `BertPreTokenizer` and `WordPiece` (crate `tokenizers`), without
that dependency, with two exceptions: about 500 marks that Unicode added after the crate's tables were made are
classified as this Python knows them; and marks are dropped character by character, so spacing marks that NFD would
reorder across characters (musical notation, U+302E) keep the order of the text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from memory.vectors.local import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

WORDS = 30_522
UNK, CLS, SEP = 100, 101, 102

LONGEST_WORD = 100  # code points after normalising; a longer word is one [UNK], as in BERT
TELLING = 3  # letters of a piece that says something: any word is made of shorter ones
LONGEST_KEPT = 64  # code points; a longer run is not worth caching, and is cut word by word
CACHE_SIZE = 32_768  # runs, about 20 MB when full
COUNTS_KEPT = 65_536  # words and characters that `count` remembers, at most 20 MB when full

# What remains of White_Space without control characters: \x0b, \x0c and \x85 join the text on both sides.
_RUN = re.compile("[^ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_SPECIAL = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")

# `_is_chinese_char` of google-research/bert, tokenization.py, with the block that `tokenizers` starts late (U+2B920).
_CJK = (
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)


class _Signs(dict[int, str]):
    """For `str.translate`: each character's letters, with spaces around those that are words by themselves."""

    def __missing__(self, code: int) -> str:
        if len(self) >= COUNTS_KEPT:
            self.clear()
        letters = _letters(character) if (character := chr(code)) not in " \t\n\r" else ((" ", False),)
        self[code] = text = "".join(f" {letter} " if alone else letter for letter, alone in letters)
        return text


class _Counts(dict[str, int]):
    """The number of pieces of each word."""

    def __init__(self, cuts: Callable[[str], list[int]]) -> None:
        self._cuts = cuts

    def __missing__(self, word: str) -> int:
        if len(word) > LONGEST_WORD:
            return len(word)
        if len(self) >= COUNTS_KEPT:
            self.clear()
        self[word] = count = len(self._cuts(word)) or 1
        return count


_SIGNS = _Signs()


class WordPiece:
    """
    A tokenizer over one vocabulary.

    Time is linear in the text, whatever the length of its lines and words. Threads may share it.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """
        Args:
            vocabulary: A piece's index is its id. Must contain [UNK].

        Raises:
            ValueError: There is no [UNK].
        """
        self._ids = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        if "[UNK]" not in self._ids:
            raise ValueError("the vocabulary holds no [UNK]")
        self._unknown = self._ids["[UNK]"]
        self._longest = max(map(len, vocabulary))
        self._inner = {piece[2:]: number for piece, number in self._ids.items() if piece.startswith("##")}
        self._reach: dict[str, int] = {}  # by its first two letters: the length of the longest such piece
        for piece in self._inner:
            self._reach[piece[:2]] = max(len(piece), self._reach.get(piece[:2], 1))
        self._cache: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._counts = _Counts(self._cuts)

    def count(self, text: str) -> int:
        """
        How many pieces the text has; about 20 million characters a second.

        A word of more than 100 letters counts one for each letter: its pieces are one [UNK],
        and a line of 500,000 letters would pass for a single piece.
        Promises: what `memory.text.chunk` needs of a counter.
        """
        alone = 0
        if "[" in text:
            parts = _SPECIAL.split(text)
            alone = len(parts) // 2
            text = " ".join(parts[::2])
        if text.isascii():
            coded = text.encode()
            alone += len(coded.translate(None, _ASCII_JOINED))
            words = coded.translate(_ASCII_LETTERS, _ASCII_DROPPED).decode().split()
        else:
            words = text.translate(_SIGNS).split()
        return alone + sum(map(self._counts.__getitem__, words))

    def knows(self, text: str) -> bool:
        """Whether a word of the text is a piece, or has one of `TELLING` letters: shorter ones are in any word."""
        words = {letters for run in _RUN.findall(text) for _, letters in _words(run) if letters.isalnum()}
        return any(
            len(cuts) == 1 or any(stop - start >= TELLING for start, stop in pairwise([0, *cuts]))
            for cuts in (self._cuts(word) for word in words if len(word) <= LONGEST_WORD)
        )

    def sentences(self, texts: Iterable[str], limit: int) -> list[list[int]]:
        """The first ids of each text, at most `limit`, between [CLS] and [SEP]; the rest of the text is not read."""
        return [[CLS, *self._first(text, limit), SEP] for text in texts]

    def _first(self, text: str, limit: int) -> list[int]:
        ids: list[int] = []
        for _, unit in self._units(text):
            ids += unit
            if len(ids) >= limit:
                break
        return ids[:limit]

    def windows(self, text: str, limit: int) -> list[str]:
        """
        Slices that concatenate to the text, each of at most `limit` pieces; at least one.

        They are cut before a run of non-blank characters, or before a word inside a run of more than 64.

        Args:
            limit: From 192, which no unit between two cuts exceeds (64 Hangul syllables of three letters).
        """
        cuts = [0]
        room = limit
        for start, unit in self._units(text):
            if len(unit) > room:
                cuts.append(start)
                room = limit
            room -= len(unit)
        return [text[start:stop] for start, stop in zip(cuts, [*cuts[1:], len(text)], strict=True)]

    def _units(self, text: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        """What a window does not divide: where its first piece begins, and the ids of its pieces."""
        for match in _RUN.finditer(text):
            run = match.group()
            if len(run) <= LONGEST_KEPT:
                start, ids = self._cache.get(run) or self._keep(run)
                yield match.start() + start, ids
            else:
                yield from ((match.start() + start, self._of_word(letters)) for start, letters in _words(run))

    def _keep(self, run: str) -> tuple[int, tuple[int, ...]]:
        words = list(_words(run))
        unit = words[0][0] if words else 0, tuple(id for _, letters in words for id in self._of_word(letters))
        if len(self._cache) >= CACHE_SIZE:
            self._cache.clear()
        self._cache[run] = unit
        return unit

    def _of_word(self, letters: str) -> tuple[int, ...]:
        """The longest piece that fits, again and again; [UNK] for the whole word if a part fits no piece."""
        cuts = self._cuts(letters) if len(letters) <= LONGEST_WORD else []
        if not cuts:
            return (self._unknown,)
        return (self._ids[letters[: cuts[0]]], *(self._inner[letters[start:stop]] for start, stop in pairwise(cuts)))

    def _cuts(self, letters: str) -> list[int]:
        """Where the pieces of a word end; empty if some part of it fits no piece."""
        if letters in self._ids:
            return [len(letters)]
        cuts: list[int] = []
        start, ids, reach = 0, self._ids, self._longest
        while start < len(letters):
            for stop in range(min(len(letters), start + reach), start, -1):
                if letters[start:stop] in ids:
                    break
            else:
                return []
            cuts.append(stop)
            start, ids, reach = stop, self._inner, self._reach.get(letters[stop : stop + 2], 1)
        return cuts


def _words(run: str) -> Iterator[tuple[int, str]]:
    """Words, punctuation marks and special tokens of a run without white space, in order, each with its place."""
    base = 0
    for part in _SPECIAL.split(run):
        if _SPECIAL.fullmatch(part):
            yield base, part
        else:
            yield from _plain_words(part, base)
        base += len(part)


def _plain_words(part: str, base: int) -> Iterator[tuple[int, str]]:
    letters: list[str] = []
    start = base
    for place, character in enumerate(part, base):
        for letter, alone in _letters(character):
            if alone and letters:
                yield start, "".join(letters)
                letters = []
            if alone:
                yield place, letter
            else:
                start = start if letters else place
                letters.append(letter)
    if letters:
        yield start, "".join(letters)


@lru_cache(maxsize=16_384)
def _letters(character: str) -> tuple[tuple[str, bool], ...]:
    """
    What the model sees of a character: lower-case letters without accents,
    each with whether it is a word by itself.
    """
    if character == "\ufffd" or unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co"}:
        return ()
    ideograph = character >= "\u3400" and re.match(_CJK, character) is not None
    return tuple(
        (letter, ideograph or _punctuation(letter))
        for plain in unicodedata.normalize("NFD", character)
        if unicodedata.category(plain) != "Mn"
        for letter in plain.lower()
    )


def _punctuation(letter: str) -> bool:
    """Whether BERT takes it for punctuation: in ASCII all but letters and digits, even symbols such as "$"."""
    if letter.isascii():
        return not letter.isalnum()
    return unicodedata.category(letter).startswith("P")


# `_SIGNS` for ASCII, for `bytes.translate`: marks become white space here, and are counted separately.
_ASCII = [_SIGNS[code] for code in range(128)]
_ASCII_LETTERS = bytes(ord(sign) if len(sign) == 1 else 32 for sign in _ASCII) + bytes(128)
_ASCII_DROPPED = bytes(code for code, sign in enumerate(_ASCII) if not sign)
_ASCII_JOINED = bytes(code for code, sign in enumerate(_ASCII) if len(sign) < 3)


# The vocabulary of all-MiniLM-L6-v2, which counts its tokens without weights and without numpy.


@lru_cache(maxsize=1)
def tokenizer(folder: Path) -> WordPiece:
    """
    The tokenizer of the model in a folder, read in about 20 milliseconds; the last one is cached.

    Raises:
        OSError, ValueError: See `vocabulary`.
    """
    return WordPiece(vocabulary(folder))


def vocabulary(folder: Path) -> list[str]:
    """
    The pieces that the model in a folder knows, by their ids.

    Raises:
        OSError: They cannot be read.
        ValueError: It is another vocabulary, or damaged.
    """
    words = (folder / VOCABULARY).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    if len(words) != WORDS or words[UNK : SEP + 1] != ["[UNK]", "[CLS]", "[SEP]"]:
        raise ValueError("it is not the vocabulary of all-MiniLM-L6-v2, or it is damaged")
    return words
