"""The commands of research runs, run as a person runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from command import COMMAND, Shell

from memory.schema.kinds import RESEARCH_KINDS
from memory.text.display import MARK
from memory.tools.research import ResearchMemory

if TYPE_CHECKING:
    from pathlib import Path

RUN, OTHER = "query_1767225600_4711", "query_1767225600_815"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder, without any memories."""
    (tmp_path / "folder").mkdir()
    return Shell(tmp_path / "home", tmp_path / "folder")


@pytest.fixture
def kept(shell: Shell, monkeypatch) -> Shell:
    """The same with two runs, the first with everything, and a note."""
    for name, value in shell.env.items():
        monkeypatch.setenv(name, value)
    with ResearchMemory(RUN) as memory:
        for kind in RESEARCH_KINDS:
            memory.store_memory(kind, f"what a {kind} says\nand more \x1b[31m", f"agent of {kind}", {"n": 1})
        memory.record_tool_call("agent", "http", "fetch", {"url": "x"}, "timed out", False)
        ResearchMemory(OTHER, memory.engine).store_memory("plan", "another plan", "lead")
    shell("save", "A note of nobody's run")
    return shell


def test_a_start_prints_the_name_alone_so_that_a_script_can_take_it(shell: Shell) -> None:
    script = f'RUN=$({COMMAND} run start --plan "Independent first" --agent lead) && {COMMAND} run context "$RUN"'
    ran = subprocess.run(["sh", "-c", script], env=shell.env, cwd=shell.folder, capture_output=True, check=True)

    assert "Independent first" in ran.stdout.decode()
    ran = shell("run", "start")
    assert ran.out.startswith("query_")
    assert ran.out.count("\n") == 1
    assert f"export MEMORY_RUN={ran.out.strip()}" in ran.err


def test_a_start_says_the_same_as_json_and_reads_a_plan_from_standard_input(shell: Shell) -> None:
    found = shell("run", "start", "--plan", "-", "--json", stdin="Steps:\n1. look").json

    assert found["schema"] == "memory.run-start/1"
    assert (found["plan"]["what"], found["plan"]["agent_id"]) == ("Steps:\n1. look", "lead_coordinator")
    (plan,) = shell("run", "export", found["query_id"]).json["memories"]
    assert plan["content"] == "Steps:\n1. look"
    assert shell("run", "start", "--json").json["plan"] is None


def test_runs_are_listed_the_latest_first(kept: Shell) -> None:
    lines = kept("run").out.splitlines()

    assert [line.split()[0] for line in lines] == [OTHER, RUN]
    assert "7 memories  1 tool call" in lines[1]
    found = kept("run", "list", "-n", "1", "--json").json
    assert (found["total_runs"], [one["query_id"] for one in found["runs"]]) == (2, [OTHER])
    assert "1 more; -n 2 shows all" in kept("run", "list", "-n", "1").err


def test_where_nothing_is_kept_a_list_says_so(shell: Shell) -> None:
    ran = shell("run", "list")

    assert ran.out == ""
    assert "`memory run start`" in ran.err
    assert shell("run", "list", "--json").json["runs"] == []


def test_a_kind_of_which_there_is_nothing_is_said(kept: Shell) -> None:
    assert "none of these is in it" in kept("run", "show", OTHER, "--kind", "discovery").err
    assert kept("run", "show", OTHER, "--kind", "plan").err == ""


def test_a_run_is_shown_with_its_numbers(kept: Shell) -> None:
    out = kept("run", "show", RUN).out
    assert "tool calls  1 (1 without success)" in out
    assert all(f"what a {kind} says" in out for kind in RESEARCH_KINDS)
    assert "another plan" not in out
    assert "\x1b" not in out

    found = kept("run", "show", RUN, "--kind", "plan", "--json").json
    assert (found["total_memories"], found["total_tool_calls"]) == (7, 1)
    assert [one["kind"] for one in found["memories"]] == ["plan"]
    assert kept("run", "show", RUN, "-n", "3").err.startswith("memory: there are more than 3")


def test_the_context_is_what_a_worker_reads(kept: Shell) -> None:
    out = kept("run", "context", RUN).out
    banner, plan = "========== RESEARCH CONTEXT ==========\n\n📋 PLAN (your assigned scope):\n", "what a plan says\n"
    assert out.startswith(f"{banner}{MARK}\n{plan}")  # it has a sign that controls a terminal
    assert out.endswith("========== END CONTEXT ==========\n\n")
    assert "\x1b" not in out
    assert "DISCOVERIES" not in kept("run", "context", RUN, "--agent", "agent of discovery").out

    found = kept("run", "context", RUN, "--tokens", "300", "--json").json
    assert found["tokens"] <= 300
    assert found["schema"] == "memory.run-context/1"
    kept("run", "context", RUN, "--tokens", "3", code=2)


def test_a_run_goes_to_a_file_and_comes_back(kept: Shell, tmp_path: Path) -> None:
    said = kept("run", "export", RUN, "-o", "run.json").out
    assert said == "7 memories and 1 tool call in run.json\n"
    assert "already exists" in kept("run", "export", RUN, "-o", "run.json", code=2).err

    (tmp_path / "elsewhere").mkdir()
    other = Shell(tmp_path / "elsewhere" / "home", kept.folder)
    ran = other("run", "import", "run.json")
    assert ran.out == "Saved 7 memories and 1 tool call; already there: 0 memories and 0 tool calls\n"
    assert RUN in ran.err
    again = other("run", "import", "-", "--json", stdin=(kept.folder / "run.json").read_bytes()).json
    assert (again["memories"], again["known"], again["calls"], again["known_calls"]) == (0, 7, 0, 1)
    before, after = (json.loads(shell("run", "export", RUN).out) for shell in (kept, other))
    del before["export_timestamp"], after["export_timestamp"]
    assert before == after


def test_a_bad_file_changes_nothing(kept: Shell) -> None:
    content = kept("run", "export", RUN).json
    content["memories"][3]["created_at"] = "yesterday"

    ran = kept("run", "import", "-", "--json", stdin=json.dumps(content), code=2)
    assert ran.error["message"].startswith("standard input: memories[3]: created_at is a time")
    assert "cannot read" in kept("run", "import", "missing.json", code=2).err
    assert kept("run", "list", "--json").json["total_runs"] == 2


def test_a_clear_takes_one_run_and_says_what(kept: Shell) -> None:
    assert kept("run", "clear", RUN).out == f"Deleted 7 memories and 0 tool calls of run {RUN}\n"
    assert kept("run", "clear", RUN, "--calls").out == f"Deleted 0 memories and 1 tool call of run {RUN}\n"
    assert [one["query_id"] for one in kept("run", "list", "--json").json["runs"]] == [OTHER]
    assert kept("search", "note of nobody's run", "--json").json["hits"]

    gone = kept("run", "clear", "--all", "--json").json
    assert (gone["query_id"], gone["memories_deleted"]) == (None, 1)


def test_a_clear_wants_a_name_also_where_the_settings_have_one(kept: Shell) -> None:
    named = Shell(kept.home, kept.folder, {"MEMORY_RUN": RUN})

    for arguments in ([], [""], ["--calls"], [RUN, "--all"]):
        named("run", "clear", *arguments, code=2)
    assert named("run", "list", "--json").json["runs"][1]["total_memories"] == 7


def test_the_settings_name_the_run_for_the_other_commands(kept: Shell) -> None:
    named = Shell(kept.home, kept.folder, {"MEMORY_RUN": OTHER})

    assert named("run", "show", "--json").json["query_id"] == OTHER
    assert "another plan" in named("run", "context").out
    assert named("run", "export").json["query_id"] == OTHER
    assert named("run", "show", RUN, "--json").json["query_id"] == RUN
    for command in ("show", "context", "export"):
        assert "no run is named" in kept("run", command, code=2).err
        unknown = kept("run", command, "nope", code=0 if command == "context" else 1)
        assert ("nothing is saved in this run yet" if command == "context" else "there is no run ") in unknown.err


def test_other_commands_can_be_told_the_run(kept: Shell) -> None:
    for command in (["search", "plan"], ["list"], ["context"]):
        document = kept(*command, "--run", OTHER, "--json").json
        found = document.get("hits", document.get("memories"))
        assert [one["what"] for one in found] == ["another plan"]


def test_a_run_just_started_has_a_context_to_put_before_a_prompt(shell: Shell) -> None:
    run = shell("run", "start").out.strip()

    found = shell("run", "context", run)

    assert found.out.startswith("========== RESEARCH CONTEXT")
    assert found.err == "memory: nothing is saved in this run yet\n"


def test_a_pinned_finding_comes_first_in_its_run_and_the_command_says_so(shell: Shell) -> None:
    run = shell("run", "start", "--plan", "Independent benchmarks first").out.strip()

    ran = shell("pin", "1")

    assert ran.err == f"memory: what belongs to a run comes first in its contexts only: `memory context --run {run}`\n"
    assert "Pinned:" in shell("context", "--run", run).out
    assert "Independent benchmarks" not in shell("context").out
    assert shell("unpin", "1").err == ""


PROGRAM = """
from memory import ResearchMemory

with ResearchMemory("query_1767225600_4711") as memory:
    memory.store_memory("discovery", "A fact", "worker")
"""


def test_c40_an_imported_config_toml_has_runs_exported_when_they_end(shell: Shell) -> None:
    (shell.folder / "config.toml").write_text("export_memories = true\n")
    shell("config", "import", "config.toml")

    subprocess.run([sys.executable, "-c", PROGRAM], env=shell.env, cwd=shell.folder, check=True, timeout=60)

    (file,) = shell.folder.glob("memories_export_*.json")
    assert file.stem.removeprefix("memories_export_").isdigit()
    assert [row["content"] for row in json.loads(file.read_text())["memories"]] == ["A fact"]
