"""
Codex: the rollouts of its sessions, `~/.codex/sessions/**/*.jsonl`, a line of JSON for each item.

Most of what is said is there twice: as an item of the history and as an event. What the program puts where people write
stands between tags. https://github.com/openai/codex, 04c8ba2 (`codex-rs/rollout`) and 109c40d (`codex-rs/core/src/context`),
writes them; until September 2025 an item had nothing around it (https://github.com/AcidicSoil/codex-session-viewer, a9a65ec).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.carry.formats import Beginning, Belongs, Format
from memory.carry.formats.conversation import (
    ASSISTANT,
    LONGEST,
    SESSION_FILE,
    SUMMARY,
    USER,
    Conversation,
    Passed,
    Turn,
    notes,
)
from memory.carry.formats.items import ImportTarget, LeftOut, Read, moment_of, rows_of, text_of
from memory.carry.formats.reading import Source, objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

CODEX = "codex"

META, ITEM, EVENT, COMPACTED = "session_meta", "response_item", "event_msg", "compacted"

_FRAGMENT = re.compile(
    r"\s*(?:# AGENTS\.md instructions for |<(?:INSTRUCTIONS|user_instructions|environment_context|skill|user_shell_command"
    r"|turn_aborted|subagent_notification|hook_prompt|goal_context|codex_internal_context|recommended_plugins"
    r"|permissions instructions|collaboration_mode|user_action|agent_message_board_notification|external_\w+)\b)"
)
"""How a text begins that the program sends in a person's name."""

_CWD = re.compile(r"<cwd>([^<>]+)</cwd>")

_REQUEST = "## My request for Codex:"
"""What stands between what an editor says of itself and what a person typed there."""

_PASSED = {
    "reasoning": Passed.THOUGHTS,
    "agent_message": Passed.SUBAGENTS,
    "image_generation_call": Passed.MEDIA,
    **dict.fromkeys(
        (
            *("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
            *("local_shell_call", "web_search_call", "tool_search_call", "tool_search_output", "additional_tools"),
        ),
        Passed.TOOLS,
    ),
}


class _Spoken(NamedTuple):
    turn: Turn | Passed
    again: bool = False


def session(source: Source, target: ImportTarget) -> Iterator[Read]:
    """A session as a note of the project that it was held in."""
    meta: dict[str, Any] = {}
    spoken: list[_Spoken] = []
    size, place = 0, None
    with source.opened() as file:
        for found in objects(file, source.name):
            if isinstance(found, LeftOut):
                yield found
                continue
            number, line = found
            kind, payload = str(line.get("type")), line.get("payload")
            if not isinstance(payload, dict):  # of 2025: what the session is, and its items, stand by themselves
                kind, payload = ITEM if "type" in line else META, line
            if kind == META and payload.keys() & {"id", "cwd"}:
                meta = meta or payload  # a fork has those of the sessions before it, too
            if not (place or meta.get("cwd")):
                place = _CWD.search(str(payload.get("content")))
            for one in _said(kind, payload, moment_of(line.get("timestamp")), number):
                spoken.append(one)
                size += len(one.turn.text) if isinstance(one.turn, Turn) else 0
            if size > 2 * LONGEST:
                break
    said: Iterable[Turn | Passed] = _once(spoken)
    if _of_subagent(meta):
        said = [Passed.SUBAGENTS for one in said if isinstance(one, Turn)]
    named, folder, git = (
        SESSION_FILE.search(source.name),
        text_of(meta.get("cwd")) or (place[1] if place else ""),
        meta.get("git"),
    )
    key = text_of(meta.get("id")) or (named[1] if named else source.name)
    facts = {"sessionId": key, "cwd": folder, "gitBranch": text_of(git.get("branch")) if isinstance(git, dict) else ""}
    yield from notes(
        Conversation(
            CODEX,
            key,
            "",
            said,
            target.of(target.project_of(folder) if folder else None),
            moment_of(meta.get("timestamp")),
            facts={name: value for name, value in facts.items() if value},
            cut=size > 2 * LONGEST,
            name=source.name,
            written=source.written,
        ),
        target.clean,
    )


def _of_subagent(meta: Mapping[str, Any]) -> bool:
    origin = meta.get("source")
    return meta.get("thread_source") == "subagent" or (isinstance(origin, dict) and "subagent" in origin)


def _said(kind: str, payload: Mapping[str, Any], time: datetime | None, place: int) -> Iterator[_Spoken]:
    """What is said in a line; what an event says may be said again by an item."""
    type = str(payload.get("type"))
    if kind == COMPACTED:
        yield _Spoken(Turn(SUMMARY, text_of(payload.get("message")), time, place))
    elif kind == EVENT and type in {"user_message", "agent_message"}:
        text = text_of(payload.get("message"))
        turn = Turn(USER, _own(text), time, place) if type == "user_message" else Turn(ASSISTANT, text, time, place)
        yield _Spoken(turn, again=True)
    elif kind == EVENT and type == "item_completed":
        item = payload.get("item")
        if isinstance(item, dict) and item.get("type") == "Plan":
            yield _Spoken(Turn(ASSISTANT, text_of(item.get("text")), time, place), again=True)
    elif kind == EVENT and type == "exited_review_mode":
        yield _Spoken(Turn(ASSISTANT, _review(payload.get("review_output")), time, place), again=True)
    elif kind == ITEM and type == "message":
        yield from _message(payload, time, place)
    elif kind == ITEM and type in _PASSED:
        yield _Spoken(_PASSED[type])


def _message(payload: Mapping[str, Any], time: datetime | None, place: int) -> Iterator[_Spoken]:
    role, content = payload.get("role"), payload.get("content")
    texts: list[str] = []
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        text = text_of(part.get("text")) if isinstance(part, dict) else ""
        if not text.strip():
            yield _Spoken(Passed.MEDIA)
        elif role not in (USER, ASSISTANT) or (role == USER and _FRAGMENT.match(text)):
            yield _Spoken(Passed.HARNESS)
        else:
            texts.append(_own(text) if role == USER else text)
    if texts:
        yield _Spoken(Turn(str(role), "\n\n".join(texts), time, place))


def _own(text: str) -> str:
    """What a person typed, without what the editor says of itself before it."""
    return text.partition(_REQUEST)[2].strip() or text


def _review(output: object) -> str:
    if not isinstance(output, dict):
        return ""
    rows = rows_of(output.get("findings"))
    texts = [
        text_of(output.get("overall_explanation")),
        *(text_of(one.get(key)) for one in rows for key in ("title", "body")),
    ]
    return "\n\n".join(filter(str.strip, texts))


def _once(spoken: Iterable[_Spoken]) -> list[Turn | Passed]:
    """What was said, without what events repeat of the history."""
    found = list(spoken)
    items = Counter(
        (one.turn.role, one.turn.text.strip()) for one in found if isinstance(one.turn, Turn) and not one.again
    )
    said: list[Turn | Passed] = []
    for turn, again in found:
        if again and isinstance(turn, Turn) and items[turn.role, turn.text.strip()] > 0:
            items[turn.role, turn.text.strip()] -= 1
        else:
            said.append(turn)
    return said


def _told(look: Beginning) -> bool:
    for number, one in enumerate(look.shapes):
        if one.type in {META, ITEM, EVENT} and "payload" in one.outer:
            return True
        if number == 0 and {"id", "timestamp", "instructions"} <= one.outer and not one.type:
            return True
    return False


FORMATS = (
    Format(
        "Codex session",
        "Codex sessions",
        "notes",
        session,
        _told,
        belongs=Belongs.NAMED,
    ),
)
