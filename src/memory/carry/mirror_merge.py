"""Two versions of a page become one; and the two that a merge of git leaves in a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.carry.pages import BODY, FOREIGN, LISTS, NAMES, UNMARKED, Marks, Page, mark
from memory.schema.kinds import Kind
from memory.text.markdown import listed, observations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.memory import Json

LINES = re.compile(r"[^\n]*\n|[^\n]+")
OURS, BASE, THEIRS, END = "<<<<<<< ", "|||||||", "=======", ">>>>>>> "


def torn(text: str) -> bool:
    """Whether there are marks in a text like those between which git leaves what it could not merge."""
    return f"\n{OURS}" in f"\n{text}" and f"\n{END}" in text


def versions(text: str) -> list[str]:
    """The text of a file; both texts that a merge of git left in it between its marks."""
    if not torn(text):
        return [text]
    ours: list[str] = []
    theirs: list[str] = []
    into: tuple[list[str], ...] = (ours, theirs)
    for line in LINES.findall(text):
        if line.startswith(OURS):
            into = (ours,)
        elif line.startswith(BASE) and into == (ours,):
            into = ()
        elif line.rstrip("\r\n") == THEIRS and len(into) < 2:  # both: a line of a heading
            into = (theirs,)
        elif line.startswith(END) and into == (theirs,):
            into = (ours, theirs)
        else:
            for side in into:
                side.append(line)
    return ["".join(ours), "".join(theirs)]


def merged(former: Marks | None, one: Page, other: Page) -> tuple[Page, bool]:
    """
    One page of two that began as the same; and whether it has all of both.

    Of a fact that only one side changed it has that change; of one that both changed, what `one` says. Of lists in `LISTS`
    it has what either side added, and of an entity every observation.

    Args:
        former: What they began as; None if that is not known: then a fact that only one of them has is kept.
    """
    was = former or {}
    sides = [{**page.facts, BODY: page.body, FOREIGN: page.foreign} for page in (one, other)]
    facts, whole = {}, True
    for name in (*NAMES, BODY, FOREIGN):
        mine, yours = (side.get(name) for side in sides)
        facts[name] = mine
        if mark(mine) == mark(yours) or name in UNMARKED or (former is not None and _as_it_was(was, name, yours)):
            continue
        if former is not None and _as_it_was(was, name, mine):
            facts[name] = yours
        elif former is None and name not in (BODY, FOREIGN) and (mine is None or yours is None):
            facts[name] = yours if mine is None else mine
        elif name in LISTS:
            facts[name] = list(dict.fromkeys([*_items(mine), *_items(yours)]))
        elif name == BODY and facts["kind"] == Kind.ENTITY:
            facts[name] = listed(dict.fromkeys(text for side in (mine, yours) for text in observations(str(side))))
        else:
            whole = False
    body, foreign = str(facts.pop(BODY) or ""), str(facts.pop(FOREIGN) or "")
    return Page({name: value for name, value in facts.items() if value is not None}, body, foreign), whole


def _as_it_was(was: Marks, name: str, value: Json) -> bool:
    return was.get(name) == (None if value is None else mark(value))


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()
