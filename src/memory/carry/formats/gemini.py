"""
Gemini CLI: its sessions, `~/.gemini/tmp/*/chats/session-*.json` and `.jsonl`, and the checkpoints of `/chat save`.

A session in lines begins with what it is; then come messages, each of which replaces one with its id, `$set` with new values,
and `$rewindTo` with the message from which on a person took it back. https://github.com/google-gemini/gemini-cli, 5411f11
(`packages/core/src/services/chatRecordingService.ts`), writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.carry.formats import Beginning, Belongs, Format
from memory.carry.formats.conversation import ASSISTANT, USER, Conversation, Passed, Turn, notes
from memory.carry.formats.items import ImportTarget, LeftOut, Read, moment_of, rows_of, text_of
from memory.carry.formats.reading import Source, elements, records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GEMINI = "gemini-cli"

SENDERS = {"user": USER, "gemini": ASSISTANT, "model": ASSISTANT}
ROOT = ".project_root"
"""A file that says which folder the sessions around it were held in."""

_CONTEXT = ("<session_context>", "<hook_context>")


def session(source: Source, target: ImportTarget) -> Iterator[Read]:
    """A session as a note of the project that it was held in."""
    meta: dict[str, Any] = {}
    messages: dict[str, Mapping[str, Any]] = {}
    back: list[Mapping[str, Any]] = []
    for row in records(source):
        if isinstance(row, LeftOut):
            yield row
            continue
        changed = row.get("$set")
        record = changed if isinstance(changed, dict) else row
        if isinstance(row.get("$rewindTo"), str):
            names = list(messages)
            at = names.index(row["$rewindTo"]) if row["$rewindTo"] in messages else 0
            back += [messages.pop(name) for name in names[at:]]
        elif isinstance(row.get("id"), str):
            messages[row["id"]] = row
        else:
            meta |= {name: value for name, value in record.items() if name != "messages"}
            for number, one in enumerate(rows_of(record.get("messages"))):
                messages[str(one.get("id") or f"{len(messages)} {number}")] = one
    spoken: list[Turn | Passed] = [
        one for place, message in enumerate(messages.values(), 1) for one in _said(message, place)
    ]
    if meta.get("kind") == "subagent":
        spoken = [Passed.SUBAGENTS for one in spoken if isinstance(one, Turn)]
    spoken += [Passed.TAKEN_BACK if isinstance(one, Turn) else one for row in back for one in _said(row, 0)]
    key = text_of(meta.get("sessionId"))
    yield from notes(
        Conversation(
            GEMINI,
            key or source.name,
            text_of(meta.get("summary")),
            spoken,
            target.of(_project(source, target, "..") or GEMINI),
            moment_of(meta.get("startTime")),
            moment_of(meta.get("lastUpdated")),
            {"sessionId": key} if key else {},
            name=source.name,
            written=source.written,
        ),
        target.clean,
    )


def checkpoint(source: Source, target: ImportTarget) -> Iterator[Read]:
    """A conversation as it is sent to the model: saved by a person, under a name."""
    with source.opened() as file:
        rows = list(elements(file, source.name, "history"))
    yield from (one for one in rows if isinstance(one, LeftOut))
    spoken = [
        one
        for place, row in enumerate((row for row in rows if not isinstance(row, LeftOut)), 1)
        for one in _said({"type": row.get("role"), "content": row.get("parts")}, place)
    ]
    name = source.parts[-1].removesuffix(".json").removeprefix("checkpoint-")
    project = target.of(_project(source, target, "") or GEMINI)
    said = Conversation(GEMINI, "", name, spoken, project, name=source.name, written=source.written)
    yield from notes(said, target.clean)


def _project(source: Source, target: ImportTarget, way: str) -> str | None:
    for other in source.beside(way):
        if other.parts[-1] == ROOT:
            with other.opened() as file:
                return target.project_of(file.read(1 << 12).decode("utf-8", "replace").strip())
    return None


def _said(message: Mapping[str, Any], place: int) -> Iterator[Turn | Passed]:
    role = SENDERS.get(str(message.get("type")))
    shown = message.get("displayContent")  # what a person typed, before files that it names were put in its place
    yield from (Passed.TOOLS for _ in rows_of(message.get("toolCalls")))
    yield from (Passed.THOUGHTS for _ in rows_of(message.get("thoughts")))
    texts: list[str] = []
    for part in _parts(shown or message.get("content")):
        if isinstance(part, Passed):
            yield part
        else:
            texts.append(part)
    text = "".join(texts)
    if not text.strip():
        return
    if role is None or (role == USER and text.lstrip().startswith(_CONTEXT)):
        yield Passed.HARNESS
    else:
        yield Turn(role, text, moment_of(message.get("timestamp")), place)


def _parts(content: object) -> Iterator[str | Passed]:
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, dict):
            yield text_of(part)
        elif part.get("thought"):
            yield Passed.THOUGHTS
        elif text := text_of(part.get("text")):
            yield text
        elif part.keys() & {"functionCall", "functionResponse", "executableCode", "codeExecutionResult"}:
            yield Passed.TOOLS
        elif part.keys() & {"inlineData", "fileData"}:
            yield Passed.MEDIA


def _is_checkpoint(look: Beginning) -> bool:
    first = next(look.shapes, None)
    return first is not None and {"role", "parts"} <= first.inner and first.outer <= {"history", "authType"}


FORMATS = (
    Format(
        "Gemini CLI session",
        "Gemini CLI sessions",
        "notes",
        session,
        lambda look: any({"sessionId", "projectHash"} <= one.outer for one in look.shapes),
        belongs=Belongs.NAMED,
    ),
    Format(
        "checkpoint of Gemini CLI",
        "checkpoints of Gemini CLI",
        "notes",
        checkpoint,
        _is_checkpoint,
        belongs=Belongs.NAMED,
    ),
)
