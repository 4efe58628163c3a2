"""Passwords in addresses: of URLs, of Oracle's `user/password@database`, of the lines of a `.pgpass`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.redact.letters import scrambled
from memory.redact.rule import Rule, literal
from memory.redact.shape import bare_password, generated, mixed, strong, words

if TYPE_CHECKING:
    from memory.redact.rule import Span

_HOST = r"[\w\[\-$%{.*]"
"""What a host, or what stands for one, begins with."""

_OPEN = r"[^\s/?#,;|()\[\]\"'<>`\\@\u0080-\uffff]"
_URL = (
    r"://(?P<user>[^\s:/@\"'<>`?#\[\],|)]{0,128}):"
    rf"(?P<s>[^\s\"'<>`@]{{1,256}}(?:@(?!{_HOST})[^\s\"'<>`@]{{0,128}}|@{_OPEN}{{1,128}}(?=@)){{0,4}})@(?={_HOST})"
)
"""The password goes to the first `@` a host can follow, and on to a later one only where no sign that ends a host is before it."""

_PORT = r"\d{1,5}(?:[^\w@!$%^&*+=~-]|[^\x00-\x7f])"
_WEB = ("http", "https", "ws", "wss")
_SIGNS = r"[/?#,;|()\[\]]"
_OTHER = r"\]\(|mailto:|:/|:\d{2,5}(?!\d)"

_CHANCE = 6.0
"""Bits below which what stands between `user:` and `@` is no path (`memory.redact.letters`)."""

_ORACLE = (
    r"(?:jdbc:oracle:[a-z0-9]{2,8}:|(?:sqlplus|sqlldr|expdp|impdp|exp|imp|rman target)[ \t]{1,4}(?:-\w{1,8}[ \t]{1,4}){0,4}(?:userid=)?)"
    r"[\"']?[\w$.-]{1,64}/(?P<s>[^\s@/\"'<>`][^\s@\"'<>`]{0,127}(?:@(?![\w/(\[])[^\s@\"'<>`]{1,64})?)(?=@[\w/(\[])"
)
_PGPASS = (
    r"(?:(?<=:)|(?<=:\d)|(?<=:\d\d)|(?<=:\d{3})|(?<=:\d{4}))[\d*]:[^:\s/]{1,64}:[^:\s/]{1,64}:"
    r"(?P<s>(?:[^\s:\"'`<>\\]|\\[:\\]){1,128})(?=[\s\"'`<>]|\\[nrt]|$)"
)
_PORTS = (":5432:", ":5433:", ":6432:")
"""Of PostgreSQL and its poolers: behind them any text is a password."""


def _address(match: re.Match[str]) -> Span | None:
    """A password with a sign that ends a host must look generated: the `@` may be that of something after the address."""
    held = match["s"]
    if re.match(_PORT, held) and not _no_port(match, held):
        return None
    if re.search(_SIGNS, held) and (re.search(_OTHER, held) or not _random(held)):
        return None
    return literal(match)


def _no_port(match: re.Match[str], held: str) -> bool:
    """What begins as a port does is part of a password where no host is before it; on the web one digit is no port."""
    user, web = match["user"], match.string[max(0, match.start() - 5) : match.start()].endswith(_WEB)
    return bool(user) and "." not in user and user != "localhost" and _random(held) and (not web or held[1:2] in "/?#")


def _random(held: str) -> bool:
    """Letters and digits by chance, whatever signs are between them."""
    return (
        generated(held, 8)
        or (mixed(held) and not words(re.sub(_SIGNS, "-", held)))
        or scrambled(re.sub(r"\W", "", held), bits=_CHANCE)
    )


def _line(match: re.Match[str]) -> Span | None:
    """On a port of PostgreSQL, or where a field is any, all text; on others what looks like a password, for much else has colons."""
    held, before = match["s"], match.string[max(0, match.start() - 5) : match.start() + 2]
    known = before.endswith(_PORTS) or "*:" in match[0]
    return literal(match) if known or bare_password(held) or strong(held) else None


ADDRESSES: tuple[Rule, ...] = (
    Rule("url-password", _URL, ("://",), judge=_address),
    Rule(
        "oracle-password",
        _ORACLE,
        ("jdbc:oracle:", "sqlplus ", "sqlldr ", "expdp ", "impdp ", "exp ", "imp ", "rman target "),
        needs=("/",),
        judge=literal,
    ),
    Rule("pgpass-password", _PGPASS, tuple(f"{sign}:" for sign in "0123456789*"), needs=(":",), judge=_line),
)
