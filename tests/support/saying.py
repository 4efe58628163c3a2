"""
What people and agents read, kept as they read it: each file in `said` is a session, a line that begins with `$ memory` or
`> tool` followed by what it prints.
"""

from __future__ import annotations

import json
import re
import shlex
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agent import ERAS, Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from command import Shell

FOLDER = Path(__file__).with_name("said")

LOCAL = {"MEMORY_EMBEDDING_PROVIDER": "local", "MEMORY_EMBEDDING_MODEL": "", "LOG_SLOW_QUERY_THRESHOLD": ""}

_CHANGING = (
    (re.compile(r"\b[0-9a-f]{32}\b"), "<uid>"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "<id>"),
    (re.compile(r"(memories )[0-9a-f]{12}\b"), r"\1<boundary>"),
    (re.compile(r"\bquery_\d{10}_\d+"), "<run>"),
    (re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?"), "<day>"),
    (re.compile(r"\b[\d.]+ m?s\b"), "<time>"),
    (re.compile(r"\b[\d.]+ MB\b"), "<size>"),
    (re.compile(r"(answers from )\S+(?=,)"), r"\1<weights>"),
    (re.compile(r"(Similarity: )-?[\d.]+"), r"\1<cosine>"),
)
"""What differs from one run to the next, and what stands in its place."""


def said(text: str, shell: Shell) -> str:
    """A session played again: its own lines, each with what it prints now."""
    lines = [line for line in text.splitlines() if line.startswith(("$ memory", "> "))]
    with ExitStack() as stack:
        agent = cache(lambda: stack.enter_context(Agent(shell, ERAS[-1], structured="")))
        return "".join(f"{line}\n{masked(_answer(line, shell, agent), shell)}" for line in lines)


def _answer(line: str, shell: Shell, agent: Callable[[], Agent]) -> str:
    if line.startswith("> "):
        name, _, arguments = line[2:].partition(" ")
        return agent().said(name, **json.loads(arguments))
    ran = shell(*shlex.split(line.removeprefix("$ memory")), code=None)
    return ran.err + ran.out + (f"[{ran.code}]\n" if ran.code else "")


def masked(text: str, shell: Shell) -> str:
    """A text without what changes; it ends with a line."""
    text = text.replace(str(shell.home), "<home>").replace(str(shell.folder.parent), "~")
    for pattern, stands in _CHANGING:
        text = pattern.sub(stands, text)
    return text if not text or text.endswith("\n") else f"{text}\n"
