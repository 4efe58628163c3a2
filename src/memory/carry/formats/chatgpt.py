"""
ChatGPT: `conversations.json` of its export, as it is or in the .zip; one conversation alone, too.

A conversation is a tree: where a message was changed or an answer asked for again, several follow one. The branch that was
shown last is saved. https://github.com/mohamed-chs/convoviz, 3f50ee7, reads the same.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from memory.carry.formats import Beginning, Format
from memory.carry.formats.conversation import ASSISTANT, USER, Conversation, Passed, Turn, notes
from memory.carry.formats.items import ImportTarget, LeftOut, Read, moment_of, rows_of, text_of
from memory.carry.formats.reading import Source, elements, head, parsed
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CHATGPT = "chatgpt"
"""The program, and the project its conversations are of unless the user names one: of no project they would stand at the
top of the context of every project."""

SENDERS = {"user": USER, "assistant": ASSISTANT}
HIDDEN = "is_visually_hidden_from_conversation"
THINKING = frozenset({"thoughts", "reasoning_recap"})
INSTRUCTIONS = frozenset({"user_editable_context", "model_editable_context"})
"""Texts that go before each conversation: what a person said of themselves once, and what the model remembers."""

FIELDS = frozenset({"title", "current_node", "conversation_id", "create_time", "update_time"})

WRAPPER = "conversations"
CANVAS = "canmore."
"""A tool by which the assistant writes a document beside the conversation."""


def read(source: Source, target: ImportTarget) -> Iterator[Read]:
    alone = "mapping" in Beginning(source, head(source)).keys
    with source.opened() as file:
        for found in elements(file, source.name, *(() if alone else (WRAPPER,))):
            yield from (found,) if isinstance(found, LeftOut) else notes(_conversation(found, target), target.clean)


def _conversation(row: Mapping[str, Any], target: ImportTarget) -> Conversation:
    return Conversation(
        CHATGPT,
        str(row.get("conversation_id") or row.get("id") or ""),
        text_of(row.get("title")),
        list(turns(row)),
        target.of(CHATGPT),
        moment_of(row.get("create_time")),
        moment_of(row.get("update_time")),
    )


def turns(row: Mapping[str, Any]) -> Iterator[Turn | Passed]:
    """The turns of the branch that was shown last, from its beginning, and what else there is."""
    mapping = row.get("mapping")
    nodes = (
        {name: node for name, node in mapping.items() if isinstance(node, dict)} if isinstance(mapping, dict) else {}
    )
    shown = _shown(nodes, row.get("current_node"))
    for place, name in enumerate(shown, start=1):
        yield from _said(nodes[name].get("message"), place)
    for name in nodes.keys() - set(shown):
        for one in _said(nodes[name].get("message"), 0):
            yield Passed.BRANCH if isinstance(one, Turn) else one


def _shown(nodes: Mapping[str, Mapping[str, Any]], current: object) -> list[str]:
    """
    The names of the branch that was shown last, in order: it ends at the current node or below it. Where the export does not
    say, below each root the last child is taken, whatever the times. A tree that lost a link has several roots.
    """
    above: dict[str, str] = {}
    below: dict[str, dict[str, None]] = {name: {} for name in nodes}
    named = ((name, child) for name, node in nodes.items() for child in _listed(node.get("children")))
    for parent, child in chain(named, ((node.get("parent"), name) for name, node in nodes.items())):
        if isinstance(parent, str) and parent in nodes and child in nodes and above.setdefault(child, parent) == parent:
            below[parent].setdefault(child)
    seen: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in seen:
        seen.setdefault(current)
        current = above.get(current)
    path = list(reversed(seen))
    roots = [name for name in nodes if name not in above] or [*path[:1], *nodes][:1]
    shown: dict[str, None] = {}
    for root in roots:
        branch = path if path[:1] == [root] else [root]
        last = branch[-1]
        shown |= dict.fromkeys(branch)
        while below[last] and (last := next(reversed(below[last]))) not in shown:
            shown.setdefault(last)
    return list(shown)


def _listed(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _said(message: object, place: int) -> Iterator[Turn | Passed]:
    """What was written; pictures, calls of tools and what is set before a conversation are passed."""
    if not isinstance(message, dict):
        return
    author, content, facts = (_object(message.get(name)) for name in ("author", "content", "metadata"))
    content = content or {"text": message.get("content")}
    role, type = SENDERS.get(str(author.get("role"))), content.get("content_type")
    texts, media = _texts(content)
    if type in THINKING:
        yield Passed.THOUGHTS
    elif type in INSTRUCTIONS or facts.get("is_user_system_message"):
        yield Passed.INSTRUCTIONS
    elif author.get("role") == "tool":
        yield Passed.TOOLS
    elif role is None or facts.get(HIDDEN):
        yield from (Passed.HARNESS for text in texts[:1])
    elif message.get("recipient") not in {None, "", "all"}:
        document = _document(texts) if str(message.get("recipient")).startswith(CANVAS) else ""
        yield Turn(role, document, moment_of(message.get("create_time")), place) if document else Passed.TOOLS
    else:
        yield from (Passed.MEDIA for _ in range(max(media, len(rows_of(facts.get("attachments"))))))
        if texts:
            yield Turn(role, "\n\n".join(texts), moment_of(message.get("create_time")), place)


def _texts(content: Mapping[str, Any]) -> tuple[list[str], int]:
    """The texts of a message, and how much else is in it: a part is a text, or has one, as what was spoken has."""
    parts = content.get("parts")
    found = list(parts) if isinstance(parts, list) else [parts]
    found += [content.get("text"), content.get("result")]
    texts = [text_of(part.get("text") if isinstance(part, dict) else part) for part in found]
    media = sum(isinstance(part, dict) and not text.strip() for part, text in zip(found, texts, strict=True))
    return [text for text in texts if text.strip()], media


def _document(texts: list[str]) -> str:
    """The document that a call of the canvas writes or changes."""
    try:
        call = _object(parsed("".join(texts)))
    except Invalid:
        return ""
    changes = [text_of(one.get("replacement")) for one in rows_of(call.get("updates"))]
    return "\n\n".join(filter(str.strip, (text_of(call.get("name")), text_of(call.get("content")), *changes)))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


FORMATS = (
    Format(
        "ChatGPT export",
        "ChatGPT exports",
        "notes, one a conversation,",
        read,
        lambda look: any("mapping" in keys and keys & FIELDS for keys in (look.keys, look.wrapped)),
        project=CHATGPT,
    ),
)
