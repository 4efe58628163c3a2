"""Vectors, the spaces in which they compare, and what embedding costs: calls, budgets, hosts that are left alone."""

from __future__ import annotations

import re
from array import array
from functools import lru_cache
from operator import mul
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:  # numpy costs 70 ms to import; a search that asks no model never pays it
    from collections.abc import Iterable
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    """Shape (n, dimension), C order, float32, finite, every row of length 1. One vector: shape (dimension,)."""

    Plain: TypeAlias = array[float]
    """Numbers of one vector where there may be no numpy: an array of "f", or of "d" for sums."""


class Space(NamedTuple):
    """
    Vectors compare only within a space: one provider, one model, one passage recipe, one width.

    Attributes:
        recipe: Which text is embedded for a chunk: see `recipe`.
        dimension: Width of a vector, from 1.
    """

    provider: str
    model: str
    recipe: int
    dimension: int

    def check_width(self, width: int) -> None:
        """
        Raises:
            DimensionMismatch: Vectors that wide are of another space.
        """
        from memory.schema.errors import DimensionMismatch

        if width != self.dimension:
            raise DimensionMismatch(self, self._replace(dimension=width), width=width)

    def __str__(self) -> str:
        return f"{self.provider}:{self.model} ({self.dimension} dimensions)"


RECIPE = 2
"""Version of `memory.text.tokens.passage`. Vectors of different recipes do not compare, so a change makes a new space."""


def recipe(prefix: str) -> int:
    """The recipe of passages with a model's prefix before them; `RECIPE` if the prefix is empty."""
    if not prefix:
        return RECIPE
    from zlib import crc32  # 0.3 ms that most starts need not spend

    return RECIPE + (crc32(prefix.encode()) << 8)


class Window(NamedTuple):
    """The place of a vector in the array that comes with it: of which chunk and which of its windows it is."""

    chunk: int  # ChunkId for `set_vectors`, index of the chunk in an `Entry`
    window: int  # from 0
    row: int  # of the array


class Embedded(NamedTuple):
    """
    Vectors made for an entry before it is written.

    Attributes:
        vectors: Shape (n, space.dimension).
        windows: For each row, its chunk and window; `chunk` is the index within the entry.
    """

    space: Space
    vectors: Vectors
    windows: tuple[Window, ...]


class Strangers(NamedTuple):
    """
    How near questions that are strangers to a store come to the vectors of a generation, and right answers to theirs.

    Attributes:
        stamp: Of the texts they were made from.
        right: The median cosine of a question with its right answer, in any store of this model, -1..1.
        nearest: Of each stranger the highest cosine with a vector of the generation, -1..1; -1 if it has none.
        mean: The mean cosine of a stranger and a vector, -1..1; 0 without vectors.
        loose: How many of `nearest` may be too high, because the vector that was nearest has gone. None is too low.
        vectors: How many the generation has.
    """

    stamp: int
    right: float
    nearest: tuple[float, ...]
    mean: float = 0.0
    loose: int = 0
    vectors: int = 0


# What it costs -----------------------------------------------------------------


SUMMED = ("calls", "texts", "tokens", "bytes_out", "seconds", "cost")
"""What is added up where several calls are one line."""


class UsageEntry(NamedTuple):
    """
    One line of the usage log: a request to a host, or what was embedded inside this process on one day.

    Attributes:
        moment: When it was made; for a day's line, when the first of its calls was.
        purpose: "save", "search", "fill", "reindex", "words" or "probe".
        host: Where the texts went, e.g. "http://127.0.0.1:11434"; empty if they stayed in this process.
        calls: 1 for a request.
        texts: How many were embedded.
        tokens: The provider's count; our estimate until it arrives, or if it never does.
        bytes_out: Size of what was sent, in bytes of UTF-8; 0 if the texts stayed in this process.
        seconds: How long it took.
        cost: Estimated, in US dollars; 0 if no price is known.
        error: What went wrong; empty if nothing did.
        id: The line's id; 0 if it has not been entered yet.
    """

    moment: datetime
    provider: str
    model: str
    purpose: str
    host: str = ""
    calls: int = 1
    texts: int = 0
    tokens: int = 0
    bytes_out: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    error: str = ""
    id: int = 0

    def after(self, former: UsageEntry) -> UsageEntry:
        """Both as one line: of one day, provider, model and purpose."""
        sums = {name: getattr(former, name) + getattr(self, name) for name in SUMMED}
        return self._replace(moment=min(former.moment, self.moment), error=self.error or former.error, **sums)

    @property
    def stays(self) -> bool:
        """Whether its texts stayed on this machine: in this process, or with a server at a loopback address."""
        return stays(self.host)


def stays(host: str) -> bool:
    """Whether texts that go to this URL stay on this machine: it is empty, or of a loopback address."""
    return not host or re.match(r"https?://(localhost|127\.[\d.]+|\[::1\])(:|/|$)", host) is not None


class Budget(NamedTuple):
    """
    A limit on the requests to one host in one day (UTC).

    Attributes:
        calls, tokens: The most of each; None is no limit.
    """

    calls: int | None = None
    tokens: int | None = None

    def __str__(self) -> str:
        named = ((self.calls, "calls"), (self.tokens, "tokens"))
        return " and ".join(f"{limit:,} {unit}" for limit, unit in named if limit is not None) or "no limit"


class OpenCircuit(NamedTuple):
    """
    An open circuit breaker: a host that did not answer and is left alone for a while.

    Attributes:
        until: When it may be asked again.
        error: What happened the last time.
    """

    host: str
    until: datetime
    error: str


LONGEST = 30  # characters of one limit in a budget: no number that anybody means is longer
_UNITS = {"calls": "calls", "call": "calls", "tokens": "tokens", "token": "tokens"}
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}


def budget(text: str) -> Budget:
    """
    A budget as written in the settings: "500 calls", "200k tokens", "500 calls, 1.5M tokens", or nothing.

    Raises:
        ValueError: It has another form.
    """
    limits: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.lower().split(","))):
        found = re.fullmatch(r"(\d[\d_]*(?:\.\d+)?)\s*([km]?)\s*([a-z]+)", part)
        if found is None or found[3] not in _UNITS or len(part) > LONGEST:
            raise ValueError(f"{part!r} is not a budget; write it like 500 calls or 200k tokens")
        limits[_UNITS[found[3]]] = round(float(found[1].replace("_", "")) * _TIMES[found[2]])
    return Budget(**limits)


SHRINK = 50
"""The centre of n vectors is their sum over n + SHRINK, because the mean of a few vectors is mostly those vectors."""


class Centre(NamedTuple):
    """
    The centre of some vectors.

    Attributes:
        vector: An array of "f", shorter than 1.
        square: Its product with itself.
        unit: The same direction at length 1; the centre itself if it has no length.
    """

    vector: Plain
    square: float
    unit: Plain


def shrunk(total: Plain, count: int) -> Centre:
    """
    The centre of some vectors.

    Args:
        total: Their sum, an array of "d".
    """
    return _shrunk(total.tobytes(), count)


@lru_cache(maxsize=4)  # a search needs it twice, and the next one too if nothing was saved
def _shrunk(total: bytes, count: int) -> Centre:
    vector = array("f", [one / (count + SHRINK) for one in array("d", total)])
    square = dot(vector, vector)
    return Centre(vector, square, array("f", [one / (square**0.5 or 1.0) for one in vector]))


def dot(one: Iterable[float], other: Iterable[float]) -> float:
    """The product of two vectors."""
    product: float = sum(map(mul, one, other))
    return product
