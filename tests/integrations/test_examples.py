"""Each example is short, and does what it says, against a memory of its own and without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAID = {
    "anthropic_memory.py": ["I will remember that you like green tea.", "['ann.md']"],
    "langgraph_store.py": ["(known: [])", "(known: ['I like green tea'])"],
    "openai_agents_session.py": ["You said: ['I like green tea.', 'Which tea do I like?']", "'I like green tea.'"],
    "pydantic_ai_toolset.py": ["Noted.", "Never on a Friday"],
}


def test_there_are_no_others() -> None:
    assert sorted(path.name for path in EXAMPLES.iterdir() if path.is_file()) == sorted(SAID)


@pytest.mark.parametrize("name", SAID)
def test_it_runs_and_remembers(name: str, tmp_path: Path) -> None:
    path = EXAMPLES / name
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MEMORY_HOME": str(tmp_path / "home")}
    ran = subprocess.run([sys.executable, path], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr
    assert [part for part in SAID[name] if part not in ran.stdout] == [], ran.stdout
    assert len(path.read_text("utf-8").splitlines()) < 40
