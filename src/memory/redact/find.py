"""Where in a text the secrets are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.redact.plain import plain
from memory.redact.rule import SOLID, lowered, spans, spans_anywhere

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.redact.rule import Rule

    Hit: TypeAlias = tuple[str, Rule, int]

SHORTEST = 8
"""Characters of a text in which a rule with words can find anything."""


DEEP = 4
"""How often what stands around secrets is searched again for another before more than the secret goes."""

MARGIN = 32
"""Characters that go with a secret on both sides that deep; four times as many each time, or a text could go on for ever."""


class Place(NamedTuple):
    """A secret at `text[start:stop]`, found by a rule; the earlier of two rules has the lower rank."""

    start: int
    stop: int
    rank: int
    name: str


class Finder:
    """
    Looks for all rules at once.

    A pattern runs only around a word of its rule, and is compiled when that happens first: most texts hold no word,
    and cost the search for the words alone.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        ranked = list(enumerate(rules))
        words = [(word, rule, rank) for rank, rule in ranked for word in rule.words]
        self._solid = tuple(hit for hit in words if hit[1].solid)
        self._sharp = _by_need(hit for hit in words if not hit[1].folded and not hit[1].solid)
        self._folded = _by_need(hit for hit in words if hit[1].folded)
        self._anywhere = tuple((rule, rank) for rank, rule in ranked if not rule.words)

    def places(self, text: str) -> list[Place]:
        """
        Every secret in a text, in order; those that overlap as one, under the name of the earliest rule.

        What is only seen once the text is plain is looked for beside what stands in it as it is.
        """
        if len(text) < SHORTEST and not self._anywhere:
            return []
        found = self._all(text)
        if seen := plain(text):
            found += [
                Place(*seen.span(place.start, place.stop), place.rank, place.name) for place in self._all(seen.text)
            ]
        return _merged(found)

    def _all(self, text: str) -> list[Place]:
        folded = lowered(text)
        hits = [
            (hit, hay)
            for needed, hay in ((self._sharp, text), (self._folded, folded))
            for needs, several in needed
            if any(need in text for need in needs)
            for hit in several
            if hit[0] in hay
        ]
        if solid := " ".join(part for part in text.split() if len(part) >= SOLID):
            hits += [(hit, text) for hit in self._solid if hit[0] in solid]
        found = [
            Place(*span, rank, rule.name) for (word, rule, rank), hay in hits for span in spans(rule, word, text, hay)
        ]
        found += [Place(*span, rank, rule.name) for rule, rank in self._anywhere for span in spans_anywhere(rule, text)]
        return found


def _by_need(hits: Iterable[Hit]) -> tuple[tuple[tuple[str, ...], tuple[Hit, ...]], ...]:
    grouped: dict[tuple[str, ...], list[Hit]] = {}
    for hit in hits:
        grouped.setdefault(hit[1].needs, []).append(hit)
    return tuple((needs, tuple(several)) for needs, several in grouped.items())


def _merged(found: Iterable[Place]) -> list[Place]:
    merged: list[Place] = []
    for place in sorted(found):
        if merged and place.start < merged[-1].stop:
            last = merged.pop()
            rank, name = min((last.rank, last.name), (place.rank, place.name))
            merged.append(Place(last.start, max(last.stop, place.stop), rank, name))
        else:
            merged.append(place)
    return merged


def widened(places: list[Place], depth: int, size: int) -> list[Place]:
    """
    The places found after so many searches around others, in a text of this size; from `DEEP` on with what is around.

    Each search reads all that is left of a text. A text in which every secret that is gone makes another of what stood
    before it, such as one name of a secret after the other, would be read once for each.
    """
    if depth < DEEP:
        return places
    margin = MARGIN << 2 * (depth - DEEP)
    return _merged(
        place._replace(start=max(0, place.start - margin), stop=min(size, place.stop + margin)) for place in places
    )
