"""
A conversation as a note: its title, or its first request, and below it who said what.

Every message is saved or counted: a reader gives each as a `Turn`, or as `Passed` with what it is instead.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.carry.formats.items import Aside, Item, left_out, one_line, own_uid, uid_of
from memory.schema.draft import Draft
from memory.schema.errors import BODY_LIMIT, TITLE_LIMIT, Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from memory.carry.formats.items import Read

LONGEST = 10_000_000
"""Characters of a conversation that are saved: twenty notes. Storing them takes ten seconds or more."""

USER, ASSISTANT, SUMMARY = "user", "assistant", "summary"

WHAT = 1_000
"""The most characters of a first request that stands for a title."""

MARGIN = 200
"""Characters of a part that are left for the heading of a turn."""

CLAUDE_CODE = "claude-code"

SESSION_FILE = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl\Z")
"""How the file of a session is called: by its id, behind a date or alone."""


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


class Passed(Enum):
    """A message, or a part of one, that is not saved. The last two are somebody's words, and go on after "a message"."""

    TOOLS = "calls of tools and their results"
    THOUGHTS = "thoughts"
    MEDIA = "pictures, recordings and files"
    HARNESS = "messages of the program"
    SUBAGENTS = "messages of subagents"
    INSTRUCTIONS = "custom instructions and memories that go before conversations"
    BRANCH = "of a branch that was not shown last"
    TAKEN_BACK = "that the person took back"

    @property
    def said(self) -> bool:
        return self in {Passed.BRANCH, Passed.TAKEN_BACK}


class Conversation(NamedTuple):
    """
    Attributes:
        program: Where it was held, as `source` of the note.
        key: What that program calls it; empty if it has no name there, and what is said first tells it apart.
        title: Empty if it has none.
        facts: More about it, for the note's metadata.
        cut: Turns after these were not read.
        name: What a person calls it; else `program` and `key`.
        written: When its file was changed, for a conversation without times.
    """

    program: str
    key: str
    title: str
    turns: Iterable[Turn | Passed]
    project: str | None = None
    created: datetime | None = None
    updated: datetime | None = None
    facts: Mapping[str, Any] = MappingProxyType({})
    cut: bool = False
    name: str = ""
    written: datetime | None = None


def notes(said: Conversation, clean: Callable[[str], str]) -> Iterator[Read]:
    """
    A note; several, in order, where it is longer than the body of one; then what of it is not saved. What follows
    `LONGEST` characters is left out, and so is a conversation in which nobody says anything.

    Args:
        clean: Removes secrets from a text. What it refuses stays as it is: then the note is refused when it is saved.
    """
    passed: Counter[Passed] = Counter()
    turns: list[Turn] = []
    for one in said.turns:
        if isinstance(one, Passed):
            passed[one] += 1
        elif one.text.strip():
            turns.append(one._replace(text=_cleaned(one.text, clean)))
    titled = _cleaned(said.title, clean)
    name = said.name or f"{said.program} {one_line(titled) or said.key}".rstrip()
    bodies, request, times = _bodies(_beginning(turns))
    if not bodies:
        only = next((f": there are only {what.value}" for what in passed if not what.said), "")
        yield left_out(name, f"it contains no message{only}", ruled=True)
    else:
        what = one_line(titled) or one_line(request, WHAT)
        title = one_line(titled or request)
        created, updated = said.created or min(times, default=None), said.updated or max(times, default=said.written)
        key = said.key or uid_of("", titled, said.created, turns[0].text)
        uid = own_uid(key) or uid_of(said.program, key)
        draft = Draft(title=title, what=what, project=said.project, source=said.program, metadata=dict(said.facts))
        for number, item in enumerate(in_parts(draft, bodies, said.program, key), start=1):
            yield item._replace(uid=uid if number == 1 else item.uid, created=created, updated=updated)
    for other, count in passed.items():
        if other.said:
            yield left_out(name, f"{count:,} {'message' if count == 1 else 'messages'} {other.value}", ruled=True)
        else:
            yield Aside(said.program, other.value, count)
    if said.cut or sum(len(turn.text) for turn in turns) > LONGEST:
        why = f"what follows {LONGEST:,} characters of a conversation is left out"
        yield left_out(f"{said.program} {said.key}", why)


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
        for piece in cut(f"{head}{_quoted(text)}\n\n"):
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


def in_parts(draft: Draft, bodies: Iterable[str], program: str, *key: object) -> Iterator[Item]:
    """A note; several, in order, where its text is longer than the body of one."""
    texts = list(bodies) or [""]
    for number, body in enumerate(texts, start=1):
        part = f" ({number} of {len(texts)})" if len(texts) > 1 else ""
        title = one_line(draft.title, TITLE_LIMIT - len(part)) + part
        yield Item(replace(draft, title=title, body=body), uid_of(program, *key, number))


def cut(text: str) -> Iterator[str]:
    """The pieces of a text, none longer than the body of a note."""
    for start in range(0, len(text), BODY_LIMIT - MARGIN):
        yield text[start : start + BODY_LIMIT - MARGIN]
