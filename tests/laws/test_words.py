"""A file of word vectors: what was put in comes out, and no damage passes for a vector."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, strategies as st

from memory.store.sections import Doubt
from memory.vectors.words import PART, WordVectors, coded, packed

if TYPE_CHECKING:
    from random import Random

WIDTH = 6
STEMS = st.text("abcé", min_size=1, max_size=9)
NUMBERS = st.floats(-1, 1, width=32, allow_nan=False)
VECTORS = st.lists(NUMBERS, min_size=WIDTH, max_size=WIDTH).map(lambda row: np.array(row, np.float32))
WORDS = st.dictionaries(STEMS, VECTORS, min_size=1, max_size=12)


def written(words: dict[str, np.ndarray], folder: str) -> Path:
    path = Path(folder) / "words"
    path.write_bytes(packed({stem.encode(): coded(row) for stem, row in words.items()}, len(words), 7))
    return path


def error(row: np.ndarray) -> float:
    """Half a step of 8 bits."""
    return float(np.abs(row).max()) / 127 / 2 + 1e-6


@given(words=WORDS)
def test_every_word_has_its_vector_minus_the_mean_within_half_a_step(words: dict[str, np.ndarray]) -> None:
    with TemporaryDirectory() as folder:
        found = WordVectors(written(words, folder))
        own = found.of([*words])

    worst = max(map(error, words.values()))
    mean = np.mean([*words.values()], axis=0)
    assert found.whole
    assert found.count == len(words)
    assert own.keys() == words.keys()
    for stem, row in own.items():
        assert np.abs(row - (words[stem] - mean)).max() <= error(words[stem]) + worst + 1e-6


@given(words=WORDS, order=st.randoms())
def test_the_same_words_give_the_same_file(words: dict[str, np.ndarray], order: Random) -> None:
    shuffled = [*words]
    order.shuffle(shuffled)
    first, second = ({stem.encode(): coded(words[stem]) for stem in stems} for stems in (words, shuffled))

    assert packed(first, 99, 1) == packed(second, 99, 1)


def parts(word: str, words: dict[str, np.ndarray]) -> list[str]:
    """The longest listed words from left to right, by trying all."""
    if word in words:
        return [word]
    found, start = [], 0
    while start < len(word.encode()):
        rest = word.encode()[start:]
        begun = [stem for stem in words if rest.startswith(stem.encode())]
        longest = max(begun, key=lambda stem: len(stem.encode()), default="")
        if len(longest.encode()) >= PART:
            found.append(longest)
            start += len(longest.encode())
        else:
            start += 1
    return found


@given(words=WORDS, pieces=st.lists(STEMS, max_size=4))
def test_another_word_has_the_mean_of_its_longest_parts_or_nothing(
    words: dict[str, np.ndarray], pieces: list[str]
) -> None:
    word = "".join(pieces)
    with TemporaryDirectory() as folder:
        found = WordVectors(written(words, folder))
        own, among = found.of([word]), found.of([*words])

    expected = parts(word, words)
    assert (word in own) == bool(expected)
    if expected:
        assert np.allclose(own[word], np.mean([among[part] for part in expected], axis=0), atol=1e-5)


@given(words=WORDS, data=st.data())
def test_no_damage_passes_for_a_vector(words: dict[str, np.ndarray], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = written(words, folder)
        content = bytearray(path.read_bytes())
        if data.draw(st.booleans()):
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        else:
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)

        try:
            found = WordVectors(path).rows()
        except Doubt:
            return
        assert found.keys() == {stem.encode() for stem in words}  # it stands between two sections
        for stem, row in words.items():
            assert (found[stem.encode()].vector == coded(row).vector).all()
