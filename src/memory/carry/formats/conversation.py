"""
A conversation as a note: its title, or its first request, and below it who said what; the exports of ChatGPT and
claude.ai, and the transcripts of Claude Code.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from memory.carry.formats.items import (
    ImportTarget,
    Item,
    LeftOut,
    Read,
    left_out,
    moment_of,
    one_line,
    own_uid,
    text_of,
    uid_of,
)
from memory.carry.formats.reading import Source, elements, objects
from memory.schema.draft import Draft
from memory.schema.errors import BODY_LIMIT, Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    Parser = Callable[[Mapping[str, Any], ImportTarget], "Conversation"]

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


def notes(said: Conversation, clean: Callable[[str], str]) -> Iterator[Item | LeftOut]:
    """
    A note; several, in order, where it is longer than the body of one. None where nobody said anything. What follows
    `LONGEST` characters is left out, and the last item says so.

    Args:
        clean: Removes secrets from a text. What it refuses stays as it is: then the note is refused when it is kept.
    """
    turns = [turn._replace(text=_cleaned(turn.text, clean)) for turn in said.turns]
    bodies, request, times = _bodies(_beginning(turns))
    if not bodies:
        yield left_out(f"{said.program} {said.key}", "nobody said anything in it", ruled=True)
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


# Exports of chats ----------------------------------------------------------------


SENDERS = {"human": USER, "user": USER, "assistant": ASSISTANT}
HIDDEN = "is_visually_hidden_from_conversation"


def conversations(source: Source, target: ImportTarget, parse: Parser) -> Iterator[Read]:
    with source.opened() as file:
        for found in elements(file, source.name):
            yield from (found,) if isinstance(found, LeftOut) else notes(parse(found, target), target.clean)


# What belongs to no project stands at the top of the context of every project: a thousand conversations do not.
CHATGPT, CLAUDE_AI = "chatgpt", "claude.ai"
"""The programs, and the projects that their conversations are of, unless the user names one."""


def of_chatgpt(row: Mapping[str, Any], target: ImportTarget) -> Conversation:
    return Conversation(
        CHATGPT,
        _key(row, "conversation_id", "id", "create_time", "title"),
        text_of(row.get("title")),
        list(_branch(row)),
        target.of(CHATGPT),
        moment_of(row.get("create_time")),
        moment_of(row.get("update_time")),
    )


def _key(row: Mapping[str, Any], *names: str) -> str:
    """What tells a conversation from all others: the first of these that it has. Many have the same title."""
    return str(next((row[name] for name in names if row.get(name)), ""))


def _branch(row: Mapping[str, Any]) -> Iterator[Turn]:
    """The turns of the branch that was shown last, from its beginning."""
    nodes = row.get("mapping")
    if not isinstance(nodes, dict):
        return
    name = row.get("current_node")
    if name not in nodes:  # an older export does not say: the last message of all
        name = max(nodes, key=lambda one: _time_in(nodes[one]), default=None)
    branch, seen = [], set()
    while isinstance(name, str) and name in nodes and name not in seen:
        seen.add(name)
        node = nodes[name] if isinstance(nodes[name], dict) else {}
        branch.append(node.get("message"))
        name = node.get("parent")
    for place, message in enumerate(filter(lambda one: isinstance(one, dict), reversed(branch)), start=1):
        role = SENDERS.get(str((message.get("author") or {}).get("role")))
        text = _chatgpt_text(message)
        if role is not None and text and not (message.get("metadata") or {}).get(HIDDEN):
            yield Turn(role, text, moment_of(message.get("create_time")), place)


def _time_in(node: object) -> float:
    message = node.get("message") if isinstance(node, dict) else None
    time = message.get("create_time") if isinstance(message, dict) else None
    return float(time) if isinstance(time, int | float) else -1.0


def _chatgpt_text(message: Mapping[str, Any]) -> str:
    """What was written; pictures, calls of tools and what is set before a conversation are not."""
    content = message.get("content")
    if not isinstance(content, dict) or message.get("recipient", "all") != "all":
        return ""
    if content.get("content_type") not in {"text", "multimodal_text"}:
        return ""
    parts = content.get("parts")
    return "\n\n".join(filter(str.strip, map(text_of, parts if isinstance(parts, list) else [])))


def of_claude_ai(row: Mapping[str, Any], target: ImportTarget) -> Conversation:
    messages = row.get("chat_messages")
    turns = [
        Turn(SENDERS[str(one.get("sender"))], text, moment_of(one.get("created_at")), place)
        for place, one in enumerate(messages if isinstance(messages, list) else [], start=1)
        if isinstance(one, dict) and str(one.get("sender")) in SENDERS and (text := _claude_text(one))
    ]
    return Conversation(
        CLAUDE_AI,
        _key(row, "uuid", "created_at", "name"),
        text_of(row.get("name")),
        turns,
        target.of(CLAUDE_AI),
        moment_of(row.get("created_at")),
        moment_of(row.get("updated_at")),
    )


def _claude_text(message: Mapping[str, Any]) -> str:
    """What was written, and the text of files that came with it; calls of tools are not."""
    blocks = message.get("content")
    texts = [
        text_of(block.get("text"))
        for block in (blocks if isinstance(blocks, list) else [])
        if isinstance(block, dict) and block.get("type") == "text"
    ] or [text_of(message.get("text"))]
    attached = message.get("attachments")
    files = [file for file in (attached if isinstance(attached, list) else []) if isinstance(file, dict)]
    texts += [
        f"[{text_of(file.get('file_name'))}]\n\n{text}"
        for file in files
        if (text := text_of(file.get("extracted_content")).strip())
    ]
    return "\n\n".join(filter(str.strip, texts))


# Transcripts of Claude Code ------------------------------------------------------
#
# A line of JSON for each thing that happened in a session. They are not documented; the fields are those of its versions
# 1.0 to 2.1. What people and the model said is read. What tools were asked and answered, what the model thought, and what
# subagents said to each other is not.

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


def turns(file: BinaryIO, name: str = "transcript") -> Iterator[Turn | LeftOut]:
    """
    What was said, in order, one line in memory at a time; `place` is the number of the line.

    A line that cannot be read is given as `LeftOut`.
    """
    for found in objects(file, name):
        if isinstance(found, LeftOut):
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


def transcript(source: Source, target: ImportTarget) -> Iterator[Read]:
    """A session as a note of the project that it was held in."""
    said: list[Turn] = []
    named = FILE.search(source.name)
    facts: dict[str, str] = {"sessionId": named[1]} if named else {}
    size = 0
    with source.opened() as file:
        for found in objects(file, source.name):
            if isinstance(found, LeftOut):
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
