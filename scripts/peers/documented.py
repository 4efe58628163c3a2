"""Exports that only a service writes, in the shape that is known of them: see `memory.carry.formats.conversation`."""

import json
import zipfile
from pathlib import Path
from typing import Any


def _message(role: str, text: str, time: float, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    return {
        "author": {"role": role},
        "create_time": time,
        "content": content,
        "metadata": {},
        "recipient": "all",
    } | more


def _tree(*messages: tuple[str, str | None, dict[str, Any] | None]) -> dict[str, Any]:
    children = {name: [other for other, parent, _ in messages if parent == name] for name, _, _ in messages}
    return {
        name: {"id": name, "message": message, "parent": parent, "children": children[name]}
        for name, parent, message in messages
    }


def chatgpt() -> list[dict[str, Any]]:
    """Two conversations; in the first, an answer was asked for again."""
    hidden = _message("system", "", 1741000000.0) | {"metadata": {"is_visually_hidden_from_conversation": True}}
    picture = {
        "content_type": "multimodal_text",
        "parts": [{"content_type": "image_asset_pointer"}, "Is this a neap tide?"],
    }
    return [
        {
            "title": "Numbering tide readings",
            "create_time": 1741000000.5,
            "update_time": 1741000300.25,
            "conversation_id": "67c5a3d0-0000-8000-9000-00000000a001",
            "id": "67c5a3d0-0000-8000-9000-00000000a001",
            "current_node": "again",
            "mapping": _tree(
                ("root", None, None),
                ("hidden", "root", hidden),
                ("ask", "hidden", _message("user", "How do I tell a repeated tide reading?", 1741000001.0)),
                ("first", "ask", _message("assistant", "Compare the levels.", 1741000010.0)),
                ("call", "ask", _message("assistant", "search('tide')", 1741000011.0, recipient="python")),
                ("again", "ask", _message("assistant", "Give each reading a sequence number.", 1741000300.0)),
            ),
        },
        {
            "title": None,
            "create_time": 1741100000.0,
            "update_time": 1741100060.0,
            "conversation_id": "67c5a3d0-0000-8000-9000-00000000a002",
            "current_node": "b",
            "mapping": _tree(
                ("a", None, _message("user", "", 1741100000.0, content=picture)),
                ("b", "a", _message("assistant", "The range is small, so probably yes.", 1741100060.0)),
            ),
        },
    ]


def claude_ai() -> list[dict[str, Any]]:
    """A conversation with an attached text and a call of a tool, and one in which nobody said anything."""
    file = {"file_name": "levels.csv", "file_type": "csv", "extracted_content": "time,level\n06:00,2.4\n"}
    call = {"type": "tool_use", "name": "analysis", "input": {}}
    return [
        {
            "uuid": "0f9a7c1e-0000-4000-8000-00000000b001",
            "name": "Levels of the north pier",
            "created_at": "2026-03-02T08:15:00.000000Z",
            "updated_at": "2026-03-02T08:20:00.000000Z",
            "account": {"uuid": "0f9a7c1e-0000-4000-8000-00000000b000"},
            "chat_messages": [
                {
                    "uuid": "0f9a7c1e-0000-4000-8000-00000000b011",
                    "sender": "human",
                    "text": "When is high water?",
                    "content": [{"type": "text", "text": "When is high water?"}],
                    "created_at": "2026-03-02T08:15:00.000000Z",
                    "attachments": [file],
                    "files": [],
                },
                {
                    "uuid": "0f9a7c1e-0000-4000-8000-00000000b012",
                    "sender": "assistant",
                    "text": "",
                    "content": [call, {"type": "text", "text": "At six, by these levels."}],
                    "created_at": "2026-03-02T08:20:00.000000Z",
                    "attachments": [],
                    "files": [],
                },
            ],
        },
        {
            "uuid": "0f9a7c1e-0000-4000-8000-00000000b002",
            "name": "",
            "created_at": "2026-03-03T08:15:00.000000Z",
            "updated_at": "2026-03-03T08:15:00.000000Z",
            "chat_messages": [],
        },
    ]


def write(folder: Path) -> None:
    """Both exports: one as an archive, as it comes, one as the file in it."""
    (folder / "chatgpt").mkdir(parents=True, exist_ok=True)
    (folder / "claude.ai").mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / "chatgpt" / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (
            ("conversations.json", json.dumps(chatgpt())),
            ("user.json", json.dumps({"id": "user-1", "email": "nobody@example.org"})),
            ("chat.html", "<html><body>the same</body></html>"),
        ):
            archive.writestr(zipfile.ZipInfo(name, (2026, 3, 4, 0, 0, 0)), text)
    (folder / "claude.ai" / "conversations.json").write_text(json.dumps(claude_ai(), indent=1) + "\n")
