"""Secrets that their surroundings give away: headers, cookies, connection strings, files of logins, statements."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from typing import TYPE_CHECKING

from memory.redact.rule import Rule, literal, secret
from memory.redact.shape import code, made_up, mixed, strong, words

if TYPE_CHECKING:
    from memory.redact.rule import Span

_HEADER = r"authorization(?:\\?[\"'])?\s{0,8}(?:[:=]|=>)\s{0,8}(?:\\?[\"'])?"
_SCHEME = r"(?:(?:token|api-?key|oauth|splunk|key|digest|aws4-hmac-sha256)[ \t]{1,4})?"
_CREDENTIAL = r"(?P<s>[A-Za-z0-9._~+/=:|-]{8,8192})"
_BEARER = r"bearer[ \t]{1,4}(?P<s>[A-Za-z0-9._~+/=-]{16,8192})"
_BASIC = r"basic[ \t]{1,4}(?P<s>[A-Za-z0-9+/]{4,4096}={0,2})"
_COOKIE = r"(?:sess(?:ion)?[-_.]?(?:id|token|key)?|sid)=(?P<s>[^\s;,\"'&<>]{16,4096})"
_CONNECTION = r"(?:(?<=;)|(?<=; ))(?:password|pwd)[ \t]?=[ \t]?(?P<s>[^;\"'\r\n]{1,128})(?=[;\"'\r\n]|$)"
_CONNECTION_FIRST = r"(?:password|pwd)[ \t]?=[ \t]?(?P<s>[^;\"'\s]{1,128})(?=;[ \t]?[A-Za-z][\w ]{1,30}=)"
_NETRC = (
    r"machine\s{1,16}(?:[\w-]{1,64}\.[\w.-]{1,190}|localhost)\s{1,16}login\s{1,16}\S{1,128}\s{1,16}"
    r"(?:account\s{1,16}\S{1,128}\s{1,16})?password\s{1,16}(?P<s>[^\s`\"']{1,256})"
)
_SQL = r"identified[ \t]{1,4}(?:with[ \t]{1,4}\S{1,64}[ \t]{1,4})?by[ \t]{1,4}(?:password[ \t]{1,4})?'(?P<s>[^'\r\n]{1,128})'"
_LOGIN = r"auth(?:\\?\"\s{0,4}:\s{0,4}\\?\"|[ \t]?=[ \t]?\"?)(?P<s>[A-Za-z0-9+/]{8,4096}={0,2})"
_AWS = (
    r"secret[-_ ]?(?:access|(?<=aws[-_ ]secret[-_ ])|(?<=aws[-_ ]secret))[-_ ]?key(?:\\?[\"'])?\]?[ \t]{0,40}(?:=>|:=|[:=>])\s{0,8}"
    r"(?:\\?[\"'])?(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)


def _header(match: re.Match[str]) -> Span | None:
    held = match["s"]
    return (
        match.span("s") if re.search(r"\d", held) and not made_up(held) and not code(held.partition("=")[0]) else None
    )


def _bearer(match: re.Match[str]) -> Span | None:
    return match.span("s") if strong(match["s"], 16) or match["s"].count(".") == 2 else None


def _basic(match: re.Match[str]) -> Span | None:
    """What follows the word decodes to `user:password`."""
    held = match["s"]
    try:
        said = b64decode(held.rstrip("=") + "=" * (-len(held.rstrip("=")) % 4), validate=True).decode()
    except (NotBase64, UnicodeDecodeError):
        return None
    return match.span("s") if ":" in said and said.isprintable() else None


def _cookie(match: re.Match[str]) -> Span | None:
    held = match["s"]
    return (
        match.span("s")
        if strong(held.replace("%3A", ":").partition(":")[2] or held, 16)
        and not code(held)
        and not re.search(r"[(\[{]", held)
        else None
    )


def _scheme(match: re.Match[str]) -> Span | None:
    """What stands without a scheme may be words: `Authorization: Role-Based-v2`."""
    return None if words(match["s"]) else _header(match)


def _sql(match: re.Match[str]) -> Span | None:
    held = match["s"]
    return literal(match) if mixed(held) or match[0].isupper() or match[0].startswith("IDENTIFIED") else None


CONTEXTS: tuple[Rule, ...] = (
    Rule("basic-auth", _BASIC, ("basic ",), folded=True, judge=_basic),
    Rule("bearer-token", _BEARER, ("bearer ",), folded=True, judge=_bearer),
    Rule("basic-auth", rf"{_HEADER}basic[ \t]{{1,4}}{_CREDENTIAL}", ("authorization",), folded=True, judge=_header),
    Rule("bearer-token", rf"{_HEADER}bearer[ \t]{{1,4}}{_CREDENTIAL}", ("authorization",), folded=True, judge=_header),
    Rule("authorization", _HEADER + _SCHEME + _CREDENTIAL, ("authorization",), folded=True, judge=_scheme),
    Rule("basic-auth", _LOGIN, ('auth"', 'auth\\"', "auth=", "auth ="), judge=_basic),
    Rule("session-cookie", _COOKIE, ("sess", "sid="), folded=True, judge=_cookie),
    Rule("connection-password", _CONNECTION, ("password", "pwd"), folded=True, judge=literal),
    Rule("connection-password", _CONNECTION_FIRST, ("password", "pwd"), folded=True, judge=literal),
    Rule("netrc-password", _NETRC, ("machine ",), judge=literal),
    Rule("sql-password", _SQL, ("identified ",), folded=True, judge=_sql),
    Rule("aws-secret-key", _AWS, ("secret",), folded=True, judge=secret),
)
