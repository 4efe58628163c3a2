"""What a memory said before, beside what it says since: as pieces that stayed, came and went."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from memory.schema.document import Details
    from memory.schema.memory import Memory

FIELDS = ("title", "what", "why", "impact", "category", "project", "source", "tags", "related_files", "status")
WORDS = 1_500  # of two texts: with more, lines are compared, since the time grows with the square
LINES = 3_000
ALIKE = 0.3  # share of the new text that stayed: with less, the two are easier to read one after the other
AROUND = 2  # lines that stayed, on either side of a change

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


class Piece(NamedTuple):
    """
    Attributes:
        how: "same", "add", "drop", or "skip" for what is left out because it stayed.
    """

    how: str
    text: str


class Changed(NamedTuple):
    """
    Attributes:
        until: When the memory ceased to say it.
        fields: What was another, with its pieces.
    """

    until: datetime
    fields: Sequence[tuple[str, Sequence[Piece]]]


def history(found: Details) -> list[Changed]:
    """For each revision, latest first, how the next one differs."""
    texts = [(found.memory, found.body), *((one.memory, one.body) for one in found.history)]
    return [
        Changed(revision.replaced_at, [*_fields(before, after)])
        for revision, (after, before) in zip(found.history, pairwise(texts), strict=True)
    ]


def _fields(before: tuple[Memory, str], after: tuple[Memory, str]) -> Iterator[tuple[str, Sequence[Piece]]]:
    for name in FIELDS:
        old, new = (_text(getattr(memory, name)) for memory, _ in (before, after))
        if old != new:
            yield name.replace("_", " "), pieces(old, new)
    if before[1] != after[1]:
        yield "details", pieces(before[1], after[1])


def _text(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")


def pieces(old: str, new: str) -> list[Piece]:
    """The pieces of two texts, in order: by words where they are short, else by lines; whole if they are very long."""
    words = _WORD.findall(old), _WORD.findall(new)
    if sum(map(len, words)) <= WORDS:
        found = [*_compared(*words)]
        stayed = sum(len(piece.text.strip()) for piece in found if piece.how == "same")
        return found if stayed >= ALIKE * len(new) else _whole(old, new)
    lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if sum(map(len, lines)) <= LINES:
        return [*_shortened([*_compared(*lines)])]
    return _whole(old, new)


def _whole(old: str, new: str) -> list[Piece]:
    return [Piece(how, text) for how, text in (("drop", old), ("add", new)) if text]


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield Piece("same", "".join(old[a:b]))
            continue
        if a < b:
            yield Piece("drop", "".join(old[a:b]))
        if c < d:
            yield Piece("add", "".join(new[c:d]))


def _shortened(found: Sequence[Piece]) -> Iterator[Piece]:
    for place, piece in enumerate(found):
        lines = piece.text.splitlines(keepends=True)
        if piece.how != "same" or len(lines) <= 2 * AROUND:
            yield piece
            continue
        before = AROUND if place else 0
        after = AROUND if place < len(found) - 1 else 0
        yield Piece("same", "".join(lines[:before]))
        yield Piece("skip", f"{len(lines) - before - after:,} lines")
        yield Piece("same", "".join(lines[len(lines) - after :]))
