"""
Transcripts of Claude Code: a line of JSON for each thing that happened in a session.

They are not documented; the fields are those of its versions 1.0 to 2.1. What people and the model said is read.
What tools were asked and answered, what the model thought, and what subagents said to each other is not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from memory.carry.formats.conversation import ASSISTANT, LONGEST, SUMMARY, USER, Conversation, Turn, notes
from memory.carry.formats.items import ImportTarget, Read, Unread, moment_of, text_of
from memory.carry.formats.reading import Source, objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROGRAM = "claude-code"

TYPES = frozenset({"user", "assistant", "system", "summary", "attachment", "queue-operation", "file-history-snapshot"})
"""Of the lines that a transcript begins with; others may follow."""

FILE = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl\Z")
"""
How a transcript is called: by its session. One that continues another, or forked from it, begins with the other's lines
and their session (https://github.com/anthropics/claude-code/issues/89380).
"""

TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Lines that say what a session is about, the best first, each with its field."""

NOT_SAID = ("<command-name>", "<command-message>", "<local-command-", "<bash-", "Caveat: The messages below were")
"""How a text begins that the program put where people write."""


def turns(file: BinaryIO, name: str = "transcript") -> Iterator[Turn | Unread]:
    """
    What was said, in order, one line in memory at a time; `place` is the number of the line.

    A line that cannot be read is given as `Unread`.
    """
    for found in objects(file, name):
        if isinstance(found, Unread):
            yield found
        elif (said := turn(found[1], found[0])) is not None:
            yield said


def turn(line: Mapping[str, Any], place: int) -> Turn | None:
    """What somebody said in a line; None if nobody did."""
    role, message = line.get("type"), line.get("message")
    if role not in (USER, ASSISTANT) or not isinstance(message, dict):
        return None
    if line.get("isSidechain") or line.get("isMeta") or line.get("isApiErrorMessage"):
        return None
    text = _text(message.get("content"))
    if not text.strip() or (role == USER and text.lstrip().startswith(NOT_SAID)):
        return None
    return Turn(SUMMARY if line.get("isCompactSummary") else role, text, moment_of(line.get("timestamp")), place)


def _text(content: object) -> str:
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, dict) and block.get("type") == "text"]
        return "\n\n".join(filter(str.strip, (text_of(block.get("text")) for block in blocks)))
    return text_of(content)


def read(source: Source, target: ImportTarget) -> Iterator[Read]:
    """A session as a note of the project that it was held in."""
    said: list[Turn] = []
    named = FILE.search(source.name)
    facts: dict[str, str] = {"sessionId": named[1]} if named else {}
    size = 0
    with source.opened() as file:
        for found in objects(file, source.name):
            if isinstance(found, Unread):
                yield found
                continue
            number, line = found
            _notice(facts, line)
            if (one := turn(line, number)) is not None:
                said.append(one)
                size += len(one.text)
            if size > LONGEST:
                break
    title = next((facts[name] for name in TITLES if name in facts), "")
    folder = facts.get("cwd", "")
    yield from notes(
        Conversation(
            PROGRAM,
            facts.get("sessionId") or source.name,
            title,
            said,
            target.of(target.project_of(folder) if folder else None),
            facts={key: facts[key] for key in ("sessionId", "cwd", "gitBranch") if facts.get(key)},
            cut=size > LONGEST,
        ),
        target.clean,
    )


def _notice(facts: dict[str, str], line: Mapping[str, Any]) -> None:
    """Remember what a line says about the session: the last title of each sort, the first of everything else."""
    field = TITLES.get(str(line.get("type")))
    if field is not None and (title := text_of(line.get(field)).strip()):
        facts[str(line["type"])] = title
    for key in ("sessionId", "cwd", "gitBranch"):
        if isinstance(line.get(key), str) and not line.get("isSidechain"):
            facts.setdefault(key, text_of(line[key]))
