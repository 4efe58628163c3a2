"""What is remembered of searches, as a person sees it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from command import COMMAND, Shell
from locks import locked
from sound import sound
from terminal import written

from memory.config.settings import StoreSettings

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "xylophone"  # what is asked, and kept nowhere


@pytest.fixture
def shell(tmp_path: Path):
    shell = Shell(tmp_path / "home", tmp_path)
    for title in ("Postgres pool raised", "Switched to JWT", "Retries with jitter"):
        shell("save", title, "--what", f"{title} since Monday")
    yield shell
    sound(shell.home / "memory.db")


def counted(shell: Shell) -> int:
    return shell("stats", "--json").json["searches"]


def test_searches_of_several_processes_are_counted(shell):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: shell.process("search", "postgres", "--mode", "keyword", "-n", str(n)), range(1, 9)))
    shell("search", "jitter", "--granularity", "fine", "--kind", "note", "--project", "shop", "--mode", "hybrid")
    shell("context", "the pool", "--semantic", "never")

    found = shell("stats", "--json").json

    assert found["schema"] == "memory.stats/1"
    assert found["searches"] == 10
    assert found["tiers"] == [
        {"name": "keyword", "searches": 9, "share": 0.9},
        {"name": "hybrid", "searches": 1, "share": 0.1},
    ]
    assert {one["name"]: (one["searches"], one["results"]) for one in found["types"]} == {
        "search_coarse_all": (9, 1.0),
        "search_fine_note": (1, 0.0),
    }
    assert 0 < found["p50"] <= found["p95"] < 60
    assert (found["slow"], found["slow_share"], found["slow_seconds"]) == (0, 0.0, 3600.0)
    assert sum(one["searches"] for one in found["times"]) == 10
    assert shell("stats", "--days", "1", "--json").json == found


def test_a_person_sees_numbers_bars_and_a_plot(shell):
    shell("search", "postgres", "--mode", "keyword")
    shell("search", "postgres", "--mode", "vector")

    said = shell("stats").out

    assert said.startswith("2 searches since ")
    assert re.search(r"^keyword +50\.0%  1  █+$", said, re.MULTILINE)
    assert re.search(r"^[12] ┤ *█", said, re.MULTILINE)  # 2 if both took as long
    assert re.search(r"^memories +2 ", said, re.MULTILINE)
    assert "\x1b" not in said


def test_where_nothing_was_searched_it_says_so(tmp_path):
    shell = Shell(tmp_path / "home", tmp_path)

    assert shell("stats").out == "nothing was searched yet\n"
    assert shell("stats", "--days", "3").out == "nothing was searched in the last 3 days\n"
    empty = shell("stats", "--json").json
    assert (empty["searches"], empty["since"], empty["types"], empty["times"]) == (0, None, [], [])


def test_what_was_asked_is_nowhere(shell):
    shown = replace(shell, settings={"MEMORY_SEARCH_SLOW_SECONDS": "0"})
    shown("search", SECRET, "--project", "secretproject", "--tag", "secrettag")
    ran = shown("search", f'"{SECRET} in quotes"', "--explain")
    shown("context", SECRET)

    assert counted(shell) == 3
    assert SECRET not in ran.err
    kept = b"".join(file.read_bytes() for file in shell.home.iterdir())
    assert not [word for word in (SECRET, "secretproject", "secrettag") if word.encode() in kept]
    assert b"\tprojects tags\n" in kept


def test_a_slow_search_is_a_warning(shell):
    always = replace(shell, settings={"MEMORY_SEARCH_SLOW_SECONDS": "0"})
    named = replace(shell, settings={"LOG_SLOW_QUERY_THRESHOLD": "0"})
    warning = r"^slow search: search_coarse_all took \d+\.\d{3} s, tier keyword, 1 results; the slowest step was \w+, \d+\.\d+ s$"

    assert "slow" not in shell("search", "postgres").err
    for one in (always, named):
        assert re.search(warning, one("search", "postgres").err, re.MULTILINE)
    ran = always("search", "postgres", "--json")
    assert ran.json["hits"]
    assert "slow search: " in ran.err
    found = always("stats", "--json").json
    assert (found["slow"], found["slow_share"], found["slow_seconds"]) == (4, 1.0, 0.0)
    assert shell("stats", "--json").json["slow"] == 0


def test_a_database_that_is_busy_keeps_no_search_waiting(shell, monkeypatch):
    monkeypatch.setattr(StoreSettings, "busy_seconds", 600.0)  # ten times what a command may take here
    with locked(shell.home / "memory.db"):
        assert shell("search", "postgres", "--mode", "keyword", "--json").json["hits"]
        assert counted(shell) == 1


def test_what_cannot_be_written_keeps_no_search_from_its_answer(shell):
    (shell.home / "memory.db-searches").mkdir()

    ran = shell("search", "postgres", "--json")

    assert ran.json["hits"]
    assert ran.err == ""
    assert "memory.db-searches: Is a directory" in shell("stats", code=1).err


def test_a_process_that_is_killed_loses_nothing_that_it_answered(shell):
    script = """
import sys
from memory import Engine, Mode, Query
engine = Engine.open()
for _ in range(70):
    engine.search(Query("postgres", mode=Mode.KEYWORD))
print("done", flush=True)
sys.stdin.read()
"""
    run = subprocess.Popen(
        [sys.executable, "-c", script], env=shell.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout.readline() == "done\n"
    run.send_signal(signal.SIGKILL)
    run.communicate()

    assert counted(shell) == 70


def test_it_goes_through_a_pipe(shell):
    shell("search", "postgres")
    first = f"'{COMMAND}' stats | head -1; '{COMMAND}' stats --json | cat"
    piped = subprocess.run(["sh", "-c", first], env=shell.env, cwd=shell.folder, capture_output=True, check=True)

    said, document = piped.stdout.decode().splitlines()
    assert said.startswith("1 search since ")
    assert json.loads(document)["searches"] == 1
    assert piped.stderr == b""


def on_a_terminal(shell: Shell, *arguments: str, columns: int = 60) -> str:
    """What a command writes to a terminal of so many columns."""
    mine, its = pty.openpty()
    env = {**shell.env, "TERM": "xterm", "COLUMNS": str(columns)}
    run = subprocess.Popen([COMMAND, *arguments], env=env, cwd=shell.folder, stdout=its, stderr=its, stdin=its)
    os.close(its)
    said = written(mine)
    assert run.wait(60) == 0
    return said.decode().replace("\r\n", "\n")


def test_on_a_terminal_it_has_its_width_and_colour_unless_told_not_to(shell):
    shell("search", "postgres", "--kind", "report", "--kind", "note", "--kind", "knowledge_base")

    coloured = on_a_terminal(shell, "stats", columns=45)
    plain = on_a_terminal(replace(shell, settings={"NO_COLOR": "1"}), "stats", columns=45)

    assert "\x1b[1m" in coloured
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
    assert max(map(len, plain.splitlines())) <= 45
    assert "\nmemories: knowledge_base, note, report\n" in plain
