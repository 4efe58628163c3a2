"""`memory eval`, as a person runs it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from command import Shell
from interrupted import asking, begun
from judged_made import judged
from provider import Provider
from terminal import written

from memory.evaluate.systems import EFFORTS, SYSTEMS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return judged(tmp_path / "sets" / "notes")


def test_every_system_and_every_effort_is_in_the_tables(shell, folder):
    said = shell("eval", folder)

    for system in SYSTEMS:
        assert f"| {system.name} | " in said.out
    for effort in EFFORTS:
        assert f"| {effort:.1f} | " in said.out
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
        assert [point["effort"] for point in one["frontier"]] == list(EFFORTS)
        for line in one["lines"]:
            assert 0 <= line["p50"] <= line["p95"] < 60
            for mean in line["quality"].values():
                assert 0 <= mean["low"] <= mean["mean"] <= mean["high"] <= 1
        calls = {line["system"]: line["calls"]["mean"] for line in one["lines"]}
        assert (calls["grep"], calls["keywords"], calls["vectors"], calls["hybrid minmax"]) == (0, 0, 1, 1)
        (other,) = one["unanswerable"]
        assert (other["questions"], round(sum(share["share"] for share in other["outcomes"]), 6)) == (6, 1)
    assert {one["system"]: one["worst"] for one in found["summary"]}["hybrid minmax"] == 1
    assert len(found["frontier"]) == 11
    assert groups.is_dir()


def test_settings_change_what_is_tiered_and_nothing_else(shell, folder):
    always = Shell(shell.home, shell.folder, {"MEMORY_SEARCH_GATE": "always", "MEMORY_SEARCH_DISTILLED": "off"})

    calls = {
        line["system"]: line["calls"]["mean"] for line in always("eval", folder, "--json").json["sets"][0]["lines"]
    }

    assert (calls["tiered"], calls["keywords"], calls["no call"]) == (1, 0, 0)


def test_a_cache_keeps_what_was_embedded(shell, folder, tmp_path):
    first = shell("eval", folder, "--cache", tmp_path / "cache", "--no-frontier", "--json").json
    (made,) = (tmp_path / "cache").iterdir()
    other = Shell(made, shell.folder)
    before = other("ledger", "--json").json

    again = shell("eval", folder, "--cache", tmp_path / "cache", "--no-frontier", "--json").json

    for found in (first, again):
        for line in found["sets"][0]["lines"]:
            del line["p50"], line["p95"]
    assert again == first
    assert first["frontier"] == []
    assert other("status", "--json").json["memories"] == 30

    def filled(ledger) -> int:
        return sum(call["texts"] for call in ledger["lines"] if call["purpose"] not in {"search", "probe"})

    assert filled(other("ledger", "--json").json) == filled(before) == 30


def test_questions_of_a_named_set_are_asked_against_it(shell, folder, tmp_path):
    other = judged(tmp_path / "foreign")

    found = shell("eval", folder, "--against", other, "--systems", "tiered", "--json").json["sets"][0]

    assert [(one["other"], one["questions"]) for one in found["unanswerable"]] == [("foreign", 10)]
    assert [line["system"] for line in found["lines"]] == ["tiered"]


def test_the_picture_is_drawn_and_drawn_again(shell, folder, tmp_path):
    for _ in "ab":
        shell("eval", folder, "--systems", "hybrid minmax, tiered, frontier", "--picture", "frontier.svg")

    root = ET.parse(tmp_path / "frontier.svg").getroot()
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 1


def test_sizes_trust_and_what_to_expect_are_measured_on_request(shell, folder, tmp_path):
    judged(folder.parent / "letters")
    asked = ("eval", "sets", "--most", "5", "--sizes", "25,all", "--calibration", "trust.svg", "--leave-one-out", "50")

    told = shell(*asked, "--cache", "cache")
    kept = shell(*asked, "--cache", "cache", "--json").json

    assert "| 25 | 2 | " in told.out
    assert "### notes by size" in told.out
    assert "| outcome answered | 5 | " in told.out
    assert "for at most 50 % calls" in told.out
    assert kept["leave_one_out"]["budget"] == 0.5
    assert [one["name"] for one in kept["leave_one_out"]["sets"]] == ["letters", "notes"]
    assert [size["documents"] for size in kept["sets"][1]["sizes"]] == [25, 30]
    assert {band["sign"] for band in kept["sets"][0]["calibration"]} == {"outcome", "relevance", "similarity"}
    assert len(list(ET.parse(tmp_path / "trust.svg").getroot().iter("{http://www.w3.org/2000/svg}circle"))) > 4
    assert not shell.home.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "sets", "trust.svg"]
    assert len(list((tmp_path / "cache").iterdir())) == 2  # the smaller stores are not kept


def test_without_their_values_the_options_have_usual_ones(shell, folder):
    judged(folder.parent / "letters")

    found = shell("eval", folder.parent, "--leave-one-out", "--sizes", "--calibration", "--most", "3", "--json").json

    assert found["leave_one_out"]["budget"] == 0.35
    assert [[size["documents"] for size in one["sizes"]] for one in found["sets"]] == [[10, 25, 30]] * 2
    assert all(one["calibration"] for one in found["sets"])


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["gone"], "memory: no judged set is in gone", "A judged set is a folder with corpus.jsonl"),
        (["sets/notes", "--systems", "keyword"], "memory: no system 'keyword'", "Did you mean 'keywords'?"),
        (["sets/notes", "--systems", ","], "memory: no system is named", "There are: grep"),
        (["sets/notes", "--most", "0"], "memory: Invalid value for '--most'", ""),
        (["sets/notes", "--picture", "x.png"], "memory: a picture is an SVG file, not x.png", "ends in .svg"),
        (["sets/notes", "--picture", "no/x.svg"], "memory: cannot write no/x.svg: there is no folder", ""),
        (["sets/notes", "--picture", "x.svg", "--no-frontier"], "memory: --picture draws the frontier", ""),
        (["sets/notes", "--against", "gone"], "memory: gone/queries.jsonl: No such file or directory", ""),
        (["sets/notes", "--sizes", "10,ten"], "memory: no size 'ten'", "10,100,all"),
        (["--sizes", "sets/notes"], "memory: Missing argument 'FOLDER...'", ""),
        (["sets/notes", "--calibration", "x.png"], "memory: a picture is an SVG file, not x.png", "ends in .svg"),
        (
            ["sets/notes", "--calibration", "--systems", "grep"],
            'memory: a calibration is that of "tiered"',
            "--systems",
        ),
        (
            ["sets/notes", "--calibration", "x.svg", "--picture", "./x.svg"],
            "memory: two pictures cannot both be ./x.svg",
            "two files",
        ),
        (["sets/notes", "--leave-one-out"], "memory: leaving one set out needs at least two sets", "folder that holds"),
        (["sets/notes", "--leave-one-out", "101"], "memory: no share of calls '101'", "from 0 to 100"),
        (["sets/notes", "--leave-one-out", "0.3"], "memory: no share of calls '0.3'", "from 0 to 100"),
        (
            ["sets/notes", "--leave-one-out", "--no-frontier"],
            "memory: leaving one set out chooses an effort",
            "frontier",
        ),
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
    dead = {"MEMORY_EMBEDDING_PROVIDER": "ollama", "MEMORY_EMBEDDING_OLLAMA_HOST": "http://127.0.0.1:9"}
    dead |= {"MEMORY_EMBEDDING_RETRIES": "0", "MEMORY_EMBEDDING_MODEL": "nomic-embed-text"}

    ran = Shell(shell.home, shell.folder, dead)("eval", folder, "--cache", "cache", code=1)

    assert "memory: what was embedded is kept in cache; the same command continues there" in ran.err
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
    assert "memory: what was embedded is kept in cache; the same command continues there" in err
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
