"""
What real coding agents do with what `memory setup` writes: `make test-agents`.

Each agent lives through one story, told by `lived`: it is connected, saves and recalls in a first session, recalls in a
second, ends one in a project of which nothing is known, and is disconnected.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from coding_agents import CODING_AGENTS, PROGRAMS, CodingAgent, run_agent
from command import COMMAND, Shell
from scripted_model import Request, ScriptedModel, Wanted

from memory.text.tokens import tokens
from memory.tools.hook import QUIET_SECONDS, REMINDER

if not PROGRAMS.is_dir():
    pytest.skip("`make test-agents` installs the agents", allow_module_level=True)
if sys.platform == "win32":
    pytest.skip("agents are ended as process groups", allow_module_level=True)

SETTINGS = "embedding:\n  provider: hashed\n  model: hashed-64\n  words: never\n"
RULE = "Rule {} of the deployment: the pipeline waits for the migration before it moves the traffic over. "
FIRST = Wanted("memory_save", {"title": "The lighthouse is painted red", "what": "Ships mistook the white one."})
SEARCH = Wanted("memory_search", {"query": "lighthouse"})
BUDGET = 300  # tokens
CONTEXT = Wanted("memory_context", {"query": "deployment", "tokens": BUDGET})
FENCED = re.compile(r"^.*\n<<< memories (\w+)\n.*\n>>> end of memories \1$", re.DOTALL | re.MULTILINE)


@dataclass
class Life:
    """
    What was seen of one agent.

    Attributes:
        listed: What its list of servers said: connected, and disconnected.
        second, quiet: What its model was asked in the second session, and where nothing is known.
        results: What the model got for the calls of the first and the second session.
    """

    agent: CodingAgent
    home: Path
    listed: list[str] = field(default_factory=list)
    second: list[Request] = field(default_factory=list)
    quiet: list[Request] = field(default_factory=list)
    results: list[tuple[str, ...]] = field(default_factory=list)


def made_home(agent: CodingAgent, home: Path) -> None:
    """A HOME with two projects, in one of which much is known of deployments."""
    for name in ("harbour", "quiet"):
        (home / name).mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", home / name], check=True)
    (home / "data").mkdir()
    (home / "data" / "config.yaml").write_text(SETTINGS)
    if agent.settled:
        agent.settled(home, home / "harbour")
    shell = Shell(home / "data", home / "harbour", {"HOME": str(home)})
    for number in range(1, 21):
        shell("save", f"Deployment rule {number}", "--what", RULE.format(number) * 3, "--project")


def servers(agent: CodingAgent, home: Path) -> str:
    with ScriptedModel([]) as model:
        return run_agent(agent, ("mcp", "list"), home, home / "harbour", model.url)


def session(
    agent: CodingAgent, home: Path, folder: str, script: list[Wanted], *, grown_old: bool = False
) -> ScriptedModel:
    """
    A session, told what its model asked for.

    Args:
        grown_old: Before its turn ends, the session has lasted long enough for a reminder.
    """

    def age() -> None:
        then = time.time() - QUIET_SECONDS - 60
        for mark in (home / "data" / "hooks").iterdir():
            os.utime(mark, (then, then))

    loads = [Wanted("ToolSearch", agent.loads)] if agent.loads else []
    with ScriptedModel([*loads, *script], ending=age if grown_old else None) as model:
        run_agent(agent, (*agent.session(model.url), "look it up"), home, home / folder, model.url)
    return model


@pytest.fixture(scope="module", params=CODING_AGENTS, ids=lambda agent: agent.name)
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Life:
    agent: CodingAgent = request.param
    life = Life(agent, tmp_path_factory.mktemp(agent.name))
    home = life.home
    made_home(agent, home)
    setup = Shell(home / "data", home / "harbour", {"HOME": str(home), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"})

    setup.process("setup", agent.name)
    life.listed.append(servers(agent, home))
    for script in ([FIRST, SEARCH, CONTEXT], [SEARCH]):
        model = session(agent, home, "harbour", script)
        life.results.append(model.results[-len(script) :])
        life.second = model.requests
    if agent.ends:
        life.quiet += session(agent, home, "quiet", [SEARCH], grown_old=True).requests
    setup.process("setup", agent.name, "--remove")
    life.listed.append(servers(agent, home))
    return life


def fenced(text: str) -> str:
    """What stands in a fence, with it and the sentence before it; Gemini CLI escapes what hooks say."""
    found = FENCED.search(html.unescape(text))
    assert found, text
    return found[0]


def test_the_agent_lists_the_server(lived: Life) -> None:
    assert re.search(lived.agent.connected, lived.listed[0], re.MULTILINE), lived.listed[0]


def test_save_search_and_context_go_through(lived: Life) -> None:
    saved, searched, context = lived.results[0]

    assert "in project 'harbour'" in saved
    assert "The lighthouse is painted red" in searched
    assert "Deployment rule" in context


def test_what_reaches_the_model_has_the_fence_and_keeps_its_budget(lived: Life) -> None:
    _, searched, context = lived.results[0]

    assert "The lighthouse is painted red" in fenced(searched)
    assert "before it moves the traffic over." in fenced(context)
    assert tokens(fenced(context)) <= BUDGET


def test_a_session_begins_with_what_is_known(lived: Life) -> None:
    begun = next((text for text in lived.second[0].texts if "lighthouse" in text), "")

    assert bool(begun) == lived.agent.begins
    if begun:
        assert "The lighthouse is painted red" in fenced(begun)
        assert tokens(fenced(begun)) <= 2000


def test_a_second_session_recalls_what_the_first_saved(lived: Life) -> None:
    (searched,) = lived.results[1]

    assert "The lighthouse is painted red\n" in fenced(searched)
    assert "Ships mistook the white one." in fenced(searched)


def test_a_session_that_saved_nothing_ends_with_one_reminder(lived: Life) -> None:
    reminded = [any(REMINDER in text for text in request.texts) for request in lived.quiet]

    assert reminded == [False] * (len(reminded) - 1) + [True] * lived.agent.ends


def test_removing_leaves_no_trace(lived: Life) -> None:
    folders = [(Path(folder), names) for folder, _, names in os.walk(lived.home)]  # some may go meanwhile
    files = [folder / name for folder, names in folders for name in names]
    named = [path for path in files if str(COMMAND) in content(path)]
    diaries = [lived.home / folder for folder in lived.agent.diary]

    assert [path for path in named if not any(path.is_relative_to(folder) for folder in diaries)] == []
    assert [path for path in files if path.name.endswith(".before-memory")] == []
    assert [folder for folder, _ in folders if folder.parts[-2:] == ("skills", "memory")] == []
    assert not re.search(lived.agent.connected, lived.listed[1], re.MULTILINE)


def test_no_server_outlives_its_agent(lived: Life) -> None:
    deadline = time.monotonic() + 120

    while left := [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(lived.home) in content(path)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def content(path: Path) -> str:
    """Of a file, whatever its bytes; nothing if it is none, or has just gone: agents tidy up after their end."""
    try:
        return path.read_text("utf-8", "replace") if path.is_file() else ""
    except OSError:
        return ""
