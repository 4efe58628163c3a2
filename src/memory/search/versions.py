"""
Whether two texts are versions of one fact: they say nearly the same, or one says of the same thing what the other denies.

By their words alone, without a model. Versions share what they are about and differ in what they say of it; two facts of a
series ("The order service listens on 8080", "The invoice service listens on 8090") share the sentence and differ in what it
is about.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memory.text.fold import fold, signs
from memory.text.lookup import spelled, stemmed, words_and_stems
from memory.text.terms import STOP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set as AbstractSet

    Weight = Callable[[str], float]

_Word = TypeVar("_Word")


def _set(words: str) -> frozenset[str]:
    """Words of English, German, French and Spanish, as `memory.text.lookup.spelled` has them."""
    return frozenset(words.split())


ARTICLES = _set("""
    a an and are at be been by can do does for has have i in is it its of on our that the their this to was we were will with
    am an auf aus bei das dem den der des die ein eine einem einen einer es fur haben hat im in ist man mit sind und vom von
    werden wir wird zu zum zur
    au aux avec ce cette dans de des du en est et il la le les nous on ont par pour sont un une
    al con del el es esta estan ha han las lo los para por se son una y
""")
"""Words that may be in one of two texts that say the same."""

FUNCTION = (
    STOP
    | ARTICLES
    | _set("""
    als bis durch e ihr je nach o ob oder ohne ou que qui s sans se sein si sich sie sin sur um unter uno unos unas vor war wie
    wurde wurden c cual elle elles er il ils l sobre su sus vous
""")
)
"""Words that are no part of what a text is about."""

OF = _set("""
    above across at before behind below beside between by for from in inside into of on onto outside over per to toward towards
    under until via with within
    am an auf aus bei bis fur hinter im in mit nach uber unter vom von vor zu zum zur
    a au aux avec chez d dans de des du en par pour sous sur
    al con del desde en para por sin sobre
""")
"""Words behind a subject that something belongs to: "the queue *for* payments"."""

VERBS = _set("""
    are can cannot could did does had has have is may might must shall should was were will would
    darf durfen haben hat ist kann konnen muss mussen sind soll sollen war waren werden wird wurde wurden
    doit doivent est etait ete ont peut peuvent sera sont
    debe deben era es esta estan fue ha han puede pueden son
""")
"""Verbs that a subject stands before."""

NOW = _set("""
    again anymore instead longer now nowadays since
    ab inzwischen jetzt mehr neuerdings nun seit seitdem statt stattdessen wieder
    ahora depuis desde desormais lieu maintenant plus vez ya
""")
CHANGED = _set("""
    became become changed changes converted deprecated discontinued dropped ended extended gone lowered merged migrated moved
    moves raised reduced removed renamed renewed replaced replaces retired reversed rewritten shut sold stopped superseded
    switched transferred upgraded
    abgelost abgeschafft abgeschaltet aufgehoben erneuert ersetzt geandert gestrichen gewechselt umbenannt umgestellt umgezogen
    verkauft verlangert verlegt verschoben
    abandonne arrete change demenage passe prolonge reecrit remplace renomme renouvele supprime transfere vendu
    apago cambiado cambio dejo eliminado elimino migro movido movio reemplazado reemplazo renovo renombrado sustituido traslado
    vendio
""")
"""Words, and verbs, by which a text says that it is news."""

DENIES = _set("""
    cannot forbidden neither never no nobody none not nothing off stop t without
    ausser kein keine keinem keinen keiner nicht nichts nie niemals niemand ohne verboten
    aucun aucune interdit jamais n ne ni pas personne rien sans
    nada nadie ningun ninguna nunca prohibido sin tampoco
""")

SILENT = FUNCTION | NOW | CHANGED
"""Words that do not say what a text is about."""

PART = 5
"""Letters from which on words that begin alike are taken for one: "rehearse" and "rehearsal", which have two stems."""

PARALLEL = 0.4
"""Share of their words, in order, that two texts have in common if they are one sentence with other words in it."""

NEWS = 0.15
"""
What each counts beside the share of words in common: that the newer says that something changed or only one of both denies,
and that both begin with the same subject.
"""

SHARED = 0.1
"""Share of their words that two texts have in common, below which they are not compared any further."""

MORE, FEWEST = 5, 4
"""Of two texts that say the same one may have one word in so many more; and how many words make a text."""

LEAST = 2
"""Words that tell, from which on a text says something of a subject."""

PARTS = 3
"""Words that a subject begins with."""


class Wording(NamedTuple):
    """
    A text, as it is compared.

    Attributes:
        spelled, stems: Its words, in order.
        every: Its stems.
        telling: The first letters, see `PART`, of the stems that say what it is about.
    """

    spelled: tuple[str, ...]
    stems: tuple[str, ...]
    every: frozenset[str]
    telling: frozenset[str]

    @property
    def denies(self) -> bool:
        return not DENIES.isdisjoint(self.spelled)


@lru_cache(4096)
def words(text: str) -> Wording:
    own, stems = words_and_stems(fold(text))
    telling = frozenset([stem[:PART] for stem, word in zip(stems, own, strict=True) if word not in SILENT])
    return Wording(own, stems, frozenset(stems), telling)


def wordings(texts: Iterable[str]) -> list[Wording]:
    """The same of each of several."""
    return [*map(words, texts)]


_PIECE = re.compile(r"`[^`]+`|[\w'\u2019]+|[.!?:;]\s")


@lru_cache(1024)
def names(text: str) -> frozenset[str]:
    """Words with a digit, in code, of one capital, or with one that does not begin a sentence."""
    found: set[str] = set()
    begins = True
    for match in _PIECE.finditer(text):
        piece = match[0]
        capital = piece[0].isupper() and (not begins or len(piece) == 1)
        if capital or piece[0] == "`" or any(map(str.isdigit, piece)) or piece[1:] != piece[1:].lower():
            found.update(spelled(fold(piece)))
        begins = piece[-1].isspace()
    return frozenset(found)


# Nearly the same ------------------------------------------------------------------


def same(one: str, other: str) -> bool:
    """
    Whether two texts say the same: the words of one, less articles and the like, are those of the other in the same order,
    which has at most one word in five more, and no name, number or denial; and so are their signs.
    """
    short, long = sorted(([*_plain(words(text))] for text in (one, other)), key=len)
    if len(short) < FEWEST or (len(long) - len(short)) * MORE > len(long) or signs(one) != signs(other):
        return False
    rest = iter(long)
    if not all(word in rest for word in short):
        return False
    more = {*long} - {*short}
    telling = {stem[:PART] for stem in more} <= words(one).telling | words(other).telling
    return telling and more.isdisjoint(stemmed(names(one) | names(other)))


def _plain(text: Wording) -> Iterable[str]:
    return (stem for stem, word in zip(text.stems, text.spelled, strict=True) if word not in ARTICLES)


# The same subject, and something else of it -----------------------------------------


def news(older: str, newer: str, weight: Weight = lambda _: 1.0) -> float:
    """
    How far the newer of two texts says of the same thing something else.

    The share of what each says that is in the other, by weight, on average of both, and `NEWS`; at least 1 if they are one
    sentence that differs in what it says of its subject; below 0 if they speak of two things, 0 if no word tells.
    """
    one, two = words(older), words(newer)
    if (share := shared(one, two, weight)) < SHARED or min(len(one.telling), len(two.telling)) < LEAST:
        return 0.0
    beginning, mine, theirs = _beginning(one, two), _marks(older), _marks(newer)
    if beginning < 0 or (mine - theirs and theirs - mine):
        return -1.0
    least = PARALLEL * (len(one.stems) + len(two.stems)) / 2
    if len(one.every & two.every) >= least:  # to find what is in order takes fifty times as long
        from difflib import SequenceMatcher  # few texts come so far

        blocks = SequenceMatcher(None, one.stems, two.stems, autojunk=False).get_matching_blocks()
        if sum(block.size for block in blocks) >= least:
            return -1.0 if _apart(older, newer, blocks) else 1 + share
    changed = not {*two.spelled}.isdisjoint(NOW | CHANGED) or one.denies != two.denies
    return share + NEWS * max(changed, beginning)


def _marks(text: str) -> set[str]:
    """What tells one of a series from another: a letter, as of "Motor A", or letters with a number, as of "UART1"."""
    return {name for name in names(text) if name[0].isalpha() and (len(name) == 1 or any(map(str.isdigit, name)))}


def shared(one: Wording, two: Wording, weight: Weight) -> float:
    return in_common(one.telling, two.telling, weight)


def in_common(
    one: AbstractSet[_Word],
    two: AbstractSet[_Word],
    weight: Callable[[_Word], float],
    wholes: tuple[float, float] | None = None,
) -> float:
    """
    The share of what each says that is in the other, by weight, on average of both, 0..1.

    Args:
        wholes: What the words of each weigh together, if that is known.
    """
    if not (common := one & two):
        return 0.0
    both = sum(map(weight, common))
    return sum(both / (whole or 1.0) for whole in wholes or [sum(map(weight, words)) for words in (one, two)]) / 2


def _beginning(one: Wording, two: Wording) -> int:
    """1 if both begin with the same subject, -1 if that is of different things, or numbered; 0 if neither is plain."""
    mine, theirs = ([n for n, stem in enumerate(text.stems) if stem[:PART] in text.telling] for text in (one, two))
    same = 0
    for a, b in zip(mine, theirs, strict=False):
        if one.stems[a][:PART] != two.stems[b][:PART]:
            break
        same += 1
    if same in {0, len(mine), len(theirs)}:
        return 0
    end, stop = mine[same - 1] + 1, theirs[same - 1] + 1
    if not VERBS.isdisjoint(one.spelled[:end]):
        return 1
    following = one.spelled[end], two.spelled[stop]
    if same == 1 and all(word[0].isdigit() for word in following):  # "Release 1.8", "Release 2.4"
        return -1
    if all(word in OF for word in following):
        parts = one.stems[mine[same]][:PART], two.stems[theirs[same]][:PART]
        return 0 if parts[0] in two.telling or parts[1] in one.telling else -1
    return int(not any(word in OF or word[0].isdigit() for word in following))


def _apart(older: str, newer: str, blocks: Iterable[tuple[int, int, int]]) -> bool:
    """Whether one sentence is said of two things: its first difference lies in the subject."""
    one, two = words(older), words(newer)
    if not NOW.isdisjoint({*two.spelled} - {*one.spelled}):
        return False
    own, others = one.telling - two.telling, two.telling - one.telling
    a = b = 0
    for start, other, size in blocks:
        mine = [n for n in range(a, start) if one.stems[n][:PART] in own]
        theirs = [n for n in range(b, other) if two.stems[n][:PART] in others]
        begins, (a, b) = a, (start + size, other + size)
        if not mine and not theirs:
            continue
        # The end of the sentence, or what follows its verb, is what it says of the subject.
        if start == len(one.stems) or other == len(two.stems) or not VERBS.isdisjoint(one.spelled[: begins + 1]):
            return False
        # Behind a word of the subject stands its name, or the verb; behind a function word a noun, or a number that is a value.
        behind = begins > 0 and one.spelled[begins - 1] not in FUNCTION
        verb = not VERBS.isdisjoint(one.spelled[(mine or [begins])[0] + 1 : start + 1])
        if not (mine and theirs):
            # "Lena decides", "Lena's deputy decides": the first words are those of another
            if behind and begins < PARTS and one.spelled[start] not in FUNCTION and not verb:
                return True
        elif abs(len(mine) - len(theirs)) <= 1:
            first = one.spelled[mine[0]], two.spelled[theirs[0]]
            named = (first[0] in names(older) and first[1] in names(newer)) or mine[0] > begins
            if first[0].isdigit() and first[1].isdigit():  # "Build 4711", but "the queue holds 100"
                named = sum(stem[:PART] in one.telling and not stem.isdigit() for stem in one.stems[:begins]) == 1
            numbers = all(one.spelled[n].isdigit() for n in mine) and all(two.spelled[n].isdigit() for n in theirs)
            return verb or (named if behind else not numbers)
    return False
