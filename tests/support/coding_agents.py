"""
Real coding agents as test clients: installed from npm by `make test-agents`, run without an account in a clean
environment, with a HOME of the test and a scripted model on loopback.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROGRAMS = Path(__file__).resolve().parents[2] / ".venv-agents" / "node_modules" / ".bin"
PATIENCE = 180  # seconds; a guard against hanging, also that of the agents while the server starts
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class CodingAgent:
    """
    Attributes:
        name: As `memory setup` calls it.
        program: Its command.
        model: The environment in which its model is the one at a URL.
        session: The arguments of a session without a person, before the prompt; may name the URL.
        connected: The line of `mcp list` when the server is fine.
        loads: The arguments of the tool that makes others available, for an agent that holds them back.
        begins, ends: Whether `memory setup` gives it a hook for the start of a session, and for the end of a turn.
        settled: Makes a new HOME one in which a person has answered the agent's first questions.
        diary: Where it notes what happened, for good; folders under HOME.
    """

    name: str
    program: str
    model: Callable[[str], Mapping[str, str]]
    session: Callable[[str], tuple[str, ...]]
    connected: str
    loads: Mapping[str, str] | None = None
    begins: bool = True
    ends: bool = False
    settled: Callable[[Path, Path], None] | None = None
    diary: tuple[str, ...] = ()


def _claude(url: str) -> Mapping[str, str]:
    patient = {"MCP_TIMEOUT": str(PATIENCE * 1000), "MCP_CONNECTION_NONBLOCKING": "0"}
    quiet = {"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "not-a-key", **patient, **quiet}


def _codex(url: str) -> tuple[str, ...]:
    provider = f'model_providers.scripted={{name="scripted",base_url="{url}/v1",wire_api="responses"}}'
    patient = "mcp_servers.memory.required=true"  # else Codex asks its model before a busy machine has the server ready
    settings = ('model_provider="scripted"', provider, 'model="scripted"', patient)
    said = [word for setting in settings for word in ("--config", setting)]
    # Nobody is there to trust the hook under /hooks.
    return ("exec", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", *said)


def _opencode(url: str) -> Mapping[str, str]:
    provider = {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": "not-a-key"}}}
    patient = {"mcp_timeout": PATIENCE * 1000}
    quiet = {"autoupdate": False, "share": "disabled"}
    settings = {"provider": provider, "model": "anthropic/claude-sonnet-4-5", "experimental": patient, **quiet}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(settings), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _gemini_settled(home: Path, project: Path) -> None:
    """A way to pay was chosen, and the folder is trusted."""
    folder = home / ".gemini"
    folder.mkdir()
    (folder / "settings.json").write_text('{ "security": { "auth": { "selectedType": "gemini-api-key" } } }\n')
    (folder / "trustedFolders.json").write_text(json.dumps({str(project.parent): "TRUST_FOLDER"}))


CODING_AGENTS = (
    CodingAgent(
        name="claude-code",
        program="claude",
        model=_claude,
        session=lambda _url: ("--allowedTools", "mcp__memory", "--print"),
        connected=r"^memory: .* mcp - ✔ Connected$",
        loads={"query": "select:mcp__memory__memory_save,mcp__memory__memory_search,mcp__memory__memory_context"},
        ends=True,
        diary=(".claude/projects", ".claude/backups", ".claude/telemetry", ".cache"),
    ),
    CodingAgent(
        name="codex",
        program="codex",
        model=lambda _url: {},
        session=_codex,
        connected=r"^memory .* mcp .* enabled ",
        ends=True,
        diary=(".codex/sessions",),
    ),
    CodingAgent(
        name="gemini",
        program="gemini",
        model=lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "not-a-key"},
        session=lambda _url: ("--model", "gemini-2.5-flash", "--yolo", "--prompt"),
        connected=r"^✓ memory: .* mcp \(stdio\) - Connected$",
        ends=True,
        settled=_gemini_settled,
        diary=(".gemini/tmp",),
    ),
    CodingAgent(
        name="opencode",
        program="opencode",
        model=_opencode,
        session=lambda _url: ("run",),
        connected=r"✓ memory +connected$",
        begins=False,
        diary=(".local/share/opencode",),
    ),
)


def environment(home: Path, url: str) -> dict[str, str]:
    """
    All that an agent gets of this machine: as `env -i` with a HOME of the test.

    What it asks of hosts elsewhere goes to `url` as its proxy, which refuses.
    """
    node = shutil.which("node")
    folders = [str(PROGRAMS), *([str(Path(node).parent)] if node else []), "/usr/bin", "/bin"]
    proxy = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), url)
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
    basic = {"PATH": os.pathsep.join(folders), "HOME": str(home), "LANG": "C.UTF-8", "CI": "1", "NO_COLOR": "1"}
    return {**basic, **proxy, **direct}


def run_agent(agent: CodingAgent, arguments: tuple[str, ...], home: Path, folder: Path, url: str) -> str:
    """
    What an agent prints, on both streams, without colours.

    Raises:
        AssertionError: It failed.
        TimeoutExpired: It did not end; it and what it started are gone.
    """
    process = subprocess.Popen(
        [PROGRAMS / agent.program, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(home, url) | agent.model(url),
        cwd=folder,
        start_new_session=True,
    )
    with process:
        try:
            out, _ = process.communicate(timeout=PATIENCE)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    said = _COLOUR.sub("", out.decode())
    assert process.returncode == 0, said
    return said
