"""
The rules for secrets that a name before them gives away.

In code, settings and prose (`password = "…"`, `API_KEY=…`, `--token …`), in connection strings, login files and SQL,
and after flags of commands that mean a password without saying so (`mysql -p…`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import normalize

from memory.redact.detectors import (
    SHORT,
    bare_password,
    code,
    expression,
    generated,
    mixed,
    quoted_password,
    scrambled,
    strong,
    token,
    words,
)
from memory.redact.rules import SecretRule, Span, compiled, literal, secret

if TYPE_CHECKING:
    from collections.abc import Iterable

# Words for a password in many languages, and what leads from one to its value ------

ABROAD = """
passwort, kennwort, zugangscode, losungswort, contraseña, contrasena, contraseñna, contrasenya, contrasinal, pasahitza, mot de passe,
mots de passe, motdepasse, senha, palavra-passe, palavra passe, parola d'ordine, wachtwoord, wagwoord, hasło, heslo, geslo,
lozinka, zaporka, salasana, tunnussana, lösenord, adgangskode, kodeord, kodord, passord, lykilorð, aðgangsorð, loyniorð,
jelszó, jelszav, parolă, parolei, slaptažod, парол, пароль, лозинка, құпия сөз, құпиясөз, сырсөз, сырсүз, нууц үг,
şifre, sifre, şifrə, κωδικός, κωδικο, κωδικού, συνθηματικό, συνθηματικο, fjalëkalim, pasfhocal, cyfrinair, facal-faire,
pasvorto, nenosiri, kata sandi, kata laluan, katasandi, mật khẩu, matkhau, iphasiwedi, sandi lewat,
პაროლ, գաղտնաբառ, סיסמה, סיסמא, ססמה, كلمة المرور, كلمة السر, كلمه السر, كلمة مرور, رمز عبور,
گذرواژه, گذر واژه, پاس ورڈ, पासवर्ड, कूटशब्द, পাসওয়ার্ড, ਪਾਸਵਰਡ, પાસવર્ડ, கடவுச்சொல், పాస్‌వర్డ్, పాస్వర్డ్, ಪಾಸ್‌ವರ್ಡ್, ಪಾಸ್ವರ್ಡ್,
പാസ്‌വേഡ്, പാസ്വേഡ്, මුරපදය, รหัสผ่าน, ລະຫັດຜ່ານ, ពាក្យសម្ងាត់, စကားဝှက်, የይለፍ ቃል, 비밀번호, 패스워드, 암호, 密码, 密碼,
口令, 通行码, 通行碼, パスワード, パスコード, 暗証番号
"""
"""Where it is a separate word; a stem where the word is inflected. `parola`, `clave` and such are not among them: `MAYBE`."""

IS = """
is, are, was, be, now, as, to, equals, lautet, lauten, ist, sind, wäre, est, sont, es, son, será, é, è, sono, são, sera, fica, são, jest, to, je, jsou,
är, er, on, ovat, este, sunt, e, là, adalah, ialah, yra, ir, van, az, a, είναι, είν, это, есть, является, є, це, је, са,
है, हैं, হল, হলো, है:, هو, هي, است, ہے, הוא, היא, คือ, là:, 是, 为, 為, は, 는, 은, 가, 이, olarak, oldu, —, –, -, →, ->, =>, =, :
"""
"""What may stand between the word and the value; a sign is one too."""


def cased(words: str) -> tuple[str, ...]:
    """The words as they are, decomposed too, each small, with a capital and in capitals."""
    plain = [word.strip() for word in words.replace("\n", " ").split(",") if word.strip()]
    whole = dict.fromkeys((*plain, *(normalize("NFD", word) for word in plain)))
    forms = (form for word in whole for form in (word, word.capitalize(), word.upper()))
    return tuple(dict.fromkeys(forms))


def any_of(words: Iterable[str]) -> str:
    """
    An expression for any of the words, in upper or lower case, the longest first.

    Written as a tree of letters: an expression that folds case tries the branches one by one, of which a list of words
    has hundreds.
    """
    tree: dict[str, set[str]] = {}
    for word in words:
        small = "".join(letter.lower() if letter.isascii() else letter for letter in word)
        tree.setdefault(small[:1], set()).add(small[1:])
    branches = [
        re.escape(first) + (any_of(rest) if first and rest != {""} else "")
        for first, rest in sorted(tree.items(), reverse=True)
    ]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


# How a secret is named --------------------------------------------------------

_KINDS_OF_KEY = (
    "api|access|auth|secret|private|public_secret|signing|signature|encryption|decryption|master|account|storage|shared|session|"
    "app|application|consumer|service|subscription|functions|webhook|hmac|deploy|jwt|license|admin|server|ssh|host"
).split("|")
_BEFORE_KEY = "|".join(f"(?<={kind})|(?<={kind}[-_. ])" for kind in _KINDS_OF_KEY)
_APART = r"(?:(?<![a-z])|(?<=\\[nrt]))"
"""Where a word begins: not after a letter, unless the letter ends a line break as JSON writes it."""

_ABROAD = rf"{any_of(cased(ABROAD))}(?:[a-z]|[\u00c0-\u024f\u0300-\u036f\u0370-\u03ff\u0400-\u04ff]){{0,5}}"
"""The word for a password in other languages, where it is a separate word; it may be inflected."""

_AMBIGUOUS = "mdp clave parola parole psk haslo parool parol".split()
MAYBE = rf"{_APART}(?:{'|'.join(_AMBIGUOUS)})(?![a-z])"
"""Words for a password that can mean something else too: their value must look generated."""

_HUMAN = rf"pass(?:w(?:or)?d|wort|phrase|code)s?|pwd|kennwort|contraseñ?n?a|mot de passe|{_APART}{_ABROAD}|(?:(?<=bind)|(?<=root)|(?<=ldap)|(?<=admin)|(?<=user))pw(?![a-z])|{_APART}pw(?![a-z])"
_SOME = r"(?-i:(?<=[A-Z0-9]_)(?<!PUBLIC_)(?<!CACHE_)(?<!PRIMARY_)(?<!FOREIGN_)(?<!SORT_)(?<!GROUP_)(?<!HASH_)KEY)(?==)"
STEM = (
    rf"(?:(?P<password>{_HUMAN}|(?:(?<![a-z])|(?<=\\[nrt])|(?-i:(?<=[a-z])(?=P)))pass)|(?:secret|(?<!publickey)token|credential|{MAYBE})|(?=key)(?:{_BEFORE_KEY})key|(?P<some>{_SOME}))"
    r"(?:(?:[-_. ]?access)?[-_. ]?key(?:[-_]?base)?)?"
)
"""The name, without what it may go on with."""

STEMS = tuple("pass secret token key credential kennwort contrase pw".split())
FOREIGN = (*(word for word in dict.fromkeys(map(str.lower, cased(ABROAD))) if not word.startswith(STEMS)), *_AMBIGUOUS)
NAMES = (*STEMS, *FOREIGN)
"""What is looked for: part of each name, in lower case."""

_ISSUERS = "github|gitlab|stripe|slack|npm|pypi|aws|azure|gcp|openai|anthropic|sentry|twilio|discord|telegram|ci"
SUFFIX = (
    r"(?:[-_]?\d{1,2}|[-_]v\d{1,2})?(?:[-_.]?(?:production|prod|development|dev|staging|stage|testing|test|live|qa|local|main|master"
    r"|old|new|current|previous|primary|secondary|plaintext|plain|raw|value|base64|b64|hex|string|str|text|admin|root"
    rf"|user|db|default|pem)|[-_](?:(?:for[-_])?(?:{_ISSUERS})(?:[-_](?:prod|dev|test|live))?))?(?:[-_]v?\d{{1,2}})?"
)
"""What a name may go on with: `_PROD`, `_v2`, `_FOR_GITHUB`."""

# From a name to its value -----------------------------------------------------

_TAG = r"(?:</?(?:b|strong|em|i|code|span|label|t[dht]|d[dt]|p|li)>[ \t]{0,4}){0,2}"
_OF = r"(?:[ \t](?:is|was)(?=:)|[ \t]\([\w .@-]{1,30}\)(?=:)|[ \t](?:for|of)[ \t][\w.@-]{1,40}(?=:))?"
"""Words between the name and the colon: whose secret it is, or `is`."""

_KEY_END = (
    r"(?![\w-]|\.\w)(?:</(?:b|strong|em|i|code|span|label|td|th|dt)>)?(?:\\{0,3}[\"'`]|&quot;|&#34;|%22)?\]?[*_]{0,3}"
)
_TYPE = r"(?:[ \t]{0,8}:[ \t]{0,8}(?:Optional\[)?&?(?:'static )?(?:str|string|bytes|text|secretstr)\]?(?:[ \t]?\|[ \t]?None)?(?=[ \t]{0,8}=))?"
_PAIR = (
    r",?\s{1,40}\\?[\"']?value\\?[\"']?[ \t]{0,3}[:=]|</key>\s{0,40}<string>"
    r"|[ \t]{0,4}\{[^{}]{0,200}?\sdefault[ \t]{0,20}="
)
"""What separates name and value where both are labelled: in Kubernetes, XML, property lists, Terraform."""

_SET = rf"{_OF}[ \t]{{0,40}}(?P<set>{_PAIR}|=>|:=|<<?-|(?<=[ \t])(?:->|→)(?=[ \t])|!?={{1,3}}|:(?!:)[*_]{{0,3}}|：|＝|%3[AD]|,(?=\s{{0,8}}[\"'])|\((?=\s{{0,8}}[\"']))\s{{0,2}}[ \t]{{0,40}}{_TAG}"
_QUOTED = (
    r"(?:u8|[brunl]|&|@)?(?P<quote>\\{0,3}[\"'`]|&quot;|&#34;|%22)(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n])){1,512})(?P=quote)"
    r"|[“„«](?P<typeset>[^“”„«»\n]{1,128})[“”»]"
)
_BLOCK = (
    r"(?:[bru]{1,2})?(?P<triple>\"\"\"|''')\s{0,40}(?P<long>[^\s\"']{4,512})\s{0,40}(?P=triple)"
    r"|[|>][+-]?[ \t]{0,8}\r?\n[ \t]{1,40}(?P<folded>\S{4,512})(?=[ \t]*(?:[\r\n]|$))"
)
_ELEMENT = r">(?:<!\[CDATA\[)?(?P<element>[^<>\s\]]{1,512})(?:\]\]>)?</"
_BARE = r"[\"'`]?(?P<bare>[^\s\"'`\\\u2018-\u201f\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]{1,256})"

_LONG = r"[A-Za-z0-9_-]{24,256}(?![^\s\"'`),.:;|\]}])"  # the value of a name that ends in a mere `_KEY`: one word
_AFTER = r"[)\],;:}.]{1,3}\s"  # what follows a quoted text that began at a closing quote
_CALL = r"\(\s{0,8}(?:[\w.]{1,40},\s{0,4})?[\"'`][\w .-]{0,80}$|-define\(\s{0,4}\w{0,40}$"
_SETTER = r"(?:^|[^A-Za-z])(?:[Ss]et|[Ww]ith)[A-Za-z]{0,40}$"
_COMMAND = (
    r"(?:(?<![\w-])|(?<=\\[nrt]))(?:--?[\w-]*|(?:ENV|setx|setenv|set -[gxU]{1,3}|configure set|\#[ \t]{0,4}define)[ \t]{1,4}[\w.]*"
    r"|(?:git|npm|yarn|pnpm|pip|poetry) config(?:[ \t]{1,4}(?:set|--?[\w-]{1,16})){0,3}[ \t]{1,4}(?!user\.)[\w./:-]*)$"
)
_LITERAL = r"(?:\((?:def\w{0,10}|set[qf!]|set)[ \t]{1,4}[\w*+-]*|(?:^|[\s(,{\[])[@:][\w-]*)$"
"""What precedes a name whose value follows in quotes, without a sign: `(setq my-password "…")`, `@password "…"`."""

_ASSIGNED = rf"{STEM}{SUFFIX}(?:{_KEY_END}{_TYPE}(?:{_SET}|[ \t]{{1,4}})(?:{_BLOCK}|{_QUOTED}|{_BARE})|{_ELEMENT})"
"""Only a flag's value may follow after a space alone: `_value` looks back for the flag."""


def _value(match: re.Match[str]) -> Span | None:
    """The span of the value if it looks like a secret, else None."""
    password = match["password"] is not None
    before = match.string[max(0, match.start() - 96) : match.start()]
    group = match.lastgroup or "bare"
    if group == "bare" and compiled(_ROW, folded=True).match(match["bare"]):
        return None  # a row of names: each would be judged with all that follow
    if group != "element" and not _set(match, before, group):
        return None
    if match["some"] is not None:
        value = compiled(_LONG, folded=False).match(match[group])
        start = match.start(group)
        return (start, start + value.end()) if value and strong(value[0]) else None
    if group == "bare":
        tested = match[0].startswith("PASS:") and not before[-1:].isalnum() and before[-1:] not in {"_", "-"}
        return None if tested else _bare(match, password=password)  # `PASS: TestName`, as test runners print it
    return match.span(group) if _fits(match[group], match["set"] or "", password=password) else None


def _fits(value: str, sign: str, *, password: bool) -> bool:
    """Whether a quoted text is a secret; as an argument (`sign` is `,` or `(`) a plain word is not."""
    if compiled(_AFTER, folded=False).match(value) or (sign in {",", "("} and not (mixed(value) or strong(value))):
        return False
    return quoted_password(value) if password else _literal(value) and not expression(value)


def _set(match: re.Match[str], before: str, group: str) -> bool:
    """Whether what follows the name is its value: after a sign, as an argument, or as that of a flag or a command."""
    sign = match["set"]
    if sign is None:
        sql = group == "quoted" and match["quote"] == "'" and match[0].startswith("PASSWORD")
        quoted = group == "quoted" and compiled(_LITERAL, folded=False).search(before) is not None
        return sql or quoted or compiled(_COMMAND, folded=False).search(before) is not None
    if sign == ",":
        return compiled(_CALL, folded=False).search(before) is not None
    if sign == "(":
        return compiled(_SETTER, folded=False).search(before) is not None
    return True


_BEHIND = 200  # characters before a name that are searched for an open bracket
_LEAST = 4  # characters of a value
_FIRST = r"[^,;&|)\]}<>]*"
_NEXT = r"[,;&|][A-Za-z_][\w.-]{1,40}[=:]|&&|\|\||<(?=/|!--|[A-Za-z][\w-]{0,20}/?>)|;[A-Za-z][\w.-]{1,40}(?=[ \t][\w ]{1,30}=)"
"""Where the next pair, command or tag begins."""

_INSIDE = 64  # characters of a longer value in which another name is looked for
_ROW = rf"[a-z0-9-]{{0,12}}?{STEM}{SUFFIX}[\"'`]?[=:]"
_INNER = rf"{STEM}{SUFFIX}[\"'`]?="
_NAME = r"[ \t]?[\w.\[\]-]*"
_VARIABLE = r"(?:^|[\s\"'`(\[])[A-Z][A-Z0-9_]*=[\"']?$"
_OPENERS = {")": "(", "]": "[", "}": "{"}
_SLOT = r"<{1,3}(?:[A-Za-z][^<>\r\n]{0,80})?>|\[(?i:your|my|the|insert|enter|put)[^\[\]\r\n]{0,80}\]|&(?:lt|nbsp|#x3[cC]|#60|#160);"
"""A placeholder for the reader to replace, which may contain spaces: `<your password>`."""

_CLOSER = r"[)\]}]"
_SIGILS = tuple("!&*@%|>")  # may precede the value itself in YAML: of a tag, an anchor, an alias or a block
_TAIL = ".,:;|*_"


def _bare(match: re.Match[str], *, password: bool) -> Span | None:
    """
    The span of the value in the group `bare` if it looks like a secret, else None.

    The group `set` is what separates it from the name.
    """
    text, start, sign = match.string, match.start("bare"), match["set"] or ""
    end = _end(match)
    whole = match["bare"][:end]
    if len(whole) < _LEAST or _none(match, sign):
        return None
    if sign == "=" and compiled(_VARIABLE, folded=False).search(text[max(0, start - 80) : start]):
        return _variable(match["bare"] if end > _INSIDE else whole, start, password=password)
    whole = _closed(whole.rstrip(_TAIL), text, match.start())
    first = compiled(_FIRST, folded=False).match(whole, 1)  # a value may begin with a character that ends others
    value = whole[: first.end()].rstrip(".,:!?*_") if first else ""
    if code(whole) or code(value):
        return None
    fits = not value.startswith(("(", "[", "{")) and (token(value) or (password and bare_password(value)))
    return (start, start + max(len(value), len(whole))) if fits or generated(whole) else None


def _none(match: re.Match[str], sign: str) -> bool:
    """Whether it is compared with something, a YAML anchor or the like, a placeholder, or the start of an expression."""
    text, value = match.string, match["bare"]
    if (sign.endswith("==") or sign.startswith("!")) and value.rstrip("){}]:;,").isidentifier():
        return True  # compared with another name; a literal would be in quotes
    marked = value.startswith(_SIGILS) and (sign.startswith(":") or value.startswith("&"))
    if marked and not _secret(value.lstrip("".join(_SIGILS)), password=match["password"] is not None):
        return True
    slot = compiled(_SLOT, folded=False).match(text, match.start("bare"))
    return slot is not None or expression(value, text[match.end("bare") : match.end("bare") + 10])


def _variable(value: str, start: int, *, password: bool) -> Span | None:
    """A value set by `NAME=value`: it goes to the next space or quote, and may be a word."""
    whole = value.rstrip(",.;)")
    first = compiled(_FIRST, folded=False).match(whole)
    parts = {whole, first[0] if first else ""}
    fits = quoted_password if password else _literal
    return (start, start + len(whole)) if any(map(fits, parts)) and not code(whole) else None


def _secret(value: str, *, password: bool) -> bool:
    """Whether the text after a sign, which may belong to YAML or to the value, looks like a secret."""
    if generated(value) or strong(value) or (password and bare_password(value) and not words(value)):
        return True
    return scrambled(value, SHORT) and not code(value)


def _literal(value: str) -> bool:
    return strong(value, 8) and not code(value)


def _end(match: re.Match[str]) -> int:
    """How many characters a value has before something that cannot be part of it."""
    value, before = match["bare"], match.string[max(0, match.start() - 80) : match.start()]
    ends = [len(value)]
    if len(value) > _INSIDE and (inner := compiled(_INNER, folded=True).search(value, 0, _INSIDE)):
        ends.append(inner.start())  # it has a value of its own
    if found := compiled(_NEXT, folded=False).search(value):
        ends.append(found.start())
    for begins, ended in (("?&", "&#"), (";", ";")):
        signs = [sign for sign in ended if sign in value]
        name = before[max(map(before.rfind, begins)) :] if signs else ""
        if name and name[0] in begins and compiled(_NAME, folded=False).fullmatch(name, 1):
            ends += map(value.find, signs)
    if (match["set"] or "").startswith("%"):
        ends += [value.find(sign) for sign in ("%26", "%22", "%2C", "%7D") if sign in value]
    return min(ends)


def _closed(value: str, text: str, name: int) -> str:
    """A value without a bracket that closes one opened before its name, or that closes none at its end."""
    line = text[max(0, name - _BEHIND) : name].rpartition("\n")[2]
    for found in compiled(_CLOSER, folded=False).finditer(value):
        at, sign = found.start(), found[0]
        opener = _OPENERS[sign]
        if value.count(opener, 0, at) < value.count(sign, 0, at + 1) and line.count(opener) > line.count(sign):
            return value[:at].rstrip(_TAIL)
    while value and value[-1] in _OPENERS and value.count(_OPENERS[value[-1]]) < value.count(value[-1]):
        value = value[:-1].rstrip(_TAIL)
    return value


# After a field, or the flag of a command --------------------------------------

_CONNECTION = r"(?:(?<=;)|(?<=; ))(?:password|pwd)[ \t]?=[ \t]?(?P<s>[^;\"'\r\n]{1,128})(?=[;\"'\r\n]|$)"
_CONNECTION_FIRST = r"(?:password|pwd)[ \t]?=[ \t]?(?P<s>[^;\"'\s]{1,128})(?=;[ \t]?[A-Za-z][\w ]{1,30}=)"
_BRACED = r"(?:password|pwd)[ \t]?=[ \t]?\{(?P<s>[^{}\r\n]{4,128})\}"
_SALT = r"define\(\s{0,8}[\"'](?:\w{0,30}_)?(?:KEY|SALT|PASS\w{0,8}|SECRET|TOKEN)[\"']\s{0,8},\s{0,20}[\"'](?P<s>[^\"'\n]{8,256})[\"']"
_NETRC = (
    r"machine\s{1,16}(?:[\w-]{1,64}\.[\w.-]{1,190}|localhost)\s{1,16}login\s{1,16}\S{1,128}\s{1,16}"
    r"(?:account\s{1,16}\S{1,128}\s{1,16})?password\s{1,16}(?P<s>[^\s`\"']{1,256})"
)
_SQL = r"identified[ \t]{1,4}(?:with[ \t]{1,4}\S{1,64}[ \t]{1,4})?by[ \t]{1,4}(?:password[ \t]{1,4})?'(?P<s>[^'\r\n]{1,128})'"
_AWS = (
    r"secret[-_ ]?(?:access|(?<=aws[-_ ]secret[-_ ])|(?<=aws[-_ ]secret))[-_ ]?key(?:\\?[\"'])?\]?[ \t]{0,40}(?:=>|:=|[:=>])\s{0,8}"
    r"(?:\\?[\"'])?(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)


def _sql(match: re.Match[str]) -> Span | None:
    value = match["s"]
    return literal(match) if mixed(value) or match[0].isupper() or match[0].startswith("IDENTIFIED") else None


def _braced(match: re.Match[str]) -> Span | None:
    """A value in the braces of ODBC, unless it is the name of a variable."""
    value = match["s"]
    return match.span("s") if not words(value) and (bare_password(value) or strong(value, 8)) else None


def _salt(match: re.Match[str]) -> Span | None:
    """A constant of PHP that is a key: WordPress draws sixty-four characters of all kinds, blanks too."""
    value = match["s"].replace(" ", "")
    return literal(match) if strong(value, 8) and mixed(value) and not code(value) else None


NAMED: tuple[SecretRule, ...] = (
    SecretRule("connection-password", _CONNECTION, ("password", "pwd"), folded=True, needs=("=",), judge=literal),
    SecretRule("connection-password", _CONNECTION_FIRST, ("password", "pwd"), folded=True, needs=("=",), judge=literal),
    SecretRule("connection-password", _BRACED, ("password", "pwd"), folded=True, needs=("{",), judge=_braced),
    SecretRule("assigned-secret", _SALT, ("define(",), folded=True, apart=True, judge=_salt),
    SecretRule("netrc-password", _NETRC, ("machine ",), apart=True, judge=literal),
    SecretRule("sql-password", _SQL, ("identified ",), folded=True, needs=("'",), apart=True, judge=_sql),
    SecretRule("aws-secret-key", _AWS, ("secret",), folded=True, judge=secret),
    SecretRule("assigned-secret", _ASSIGNED, STEMS, folded=True, nested=True, judge=_value),
    SecretRule("assigned-secret", _ASSIGNED, FOREIGN, folded=True, nested=True, apart=True, judge=_value),
)
