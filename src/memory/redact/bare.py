"""Values without quotes: where one ends, and whether it is a secret. A password may hold any sign that ends others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.redact.letters import scrambled
from memory.redact.rule import compiled
from memory.redact.shape import SHORT, bare_password, code, expression, generated, quoted_password, strong, token, words

if TYPE_CHECKING:
    import re

    from memory.redact.rule import Span

BARE = r"[\"'`]?(?P<bare>[^\s\"'`\\\u2018-\u201f\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]{1,256})"

_BEHIND = 200
"""Characters before a name in which a bracket may be open."""

_LEAST = 4  # characters
_FIRST = r"[^,;&|)\]}<>]*"
_NEXT = r"[,;&|][A-Za-z_][\w.-]{1,40}[=:]|&&|\|\||<(?=/|!--|[A-Za-z][\w-]{0,20}/?>)|;[A-Za-z][\w.-]{1,40}(?=[ \t][\w ]{1,30}=)"
"""Where the next pair, command or tag begins."""

_NAME = r"[ \t]?[\w.\[\]-]*"
_VARIABLE = r"(?:^|[\s\"'`(\[])[A-Z][A-Z0-9_]*=[\"']?$"
_OPENERS = {")": "(", "]": "[", "}": "{"}
_SLOT = r"<{1,3}(?:[A-Za-z][^<>\r\n]{0,80})?>|\[(?i:your|my|the|insert|enter|put)[^\[\]\r\n]{0,80}\]|&(?:lt|nbsp|#x3[cC]|#60|#160);"
"""What stands for a value that whoever reads it puts there, and may have blanks: `<your password>`."""

_CLOSER = r"[)\]}]"
_SIGILS = tuple("!&*@%|>")
"""What a value in YAML begins with that is not the value itself: a tag, an anchor, an alias, the sign of a block."""

_TAIL = ".,:;|*_"


def bare(match: re.Match[str], *, password: bool) -> Span | None:
    """Where the value of the group `bare` is, if it looks like a secret; `set` is what stands between it and the name."""
    text, start, said = match.string, match.start("bare"), match["set"] or ""
    whole = match["bare"][: _end(match)]
    if len(whole) < _LEAST or _none(match, said):
        return None
    if said == "=" and compiled(_VARIABLE, folded=False).search(text[max(0, start - 80) : start]):
        return _variable(match["bare"], start, password=password)
    whole = _closed(whole.rstrip(_TAIL), text, match.start())
    first = compiled(_FIRST, folded=False).match(whole, 1)  # a value may begin with what ends others
    held = whole[: first.end()].rstrip(".,:!?*_") if first else ""
    if code(whole) or code(held):
        return None
    fits = not held.startswith(("(", "[", "{")) and (token(held) or (password and bare_password(held)))
    return (start, start + max(len(held), len(whole))) if fits or generated(whole) else None


def _none(match: re.Match[str], said: str) -> bool:
    """It is compared with, an anchor of YAML or its like, a slot for a value, or the beginning of an expression."""
    text, held = match.string, match["bare"]
    if (said.endswith("==") or said.startswith("!")) and held.rstrip("){}]:;,").isidentifier():
        return True  # what a name is compared with is another, or stands in quotes
    sign = held.startswith(_SIGILS) and (said.startswith(":") or held.startswith("&"))
    if sign and not _secret(held.lstrip("".join(_SIGILS)), password=match["password"] is not None):
        return True
    slot = compiled(_SLOT, folded=False).match(text, match.start("bare"))
    return slot is not None or expression(held, text[match.end("bare") : match.end("bare") + 10])


def _variable(held: str, start: int, *, password: bool) -> Span | None:
    """What is set by `NAME=value`: the value goes to the next blank or quote, and may be a word."""
    whole = held.rstrip(",.;)")
    first = compiled(_FIRST, folded=False).match(whole)
    parts = {whole, first[0] if first else ""}
    fits = quoted_password if password else _literal
    return (start, start + len(whole)) if any(map(fits, parts)) and not code(whole) else None


def _secret(held: str, *, password: bool) -> bool:
    """What is behind a sign that may be of YAML, or be the first of the value."""
    if generated(held) or strong(held) or (password and bare_password(held) and not words(held)):
        return True
    return scrambled(held, SHORT) and not code(held)


def _literal(held: str) -> bool:
    return strong(held, 8) and not code(held)


def _end(match: re.Match[str]) -> int:
    """How many characters of a value are before what cannot be part of it."""
    held, before = match["bare"], match.string[max(0, match.start() - 80) : match.start()]
    ends = [len(held)]
    if found := compiled(_NEXT, folded=False).search(held):
        ends.append(found.start())
    for begins, ended in (("?&", "&#"), (";", ";")):
        signs = [sign for sign in ended if sign in held]
        name = before[max(map(before.rfind, begins)) :] if signs else ""
        if name and name[0] in begins and compiled(_NAME, folded=False).fullmatch(name, 1):
            ends += map(held.find, signs)
    if (match["set"] or "").startswith("%"):
        ends += [held.find(sign) for sign in ("%26", "%22", "%2C", "%7D") if sign in held]
    return min(ends)


def _closed(held: str, text: str, name: int) -> str:
    """A value without what closes a bracket that was opened before its name, or that nothing opened at its end."""
    line = text[max(0, name - _BEHIND) : name].rpartition("\n")[2]
    for found in compiled(_CLOSER, folded=False).finditer(held):
        at, sign = found.start(), found[0]
        opener = _OPENERS[sign]
        if held.count(opener, 0, at) < held.count(sign, 0, at + 1) and line.count(opener) > line.count(sign):
            return held[:at].rstrip(_TAIL)
    while held and held[-1] in _OPENERS and held.count(_OPENERS[held[-1]]) < held.count(held[-1]):
        held = held[:-1].rstrip(_TAIL)
    return held
