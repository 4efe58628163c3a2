"""`make test-more`: which Pythons it takes, and what it says of what ran, was skipped and failed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shims are shell scripts")


@pytest.fixture
def more():
    spec = importlib.util.spec_from_file_location("test_more", SCRIPTS / "test_more.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def shim(path: Path) -> Path:
    """As pyenv puts one on PATH for every version that is installed, selected or not."""
    return program(path, 'echo "pyenv: python3.13: command not found" >&2; exit 127')


def test_a_shim_that_does_not_run_is_no_python(more, tmp_path):
    assert more.version(shim(tmp_path / "python3.13")) is None
    assert more.version(tmp_path / "nowhere") is None
    assert more.version(Path(sys.executable)) == sys.version_info[:3]


def test_what_runs_is_found_behind_what_does_not(more, tmp_path, monkeypatch):
    shim(tmp_path / "shims" / "python3.13")
    there = program(tmp_path / "bin" / "python3.13", f'exec {sys.executable} "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}:{tmp_path / 'bin'}")

    assert more.found(["python3.13"]) == there


def test_versions_of_pyenv_are_found_that_are_not_selected(more, tmp_path, monkeypatch):
    there = program(tmp_path / "pyenv/versions/3.13.0/bin/python3.13", f'exec {sys.executable} "$@"')
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "usr"))

    assert more.found(["python3.13"]) == there


def test_a_part_is_skipped_with_the_reason(more, tmp_path):
    with pytest.raises(more.Skipped, match="there is none"):
        more.tested(None, "there is none")
    with pytest.raises(more.Skipped, match=r"is Python 3\.9\.18; memory needs 3\.11"):
        more.tested(program(tmp_path / "old", "echo 3 9 18"), "")
    with pytest.raises(more.Skipped, match="on which `make test` runs"):
        more.tested(Path(sys.executable), "")


def test_what_ran_was_skipped_and_failed_is_said_in_the_end(more, monkeypatch, capfd):
    def lacking():
        raise more.Skipped("there is no such thing")

    def failing(code):
        return lambda: more._checked("sh", "-c", f"exit {code}")

    parts = {"one": failing(0), "two": lacking, "three": failing(1), "four": failing(5), "five": failing(1)}
    monkeypatch.setattr(more, "PARTS", parts)
    monkeypatch.setenv("SKIP", "five")

    assert more.main([]) == 1
    said = capfd.readouterr().out
    assert "two          skipped  there is no such thing\n" in said
    assert "three        failed   exit code 1: sh -c exit 1\n" in said
    assert "four         failed   no tests were found: sh -c exit 5\n" in said
    assert "five         skipped  $SKIP says so\n" in said
    assert said.endswith("test-more: 1 ran, 0 unsteady, 2 skipped, 2 failed\n")
    assert more.main(["one", "two"]) == 0
    assert more.main(["six"]) == 2


def test_a_part_whose_tests_pass_only_the_second_time_fails_all(more, monkeypatch, capfd):
    def unsteady():
        raise more.Unsteady("what failed above passed the second time")

    monkeypatch.setattr(more, "PARTS", {"one": unsteady})

    assert more.main([]) == 1
    assert capfd.readouterr().out.endswith("test-more: 0 ran, 1 unsteady, 0 skipped, 0 failed\n")


UNSTEADY = """
from pathlib import Path

def test_steady():
    with Path("runs").open("a") as runs:
        runs.write("steady ")

def test_unsteady():
    with Path("runs").open("a") as runs:
        runs.write("unsteady ")
    assert Path("runs").read_text().count("unsteady") > {failures}
"""


@pytest.mark.parametrize(("failures", "state"), [(0, "ran"), (1, "unsteady"), (2, "failed")])
def test_what_fails_runs_once_more_alone_and_is_said_to(more, monkeypatch, tmp_path, failures, state):
    (tmp_path / "test_of_a_part.py").write_text(UNSTEADY.format(failures=failures))
    monkeypatch.setattr(more, "HERE", tmp_path)
    monkeypatch.setitem(more.PARTS, "one", lambda: more._tested(more.OWN, "test_of_a_part.py"))

    assert more.outcome("one").state == state
    assert (tmp_path / "runs").read_text().split() == ["steady", "unsteady", "unsteady"][: 2 + (failures > 0)]


def test_a_python_without_ensurepip_is_said_and_leaves_nothing(tmp_path):
    refusing = program(tmp_path / "python3", f'[ "$2" = venv ] && exit 1; exec {sys.executable} "$@"')

    ran = subprocess.run(
        ["sh", SCRIPTS / "setup"],
        env={"PATH": os.environ["PATH"], "PYTHON": str(refusing), "VENV": "env"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 3
    assert "install python3-venv" in ran.stderr
    assert not (tmp_path / "env").exists()


def test_where_no_npm_is_the_agents_are_skipped(more, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(more, "_young", lambda stamp, sources: False)
    program(tmp_path / "bin" / "node", "exit 0")
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    found = more.outcome("agents")

    assert (found.state, "needs node and npm" in found.why) == ("skipped", True)
    assert "there is no npm" in capfd.readouterr().err


def test_where_node_is_too_old_the_agents_are_skipped(more, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(more, "_young", lambda stamp, sources: False)
    program(tmp_path / "bin" / "node", '[ "$1" = --version ] && echo v18.0.0; exit 1')
    program(tmp_path / "bin" / "npm", "exit 0")
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert more.outcome("agents").state == "skipped"
    assert "node is v18.0.0; Gemini CLI needs 20" in capfd.readouterr().err


def test_where_no_index_answers_the_release_is_skipped(more, monkeypatch, capfd):
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    found = more.outcome("release")

    assert (found.state, found.why) == ("skipped", "the index of packages does not answer")
    assert "No matching distribution found for build" in capfd.readouterr().err
