"""
Twenty sessions of several kinds of work, and what of each is worth keeping; `captured/` has them as people read them.

In `⟦…⟧` stands what somebody who reads it would keep. Much of the rest is there to fool rules: questions, suppositions,
stories, quotations, code, logs, and what holds for a moment. The rules were tuned on the first ten.
"""

from __future__ import annotations

import json
import re
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from memory.carry.review import Proposal, proposals

FOLDER = Path(__file__).with_name("captured")
TUNED = 10
_TURN = re.compile(r"^## (user|assistant|tool)\n", re.MULTILINE)
_WORTH = re.compile("⟦(.*?)⟧", re.DOTALL)
BEGUN = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)


class Captured(NamedTuple):
    """
    Attributes:
        worth: What is worth keeping.
        lines: A transcript as Claude Code writes it.
    """

    name: str
    worth: list[str]
    lines: list[str]

    @property
    def transcript(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def captured() -> list[Captured]:
    return [_of(path) for path in sorted(FOLDER.glob("*.md"))]


def transcript_of(*said: tuple[str, str]) -> str:
    """What people, assistants and tools said, as a transcript."""
    return "".join(f"{line}\n" for line in _lines(said))


def _of(path: Path) -> Captured:
    _, *parts = _TURN.split(path.read_text("utf-8"))
    said = list(zip(parts[::2], parts[1::2], strict=True))
    worth = [found for _, text in said for found in _WORTH.findall(text)]
    return Captured(path.stem, worth, _lines((role, text.replace("⟦", "").replace("⟧", "")) for role, text in said))


def _lines(said: Any) -> list[str]:
    lines = [json.dumps({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}})]
    for number, (role, text) in enumerate(said):
        person = role != "assistant"
        result = {"type": "tool_result", "tool_use_id": "t1", "content": text.strip()}
        spoken = text.strip() if role == "user" else [{"type": "text", "text": text.strip()}]
        line = {
            "type": "user" if person else "assistant",
            "sessionId": "5f3a9f0e-0000-4000-8000-000000000001",
            "cwd": "/nowhere/shop",
            "timestamp": (BEGUN + timedelta(minutes=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "message": {"role": "user" if person else "assistant", "content": [result] if role == "tool" else spoken},
        }
        lines.append(json.dumps(line))
    return lines


class Counted(NamedTuple):
    """How much of what was proposed is right, and how much of what is worth keeping was proposed."""

    right: int
    proposed: int
    found: int
    worth: int


def proposed(one: Captured) -> list[Proposal]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{one.name}.jsonl")
        path.write_text(one.transcript, "utf-8")
        return proposals(path, str)


def counted(one: Captured) -> Counted:
    made = proposed(one)
    right = sum(any(agrees(found.what, worth) for worth in one.worth) for found in made)
    found = sum(any(agrees(found.what, worth) for found in made) for worth in one.worth)
    return Counted(right, len(made), found, len(one.worth))


def summed(several: list[Counted]) -> Counted:
    return Counted(*map(sum, zip(*several, strict=True)))


def agrees(proposed: str, worth: str) -> bool:
    """Whether what was proposed is, or is in, or has in it, what is worth keeping."""
    one, other = (" ".join(text.split()).strip(".* ").casefold() for text in (proposed, worth))
    return one in other or other in one
