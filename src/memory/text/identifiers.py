"""
Names in code (`getUserName`, `user_id`, `os.path.join`, `SHA256`) and their parts.

FTS5's `unicode61` splits at every sign between letters, also at the underscore, and takes `getUserName` as one token.
So the parts of such names are indexed beside the text, and a query looks for a name as a whole and by its parts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Letters of all other scripts, and their marks, count as small: they have no capitals, or hardly any names in code.
_LARGE = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0391-\u03ab\u0400-\u042f"
_SMALL = rf"[^\W\d_{_LARGE}]"
_OTHER = rf"[^\d_./:{_LARGE}]"

_PART = re.compile(
    rf"[{_LARGE}]{{2,}}s(?!{_OTHER})"  # APIs
    rf"|[{_LARGE}]+(?!{_OTHER})"  # HTTP, also in HTTPServer
    rf"|[{_LARGE}]?{_OTHER}+"
    r"|\d+"
)

# Where a part begins inside a word, and the rest of the word. It looks back because capitals and digits are rare:
# three times as fast as searching every word.
_BORDER = re.compile(
    rf"[\d{_LARGE}](?:(?<={_SMALL}[{_LARGE}])|(?<=[^\W\d_]\d)|(?<=[{_LARGE}]{{2}})(?={_SMALL})(?!s(?!{_SMALL})))\w*"
)

_SEPARATORS = ("/", "::", ".", "_")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_COUNTED = re.compile(r"\d+[^\W\d_]{1,2}")  # 10th, 90s, 5pm, 20kB: not names


def split(name: str) -> list[str]:
    """
    The parts of a name, in order: split at separators, capitals and digits.

    `getUserName` is get, User, Name; `HTTPServerError` is HTTP, Server, Error; `parseJSON2` is parse, JSON, 2;
    `userIDs` is user, IDs. Joined, they are the name without its separators.
    """
    return _PART.findall(name)


def parts(text: str) -> list[str]:
    """
    The parts, in lower case, of all names in a text that have capitals or digits inside.

    Each name counts once; its parts stay in order, so that a phrase finds them. A name that would fall into single
    characters, as digests and keys do, is left out.
    """
    found = {name.lower(): name for name in _names(text)}
    apart = ((name, split(name)) for name in found.values())
    return [part.lower() for name, own in apart if len(own) <= len(name) / 2 + 1 for part in own]


def _names(text: str) -> Iterator[str]:
    for border in _BORDER.finditer(text):
        start = border.start()
        while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        yield text[start : border.end()]


def named(word: str) -> bool:
    """
    Whether a word of a query is a name in code: separators, capitals inside, or letters mixed with digits.

    Not numbers, abbreviations ("e.g") or counts ("10th").
    """
    if any(sign in word for sign in ("_", "::", "/")):
        return True
    if "." in word:
        return _LETTERS.search(word) is not None or (word.count(".") > 1 and any(map(str.isdigit, word)))
    return len(split(word)) > 1 and _COUNTED.fullmatch(word) is None


def pieces(name: str) -> list[str]:
    """A name split once, at its loosest separator; the name itself if it has one part."""
    for separator in _SEPARATORS:
        if len(found := [piece for piece in name.split(separator) if piece]) > 1:
            return found
    return split(name)


def other(name: str) -> str:
    """
    How else a name may be written, for an index that splits at separators only; empty if there is no other way.

    `getUserName` as "get User Name", which also matches `get_user_name`; `user_id` as "userid",
    which also matches `userId`.
    """
    words = [word for word in re.split(r"[_./:]+", name) if word]
    all_parts = split(name)
    if len(all_parts) > len(words):
        return " ".join(all_parts)
    return "".join(words) if len(words) > 1 and not any(sign in name for sign in "./:") else ""
