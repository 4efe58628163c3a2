"""Embedding chunks: a text that the model refuses is left out, and a very long one is embedded a few windows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from memory.schema.errors import EmbedError, Garbled, Raised, Refused, Unfit, Unreachable, printable
from memory.schema.space import Window
from memory.schema.step import PURPOSE, purpose
from memory.store import Failure, Store
from memory.store.narrow import rounded
from memory.text.tokens import passage
from memory.vectors import FINGERPRINT_TEXT
from memory.vectors.meter import of_text
from memory.vectors.registry import embedded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from memory.schema.memory import ChunkId, Excerpt
    from memory.schema.space import Embedded, Vectors
    from memory.vectors.registry import MeteredEmbedder

HOPELESS = 3
"""After so many refused texts in a row, the model is tested with a text that it must accept."""

SHARE = 16_000
"""Characters embedded before the clock is checked: about 16 windows, a second of the local model."""

WINDOWS = 16
"""Windows of a longer text that are embedded and stored together."""


class Tally(NamedTuple):
    """How many chunks got a vector, how many texts the model refused, and the most recent reason for that."""

    done: int = 0
    failed: int = 0
    error: str = ""

    def plus(self, more: Tally) -> Tally:
        return Tally(self.done + more.done, self.failed + more.failed, more.error or self.error)


class Target(NamedTuple):
    """An index version that is being filled, with its embedder."""

    store: Store
    generation: int
    embedder: MeteredEmbedder
    overlap: int
    moment: datetime

    def fill(self, excerpts: Sequence[Excerpt]) -> Tally:
        """
        Embed chunks and write their vectors; texts that the model refuses are marked as failed.

        Raises:
            EmbedError: The model cannot be used at all. Nothing was written.
        """
        parts, failed = self._isolated(excerpts)
        done = sum(self._keep(part.vectors, part.windows) for part in parts)
        return Tally(done).plus(self._failed(failed))

    def fill_share(self, excerpts: Sequence[Excerpt], going: Callable[[], bool]) -> Tally:
        """Embed one of the `shares`; of a single long chunk, as many windows as there is time for."""
        if not long(excerpts[0]):
            return self.fill(excerpts)
        [excerpt] = excerpts
        try:
            return Tally(int(self._fill_on(excerpt, going)))
        except (Refused, Garbled, Unreachable) as error:
            self._judge(error)
            return self._failed([(excerpt.id, error)])

    def _keep(self, vectors: Vectors, windows: Sequence[Window]) -> int:
        with self.store.transaction(durable=False):
            return self.store.vectors.set_vectors(self.generation, vectors, windows)

    def _isolated(self, excerpts: Sequence[Excerpt]) -> tuple[list[Embedded], list[tuple[ChunkId, EmbedError]]]:
        """
        Embed chunks; returns vectors, and the refused chunks, which are found by halving the batch.

        An error may concern one text or the whole model, whatever it says. So the model is tested with a text that it
        must accept, when the first batch fails and before a text is left out: a model that is down then costs two calls,
        and no text is blamed.
        """
        parts: list[Embedded] = []
        failed: list[tuple[ChunkId, EmbedError]] = []
        stack = [excerpts]
        while stack:
            some = stack.pop()
            try:
                made = embedded(self.embedder, some, self.overlap)
            except (Refused, Garbled, Unreachable) as error:
                if not isinstance(error, Unfit | Garbled) and (len(some) == 1 or not (parts or stack)):
                    self._judge(error, among=len(some))
                if len(some) > 1:  # the first half on top, so that vectors are made in order
                    middle = len(some) // 2
                    stack += [some[middle:], some[:middle]]
                    continue
                failed.append((some[0].id, error))
                if len(failed) == HOPELESS and not parts:
                    self._ask()
                continue
            named = tuple(window._replace(chunk=some[window.chunk].id) for window in made.windows)
            parts.append(made._replace(windows=named))
        return parts, failed

    def _judge(self, error: EmbedError, *, among: int = 1) -> None:
        """
        Raise an error if the model fails, not only some texts.

        Args:
            among: Number of texts embedded together. For several, our embedders have already tested the model.
        """
        if not of_text(error) or (among > 1 and not isinstance(error, Raised)):
            raise error
        self._ask()

    def _ask(self) -> None:
        """Test the model with a text that it must accept, even if its circuit is open because of another text."""
        with purpose(PURPOSE.get()._replace(asked=True)):
            self.embedder.embed([FINGERPRINT_TEXT], "passage")

    def _failed(self, failed: Sequence[tuple[ChunkId, EmbedError]]) -> Tally:
        for id, error in failed:
            self.store.queue.release([id], Failure(printable(str(error)), self.moment))
        return Tally(0, len(failed), str(failed[-1][1]) if failed else "")

    def _fill_on(self, excerpt: Excerpt, going: Callable[[], bool]) -> bool:
        """
        Embed further windows of a long chunk; at least some, so that it gets done even with little time per call.

        The vectors are stored, and the next call continues, in any process.

        Args:
            going: Whether to continue; asked after every `WINDOWS` windows.

        Returns:
            Whether the chunk has its vectors now.

        Raises:
            EmbedError: The model cannot be used, or does not take a window.
        """
        queue, generation = self.store.queue, self.generation
        text = passage(excerpt, self.overlap)
        windows, stamp = self.embedder.windows(text), crc32(text.encode())
        before = queue.partial(generation, excerpt.id, stamp)
        made: list[Vectors] = [] if before is None else [before]
        done = sum(map(len, made))
        while done < len(windows):
            vectors = rounded(self.embedder.embed(windows[done : done + WINDOWS], "passage"))
            if not queue.add_partial(generation, excerpt.id, stamp, vectors, first=done):
                return False  # another process continues with it, or it was deleted
            made.append(vectors)
            done += len(vectors)
            if done < len(windows) and not going():
                return False
        import numpy as np

        rows = tuple(Window(excerpt.id, number, number) for number in range(len(windows)))
        return bool(self._keep(np.concatenate(made), rows))


def shares(excerpts: Sequence[Excerpt], most: int | None) -> Iterator[Sequence[Excerpt]]:
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
            yield some
            some, size = [], 0
        some.append(excerpt)
        size += len(excerpt.text)
    if some:
        yield some
    yield from ([excerpt] for excerpt in excerpts if long(excerpt))


def long(excerpt: Excerpt) -> bool:
    """Whether a chunk is embedded a few windows at a time."""
    return len(excerpt.text) > SHARE
