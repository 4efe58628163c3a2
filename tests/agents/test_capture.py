"""What a real session of Claude Code leaves for review, registered by `memory setup --capture`: `make test-agents`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from coding_agents import CODING_AGENTS, PROGRAMS, run_agent
from command import Shell
from scripted_model import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

if not PROGRAMS.is_dir():
    pytest.skip("`make test-agents` installs the agents", allow_module_level=True)
if sys.platform == "win32":
    pytest.skip("agents are ended as process groups", allow_module_level=True)

CLAUDE = next(agent for agent in CODING_AGENTS if agent.program == "claude")
SAID = "From now on the lighthouse is painted in the colours of the harbour office."


def test_a_session_that_ends_proposes_what_its_person_ruled(tmp_path: Path) -> None:
    (tmp_path / "harbour" / ".git").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    path = f"{PROGRAMS}:{os.environ['PATH']}"
    shell = Shell(tmp_path / "data", tmp_path / "harbour", {"HOME": str(tmp_path), "PATH": path})
    shell.process("setup", CLAUDE.name, "--capture")

    with ScriptedModel([]) as model:
        run_agent(CLAUDE, (*CLAUDE.session(model.url), SAID), tmp_path, tmp_path / "harbour", model.url)

    (one,) = shell("review", "--json").json["waiting"]
    assert (one["what"], one["role"], one["project"]) == (SAID, "user", "harbour")
    assert SAID in (tmp_path / one["file"]).read_text("utf-8").splitlines()[one["line"] - 1]
    assert shell("review", "keep", one["id"]).out.startswith("Saved ")
    assert shell("list", "--json").json["memories"][0]["session_id"] == one["session"]
