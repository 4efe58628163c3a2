"""What counts the tokens that a model makes of a text, without loading the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.embed.registry import DEFAULTS
from memory.embed.third_party import third_party

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.config.settings import EmbeddingSettings

__all__ = ["configured", "guarded"]


def configured(settings: EmbeddingSettings) -> Callable[[str], int] | None:
    """
    That of the configured model; None if its vocabulary is not here.

    Reads the vocabulary, and neither numpy nor weights.
    """
    if settings.provider != "local" or settings.model not in {"", DEFAULTS["local"]}:
        return None
    from memory.embed.local import vocabulary

    folder = vocabulary.folder()
    try:
        return None if folder is None else vocabulary.wordpiece(folder).count
    except (OSError, ValueError):  # whoever embeds with it is told
        return None


def guarded(tokens: Callable[[str], int]) -> Callable[[str], int]:
    """One that is not ours; it raises Refused, whatever goes wrong."""

    def count(text: str) -> int:
        with third_party("counting tokens"):
            return int(tokens(text))

    return count
