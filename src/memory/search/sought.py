"""
Which kind of value a question asks for, a price, a date, a person, and whether a text has one at all.

Who asks a store about its own subject for something that it does not say finds notes that fit in every other way. That such a
value is there proves nothing; that there is none says that this is not the answer. When something was done is no such
question: each memory has a date. Only questions in English are understood.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_COUNT = (
    r"(?:\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|eighty"
    r"|ninety|hundreds?|thousands?|millions?|billions?|dozens?|half|third|quarter|once|twice|double|single|both|none|zero)\b)"
)
_UNITS = r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|quarters?|years?|decades?|centur\w+|sprints?)"
_MONTHS = "|".join(
    "january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sept? oct nov dec".split()
)
_DATE = (
    rf"\b(?:1\d|20)\d\d\b|\b\d\d?[:.]\d\d\b|\b\d\d?\.\d\d?\.|\b\d+(?:st|nd|rd|th|s|ms|min|h| ?[ap]m)\b|\b(?:{_MONTHS})\b"
    rf"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b{_UNITS}\b|\b(?:daily|hourly|nightly|weekly|monthly|yearly|annual\w*)\b"
    r"|\b(?:yesterday|today|tonight|tomorrow|ago|mornings?|afternoons?|evenings?|noon|midnight|weekends?|spring|summer|autumn"
    r"|fall|winter|christmas|easter|before|after|until|since|soon|when(?:ever)?|if|while|during|every|always|never|era)\b"
)
_SPAN = (
    rf"{_COUNT}[\d.,]*[ -]?(?:s|ms|sec|m|min|h|d|{_UNITS})\b|\b(?:an?|few|several|every) ?{_UNITS}\b"
    r"|\b(?:overnight|forever|permanent\w*|daily|hourly|nightly|weekly|monthly|yearly|until|since|from)\b"
)
_PEOPLE = (
    r"\b(?:he|she|we|they|team|staff|people|every(?:body|one)|no(?:body| one)|any(?:body|one)|some(?:body|one)|lead|king|queen"
    r"|president|members?|support|admins?|\w+(?:er|or|ist|ian))s?\b"
)


class _Kind(NamedTuple):
    """
    Attributes:
        name: With its article.
        words: Of these, separated by bars, each such question has one: without, the pattern is not even compiled.
        asked: Matches what asks for it behind the first words of a question, in small letters.
        holds: Whether a text has one; called with the text and with the question.
    """

    name: str
    words: str
    asked: str
    holds: Callable[[str, str], bool]


def _found(pattern: str) -> Callable[[str, str], bool]:
    # Compiled where it is first used: all of these patterns take as long as the rest of a short command's search.
    return lambda text, _question: re.search(pattern, text, re.IGNORECASE) is not None


_number = _found(_COUNT)
_MANY = r"\bhow many ([a-z'-]+)(?: ([a-z'-]+))?"
REACH, BEGINS = 6, 4
"""Words between a number and what it counts, at most, and letters by which that is recognised: "retry", "retries"."""

_UNCOUNTED = frozenset("does have more were will".split())
_VAGUE = frozenset("diff peop time".split())
"""Beginnings of words that follow "how many" and are not counted, and of such as only another word makes plain."""


def _counted(text: str, question: str) -> bool:
    """Whether a number stands near what the question counts."""
    match = re.search(_MANY, question)
    named = match.groups("") if match else ()
    counted = {word[:BEGINS] for word in named if len(word) >= BEGINS} - _UNCOUNTED
    if counted <= _VAGUE:
        return _number(text, question)
    words = re.findall(r"[\w.,%]+", text.lower())
    numbers = [place for place, word in enumerate(words) if _number(word, question)]
    things = [place for place, word in enumerate(words) if word[:BEGINS] in counted]
    return any(abs(number - thing) <= REACH for number in numbers for thing in things)


def _named(text: str, question: str) -> bool:
    """Whether somebody is named: by a word with a capital that begins no sentence, or by what they do."""
    begins = True
    for match in re.finditer(r"`[^`]*`|[\w'\u2019-]+|[.!?:;]\s", text):
        piece = match[0]
        if piece[0].isupper() and not begins and piece.lower() not in question:
            return True
        begins = piece[-1].isspace()
    return any(match[0].lower() not in question for match in re.finditer(_PEOPLE, text, re.IGNORECASE))


BEGINNINGS = (
    "and so for in at by since until about to from of on".split(),
    [f"{who}{verb}" for who in ("what", "which", "who") for verb in ("'s", " is", " are", " was", " were")],
    "the our a an".split(),
)
"""Only what a query begins with is asked for: who would "count how often each word occurs" wants no number."""


def _begun(asked: str) -> list[str]:
    """A query as it is, and without its first words."""
    found = [asked]
    for words in BEGINNINGS:
        found += [rest[len(word) + 1 :] for rest in found for word in words if rest.startswith(f"{word} ")]
    return found


_KINDS = tuple(
    _Kind(name, words, asked, holds)
    for name, words, asked, holds in (
        ("a phone number", "phone", r"(?:tele)?phone number\b", _found(r"\d[\d /()-]{5,}\d")),
        (
            "a duration",
            "how long|how often|how old|how many|period|duration",
            (
                r"how (?:long|often|old)\b|(?:\w+ period|duration) (?:of|for)\b"
                r"|how many (?:seconds|minutes|hours|days|weeks|months|years)\b"
            ),
            _found(_SPAN),
        ),
        (
            "a price",
            "how much|cost|price|turnover|budget|salary|revenue",
            (
                r"(?:prices?|turnover|budget|salary|revenue|costs?) (?:of|for|last|in|per)\b|how much money\b"
                r"|how much (?:did|do|does|will|would|is|are|was|were) (?:.*\b)?(?:costs?|spend|spent|pay|paid|charged?)\b"
                r"|what (?:do|does|did|will|would) .*\bcosts?\b|(?:what|which) .*\b(?:largest|highest|lowest) (?:price|turnover)\b"
            ),
            _found(
                r"[$\u20ac\u00a3\u00a5]|\b[1-9]\d*[.,]\d\d\b|\bfree\b"
                rf"|{_COUNT}.*\b(?:eur|euros?|usd|dollars?|cents?|pounds?|chf|yen|price[sd]?|costs?|fee|paid|pays?)\b"
            ),
        ),
        (
            "a share",
            "share|percent|per cent|proportion|fraction",
            r"(?:what|which) (?:share|percentage|proportion|fraction)\b|percentage of\b|how many per ?cent\b",
            _found(
                r"%|\b(?:per ?cent|percentage|half|third|quarter|majority|most|out of|ratio|fraction)\b|\d/\d|\d (?:of|in) "
            ),
        ),
        (
            "a version",
            "version",
            r"(?:which|what) versions?\b",
            _found(
                r"\bv?\d+(?:\.\d+)+|\bv\d+\b|(?-i:\b[A-Z])[A-Za-z+#.-]* v?\d+\b|\b(?:version|release|since) v?\d|\blatest\b"
            ),
        ),
        (
            "a length",
            "diameter|width|height|how ",
            r"(?:diameter|width|height) of\b|how (?:tall|wide|deep|thick)\b",
            _found(r"\d ?(?:[mcdk\u00b5n]?m|in|ft)\b|\b(?:metre|meter|mile|inch|feet|foot|yard|kilomet)"),
        ),
        ("a number", "how |number", r"how many\b|what number\b|how (?:large|big|fast|heavy|hot)\b", _counted),
        (
            "a date",
            "when|date|day|year|month|century|decade|time",
            (
                r"when\b(?! (?:was|were|did|has|have|had)\b)|(?:what|which) (?:date|day|year|month|century|decade)\b"
                r"|what time\b(?! zone)|date of\b"
            ),
            _found(_DATE),
        ),
        (
            "a name",
            "who|name|person|firm|company|vendor|supplier|bank|agency|author|university|country|city",
            (
                r"(?:who|whose)\b|name of the (?:firm|company|person|author|man|woman|team|vendor|supplier|customer)\b"
                r"|(?:what|which) (?:person|firm|company|vendor|supplier|bank|agency|author|university|country|city)\b"
            ),
            _named,
        ),
    )
)


def missing(question: str, texts: Iterable[str]) -> str:
    """The kind of value that a question asks for if none of the texts has one, as "a price"; empty if not."""
    asked = " ".join(question.lower().split())
    begun = _begun(asked)
    near = (kind for kind in _KINDS if any(word in asked for word in kind.words.split("|")))
    kind = next((kind for kind in near if any(re.match(kind.asked, rest) for rest in begun)), None)
    return "" if kind is None or any(kind.holds(text, asked) for text in texts) else kind.name
