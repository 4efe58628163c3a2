"""What stands outside of answers: settings, the database's tables, hooks, what `memory setup` writes, HTTP, logs."""

from __future__ import annotations

import json
import logging
import os
import re
import sqlite3
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from seen.public import named
from seen.shell import COMMAND, HASHED, PLAIN, Shell, command

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
AGENTS = (
    "claude-code",
    "gemini-cli",
    "cursor",
    "codex",
    "vscode",
    "plain",
    "claude",
    "gemini",
    "copilot",
    "copilot-cli",
)
SETUP = """
setup {agent} --dry-run
setup {agent}
setup {agent} --json
setup {agent} --project --dry-run
setup {agent} --project --json
setup
"""
REMOVE = """
setup {agent} --no-hooks --json
setup {agent} --remove --dry-run
setup {agent} --remove
setup {agent} --project --remove --json
"""
THEIRS = '{\n  // theirs\n  "mcpServers": {"memory": {"command": "theirs"}, "other": {"command": "x"}}\n}\n'
PRAGMAS = ("user_version", "application_id", "journal_mode", "page_size", "auto_vacuum", "encoding", "foreign_keys")


def see(store: Shell) -> None:
    for part in (_settings, _tables, _hooks, _setup, _statistics, _http, _logs, _local, _files):
        part(store)


def _settings(store: Shell) -> None:
    """Every setting by its three names: in the file, in the environment, and what it is without either."""
    shell = Shell.made(store.record, store.record.place / "settings")
    shell = Shell(shell.record, shell.place)
    shell.lines("settings/default", "config\ninit\nconfig\nconfig show\nstatus")
    keys = [one["key"] for one in json.loads(shell.asked("config", "--json").out)["settings"]]
    env = {f"MEMORY_{key.upper().replace('.', '_')}": "nope\n" for key in keys}
    for key, name in zip(keys, env, strict=True):
        ran = shell.given(**{name: env[name]}).asked("config", key, "--json")
        shell.record.add("settings/environment", f"{name}: {key}: exit {ran.code}\n{ran.out}{ran.err}")
        ran = shell.asked("config", "set", key, "nope\n", "--no-check", "--json")
        shell.record.add("settings/set", f"{key}: exit {ran.code}\n{ran.out}{ran.err}")
    others = (
        "DEFAULT_CHUNK_SIZE",
        "DEFAULT_CHUNK_OVERLAP",
        "EMBEDDING_MODEL",
        "EMBEDDING_DIM",
        "VECTOR_SEARCH_BATCH_SIZE",
    )
    others += (
        "USE_ITERATIVE_FETCHING",
        "USE_THRESHOLD_FILTERING",
        "LOG_SLOW_QUERY_THRESHOLD",
        "AUTO_BACKFILL_THRESHOLD",
    )
    for name in (
        *others,
        "WARM_START_EMBEDDING_MODEL",
        "OLLAMA_HOST",
        "OPENAI_BASE_URL",
        "MEMORY_RUN",
        "MEMORY_CONFIG",
    ):
        for value in ("64", "nope"):
            ran = Shell(shell.record, shell.place, {name: value}).asked("config")
            shell.record.add("settings/other-names", f"{name}={value}: exit {ran.code}\n{ran.out}{ran.err}")
    (path,) = shell.home.glob("*.yaml")
    shell.record.add("settings/file", path.read_text("utf-8"))


def _tables(store: Shell) -> None:
    shell = Shell.made(store.record, store.record.place / "fresh")
    shell.asked("init")
    (path,) = shell.home.glob("*.db")
    database = sqlite3.connect(path)
    lines = [f"{name}: {database.execute(f'pragma {name}').fetchone()[0]}" for name in PRAGMAS]
    rows = database.execute("select type, name, tbl_name, sql from sqlite_master order by type, name")
    lines += ["\n".join(map(str, row)) for row in rows]
    database.close()
    lines += sorted(f"{one.name} {one.stat().st_mode:o}" for one in shell.home.iterdir())
    store.record.add("tables", "\n\n".join(lines) + "\n")


def _hooks(store: Shell) -> None:
    shell = store.copy("hooks")
    quiet = shell.folder.parent / "quiet"
    quiet.mkdir()
    for agent in AGENTS:
        for folder, name in ((shell.folder, "known"), (quiet, "quiet")):
            said = {"session_id": f"{agent}-{name}", "conversation_id": f"{agent}-{name}", "source": "startup"}
            said |= {"cwd": str(folder), "workspace_roots": [str(folder)], "status": "completed", "loop_count": 0}
            given = json.dumps(said | {"stop_hook_active": False})
            shell("hooks", "hook", "session-start", "--agent", agent, stdin=given)
            shell("hooks", "hook", "session-end", "--agent", agent, stdin=given)
            for path in (shell.home / "hooks").glob("*"):
                os.utime(path, (time.time() - 900,) * 2)
            shell("hooks", "hook", "session-end", "--agent", agent, stdin=given)
            shell("hooks", "hook", "session-end", "--agent", agent, stdin=given)
    for given in ("", "nope", "[]", '{"cwd": 3}'):
        shell("hooks", "hook", "session-start", "--agent", "claude-code", stdin=given)
        shell("hooks", "hook", "session-end", "--agent", "claude-code", stdin=given)


def _setup(store: Shell) -> None:
    listed = json.loads(store.asked("setup", "--json").out)["agents"]
    for one in listed:
        agent = one["agent"]
        shell = Shell.made(store.record, store.record.place / f"setup-{agent}")
        (shell.folder / ".git").mkdir()
        for lines, when in ((SETUP, "there"), (REMOVE, "removed")):
            shell.lines(f"setup/{agent}", lines.format(agent=agent), forms=PLAIN)
            _tree(shell, f"setup/{agent}", when)
        shell = Shell.made(store.record, store.record.place / f"theirs-{agent}")
        (shell.folder / ".git").mkdir()
        for file in (one["user_file"], one["project_file"]):
            if file:
                path = Path(str(file).replace(str(store.place), str(shell.place)))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(THEIRS, "utf-8")
        forms = ("", " --force", " --project", " --project --force", " --remove")
        shell.lines(f"setup/{agent}-theirs", "\n".join(f"setup {agent}{form}" for form in forms), forms=PLAIN)
        _tree(shell, f"setup/{agent}-theirs", "left")


def _tree(shell: Shell, to: str, when: str) -> None:
    for path in sorted((shell.place / "home").rglob("*")):
        if path.is_file():
            shell.record.add(to, f"=== {when}: {path} {path.stat().st_mode:o}\n{path.read_text('utf-8')}")


def _statistics(store: Shell) -> None:
    """Statistics of searches whose times are given."""
    shell = Shell.made(store.record, store.record.place / "statistics")

    def record() -> None:
        for n in range(40):
            named("search_stats").record_query(
                f"search_{('fine', 'medium')[n % 2]}_report", 0.004 * n, n % 7, {"limit": 10}
            )
        named("search_stats").record_query("slow", 3.5, 0, {"filters": {"agent_id": "a"}})

    ran = shell.child(record)
    shell.record.given.add("statistics")
    shell.record.add("statistics", f"exit {ran.code}\n{ran.out}{ran.err}")
    Shell(shell.record, shell.place, HASHED).lines("statistics", "stats\nstats --days 1")


def _http(store: Shell) -> None:
    shell = store.copy("http").given(MEMORY_MCP_TOKEN="seen" * 10)
    server = subprocess.Popen(
        [COMMAND, "mcp", "--http", "--port", "0"], stderr=subprocess.PIPE, env=shell.env, cwd=shell.folder, text=True
    )
    try:
        assert server.stderr is not None  # noqa: S101  # it is a pipe
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/mcp", said)):
            if not (line := server.stderr.readline()):
                break
            said += line
        shell.record.add("http", said)
        if found:
            _ask_http(shell, found[0])
    finally:
        server.terminate()
        rest = server.communicate(timeout=60)[1]
    shell.record.add("http", f"{rest}end: {server.returncode}\n")


def _ask_http(shell: Shell, url: str) -> None:
    right = {"Authorization": f"Bearer {shell.settings['MEMORY_MCP_TOKEN']}"}
    for name, path, headers in (
        ("no token", "", {}),
        ("wrong token", "", {"Authorization": "Bearer nope"}),
        ("foreign host", "", right | {"Host": "evil.test"}),
        ("foreign origin", "", right | {"Origin": "http://evil.test"}),
        ("other path", "/nope", right),
        ("right", "", right),
    ):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
        usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        asked = urllib.request.Request(url + path, body, usual | headers)  # noqa: S310  # on loopback
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310
                shell.record.add("http", f"{name}: {answer.status}\n{answer.read().decode()}\n")
        except urllib.error.HTTPError as refused:
            shell.record.add("http", f"{name}: {refused.code}\n{refused.read().decode()}\n")


def _logs(store: Shell) -> None:
    """What is logged on standard error at level DEBUG, by the library and by commands."""
    shell = store.copy("logs").given(MEMORY_SEARCH_SLOW_SECONDS="0.000001")

    def logged(run: Callable[[], None]) -> Callable[[], None]:
        def started() -> None:
            logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
            run()

        return started

    def library() -> None:
        from memory import Engine, SessionMemory

        with Engine.open() as engine:
            sessions = SessionMemory(engine)
            named("log_timing")("seen")(sessions.search_reports_specific_chunks)("lock of the ledger")
            engine.search("lock of the ledger")
            named("ResearchMemory")("query_1700000000_1", engine).store_memory(
                "insight", "password = qXvTbKpw93zL", "w"
            )

    def asked() -> None:
        command("search", "lock of the ledger", "--mode", "hybrid")

    for name, run in (("library", library), ("command", asked)):
        ran = shell.child(logged(run))
        shell.record.add("logs", f"{name}: exit {ran.code}\n--- stdout\n{ran.out}--- stderr\n{ran.err}")


def _local(store: Shell) -> None:
    """Answers with the local model, in a store of its own."""
    shell = Shell.made(store.record, store.record.place / "local", MEMORY_EMBEDDING_PROVIDER="local")
    shell = shell.given(MEMORY_EMBEDDING_MODEL="")
    shell.lines(
        "local", 'save "Cookies" --what "Sessions live in cookies"\nsave "Pool" --what "40 connections"', forms=PLAIN
    )
    shell.lines("local", 'search "how do people stay signed in" --explain\nsearch cookies --explain\nstatus\nledger')


def _files(store: Shell) -> None:
    """Entry points, and the pages that are made from the product."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    shown = {
        name: project.get(name) for name in ("name", "version", "scripts", "entry-points", "optional-dependencies")
    }
    store.record.add("project", json.dumps(shown, indent=1) + "\n")
    for path in ("docs/cli.md", "docs/mcp.md", "docs/configuration.md", "config.example.yaml"):
        store.record.add(path, (ROOT / path).read_text("utf-8"))
