"""
Files of programs that cannot be run here, in the shape that public sources have of them: tests/support/peers/VERSIONS names
those, and the modules of `memory.carry.formats` say what is read.
"""

import json
import sqlite3
import zipfile
from contextlib import closing
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
    """Three conversations: an answer was asked for again; a picture; and one that was spoken and says not where it ends."""
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
        {
            "title": "Spoken on the pier",
            "create_time": 1741200000.0,
            "update_time": 1741200060.0,
            "conversation_id": "67c5a3d0-0000-8000-9000-00000000a003",
            "current_node": None,
            "mapping": _tree(
                ("top", None, None),
                ("told", "top", _message("user", "", 1741200060.0, content=_spoken("Read me the forecast."))),
                ("once", "told", _message("assistant", "", 1741200050.0, content=_spoken("Which forecast?"))),
                ("then", "told", _message("assistant", "", 1741200000.0, content=_spoken("Calm until noon."))),
                ("page", "then", _message("assistant", _CANVAS, 1741200000.0, recipient="canmore.create_textdoc")),
            ),
        },
    ]


_CANVAS = json.dumps({"name": "Forecast", "type": "document", "content": "Calm, then a breeze from the west."})


def _spoken(text: str) -> dict[str, Any]:
    recording = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_1", "format": "wav"}
    parts = [{"content_type": "audio_transcription", "text": text, "direction": "in"}, recording]
    return {"content_type": "multimodal_text", "parts": parts}


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


PROJECT = "0f9a7c1e-0000-4000-8000-00000000c001"


def claude_ai_archive() -> dict[str, object]:
    """An export with a conversation, a project with two documents, and what Claude remembers."""
    times = {"created_at": "2026-03-01T08:00:00.000000Z", "updated_at": "2026-03-05T08:00:00.000000Z"}
    said = {"uuid": "0f9a7c1e-0000-4000-8000-00000000b021", "sender": "human", "attachments": [], "files": []} | times
    asked = said | {"text": "How deep is the basin?", "content": []}
    thought = {"type": "thinking", "thinking": "They mean the inner basin."}
    page = {"command": "create", "title": "Depths", "content": "Nine metres at the quay."}
    blocks = [
        thought,
        {"type": "tool_use", "name": "artifacts", "input": page},
        {"type": "text", "text": "Nine metres."},
    ]
    answered = said | {"sender": "assistant", "text": "", "content": blocks}
    return {
        "conversations.json": [
            {
                "uuid": "0f9a7c1e-0000-4000-8000-00000000b020",
                "name": "Depth of the basin",
                "summary": "A person asked how deep the basin is.",
                "project": {"uuid": PROJECT, "name": "Harbour charts"},
                "chat_messages": [asked, answered],
            }
            | times
        ],
        "projects.json": [
            {
                "uuid": PROJECT,
                "name": "Harbour charts",
                "description": "Charts of the harbour, drawn anew.",
                "is_private": True,
                "prompt_template": "Answer in metres.",
                "docs": [
                    {"uuid": "d1", "filename": "buoys.md", "content": "Three buoys mark the channel.", **times},
                    {"uuid": "d2", "filename": "empty.md", "content": "", **times},
                ],
            }
            | times
        ],
        "memories.json": [
            {
                "account_uuid": "0f9a7c1e-0000-4000-8000-00000000b000",
                "conversations_memory": "Draws charts for a living.",
                "project_memories": {PROJECT: "The charts are due in June."},
                "memory_files": [{"path": "/areas/boats.md", "content": "Owns a dinghy.", **times}],
            }
        ],
        "users.json": [{"uuid": "0f9a7c1e-0000-4000-8000-00000000b000", "email_address": "nobody@example.org"}],
    }


CODEX = "0199a213-81c0-7800-8aa1-bbab2a035a53"


def codex() -> list[dict[str, Any]]:
    """A session: what the program sends in a person's name, what is said twice, a call of a tool, and a plan."""

    def line(second: int, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": f"2026-03-04T09:00:{second:02}.000Z", "type": kind, "payload": payload}

    def message(second: int, role: str, *texts: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        parts = [{"type": kind, "text": text} for text in texts]
        return line(second, "response_item", type="message", role=role, content=parts)

    place = "<environment_context>\n  <cwd>/srv/harbour</cwd>\n</environment_context>"
    rules = "# AGENTS.md instructions for /srv/harbour\n\n<INSTRUCTIONS>\nUse metres.\n</INSTRUCTIONS>"
    editor = "# Context from my IDE setup:\n\n## Open tabs:\n- pier.py\n\n## My request for Codex:\nRename the gauge."
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "1"}
    return [
        line(
            0,
            "session_meta",
            id=CODEX,
            timestamp="2026-03-04T09:00:00.000Z",
            cwd="/srv/harbour",
            originator="codex_cli_rs",
            cli_version="0.130.0",
            source="cli",
            git={"branch": "tides"},
        ),
        message(1, "developer", "<permissions instructions>Ask first.</permissions instructions>"),
        message(1, "user", rules, place),
        line(1, "turn_context", cwd="/srv/harbour", model="gpt-5.4"),
        message(2, "user", "Why is the gauge late?"),
        line(2, "event_msg", type="user_message", message="Why is the gauge late?", images=[]),
        line(3, "response_item", type="reasoning", summary=[{"type": "summary_text", "text": "Look at the clock."}]),
        line(3, "event_msg", type="agent_reasoning", text="Look at the clock."),
        line(4, "event_msg", type="agent_message", message="I look at its clock."),
        message(4, "assistant", "I look at its clock."),
        line(5, "response_item", **call),
        line(6, "response_item", type="function_call_output", call_id="1", output="06:00"),
        message(7, "assistant", "Its clock is an hour behind."),
        message(8, "user", editor),
        line(8, "event_msg", type="user_message", message=editor, images=[]),
        line(
            9, "event_msg", type="item_completed", item={"type": "Plan", "id": "p", "text": "1. Rename it everywhere."}
        ),
        line(10, "event_msg", type="agent_message", message="It is called level_gauge now."),
        line(11, "compacted", message="The gauge was late and is renamed."),
    ]


CODEX_BEFORE = "0198a213-81c0-7800-8aa1-bbab2a035a54"


def codex_before() -> list[dict[str, Any]]:
    """A session as it was written until September 2025: without what is around each item now."""

    def message(role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    place = "<environment_context>\n  <cwd>/srv/harbour</cwd>\n</environment_context>"
    return [
        {"id": CODEX_BEFORE, "timestamp": "2025-08-04T09:00:00.000Z", "instructions": None, "git": {"branch": "tides"}},
        {"record_type": "state"},
        message("user", place),
        message("user", "How many bollards are there?"),
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Count them."}]},
        {"record_type": "state"},
        message("assistant", "Fourteen bollards."),
    ]


GEMINI = "4a1f1f52-0d0b-4f0e-9c58-6c1c0b7a9d10"


def gemini() -> list[dict[str, Any]]:
    """A session in lines: a thought, a call of a tool, a message that was corrected, and one that was taken back."""

    def message(name: str, type: str, content: Any, **more: Any) -> dict[str, Any]:
        return {"id": name, "timestamp": f"2026-03-05T10:00:0{name[1:]}.000Z", "type": type, "content": content} | more

    call = {"id": "t", "name": "read_file", "args": {}, "status": "success", "timestamp": "2026-03-05T10:00:02.000Z"}
    files = "Explain @crane.md\n--- Content from referenced files ---\nA crane lifts.\n--- End of content ---"
    return [
        {"sessionId": GEMINI, "projectHash": "harbour", "startTime": "2026-03-05T10:00:00.000Z"},
        message("m0", "user", "<session_context>\nToday is Thursday.\n</session_context>"),
        message("m1", "user", [{"text": files}], displayContent=[{"text": "Explain @crane.md"}]),
        message("m2", "gemini", "", toolCalls=[call], thoughts=[{"subject": "Read", "description": "the file"}]),
        message("m2", "gemini", [{"text": "It lifts forty tonnes."}], toolCalls=[call]),
        message("m3", "user", "Paint it red."),
        message("m4", "gemini", "Painted."),
        {"$rewindTo": "m3"},
        message("m5", "user", "Which winch does it have?"),
        message("m6", "info", "Request cancelled."),
        message("m7", "gemini", "An electric one."),
        {"$set": {"lastUpdated": "2026-03-05T10:00:07.000Z", "summary": "What the crane lifts"}},
    ]


def gemini_before() -> dict[str, Any]:
    """A session as earlier versions wrote it: one object."""
    said = [
        {"id": "1", "timestamp": "2025-12-01T10:00:00Z", "type": "user", "content": "Where does the ferry land?"},
        {
            "id": "2",
            "timestamp": "2025-12-01T10:00:05Z",
            "type": "gemini",
            "content": "At the east quay.",
            "thoughts": [],
        },
    ]
    times = {"startTime": "2025-12-01T10:00:00Z", "lastUpdated": "2025-12-01T10:00:05Z"}
    return {"sessionId": "5b2f1f52-0d0b-4f0e-9c58-6c1c0b7a9d11", "projectHash": "0" * 64, "messages": said} | times


CHECKPOINT = {
    "history": [
        {"role": "user", "parts": [{"text": "How long is the mole?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "search", "args": {}}}, {"text": "Two hundred metres."}]},
    ],
    "authType": "oauth-personal",
}


OBSERVATION = {
    "id": 1,
    "memory_session_id": "5f3a9f0e-0000-4000-8000-00000000e001",
    "project": "harbour",
    "type": "bugfix",
    "title": "Lamp stays dark",
    "subtitle": "A relay was wired to the wrong pin",
    "text": None,
    "narrative": "The relay of the lamp was on pin four.",
    "facts": json.dumps(["Pin five drives the lamp"]),
    "concepts": json.dumps(["relay"]),
    "files_read": json.dumps(["lamp.c"]),
    "files_modified": json.dumps(["pins.h"]),
    "prompt_number": 1,
    "created_at": "2026-03-06T07:00:00.000Z",
    "created_at_epoch": 1772780400000,
}
SUMMARY = {
    "id": 1,
    "memory_session_id": "5f3a9f0e-0000-4000-8000-00000000e001",
    "project": "harbour",
    "request": "Make the lamp burn at dusk",
    "investigated": "The wiring of the relay",
    "learned": "The lamp needs twelve volts",
    "completed": "The pin was changed",
    "next_steps": "Measure the current",
    "files_read": "[]",
    "files_edited": json.dumps(["pins.h"]),
    "notes": "Bring a meter",
    "prompt_number": 1,
    "created_at": "2026-03-06T07:10:00.000Z",
    "created_at_epoch": 1772781000000,
}
PROMPT = {
    "id": 1,
    "content_session_id": "5f3a9f0e-0000-4000-8000-00000000e002",
    "prompt_number": 1,
    "prompt_text": "Please make the lamp burn at dusk",
    "created_at": "2026-03-06T07:00:00.000Z",
    "created_at_epoch": 1772780400000,
}


def claude_mem(path: Path) -> None:
    """A database with an observation, a summary and a prompt."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db, db:
        tables = (("observations", OBSERVATION), ("session_summaries", SUMMARY), ("user_prompts", PROMPT))
        for table, row in tables:
            columns = ", ".join("id integer primary key" if name == "id" else name for name in row)
            db.execute(f"create table {table} ({columns})")
            db.execute(f"insert into {table} values ({', '.join('?' * len(row))})", tuple(row.values()))


ENCODED = "-srv-harbour"
INDEX = (
    "- [Metres](feedback_metres.md) — lengths are in metres\n- [Gauge](project_gauge.md) — what is known of the gauge\n"
)
MEMORIES = {
    "MEMORY.md": f"# Memory Index\n\n{INDEX}",
    "feedback_metres.md": (
        "---\nname: lengths-in-metres\ndescription: Lengths are given in metres, never in feet\ntype: feedback\n---\n\n"
        "All charts use metres.\n\n**Why:** the pilots read them.\n"
    ),
    "project_gauge.md": (
        "---\nname: gauge\ndescription: The gauge is replaced in May\nmetadata:\n  node_type: memory\n  type: project\n"
        "  originSessionId: 5f3a9f0e-0000-4000-8000-00000000e001\n---\n\nThe new gauge reads each minute.\n"
    ),
}


def claude_code() -> dict[str, str]:
    """The folder of a project: a session that was resumed, with words of the program, and memories."""
    first, second = (f"5f3a9f0e-0000-4000-8000-00000000e00{number}" for number in (3, 4))

    def line(number: int, type: str, content: Any, session: str, **more: Any) -> dict[str, Any]:
        return {
            "parentUuid": f"u{number - 1}" if number else None,
            "isSidechain": False,
            "cwd": "/srv/harbour",
            "sessionId": session,
            "version": "2.1.230",
            "gitBranch": "tides",
            "type": type,
            "message": {"role": type, "content": content},
            "uuid": f"u{number}",
            "timestamp": f"2026-03-07T11:00:{number:02}.000Z",
        } | more

    def text(words: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": words}]

    refused = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, "
        "the user said:\nLeave the bell alone."
    )
    result = {"type": "tool_result", "tool_use_id": "t", "content": refused, "is_error": True}
    command = (
        "<command-name>/chart</command-name>\n<command-message>chart</command-message>\n"
        "<command-args>the bell buoy</command-args>"
    )
    queued = {"type": "queued_command", "prompt": "And paint the bell.", "commandMode": "prompt"}
    start = [
        line(0, "user", "<local-command-stdout>Set model</local-command-stdout>", first),
        line(1, "user", command, first),
        line(2, "user", "Why is the bell silent?\n\n<system-reminder>\nBe brief.\n</system-reminder>", first),
        line(3, "assistant", [{"type": "thinking", "thinking": "Rust?"}, *text("Its clapper is rusty.")], first),
        line(4, "assistant", [{"type": "tool_use", "id": "t", "name": "Edit", "input": {}}], first),
        line(5, "user", [result], first),
        line(6, "user", text("[Request interrupted by user for tool use]"), first),
    ]
    more = [
        line(7, "user", "Grease it instead.", second),
        line(8, "attachment", "", second, message=None, attachment=queued),
        line(9, "assistant", text("Greased, and painted."), second),
        line(
            10,
            "assistant",
            text("No response requested."),
            second,
            message={"model": "<synthetic>", "content": text("No response requested.")},
        ),
        line(11, "user", "Count the buoys.", second, isSidechain=True),
    ]
    files = {f"{first}.jsonl": start, f"{second}.jsonl": [*start, *more]}
    return {name: "".join(f"{json.dumps(one)}\n" for one in lines) for name, lines in files.items()}


def write(folder: Path) -> None:
    """All of it, each program in a folder of its own."""
    texts = {
        "claude.ai/conversations.json": json.dumps(claude_ai(), indent=1) + "\n",
        f"codex/sessions/2026/03/04/rollout-2026-03-04T09-00-00-{CODEX}.jsonl": _lines(codex()),
        f"codex/sessions/2025/08/04/rollout-2025-08-04T09-00-00-{CODEX_BEFORE}.jsonl": _lines(codex_before()),
        "gemini-cli/harbour/.project_root": "/srv/harbour",
        f"gemini-cli/harbour/chats/session-2026-03-05T10-00-{GEMINI[:8]}.jsonl": _lines(gemini()),
        "gemini-cli/harbour/chats/session-2025-12-01T10-00-5b2f1f52.json": json.dumps(gemini_before(), indent=2) + "\n",
        "gemini-cli/harbour/checkpoint-mole.json": json.dumps(CHECKPOINT, indent=2) + "\n",
        "claude-mem/export.json": json.dumps(
            {
                "exportedAt": "2026-03-06T08:00:00.000Z",
                "query": "lamp",
                "totalObservations": 1,
                "totalSessions": 0,
                "totalSummaries": 1,
                "totalPrompts": 1,
                "observations": [OBSERVATION],
                "sessions": [],
                "summaries": [SUMMARY],
                "prompts": [PROMPT],
            },
            indent=2,
        )
        + "\n",
    }
    texts |= {f"claude-code/projects/{ENCODED}/{name}": text for name, text in claude_code().items()}
    texts |= {f"claude-code/projects/{ENCODED}/memory/{name}": text for name, text in MEMORIES.items()}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    claude_mem(folder / "claude-mem" / "claude-mem.db")
    extra = {"user.json": {"id": "user-1", "email": "nobody@example.org"}}
    _archive(folder / "chatgpt", {"conversations.json": chatgpt()} | extra, "<html><body>the same</body></html>")
    _archive(folder / "claude.ai-archive", claude_ai_archive())


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _archive(folder: Path, files: dict[str, Any], page: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        texts = {name: json.dumps(value) for name, value in files.items()} | ({"chat.html": page} if page else {})
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 3, 4, 0, 0, 0)), text)
