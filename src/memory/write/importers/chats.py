"""
Exports of ChatGPT and claude.ai: an array of conversations.

Neither is documented. Of ChatGPT's the fields are those of 2023 to 2026: a conversation is a tree of messages, and what
was shown last is the branch that ends at `current_node`. Of claude.ai's, those of 2024 to 2026: a list of messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.write.importers.conversation import ASSISTANT, USER, Conversation, Turn, notes
from memory.write.importers.items import Read, Target, Unread, moment_of, text_of
from memory.write.importers.reading import Source, elements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Parser = Callable[[Mapping[str, Any], Target], Conversation]

SENDERS = {"human": USER, "user": USER, "assistant": ASSISTANT}
HIDDEN = "is_visually_hidden_from_conversation"


def chatgpt(source: Source, target: Target) -> Iterator[Read]:
    """The conversations of an export of ChatGPT."""
    return _conversations(source, target, _of_chatgpt)


def claude_ai(source: Source, target: Target) -> Iterator[Read]:
    """The conversations of an export of claude.ai."""
    return _conversations(source, target, _of_claude_ai)


def _conversations(source: Source, target: Target, parse: Parser) -> Iterator[Read]:
    with source.opened() as file:
        for found in elements(file, source.name):
            yield from (found,) if isinstance(found, Unread) else notes(parse(found, target), target.clean)


# What belongs to no project stands at the top of the context of every project: a thousand conversations do not.
CHATGPT, CLAUDE_AI = "chatgpt", "claude.ai"
"""The programs, and the projects that their conversations are of, unless the user names one."""


def _of_chatgpt(row: Mapping[str, Any], target: Target) -> Conversation:
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


def _of_claude_ai(row: Mapping[str, Any], target: Target) -> Conversation:
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
