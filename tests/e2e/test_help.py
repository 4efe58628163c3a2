"""Each page of help begins with what its command does, in one line, and shows examples, which run."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import click
import pytest
from command import Shell

from memory.carry.review import Proposed, Review
from memory.cli import COMMANDS, cli

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOT_HERE = re.compile(
    r"memory (ui|mcp)|--watch|docs --prune|memory demo|memory eval"  # lasts, or is tried elsewhere
    r"|model (install|remove)|set embedding\.provider|postgresql:"  # asks the network, or another server
    r"|setup (?!$|codex --dry-run)"  # changes agents' files
)
"""Examples that are only parsed here."""


def pages() -> Iterator[tuple[str, click.Command]]:
    """Every command and group, by its name."""
    root = click.Context(cli, info_name="memory")
    for name in COMMANDS:
        command = cli.get_command(root, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", one) for inner, one in command.commands.items())


PAGES = dict(pages())


def examples(name: str) -> list[str]:
    """The lines of a page's help that begin with `memory`, without what explains them or what a shell does with them."""
    text = re.sub(r"RUN=\$\((.*)\)", r"\1", PAGES[name].help or "").replace("MEMORY_RUN=$RUN ", "")
    found = re.findall(
        r"^ +(?:[^\n]* \| )?(memory [^\n]*?)(?: {2,}[^\n]*| \| [^\n]*| >>? [^\n]*)?$", text, re.MULTILINE
    )
    return [line for line in found if line.startswith("memory ")]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_begins_with_a_short_line(name: str) -> None:
    line = PAGES[name].get_short_help_str(1_000)

    assert len(line) < 70
    assert re.match(r"[A-Z][a-z]+,? \S.*\.$", line)
    assert " ".join((PAGES[name].help or "").split()).startswith(line.rstrip("."))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_an_example_of_its_own_command(name: str) -> None:
    assert [line for line in examples(name) if line.startswith(f"memory {name}")] != []


@pytest.mark.parametrize("name", PAGES)
def test_an_example_takes_options_that_there_are(name: str) -> None:
    for line in examples(name):
        words = shlex.split(line)[1:]
        with cli.make_context("memory", words, resilient_parsing=True) as root:
            _, command, rest = cli.resolve_command(root, words)
            assert command is not None
            while isinstance(command, click.Group) and rest and rest[0] in command.commands:
                command, rest = command.commands[rest[0]], rest[1:]
            if not isinstance(command, click.Group):
                command.make_context(line, rest, parent=root)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A person whose memories, proposals, sessions, runs and entities have the names that the examples use."""
    folder = tmp_path / "my-app"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/pool.md").write_text("# The pool\n\nTwenty connections.\n")
    (folder / "docs").mkdir()
    (folder / "docs/pool.md").write_text("# The pool\n\nTwenty connections.\n")
    (folder / "audit.md").write_text("# Audit\n\nSessions live in Redis.\n")
    (folder / "config.json").write_text('{"vector_search": {"hybrid_fts_weight": 0.3}}')
    (tmp_path / ".config/researcher").mkdir(parents=True)
    (tmp_path / ".config/researcher/config.toml").write_text("[tool]\nname = 1\n")
    shell = Shell(tmp_path / "home", folder, {"MEMORY_RUN": "query_1767225600_4711"})
    moment = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    lines = [
        {"uid": "6225d224" + "1" * 24, "title": "Session cookies", "what": "Replaced by tokens", "tags": ["db"]},
        {"uid": "c275b965" + "2" * 24, "title": "Session tokens", "what": "Replaced cookies", "tags": ["api"]},
    ]
    shell("import", "-", stdin="\n".join(json.dumps(line | moment | {"project": "my-app"}) for line in lines))
    return shell


def _prepared(shell: Shell, line: str) -> str:
    """An example with what it needs made first, and with the ids of this store."""
    words = set(shlex.split(line))
    if {"keep", "drop", "edit"} & words:
        Review(str(shell.home / "memory.db")).add(
            [
                Proposed(f"{id}{'0' * 56}", "decision", f"We use {id}", "", "user", "x", 1, "", "", None)
                for id in PROPOSALS
            ]
        )
    if {"session", "expand", "reconstruct"} & words:
        for number in range(12):
            text = f"# Audit {number}\n\nSessions live in Redis."
            shell("store", "report", "-", "--session", "auth-rework", "--agent", "reviewer", stdin=text)
    if "reconstruct" in words:
        (shell.folder / "audit.md").unlink(missing_ok=True)
    if "--purge" in words:
        shell("trash", "restore", "6225d224")
    if "run" in words:
        shell("run", "start", "--plan", "Benchmarks first", "--json")
        run = shell("run", "list", "--json").json["runs"][0]["query_id"]
        shell("run", "export", run, "-o", "run.json", code=None)
        line = re.sub(r"\$RUN|-o run\.json", lambda found: run if found[0] == "$RUN" else "-o copy.json", line)
    if "graph" in words:
        for entity in ("Redis", "Valkey", "checkout-api"):
            shell("graph", "add", entity, "--observation", "has no replica", code=None)
        shell("graph", "link", "checkout-api", "uses", "Redis", code=None)
        if "rename" in words:
            shell("graph", "delete", "Valkey")
        if "import" in words:
            shell("graph", "export", "-o", "graph.jsonl")
    if "trash" in words and "restore" in words:
        shell("delete", "6225d224", "--yes")
        step = shell("trash", "list", "--json").json["memories"][0]["step"]
        line = line.replace("1a2b3c4d", step)
    if "unpin" in words:
        shell("pin", "6225d224")
    if words & {"undo", "redo"}:
        shell("update", "6225d224", "--why", "first")
    if "redo" in words:
        shell("undo", "--yes")
    if "migrate" in words:
        line = line.replace("~/.local/share/memory/memory.db", str(shell.home / "memory.db"))
    return line.replace("~", str(shell.folder.parent)).replace("memory import conversations.zip", "memory import docs")


PROPOSALS = ("3f0c9c1e", "77ab01c2")
EXPECTED = {"memory migrate ~/.local/share/memory/memory.db": (2,), "memory hook": (0, 1), "memory trash empty": (0, 1)}


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_a_page_run(name: str, shell: Shell) -> None:
    for line in (one for one in examples(name) if not NOT_HERE.search(one)):
        words = shlex.split(_prepared(shell, line))[1:]
        expected = next((codes for start, codes in EXPECTED.items() if line.startswith(start)), (0,))
        ran = shell(*words, stdin="{}" if "hook" in words else "A text, as piped.", code=None)
        assert ran.code in expected, (line, ran.err)
