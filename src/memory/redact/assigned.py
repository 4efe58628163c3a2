"""Secrets that only their name gives away: `password = "…"`, `API_KEY=…`, `--token …`, `{"secret": "…"}`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.redact.bare import BARE, bare
from memory.redact.rule import Rule, compiled
from memory.redact.shape import code, expression, mixed, quoted_password, strong

if TYPE_CHECKING:
    from memory.redact.rule import Span

FIELD = "secret-field"
"""The name for what is taken out because the key of its JSON value names a secret."""

_KINDS_OF_KEY = (
    "api|access|auth|secret|private|public_secret|signing|signature|encryption|decryption|master|account|storage|shared|session|"
    "app|application|consumer|service|subscription|functions|webhook|hmac|deploy|jwt|license|admin|server|ssh|host"
).split("|")
_BEFORE_KEY = "|".join(f"(?<={kind})|(?<={kind}[-_. ])" for kind in _KINDS_OF_KEY)
_ABROAD = (
    r"senha|palavra-passe|wachtwoord|has[łŁ]o|heslo|salasana|l[öÖ]senord|adgangskode|passord|[şŞ]ifre|jelsz[óÓ]|[пП]ароль|ПАРОЛЬ"
    r"|비밀번호|암호|m[ậẬ]t kh[ẩẨ]u|كلمة المرور|סיסמה|密码|密碼|パスワード"
)
"""The word for a password in other languages, where it is a word of its own."""

_WORDS_ABROAD = (
    *(
        "senha",
        "palavra-passe",
        "wachtwoord",
        "hasło",
        "heslo",
        "salasana",
        "lösenord",
        "adgangskode",
        "şifre",
        "jelszó",
    ),
    *("пароль", "비밀번호", "암호", "mật khẩu", "كلمة المرور", "סיסמה", "密", "パスワード"),
    *("mdp", "clave", "parola", "psk", "haslo", "parool"),
)
_MAYBE = r"(?<![a-z])(?:mdp|clave|parola|psk|haslo|parool)(?![a-z])"
"""What may be a password or something else: its value must look generated."""

_HUMAN = rf"pass(?:w(?:or)?d|wort|phrase|code)s?|pwd|kennwort|contraseñ?n?a|mot de passe|(?<![a-z])(?:{_ABROAD})|(?:(?<=bind)|(?<=root)|(?<=ldap)|(?<=admin)|(?<=user))pw(?![a-z])|(?:(?<![a-z])|(?<=\\[nrt]))pw(?![a-z])"
_SOME = r"(?-i:(?<=[A-Z0-9]_)(?<!PUBLIC_)(?<!CACHE_)(?<!PRIMARY_)(?<!FOREIGN_)(?<!SORT_)(?<!GROUP_)(?<!HASH_)KEY)(?==)"
_STEM = (
    rf"(?:(?P<password>{_HUMAN}|(?:(?<![a-z])|(?<=\\[nrt])|(?-i:(?<=[a-z])(?=P)))pass)|(?:secret|(?<!publickey)token|credential|{_MAYBE})|(?:{_BEFORE_KEY})key|(?P<some>{_SOME}))"
    r"(?:(?:[-_. ]?access)?[-_. ]?key(?:[-_]?base)?)?"
)
_ISSUERS = "github|gitlab|stripe|slack|npm|pypi|aws|azure|gcp|openai|anthropic|sentry|twilio|discord|telegram|ci"
_SUFFIX = (
    r"(?:[-_]?\d{1,2}|[-_]v\d{1,2})?(?:[-_.]?(?:production|prod|development|dev|staging|stage|testing|test|live|qa|local|main|master"
    r"|old|new|current|previous|primary|secondary|plaintext|plain|raw|value|base64|b64|hex|string|str|text|admin|root"
    rf"|user|db|default|pem)|[-_](?:(?:for[-_])?(?:{_ISSUERS})(?:[-_](?:prod|dev|test|live))?))?(?:[-_]v?\d{{1,2}})?"
)
_TAG = r"(?:</?(?:b|strong|em|i|code|span|label|t[dht]|d[dt]|p|li)>[ \t]{0,4}){0,2}"
_OF = r"(?:[ \t](?:is|was)(?=:)|[ \t]\([\w .@-]{1,30}\)(?=:)|[ \t](?:for|of)[ \t][\w.@-]{1,40}(?=:))?"
"""Whose it is, or that it is one, before the colon."""

_KEY_END = (
    r"(?![\w-]|\.\w)(?:</(?:b|strong|em|i|code|span|label|td|th|dt)>)?(?:\\{0,3}[\"'`]|&quot;|&#34;|%22)?\]?[*_]{0,3}"
)
_TYPE = r"(?:[ \t]{0,8}:[ \t]{0,8}(?:Optional\[)?&?(?:'static )?(?:str|string|bytes|text|secretstr)\]?(?:[ \t]?\|[ \t]?None)?(?=[ \t]{0,8}=))?"
_PAIR = (
    r",?\s{1,40}\\?[\"']?value\\?[\"']?[ \t]{0,3}[:=]|</key>\s{0,40}<string>"
    r"|[ \t]{0,4}\{[^{}]{0,200}?\sdefault[ \t]{0,20}="
)
"""What stands between the name and the value of a pair that says both: of Kubernetes, XML, a property list, Terraform."""

_SET = rf"{_OF}[ \t]{{0,40}}(?P<set>{_PAIR}|=>|:=|(?<=[ \t])(?:->|→)(?=[ \t])|!?={{1,3}}|:(?!:)[*_]{{0,3}}|：|＝|%3[AD]|,(?=\s{{0,8}}[\"'])|\((?=\s{{0,8}}[\"']))\s{{0,2}}[ \t]{{0,40}}{_TAG}"
_QUOTED = (
    r"(?:[bru]|&|@)?(?P<quote>\\{0,3}[\"'`]|&quot;|&#34;|%22)(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n])){1,512})(?P=quote)"
    r"|[“„«](?P<typeset>[^“”„«»\n]{1,128})[“”»]"
)
_BLOCK = (
    r"(?:[bru]{1,2})?(?P<triple>\"\"\"|''')\s{0,40}(?P<long>[^\s\"']{4,512})\s{0,40}(?P=triple)"
    r"|[|>][+-]?[ \t]{0,8}\r?\n[ \t]{1,40}(?P<folded>\S{4,512})(?=[ \t]*(?:[\r\n]|$))"
)
_ELEMENT = r">(?:<!\[CDATA\[)?(?P<element>[^<>\s\]]{1,512})(?:\]\]>)?</"

_LONG = r"[A-Za-z0-9_-]{24,256}(?![^\s\"'`),.:;|\]}])"
"""What a name says that ends in nothing but `_KEY`: long, and one word."""

_AFTER = r"[)\],;:}.]{1,3}\s"
"""How what follows a quoted text goes on: its closing quote was taken for an opening one."""

_CALL = r"\(\s{0,8}(?:[\w.]{1,40},\s{0,4})?[\"'`][\w .-]{0,80}$"
_SETTER = r"(?:^|[^A-Za-z])(?:[Ss]et|[Ww]ith)[A-Za-z]{0,40}$"
_COMMAND = r"(?:(?<![\w-])--?[\w-]*|(?:(?<![\w-])|(?<=\\[nrt]))(?:ENV|setx|setenv|set -[gxU]{1,3}|configure set)[ \t]{1,4}[\w.]*)$"


def assigned() -> tuple[Rule, ...]:
    """The rule for what is set to a name. A flag's value stands after a blank, and only a flag's: `_value` looks back."""
    pattern = rf"{_STEM}{_SUFFIX}(?:{_KEY_END}{_TYPE}(?:{_SET}|[ \t]{{1,4}})(?:{_BLOCK}|{_QUOTED}|{BARE})|{_ELEMENT})"
    words = (
        "pass",
        "secret",
        "token",
        "key",
        "credential",
        "kennwort",
        "contrase",
        "mot de passe",
        "pw",
        *_WORDS_ABROAD,
    )
    return (Rule("assigned-secret", pattern, words, folded=True, nested=True, judge=_value),)


def names_secret(key: str) -> bool:
    """Whether a key of JSON names what must not be kept: `password`, `apiKey`, `X-Auth-Token`, `Authorization`."""
    spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip())
    whole = rf"(?:.{{0,64}}[^a-z])??(?:{_STEM}(?:(?<!token)s)?|(?:proxy[-_])?authorization|(?:set[-_])?cookie){_SUFFIX}"
    return len(key) <= 128 and compiled(whole, folded=True).fullmatch(spelled) is not None and not may_name_secret(key)


def may_name_secret(key: str) -> bool:
    """Whether a key of JSON names a secret or something else: `session_key`, `auth`."""
    spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip())
    whole = (
        r"(?:.{0,64}[^a-z])??(?:(?:session|storage|shared|application|app|host|service|account)[-_. ]?key|auth|bearer"
        rf"|{_MAYBE})"
    )
    return len(key) <= 128 and compiled(whole, folded=True).fullmatch(spelled) is not None


def _value(match: re.Match[str]) -> Span | None:
    """Where the value is, if it looks like a secret."""
    password = match["password"] is not None
    before = match.string[max(0, match.start() - 96) : match.start()]
    group = match.lastgroup or "bare"
    if group != "element" and not _set(match, before, group):
        return None
    if match["some"] is not None:
        held = compiled(_LONG, folded=False).match(match[group])
        start = match.start(group)
        return (start, start + held.end()) if held and strong(held[0]) else None
    if group == "bare":
        return None if _result(match, before) else bare(match, password=password)
    return match.span(group) if _fits(match[group], match["set"] or "", password=password) else None


def _fits(held: str, said: str, *, password: bool) -> bool:
    """Whether a text in quotes is a secret; as an argument (`said` is `,` or `(`) a word is none."""
    if compiled(_AFTER, folded=False).match(held) or (said in {",", "("} and not (mixed(held) or strong(held))):
        return False
    return quoted_password(held) if password else strong(held, 8) and not code(held) and not expression(held)


def _set(match: re.Match[str], before: str, group: str) -> bool:
    """What follows the name is its value: by a sign, as an argument, or as the value of a flag or a command."""
    said = match["set"]
    if said is None:
        sql = group == "quoted" and match["quote"] == "'" and match[0].startswith("PASSWORD")
        return sql or compiled(_COMMAND, folded=False).search(before) is not None
    if said == ",":
        return compiled(_CALL, folded=False).search(before) is not None
    if said == "(":
        return compiled(_SETTER, folded=False).search(before) is not None
    return True


def _result(match: re.Match[str], before: str) -> bool:
    """`PASS: TestName`, as test runners print it."""
    return match[0].startswith("PASS:") and not before[-1:].isalnum() and before[-1:] not in {"_", "-"}
