"""Secrets that only their name gives away: `password = "…"`, `API_KEY=…`, `--token …`, `{"secret": "…"}`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.redact.rule import Rule, compiled
from memory.redact.shape import bare_password, code, quoted_password, strong

if TYPE_CHECKING:
    from memory.redact.rule import Span

FIELD = "secret-field"
"""The name for what is taken out because the key of its JSON value names a secret."""

_KINDS_OF_KEY = (
    "api|access|auth|secret|private|public_secret|signing|signature|encryption|decryption|master|account|storage|shared|session|"
    "app|application|consumer|service|subscription|functions|webhook|hmac|deploy|jwt|license|admin|server|ssh|host"
).split("|")
_BEFORE_KEY = "|".join(f"(?<={kind})|(?<={kind}[-_. ])" for kind in _KINDS_OF_KEY)
_HUMAN = r"pass(?:w(?:or)?d|wort|phrase|code)s?|pwd"
_STEM = (
    rf"(?:(?P<password>{_HUMAN}|(?:(?<![a-z])|(?-i:(?<=[a-z])(?=P)))pass)|(?:secret|(?<!publickey)token|credential)|(?:{_BEFORE_KEY})key)"
    r"(?:(?:[-_. ]?access)?[-_. ]?key(?:[-_]?base)?)?"
)
_SUFFIX = (
    r"(?:[-_]?\d{1,2})?(?:[-_.]?(?:production|prod|development|dev|staging|stage|testing|test|live|qa|local|main|master"
    r"|old|new|current|previous|primary|secondary|plaintext|plain|raw|value|base64|b64|hex|string|str|text|admin|root"
    r"|user|db|default))?"
)
_KEY_END = r"(?![\w-]|\.\w)(?:\\?[\"'`]|&quot;)?\]?[*_]{0,3}"
_TYPE = r"(?:[ \t]{0,8}:[ \t]{0,8}(?:Optional\[)?&?(?:'static )?(?:str|string|bytes|text|secretstr)\]?(?:[ \t]?\|[ \t]?None)?(?=[ \t]{0,8}=))?"
_SET = r"[ \t]{0,40}(?P<set>=>|:=|!?={1,3}|:(?!:)[*_]{0,3})\s{0,2}[ \t]{0,40}"
_QUOTED = r"(?:[bru]|&)?(?P<quote>\\?[\"'`]|&quot;)(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n])){1,512})(?P=quote)"
_BARE = r"[\"'`]?(?P<bare>[^\s\"'`<>,;&|)\]}\\]{1,128})"
_ELEMENT = r">(?P<element>[^<>\s]{1,512})</"

_REST = r"[^\s\"'`<>,;&|)\]}\\]*"
_NAME = r"(?:^|[\s\"'`(\[])[A-Z][A-Z0-9_]*=[\"']?$"
_SIGILS = tuple("!&*@%")
"""What a value in YAML begins with that is not the value itself: a tag, an anchor, an alias."""

_WHOLE = r"[^\s\"'`]+"


def assigned() -> tuple[Rule, ...]:
    """The rule for what is set to a name. A flag's value stands after a blank, and only a flag's: `_value` looks back."""
    pattern = rf"{_STEM}{_SUFFIX}(?:{_KEY_END}{_TYPE}(?:{_SET}|[ \t]{{1,4}})(?:{_QUOTED}|{_BARE})|{_ELEMENT})"
    words = ("pass", "pwd", "secret", "token", "key", "credential")
    return (Rule("assigned-secret", pattern, words, folded=True, nested=True, judge=_value),)


def names_secret(key: str) -> bool:
    """Whether a key of JSON names what must not be kept: `password`, `apiKey`, `X-Auth-Token`, `Authorization`."""
    spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip())
    whole = rf"(?:.{{0,64}}[^a-z])??(?:{_STEM}(?:(?<!token)s)?|(?:proxy[-_])?authorization|(?:set[-_])?cookie){_SUFFIX}"
    return len(key) <= 128 and compiled(whole, folded=True).fullmatch(spelled) is not None


def _value(match: re.Match[str]) -> Span | None:
    """Where the value is, if it looks like a secret."""
    password = match["password"] is not None
    if match["element"] is not None:
        held = match["element"]
        return match.span("element") if (quoted_password(held) if password else strong(held)) else None
    if match["set"] is None and not _flag(match):
        return None
    if match["quoted"] is not None:
        held = match["quoted"]
        return (
            match.span("quoted")
            if (quoted_password(held) if password else strong(held, 8) and not code(held))
            else None
        )
    return _variable(match, password=password) or _bare(match, password=password)


def _flag(match: re.Match[str]) -> bool:
    """The name is the end of `--name`."""
    text, stop = match.string, match.start()
    dashes = text.rfind("--", max(0, stop - 48), stop)
    return dashes >= 0 and compiled(r"[\w-]*", folded=False).fullmatch(text, dashes, stop) is not None


def _bare(match: re.Match[str], *, password: bool) -> Span | None:
    start, held = match.start("bare"), match["bare"].rstrip(".,:!?*_")
    if held.startswith(_SIGILS) and (match["set"] or "").startswith(":"):
        return None
    if not (bare_password(held) if password else strong(held) and not code(held)):
        return None
    rest = compiled(_REST, folded=False).match(match.string, match.end("bare"))
    return start, start + len(f"{match['bare']}{rest[0] if rest else ''}".rstrip(".,:*_"))


def _variable(match: re.Match[str], *, password: bool) -> Span | None:
    """What is set by `NAME=value`: the value goes to the next blank or quote, and may be a word."""
    text, start = match.string, match.start("bare")
    if match["set"] != "=" or not compiled(_NAME, folded=False).search(text[max(0, start - 80) : start]):
        return None
    held = match["bare"].rstrip(",.;)")
    if not (quoted_password(held) if password else strong(held, 8) and not code(held)):
        return None
    rest = compiled(_WHOLE, folded=False).match(text, start)
    return start, start + len(rest[0].rstrip(",.;)")) if rest else match.end("bare")
