"""
The words of a text and of a query: names in code, scripts without spaces, the terms to look for and what is excluded. Any
text is a query.

FTS5's `unicode61` splits at every sign between letters, also at the underscore, and takes `getUserName` as one token,
and a whole sentence of Chinese, Japanese, Thai, Lao, Khmer or Burmese too. So the parts of such names and overlapping
pairs of such characters are indexed beside the text, and a query looks for both. Text and query are folded
(`memory.text.fold`) before anything else.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.query import Term
from memory.text.fold import fold, forms, said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

STOP = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both but by can could
    d did do does doing don during each few for from further had has have having he her here hers him his how i if in
    into is it its itself just ll m may me might more most my no nor not of off on once only or other our ours out over
    own re s same she should so some such t than that the their theirs them then there these they this those through
    to too under until up us ve very was we were what when where which while who whom whose why will with would you
    your yours
    """.split()
)
"""Words that shape a question but are not what it is about, including fragments of contractions ("don't")."""

TIMES = frozenset(
    """
    abril after afternoon ago agosto aktuellste aktuellsten alteste altesten altester altestes an ancien ancienne
    annee annees ano anos ans anteayer antes antier antigua antiguo aout apr apres april aug august aujourd automne
    autumn avant avril ayer before between bis day days dec december decembre depuis dernier derniere dernierement
    desde despues dez dezember dia dias diciembre dienstag dimanche domingo donnerstag earliest enero entre erste
    ersten erster erstes ete evening fall feb febrero februar february fevrier finde first freitag friday fruheste
    fruhesten fruhjahr fruhling gestern hasta herbst heute hier hiver hoy invierno jahr jahre jahren jahres jan
    janner januar january janvier jeudi jour jours jueves juillet juin jul juli julio july jun june jungste jungsten
    juni junio jusqu kurzlich last lately latest letzte letzten letzter letztes lundi lunes mai mar march mardi mars
    martes marz marzo may mayo mercredi mes meses miercoles mittwoch mois monat monate monaten monats monday montag
    month months morning nach neueste neuestem neuesten neuester neuestes neulich newest night nov november novembre
    noviembre oct october octobre octubre okt oktober oldest otono premier premiere primavera primer primera
    printemps q1 q2 q3 q4 quartal quartals quarter quarters recemment recent recente recently recents reciente
    recientemente recientes sabado samedi samstag saturday seit semaine semaines semana semanas sep sept september
    septembre septiembre setiembre since sommer sonnabend sonntag spring summer sunday tag tage tagen tages thursday
    till today tonight trimestre trimestres tuesday ultima ultimamente ultimo until vendredi verano viernes vor
    vorgestern wednesday week weekend weekends weeks winter woche wochen wochenende year years yesterday zuletzt
    zwischen
    """.split()
)
"""Without one of these words, or a year, a question names no time: see `memory.text.spans`, which is slow to import."""

_PART = re.compile(
    r'"([^"]*)"'
    r"|(\d{1,3}(?:,\d{3})+(?![\w,]|\.\d)|\d{1,3}(?: \d{3}){2,}(?![\w,]|\.\d|(?: \d))"  # 1,000,000 and 1 000 000
    r"|\w+(?:(?:\.|/|::)\w+)*)(\*?)"
)


def may_name_a_time(text: str) -> bool:
    """Whether a question is worth reading for a time that it names: most have no word without which none does."""
    words = re.findall(r"\w+", folded(text))
    return not TIMES.isdisjoint(words) or any(word[:2] in {"19", "20"} and word[:4].isdigit() for word in words)


def folded(text: str) -> str:
    """In small letters, without marks: as `TIMES` and `memory.text.spans` have words."""
    return fold(text).lower()


def terms(text: str) -> tuple[Term, ...]:
    """
    The words and "quoted phrases" of a query without stop words, in order, each once.

    A name in code is a phrase: the parts of `user_id` or `config.yaml` must be adjacent,
    and `userId` also matches where its parts are. `Term.parts` says how to look for a name that no text has.
    `auth*` also matches longer words. Scripts without spaces become pairs of characters.
    A query of only stop words keeps them: a weak search is better than none.
    """
    plain, umlauts, symbols = said(straight(text.replace("\0", " ")))
    found = dict.fromkeys(_found(plain))
    if otherwise := _together(plain) | umlauts:
        found = dict.fromkeys(
            term if term.other else term._replace(other=otherwise.get(term.text, "")) for term in found
        )
    found |= dict.fromkeys([Term(sign, exact=True) for sign in symbols])
    return tuple([term for term in found if term.text.lower() not in STOP] or found)


def straight(text: str) -> str:
    """The text with straight quotation marks for “ ”, „ “, « », and for ‘ ’ outside of words, where no apostrophe stands."""
    return text if text.isascii() else _curly().sub(lambda found: f'"{found[found.lastindex or 0]}"', text)


@cache  # few queries have one
def _curly() -> re.Pattern[str]:
    return re.compile(r'[“„]([^“”„"]+)[“”]|«([^«»"]+)»|(?<!\w)‘((?:[^‘’"]|’(?=\w))+)’(?!\w)')


def _found(text: str) -> Iterator[Term]:
    spaced = text.isascii()  # as most queries are
    for part in _PART.finditer(text if spaced else _with_marks(text)):
        phrase, word = text[slice(*part.span(1))], text[slice(*part.span(2))]
        if not spaced and unspaced(phrase or word):
            yield from _unspaced(phrase or word, together=not word)
        elif word and ("," in word or " " in word):
            yield Term(word, exact=True, other=re.sub("[, ]", "", word))
        elif word:
            yield from _words(word, prefix=bool(part[3]))
        elif re.search(r"\w", phrase):
            yield Term(phrase, exact=True)


def _words(word: str, *, prefix: bool) -> Iterator[Term]:
    """The word, or the words between slashes if it is not a path: "client/server" is two words."""
    path = word.count("/") > 1 or any(sign in word for sign in "._:")
    *others, last = [word] if path else word.split("/")
    yield from map(_term, others)
    yield _term(last, prefix=prefix)


def _term(word: str, *, prefix: bool = False) -> Term:
    if word.isalpha() and (word[1:].islower() or word.isupper()):  # most words; spares the costlier test below
        return Term(word, prefix)
    if not named(word):
        return Term(word, prefix, other=other_number(word))
    return Term(word, prefix, exact=True, other=other_number(word) or other(word), parts=_parts(word, prefix=prefix))


_UNITS = frozenset(
    """
    b bit bits kb mb gb tb pb kib mib gib tib kbit mbit gbit kbps mbps gbps ns us ms s sec min h hz khz mhz ghz px em rem pt
    dpi fps rpm mm cm m km g kg v w kw a ma k x
    """.split()
)

_PAIR = r"(?<![\w.,/-])(\d+) ([^\W\d_]+)(?![\w-])|(?<![\w-])([^\W_]+)-([^\W_]+)(?![\w-])"


def _together(text: str) -> dict[str, str]:
    """The first of two words that may be written as one, with that: 5 GB as 5GB, e-mail as email."""
    found = {}
    if "-" in text or any(map(str.isdigit, text)):
        for number, unit, first, second in re.findall(_PAIR, text):
            if unit.lower() in _UNITS:
                found[number] = number + unit
            elif first:
                found[first] = first + second
    return found


_VERSION = r"([vV]?)(\d+(?:\.\d+)+)"
_ABBREVIATED = r"[^\W\d_](?:\.[^\W\d_])+"  # U.S
_GROUPED = r"\d{1,3}(?:\.\d{3}){2,}"
_COUNT = r"(\d+)([^\W\d_]{1,4})"


def other_number(word: str) -> str:
    """
    How else a number or an abbreviation may be written: 1000000 as 1 000 000, 5GB as 5 GB, v1.2.3 as 1.2.3, U.S. as US; empty
    if there is no other way.
    """
    if word.isdigit():
        year = len(word) == 4 and word[:2] in {"19", "20"}
        return f"{int(word):,}".replace(",", " ") if 4 <= len(word) <= 15 and word[0] != "0" and not year else ""
    if word[0].isalpha() and word[1:2] == ".":
        return word.replace(".", "") if re.fullmatch(_ABBREVIATED, word) else ""
    if not word[-1:].isdigit():
        counted = word[:1].isdigit() and re.fullmatch(_COUNT, word)
        return f"{counted[1]} {counted[2]}" if counted else ""
    if re.fullmatch(_GROUPED, word):
        return word.replace(".", "")
    version = re.fullmatch(_VERSION, word)
    return "" if version is None else version[2] if version[1] else f"v{word}"


def _parts(name: str, *, prefix: bool) -> tuple[Term, ...]:
    """What to look for if no text has the name; without numbers and single letters, which say nothing."""
    if len(found := pieces(name)) < 2:
        return ()
    made = [_term(piece, prefix=prefix and n == len(found)) for n, piece in enumerate(found, start=1)]
    worth = (part for part in made if len(part.text) > 1 and not part.text.isdigit() and part.text.lower() not in STOP)
    return tuple(part._replace(exact=False) for part in worth)


def _with_marks(text: str) -> str:
    r"""The text with a letter for each combining mark: for `\w` a mark ends a word, even a vowel sign of Thai."""
    from unicodedata import category

    return "".join("_" if category(c).startswith("M") else c for c in text)


def _unspaced(text: str, *, together: bool) -> Iterator[Term]:
    """The words in it, and the pairs of each run; as one phrase if they must be adjacent."""
    yield from map(Term, _words_between(text))
    for run in _run().findall(text):
        grams = pairs(run)
        for gram in [" ".join(grams)] if together and grams else grams:
            yield Term(gram, prefix=len(gram) == 1, gram=True)


# Names in code: `getUserName`, `user_id`, `os.path.join`, `SHA256` ---------------

# Letters of all other scripts, and their marks, count as small: they have no capitals, or hardly any names in code.
_LARGE = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0391-\u03ab\u0400-\u042f"
_SMALL = rf"[^\W\d_{_LARGE}]"
_OTHER = rf"[^\d_./:{_LARGE}]"


@cache
def _name_part() -> re.Pattern[str]:
    return re.compile(
        rf"[{_LARGE}]{{2,}}s(?!{_OTHER})"  # APIs
        rf"|[{_LARGE}]+(?!{_OTHER})"  # HTTP, also in HTTPServer
        rf"|[{_LARGE}]?{_OTHER}+"
        r"|\d+"
    )


@cache
def _border() -> re.Pattern[str]:
    """
    Where a part begins inside a word, and the rest of the word. It looks back because capitals and digits are rare: three
    times as fast as searching every word.
    """
    return re.compile(
        rf"[\d{_LARGE}](?:(?<={_SMALL}[{_LARGE}])|(?<=[^\W\d_]\d)|(?<=[{_LARGE}]{{2}})(?={_SMALL})(?!s(?!{_SMALL})))\w*"
    )


@cache
def _ascii_border() -> re.Pattern[str]:
    """The same of ASCII, where no categories have to be looked up: three quarters of the time."""
    return re.compile(r"[0-9A-Z](?:(?<=[a-z].)|(?<=[A-Z][0-9])|(?<=[A-Z]{2})(?=[a-z])(?!s(?![a-z])))\w*", re.ASCII)


_SEPARATORS = ("/", "::", ".", "_")
_LETTERS = r"[^\W\d_]{2}"
_DOTTED = r"[^\W\d_]+\.[^\W\d_]{2,3}"  # Node.js
_COUNTED = r"\d+[^\W\d_]{1,2}"  # 10th, 90s, 5pm, 20kB: not names


def split(name: str) -> list[str]:
    """
    The parts of a name, in order: split at separators, capitals and digits.

    `getUserName` is get, User, Name; `HTTPServerError` is HTTP, Server, Error; `parseJSON2` is parse, JSON, 2;
    `userIDs` is user, IDs. Joined, they are the name without its separators.
    """
    return _name_part().findall(name)


def parts(text: str) -> list[str]:
    """
    The parts, in lower case, of all names in a text that have capitals or digits inside.

    Each name counts once; its parts stay in order, so that a phrase finds them. A name that would fall into single
    characters, as digests and keys do, is left out.
    """
    return parted([name for _, name in names(text)])


def parted(names: Iterable[str]) -> list[str]:
    """The same of the names that a text has."""
    found = {name.lower(): name for name in names}
    return [part for name in found.values() for part in _apart(name)]


@lru_cache(maxsize=1 << 12)  # names repeat within a text and in the texts beside it
def _apart(name: str) -> tuple[str, ...]:
    own = split(name)
    return tuple([part.lower() for part in own]) if len(own) <= len(name) / 2 + 1 else ()


def names(text: str) -> Iterator[tuple[int, str]]:
    """Each occurrence of a name with capitals or digits inside, with its start position."""
    for border in (_ascii_border() if text.isascii() else _border()).finditer(text):
        start = border.start()
        while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        yield start, text[start : border.end()]


def named(word: str) -> bool:
    """
    Whether a word of a query is a name in code: separators, capitals inside, or letters mixed with digits.

    Not numbers, abbreviations ("e.g") or counts ("10th").
    """
    if word.isascii() and word.isalpha() and word.islower():  # as most are: nothing is compiled for them
        return False
    if any(sign in word for sign in ("_", "::", "/")):
        return True
    if "." in word:
        return re.search(_LETTERS, word) is not None or (word.count(".") > 1 and any(map(str.isdigit, word)))
    return len(split(word)) > 1 and re.fullmatch(_COUNTED, word) is None


def pieces(name: str) -> list[str]:
    """A name split once, at its loosest separator; the name itself if it has one part."""
    for separator in _SEPARATORS:
        if len(found := [piece for piece in name.split(separator) if piece]) > 1:
            return found
    return split(name)


def other(name: str) -> str:
    """
    How else a name may be written, for an index that splits at separators only; empty if there is no other way.

    `getUserName` as "get User Name", which also matches `get_user_name`; `user_id` as "userid",
    which also matches `userId`.
    """
    words = [word for word in re.split(r"[_./:]+", name) if word]
    all_parts = split(name)
    if len(all_parts) > len(words):
        return " ".join(all_parts)
    joined = len(words) > 1 and (not any(sign in name for sign in "./:") or re.fullmatch(_DOTTED, name))
    return "".join(words) if joined else ""


# Scripts without spaces between words -------------------------------------------

# Pairs of characters need no dictionary; Nie, Gao, Zhang and Zhou (2000) found them as good as words for Chinese.
RANGES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""Their characters, for a character class of a regular expression."""

PAIRED = RANGES + "\uac00-\ud7a3"
"""With those of Korean, whose words end in particles: 게임을 is 게임 with its object marker."""


@cache  # compiling it at start-up would take longer than most searches
def _run() -> re.Pattern[str]:
    return re.compile(f"[{PAIRED}]+")


def unspaced(text: str) -> bool:
    """Whether the text has characters of a script that is indexed as pairs."""
    return not text.isascii() and _run().search(text) is not None


def indexed(text: str) -> str:
    """
    What is indexed for a text in addition to the text itself; empty if all of it has spaces between words.

    The pairs of each run; its last character alone, so that a token begins at every character; and words of other
    scripts that are attached to it: "Python入門" gives "Python", "入門", "門".
    """
    if not unspaced(text):
        return ""
    mixed = re.findall(rf"\w*[{PAIRED}][\w{PAIRED}]*", text)
    return " ".join(gram for word in mixed for gram in _grams(word))


def grams(texts: Sequence[str]) -> tuple[str, ...]:
    """Extra index terms for each text, where the index takes several of people's words for one, or does not see them."""
    return tuple(" ".join(filter(None, (indexed(plain), *parts(plain), *more))) for plain, more in forms(texts))


def unseen(texts: Iterable[str]) -> list[str]:
    """What the words of each text do not show: the parts of its names, its signs, and its grams."""
    return [" ".join((*parts(plain), *more, indexed(plain))) for plain, more in forms(texts)]


def _grams(mixed: str) -> Iterator[str]:
    yield from _words_between(mixed)
    for run in _run().findall(mixed):
        yield from (letters := pairs(run))
        if last := [c for c in run if c.isalnum()][-1:]:
            yield from () if letters == last else last


def pairs(run: str) -> list[str]:
    """The overlapping pairs of letters in a run, or its only letter. Combining marks do not count."""
    letters = [c for c in run if c.isalnum()]  # a word of Thai or Lao is found without its tone marks
    if len(letters) < 2:
        return letters
    return [a + b for a, b in pairwise(letters)]


def _words_between(mixed: str) -> list[str]:
    """The words between the runs of scripts without spaces."""
    return re.findall(r"\w+", _run().sub(" ", mixed))


# What a query excludes: `-word`, `-"a phrase"`, `NOT word`. Flags, items of a list and prose stay words to look for ------

_SIGN = r"""
    "[^"]*"                                                   # a phrase that is looked for, whatever is in it
    | (?<![^ \t]) (?: - | (?P<not>NOT[ \t]+) )                # at the beginning, or behind a blank
      (?: "(?P<phrase>[^"]*\w[^"]*)" | (?P<word>[^\W\d_]{3,})(?=[,;.!?)]*(?:\s|\Z)) )
    """  # compiled at first use, as most queries exclude nothing

_FLAG = r"(?<!\S)(?:--\w|-\w{1,2}(?!\w)|-\w*[\d_=:/.-]\w)"
"""An option of a program: `--force`, `-rf`, `-1`, `-Xmx2g`, `-std=c99`."""

COMMANDS = frozenset(
    """
    chmod clang convert curl df docker_exec docker_run du ffmpeg ffprobe find gcc git_add git_commit git_log git_push go_build
    go_run go_test grep java javac kubectl_get ls lsof mvn netstat openssl ps rg rsync tar terraform_apply terraform_plan wget
    xargs
    """.split()
)
"""Programs of which `-name` is an option: they have words or several letters behind one dash."""

_SAID = STOP - {"and", "but"} | {"cannot", "must", "shall"}
"""Before NOT, these make it a word of a sentence: "is NOT cached", "do NOT use"."""

_OWN = frozenset("between distinct exists found ilike like null regexp similar valid".split())
"""If one of these follows NOT, nothing is excluded: "NOT NULL", "404 NOT FOUND"."""


class Excluded(NamedTuple):
    """
    Attributes:
        text: What is left to look for.
        words: Words and phrases that no result may hold, in order.
    """

    text: str
    words: tuple[str, ...]


def excluded(text: str) -> Excluded:
    """
    What a query looks for, and what it excludes.

    A dash excludes a word of at least three letters, or a phrase. If the query has a flag, or a command before
    the dash, the dash begins a flag and excludes nothing.
    Nothing is excluded if nothing but stop words would be left.
    """
    text, words = straight(text), list[str]()
    flags = re.search(_FLAG, text) is not None

    def left(sign: re.Match[str]) -> str:
        nonlocal flags
        word, before = sign["word"] or "", re.findall(r"\w+", text[: sign.start()])[-2:]
        if sign["not"]:
            kept = word.lower() in STOP | _OWN or not {*map(str.lower, before[-1:])}.isdisjoint(_SAID)
        else:
            flags = flags or not {*before[-1:], "_".join(before)}.isdisjoint(COMMANDS)
            kept = flags or word.lower() in STOP
        if kept or not (excluded := sign["phrase"] or word):
            return sign[0]
        words.append(excluded)
        return " "

    rest = re.sub(_SIGN, left, text, flags=re.VERBOSE)
    if words and any(term.text.lower() not in STOP for term in terms(rest)):
        return Excluded(rest, tuple(dict.fromkeys(words)))
    return Excluded(text, ())
