"""
Word vectors: what a model makes of single words, in a file beside the database. Term vectors begin with them.

The words are a public list, and never those of a text: what outlives a deleted text must know nothing of it. They are
the whole words of BERT's vocabulary, which comes with the local model, and those of software that it lacks
(software.txt, made by scripts/software_words.py). They serve the models of all providers.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from memory.schema import np
from memory.store.sections import Doubt, Reader, Section, SectionWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import stat_result

    from numpy.typing import NDArray

    from memory.schema.space import Space, Vectors
    from memory.store import Generation

PART = 4
"""Letters from which a word of the list counts as a part of another word; fewer are found anywhere, by chance."""

SOFTWARE = Path(__file__).with_name("software.txt")

NAME, VERSION = "words", 2
"""In the head of a file. Its sections are the mean of all vectors; where each stem ends; the stems, sorted; and of each word its
scale and its code: a vector is scale · code."""


def place(database: str, generation: Generation) -> Path | None:
    """
    The file for the model of a generation: one for all databases of a folder, named by its space and its fingerprint.

    Args:
        database: Its file; empty if it has none, and then neither have word vectors.
    """
    return _place(database, generation.space, generation.fingerprint) if database else None


@lru_cache(maxsize=8)
def _place(database: str, space: Space, fingerprint: bytes) -> Path:
    return Path(database).with_name(_name(space, fingerprint))


def _name(space: Space, fingerprint: bytes) -> str:
    version, prefix = space.recipe & 255, space.recipe >> 8
    recipe = f"{version}-{prefix:08x}" if prefix else f"{version}"
    # Not `str(space)`: files that are there have this name, whatever people are told.
    named = f"{space.provider}:{space.model} ({space.dimension} dimensions, recipe {recipe})"
    digest = sha256(f"{named}\0".encode() + fingerprint).hexdigest()[:16]
    return f"words-{digest}"


@lru_cache(maxsize=1)
def listed() -> Mapping[str, str]:
    """
    The words of the list by their stems, the most frequent first; of several words with one stem, the most frequent.

    Empty if the vocabulary is not installed, or damaged, which is reported when the local model is used.
    """
    from memory.text.lookup import stem
    from memory.text.terms import STOP
    from memory.vectors.local import model_folder
    from memory.vectors.local.wordpiece import vocabulary

    folder = model_folder()
    try:
        pieces = [] if folder is None else vocabulary(folder)
    except (OSError, ValueError):
        return {}
    found: dict[str, str] = {}
    whole = [word for word in pieces if len(word) > 1 and word.isalpha() and word not in STOP]
    for word in (*whole, *(SOFTWARE.read_text("utf-8").split() if whole else ())):
        found.setdefault(stem(word), word)
    return found


class Coded(NamedTuple):
    """A vector in 8 bits: its scale, and its code, shape (dimension,)."""

    scale: float
    code: NDArray[np.int8]

    @property
    def vector(self) -> Vectors:
        """Shape (dimension,), float32."""
        vector: Vectors = (self.code * self.scale).astype("float32")
        return vector


def coded(vector: Vectors) -> Coded:
    """The same in 8 bits: no number is off by more than half a step of the scale."""
    scale = np.float32(max(float(np.abs(vector).max()) / 127, 1e-12))
    return Coded(float(scale), np.rint(vector / scale).astype(np.int8))


class WordVectors:
    """
    A file of word vectors, mapped into memory: only the rows that are asked for are read.

    Attributes:
        path: The file.
        count: How many words it has.
        total: How many it has when it is complete.
        list: A check sum of the list that it is made from.
    """

    def __init__(self, path: Path) -> None:
        """
        Raises:
            Doubt: It cannot be read, or is damaged. Rows are checked by `rows` alone, because a search reads only a few.
        """
        self.path, self._file = path, (file := Reader(path))
        if (file.head.get("name"), file.head.get("version")) != (NAME, VERSION):
            raise Doubt(f"{path} has another form")
        self.count, self.total, self.list = (file.head[name] for name in ("count", "total", "list"))
        self._mean, self._ends, self._stems = (file.data(name) for name in ("mean", "ends", "stems"))
        self._scales, self._codes = (file.unchecked(name) for name in ("scales", "codes"))
        self._dimension = len(self._mean) // 4

    @property
    def whole(self) -> bool:
        """Whether it has all words."""
        return bool(self.count == self.total)

    @property
    def sound(self) -> bool:
        """Whether no row is damaged; reads all of it, 3 ms."""
        try:
            self._file.check()
        except Doubt:
            return False
        return True

    def of(self, stems: Sequence[str]) -> Mapping[str, Vectors]:
        """
        What is known of some words: their vectors minus the mean of all, or the mean of those of their parts.

        Returns:
            Shape (dimension,), float32, of any length. Words are left out of which neither they nor a part is listed.
        """
        mean = np.frombuffer(self.mean, "<f4")
        found: dict[str, Vectors] = {}
        for stem in stems:
            if rows := self.coded(stem):
                total = sum(np.float32(scale) * np.frombuffer(code, np.int8) for scale, code in rows)
                found[stem] = (total / np.float32(len(rows)) - mean).astype(np.float32)
        return found

    @property
    def mean(self) -> bytes:
        """Of all vectors, float32."""
        return bytes(self._mean)

    def coded(self, stem: str) -> list[tuple[float, bytes]]:
        """The scale and the code, int8, of a word or of each of its parts; nothing if neither it nor a part is listed."""
        return [self._row(row) for row in self._parts(stem.encode())]

    def rows(self) -> dict[bytes, Coded]:
        """
        Each stem with its vector, in the order of stems.

        Raises:
            Doubt: They are damaged.
        """
        scales, codes = self._file.section("scales").tolist(), self._file.section("codes")
        return {self._stem(row): Coded(scales[row], codes[row]) for row in range(self.count)}

    def _parts(self, word: bytes) -> list[int]:
        """The row of a word, or those of the longest words of the list that it consists of, from left to right."""
        row = self._longest(word)
        if row is not None and self._stem(row) == word:
            return [row]
        found: list[int] = []
        start = 0
        while start + PART <= len(word):
            row = self._longest(word[start:])
            length = 0 if row is None else len(self._stem(row))
            if row is not None and length >= PART:
                found.append(row)
            start += length if length >= PART else 1
        return found

    def _longest(self, text: bytes) -> int | None:
        """The row of the longest stem that a text begins with."""
        while text:
            row = bisect_right(range(self.count), text, key=self._stem) - 1
            if row < 0:
                return None
            stem = self._stem(row)  # the last one that does not come after the text
            if text.startswith(stem):
                return row
            text = text[: _common(text, stem)]  # any that it begins with comes before, and is no longer
        return None

    def _row(self, row: int) -> tuple[float, bytes]:
        start = self._dimension * row
        (scale,) = struct.unpack_from("<f", self._scales, 4 * row)
        return scale, bytes(self._codes[start : start + self._dimension])

    def _stem(self, row: int) -> bytes:
        start = struct.unpack_from("<I", self._ends, 4 * row - 4)[0] if row else 0
        (stop,) = struct.unpack_from("<I", self._ends, 4 * row)
        return bytes(self._stems[start:stop])


def _common(one: bytes, other: bytes) -> int:
    """How many letters two texts have in common from their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def word_vectors(database: str, generation: Generation) -> WordVectors | None:
    """Those of the model of a generation, beside a database; see `place` and `opened`."""
    return opened(place(database, generation))


def opened(path: Path | None) -> WordVectors | None:
    """The word vectors in a file; None if there are none, or it is damaged, which whoever makes them finds and mends."""
    try:
        return _mapped(path, path.stat()) if path else None
    except (OSError, Doubt):
        return None


def _mapped(path: Path, seen: stat_result) -> WordVectors:
    """As somebody holds it, unless another file has taken its place: to look at its beginning takes 0.1 ms."""
    file = (path, seen.st_ino, seen.st_mtime_ns, seen.st_size)
    found = _HELD.get(file)
    if found is None:
        found = _HELD[file] = WordVectors(path)
    return found


_HELD: WeakValueDictionary[tuple[Path, int, int, int], WordVectors] = WeakValueDictionary()


def packed(rows: Mapping[bytes, Coded], total: int, check: int) -> bytes:
    """
    A file with these words, at least one: equal for equal arguments.

    Args:
        total: How many words it has when it is complete.
        check: A check sum of the list that they are of.
    """
    stems = sorted(rows)
    scales = np.array([rows[stem].scale for stem in stems], "<f4")
    codes = np.stack([rows[stem].code for stem in stems])
    arrays = {
        "mean": (scales.astype(np.float64) @ codes / len(stems)).astype("<f4"),
        "ends": np.array([*accumulate(map(len, stems))], "<u4"),
        "stems": np.frombuffer(b"".join(stems), "|u1"),
        "scales": scales,
        "codes": codes,
    }
    head = {"name": NAME, "version": VERSION, "count": len(stems), "total": total, "list": check}
    file = BytesIO()
    writer = SectionWriter(file, head, {name: Section(array.dtype.str, array.shape) for name, array in arrays.items()})
    for name, array in arrays.items():
        writer.put(name, array)
    writer.end()
    return file.getvalue()
