"""The local model's tokenizer, and the pieces of a text."""

from __future__ import annotations

from memory.vectors.local.embedder import LocalEmbedder

LOCAL = LocalEmbedder()
WORDPIECE = LOCAL._tokenizer  # its vocabulary, without a second way to find it


def ids(text: str, limit: int) -> list[int]:
    """The first pieces of a text, without the marks around them."""
    [sentence] = WORDPIECE.sentences([text], limit)
    return sentence[1:-1]
