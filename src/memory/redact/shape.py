"""What tells a secret from a word, a name or a stand-in by its characters alone. Pure functions."""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import pairwise

ENTROPY = 2.8
"""Bits a character (Shannon, 1948) that a generated secret has at least; ten different characters have 3.3."""

STRONG = 12
"""Characters that a generated secret has at least where nothing but its name speaks for it."""

_SAID = (
    *("example", "placeholder", "redacted", "changeme", "change-me", "change_me", "dummy", "xxxxx", "00000000", "***"),
    *(
        "...",
        "…",
        "${",
        "{{",
        "your-",
        "your_",
        "your ",
        "my-secret",
        "my_secret",
        "my-token",
        "my_token",
        "my-api",
        "my_api",
    ),
)
_ENCLOSED = r"<.*>|\{.*\}|%\w+%|\$\w+|\$\(.*|@\w+@|__\w+__"
_STEM = r"pass|pwd|secret|token|key|credential"
_STEM_NAME = rf"(?i)[a-z_=.]*(?:{_STEM})[a-z_=.]*\d{{0,3}}"
_NAMED = r"(?:^|[a-z0-9_])(?:Key|Token|Secret|Password|Credential)|(?:^|_)(?:key|token|secret|password|credential)"
_CODE = r"[(\[{]|^[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+$|^[\w.+-]*://|^[A-Za-z]:\\"
_PLAIN = r"[A-Za-z]+\d{0,2}|\d+|[A-Za-z]{0,2}\d+[A-Za-z]?|"
_ALGORITHM = (
    r"(?i)(?:sha|md|bcrypt|argon|pbkdf|scrypt|base|utf|oauth|hmac|aes|rsa|ed|ecdsa|totp|http|ipv?|v|py|vault|varchar|char"
    r"|int|rs|hs|es|x|win)-?[\d.x]+\w{0,3}(?:[-_/]\w{1,8})*"
)
_WORDS = frozenset(
    """
    required optional string text true false none null nil undefined hidden input missing invalid incorrect wrong
    unknown empty default plain plaintext field current new confirm prompt keyring file env environment hashed encrypted
    basic digest grant reset forgot change update error password passwd passphrase secret token user username login
    here value test bearer oauth saml ldap kerberos stdin auto any all disabled enabled never always yes
    """.split()
)


@cache
def _known(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def entropy(text: str) -> float:
    """Bits a character, from how often each occurs: -sum p log2 p."""
    shares = (text.count(character) / len(text) for character in set(text))
    return -sum(share * math.log2(share) for share in shares)


def stand_in(text: str) -> bool:
    """It says itself that it is none: `<your-key>`, `${TOKEN}`, `sk-...`, `xxxxx`, AWS's `...EXAMPLE`."""
    low = text.lower()
    return any(said in low for said in _SAID) or _known(_ENCLOSED).fullmatch(text) is not None


def made_up(text: str) -> bool:
    """A stand-in in the shape of a secret, such as `ghp_xxxxxxxx`: it says so, or has hardly any different characters."""
    return stand_in(text) or entropy(text) < min(ENTROPY, math.log2(len(text)) * 0.6)


def code(text: str) -> bool:
    """An expression, a path or an address rather than a literal: `os.environ[`, `next(`, `cfg.key`, `/run/secrets`."""
    return _known(_CODE).search(text) is not None or _path(text)


def _path(text: str) -> bool:
    """It begins as a path does, and goes on in words or to a file's extension."""
    return text.startswith(("/", "./", "../", "~/")) and (
        words(text.lstrip("~")) or bool(_known(r"\.\w{1,5}$").search(text))
    )


def words(text: str) -> bool:
    """Words, versions and numbers, joined: `gpt-4o-2024-08-06`, `user_service_2`, `v1.2.3`."""
    plain = _known(_PLAIN)
    return all(plain.fullmatch(part) for part in re.split(r"[-_./: ]", text)) and not _scrambled(text)


def _name(text: str) -> bool:
    """A name in code that itself speaks of a secret: `Ed25519PrivateKey`."""
    return text.isidentifier() and _known(_NAMED).search(text) is not None and len(re.findall(r"\d+", text)) <= 1


def _scrambled(text: str) -> bool:
    """Letters whose case changes as it only does by chance."""
    letters = [character for character in text if character.isalpha()]
    changes = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
    return len(text) >= 16 and changes * 3 >= len(letters)


def strong(text: str, size: int = STRONG) -> bool:
    """It looks generated: long enough, no words, not a stand-in, many different characters."""
    return (
        len(text) >= size
        and not text.isdigit()
        and not words(text)
        and not _name(text)
        and not _known(r"\s").search(text)
        and not _known(_ALGORITHM).fullmatch(text)
        and not made_up(text)
    )


def quoted_password(text: str) -> bool:
    """A literal that stands in quotes where a password is set."""
    if len(text) < 4 or stand_in(text) or text.lower() in _WORDS or _path(text):
        return False
    if _known(r"\s").search(text):
        return any(len(word) >= 6 and mixed(word) for word in text.split())
    if _known(r"[A-Za-z]+(?:[-_ ][A-Za-z]+){0,2}").fullmatch(text):
        return not text.istitle() and not _known(rf"(?i){_STEM}").search(text)
    return text.isascii() and not _known(r"\w+\(.*|[\w.+-]+://.*|[\W_]+").fullmatch(text) and not _algorithm(text)


def bare_password(text: str) -> bool:
    """A literal without quotes where a password is set: letters and digits mixed, or digits alone; not a name."""
    if text.isdigit():
        return len(text) >= 6
    if len(text) < 5 or not mixed(text) or _known(_STEM_NAME).fullmatch(text) or ("_" in text and words(text)):
        return False
    return not (stand_in(text) or code(text) or _algorithm(text))


def mixed(text: str) -> bool:
    """Letters, and a digit or a sign that words do not have."""
    return text.isascii() and _known(r"(?=.*[A-Za-z])(?=.*[\d!@#$%^&*+=?~])").match(text) is not None


def _algorithm(text: str) -> bool:
    return _known(_ALGORITHM).fullmatch(text) is not None
