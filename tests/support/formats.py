"""Files of every format that is read, each with what it says: tests/support/peers, whose VERSIONS names where each is from."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

PEERS = Path(__file__).resolve().parent / "peers"


class Example(NamedTuple):
    """
    A file, or a folder, of a format.

    Attributes:
        format: What a file of it is called.
        path: Below `PEERS`.
        said: What must be found in what it brings.
        unsaid: What is nobody's words, or taken back: it is in nothing that it brings.
        version: Its line in VERSIONS.
        project: The project that it names.
    """

    format: str
    path: str
    said: tuple[str, ...]
    unsaid: tuple[str, ...] = ()
    version: str = ""
    project: str = ""


PROJECT = "documented/claude-code/projects/-srv-harbour"
GEMINI = "documented/gemini-cli/harbour"

EXAMPLES = (
    Example(
        "ChatGPT export",
        "documented/chatgpt/export.zip",
        (
            *("repeated tide reading", "sequence number", "neap tide", "The range is small", "Read me the forecast."),
            *("Calm until noon.", "a breeze from the west"),
        ),
        ("Compare the levels", "search('tide')", "Which forecast?", "nobody@example.org"),
        "chatgpt",
    ),
    Example(
        "claude.ai export",
        "documented/claude.ai-archive/export.zip",
        ("How deep is the basin?", "Nine metres at the quay.", "Nine metres.", "A person asked how deep"),
        ("the inner basin", "nobody@example.org"),
        "claude.ai",
    ),
    Example(
        "list of claude.ai's projects",
        "documented/claude.ai-archive/export.zip",
        ("Answer in metres.", "drawn anew", "Three buoys mark the channel.", "buoys.md"),
        version="claude.ai",
    ),
    Example(
        "list of claude.ai's memories",
        "documented/claude.ai-archive/export.zip",
        ("Draws charts for a living.", "due in June", "Owns a dinghy."),
        version="claude.ai",
    ),
    Example(
        "Claude Code transcript",
        PROJECT,
        (
            *("the bell buoy", "Why is the bell silent?", "Its clapper is rusty.", "Leave the bell alone."),
            *("Grease it instead.", "And paint the bell.", "Greased, and painted."),
        ),
        ("Set model", "Be brief.", "Rust?", "Request interrupted", "No response requested.", "Count the buoys."),
        "claude-code transcripts",
        project="harbour",
    ),
    Example(
        "memory of Claude Code",
        PROJECT,
        ("Lengths are given in metres", "the pilots read them", "replaced in May", "reads each minute"),
        ("what is known of the gauge",),
        "claude-code memories",
        project="harbour",
    ),
    Example(
        "Codex session",
        "documented/codex",
        (
            *("Why is the gauge late?", "I look at its clock.", "Its clock is an hour behind.", "Rename the gauge."),
            *("Rename it everywhere.", "It is called level_gauge now.", "is renamed.", "How many bollards", "Fourteen"),
        ),
        ("Ask first.", "Use metres.", "<cwd>", "Look at the clock.", "06:00", "Open tabs", "Count them."),
        "codex",
        project="harbour",
    ),
    Example(
        "Gemini CLI session",
        GEMINI,
        (
            *("Explain @crane.md", "It lifts forty tonnes.", "Which winch does it have?", "An electric one."),
            *("Where does the ferry land?", "At the east quay."),
        ),
        ("Today is Thursday", "A crane lifts.", "Paint it red.", "Painted.", "Request cancelled."),
        "gemini-cli",
        project="harbour",
    ),
    Example(
        "checkpoint of Gemini CLI",
        GEMINI,
        ("How long is the mole?", "Two hundred metres."),
        version="gemini-cli",
        project="harbour",
    ),
    *(
        Example(
            f"claude-mem {what}",
            f"documented/claude-mem/{name}",
            (
                *("Lamp stays dark", "wired to the wrong pin", "on pin four", "Pin five drives the lamp", "relay"),
                *("pins.h", "lamp.c", "burn at dusk", "The wiring", "twelve volts", "The pin was changed"),
                *("Measure the current", "Bring a meter"),
            ),
            ("Please make",),
            "claude-mem",
            project="harbour",
        )
        for what, name in (("database", "claude-mem.db"), ("export", "export.json"))
    ),
    *(
        Example(
            "EchoVault database", f"echovault/{name}", ("Each tide reading has a sequence number",), version="echovault"
        )
        for name in ("index.db",)
    ),
    Example("mem0 export", "mem0/export.json", ("five minutes",), version="mem0"),
    Example("mem0 database", "mem0/history.db", ("five minutes",), version="mem0"),
    Example(
        "mcp-memory-service export", "mcp-memory-service/export.json", ("six minutes",), version="mcp-memory-service"
    ),
    Example(
        "mcp-memory-service database",
        "mcp-memory-service/sqlite_vec.db",
        ("six minutes",),
        version="mcp-memory-service",
    ),
    Example("graph of entities", "reference/memory.jsonl", ("reads every six minutes",), version="reference"),
    Example("note of basic-memory", "basic-memory/harbour", ("six minutes",), version="basic-memory"),
    Example("session of an EchoVault vault", "echovault/vault", ("sequence number",), version="echovault"),
)
