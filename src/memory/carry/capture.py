"""
What a session of Claude Code may have left worth keeping, proposed for a person to review. Rules only, no model.

It reads no more than the last `MOST` bytes of a transcript, whatever is in it.
"""

from __future__ import annotations

import io
import os
from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from memory.carry.cues import REFUTED, TAKEN_BACK, cue, leads, promising, sentences, statement
from memory.carry.formats.conversation import ASSISTANT, USER, Turn, turns
from memory.carry.formats.items import Unread
from memory.config.files import opened
from memory.schema.errors import Invalid
from memory.text.terms import STOP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


MOST = 16 << 20
"""Bytes of a transcript that are read: the last ones. Most of a long session is what tools answered."""

SAID = 500_000
"""Characters of messages with a word of a cue that are looked at: the last ones. That takes a second at most."""

TURN = 100_000
"""Characters of a message that is read; a longer one is a file that somebody pasted."""

OPENING = 80
"""Characters of a message that tell whether it refutes or takes back what was said before."""

PROPOSED = 20
"""How much of one session is proposed at most, what people said first: a list that nobody reads is worth nothing."""

SAME = 0.8
"""Two sentences of a session say the same if this share of the words of the shorter is in the other."""


class Proposal(NamedTuple):
    """
    Attributes:
        sort: One of `memory.carry.cues`.
        role: Who said it, see `memory.carry.formats.conversation`.
        why: The sentence after it, where that gives the reason.
        line: Of the transcript, from 1; None if its beginning was not read.
        time: ISO 8601; empty if the transcript does not say.
    """

    sort: str
    what: str
    why: str
    role: str
    line: int | None
    time: str


def proposals(path: Path, clean: Callable[[str], str]) -> list[Proposal]:
    """
    What a transcript has that may be worth keeping, in its order, at most `PROPOSED`.

    Args:
        clean: Takes secrets out of a message. What it refuses is not looked at.

    Raises:
        OSError: It cannot be read.
    """
    data, whole = _end(path)
    said = (one for one in turns(io.BytesIO(data), path.name) if not isinstance(one, Unread))
    found = [one for some in [*_of(_last(said), clean)] for one in some]
    best = _distinct(found)
    return best if whole else [one._replace(line=None) for one in best]


def _end(path: Path) -> tuple[bytes, bool]:
    """The last bytes of a file, from the beginning of a line, and whether that is all of it."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size <= MOST:
            return file.read(MOST), True
        file.seek(size - MOST)
        return file.read(MOST).partition(b"\n")[2], False


def _last(said: Iterable[Turn]) -> deque[Turn]:
    """The last messages; of those without a word of a cue only the beginning, which may refute or take back."""
    kept: deque[Turn] = deque()
    size = 0
    for turn in said:
        if turn.role not in (USER, ASSISTANT) or len(turn.text) > TURN:
            continue
        kept.append(turn if promising(turn.text) else turn._replace(text=turn.text.lstrip()[:OPENING]))
        size += len(kept[-1].text)
        while size > SAID:
            size -= len(kept.popleft().text)
    return kept


def _of(said: Iterable[Turn], clean: Callable[[str], str]) -> Iterator[list[Proposal]]:
    """What each message proposes. What a person refutes or takes back later is not proposed."""
    former: dict[str, list[Proposal]] = {USER: [], ASSISTANT: []}
    before = ""
    for turn in said:
        if turn.role == USER:
            opening = turn.text.lstrip()[:OPENING].lower().replace("\u2019", "'")
            if REFUTED.match(opening):
                former[ASSISTANT].clear()
            if TAKEN_BACK.match(opening):
                former[USER].clear()
        if turn.role != before:
            former[turn.role] = []
            yield former[turn.role]
        former[turn.role] += _found(turn, clean, answers=before == ASSISTANT)
        before = turn.role


def _found(turn: Turn, clean: Callable[[str], str], *, answers: bool) -> list[Proposal]:
    person = turn.role == USER
    if not promising(turn.text):
        return []
    try:
        said = sentences(clean(turn.text), typed=person)
    except Invalid:  # a mark of something secret that is not closed
        return []
    found: list[Proposal] = []
    for at, one in enumerate(said):
        if person and TAKEN_BACK.match(one.plain):
            found.clear()
        led = at == 1 and leads(said[0])
        if (sort := cue(one, person=person, answers=answers and (at == 0 or led), led=led)) is not None:
            after = said[at + 1].text if at + 1 < len(said) else ""
            why = (
                after if after.lower().startswith(("because ", "that's because ", "otherwise ", "the reason ")) else ""
            )
            found.append(
                Proposal(sort, statement(one), why, turn.role, turn.place, turn.time.isoformat() if turn.time else "")
            )
    return found


def _distinct(found: list[Proposal]) -> list[Proposal]:
    """Of what says the same, what a person said, else the first; what people said is chosen before all else."""
    kept: dict[int, frozenset[str]] = {}
    for at in sorted(range(len(found)), key=lambda at: (found[at].role != USER, at)):
        words = _words(found[at].what)
        if not any(len(words & others) >= SAME * min(len(words), len(others)) for others in kept.values()):
            kept[at] = words
        if len(kept) == PROPOSED:
            break
    return [found[at] for at in sorted(kept)]


def _words(text: str) -> frozenset[str]:
    found = (word.strip(".,;:!?()*`\"'").lower() for word in text.split())
    return frozenset(word for word in found if word and word not in STOP)


def digest(text: str, project: str | None) -> str:
    """What tells one proposal from another, in all sessions of a project: 32 hexadecimal digits. Signs and case do not."""
    plain = " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
    return sha256(f"{project or ''}\0{plain}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
