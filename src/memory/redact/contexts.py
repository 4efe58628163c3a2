"""Secrets recognisable by their context: in URLs, headers, cookies, login files, SQL statements and commands."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64

from memory.redact.detectors import (
    STAND_INS,
    bare_password,
    code,
    generated,
    made_up,
    mixed,
    quoted_password,
    scrambled,
    stand_in,
    strong,
    words,
)
from memory.redact.rules import Rule, Span, literal, secret

_HOST = r"[\w\[\-$%{.*]"
"""First character of a host, or of a placeholder for one."""

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

_CHANCE = 6.0
"""Threshold in bits: text between `user:` and `@` that scores lower is not a path (`detectors.scrambled`)."""

_ORACLE = (
    r"(?:jdbc:oracle:[a-z0-9]{2,8}:|(?:sqlplus|sqlldr|expdp|impdp|exp|imp|rman target)[ \t]{1,4}(?:-\w{1,8}[ \t]{1,4}){0,4}(?:userid=)?)"
    r"[\"']?[\w$.-]{1,64}/(?P<s>[^\s@/\"'<>`][^\s@\"'<>`]{0,127}(?:@(?![\w/(\[])[^\s@\"'<>`]{1,64})?)(?=@[\w/(\[])"
)
_PGPASS = (
    r"(?:(?<=:)|(?<=:\d)|(?<=:\d\d)|(?<=:\d{3})|(?<=:\d{4}))[\d*]:[^:\s/]{1,64}:[^:\s/]{1,64}:"
    r"(?P<s>(?:[^\s:\"'`<>\\]|\\[:\\]){1,128})(?=[\s\"'`<>]|\\[nrt]|$)"
)
_PORTS = (":5432:", ":5433:", ":6432:")
"""Ports of PostgreSQL and its poolers: any text after one is a password."""


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
    )


def _line(match: re.Match[str]) -> Span | None:
    """Any text, after a PostgreSQL port or with a wildcard field; otherwise only what looks like a password."""
    value, before = match["s"], match.string[max(0, match.start() - 5) : match.start() + 2]
    known = before.endswith(_PORTS) or "*:" in match[0]
    return literal(match) if known or bare_password(value) or strong(value) else None


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
    except (NotBase64, UnicodeDecodeError):
        return None
    return match.span("s") if ":" in login and login.isprintable() else None


def _cookie(match: re.Match[str]) -> Span | None:
    value = match["s"]
    token = value.replace("%3A", ":").partition(":")[2] or value
    fits = strong(token, 16) and not code(value) and not re.search(r"[(\[{]", value)
    return match.span("s") if fits else None


def _scheme(match: re.Match[str]) -> Span | None:
    """Like `_header`, but not for words, which a header without a scheme may have: `Authorization: Role-Based-v2`."""
    return None if words(match["s"]) else _header(match)


def _sql(match: re.Match[str]) -> Span | None:
    value = match["s"]
    return literal(match) if mixed(value) or match[0].isupper() or match[0].startswith("IDENTIFIED") else None


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


_ARGUMENT = r"(?P<quote>[\"']?)(?P<s>[^\s\"']{1,128})"
_REST = r"(?=[ \t])[^\r\n|;]{0,200}?[ \t]"
"""The command's other arguments."""

# For each command: its name, what precedes its password, and the words to search for.
_FLAGS = (
    (r"(?:mysql|mariadb)(?:dump|admin|import|check|show|slap|-dump|-admin)?", r"-p", ("mysql", "mariadb")),
    (r"mongo(?:sh|dump|restore|export|import|stat|top|files)?", r"-p(?:[ \t]{1,4}|=)", ("mongo",)),
    (r"(?:sqlcmd|bcp|osql|isql|tsql)", r"-P[ \t]{0,4}", ("sqlcmd ", "bcp ", "osql ", "isql ", "tsql ")),
    (r"cqlsh", r"-p[ \t]{1,4}", ("cqlsh ",)),
    (r"redis-cli", r"-a[ \t]{1,4}", ("redis-cli ",)),
    (
        r"(?:docker|podman|nerdctl|buildah|skopeo|oras|helm registry) login",
        r"-p[ \t=]{0,4}",
        ("docker login ", "podman login ", "nerdctl login ", "buildah login ", "skopeo login ", "helm registry login "),
    ),
    (r"ssh-keygen", r"-[NP][ \t]{1,4}", ("ssh-keygen ",)),
    (r"ldap(?:search|modify|add|delete|passwd|whoami|compare|modrdn)", r"-w[ \t]{0,4}", ("ldap",)),
    (r"(?:keytool|jarsigner)", r"-(?:src|dest)?(?:store|key)pass[ \t]{1,4}", ("keytool ", "jarsigner ")),
    (r"openssl", r"-(?:pass(?:in|out)?|password)[ \t]{1,4}pass:", ("openssl ",)),
    (
        r"(?:smbclient|rpcclient|smbget)",
        r"-U[ \t]{0,4}[\"']?[^\s%\"']{1,64}%",
        ("smbclient ", "rpcclient ", "smbget "),
    ),
    (r"ipmitool", r"-P[ \t]{1,4}", ("ipmitool ",)),
    (r"zip", r"-P[ \t]{1,4}", ("zip ",)),
    (r"7z[ar]?", r"-p", ("7z",)),
    (r"(?:freerdp|mstsc)", r"/p:", ("freerdp ", "mstsc ")),
    (r"lftp", r"-u[ \t]{0,4}[\"']?[^\s,\"']{1,64},", ("lftp ",)),
    (r"https?", r"-a[ \t]{1,4}[\"']?[^\s:\"']{1,64}:", ("http ", "https ")),
)
_ANNOUNCED = (" -", "\t-", "/p:")
_SSHPASS = rf"sshpass[ \t]{{1,4}}-p[ \t]{{0,4}}{_ARGUMENT}"
_CURL = (
    r"curl(?=[ \t])[^\r\n]{0,200}?[ \t](?:-u|--user|-U|--proxy-user)[ \t=]?[\"']?[^\s:\"']{1,64}:(?P<s>[^\s\"']{1,128})"
)
_OPTION = r"(?:[ \t]{1,4}-\w{1,16})"
_HTPASSWD = (
    rf"htpasswd{_OPTION}{{0,4}}?[ \t]{{1,4}}-(?:(?=[a-zA-Z]{{0,8}}b)[a-mo-zA-Z]{{1,8}}{_OPTION}{{0,4}}[ \t]{{1,4}}[^\s-]\S{{0,200}}"
    rf"|(?=[a-zA-Z]{{0,8}}b)[a-zA-Z]{{1,8}}{_OPTION}{{0,4}})[ \t]{{1,4}}[^\s-]\S{{0,64}}[ \t]{{1,4}}{_ARGUMENT}"
)
"""With `-b` the password is the last argument: after file and user, or with `-n` after the user alone."""

_NET_USE = (
    r"net use(?:[ \t]{1,4}(?:[A-Za-z]:|\*))?[ \t]{1,4}[\"']?\\\\\S{1,200}(?:[ \t]{1,4}/user:\S{1,100})?[ \t]{1,4}"
    r"(?P<quote>[\"']?)(?P<s>[^\s/*\"'][^\s\"']{0,127})"
)
_SUDO = r"echo[ \t]{1,4}(?P<quote>[\"']?)(?P<s>[^\s\"'|]{1,128})[\"']?[ \t]{0,4}\|[ \t]{0,4}sudo[ \t]{1,4}(?:-\w{1,8}[ \t]{1,4})?-\w{0,4}S"
_CHPASSWD = (
    r"echo[ \t]{1,4}(?:-\w{1,4}[ \t]{1,4})?[\"']?[\w.-]{1,32}:(?P<s>[^\s\"':|]{1,128})[\"']?[ \t]{0,4}\|"
    r"[ \t]{0,4}(?:sudo[ \t]{1,4})?chpasswd"
)
_SETTING = rf"(?:bindpw|rootpw|wpa-psk)[ \t]{{1,8}}{_ARGUMENT}"
"""Lines of settings files that need no sign between name and value."""


def _argument(match: re.Match[str]) -> Span | None:
    value = match["s"]
    if value.lower() in STAND_INS or stand_in(value):
        return None
    if match["quote"]:
        return match.span("s") if quoted_password(value) else None
    return match.span("s") if bare_password(value) or strong(value) or scrambled(value) else None


COMMANDS: tuple[Rule, ...] = (
    Rule("curl-password", _CURL, ("curl",), needs=_ANNOUNCED, judge=literal),
    *(
        Rule("command-password", name + _REST + flag + _ARGUMENT, words, needs=_ANNOUNCED, judge=_argument)
        for name, flag, words in _FLAGS
    ),
    Rule("command-password", _SSHPASS, ("sshpass ",), needs=_ANNOUNCED, judge=_argument),
    Rule("command-password", _HTPASSWD, ("htpasswd",), needs=_ANNOUNCED, judge=_argument),
    Rule("command-password", _NET_USE, ("net use",), judge=_argument),
    Rule("command-password", _SUDO, ("echo ",), needs=("|",), judge=_argument),
    Rule("command-password", _CHPASSWD, ("echo ",), needs=("|",), judge=literal),
    Rule("command-password", _SETTING, ("bindpw", "rootpw", "wpa-psk"), judge=_argument),
)
