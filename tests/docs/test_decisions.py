"""The decisions: few, short, by subject; what they name is there. Links are tested with those of all pages."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/decisions"
PAGES = sorted(FOLDER.glob("*.md"))
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
RUNS = {run.name for run in (ROOT / "bench/runs").iterdir() if run.is_dir()}
RUN = re.compile(r"\b20\d\d-\d\d-\d\d-[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
PAGE = re.compile(r"(?:docs/)?decisions/([\w-]*\d[\w-]*|[a-z-]+\.md|\d+)")
READ = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "pyproject.toml"]
CODE = [
    file
    for folder in ("src", "tests", "bench", "scripts")
    for file in (ROOT / folder).rglob("*")
    if file.suffix in {".py", ".sql", ".md"} and ROOT / "bench/runs" not in file.parents and file != Path(__file__)
]
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?|(?<![\w\d])\.\d+")
MEANS = {"confidence.md": {98.5, 93.8, 98.3, 80.3, 98.7, 98.2, 99.3, 86.3}}
"""Of the three other sets: `test_figures.py` computes them."""
NAMED = re.compile(r"`(tests/[\w/]+\.py)`")
CODES = re.compile(r"\bCAP [A-Z]\d|\bCAPABILITIES\b|\bDESIGN(?:\.md)?\b")
"""Lists and plans that are not in this repository."""


def test_there_are_at_most_twenty_pages_of_fifteen_thousand_words() -> None:
    assert len(PAGES) <= 20
    assert sum(len(text.split()) for text in TEXTS.values()) <= 15_000


def test_the_list_has_every_page_once() -> None:
    listed = re.findall(r"^\| \[[\w-]+\]\(([\w-]+\.md)\)", TEXTS["README.md"], re.MULTILINE)

    assert sorted(listed) == [page.name for page in PAGES if page.name != "README.md"]


@pytest.mark.parametrize("page", sorted(TEXTS))
def test_every_run_that_a_page_names_is_kept(page: str) -> None:
    assert {run for run in RUN.findall(TEXTS[page]) if run not in RUNS} == set()


def numbers(text: str) -> list[tuple[float, float]]:
    """The numbers of a text, each with half of its last digit."""
    written = [number.rstrip(",") for number in NUMBER.findall(text)]
    return [(float(one.replace(",", "")), 0.5 * 10.0 ** -len(one.partition(".")[2])) for one in written]


@cache
def measured(run: str) -> tuple[float, ...]:
    return tuple(value for value, _ in numbers((ROOT / "bench/runs" / run / "README.md").read_text(encoding="utf-8")))


def stands(value: float, half: float, runs: list[str]) -> bool:
    """Whether a run has the number: as it is, as a share, in thousands; rounded to its digits, or to .2 % of it."""
    scales = (1.0, 100.0, 0.01, 0.001)
    near = max(half, value / 500) + 1e-9
    return any(abs(one * scale - value) <= near for run in runs for one in measured(run) for scale in scales)


@pytest.mark.parametrize("page", sorted(TEXTS))
def test_the_figures_of_a_row_or_a_paragraph_stand_in_the_runs_that_it_names(page: str) -> None:
    blocks = TEXTS[page].split("\n\n")
    lines = [
        line for one in blocks for line in (one.splitlines() if one.startswith("|") else [one]) if RUN.search(line)
    ]
    unmeasured = [
        (value, line)
        for line in lines
        for value, half in numbers(RUN.sub("", line))
        if not stands(value, half, RUN.findall(line)) and value not in MEANS.get(page, ())
    ]

    assert unmeasured == []


def test_every_mention_of_a_decision_names_a_page() -> None:
    named = {(file, name) for file in (*READ, *CODE) for name in PAGE.findall(file.read_text(encoding="utf-8"))}

    assert named
    assert {(str(file), name) for file, name in named if name not in TEXTS} == set()


def test_architecture_fits_a_reader_and_names_tests_that_are_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = NAMED.findall(text)

    assert len(text.splitlines()) <= 120
    assert len(named) > 40
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_no_text_names_a_list_that_is_not_in_this_repository() -> None:
    files = (*READ, *PAGES, *CODE)

    assert {str(file): found for file in files if (found := CODES.findall(file.read_text(encoding="utf-8")))} == {}
