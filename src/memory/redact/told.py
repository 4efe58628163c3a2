"""
The rules for secrets that people tell in sentences: "the password is …", "login: admin / …", seeds and phrases.

Only what looks generated is a secret there, since sentences speak of passwords more often than they tell them.
"""

from __future__ import annotations

import re

from memory.redact.detectors import by_chance, code, expression, generated, scrambled, stand_in, strong, words
from memory.redact.issuers import BARE, mixture
from memory.redact.named import FOREIGN, IS, STEM, STEMS, SUFFIX, cased
from memory.redact.rules import SecretRule, Span, compiled

_FAR = 9  # words after a name
_WORD = r"[^\s,\"'`“”„«»<>|\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7af\uff00-\uffef]{1,256}"
_LINE = r"[^\r\n\\]{1,160}"
_AFTER = ".,;:!?)]}*_>\u3002"
_BEFORE = "([{*_=:?"
_NO_WORD = r"[\[.(%]|[\"'`]?[,)\]]"
"""What follows a name in code or in an address, not in a sentence."""

_DOTTED = r"\w\.\w{1,20}$"  # such as `user.signingkey`
_PATH = r"[A-Za-z]+(?:\.[A-Za-z]+)+"  # names with dots between, such as `settings.DEBUG`
_JOINED = frozenset(".:/")
"""What precedes a name in code or in an address."""

_LEADS = frozenset(cased(IS))


_NAMES = r"(?:" + STEM + ")" + SUFFIX + r"(?![\w-]|\.\w)"


def _told(match: re.Match[str]) -> Span | None:
    """The first of the next words in the line that is a secret: it looks generated, and more so if no `is` precedes it."""
    text, end = match.string, match.end()
    if text.startswith(match[0], end + 1) or text[match.start() - 1 : match.start()] in _JOINED:
        return None
    before_it = text[max(0, match.start() - 24) : match.start()]
    if compiled(_NO_WORD, folded=False).match(text, end) or compiled(_DOTTED, folded=False).search(before_it):
        return None
    line = compiled(_LINE, folded=False).match(match.string, match.end())
    end, before = match.end(), "is"  # the first word may follow at once: "password X"
    for number, word in enumerate(
        compiled(_WORD, folded=False).finditer(match.string, *(line.span() if line else (0, 0)))
    ):
        between = match.string[end : word.start()].strip()
        value = word[0].rstrip(_AFTER)
        value = value.lstrip(_BEFORE)
        start = word.start() + word[0].index(value)
        if compiled(_NAMES, folded=True).match(match.string, start):
            break  # what follows is judged with this name; in a row of names it would be with each
        led = bool(number and before in _LEADS) or between[-1:] in _SIGNS or start > word.start()
        if number == _FAR:
            break
        if _secret(value, led=led, next_to=not number) and not expression(word[0], text[word.end() : word.end() + 10]):
            return start, start + len(value)
        end, before = word.end(), ":" if word[0].endswith(":") else word[0].strip(_AFTER + _BEFORE).lower() or word[0]
        if word[0].endswith((".", "!", "?")) and len(word[0]) > 2:  # the sentence ends
            break
    return None


_DOUBTFUL = 8.0
"""Bits below which a word of all kinds of characters is no name, where a secret is told (`detectors.scrambled`)."""

_MIXED = r"(?=.{10})(?=.*[a-z])(?=.*[A-Z])(?=.*\d)"

_SIGNED = r"(?=(?:.*\d){2})(?=.*[a-z])\w+[!*+^~%#]\w.+"
"""Letters, digits and a sign that no name has inside."""

_SIGNS = frozenset("\"'`:=“„«—–はは는은是为")


def _secret(value: str, *, led: bool, next_to: bool = False) -> bool:
    """
    Whether a word in a sentence is a secret.

    Args:
        led: Something like `is` or `:` precedes it.
        next_to: It follows the name at once.
    """
    if (
        len(value) < 8
        or "://" in value
        or "a-z" in value
        or value.startswith(("/", "./", "~/", "--", "#"))
        or code(value)
        or (compiled(_PATH, folded=False).fullmatch(value) and not scrambled(value))
    ):
        return False
    joined = re.sub(r"[\W_]", "", value)
    if (led or next_to) and (by_chance(value) or mixture(value)):
        mixed = compiled(_MIXED, folded=False).match
        return strong(value, 8 if led else 10) or (led and words(value) and mixture(value) and bool(mixed(value)))
    if (led or next_to) and compiled(_SIGNED, folded=False).fullmatch(value) and strong(value):
        return True
    if led and (generated(value, 10) or (strong(value) and scrambled(joined, bits=_DOUBTFUL))):
        return True
    return generated(value, 12) and (
        by_chance(value) or mixture(value) or (next_to and scrambled(joined, bits=_DOUBTFUL))
    )


def _login(match: re.Match[str]) -> Span | None:
    value = match["s"].rstrip(_AFTER)
    start = match.start("s")
    return (start, start + len(value)) if _secret(value, led=True) else None


_USER = r"[\w.@\\-]{1,64}"
_PLACE = (
    r"log[ -]?ins?|credentials?|creds?|sign[ -]?ins?|user(?:name)?|account|access|zugang|zugangsdaten|anmeldedaten|anmeldung|benutzer"
    r"|identifiants?|connexion|credenciales|credenziali|credenciais|acesso|accesso|usuario|utente|inloggegevens|inlog"
    r"|kirjautuminen|přihlášení|logowanie|inloggning|доступ|логин|учётные данные|учетные данные|ログイン|账号|帐号|登录|로그인"
)
_LOGIN = (
    rf"(?:{_PLACE})(?:[ \t]?/[ \t]?\w{{4,12}})?(?:[ \t]{{1,2}}(?:for|of|on|to|für|pour|para|de)[ \t][\w.@-]{{1,40}})?"
    rf"(?:[ \t]{{0,4}}(?:[:=：]|->|is|are|ist|sind|est|sont|son|es|as))?[ \t]{{1,4}}[\"'`(*_]{{0,3}}{_USER}[\"'`]?[ \t]{{0,2}}[/:|,][ \t]{{0,2}}[\"'`]?(?P<s>[^\s\"'`,;|/\u3000-\u30ff\u4e00-\u9fff]{{8,128}})"
)
_WITH = (
    rf"(?:log(?:ged|s)?|sign(?:ed|s)?|connect(?:ed|s)?|authenticate[ds]?)[ \t-](?:in[ \t])?(?:(?:to|on|at|as)[ \t]{_USER}[ \t]){{0,2}}"
    rf"(?:with|using)[ \t](?:the[ \t]|user[ \t])?[\"'`]?(?:{_USER}[:/])?(?P<s>[^\s\"'`,;|/]{{8,128}})"
)
_LOGIN_WORDS = tuple(
    "login,log-in,log in,credential,creds,sign in,signin,user,account,access,zugang,anmelde,anmeldung,benutzer,identifiant,connexion,"
    "credencial,credenzial,credencia,acesso,accesso,usuario,utente,inlog,kirjautuminen,přihlášení,logowanie,доступ,логин,"
    "учётные данные,учетные данные,ログイン,账号,帐号,登录,로그인".split(",")
)
_WITH_WORDS = (
    "log in ",
    "logged in ",
    "logs in ",
    "sign in ",
    "signed in ",
    "signs in ",
    "connect ",
    "connected ",
    "authenticate",
)

_OTP = (
    r"(?:[th]otp|2fa|mfa|otp|authenticator|two[- ]factor)(?:[ _-](?:app|auth|setup|backup|shared|manual|entry|authentication|enrol\w{0,8})){0,3}"
    r"[ _-]?(?:seeds?|secrets?|keys?|shared[ _-]secret)[\"'`*_]{0,3}\]?(?:[ \t]{0,3}(?:is|was|[:=(—-]|→)){0,2}\s{0,4}[\"'`*_(]{0,3}"
    r"(?P<s>[A-Z2-7]{16,128}={0,6}|(?:[A-Z2-7]{4}[ -]){3,31}[A-Z2-7]{1,8})(?![A-Za-z0-9])"
)


def _seed(match: re.Match[str]) -> Span | None:
    """A key of an authenticator in base32 (RFC 4648), in one piece or in fours."""
    joined = match["s"].replace(" ", "").replace("-", "").rstrip("=")
    fits = compiled("[2-7]", folded=False).search(joined) or scrambled(joined)
    return match.span("s") if fits and (joined.isupper() or joined != match["s"] or mixture(joined)) else None


_COUNTS = frozenset({12, 15, 18, 21, 24})
"""How many words a phrase has: BIP-39."""

_PROSE = frozenset(
    "the and for are was were has have had not from its but his her she him our out who how could would should these those which"
    " into with your some every does been used using each here than them their because between only can may might please it's".split()
)
"""Words of three to eight letters that are frequent in sentences, and in no list of BIP-39."""

_PHRASE = (
    r"(?:(?:seed|recovery|mnemonic|backup|secret|wallet|bip-?39|geheime|wiederherstellungs)[ _-]?(?:seed[ _-]?)?(?:phrases?|words?|sentence|mnemonic|satz|wörter)"
    r"|mnemonic|bip-?39|seed)(?![\w])[\"'`*_]{0,3}\]?(?:[ \t](?:of|for|from)[ \t](?:my|the|our)?[ \t]?[\w.-]{1,30}(?:[ \t]wallet)?|[ \t]\([\w ,-]{1,40}\))?"
    r"(?:[ \t]{0,3}(?:is|are|ist|=>|:=|[:=—–-])){0,2}[\s>*-]{0,8}[\"'`(\[]{0,2}(?:1[.)][ \t])?"
    r"(?P<s>[^\W\d_]{3,8}(?:[\"'`]?[\s,;]{1,4}(?:\d{1,2}[.):]?[ \t]{1,3})?[\"'`]?[^\W\d_]{3,8}(?![\w'-])){11,23})"
)
_PHRASE_WORD = r"[^\W\d_]{3,8}"
_STEP = r"[\"'`]?[\s,;]{1,4}(?:\d{1,2}[.):]?[ \t]{1,3})?[\"'`]?$"


def _phrase(match: re.Match[str]) -> Span | None:
    """The words of a seed phrase, if they are as many as one has, none is one of `_PROSE`, and no sentence goes on."""
    text = match.string
    found = list(compiled(_PHRASE_WORD, folded=False).finditer(text, *match.span("s")))
    told = [word[0].lower() for word in found]
    breaks = [at for at in range(1, len(found)) if "\n" in text[found[at - 1].end() : found[at].start()]]
    ends = [
        at for at in breaks if compiled(_PHRASE_END, folded=False).search(text[found[at - 1].end() : found[at].start()])
    ]
    whole = min([at for at, word in enumerate(told) if word in _PROSE] + ends + [len(told)])
    if whole == len(told) and compiled(r"[ \t]{1,3}[A-Za-z]", folded=False).match(text, match.end()):
        whole -= 1  # a sentence goes on
    fits = [at for at in (*breaks, *ends, whole) if at in _COUNTS and at <= whole]
    if not fits or len(set(told[: max(fits)])) < max(fits) // 2:
        return None
    return found[0].start(), found[max(fits) - 1].end()


_PHRASE_END = r"\n\s*\n|[\"'`][ \t]*\r?\n"

_NAMED_ISSUER = (
    rf"(?:{'|'.join(BARE)})(?P<gap>[\w ./\"'\]-]{{0,50}}?)(?:(?P<sign>[ \t]{{0,3}}(?:[:=(]|->|=>|is(?=[ \t]))[ \t]{{0,3}})|[ \t])[\"'`(]{{0,2}}"
    r"(?P<s>[\w+-]{20,84})(?![\w+/=-])"
)
_OF_KEY = r"key|token|secret|pat|auth"
_OF_HASH = r"commit|sha|hash|digest|trace|rev|span|checksum|image|id|etag|uuid"


def _bare_key(match: re.Match[str]) -> Span | None:
    """A key that only the name of its issuer and a word such as `key` give away."""
    value, gap = match["s"], match["gap"]
    keyed = compiled(rf"(?:{_OF_KEY})s?(?![a-z])", folded=True).search(gap) is not None
    mixed = any(map(str.isupper, value)) and any(map(str.islower, value))
    if not (keyed or (mixed and match["sign"])) or compiled(rf"(?:{_OF_HASH})(?![a-z])", folded=True).search(gap):
        return None
    issuer = next(name for name in BARE if match[0].lower().startswith(name))
    return match.span("s") if compiled(BARE[issuer], folded=False).fullmatch(value) and mixture(value) else None


_CLIENT = r"\([\"'](?P<s>[A-Za-z0-9_+/=.-]{20,256})[\"']\s{0,4}[,)]"
_CALLEE = r"(?i:client(?:v?\d)?|api|auth\w{0,12}|bot|token|credentials?|session|login|sdk|bearer\w{0,8}|connect\w{0,6}|apikey|api_key|setkey)$"


def _client(match: re.Match[str]) -> Span | None:
    """The first argument of a call that makes a client, if it is random."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    called = compiled(_CALLEE, folded=False).search(before)
    value = match["s"]
    return match.span("s") if called and mixture(value) and not words(value) and not code(value) else None


_ACCESS = (
    r"(?:auth|login|credentials?|authenticate|signin|sign_in|createuser|adduser)\w{0,12}[ \t]?=?[ \t]?\(\s{0,8}"
    r"(?:(?:user(?:name)?[ \t]?=[ \t]?)?[\"'][^\"'\n]{1,80}[\"']\s{0,4},\s{0,8}){1,2}[\"'](?P<s>[^\"'\s]{8,128})[\"']"
)
_SEND = r"send(?:_user)?[ \t]{1,4}(?:-[\w-]*[ \t]{1,4}){0,3}[\"'{](?P<s>[^\"'\s\\{}]{8,128})(?:\\{1,2}[rn]|\n)[\"'}]"


def _typed(match: re.Match[str]) -> Span | None:
    value = match["s"]
    return match.span("s") if not stand_in(value) and _secret(value, led=True) else None


TOLD: tuple[SecretRule, ...] = (
    SecretRule("told-secret", _NAMES, STEMS, folded=True, nested=True, judge=_told),
    SecretRule("told-secret", _NAMES, FOREIGN, folded=True, nested=True, apart=True, judge=_told),
    SecretRule("told-secret", r"bearer(?:[ \t]tokens?)?(?![\w-])", ("bearer",), folded=True, nested=True, apart=True, judge=_told),
    SecretRule("login-password", _LOGIN, _LOGIN_WORDS, folded=True, nested=True, apart=True, judge=_login),
    SecretRule("login-password", _WITH, _WITH_WORDS, folded=True, nested=True, apart=True, judge=_login),
    SecretRule("login-password", _ACCESS, ("auth(", "auth=(", "auth = (", "authenticate", "login(", "credential", "signin(", "createuser(", "adduser("), folded=True, needs=("(",), nested=True, judge=_typed),
    SecretRule("login-password", _SEND, ("send ", "send\t", "send_user"), needs=("\\r", "\\n", "\n"), apart=True, judge=_typed),
    SecretRule("otp-seed", _OTP, ("totp", "hotp", "2fa", "mfa", "otp", "authenticator", "two-factor", "two factor"), folded=True, nested=True, apart=True, judge=_seed),
    SecretRule("seed-phrase", _PHRASE, ("seed", "phrase", "mnemonic", "recovery", "backup", "secret", "bip"), folded=True, needs=(" ", "\n"), nested=True, apart=True, judge=_phrase),
    SecretRule("issuer-key", _NAMED_ISSUER, tuple(BARE), folded=True, nested=True, apart=True, judge=_bare_key),
    SecretRule("client-key", _CLIENT, ('("', "('"), judge=_client),
)  # fmt: skip
