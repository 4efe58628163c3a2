"""
What FTS5 is asked, and what of it a row holds.

https://www.sqlite.org/fts5.html#full_text_query_syntax
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store.columns import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from memory.schema.query import Term

BM25 = f"bm25(passages_fts, {', '.join(map(str, WEIGHTS.values()))})"


def quoted(text: str) -> str:
    """
    A text as one FTS5 string, whatever it holds.

    Bare words can be operators (`AND`, `NEAR`), and `apsw.fts5query.quote` leaves those bare.
    """
    return '"{}"'.format(text.replace("\0", " ").replace('"', '""'))


def expression(terms: Sequence[Term]) -> str:
    """Any of the terms. The i-th term is the i-th phrase, which `matched` relies on."""
    return " OR ".join(quoted(term.text) + "*" * term.prefix for term in terms)


def matched(api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> bytes:
    """Bit i is set when the row holds the i-th phrase; little-endian bytes, as an integer of SQLite ends at bit 62."""
    bits = 0
    for phrase in range(api.phrase_count):
        if api.phrase_columns(phrase):
            bits |= 1 << phrase
    return bits.to_bytes(api.phrase_count // 8 + 1, "little")
