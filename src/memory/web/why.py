"""Why something was found, as numbers for small pictures: words and their weights, steps and their time, what each hit has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.operations.render.text import counted, duration
from memory.schema.answer import Outcome

if TYPE_CHECKING:
    from memory.schema.answer import Answer, Hit

WIDE = 320  # units of a picture's width


class Bar(NamedTuple):
    """
    One line of a picture.

    Attributes:
        start, width: 0..`WIDE`.
        text: The value in words, which the picture only repeats.
    """

    name: str
    start: float
    width: float
    text: str


class Why(NamedTuple):
    """
    Attributes:
        gate: What the gate said of the words, and whether they were enough; empty if there was no gate.
        steps: One after the other, so that together they are the whole time.
    """

    words: list[Bar]
    gate: str
    steps: list[Bar]
    worth: str


SAID = {
    Outcome.ANSWERED: "",
    Outcome.WEAK: "possible matches",
    Outcome.NOTHING_RELEVANT: "nothing saved fits this; closest",
    Outcome.NOTHING_SAVED: "nothing is saved here",
    Outcome.DEGRADED: "better ones may be missing",
}
"""How far to trust an answer."""


def explained(found: Answer) -> Why:
    """What `memory search --explain` says, to be drawn."""
    heaviest = max((term.weight for term in found.terms), default=1.0) or 1.0
    words = [
        Bar(
            f"{term.text}…" if term.prefix else term.text,
            0.0,
            WIDE * term.weight / heaviest,
            f"weight {term.weight:.2f}, in {counted(term.rows, 'chunk')}"
            + (", too common to read" if term.cut else ""),
        )
        for term in found.terms
    ]
    gate = ""
    if found.verdict:
        gate = f"{'Words are enough' if found.verdict.enough else 'Words are not enough'}: {found.verdict.why}."
    return Why(words, gate, _steps(found), found.worth)


def _steps(found: Answer) -> list[Bar]:
    whole, at, bars = found.seconds or 1.0, 0.0, []
    for step in found.steps:
        width = WIDE * step.seconds / whole
        words = [duration(step.seconds), f"{step.found:,} found", step.note]
        bars.append(Bar(step.name, at, max(width, 1.0), ", ".join(filter(None, words))))
        at += width
    return bars


def evidence(hit: Hit) -> list[Bar]:
    """What one hit was found by."""
    ranks = dict(hit.ranks)
    bars = [
        ("relevance", hit.relevance, f"{hit.relevance:.3f}"),
        ("words", hit.coverage, f"{hit.coverage:.0%} of the query's weight" + _rank(ranks, "keyword")),
    ]
    if hit.cosine is not None:
        bars.append(("meaning", hit.cosine, f"cosine {hit.cosine:.3f}" + _rank(ranks, "vector")))
    others = [f"{name} #{rank}" for name, rank in hit.ranks if name not in ("keyword", "vector")]
    found = [Bar(name, 0.0, WIDE * min(max(value, 0.0), 1.0), text) for name, value, text in bars]
    return found + [Bar("also by", 0.0, 0.0, ", ".join(others))] * bool(others)


def _rank(ranks: dict[str, int], name: str) -> str:
    return f", #{ranks[name]} by {'words' if name == 'keyword' else 'meaning'}" if name in ranks else ""
