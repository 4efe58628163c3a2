"""Tells a secret from a word, a name or a placeholder by its characters alone. Pure functions."""

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
A row for each letter, with a digit for each letter that may follow: 5 + log2(frequency in words / by chance).

In whole bits, counted by `scripts/letters.py`.
"""

_CHANGES = {"aa": 0.8, "AA": 0.6, "Aa": 0.6, "aA": -2.5, "a0": -1.0, "A0": -1.0, "0a": -2.5, "0A": -2.5, "00": 1.0}
"""
Bits for how small letters (a), capitals (A) and digits (0) follow each other in names, compared with chance.

Estimates, tried on 20,000 random texts of letters and digits, of which the thresholds below miss 1.2 % of those with
eight characters and 0.2 % of those with twelve; and on 7,000 names from code with both cases or digits, of which they
take 5 %, most of them odd.
"""

_CAMEL = 4.0  # bits added for words of three letters or more with capitals
_UNSPELT = 6.0  # bits taken if capitals and digits stand as in no name
MIXED = 1.5  # a text of both cases or with digits is random below so many bits
_ALIKE = -2.0  # the same for small letters or capitals alone, plus an allowance for each letter beyond `_LONG`
_LONG = 12  # letters of one case from which the score says something
_APART = -8.0  # a text with signs in it and no long run is random below so many bits
_SIZE = 16  # the fewest characters of such a text
_RUNS = r"[A-Za-z0-9]+"
_SPELT = r"[A-Z\d]+s?|[a-z\d]+|(?:(?>[A-Z]{0,6}[a-z]+\d{0,2}))+(?:[A-Z]{2,4}s?\d{0,2})?"
_CAMELS = r"[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})*\d{0,2}"

ENTROPY = 2.8
"""Bits per character (Shannon, 1948) that a generated secret has at least; ten different characters have 3.3."""

STRONG = 12
"""The fewest characters of a generated secret that nothing but its name points to."""

SHORT = 6
"""The fewest random characters after `$`, `&` or `@` that are not the name of a variable."""

_PLAINLY = 8.0
"""Bits from which a name with a digit inside is a name in code, where a secret is expected (`scrambled`)."""

_ODDLY = 5.0
"""The same for a name whose capitals stand as in few names: `opeggNN`, `CEIiPQ`."""

_HARDLY = -10.0
"""Below so many bits a value is not a name, whatever words it contains."""

_ALL = r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d.*\d)"  # both cases and two digits

_NEVER = -18.0
"""Below so many bits it is not even a name of code and numbers: `Rs256JwtKey` has -16."""

_SAID = (
    *"example placeholder redacted changeme change-me change_me dummy 00000000 ... … ${ {{".split(),
    *"your- your_ my-secret my_secret my-token my_token my-api my_api".split(),
    "your ",
)
STAND_INS = frozenset("password passwd pass pw pwd secret token user username".split())
"""What examples write in place of a password."""

_ENCLOSED = r"<.*>|[#$]?\{.*\}|%\w+%|%[sdvqr]|\$\(.*|@\w+@|__\w+__|&(?:lt|#x3[cC]|#60);.*"
_CROSSES = r"x{5}|X{5}"
_VARIABLE = r"\$\w+"
_STEM = r"pass|pwd|secret|token|key|credential"
_STEM_NAME = rf"(?i)[a-z_=.]*(?:{_STEM})[a-z_=.]*\d{{0,3}}"
_NAMED = r"(?:^|[a-z0-9_])(?:Key|Token|Secret|Password|Credential)|(?:^|_)(?:key|token|secret|password|credential)"
_NAMES = r"^[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+$|^[$@]{1,2}[A-Za-z_]\w*(?:->|::|\[|\{|\.|$)"
_TELLING = (
    r"(?i:pass|secret|token|cred|auth|user|conf|value|param|input|hash|salt|data)|[Pp]wd|Key|key(?![a-z])|Env|Arg|Var"
)
"""Words that a name in code contains, and a random value hardly ever."""

_PARTS = r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z\d]+(?:\.[A-Za-z\d]+)+"
_DOTTED = r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z]+(?:\.[A-Za-z]+)+"
_ODD = r"[a-z][A-Z]{2}|[A-Z]{2}[a-z]|[a-z][A-Z]\Z|\A[a-z]+[A-Z][a-z][A-Z]"
_CODE = (
    r"^[\w.+-]*://|^[A-Za-z]:\\"
    r"|^![A-Za-z]+$|^(?:arn|vault|bao|ref|ssm|sm|kms|akv|sops|env|file|op|keyring|secretsmanager):"
)
_EXPRESSION = r"[!&*~+@$%.)\]}-]{0,2}(?:[A-Za-z_][\w.:>$-]*)?([(\[{])"
_COUNTED = (
    r"\d{4}[A-Za-z]|\A(?=.*[a-z])(?=.*[A-Z]).*\d[A-Za-z]+\d"  # digits as no name has them: in two places, or many
)
_GOES_ON = r"[\"'`\\,]|[ \t]{1,4}[-+*/%?:.|&=<>]{1,3}[ \t]"
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
    Whether its letters and digits follow each other as they only do by chance.

    Args:
        size: The fewest characters of a run of letters and digits for it to count.
        bits: A run of both cases or with digits is random below so many; higher where names must be plain ones.
    """
    runs = _known(_RUNS).findall(text)
    different = set(runs)
    if any(len(run) >= size and _chance(run, bits) for run in different):
        return True
    if len(runs) < 2 or len(text) < _SIZE:
        return False
    found = {run: _bits(run) for run in different}
    return sum(found[run] for run in runs) < _APART


def _chance(run: str, least: float) -> bool:
    if run.isdigit():
        return False
    if run.isalpha() and (run.islower() or run.isupper()):
        more = max(0, len(run) - _LONG) * 1.2
        return (len(run) >= _LONG or least > MIXED) and _bits(run) < _ALIKE + more
    return _bits(run) < least


def _bits(run: str) -> float:
    """How much more a run looks like a word than like chance, in bits: naive Bayes over its pairs."""
    if run.isalpha() and (run.islower() or run.isupper()):
        small = run.lower()
        return sum(map(_BITS.__getitem__, map(add, small, small[1:]))) - _CHANGES["aa"] * (len(run) - 1)
    bits = sum(map(_BITS.__getitem__, map(add, run, run[1:])))
    return bits + (_CAMEL if _known(_CAMELS).fullmatch(run) else 0 if _spelt(run) else -_UNSPELT)


def _spelt(run: str) -> bool:
    """Whether it is written like a name: small letters, capitals, or capitalised words, with numbers after them."""
    return _known(_SPELT).fullmatch(run) is not None


def _kind(character: str) -> str:
    return "0" if character.isdigit() else "A" if character.isupper() else "a"


class _Pairs(dict[str, float]):
    """Bits of each pair of letters and digits, computed when first needed."""

    def __missing__(self, pair: str) -> float:
        bits = _CHANGES[_kind(pair[0]) + _kind(pair[1])]
        if pair.isalpha():
            row, column = (ord(letter) - ord("a") for letter in pair.lower())
            bits += int(_PAIRS[row][column]) - 5
        return self.setdefault(pair, bits)


_BITS = _Pairs()


def entropy(text: str) -> float:
    """Bits per character, from how often each occurs: -sum p log2 p."""
    shares = (text.count(character) / len(text) for character in set(text))
    return -sum(share * math.log2(share) for share in shares)


def stand_in(text: str) -> bool:
    """Whether it is an obvious placeholder: `<your-key>`, `${TOKEN}`, `sk-...`, `xxxxx`, AWS's `...EXAMPLE`."""
    low = text.lower()
    rest = text.replace("*", "")  # in a longer text, stars are ordinary characters
    masked = "***" in text and len(rest) < (8 if _known(_ALL).match(rest) else STRONG)
    if (
        masked
        or _known(_CROSSES).search(text)
        or any(said in low for said in _SAID)
        or _known(_ENCLOSED).fullmatch(text)
    ):
        return True
    return _known(_VARIABLE).fullmatch(text) is not None and _code_name(text)


def said_elsewhere(text: str) -> bool:
    """Whether it says where the secret is or what it must be: `required`, `see vault`."""
    return text.strip().lower() in _WORDS or _known(_ELSEWHERE).fullmatch(text.strip()) is not None


def made_up(text: str) -> bool:
    """
    Whether it is a placeholder in the form of a secret, such as `ghp_xxxxxxxx`: so named,
    or of very few characters.
    """
    return stand_in(text) or entropy(text) < min(ENTROPY, math.log2(len(text)) * 0.6)


def code(text: str) -> bool:
    """Whether it is a name, a path, a URL or a reference: `cfg.key`, `$self->x`, `/run/secrets`, `arn:…`."""
    if _known(_NAMES).search(text) and _code_name(text):
        return True
    return _known(_CODE).search(text) is not None or _path(text)


def expression(text: str, after: str = "") -> bool:
    """
    Whether it is a template, or begins with a call, an index or a literal in code.

    The bracket must be closed, or the code must continue in `after`.
    """
    found = _known(_EXPRESSION).match(text)
    if found and (
        _CLOSERS[found[1]] in text[found.end() :] or text.endswith(tuple("([{,=")) or _known(_GOES_ON).match(after)
    ):
        return True
    return _known(_TEMPLATE).search(text) is not None


def _code_name(text: str) -> bool:
    """Whether it is a name in code, joined or after a sign: of small letters, capitals, or capitalised words."""
    parts = _known(r"[^\W_]+").findall(text)
    small = SHORT if text.startswith(("$", "@")) else 8
    if _known(_TELLING).search(text):
        return not scrambled(text, small, bits=_HARDLY)
    inside = any(map(_known(r"\d[A-Za-z]").search, parts))
    doubtful = scrambled(text, small, bits=_PLAINLY) if inside else scrambled(text, small)
    odd = any(map(odd_capitals, parts))
    if text.startswith(("$", "@")) and inside and (odd or _known(_COUNTED).search(text)):
        return False
    bits = _ODDLY if odd else MIXED
    return all(map(_spelt, parts)) and not doubtful and not scrambled("".join(parts), bits=bits)


def odd_capitals(text: str) -> bool:
    """Whether its capitals stand as in few names: `ATfROR`, `opeggNN`."""
    return _known(_ODD).search(text) is not None


def _path(text: str) -> bool:
    """Whether it begins like a path, and continues in words or ends in a file extension."""
    return text.startswith(("/", "./", "../", "~/")) and (
        words(text.lstrip("~")) or bool(_known(r"\.\w{1,5}$").search(text))
    )


def words(text: str) -> bool:
    """Whether it is words, versions and numbers, joined: `gpt-4o-2024-08-06`, `user_2`, `v1.2.3`, `grant=user`."""
    return _known(rf"{_PLAIN}(?:[-_./: =]{_PLAIN})*").fullmatch(text) is not None and not by_chance(text)


def by_chance(text: str) -> bool:
    """Whether its letters and digits look random; short parts of both cases between dots are taken together."""
    return scrambled(text) or (_known(_PARTS).fullmatch(text) is not None and scrambled(text.replace(".", "")))


def _name(text: str) -> bool:
    """Whether it is a name in code that mentions a secret: `Ed25519PrivateKey`."""
    named = text.isidentifier() and _known(_NAMED).search(text) is not None and len(re.findall(r"\d+", text)) <= 1
    return named and not scrambled(text, bits=_NEVER)


def strong(text: str, size: int = STRONG) -> bool:
    """Whether it looks generated: long enough, not words, not a placeholder, with many different characters."""
    return (
        len(text) >= size
        and not text.isdigit()
        and not words(text)
        and not _name(text)
        and not _known(r"\s").search(text)
        and not _algorithm(text)
        and not any(_known(pattern).fullmatch(text) for pattern in (_DIGEST, _TIME, _KEYSTROKE))
        and text.isascii()
        and not made_up(text)
    )


def token(text: str) -> bool:
    """Whether it looks generated; with random letters it may be shorter than `STRONG`."""
    return strong(text) or (by_chance(text) and strong(text, 8))


def generated(text: str, size: int = STRONG) -> bool:
    """Whether it is more mixed than any name, sentence or code: both cases, and digits or signs."""
    kinds = _known(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[\d!#$%^*+=?~@])")
    return kinds.match(text) is not None and strong(text, size) and not code(text)


def quoted_password(text: str) -> bool:
    """Whether a quoted text is a literal password, where a password is set."""
    if len(text) < 4 or stand_in(text) or text.lower() in _WORDS or _path(text):
        return False
    if _known(r"\s").search(text):
        return any(len(word) >= 6 and mixed(word) for word in text.split())
    if _known(r"[A-Za-z]+(?:[-_ ][A-Za-z]+){0,2}").fullmatch(text):
        return not text.istitle() and not _known(rf"(?i){_STEM}").search(text)
    return (
        text.isascii()
        and not _known(r"\w+\(.*|[\w.+-]+://.*|(?:%[sdrv]|[\W_])+").fullmatch(text)
        and not _algorithm(text)
    )


def bare_password(text: str) -> bool:
    """
    Whether an unquoted text is a literal password, where a password is set.

    Letters mixed with digits or signs, or random letters, or six digits and more; not a name.
    """
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
    """Whether it has letters, and a digit or a sign that words do not have."""
    return text.isascii() and _known(r"(?=.*[A-Za-z])(?=.*[\d!@#$%^&*+=?~])").match(text) is not None


def _algorithm(text: str) -> bool:
    """Whether it is an algorithm or a type with its sizes, `AES-256-GCM`, and not letters by chance: `x2WcB_d5tgZyAl`."""
    if not _known(_ALGORITHM).fullmatch(text):
        return False
    return not (_known(r"[a-z]\d*[A-Z]").search(text) and scrambled(_known(r"[\W_]").sub("", text), bits=_HARDLY))
