"""
Of a conversation of any program, every text that a person or the assistant wrote is in what is saved, or is counted with the
reason why it is not; all else is counted by what it is.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, strategies as st

from memory.carry.formats.conversation import Passed
from memory.carry.formats.formats import items, told
from memory.carry.formats.items import Aside, ImportTarget, Item, LeftOut
from memory.carry.formats.reading import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

TARGET = ImportTarget("p", False, str, lambda folder: folder.rpartition("/")[2] or None, str)
TEXTS = st.text(st.sampled_from("ab #`<>/\n[]éя中"), max_size=20)


class Read(NamedTuple):
    body: str
    left: Counter[str]
    passed: Counter[str]


def read(name: str, content: str) -> Read:
    """What a file brings: the bodies of its notes, how many of somebody's messages are left out, and how much else."""

    @contextmanager
    def opened():
        yield io.BytesIO(content.encode())

    source = Source(name, opened)
    format = told(name, content.encode()[: 1 << 16], source)
    assert format is not None, content[:300]
    bodies, left, passed = [], Counter[str](), Counter[str]()
    for one in items(format, source, TARGET):
        match one:
            case Item():
                bodies.append(one.draft.body)
            case LeftOut(why=why):
                number, _, what = why.partition(" ")
                left[what.partition(" ")[2]] += int(number) if number.isdigit() else 0
            case Aside(_, what, number):
                passed[what] += number
    return Read("".join(bodies), left, passed)


def inside(text: str, body: str) -> bool:
    """Whether each line of a text is in a body; what was a heading there may be a deeper one."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return all(line in body for line in lines)


class Made(NamedTuple):
    """
    A conversation.

    Attributes:
        said: What must be saved.
        left: How many messages of somebody's are left out, by reason.
        passed: How much is nobody's words, by what it is.
    """

    name: str
    content: str
    said: list[str]
    left: Mapping[str, int] = MappingProxyType({})
    passed: Mapping[str, int] = MappingProxyType({})


def holds(made: Made) -> None:
    found = read(made.name, made.content)

    assert [text for text in made.said if not inside(text, found.body)] == []
    assert +found.left == made.left
    assert +found.passed == made.passed


def numbered(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Each with a word of its own, so that what is lost is seen."""
    return [(kind, f"said{number}x {text}") for number, (kind, text) in enumerate(texts)]


def messages(*kinds: str) -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.lists(st.tuples(st.sampled_from(kinds), TEXTS), min_size=1, max_size=12).map(numbered)


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


SHAPES = {
    "an array": lambda row: json.dumps([row]),
    "pretty": lambda row: json.dumps([row], indent=2),
    "alone": json.dumps,
    "alone and pretty": lambda row: json.dumps(row, indent=2),
    "wrapped": lambda row: json.dumps({"conversations": [row]}),
    "in a line": lambda row: json.dumps(row) + "\n",
}


# ChatGPT ------------------------------------------------------------------------


CHATGPT = {
    "text": ("user", lambda text: {"content_type": "text", "parts": [text]}, None),
    "answer": ("assistant", lambda text: {"content_type": "text", "parts": ["", text]}, None),
    "spoken": (
        "user",
        lambda text: {
            "content_type": "multimodal_text",
            "parts": [{"content_type": "audio_transcription", "text": text}],
        },
        None,
    ),
    "code": ("assistant", lambda text: {"content_type": "code", "language": "python", "text": text}, None),
    "later": ("assistant", lambda text: {"content_type": "of a later version", "parts": [text]}, None),
    "thought": (
        "assistant",
        lambda text: {"content_type": "thoughts", "thoughts": [{"content": text}]},
        Passed.THOUGHTS.value,
    ),
    "result": ("tool", lambda text: {"content_type": "execution_output", "text": text}, Passed.TOOLS.value),
    "picture": (
        "user",
        lambda _: {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}]},
        Passed.MEDIA.value,
    ),
    "system": ("system", lambda text: {"content_type": "text", "parts": [text]}, Passed.HARNESS.value),
}


@st.composite
def chatgpt(draw) -> Made:
    """A tree of messages that says where it ends, or not, and whose nodes name their children, or not."""
    spoken = draw(messages(*CHATGPT))
    parents = [None, *(draw(st.integers(0, number)) for number in range(len(spoken)))]
    names = ["root", *(f"n{number}" for number in range(len(spoken)))]
    children = {name: [names[n] for n in range(1, len(names)) if names[parents[n]] == name] for name in names}
    listed = draw(st.booleans())
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
    for number, (kind, text) in enumerate(spoken, start=1):
        role, content, _ = CHATGPT[kind]
        time = draw(st.none() | st.integers(1, 10))
        message = {"author": {"role": role}, "content": content(text), "create_time": time, "recipient": "all"}
        mapping[names[number]] = {"id": names[number], "message": message, "parent": names[parents[number]]}
    for name in names:
        if listed:
            children[name] = draw(st.permutations(children[name]))
            mapping[name]["children"] = children[name]
    current = draw(st.sampled_from([None, "nowhere", "root", *names]))
    shown = [current] if current in mapping else ["root"]
    while shown[0] != "root":
        shown.insert(0, names[parents[names.index(shown[0])]])
    while children[shown[-1]]:
        shown.append(children[shown[-1]][-1])
    of = dict(zip(names[1:], spoken, strict=True))
    said = [of[name][1] for name in shown[1:] if CHATGPT[of[name][0]][2] is None]
    others = sum(CHATGPT[kind][2] is None for name, (kind, _) in of.items() if name not in shown)
    row = {"title": "T", "id": "c", "current_node": current, "mapping": mapping}
    content = draw(st.sampled_from([*SHAPES.values()]))(row)
    passed = Counter(what for kind, _ in spoken if (what := CHATGPT[kind][2]))
    return Made("conversations.json", content, said, +Counter({Passed.BRANCH.value: others}), passed)


@given(chatgpt())
def test_of_chatgpt_the_branch_that_was_shown_last_is_saved_and_the_others_are_counted(made: Made) -> None:
    holds(made)


# claude.ai ----------------------------------------------------------------------


CLAUDE_AI = {
    "text": ({"type": "text"}, "text", None),
    "later": ({"type": "voice_note"}, "text", None),
    "thought": ({"type": "thinking"}, "thinking", Passed.THOUGHTS.value),
    "call": ({"type": "tool_use", "name": "search"}, "input", Passed.TOOLS.value),
    "result": ({"type": "tool_result"}, "content", Passed.TOOLS.value),
}


@st.composite
def claude_ai(draw) -> Made:
    spoken = draw(messages(*CLAUDE_AI, "plain", "artifact", "file", "of others"))
    rows: list[dict[str, Any]] = []
    passed = Counter[str]()
    for kind, text in spoken:
        row: dict[str, Any] = {"sender": draw(st.sampled_from(["human", "assistant"])), "text": "", "content": []}
        if kind == "plain":
            row["text"] = text
        elif kind == "artifact":
            row["content"] = [
                {"type": "tool_use", "name": "artifacts", "input": {"command": "create", "content": text}}
            ]
        elif kind == "file":
            row["attachments"] = [{"file_name": "a.txt", "extracted_content": text}]
        elif kind == "of others":
            row |= {"sender": "tool", "text": text}
            passed[Passed.HARNESS.value] += 1
        else:
            block, field, what = CLAUDE_AI[kind]
            row["content"] = [block | {field: text}]
            passed[what] += what is not None
        rows.append(row)
    unsaid = {"of others", *(kind for kind, (_, _, what) in CLAUDE_AI.items() if what)}
    said = [text for kind, text in spoken if kind not in unsaid]
    content = draw(st.sampled_from([*SHAPES.values()]))({"uuid": "c", "name": "", "chat_messages": rows})
    del passed[None]
    return Made("conversations.json", content, said, {}, +passed)


@given(claude_ai())
def test_of_claude_ai_every_text_is_saved(made: Made) -> None:
    holds(made)


# Claude Code --------------------------------------------------------------------


REFUSED = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"


def of_claude_code(kind: str, text: str) -> tuple[dict[str, Any], str | None]:
    """A line, and what of it is nobody's words."""
    user = {"type": "user", "message": {"role": "user", "content": text}}
    assistant = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}

    def block(type: str, **more: Any) -> dict[str, Any]:
        role = "user" if type == "tool_result" else "assistant"
        return {"type": role, "message": {"role": role, "content": [{"type": type, **more}]}}

    def wrapped(content: str) -> dict[str, Any]:
        return {"type": "user", "message": {"role": "user", "content": content}}

    return {
        "asked": (user, None),
        "answered": (assistant, None),
        "reminded": (wrapped(f"{text}\n\n<system-reminder>\nnobody\n</system-reminder>"), None),
        "reminded at once": (wrapped(f"{text} <system-reminder>nobody</system-reminder>"), None),
        "asked about a tag": (wrapped(f"What is `<system-reminder>`{text}</system-reminder>?"), None),
        "command": (wrapped(f"<command-name>/x</command-name>\n<command-args>{text}</command-args>"), None),
        "refused": (block("tool_result", content=REFUSED + text, is_error=True), Passed.TOOLS.value),
        "queued": (
            {"type": "attachment", "attachment": {"type": "queued_command", "prompt": text, "commandMode": "prompt"}},
            None,
        ),
        "typed ahead": ({"type": "queue-operation", "operation": "enqueue", "content": text}, None),
        "summed up": (user | {"isCompactSummary": True}, None),
        "thought": (block("thinking", thinking=text), Passed.THOUGHTS.value),
        "call": (block("tool_use", name="Read", input={"path": text}), Passed.TOOLS.value),
        "result": (block("tool_result", content=text), Passed.TOOLS.value),
        "aside": (user | {"isSidechain": True}, Passed.SUBAGENTS.value),
        "meta": (user | {"isMeta": True}, Passed.HARNESS.value),
        "broken off": (wrapped("[Request interrupted by user]"), Passed.HARNESS.value),
        "output": (wrapped(f"<local-command-stdout>{text}</local-command-stdout>"), Passed.HARNESS.value),
        "program": (assistant | {"message": assistant["message"] | {"model": "<synthetic>"}}, Passed.HARNESS.value),
    }[kind]


CLAUDE_CODE = (
    *(
        "asked",
        "answered",
        "reminded",
        "reminded at once",
        "asked about a tag",
        "command",
        "refused",
        "queued",
        "typed ahead",
        "summed up",
    ),
    *("thought", "call", "result", "aside", "meta", "broken off", "output", "program"),
)


@given(messages(*CLAUDE_CODE))
def test_of_claude_code_what_a_person_typed_is_saved_wherever_it_stands(spoken: list[tuple[str, str]]) -> None:
    made = [of_claude_code(*one) for one in spoken]
    rows = [line | {"sessionId": "s", "cwd": "/srv/p", "uuid": f"u{n}"} for n, (line, _) in enumerate(made)]
    said = [text for kind, text in spoken if kind in CLAUDE_CODE[:10]]
    passed = Counter(what for _, what in made if what)

    holds(Made("s.jsonl", lines(rows), said, {}, passed))
    assert "nobody" not in read("s.jsonl", lines(rows)).body


# Codex --------------------------------------------------------------------------


def of_codex(kind: str, text: str) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
    """Lines, each with its type, and what of them is nobody's words."""

    def item(role: str, words: str) -> tuple[str, dict[str, Any]]:
        return "response_item", {"type": "message", "role": role, "content": [{"type": "input_text", "text": words}]}

    def event(type: str, words: str) -> tuple[str, dict[str, Any]]:
        return "event_msg", {"type": type, "message": words}

    return {
        "asked": ([item("user", text)], None),
        "answered": ([item("assistant", text)], None),
        "asked twice": ([event("user_message", text), item("user", text)], None),
        "answered twice": ([item("assistant", text), event("agent_message", text)], None),
        "asked in an event": ([event("user_message", text)], None),
        "answered in an event": ([event("agent_message", text)], None),
        "in an editor": ([item("user", f"# Context from my IDE setup:\n\n## My request for Codex:\n{text}")], None),
        "planned": ([("event_msg", {"type": "item_completed", "item": {"type": "Plan", "text": text}})], None),
        "summed up": ([("compacted", {"message": text})], None),
        "place": ([item("user", f"<environment_context>{text}</environment_context>")], Passed.HARNESS.value),
        "rules": ([item("user", f"# AGENTS.md instructions for /p\n{text}")], Passed.HARNESS.value),
        "developer": ([item("developer", text)], Passed.HARNESS.value),
        "thought": ([("response_item", {"type": "reasoning", "summary": [{"text": text}]})], Passed.THOUGHTS.value),
        "call": ([("response_item", {"type": "function_call", "arguments": text})], Passed.TOOLS.value),
    }[kind]


CODEX = (
    *("asked", "answered", "asked twice", "answered twice", "asked in an event", "answered in an event"),
    *("in an editor", "planned", "summed up", "place", "rules", "developer", "thought", "call"),
)


@given(messages(*CODEX))
def test_of_codex_what_is_said_is_saved_once_whether_it_is_an_item_an_event_or_both(spoken) -> None:
    made = [of_codex(*one) for one in spoken]
    rows: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": "s", "cwd": "/srv/p"}}]
    rows += [{"type": type, "payload": payload} for parts, _ in made for type, payload in parts]
    said = [text for kind, text in spoken if kind in CODEX[:9]]

    holds(Made("rollout.jsonl", lines(rows), said, {}, Counter(what for _, what in made if what)))
    body = read("rollout.jsonl", lines(rows)).body
    assert all(len(re.findall(rf"{text.split(' ')[0]}\b", body)) == 1 for text in said)


# Gemini CLI ---------------------------------------------------------------------


GEMINI = ("user", "gemini", "shown", "info", "context")


@given(messages(*GEMINI), st.none() | st.integers(0, 11), st.booleans())
def test_of_gemini_what_is_said_is_saved_and_what_was_taken_back_is_counted(spoken, back, document) -> None:
    rows: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(spoken):
        row: dict[str, Any] = {"id": f"m{number}", "type": kind, "content": [{"text": text}]}
        if kind == "shown":
            row |= {"type": "user", "content": "with files", "displayContent": text}
        elif kind == "context":
            row |= {"type": "user", "content": f"<session_context>{text}"}
        rows.append(row)
    words = [kind not in {"info", "context"} for kind, _ in spoken]
    cut = len(spoken) if back is None or document or back >= len(spoken) else back
    meta = {"sessionId": "s", "projectHash": "h"}
    if document:
        name, content = "session.json", json.dumps(meta | {"messages": rows}, indent=2)
    else:
        name, content = "session.jsonl", lines([meta, *rows, *([{"$rewindTo": f"m{cut}"}] if cut < len(rows) else [])])
    said = [text for (_, text), own in zip(spoken[:cut], words, strict=False) if own]

    taken = sum(words[cut:])
    passed = Counter({Passed.HARNESS.value: len(words) - sum(words)})
    holds(Made(name, content, said, +Counter({Passed.TAKEN_BACK.value: taken}), +passed))


# All of them --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["asked", "answered"])
def test_a_conversation_longer_than_a_note_is_whole_in_several(kind: str) -> None:
    spoken = [(kind, f"said{number}x " + "wave " * 40_000) for number in range(4)]
    rows = [of_claude_code(*one)[0] | {"sessionId": "s"} for one in spoken]

    holds(Made("s.jsonl", lines(rows), [text for _, text in spoken]))
