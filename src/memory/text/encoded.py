"""What a text says in base64, hexadecimal digits, percent signs or escapes: what a model reads, and a person does not."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64, unhexlify
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{20,20000}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x|\\x)?[0-9a-fA-F]{2}[ :,]?){12,4000}(?![0-9A-Za-z])")
_ESCAPES = re.compile(r"\\u00([4-7][0-9a-fA-F])")
_PERCENTS = re.compile("%[4-7][0-9a-fA-F]")
_ENTITIES = re.compile("&#(?:6[5-9]|[789][0-9]|1[01][0-9]|12[0-2]|[xX][4-7][0-9a-fA-F]);")
_MOST = 40  # parts of a text that are decoded


def decoded(text: str) -> Iterator[str]:
    """The readable texts that stand encoded in this one, a few of each kind; each at most as long as the text."""
    for number, part in enumerate(_BASE64.finditer(text)):
        if number < _MOST and (said := _readable(_base64(part[0]))):
            yield said
    for number, part in enumerate(_HEX.finditer(text)):
        if number < _MOST and (said := _readable(_hex(part[0]))):
            yield said
    if "%" in text and len(_PERCENTS.findall(text)) > 2:
        yield unquote(text)
    if "&#" in text and _ENTITIES.search(text):
        yield unescape(text)
    if "\\u00" in text:
        yield _ESCAPES.sub(lambda escape: chr(int(escape[1], 16)), text)


def _base64(part: str) -> bytes:
    part = part.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return a2b_base64(part + "=" * (-len(part) % 4))
    except (Error, ValueError):
        return b""


def _hex(part: str) -> bytes:
    try:
        return unhexlify(re.sub(r"0x|\\x|[ :,]", "", part))
    except (Error, ValueError):
        return b""


def _readable(data: bytes) -> str:
    """A text of words; empty if it is none, as what is random or compressed."""
    try:
        said = data.decode()
    except UnicodeDecodeError:
        return ""
    return said if said.replace("\n", " ").isprintable() and " " in said else ""
