"""Vectors, the spaces within which they compare, and the cost of embedding: calls, budgets, open circuits."""

from __future__ import annotations

import re
from array import array
from functools import lru_cache
from operator import mul
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:  # numpy takes 70 ms to import; a search without a model never does
    from collections.abc import Iterable
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    """Shape (n, dimension), C order, float32, finite, every row of length 1. One vector: shape (dimension,)."""

    Plain: TypeAlias = array[float]
    """The numbers of one vector without numpy: an array of type "f", or "d" for sums."""


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
        Check that vectors have the width of this space.

        Raises:
            DimensionMismatch: The space has another width.
        """
        from memory.schema.errors import DimensionMismatch

        if width != self.dimension:
            raise DimensionMismatch(self, self._replace(dimension=width), width=width)

    def __str__(self) -> str:
        return f"{self.provider}:{self.model} ({self.dimension} dimensions)"


RECIPE = 2
"""
Version of `memory.text.tokens.passage`. Vectors of different recipes do not compare, so a change makes a new space.
"""


def recipe(prefix: str) -> int:
    """The recipe of passages with a model's prefix before them; `RECIPE` if the prefix is empty."""
    if not prefix:
        return RECIPE
    from zlib import crc32  # 0.3 ms that most starts need not spend

    return RECIPE + (crc32(prefix.encode()) << 8)


class Window(NamedTuple):
    """The place of a vector in its array: the chunk, which of its windows, and the row."""

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
    How near the baseline questions come to the vectors of an index version, although the store cannot answer them.

    Attributes:
        stamp: Hash of the texts of questions and answers.
        right: The median cosine of a baseline question with its right answer, for this model, -1..1.
        nearest: For each question its highest cosine with a vector of the index version, -1..1; -1 without vectors.
        mean: The mean cosine of a question and a vector, -1..1; 0 without vectors.
        loose: How many values of `nearest` may be too high, because the nearest vector was deleted. None is too low.
        vectors: Number of vectors in the index version.
    """

    stamp: int
    right: float
    nearest: tuple[float, ...]
    mean: float = 0.0
    loose: int = 0
    vectors: int = 0


# What it costs -----------------------------------------------------------------


SUMMED = ("calls", "texts", "tokens", "bytes_out", "seconds", "cost")
"""The fields that are added up when several calls become one entry."""


class UsageEntry(NamedTuple):
    """
    An entry of the usage log: one request to a host, or all calls of a model inside this process on one day.

    Attributes:
        moment: Time of the request, UTC; for a whole day, of its first call.
        purpose: "save", "search", "fill", "reindex", "words" or "probe".
        host: Where the texts went, e.g. "http://127.0.0.1:11434"; empty if they stayed in this process.
        calls: Number of calls; 1 for a request.
        texts: Number of embedded texts.
        tokens: The provider's count; our estimate until it arrives, or if it never does.
        bytes_out: Size of what was sent, in bytes of UTF-8; 0 if the texts stayed in this process.
        seconds: Duration.
        cost: Estimated, in US dollars; 0 if no price is known.
        error: What went wrong; empty if nothing did.
        id: The entry's id; 0 before it is written.
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
        """The sum of this entry and a former one of the same day, provider, model and purpose."""
        sums = {name: getattr(former, name) + getattr(self, name) for name in SUMMED}
        return self._replace(moment=min(former.moment, self.moment), error=self.error or former.error, **sums)

    @property
    def stays(self) -> bool:
        """Whether the texts stayed on this machine: in this process, or sent to a loopback address."""
        return stays(self.host)


def stays(host: str) -> bool:
    """Whether texts sent to this URL stay on this machine: it is empty or has a loopback address."""
    return not host or re.match(r"https?://(localhost|127\.[\d.]+|\[::1\])(:|/|$)", host) is not None


class Budget(NamedTuple):
    """
    A limit on the requests to one host in one day (UTC).

    Attributes:
        calls, tokens: Maximum of each; None is no limit.
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
        until: When the next request may be sent, UTC.
        error: The last error.
    """

    host: str
    until: datetime
    error: str


LONGEST = 30  # characters of one limit in a budget; longer numbers are mistakes
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
        vector: An array of type "f"; its length is below 1.
        square: Its dot product with itself.
        unit: The vector scaled to length 1; unchanged if its length is 0.
    """

    vector: Plain
    square: float
    unit: Plain


def shrunk(total: Plain, count: int) -> Centre:
    """
    The centre of some vectors.

    Args:
        total: Their sum, an array of type "d".
    """
    return _shrunk(total.tobytes(), count)


@lru_cache(maxsize=4)  # a search needs it twice, and so does the next if nothing was saved
def _shrunk(total: bytes, count: int) -> Centre:
    vector = array("f", [one / (count + SHRINK) for one in array("d", total)])
    square = dot(vector, vector)
    return Centre(vector, square, array("f", [one / (square**0.5 or 1.0) for one in vector]))


def dot(one: Iterable[float], other: Iterable[float]) -> float:
    """The dot product of two vectors."""
    product: float = sum(map(mul, one, other))
    return product
