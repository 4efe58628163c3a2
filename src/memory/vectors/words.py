"""
Word vectors: what a model makes of single words, once, in a file beside the database. Term vectors begin with them.

The words are a public list, and never those of a text: what outlives a deleted text must know nothing of it. They are
the whole words of BERT's vocabulary, which comes with the local model, and those of software that it lacks
(software.txt, made by scripts/software_words.py). They serve the models of all providers.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary
from zlib import crc32

from memory.config.files import folders, write_file
from memory.schema import np
from memory.schema.databases import COMPANIONS
from memory.schema.errors import EmbedError, explained
from memory.schema.step import WORDS, purpose
from memory.store import LEAST, UNAIDED, Generation, Store
from memory.store.sections import Doubt, Reader, Section, SectionWriter
from memory.store.sqlite import foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from os import stat_result

    from numpy.typing import NDArray

    from memory.schema.space import Space, Vectors
    from memory.store import Generation
    from memory.vectors import Embedder
    from memory.vectors.registry import Embedders


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


# Making them: once a model, page by page, by whoever has the time ------------------------------------

NEXT = ".next"
"""Follows the name of a file whose successor is being made."""

PAGE = 1_024
"""Words until the file is written again: who is stopped loses no more, a second or two of the local model's work."""

BATCH = 128
"""Words embedded at once, between two looks at whether to continue."""


def make_words(
    store: Store,
    embedders: Embedders,
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    going: Callable[[], bool] = lambda: True,
    few: bool = False,
) -> None:
    """
    Make the word vectors of the model that answers, as far as they are not there yet.

    A server is not asked for so many words unless the setting `embedding.words` says so. And nobody is before the store
    has term vectors.

    Files that no generation is of any more are removed.

    Args:
        few: Also for a store of few chunks, as nobody waits for it.

    Raises:
        EmbedError: The model cannot be used, or the file cannot be written; what was written is kept.
        SpaceMismatch: The stored vectors are of another model.
    """
    if not (embedders.enabled and embedders.words and store.generations.active()):
        return
    generation, embedder = embedders.answering()
    path = place(store.path, generation)
    enough = store.generations.size(generation.id).chunks >= (LEAST if few else UNAIDED)
    if path and enough and embedder is embedders.configured():  # during a reindex, it is the next one's turn
        make(embedder, path, progress=progress, going=going)
        embedders.write()
        if path.is_file():
            tidy(store)


def tidy(store: Store) -> None:
    """
    Remove the files of models of which the store has no vectors, and those that were to follow them; none if another
    database stands in the folder, which may have some.

    Raises:
        EmbedError: One cannot be removed.
    """
    database = Path(store.path)
    own = {database.name + ending for ending in ("", *COMPANIONS)}
    with explained(EmbedError, f"cannot remove word vectors of earlier models beside {database}"):
        files = [one for one in database.parent.iterdir() if one.is_file()]
        if any(one.name not in own and foreign.is_database(one) for one in files):
            return
        # After the files were listed: one that another process began meanwhile is not among them.
        used = {place(store.path, generation) for generation in store.generations.every()}
        for one in files:
            if re.fullmatch(rf"words-[0-9a-f]{{16}}({re.escape(NEXT)})?", one.name) and one.with_suffix("") not in used:
                one.unlink(missing_ok=True)


def make(
    embedder: Embedder,
    path: Path,
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    going: Callable[[], bool] = lambda: True,
) -> None:
    """
    Embed the words that a file lacks. Several processes may do so at once: each goes on with what it finds.

    A file that has all words of its list serves until its successor has all of its own: that is made beside it, and takes
    its place by one rename. So does one with damaged rows. Where there was none, what is made serves page by page.
    Words of a former list stay: two versions of this program in one home would take each other's away.

    Args:
        progress: Called after each page with how many words are done, and of how many.
        going: Whether to continue; asked before each batch.

    Raises:
        EmbedError: As in `make_words`.
    """
    words, exists = listed(), path.exists()  # looked at first: another process may make it now
    there = opened(path)
    check = crc32("\n".join(words.values()).encode())  # of the list
    if there is not None and there.whole and there.sound and there.list == check:
        return
    if exists and (there is None or not there.sound):
        import logging  # 2 ms that a search need not spend

        logging.getLogger("memory").warning("the word vectors in %s are made again: they are damaged", path)
    grows = there is None or (there.sound and not there.whole)
    file = path if grows and not _beside(path).exists() else _beside(path)
    known = _known(path)
    while page := _missing(known)[:PAGE]:
        made: dict[bytes, Coded] = {}
        with purpose(WORDS):
            for first in range(0, len(page), BATCH):
                if not going():
                    return
                stems = page[first : first + BATCH]
                rows = embedder.embed([words[stem] for stem in stems], "passage")
                made |= {stem.encode(): coded(row) for stem, row in zip(stems, rows, strict=True)}
        made = _known(path) | made  # what others wrote meanwhile stays
        total = len({*made, *map(str.encode, words)})
        with explained(EmbedError, f"cannot write {path}"), folders(path.parent, private=True):
            write_file(file, packed(made, total, check), private=True)
        progress(len(made), total)
        known = _known(path)
    if file != path and file.exists():
        # Not the successor itself, nor what a second look finds: a slower process may have written fewer words meanwhile.
        with explained(EmbedError, f"cannot write {path}"), folders(path.parent, private=True):
            write_file(path, packed(known, len(known), check), private=True)
            file.unlink(missing_ok=True)


def missing(database: str, generation: Generation | None) -> Sequence[str]:
    """The words of which the model of a generation made nothing yet; all, if there is no generation."""
    path = place(database, generation) if generation else None
    words = listed()
    return [words[stem] for stem in (_missing(_known(path)) if path else words)]


def _beside(path: Path) -> Path:
    return path.with_name(path.name + NEXT)


def _missing(known: Container[bytes]) -> list[str]:
    """The stems of the list that are not among these."""
    return [stem for stem in listed() if stem.encode() not in known]


def _known(path: Path) -> dict[bytes, Coded]:
    """
    What is in a file and in its successor; nothing of one that is not there, or damaged.

    The rows of another list are as right: they are of the same model. The successor is read first: it is removed once the
    file has all that it had, and not before.
    """
    known: dict[bytes, Coded] = {}
    for one in (_beside(path), path):
        with suppress(Doubt):
            known |= WordVectors(one).rows()
    return known
