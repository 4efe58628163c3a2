"""
The rules for secrets with a form of their own, or between signs that are only there for them.

These are private keys, signed tokens and tokens of issuers (`issuers`); passwords in addresses, `Authorization`
headers, cookies.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, urlsafe_b64decode
from typing import TYPE_CHECKING

from memory.redact.detectors import (
    bare_password,
    code,
    generated,
    made_up,
    mixed,
    odd_capitals,
    scrambled,
    strong,
    words,
)
from memory.redact.issuers import TOKENS
from memory.redact.rules import SecretRule, Span, compiled, literal

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """
    The span from the BEGIN line to the END line, if most of what is between them is a key's body.

    Without such an END line the key was cut off, and the span ends with the body.
    """
    text, start = match.string, match.end()
    dashes = text.find("-----", start)
    last = compiled(_END, folded=False).match(text, dashes) if dashes >= 0 else None
    if last and _mostly_body(text[start:dashes]):
        return match.start(), last.end()
    body = compiled(_BODY, folded=False).match(text, start)
    stop = start + len(body[0].rstrip(" \t\r\n\"',")) if body else start
    return (match.start(), stop) if any(_runs(text[start:stop])) else None


def _mostly_body(text: str) -> bool:
    runs = list(_runs(text))
    return bool(runs) and sum(map(len, runs)) * 2 >= len("".join(text.split()))


def _runs(text: str) -> Iterator[str]:
    """The stretches of base64 that are not names: all but the last of a key's body."""
    return (run[0] for run in compiled(_RUN, folded=False).finditer(text) if strong(run[0], 16))


def _wrapped(match: re.Match[str]) -> Span | None:
    """The span if its first line decodes to the BEGIN line of a private key, else None."""
    return match.span() if b"PRIVATE KEY" in b64decode(match[0][:92]) else None


def _signed(match: re.Match[str]) -> Span | None:
    """The span if its first part decodes to a JSON object with an algorithm (RFC 7515, 4.1.1), else None."""
    head = match[0].partition(".")[0]
    try:
        header = json.loads(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):  # a wrong length is a ValueError too
        return None
    return match.span() if isinstance(header, dict) and "alg" in header else None


KEYS: tuple[SecretRule, ...] = (
    SecretRule("private-key", _BEGIN, ("-----BEGIN ",), judge=_private),
    SecretRule("private-key", _WRAPPED, ("LS0tLS1CRUdJTi",), solid=True, judge=_wrapped),
    SecretRule("private-key", _OPENSSH, ("b3BlbnNzaC1rZXktdjE",)),
    SecretRule("putty-private-key", _PUTTY, ("Private-Lines:",)),
    SecretRule("jwt", _JWT, ("eyJ",), solid=True, judge=_signed),
)


_HOST = r"[\w\[\-$%{.*]"  # first character of a host, or of a placeholder for one
_OPEN = r"[^\s/?#,;|()\[\]\"'<>`\\@\u0080-\uffff]"
_URL = (
    r"://(?P<user>[^\s:/@\"'<>`?#\[\],|)]{0,128}):"
    rf"(?P<s>[^\s\"'<>`@]{{1,256}}(?:@(?!{_HOST})[^\s\"'<>`@]{{0,128}}|@{_OPEN}{{1,128}}(?=@)){{0,4}})@(?={_HOST})"
)
"""
The password ends at the first `@` that a host can follow.

It goes on to a later `@` only if no character that ends a host is in between.
"""

_PORT = r"\d{1,5}(?:[^\w@!$%^&*+=~-]|[^\x00-\x7f])"
_WEB = ("http", "https", "ws", "wss")
_SIGNS = r"[/?#,;|()\[\]]"
_OTHER = r"\]\(|mailto:|:/|:\d{2,5}(?!\d)"

_CHANCE = 6.0  # threshold in bits: text between `user:` and `@` that scores lower is not a path (`detectors.scrambled`)
_LOADERS = ("sqlplus", "sqlldr", "expdp", "impdp", "exp", "imp", "rman target")
_ORACLE = (
    rf"(?:jdbc:oracle:[a-z0-9]{{2,8}}:|(?:{'|'.join(_LOADERS)})[ \t]{{1,4}}(?:-\w{{1,8}}[ \t]{{1,4}}){{0,4}}(?:userid=)?)"
    r"[\"']?[\w$.-]{1,64}/(?P<s>[^\s@/\"'<>`][^\s@\"'<>`]{0,127}(?:@(?![\w/(\[])[^\s@\"'<>`]{1,64})?)(?=@[\w/(\[])"
)
_PGPASS = (
    r"(?:(?<=:)|(?<=:\d)|(?<=:\d\d)|(?<=:\d{3})|(?<=:\d{4}))[\d*]:[^:\s/]{1,64}:[^:\s/]{1,64}:"
    r"(?P<s>(?:[^\s:\"'`<>\\]|\\[:\\]){1,128})(?=[\s\"'`<>]|\\[nrt]|$)"
)
_PORTS = (":5432:", ":5433:", ":6432:")  # of PostgreSQL and its poolers: any text after one is a password


def _address(match: re.Match[str]) -> Span | None:
    """A password with a character that ends a host must look generated: the `@` may come from after the URL."""
    value = match["s"]
    if re.match(_PORT, value) and not _no_port(match, value):
        return None
    if re.search(_SIGNS, value) and (re.search(_OTHER, value) or not _random(value)):
        return None
    return literal(match)


def _no_port(match: re.Match[str], value: str) -> bool:
    """
    Whether what looks like a port is part of a password, because no host precedes it.

    On the web, one digit before `/`, `?` or `#` is not a port.
    """
    user, web = match["user"], match.string[max(0, match.start() - 5) : match.start()].endswith(_WEB)
    no_host = bool(user) and "." not in user and user != "localhost"
    return no_host and _random(value) and (not web or value[1:2] in "/?#")


def _random(value: str) -> bool:
    """Whether letters and digits look random, whatever signs are between them."""
    return (
        generated(value, 8)
        or (mixed(value) and not words(re.sub(_SIGNS, "-", value)))
        or scrambled(re.sub(r"\W", "", value), bits=_CHANCE)
        or any(len(part) > 3 and odd_capitals(part) for part in re.split(_SIGNS, value))
    )


def _line(match: re.Match[str]) -> Span | None:
    """Any text, after a PostgreSQL port or with a wildcard field; otherwise only what looks like a password."""
    value, before = match["s"], match.string[max(0, match.start() - 5) : match.start() + 2]
    known = before.endswith(_PORTS) or "*:" in match[0]
    return literal(match) if known or bare_password(value) or strong(value) else None


ADDRESSES: tuple[SecretRule, ...] = (
    SecretRule("url-password", _URL, ("://",), judge=_address),
    SecretRule(
        "oracle-password",
        _ORACLE,
        ("jdbc:oracle:", *(f"{one} " for one in _LOADERS)),
        needs=("/",),
        apart=True,
        judge=literal,
    ),
    SecretRule("pgpass-password", _PGPASS, tuple(f"{sign}:" for sign in "0123456789*"), judge=_line),
)


_HEADER = r"authorization(?:\\?[\"'])?\s{0,8}(?:[:=]|=>)\s{0,8}(?:\\?[\"'])?"
_SCHEME = r"(?:(?:token|api-?key|oauth|splunk|key|digest|aws4-hmac-sha256)[ \t]{1,4})?"
_CREDENTIAL = r"(?P<s>[A-Za-z0-9._~+/=:|-]{8,8192})"
_BEARER = r"bearer[ \t]{1,4}(?P<s>[A-Za-z0-9._~+/=-]{16,8192})"
_BASIC = r"basic[ \t]{1,4}(?P<s>[A-Za-z0-9+/]{4,4096}={0,2})"
_COOKIE = r"(?:sess(?:ion)?[-_.]?(?:id|token|key)?|sid)=(?P<s>[^\s;,\"'&<>]{16,4096})"
_LOGIN = r"auth(?:\\?\"\s{0,4}:\s{0,4}\\?\"|[ \t]?=[ \t]?\"?)(?P<s>[A-Za-z0-9+/]{8,4096}={0,2})"


def _header(match: re.Match[str]) -> Span | None:
    value = match["s"]
    fits = re.search(r"\d", value) and not made_up(value) and not code(value.partition("=")[0])
    return match.span("s") if fits else None


def _bearer(match: re.Match[str]) -> Span | None:
    return match.span("s") if strong(match["s"], 16) or match["s"].count(".") == 2 else None


def _basic(match: re.Match[str]) -> Span | None:
    """The span if the text after the word decodes to `user:password`, else None."""
    value = match["s"]
    try:
        login = b64decode(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), validate=True).decode()
    except ValueError:  # neither base64 nor text
        return None
    return match.span("s") if ":" in login and login.isprintable() else None


def _scheme(match: re.Match[str]) -> Span | None:
    """Like `_header`, but not for words, which a header without a scheme may have: `Authorization: Role-Based-v2`."""
    return None if words(match["s"]) else _header(match)


def _cookie(match: re.Match[str]) -> Span | None:
    value = match["s"]
    token = value.replace("%3A", ":").partition(":")[2] or value
    fits = strong(token, 16) and not code(value) and not re.search(r"[()\[\]{}]", value)
    return match.span("s") if fits else None


_JAR = r"(?:TRUE|FALSE)[ \t]{1,8}/[^\s]{0,200}[ \t]{1,8}(?:TRUE|FALSE)[ \t]{1,8}\d{1,16}[ \t]{1,8}(?P<name>[^\s=]{1,128})[ \t]{1,8}(?P<s>\S{4,4096})"
_SESSION = r"(?i)sess|sid|auth|token|csrf|xsrf|login|remember|jwt|key"


def _jar(match: re.Match[str]) -> Span | None:
    """The value of a cookie in Netscape's format, if it looks generated, or its name tells of a session."""
    value = match["s"]
    named = re.search(_SESSION, match["name"]) is not None and strong(value, 8)
    return match.span("s") if named or strong(value, 16) else None


HEADERS: tuple[SecretRule, ...] = (
    SecretRule("basic-auth", _BASIC, ("basic ",), folded=True, apart=True, judge=_basic),
    SecretRule("bearer-token", _BEARER, ("bearer ",), folded=True, apart=True, judge=_bearer),
    SecretRule(
        "basic-auth", rf"{_HEADER}basic[ \t]{{1,4}}{_CREDENTIAL}", ("authorization",), folded=True, judge=_header
    ),
    SecretRule(
        "bearer-token", rf"{_HEADER}bearer[ \t]{{1,4}}{_CREDENTIAL}", ("authorization",), folded=True, judge=_header
    ),
    SecretRule("authorization", _HEADER + _SCHEME + _CREDENTIAL, ("authorization",), folded=True, judge=_scheme),
    SecretRule("basic-auth", _LOGIN, ('auth"', 'auth\\"', "auth=", "auth ="), judge=_basic),
    SecretRule("session-cookie", _JAR, ("TRUE", "FALSE"), judge=_jar),
    SecretRule("session-cookie", _COOKIE, ("sess", "sid="), folded=True, needs=("=",), judge=_cookie),
)

FORMATS: tuple[SecretRule, ...] = (*KEYS, *TOKENS, *ADDRESSES, *HEADERS)
