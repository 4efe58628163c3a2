"""A conversation as a note: its title, or its first request, and below it who said what."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.answer import Notice
from memory.schema.draft import Draft
from memory.schema.errors import BODY_LIMIT, Invalid, printable
from memory.write.importers.items import Item, Unread, one_line, own_uid, uid_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

LONGEST = 10_000_000
"""Characters of a conversation that are kept: twenty notes. Storing them takes ten seconds or more."""

USER, ASSISTANT, SUMMARY = "user", "assistant", "summary"

WHAT = 1_000
"""The most characters of a first request that stands for a title."""

MARGIN = 200
"""Characters of a part that are left for the heading of a turn."""


class Turn(NamedTuple):
    """
    What somebody said.

    Attributes:
        role: `USER`, `ASSISTANT`, or `SUMMARY`: what a program says of turns before it.
        time: In UTC; None if it is not known.
        place: Where it stands: the number of its line, or of the message, from 1.
    """

    role: str
    text: str
    time: datetime | None
    place: int


class Conversation(NamedTuple):
    """
    Attributes:
        program: Where it was held, as `source` of the note.
        key: What that program calls it.
        title: Empty if it has none.
        facts: More about it, for the note's metadata.
        cut: Turns after these were not read.
    """

    program: str
    key: str
    title: str
    turns: Iterable[Turn]
    project: str | None = None
    created: datetime | None = None
    updated: datetime | None = None
    facts: Mapping[str, Any] = MappingProxyType({})
    cut: bool = False


def notes(said: Conversation, clean: Callable[[str], str]) -> Iterator[Item | Unread]:
    """
    A note; several, in order, where it is longer than the body of one. None where nobody said anything. What follows
    `LONGEST` characters is left out, and the last item says so.

    Args:
        clean: Removes secrets from a text. What it refuses stays as it is: then the note is refused when it is kept.
    """
    turns = [turn._replace(text=_cleaned(turn.text, clean)) for turn in said.turns]
    bodies, request, times = _bodies(_beginning(turns))
    if not bodies:
        return
    titled = _cleaned(said.title, clean)
    what = one_line(titled) or one_line(request, WHAT)
    title = one_line(titled or request)
    created, updated = said.created or min(times, default=None), said.updated or max(times, default=None)
    uid = own_uid(said.key) or uid_of(said.program, said.key)
    for number, body in enumerate(bodies, start=1):
        part = f" ({number} of {len(bodies)})" if len(bodies) > 1 else ""
        draft = Draft(
            title=one_line(title, 200 - len(part)) + part,
            what=what,
            body=body,
            project=said.project,
            source=said.program,
            metadata=dict(said.facts),
        )
        yield Item(draft, uid if number == 1 else uid_of(said.program, said.key, number), created, updated)
    if said.cut or sum(len(turn.text) for turn in turns) > LONGEST:
        text = (
            f"{said.program} {printable(said.key)}: what follows {LONGEST:,} characters of a conversation is left out"
        )
        yield Unread(Notice(text))


def _cleaned(text: str, clean: Callable[[str], str]) -> str:
    try:
        return clean(text)
    except Invalid:
        return text


def _beginning(turns: Iterable[Turn]) -> Iterator[Turn]:
    left = LONGEST
    for turn in turns:
        if left > 0:
            yield turn._replace(text=turn.text[:left])
        left -= len(turn.text)


def _bodies(turns: Iterable[Turn]) -> tuple[list[str], str, list[datetime]]:
    """The texts of the notes, the first request (else the first thing said), and the times of first and last turn."""
    pieces: list[list[str]] = []
    size, request, first, role = BODY_LIMIT, "", "", ""
    times: list[datetime] = []
    for turn in turns:
        text = turn.text.strip()
        if not text:
            continue
        first = first or text
        request = request or (text if turn.role == USER else "")
        if turn.time is not None:
            times = [min(*times, turn.time), max(*times, turn.time)] if times else [turn.time, turn.time]
        head = "" if turn.role == role else _heading(turn)
        role = turn.role
        for piece in _cut(f"{head}{_quoted(text)}\n\n"):
            if size + len(piece) > BODY_LIMIT:
                pieces.append([])
                size = 0
            pieces[-1].append(piece)
            size += len(piece)
    return ["".join(part) for part in pieces], request or first, times


def _heading(turn: Turn) -> str:
    time = f" · {turn.time:%Y-%m-%d %H:%M}" if turn.time else ""
    return f"## {turn.role.capitalize()}{time}\n\n"


def _quoted(text: str) -> str:
    """A text whose headings are below that of its turn; code is left as it is."""
    fenced, found = False, []
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        deeper = not fenced and line.startswith(("# ", "## "))
        found.append(f"##{line}" if deeper else line)
    return "\n".join(found)


def _cut(text: str) -> Iterator[str]:
    for start in range(0, len(text), BODY_LIMIT - MARGIN):
        yield text[start : start + BODY_LIMIT - MARGIN]
