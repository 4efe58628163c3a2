"""The bench runs: what it measures is for people to read, not for a test to judge."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from judged_made import judged

BENCH = Path(__file__).parents[2] / "bench"

pytestmark = pytest.mark.skipif(not BENCH.is_dir(), reason="the benches come with the sources only")


FIGURES = {
    "speed.py --quick": (
        "search, keyword tier",
        "hybrid",
        "context",
        "save, one a transaction",
        "reindex",
        "python -c pass",
    ),
    "mcp.py --quick": ("first tools/list", "memory_search, keyword", "memory_search, hybrid", "tokens of toolset core"),
    "sessions.py --quick": (
        "fine, both legs",
        "fine, as it comes",
        "medium",
        "coarse",
        "chunking",
        "save of a session_context",
    ),
    "entities.py": (
        "nDCG@10",
        "the engine's passage",
        "best observation",
        "Cosines with",
        "made, share",
        "right answers denied",
    ),
    "graph.py --quick": (
        "search_nodes",
        "search_hybrid near one",
        "the neighbour of all",
        "find_path",
        "add an observation",
    ),
    "size.py --quick": ("empty", "75 findings", "bytes a finding", "a run with 350 tool calls", "cleared"),
    "distil.py --quick": (
        "learning term vectors of all",
        "the vector of a query",
        "distilled search",
        "hybrid search",
        "a save of 29 words that learns",
        "a save of 255 words that learns",
    ),
    "scale.py --quick": (
        "memory keyword",
        "memory distilled",
        "EchoVault's way hybrid",
        "one of 10,000 sources",
        "search 4 of a process",
        "ten saves a second beside it",
        "sections of 20 documents",
    ),
    "as_of.py --quick": ("search as of a moment", "of the process"),
    "capture.py": ("tuned on", "held back", "all"),
    "leaks.py --draws 20 --texts .": (
        "| 8 letters and digits ",
        "| 12 letters and digits ",
        "of this repository: src ",
    ),
}
"""What each of these benches prints, by its command."""


def quickly(*command: str, codes: tuple[int, ...] = (0,), **environment: str) -> str:
    """What a bench prints, at home and at work in a temporary folder; it must end with one of these exit codes."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(BENCH / command[0]), *command[1:]],
            env=os.environ | {"HOME": folder, "TMPDIR": folder} | environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
    assert done.returncode in codes, done.stderr
    return done.stdout


def test_every_bench_is_tried():
    benches = {path.name for path in BENCH.glob("*.py") if '__name__ == "__main__"' in path.read_text("utf-8")}

    alone = re.findall(r'quickly\("(\w+\.py)"', Path(__file__).read_text("utf-8"))
    assert benches == {*alone, *(command.split()[0] for command in FIGURES)}


@pytest.mark.parametrize("command", FIGURES)
def test_a_bench_measures_every_figure_of_its_table(command: str) -> None:
    said = quickly(*command.split())

    for figure in FIGURES[command]:
        assert figure in said


def test_the_embed_bench_measures_every_provider_or_says_that_it_leaves_it_out():
    said = quickly("embed.py", "--quick")

    assert "memory of the process, at most: hashed" in said
    for name in ("local", "sentence-transformers"):
        left_out = re.search(f"left out .*{name}", said)
        assert left_out or f"one short query, warm: {name}" in said


def test_the_postgres_bench_measures_both_sides_or_says_that_it_leaves_them_out():
    said = quickly("postgres.py", "--quick")

    for what in ("search by keyword", "hybrid search", "save, one", "recall@10, 0.01%", "8 writers", "reindex"):
        assert what in said or said.startswith("left out: ")


def test_the_postgres_bench_asks_the_questions_of_judged_sets_or_says_that_it_leaves_them_out():
    sets = str(Path(__file__).parents[1] / "support" / "judged")
    said = quickly("postgres.py", "--quick", "--sets", sets, "--most", "6", "--asked")

    for what in (
        "questions, without statistics",
        "questions, with statistics",
        "the longest step of each, with statistics",
        "8 writers, memories saved",
    ):
        assert what in said or said.startswith("left out: ")


def test_the_bench_of_the_image_measures_it_or_says_that_it_leaves_it_out():
    said = quickly("image.py", "--quick")

    for what in ("the image without its base", "by keyword, without the model", "mode hybrid, with the model"):
        assert what in said or said.startswith("left out: ")


def test_the_web_bench_measures_the_page_or_says_that_it_leaves_it_out():
    said = quickly("web.py", "--quick")

    for what in ("first paint", "answer while typing", "the server's processor", "look through all"):
        assert what in said or said.startswith("left out: ")


def test_the_team_bench_loses_nothing():
    said = quickly("team.py", "--quick")

    assert re.search(r"rows lost, errors .*\| met ", said), said
    for what in ("getter", "store", "search", "log"):
        assert f"| {what} " in said


def test_the_real_bench_asks_both_sides_the_questions_of_sets_without_groups():
    sets = Path(__file__).parents[1] / "support" / "judged"
    said = quickly("real.py", str(sets / "developer_notes"), str(sets / "short_notes"), "--size", "25")

    for what in ("developer_notes: memory tiered", "developer_notes: EchoVault's way tiered", "all: memory hybrid"):
        assert what in said
    assert "short_notes" not in said  # its questions are for their group alone


def test_the_quality_bench_keeps_a_run_that_says_what_it_holds_for(tmp_path):
    judged(tmp_path / "sets" / "notes")
    settings = {"MEMORY_HOME": str(tmp_path), "MEMORY_EMBEDDING_PROVIDER": "hashed", "MEMORY_SEARCH_EFFORT": "0.4"}

    said = quickly("quality.py", str(tmp_path / "sets"), "notes", "--keep", str(tmp_path / "run"), **settings)

    kept = (tmp_path / "run" / "README.md").read_text("utf-8")
    assert said.strip() in kept
    assert "- command: python bench/quality.py FOLDER notes\n" in kept
    assert "- settings: embedding.provider = hashed, search.effort = 0.4\n" in kept
    assert "(frontier.svg)" in kept
    results = json.loads((tmp_path / "run" / "results.json").read_text("utf-8"))
    assert [one["name"] for one in results["results"]["sets"]] == ["notes"]
    assert ET.parse(tmp_path / "run" / "frontier.svg").getroot().tag.endswith("svg")
    for file in ("README.md", "results.json", "frontier.svg"):
        assert str(tmp_path) not in (tmp_path / "run" / file).read_text("utf-8")


def test_the_hostile_bench_measures_every_case_that_is_asked_for():
    said = quickly("hostile.py", "--quick")

    for what in (
        "redact: 'secret='",
        "signs of instructions",
        "parts of a name",
        "chunks:",
        "a memory:",
        "as a query:",
    ):
        assert what in said
    assert "redact" not in quickly("hostile.py", "--quick", "signs")


def test_the_cut_bench_finds_no_honest_question_cut(tmp_path):
    folder = judged(tmp_path / "judged")

    assert re.search(
        r"judged: \d+ questions, 0 cut; the greediest reads [\d,]+ of 16,000,000", quickly("cut.py", str(folder))
    )


def test_the_bench_of_imports_stores_everything_once():
    said = quickly("imports.py", "--files", "12", "--embedded", "2")

    for row in ("Markdown with front matter", "Claude Code transcripts, again", "entities and as many relations"):
        assert re.search(rf"^\| {row} \| \d+ \| 12 \| [\d.]+ \|", said, re.MULTILINE), said
    assert re.search(r"^\| Markdown, embedded too \| 2 \| 2 \|", said, re.MULTILINE), said


def test_the_bench_of_a_mirror_finds_what_was_edited():
    said = quickly("mirror.py", "--pages", "20")

    for row in ("20 new files become memories", "nothing has changed", "an empty folder", "being in the memory"):
        assert re.search(rf"{row}.* [\d.]+ +[\d.]+$", said, re.MULTILINE), said


def test_the_small_bench_asks_the_notes_of_each_project_and_nothing_else():
    said = quickly("small.py")

    assert re.search(r"^\| 30 \| 30 \| 36 \| \d+ \| \d+ \| \d+ \| \d+ \| \d+ of 30 \|$", said, re.MULTILINE), said
    for notes, asked, strangers in [
        ("shop | 45 | 45", 68, (72, 15, 15)),
        ("house | 44 | 44", 65, (72, 15, 15)),
        ("sum | 221 | 221", 330, (360, 75, 75)),
        ("all in one | 221 | 221", 330, (72, 75, 75)),
    ]:
        told = " | ".join(rf"\d+ of {number}" for number in strangers)
        row = rf"{notes} | {asked} | \d+ | \d+ | \d+ | \d+ | {told} |".replace("|", r"\|")
        assert re.search(rf"^\| {row}$", said, re.MULTILINE), said


def test_the_bench_of_small_scopes_asks_each_question_among_few(tmp_path):
    said = quickly("small_scopes.py", str(judged(tmp_path / "notes")), "--most", "2", "--sizes", "4,9")

    for size in (4, 9):
        assert re.search(
            rf"^\| notes \| {size} \| 2 \| [01]\.\d{{3}} \| [01]\.\d{{3}} \| \d\.\d{{3}} \| \d+% \|$",
            said,
            re.MULTILINE,
        ), said
        assert re.search(rf"^\| mean \| {size} \|.* \d\.\d{{3}}, worst \d\.\d{{3}} \| \d+% \|$", said, re.MULTILINE), (
            said
        )


@pytest.mark.skipif(not (BENCH.parent / ".git").exists(), reason="only a checkout has revisions")
def test_the_compare_bench_measures_two_revisions_in_turns():
    rows = ("warm: get", "cold: memory details")
    said = quickly("compare.py", "HEAD", "HEAD", "--quick", "--json", "--only", *rows, codes=(0, 1))

    found = json.loads(said)
    assert [one["what"] for one in found["rows"]] == sorted(rows)
    assert all(one["before"] > 0 and one["after"] > 0 for one in found["rows"])
    assert found["setting"]["before"] == found["setting"]["after"]


@pytest.mark.skipif(not (BENCH.parent / ".git").exists(), reason="only a checkout has revisions")
@pytest.mark.parametrize("until", ["venv", "home/memory.db"])
def test_the_compare_bench_leaves_nothing_behind_when_it_is_told_to_end(tmp_path: Path, until: str) -> None:
    command = [sys.executable, str(BENCH / "compare.py"), "HEAD", "HEAD", "--quick", "--only", "warm: get"]
    with subprocess.Popen(command, env=os.environ | {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}) as bench:
        while bench.poll() is None and not [*tmp_path.glob(f"memory-bench-*/before/{until}")]:
            time.sleep(0.05)
        bench.terminate()

    assert bench.returncode == 128 + signal.SIGTERM
    assert [*tmp_path.glob("memory-bench-*")] == []


SENTENCES = (
    "Engineers who {about} measure latency, count retries, compare limits and record failures before releases.",
    "Operators who {about} rotate credentials, drain connections, restart workers and verify dashboards later.",
    "Reviewers who {about} read changes, question defaults, reproduce incidents and document decisions carefully.",
)


def guide(number: int) -> str:
    """Markdown of more than 3,000 characters: sections below sections, each of a few sentences of many words."""
    parts = [f"# Guide {number}"]
    for part in ("pools", "queues", "caches"):
        parts.append(f"## The {part} of service {number}")
        for verb in ("open", "watch", "close"):
            about = f"{verb} {part} of service{number}"
            parts += [f"### How to {verb} {part}", *(sentence.format(about=about) for sentence in SENTENCES)]
    return "\n\n".join(parts)


def test_the_packing_bench_compares_chunks_as_they_are_with_joined_ones(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(4):
        (folder / f"guide-{number}.md").write_text(guide(number), "utf-8")

    said = quickly("packing.py", str(folder), "--questions", "10")

    for how in ("as it is", "packed 250", "packed 400"):
        for asked in ("sentences", "headings"):
            for mode in ("tiered", "hybrid"):
                assert re.search(rf"\| docs \| {how} \| .* \| {asked} \d+ \| {mode} \| ", said), said


def test_the_bench_of_pairs_says_how_often_the_newer_one_is_first_and_named(tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(
        "older\tnewer\tquestion\n"
        "Deploy on Fridays is forbidden\tDeploy on Fridays is allowed again\tare Friday deploys ok\n"
        "The rate limit is 100 requests a minute\tThe rate limit is 40 requests a minute\twhat is the rate limit\n",
        encoding="utf-8",
    )

    said = quickly("pairs.py", str(pairs), "--model", "none")

    assert "| the newer one before the older one, keyword | 2 of 2 | 1 | 1 |" in said
    assert "| named at save | 2 of 2 | 1 | 1 |" in said
    assert re.search(r"^\| named at save, of different things \| \d+ of 200 \|", said, re.MULTILINE)
