"""
What `scale.py` keeps and asks: recombined texts of the standard library, and vectors that are sums of real ones. And what
`real.py` does: passages of judged sets, and the model's own vectors.
"""

from __future__ import annotations

import ast
import json
import random
import re
import sysconfig
import warnings
import zlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memory import Draft
from memory.text.terms import STOP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.evaluate.judged import JudgedDocument

SPAN = 20  # words that stay together
PROJECTS, SOURCES = 1000, 10_000
REAL = 2000  # texts that the model embeds
NOISE = 0.17  # the length of what is added to a sum of three unit vectors: a tenth of it
TEXTS, VECTORS = "texts.json", "vectors.npy"
PASSAGES, KNOWN = "passages.json", "known.json"
BEGINNING = 600  # characters of a passage: the model takes a minute for a thousand that are three times as long
FORMS = ("how does {} work with {} and {}", "why is {} {} when {}", "{} {} {}", "where is the {} of {} {}")


def prepare(folder: Path, most: int) -> None:
    """Cut the documentation of all modules of the standard library into pieces; the model embeds no more than `most`."""
    from memory.vectors.local.embedder import LocalEmbedder

    pieces = [piece for text in _docstrings() for piece in _cut(text)]
    (folder / TEXTS).write_text(json.dumps(pieces), "utf-8")
    some = random.Random(5).sample(pieces, min(most, len(pieces)))
    embedder = LocalEmbedder()
    parts = [embedder.embed(some[first : first + 32], "passage") for first in range(0, len(some), 32)]
    np.save(folder / VECTORS, np.concatenate(parts))


def write(folder: Path, documents: Sequence[JudgedDocument], asked: Sequence[str]) -> None:
    """
    Write the beginnings of passages of judged sets as notes, and what the model makes of them and of questions; unless they
    are there.
    """
    from memory.vectors.local.embedder import LocalEmbedder

    notes = [((one.title.strip() or one.text)[:180], one.text[:BEGINNING] or one.title) for one in documents]
    texts = list(dict.fromkeys([*(f"{title} {text}" for title, text in notes), *asked]))
    written = json.dumps(texts)
    if (folder / KNOWN).exists() and (folder / KNOWN).read_text("utf-8") == written:
        return
    embedder = LocalEmbedder()
    shortest = sorted(range(len(texts)), key=lambda place: len(texts[place]))  # together: none is filled up by much
    vectors = np.empty((len(texts), embedder.dimension), np.float32)
    for first in range(0, len(texts), 32):
        some = shortest[first : first + 32]
        vectors[some] = embedder.embed([texts[place] for place in some], "passage")
    np.save(folder / VECTORS, vectors)
    (folder / PASSAGES).write_text(json.dumps(notes), "utf-8")
    (folder / KNOWN).write_text(written, "utf-8")


def embedder(folder: Path) -> Mixed:
    """That of these texts."""
    return Real(folder) if (folder / KNOWN).exists() else Mixed(folder)


def _docstrings() -> Iterator[str]:
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if {"site-packages", "test", "tests", "lib2to3", "idlelib"} & {*path.parts}:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in other people's strings
            tree = ast.parse(path.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (said := ast.get_docstring(node)):
                yield said


def _cut(text: str) -> Iterator[str]:
    words = text.split()
    for first in range(0, len(words), SPAN):
        if len(piece := words[first : first + SPAN]) >= 5:
            yield " ".join(piece)


def drafts(folder: Path, *, first: int = 0) -> Iterator[Draft]:
    """An endless row of notes from the one with this number on, the same in every run: two to four pieces each."""
    if (folder / PASSAGES).exists():
        yield from _passages(folder)
        return
    pieces = json.loads((folder / TEXTS).read_text("utf-8"))
    number = first
    while True:
        dice = random.Random(number)
        words = " ".join(dice.choice(pieces) for _ in range(dice.choice((2, 3, 3, 4)))).split()
        if number % 3 == 0:  # every third names something that hardly another does
            words.append(f"{dice.choice(('ticket', 'PR', 'build', 'host'))} {dice.choice('ABCDEFGH')}{number}")
        yield Draft(
            title=" ".join(words[:7])[:180],
            what=" ".join(words[7:])[:1900],
            tags=(f"tag{number % 50}",),
            project=f"p{number % PROJECTS}",
            source=f"s{number % SOURCES}",
        )
        number += 1


def _passages(folder: Path) -> Iterator[Draft]:
    for number, (title, text) in enumerate(json.loads((folder / PASSAGES).read_text("utf-8"))):
        yield Draft(
            title=title,
            what=text,
            tags=(f"tag{number % 50}",),
            project=f"p{number % PROJECTS}",
            source=f"s{number % SOURCES}",
        )


def questions(folder: Path, count: int, *, seed: int) -> list[str]:
    """In turn with words of one memory of the first thousand, and of three."""
    kept = [f"{draft.title} {draft.what}" for draft in islice(drafts(folder), 1000)]
    dice = random.Random(seed)
    asked = []
    for number in range(count):
        texts = dice.sample(kept, 3) if number % 2 else [dice.choice(kept)] * 3
        words = [
            dice.choice([w for w in re.findall(r"\b[a-z]{4,}\b", text) if w not in STOP] or ["x"]) for text in texts
        ]
        asked.append(dice.choice(FORMS).format(*words))
    return asked


class Mixed:
    """An embedder that takes no time: a text's vector is the sum of three real ones and some noise, by its checksum."""

    provider, dimension, warm, model = "local", 384, True, "all-MiniLM-L6-v2"

    def __init__(self, folder: Path, model: str = model) -> None:
        self.model = model
        self._real = np.load(folder / VECTORS)
        noise = np.random.default_rng(1).standard_normal((4096, self.dimension))
        self._noise = (noise * NOISE / self.dimension**0.5).astype(np.float32)

    def windows(self, text: str) -> Sequence[str]:
        return (text,)

    def embed(self, texts: Sequence[str], role: str) -> np.ndarray:
        del role
        first = np.array([zlib.crc32(text.encode()) for text in texts], dtype=np.uint64)
        second = first * np.uint64(2654435761) % np.uint64(1 << 32)  # Knuth's multiplier: as good as other checksums
        third = second * np.uint64(2654435761) % np.uint64(1 << 32)
        count = np.uint64(len(self._real))
        found = self._real[first % count] + self._real[second % count] + self._real[third % count]
        found += self._noise[first // count % np.uint64(4096)]
        return found / np.linalg.norm(found, axis=1, keepdims=True)


class Real(Mixed):
    """An embedder that takes no time, of texts whose vectors the model made before."""

    def __init__(self, folder: Path) -> None:
        texts = json.loads((folder / KNOWN).read_text("utf-8"))
        self._places = {text: place for place, text in enumerate(texts)}
        self._real = np.load(folder / VECTORS)

    def embed(self, texts: Sequence[str], role: str) -> np.ndarray:
        del role
        found: np.ndarray = self._real[[self._places[text] for text in texts]]
        return found
