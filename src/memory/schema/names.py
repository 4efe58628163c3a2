"""When two texts are one, and two tags: narrower than for a search, which finds what only looks alike (`memory.text.fold`)."""

from __future__ import annotations


def identical(text: str) -> str:
    """What a text has in common with those that are the same: in NFC, without its line ends' kind and the blanks around it."""
    return composed(text.replace("\r\n", "\n").replace("\r", "\n").strip())


def tag_key(tag: str) -> str:
    """What the spellings of one tag have in common: NFC in small letters."""
    return tag.lower() if tag.isascii() else composed(composed(tag).lower())


def composed(text: str) -> str:
    """A text in NFC: of texts that are canonically equivalent there is one."""
    if text.isascii():
        return text
    from unicodedata import normalize  # most texts do without

    return normalize("NFC", text)
