"""Code that is not ours: a plug-in, an embedder that was given, a provider's client."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from memory.schema.errors import Error, Garbled, Raised, Refused
from memory.schema.limits import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memory.schema.space import Vectors

T = TypeVar("T")


@contextmanager
def third_party(whose: str, mask: Callable[[str], str] = lambda text: text) -> Generator[None]:
    """
    Whatever third-party code raises inside, as an error of ours: no save and no search may fail for it.

    This is the one place that catches every Exception: what others raise cannot be listed.

    Args:
        mask: Takes keys out of what was raised.

    Raises:
        Raised: It raised something else than an error of ours.
    """
    try:
        yield
    except Error:
        raise
    except Exception as error:
        cause = printable(mask(f"{type(error).__name__}: {error}"))[:300]
        raise Raised(f"{whose} failed: {cause}") from error


def tried_twice(load: Callable[[], T], *failures: type[Exception]) -> T:
    """
    What loads a model, tried once more if it fails (CAP D39): a disk that is far away, or a download, may be back.

    Args:
        failures: What it raises then.
    """
    try:
        return load()
    except failures:
        return load()


def guarded_counter(tokens: Callable[[str], int]) -> Callable[[str], int]:
    """What counts tokens and is not ours, so that it raises Refused, whatever goes wrong."""

    def count(text: str) -> int:
        with third_party("counting tokens"):
            return int(tokens(text))

    return count


def secret(text: str, variable: str) -> str:
    """
    A key as it may be sent, without the line end that a file leaves on it.

    Raises:
        Refused: It could not be sent. The key itself is not repeated.
    """
    key = text.strip()
    if not (key.isascii() and key.isprintable()):
        hint = "A key is one line of plain letters, digits and signs."
        raise Refused(f"the key in {variable} holds what cannot be sent", hint=hint)
    return key


def mask_keys(text: str, *keys: str) -> str:
    """What a server or a client says, without keys: some repeat them, whole, in part or in quotes."""
    for key in filter(None, keys):
        for spelling in {key, repr(key)[1:-1]}:
            text = text.replace(spelling, "…")
    return re.sub(r"\b(sk|pk|key)-[\w*.-]{4,}", "…", text)


def unit_rows(rows: object, count: int, whose: str, dimension: int | None = None) -> Vectors:
    """
    What third-party code gave for so many texts, as unit rows.

    Args:
        rows: Whatever it gave.
        dimension: Width that the rows must have; None takes any that all have.

    Raises:
        Garbled: These are not `count` vectors of that width, finite and with a direction.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):
            vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise Garbled(f"{whose} gave vectors of several widths, or something else than numbers") from error
    rows_count = vectors.shape[0] if vectors.ndim else 0
    if rows_count != count:
        raise Garbled(f"{whose} gave {rows_count} vectors for {count} texts")
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise Garbled(f"{whose} gave something else than vectors")
    if dimension is not None and vectors.shape[1] != dimension:
        raise Garbled(f"{whose} gave vectors of {vectors.shape[1]} dimensions, and said {dimension}")
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise Garbled(f"{whose} gave a vector that is not finite or has no direction")
    unit: Vectors = np.ascontiguousarray((vectors / lengths).astype(np.float32))
    return unit
