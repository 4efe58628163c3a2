"""What a text is embedded for: it stands in the ledger, and says how long it is worth waiting."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator


class Purpose(NamedTuple):
    """
    Attributes:
        name: As the ledger has it.
        patience: Seconds that may be spent between tries, in all.
        asked: Whether a person waits for just this: then a server that was down a moment ago is asked again.
    """

    name: str
    patience: float = 1.0
    asked: bool = False


SEARCH = Purpose("search")
SAVE = Purpose("save")
BACKFILL = Purpose("fill")
EMBED = Purpose("fill", patience=120.0, asked=True)
REINDEX = Purpose("reindex", patience=120.0, asked=True)
PROBE = Purpose("probe", asked=True)

_CURRENT: ContextVar[Purpose] = ContextVar("purpose", default=SEARCH)


def current() -> Purpose:
    """What is embedded for at the moment, in this thread."""
    return _CURRENT.get()


@contextmanager
def purpose(of: Purpose) -> Generator[None]:
    """What is embedded inside is for this."""
    token = _CURRENT.set(of)
    try:
        yield
    finally:
        _CURRENT.reset(token)
