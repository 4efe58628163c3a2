"""Making word vectors: once a model, page by page, by whoever has the time."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from memory.config.files import folders, write_file
from memory.schema.databases import COMPANIONS
from memory.schema.errors import EmbedError, explained
from memory.schema.step import WORDS, purpose
from memory.store import LEAST, Generation, Store
from memory.store.sections import Doubt
from memory.store.sqlite import foreign
from memory.vectors.words import Coded, WordVectors, coded, listed, opened, packed, place

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from memory.vectors import Embedder
    from memory.vectors.registry import Embedders

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
) -> None:
    """
    Make the word vectors of the model that answers, as far as they are not there yet.

    A server is not asked for so many words unless the setting `embedding.words` says so. And nobody is before the store
    has term vectors.

    Files that no generation is of any more are removed.

    Raises:
        EmbedError: The model cannot be used, or the file cannot be written; what was written is kept.
        SpaceMismatch: The stored vectors are of another model.
    """
    if not (embedders.enabled and embedders.words and store.generations.active()):
        return
    generation, embedder = embedders.answering()
    path = place(store.path, generation)
    enough = store.generations.size(generation.id).chunks >= LEAST
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
