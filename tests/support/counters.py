"""What counts tokens in tests, beside the estimate."""

from __future__ import annotations

import re

from memory.vectors.local import model_folder
from memory.vectors.local.wordpiece import tokenizer

_FOLDER = model_folder()
assert _FOLDER is not None, "the tests need the local model's package"

pieces = tokenizer(_FOLDER).count
"""Those of the local model."""


def signs(text: str) -> int:
    """A model with a token for every character that it sees."""
    return len(re.sub(r"[\s\ufeff\u200b-\u200d]", "", text))
