"""The container runs without rights on a read-only root, is made of what it needs, and calls commands that there are."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from pathlib import Path

import yaml
from command import Shell

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "scripts/deploy"
DOCKERFILE = (FOLDER / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))


def test_it_runs_as_a_user_without_rights_whose_data_are_a_volume() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    memory = COMPOSE["services"]["memory"]

    assert re.findall(r"^USER (\d+)$", last, re.MULTILINE) == re.findall(r"useradd --uid ([1-9]\d*) ", last)
    assert last.index("USER ") < last.index("CMD [")
    assert re.findall(r"^VOLUME (\S+)$", last, re.MULTILINE) == ["/data"]
    assert "MEMORY_HOME=/data" in last
    assert (memory["read_only"], memory["cap_drop"], memory["volumes"]) == (True, ["ALL"], ["memory:/data"])
    assert "no-new-privileges:true" in memory["security_opt"]


def test_what_is_built_gets_all_that_the_build_reads_and_no_more() -> None:
    lines = (FOLDER / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    taken = {line[1:] for line in lines if line.startswith("!")}

    assert lines[0] == "*"
    assert all((ROOT / name).exists() for name in taken)
    read = re.findall(r'path = "([^"]+)"|license-files = \["([^"]+)"\]', (ROOT / "pyproject.toml").read_text("utf-8"))
    for name in filter(None, (name for pair in read for name in pair)):
        assert any(fnmatch(name, one) or name.startswith(f"{one}/") for one in taken), name
    assert {"README.md", "docs"} <= taken  # what scripts/package.py reads


def test_it_calls_commands_that_there_are(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home", tmp_path)
    called = [json.loads(words) for words in re.findall(r"CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)]

    assert called == [["memory", "status", "--json"], ["memory", "mcp"]]
    assert shell(*called[0][1:]).json
    assert shell(*called[1][1:], "--help").out


def test_no_password_stands_in_a_file() -> None:
    assert COMPOSE["services"]["postgres"]["environment"]["POSTGRES_PASSWORD"].startswith("${")
    assert "${POSTGRES_PASSWORD}" in COMPOSE["services"]["memory"]["environment"]["MEMORY_STORE_URL"]
    assert ".env" in (ROOT / ".gitignore").read_text("utf-8").splitlines()
