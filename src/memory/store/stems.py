"""The words that the keyword index holds of a text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, cast

import apsw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@lru_cache(maxsize=1)
def _tokenizer() -> Callable[..., Iterable[Iterable[str]]]:
    # The tokenizer outlives the connection it came from.
    made = apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    return cast("Callable[..., Iterable[Iterable[str]]]", made)


WORD = 40
"""Characters of a text that may be asked for again: the words of a query are, at each step of its search."""


def stems(text: str) -> tuple[str, ...]:
    """The tokens that FTS5's `porter unicode61 remove_diacritics 2` makes of a text, in order."""
    return _known(text) if len(text) <= WORD else _stems(text)


@lru_cache(maxsize=4096)
def _known(text: str) -> tuple[str, ...]:
    return _stems(text)


def _stems(text: str) -> tuple[str, ...]:
    found = _tokenizer()(text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
    return tuple(token for tokens in found for token in tokens)
