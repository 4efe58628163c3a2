"""
Write tests/support/peers: files of other programs, made by those programs themselves where that is possible.

    .venv/bin/python scripts/peer_files.py [PEER...]

Each runs in an environment of its own, in the version below, below a temporary folder that is given up after.
EchoVault is on no index: its sources come from the folder that ECHOVAULT_SOURCE names. basic-memory asks for Python 3.12;
the version here still runs its writer under 3.11. A session of Claude Code is with a scripted model, by the agents that
`make test-agents` installs. What only a service writes (`documented`) is of the shape that is known.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / "tests" / "support" / "peers"
sys.path[:0] = [str(HERE / "peers"), str(HERE.parent / "tests" / "support")]

VERSIONS = {
    "echovault": "0.4.0 (d2f5d2d)",
    "basic-memory": "0.15.2",
    "mem0": "mem0ai 2.2.1",
    "mcp-memory-service": "12.2.0",
    "reference": "@modelcontextprotocol/server-memory 2026.8.31",
    "claude-code": "@anthropic-ai/claude-code 2.1.330, with a scripted model",
    "documented": "in the shape that public sources have of them, which the lines below name",
}
SOURCES = {
    "chatgpt": "github.com/mohamed-chs/convoviz 3f50ee7 (convoviz/message_logic.py)",
    "claude.ai": (
        "github.com/nthPerson/claude-context-mcp 0989692 (src/claude_context/parsers/claudeai.py), "
        "github.com/Sinity/polylogue 04494c6 (polylogue/sources/parsers/claude/ai_parser.py)"
    ),
    "claude-code transcripts": (
        "github.com/daaain/claude-code-log 05cc97e (claude_code_log/factories/user_factory.py), "
        "141148a (attachment_factory.py); github.com/anthropics/claude-code issue 89380"
    ),
    "claude-code memories": (
        "github.com/jau123/claude-memory-manager 4ace6d7 (references/schema.md); "
        "github.com/anthropics/claude-code issue 41671"
    ),
    "codex": (
        "github.com/openai/codex 04c8ba2 (codex-rs/rollout/src/recorder_tests.rs), 0136a73 (codex-rs/rollout/src/policy.rs), "
        "109c40d (codex-rs/core/src/context/contextual_user_message.rs); "
        "of 2025: github.com/AcidicSoil/codex-session-viewer a9a65ec (CODEX-KEY-REFERENCES.md)"
    ),
    "gemini-cli": (
        "github.com/google-gemini/gemini-cli 5411f11 "
        "(packages/core/src/services/chatRecordingService.ts, core/logger.ts, config/projectRegistry.ts)"
    ),
    "claude-mem": "github.com/thedotmack/claude-mem e2d1df5 (src/services/sqlite, scripts/export-memories.ts)",
}
"""What files of `documented` were shaped after: a repository, a commit, and where in it."""
NEEDS = {
    "echovault": ("sqlite-vec", "pyyaml", "click", "httpx", "pysqlite3-binary"),
    "basic-memory": (
        *("loguru", "python-frontmatter", "pydantic", "pydantic-settings", "markdown-it-py", "dateparser"),
        *("aiofiles", "unidecode", "pyyaml", "sqlalchemy", "mcp"),
    ),
    "mem0": ("mem0ai==2.2.1",),
    "mcp-memory-service": ("mcp-memory-service==12.2.0", "pysqlite3-binary"),
}
SAID = frozenset({"queue-operation", "user", "assistant", "summary", "ai-title", "custom-title", "last-prompt"})
"""Lines of a transcript that are kept: the others are the program's own prompts, over and over."""

KEPT = {
    "echovault": ("index.db", "vault"),
    "basic-memory": ("harbour",),
    "mem0": ("history.db", "export.json"),
    "mcp-memory-service": ("sqlite_vec.db", "export.json"),
}


def environment(peer: str, folder: Path) -> Path:
    """The Python of an environment with a peer in it."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    if peer == "basic-memory":
        subprocess.run([*pip, "--ignore-requires-python", "--no-deps", "basic-memory==0.15.2"], check=True)
    subprocess.run([*pip, *NEEDS[peer]], check=True)
    return python


def written(peer: str, work: Path) -> None:
    """What a peer in Python writes."""
    home = work / "home"
    home.mkdir()
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "HOSTNAME": "harbour", "TZ": "UTC"}
    if peer == "echovault":
        variables["PYTHONPATH"] = os.environ["ECHOVAULT_SOURCE"]
    writer = HERE / "peers" / f"of_{peer.replace('-', '_')}.py"
    python = environment(peer, work / "python")
    subprocess.run([str(python), str(writer), str(home)], env=variables, check=True)
    for name in KEPT[peer]:
        kept = home / name
        (shutil.copytree if kept.is_dir() else shutil.copy)(kept, PEERS / peer / name)


def reference(work: Path) -> None:
    """The memory file of the reference server, asked over its protocol."""
    (work / "package.json").write_text("{}")
    subprocess.run(["npm", "install", "--silent", VERSIONS["reference"].replace(" ", "@")], cwd=work, check=True)
    server = work / "node_modules" / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
    file = PEERS / "reference" / "memory.jsonl"
    entities = [
        {
            "name": "Tide gauge",
            "entityType": "device",
            "observations": ["reads every six minutes", "at the north pier"],
        },
        {"name": "Forecast", "entityType": "service", "observations": []},
        {"name": "Funkstrecke 433 MHz – Süd", "entityType": "link", "observations": ["repeats what was not confirmed"]},
    ]
    relations = [
        {"from": "Tide gauge", "to": "Forecast", "relationType": "feeds"},
        {"from": "Tide gauge", "to": "Funkstrecke 433 MHz – Süd", "relationType": "speaks_over"},
    ]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "peer_files", "version": "1"}}
    calls = [("initialize", hello)]
    calls += [
        ("tools/call", {"name": "create_entities", "arguments": {"entities": entities}}),
        ("tools/call", {"name": "create_relations", "arguments": {"relations": relations}}),
    ]
    with subprocess.Popen(
        ["node", str(server)],
        env=os.environ | {"MEMORY_FILE_PATH": str(file)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        for number, (method, parameters) in enumerate(calls):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            process.stdout.readline()
        process.stdin.close()


def claude_code(work: Path) -> None:
    """The transcript of a session of a turn and a tool; what tells this machine is taken out."""
    from coding_agents import CODING_AGENTS, run_agent
    from scripted_model import ScriptedModel, Wanted

    home = work / "home"
    folder = home / "harbour"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    (folder / "levels.csv").write_text("time,level\n06:00,2.4\n")
    agent = next(one for one in CODING_AGENTS if one.name == "claude-code")
    with ScriptedModel([Wanted("Read", {"file_path": str(folder / "levels.csv")})]) as model:
        request = "Which column of levels.csv has the tide?"
        run_agent(agent, ("--allowedTools", "Read", "--print", request), home, folder, model.url)
    (transcript,) = (home / ".claude" / "projects").rglob("*.jsonl")
    text = (
        transcript.read_text().replace(str(home), "/home/keeper").replace(str(home).replace("/", "-"), "-home-keeper")
    )
    lines = [line for line in text.splitlines() if json.loads(line)["type"] in SAID]
    (PEERS / "claude-code" / "session.jsonl").write_text("".join(f"{line}\n" for line in lines))


def main(wanted: list[str]) -> None:
    for peer in wanted or VERSIONS:
        shutil.rmtree(PEERS / peer, ignore_errors=True)
        (PEERS / peer).mkdir(parents=True)
        with tempfile.TemporaryDirectory(prefix="peer-files-") as work:
            if peer == "documented":
                import documented

                documented.write(PEERS / peer)
            elif peer == "reference":
                reference(Path(work))
            elif peer == "claude-code":
                claude_code(Path(work))
            else:
                written(peer, Path(work))
    (PEERS / "VERSIONS").write_text("".join(f"{peer}: {version}\n" for peer, version in (VERSIONS | SOURCES).items()))


if __name__ == "__main__":
    main(sys.argv[1:])
