"""`memory eval`, as a person runs it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from command import Shell
from interrupted import asking, begun
from judged_made import judged
from provider import Provider
from terminal import written

from memory.evaluate.systems import SYSTEMS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return judged(tmp_path / "sets" / "notes")


def test_every_system_is_in_the_table(shell, folder):
    said = shell("eval", folder)

    for system in SYSTEMS:
        assert f"| {system.name} | " in said.out
    assert "30 documents, 10 questions. Model: hashed:hashed-64." in said.out
    assert said.err == ""


def test_the_users_own_memory_is_neither_searched_nor_made(shell, folder):
    shell("eval", folder, "--systems", "keywords, tiered")
    assert not shell.home.exists()

    shell("save", "why were the postgres connections raised", "--what", "why were the postgres connections raised")
    found = shell("eval", folder, "--systems", "keywords", "--json").json

    assert found["sets"][0]["lines"][0]["quality"]["mrr10"]["mean"] == 1
    assert shell("stats", "--json").json["searches"] == 0
    assert shell("status", "--json").json["memories"] == 1


def test_json_holds_what_the_tables_say(shell, folder):
    groups = judged(folder.parent / "grouped", groups=True)

    found = shell("eval", folder.parent, "--json", "--most", "6").json

    assert (found["schema"], found["most"], found["notices"]) == ("memory.eval/1", 6, [])
    assert [(one["name"], one["documents"], one["questions"], one["judged"]) for one in found["sets"]] == [
        ("grouped", 60, 6, 20),
        ("notes", 30, 6, 10),
    ]
    for one in found["sets"]:
        assert [line["system"] for line in one["lines"]] == [system.name for system in SYSTEMS]
        for line in one["lines"]:
            assert 0 <= line["p50"] <= line["p95"] < 60
            for mean in line["quality"].values():
                assert 0 <= mean["low"] <= mean["mean"] <= mean["high"] <= 1
        calls = {line["system"]: line["calls"]["mean"] for line in one["lines"]}
        assert (calls["keywords"], calls["vectors"], calls["hybrid minmax"]) == (0, 1, 1)
        assert {line["system"]: line["relative"] for line in one["lines"]}["hybrid minmax"] == 1
    assert groups.is_dir()


def test_settings_change_what_is_tiered_and_nothing_else(shell, folder):
    always = Shell(shell.home, shell.folder, {"MEMORY_SEARCH_GATE": "always"})

    calls = {
        line["system"]: line["calls"]["mean"] for line in always("eval", folder, "--json").json["sets"][0]["lines"]
    }

    assert (calls["tiered"], calls["keywords"], calls["no call"]) == (1, 0, 0)


def test_a_cache_keeps_what_was_embedded(shell, folder, tmp_path):
    first = shell("eval", folder, "--cache", tmp_path / "cache", "--json").json
    (made,) = (tmp_path / "cache").iterdir()
    other = Shell(made, shell.folder)
    before = other("ledger", "--json").json

    again = shell("eval", folder, "--cache", tmp_path / "cache", "--json").json

    for found in (first, again):
        for line in found["sets"][0]["lines"]:
            del line["p50"], line["p95"]
    assert again == first
    assert other("status", "--json").json["memories"] == 30

    def filled(ledger) -> int:
        return sum(call["texts"] for call in ledger["lines"] if call["purpose"] not in {"search", "probe"})

    assert filled(other("ledger", "--json").json) == filled(before) == 30


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["gone"], "memory: there is no judged set in gone", "A judged set is a folder with corpus.jsonl"),
        (["sets/notes", "--systems", "keyword"], "memory: no system 'keyword'", "Did you mean 'keywords'?"),
        (["sets/notes", "--systems", ","], "memory: no system is named", "There are: keywords"),
        (["sets/notes", "--most", "0"], "memory: Invalid value for '--most'", ""),
        (["sets/notes", "--sizes", "10"], "memory: No such option '--sizes'", ""),
        ([], "memory: Missing argument 'FOLDER...'", ""),
    ],
)
def test_what_cannot_be_done_is_a_sentence(shell, folder, arguments, said, hint):
    ran = shell("eval", *arguments, code=2)

    assert ran.out == ""
    assert ran.err.startswith(said)
    assert hint in ran.err


def test_a_line_that_is_wrong_is_named(shell, folder):
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "last"}\n')

    assert 'corpus.jsonl:31: "text" must be a text' in shell("eval", folder, code=2).err
    error = shell("eval", folder, "--json", code=2).error
    assert (error["schema"], error["error"]) == ("memory.error/1", "Invalid")


def test_a_model_that_cannot_be_used_is_said(shell, folder, tmp_path):
    dead = {"MEMORY_EMBEDDING_PROVIDER": "ollama", "MEMORY_EMBEDDING_BASE_URL": "http://127.0.0.1:9"}
    dead |= {"MEMORY_EMBEDDING_MODEL": "nomic-embed-text"}

    ran = Shell(shell.home, shell.folder, dead)("eval", folder, "--cache", "cache", code=1)

    assert "memory: what was embedded stays in cache; the same command continues there" in ran.err
    assert "127.0.0.1:9" in ran.err
    again = shell("eval", folder, "--cache", "cache", "--systems", "vectors", "--json").json
    assert again["sets"][0]["lines"][0]["quality"]["mrr10"]["mean"] > 0


def test_an_interrupted_evaluation_goes_on_where_it_stopped(shell, folder, tmp_path):
    with Provider() as provider:
        asked = replace(shell, settings=asking(provider))
        with begun(asked, provider, "eval", folder, "--cache", "cache") as it:
            it.process.send_signal(signal.SIGINT)
            code, out, err = it.ended()
        [home] = [database.parent for database in (tmp_path / "cache").glob("*/memory.db")]
        [kept] = replace(asked, home=home)("status", "--json").json["generations"]
        before = [seen.texts for seen in provider.seen]
        found = asked("eval", folder, "--cache", "cache", "--systems", "vectors", "--json").json

    assert (code, out) == (130, ""), err
    assert "memory: what was embedded stays in cache; the same command continues there" in err
    assert "Traceback" not in err
    assert found["sets"][0]["documents"] == 30
    again = [seen.texts for seen in provider.seen][len(before) :]
    assert 0 < kept["filled"] < 30
    assert sum(texts in before[:-1] for texts in again) <= 1  # the probe asks each time


def test_a_terminal_sees_how_far_it_is_and_a_file_does_not(shell, folder):
    main, other = pty.openpty()
    process = shell.start("eval", folder, stdout=subprocess.DEVNULL, stderr=other)
    os.close(other)
    seen = written(main)

    assert process.wait(60) == 0
    assert b"notes: asking" in seen
    assert shell("eval", folder).err == ""


def test_a_keyword_search_loads_none_of_it():
    code = "import memory.cli.find, sys; print([name for name in sys.modules if 'evaluate' in name or name == 'numpy'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
