"""Very long chunks, embedded a few windows at a time, if need be by one process after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from memory.schema.space import Window
from memory.text.tokens import passage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memory.embed import Embedder
    from memory.schema.memory import Excerpt
    from memory.schema.space import Vectors
    from memory.store import Store

SHARE = 16_000
"""Characters embedded before the clock is checked: about 16 windows, a second of the local model."""

WINDOWS = 16
"""Windows of a longer text that are embedded and stored together."""


class Share(NamedTuple):
    """Chunks to embed together, or a single `long` one."""

    excerpts: tuple[Excerpt, ...]
    long: bool = False


def shares(excerpts: Sequence[Excerpt], most: int | None) -> Iterator[Share]:
    """
    Divide chunks into shares; the long ones come last, each by itself.

    Args:
        most: The most characters of a share; None puts all that are not long into one.
    """
    some: list[Excerpt] = []
    size = 0
    for excerpt in excerpts:
        if long(excerpt):
            continue
        if some and most is not None and size + len(excerpt.text) > most:
            yield Share(tuple(some))
            some, size = [], 0
        some.append(excerpt)
        size += len(excerpt.text)
    if some:
        yield Share(tuple(some))
    yield from (Share((excerpt,), long=True) for excerpt in excerpts if long(excerpt))


def long(excerpt: Excerpt) -> bool:
    """Whether a chunk is embedded gradually."""
    return len(excerpt.text) > SHARE


def embed_on(
    store: Store, embedder: Embedder, generation: int, excerpt: Excerpt, overlap: int, *, going: Callable[[], bool]
) -> bool:
    """
    Embed further windows of a long chunk; at least some, so that it is done one day however little time there is.

    What is made is stored, and the next call continues there, in any process.

    Args:
        going: Whether to continue; asked after every `WINDOWS` windows.

    Returns:
        Whether the chunk has its vectors now.

    Raises:
        EmbedError: The model cannot be used, or does not take a window.
    """
    text = passage(excerpt, overlap)
    windows, stamp = embedder.windows(text), crc32(text.encode())
    before = store.queue.begun(generation, excerpt.id, stamp)
    made: list[Vectors] = [] if before is None else [before]
    done = sum(map(len, made))
    while done < len(windows):
        vectors = embedder.embed(windows[done : done + WINDOWS], "passage")
        if not store.queue.add_begun(generation, excerpt.id, stamp, vectors, first=done):
            return False  # another process continues with it, or it was deleted
        made.append(vectors)
        done += len(vectors)
        if done < len(windows) and not going():
            return False
    import numpy as np

    rows = tuple(Window(excerpt.id, number, number) for number in range(len(windows)))
    return bool(store.vectors.set_vectors(generation, np.concatenate(made), rows))
