"""Private keys with all of their body, and tokens that carry JSON."""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64decode
from binascii import Error as NotBase64
from typing import TYPE_CHECKING

from memory.redact.rule import Rule, compiled
from memory.redact.shape import strong

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from memory.redact.rule import Span

_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END [A-Z0-9 ]{0,60}-----"
_BREAK = r"(?:\s|\\[nrt]|[\"'+,#>|*]|//)"
_BODY = (  # atomic, not `)*+`: before 3.11.5 CPython goes wrong there, and text after the key is lost (gh-106052)
    rf"(?>(?:{_BREAK}|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Encryption):[^\r\n\\]{{0,200}}"
    rf"|[A-Za-z0-9+/]{{20,}}={{0,3}}|(?<![\"'])[A-Za-z0-9+/]{{1,19}}={{0,3}}(?=[ \t]*(?:[\r\n\"']|\\[nr]|$)))*)"
)
_RUN = r"[A-Za-z0-9+/=]{16,}"
_OPENSSH = rf"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{{20,}}={{0,3}}(?>(?:{_BREAK}{{1,8}}[A-Za-z0-9+/]{{20,}}={{0,3}})*)"
_WRAPPED = r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{80,}={0,2}"
_PUTTY = r"Private-Lines: ?\d{1,4}\s{1,4}(?P<s>(?:[A-Za-z0-9+/=]{2,100}(?:\s|\\[nr]){1,4}){1,400})"
_JWT = r"(?:(?<![\w.-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))eyJ[\w-]{6,}+\.[\w-]*+\.[\w-]++(?:\.[\w-]++){0,2}"


def _private(match: re.Match[str]) -> Span | None:
    """From the BEGIN line to the END line if most between them is a body; else as far as the body goes, if it was cut off."""
    text, start = match.string, match.end()
    dashes = text.find("-----", start)
    last = compiled(_END, folded=False).match(text, dashes) if dashes >= 0 else None
    if last and _mostly_body(text[start:dashes]):
        return match.start(), last.end()
    stop = start + len(_cut_off(text, start))
    return (match.start(), stop) if any(_runs(text[start:stop])) else None


def _mostly_body(text: str) -> bool:
    runs = list(_runs(text))
    return bool(runs) and sum(map(len, runs)) * 2 >= len("".join(text.split()))


def _runs(text: str) -> Iterator[str]:
    """The stretches of base64 that are no names: of a key's body all but the last."""
    return (run[0] for run in compiled(_RUN, folded=False).finditer(text) if strong(run[0], 16))


def _cut_off(text: str, start: int) -> str:
    body = compiled(_BODY, folded=False).match(text, start)
    return body[0].rstrip(" \t\r\n\"',") if body else ""


def _wrapped(match: re.Match[str]) -> Span | None:
    """The first line decodes to the BEGIN line of a private key."""
    try:
        line = b64decode(match[0][:92])
    except NotBase64:
        return None
    return match.span() if b"PRIVATE KEY" in line else None


def _signed(match: re.Match[str]) -> Span | None:
    """The first part decodes to a JSON object with an algorithm (RFC 7515, 4.1.1)."""
    head = match[0].partition(".")[0]
    try:
        said = json.loads(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (NotBase64, ValueError, RecursionError):
        return None
    return match.span() if isinstance(said, dict) and "alg" in said else None


KEYS: tuple[Rule, ...] = (
    Rule("private-key", _BEGIN, ("-----BEGIN ",), judge=_private),
    Rule("private-key", _WRAPPED, ("LS0tLS1CRUdJTi",), judge=_wrapped),
    Rule("private-key", _OPENSSH, ("b3BlbnNzaC1rZXktdjE",)),
    Rule("putty-private-key", _PUTTY, ("Private-Lines:",)),
    Rule("jwt", _JWT, ("eyJ",), judge=_signed),
)
