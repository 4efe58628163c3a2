"""Passwords that are arguments of a command: after its flag, or where it expects one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.redact.letters import scrambled
from memory.redact.rule import Rule, literal
from memory.redact.shape import STAND_INS, bare_password, quoted_password, stand_in, strong

if TYPE_CHECKING:
    import re

    from memory.redact.rule import Span

_ARGUMENT = r"(?P<quote>[\"']?)(?P<s>[^\s\"']{1,128})"
_REST = r"(?=[ \t])[^\r\n|;]{0,200}?[ \t]"
"""Other arguments of the same command."""

# What the command is called, by what its password is announced, and the words to look for.
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
"""With `-b` the password is the last argument: after file and user, with `-n` after the user alone."""

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
"""Lines of files of settings that need no sign between name and value."""


def _argument(match: re.Match[str]) -> Span | None:
    held = match["s"]
    if held.lower() in STAND_INS or stand_in(held):
        return None
    if match["quote"]:
        return match.span("s") if quoted_password(held) else None
    return match.span("s") if bare_password(held) or strong(held) or scrambled(held) else None


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
