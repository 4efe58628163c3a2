"""
claude.ai: the .zip of its export, or the files in it: `conversations.json`, `projects.json` with the documents of each
project, and `memories.json`, what Claude remembers of a person; later exports have a file for each project and account.
https://github.com/nthPerson/claude-context-mcp, 0989692, and https://github.com/Sinity/polylogue, 04494c6, read the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.carry.formats import Beginning, Format
from memory.carry.formats.conversation import ASSISTANT, SUMMARY, USER, Conversation, Passed, Turn, cut, in_parts, notes
from memory.carry.formats.items import (
    ImportTarget,
    Item,
    LeftOut,
    Read,
    left_out,
    moment_of,
    one_line,
    rows_of,
    tags_of,
    text_of,
)
from memory.carry.formats.reading import Source, elements, head
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CLAUDE_AI = "claude.ai"
"""The program, and the project of what it has, unless the user names one."""

SENDERS = {"human": USER, "user": USER, "assistant": ASSISTANT}
PASSED = {
    "tool_use": Passed.TOOLS,
    "tool_result": Passed.TOOLS,
    "thinking": Passed.THOUGHTS,
    "redacted_thinking": Passed.THOUGHTS,
    "image": Passed.MEDIA,
    "document": Passed.MEDIA,
}
WRAPPER = "conversations"
ARTIFACT = "artifacts"
"""A tool by which the assistant writes a document beside the conversation."""


# Conversations --------------------------------------------------------------------


def conversations(source: Source, target: ImportTarget) -> Iterator[Read]:
    alone = "chat_messages" in Beginning(source, head(source)).keys
    with source.opened() as file:
        for found in elements(file, source.name, *(() if alone else (WRAPPER,))):
            yield from (found,) if isinstance(found, LeftOut) else notes(_conversation(found, target), target.clean)


def _conversation(row: Mapping[str, Any], target: ImportTarget) -> Conversation:
    return Conversation(
        CLAUDE_AI,
        str(row.get("uuid") or ""),
        text_of(row.get("name")),
        list(turns(row)),
        target.of(CLAUDE_AI),
        moment_of(row.get("created_at")),
        moment_of(row.get("updated_at")),
        {"project": name} if (name := one_line(target.text(_project(row)))) else {},
    )


def _project(row: Mapping[str, Any]) -> object:
    project = row.get("project")
    return project.get("name") if isinstance(project, dict) else None


def turns(row: Mapping[str, Any]) -> Iterator[Turn | Passed]:
    """What was said, in the order of the export, which has all branches; then what Claude says of it all."""
    messages = rows_of(row.get("chat_messages"))
    for place, message in enumerate(messages, start=1):
        role = SENDERS.get(str(message.get("sender")).lower())
        if role is None:
            yield Passed.HARNESS
            continue
        texts = []
        for one in _parts(message):
            if isinstance(one, Passed):
                yield one
            else:
                texts.append(one)
        yield Turn(role, "\n\n".join(texts), moment_of(message.get("created_at")), place)
    yield Turn(SUMMARY, text_of(row.get("summary")), None, len(messages) + 1)


def _parts(message: Mapping[str, Any]) -> Iterator[str | Passed]:
    """What was written, and the text of files that came with it; calls of tools are passed."""
    said: list[str] = []
    for block in rows_of(message.get("content")):
        type = str(block.get("type"))
        written = _artifact(block) if type == "tool_use" else "" if type in PASSED else text_of(block.get("text"))
        if written.strip():
            said += [written] if type not in PASSED else []
            yield written
        elif type in PASSED:
            yield PASSED[type]
    if not said and (text := text_of(message.get("text"))).strip():
        yield text
    for file in rows_of(message.get("attachments")):
        if (content := text_of(file.get("extracted_content"))).strip():
            yield f"[{text_of(file.get('file_name'))}]\n\n{content.strip()}"
        else:
            yield Passed.MEDIA
    yield from (Passed.MEDIA for _ in rows_of(message.get("files")))


def _artifact(block: Mapping[str, Any]) -> str:
    """The document that a call of a tool writes or changes; empty if it does something else."""
    call = block.get("input")
    if block.get("name") != ARTIFACT or not isinstance(call, dict):
        return ""
    texts = (text_of(call.get(name)) for name in ("title", "content", "new_str"))
    return "\n\n".join(filter(str.strip, texts))


# Projects and memories ------------------------------------------------------------


def projects(source: Source, target: ImportTarget) -> Iterator[Read]:
    """The instructions of each project, and its documents, with its name as a tag."""
    with source.opened() as file:
        for row in elements(file, source.name):
            if isinstance(row, LeftOut):
                yield row
                continue
            name, own = one_line(target.text(row.get("name"))) or str(row.get("uuid")), str(row.get("uuid"))
            what = target.text(row.get("description"))
            texts = (target.text(row.get(field)).strip() for field in ("prompt_template", "memory"))
            body = "\n\n".join(filter(None, texts))
            if what.strip() or body:
                yield from _notes(row, target, (own,), name, what=what, text=body, tag=name)
            documents = rows_of(row.get("docs"))
            for number, document in enumerate(documents):
                title = one_line(target.text(document.get("filename"))) or f"{name} ({number + 1})"
                text = target.text(document.get("content"))
                key = own, document.get("uuid") or title
                if text.strip():
                    yield from _notes(document, target, key, title, text=text, tag=name)
                else:
                    yield left_out(f"{source.name}, {title}", "it contains no text", ruled=True)
            if not (what.strip() or body or documents):
                yield left_out(
                    f"{source.name}, {name}", "the project has neither instructions nor documents", ruled=True
                )


def memories(source: Source, target: ImportTarget) -> Iterator[Read]:
    """What Claude remembers of a person, and of each project; its files by their paths."""
    with source.opened() as file:
        for row in elements(file, source.name):
            if isinstance(row, LeftOut):
                yield row
                continue
            account = str(row.get("account_uuid"))
            ours = row.get("project_memories")
            texts = [("conversations_memory", _remembered(row.get("conversations_memory")), row)]
            texts += [(f"project {key}", _remembered(one), row) for key, one in _named(ours)]
            texts += [
                (text_of(one.get("path")) or f"memory_files[{number}]", text_of(one.get("content")), one)
                for number, one in enumerate(rows_of(row.get("memory_files")))
            ]
            said = [one for one in texts if one[1].strip()]
            for name, text, times in said:
                title = one_line(target.clean(f"Claude's memory: {name.replace('_', ' ')}"))
                yield from _notes(
                    times, target, ("memory", account, name), title, text=target.clean(text), tag="memory"
                )
            if not said:
                yield left_out(f"{source.name}, {account}", "it contains no memory", ruled=True)


def _named(value: object) -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return [(str(key), one) for key, one in value.items()]
    return [(text_of(one.get("project_uuid")), one) for one in rows_of(value)]


def _remembered(value: object) -> str:
    if isinstance(value, dict):
        value = next((value[name] for name in ("memory", "content", "text") if value.get(name)), "")
    return text_of(value)


def _notes(
    row: Mapping[str, Any],
    target: ImportTarget,
    key: tuple[object, ...],
    title: str,
    *,
    text: str,
    tag: str,
    what: str = "",
) -> Iterator[Item]:
    """A text as a note; as several, in order, where it is longer than the body of one."""
    if len(what) > LINE_LIMIT:
        text, what = f"{what}\n\n{text}", ""
    draft = Draft(
        title=title,
        what=what.strip() or title,
        tags=tags_of(target.clean, [tag]),
        project=target.of(CLAUDE_AI),
        source=CLAUDE_AI,
    )
    created, updated = moment_of(row.get("created_at")), moment_of(row.get("updated_at"))
    version = () if updated else (what, text)  # without a time nobody knows which of two texts is newer: both stay
    for item in in_parts(draft, cut(text), CLAUDE_AI, *key, *version):
        yield item._replace(created=created, updated=updated)


REMEMBERED = frozenset({"conversations_memory", "project_memories", "memory_files"})

FORMATS = (
    Format(
        "claude.ai export",
        "claude.ai exports",
        "notes, one a conversation,",
        conversations,
        lambda look: "chat_messages" in look.keys | look.wrapped,
        project=CLAUDE_AI,
    ),
    Format(
        "list of claude.ai's projects",
        "lists of claude.ai's projects",
        "notes, one a document,",
        projects,
        lambda look: bool({"uuid", "prompt_template"} <= look.keys or {"uuid", "name", "docs"} <= look.keys),
        project=CLAUDE_AI,
    ),
    Format(
        "list of claude.ai's memories",
        "lists of claude.ai's memories",
        "notes",
        memories,
        lambda look: bool(look.keys & REMEMBERED),
        project=CLAUDE_AI,
    ),
)
