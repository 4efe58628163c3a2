"""What tells a secret from a word, a name or a stand-in by its characters alone. Pure functions."""

from __future__ import annotations

import math
import re
from functools import cache
from operator import add

_PAIRS = """
15652351513757151767432341
63437221741733640653621141
71427216605522721547510150
63248333821433621553632140
52664441301657353776343520
61337621701623731645611140
62228346601646530653521041
72338211701333720545412060
54655440102558741466250204
71338101412123831252811221
63348342702625531364315131
72347311702622630255531161
75238111701352760253510040
61667472623323620267441121
34552452413668450765544311
71337226602632750756422140
31230112210413310444901000
73448342703354730455432050
51527325703442661267612040
62327216801432630654512151
55645340502767350766110101
71129211700122520132200110
73247216701426621654123200
62626314701431571347311351
43646341502666670477223123
71039303700433610222401054
""".split()
"""
A row for each letter, a digit for each that may follow it: 5 + log2(how often it does in words / by chance).

Whole bits. `scripts/letters.py` counted them.
"""

_CHANGES = {"aa": 0.8, "AA": 0.6, "Aa": 0.6, "aA": -2.5, "a0": -1.0, "A0": -1.0, "0a": -2.5, "0A": -2.5, "00": 1.0}
"""
Bits for how small letters (a), capitals (A) and digits (0) follow each other in names, against how they do by chance.

Estimates, tried on 20,000 texts of letters and digits by chance, of which the bits below miss 1.2 % of eight characters
and 0.2 % of twelve, and on 7,000 names with both cases or digits of code, of which they take 5 %, most of them odd.
"""

_CAMEL = 4.0  # bits that a text gains that is words of three letters and more, with capitals
_UNSPELT = 6.0  # bits that a text loses whose capitals and digits stand as in no name
MIXED = 1.5  # bits below which a text of both cases, or with digits, is by chance
_ALIKE = -2.0  # and one of small letters, or of capitals, alone: and more for each letter more than `_LONG`
_LONG = 12  # letters of one case that tell something
_APART = -8.0  # bits below which a text with signs in it is by chance that has no long run
_SIZE = 16  # characters that such a text has at least
_RUNS = r"[A-Za-z0-9]+"
_SPELT = r"[A-Z\d]+s?|[a-z\d]+|(?:(?>[A-Z]{0,6}[a-z]+\d{0,2}))+(?:[A-Z]{2,4}s?\d{0,2})?"
_CAMELS = r"[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})*\d{0,2}"

ENTROPY = 2.8
"""Bits a character (Shannon, 1948) that a generated secret has at least; ten different characters have 3.3."""

STRONG = 12
"""Characters that a generated secret has at least where nothing but its name speaks for it."""

SHORT = 6
"""Characters by chance after `$`, `&` or `@` that are no name of a variable."""

_PLAINLY = 8.0
"""Bits that a name of code with a digit inside has at least where a secret is said to stand (`scrambled`)."""

_ODDLY = 5.0
"""Bits that a name has at least whose capitals stand as in few names: `opeggNN`, `CEIiPQ`."""

_HARDLY = -10.0
"""Bits below which a value is no name whatever it says."""

_SAID = (
    *"example placeholder redacted changeme change-me change_me dummy xxxxx 00000000 ... … ${ {{".split(),
    *"your- your_ my-secret my_secret my-token my_token my-api my_api".split(),
    "your ",
)
STAND_INS = frozenset("password passwd pass pw pwd secret token user username".split())
"""What examples write where a password belongs."""

_ENCLOSED = r"<.*>|[#$]?\{.*\}|%\w+%|%[sdvqr]|\$\(.*|@\w+@|__\w+__|&(?:lt|#x3[cC]|#60);.*"
_VARIABLE = r"\$\w+"
_STEM = r"pass|pwd|secret|token|key|credential"
_STEM_NAME = rf"(?i)[a-z_=.]*(?:{_STEM})[a-z_=.]*\d{{0,3}}"
_NAMED = r"(?:^|[a-z0-9_])(?:Key|Token|Secret|Password|Credential)|(?:^|_)(?:key|token|secret|password|credential)"
_NAMES = r"^[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+$|^[$@]{1,2}[A-Za-z_]\w*(?:->|::|\[|\{|\.|$)"
_TELLING = (
    r"(?i:pass|secret|token|cred|auth|user|conf|value|param|input|hash|salt|data)|[Pp]wd|Key|key(?![a-z])|Env|Arg|Var"
)
"""What a name of code says that a value by chance hardly ever does."""

_PARTS = r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z\d]+(?:\.[A-Za-z\d]+)+"
_DOTTED = r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z]+(?:\.[A-Za-z]+)+"
_ODD = r"[a-z][A-Z]{2}|[A-Z]{2}[a-z]|[a-z][A-Z]\Z|\A[a-z]+[A-Z][a-z][A-Z]"
_CODE = (
    r"^[\w.+-]*://|^[A-Za-z]:\\"
    r"|^![A-Za-z]+$|^(?:arn|vault|bao|ref|ssm|sm|kms|akv|sops|env|file|op|keyring|secretsmanager):"
)
_EXPRESSION = r"[!&*~+@$%-]{0,2}(?:[A-Za-z_][\w.:>$-]*)?([(\[{])"
_GOES_ON = r"[\"'`\\]|[ \t]{1,4}[-+*/%?:.|&=<>]{1,3}[ \t]"
_TEMPLATE = r"\{[\w.!:]*\}|%\(\w+\)|\w\(\)|\\\("
_ELSEWHERE = r"(?i)(?:see|ask|stored in|kept in|read from|managed by)\s.*"
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_DIGEST = r"(?i)(?:sha-?\d+|md5)[:-].*"
_TIME = r"\d{4}-\d\d-\d\d(?:[T_ ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?"
_KEYSTROKE = r"(?i)(?:alt|ctrl|control|shift|cmd|command|option|meta|super|win)\+.*"
_PLAIN = r"(?>(?:[A-Za-z]+\d{0,2}|\d+|[A-Za-z]{0,2}\d+[A-Za-z]?|)(?=[-_./: =]|\Z))"
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
    no ok on off pass fail passed failed done
    """.split()
)


@cache
def _known(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def scrambled(text: str, size: int = 8, *, bits: float = MIXED) -> bool:
    """
    Letters and digits in it follow each other as they only do by chance.

    Args:
        size: Characters that a stretch of letters and digits has at least to say something.
        bits: Below which one of both cases, or with digits, is by chance: more where a name must be a plain one.
    """
    runs = _known(_RUNS).findall(text)
    if any(len(run) >= size and _chance(run, bits) for run in runs):
        return True
    if len(runs) < 2 or len(text) < _SIZE:
        return False
    found = {run: _bits(run) for run in set(runs)}
    return sum(found[run] for run in runs) < _APART


def _chance(run: str, least: float) -> bool:
    if run.isdigit():
        return False
    if run.isalpha() and (run.islower() or run.isupper()):
        more = max(0, len(run) - _LONG) * 1.2
        return (len(run) >= _LONG or least > MIXED) and _bits(run) < _ALIKE + more
    return _bits(run) < least


def _bits(run: str) -> float:
    """How much more a run looks like a word than like chance; the naive Bayes of its pairs."""
    if run.isalpha() and (run.islower() or run.isupper()):
        small = run.lower()
        return sum(map(_pairs().__getitem__, map(add, small, small[1:]))) - _CHANGES["aa"] * (len(run) - 1)
    bits = sum(map(_pairs().__getitem__, map(add, run, run[1:])))
    return bits + (_CAMEL if _known(_CAMELS).fullmatch(run) else 0 if _spelt(run) else -_UNSPELT)


def _spelt(run: str) -> bool:
    """Written as names are: small letters, capitals, or words that begin with capitals, with numbers behind them."""
    return _known(_SPELT).fullmatch(run) is not None


def _kind(character: str) -> str:
    return "0" if character.isdigit() else "A" if character.isupper() else "a"


class _Pairs(dict[str, float]):
    """Bits of each pair of letters and digits that was asked for."""

    def __missing__(self, pair: str) -> float:
        bits = _CHANGES[_kind(pair[0]) + _kind(pair[1])]
        if pair.isalpha():
            row, column = (ord(letter) - ord("a") for letter in pair.lower())
            bits += int(_PAIRS[row][column]) - 5
        return self.setdefault(pair, bits)


@cache
def _pairs() -> _Pairs:
    return _Pairs()


def entropy(text: str) -> float:
    """Bits a character, from how often each occurs: -sum p log2 p."""
    shares = (text.count(character) / len(text) for character in set(text))
    return -sum(share * math.log2(share) for share in shares)


def stand_in(text: str) -> bool:
    """It says itself that it is none: `<your-key>`, `${TOKEN}`, `sk-...`, `xxxxx`, AWS's `...EXAMPLE`."""
    low = text.lower()
    masked = "***" in text and len(text) - text.count("*") < STRONG  # of more, stars are some of its signs
    if masked or any(said in low for said in _SAID) or _known(_ENCLOSED).fullmatch(text):
        return True
    return _known(_VARIABLE).fullmatch(text) is not None and _code_name(text)


def said_elsewhere(text: str) -> bool:
    """It says where the secret is or what it must be: `required`, `see vault`."""
    return text.strip().lower() in _WORDS or _known(_ELSEWHERE).fullmatch(text.strip()) is not None


def made_up(text: str) -> bool:
    """A stand-in in the shape of a secret, such as `ghp_xxxxxxxx`: it says so, or has hardly any different characters."""
    return stand_in(text) or entropy(text) < min(ENTROPY, math.log2(len(text)) * 0.6)


def code(text: str) -> bool:
    """A name, a path, an address or a reference rather than a literal: `cfg.key`, `$self->x`, `/run/secrets`, `arn:…`."""
    if _known(_NAMES).search(text) and _code_name(text):
        return True
    return _known(_CODE).search(text) is not None or _path(text)


def expression(text: str, after: str = "") -> bool:
    """It begins with a call, an index or a literal of code that is closed or goes on in what is `after`; or is a template."""
    found = _known(_EXPRESSION).match(text)
    if found and (
        _CLOSERS[found[1]] in text[found.end() :] or text.endswith(tuple("([{,")) or _known(_GOES_ON).match(after)
    ):
        return True
    return _known(_TEMPLATE).search(text) is not None


def _code_name(text: str) -> bool:
    """Names of code as they are written, joined or behind a sign: of small letters, of capitals, or of words with capitals."""
    parts = _known(r"[^\W_]+").findall(text)
    small = SHORT if text.startswith(("$", "@")) else 8
    if _known(_TELLING).search(text):
        return not scrambled(text, small, bits=_HARDLY)
    inside = any(map(_known(r"\d[A-Za-z]").search, parts))
    doubtful = scrambled(text, small, bits=_PLAINLY) if inside else scrambled(text, small)
    bits = _ODDLY if any(map(_known(_ODD).search, parts)) else MIXED
    return all(map(_spelt, parts)) and not doubtful and not scrambled("".join(parts), bits=bits)


def _path(text: str) -> bool:
    """It begins as a path does, and goes on in words or to a file's extension."""
    return text.startswith(("/", "./", "../", "~/")) and (
        words(text.lstrip("~")) or bool(_known(r"\.\w{1,5}$").search(text))
    )


def words(text: str) -> bool:
    """Words, versions and numbers, joined: `gpt-4o-2024-08-06`, `user_service_2`, `v1.2.3`, `grant=user`."""
    return _known(rf"{_PLAIN}(?:[-_./: =]{_PLAIN})*").fullmatch(text) is not None and not by_chance(text)


def by_chance(text: str) -> bool:
    """Its letters and digits follow each other by chance; of short parts with dots between, in both cases, all together."""
    return scrambled(text) or (_known(_PARTS).fullmatch(text) is not None and scrambled(text.replace(".", "")))


def _name(text: str) -> bool:
    """A name in code that itself speaks of a secret: `Ed25519PrivateKey`."""
    return text.isidentifier() and _known(_NAMED).search(text) is not None and len(re.findall(r"\d+", text)) <= 1


def strong(text: str, size: int = STRONG) -> bool:
    """It looks generated: long enough, no words, not a stand-in, many different characters."""
    return (
        len(text) >= size
        and not text.isdigit()
        and not words(text)
        and not _name(text)
        and not _known(r"\s").search(text)
        and not any(_known(pattern).fullmatch(text) for pattern in (_ALGORITHM, _DIGEST, _TIME, _KEYSTROKE))
        and text.isascii()
        and not made_up(text)
    )


def token(text: str) -> bool:
    """It looks generated, and may be shorter than `STRONG` where its letters follow each other by chance."""
    return strong(text) or (by_chance(text) and strong(text, 8))


def generated(text: str, size: int = STRONG) -> bool:
    """So mixed that no name, sentence or code is: of letters in both cases, and digits or signs."""
    kinds = _known(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[\d!#$%^*+=?~@])")
    return kinds.match(text) is not None and strong(text, size) and not code(text)


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
    """A literal without quotes where a password is set: letters and digits mixed, either alone by chance; not a name."""
    if text.isdigit():
        return len(text) >= 6
    if text.isascii() and text.isalpha():
        return scrambled(text)
    if _known(_DOTTED).fullmatch(text):
        return not code(text)
    if len(text) < 5 or not mixed(text) or _known(_STEM_NAME).fullmatch(text) or ("_" in text and words(text)):
        return False
    return not (stand_in(text) or code(text) or _algorithm(text))


def mixed(text: str) -> bool:
    """Letters, and a digit or a sign that words do not have."""
    return text.isascii() and _known(r"(?=.*[A-Za-z])(?=.*[\d!@#$%^&*+=?~])").match(text) is not None


def _algorithm(text: str) -> bool:
    return _known(_ALGORITHM).fullmatch(text) is not None
