"""What people and agents read stays as it was written; `scripts/said.py` renews it where words change on purpose."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import Shell
from saying import FOLDER, LOCAL, said

DOCS = Path(__file__).parents[2] / "docs"
SESSIONS = sorted(FOLDER.glob("*.txt"))

BANNED = re.compile(
    r"% of the (?:query|words|weight)|of the weight|-?\d like it|stands out|short query|in scope"  # how it was judged
    r"|recipe \d|search_(?:fine|medium|coarse)_|\btier (?:keyword|distilled|hybrid)|\b(?:hybrid|distilled) ·"  # inside
    r"|\b(?:True|False|None)\b|Traceback|\bnull\b"  # Python and JSON
    r"|\b1 (?:chunks|memories|entities|requests)\b|\b0 (?:chunks embedded|memories found)"  # nobody says so
    r"|nothing is kept|is kept yet|kept here|one that is gone|of any (?:session|run)\b"  # not English
)
"""Words that nobody should have to read in an ordinary answer."""


def person(place: Path) -> Shell:
    """Somebody in a project called my-app, with the local model and a file of notes."""
    folder = place / "my-app"
    folder.mkdir()
    (folder / "notes.md").write_text("---\nproject: my-app\n---\n# The pool\n\nTwenty connections.\n")
    return Shell(place / "home", folder, LOCAL)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.stem)
def test_it_is_said_as_it_was_written(session: Path, tmp_path: Path) -> None:
    written = session.read_text(encoding="utf-8")

    assert said(written, person(tmp_path)) == written


@pytest.mark.parametrize("page", [*SESSIONS, DOCS / "cli.md"], ids=lambda path: path.name)
def test_no_banned_word_is_said(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert [line for line in text.splitlines() if BANNED.search(line)] == []


@pytest.mark.parametrize(
    "line",
    [
        "hybrid · the best result holds only 43% of the query, under 50%",
        "the nearest is -0.04 like it",
        "the first result stands out (0.20 of the weight, 0.15 is enough)",
        "(384 dimensions, recipe 2)",
        "search_coarse_all   9",
        "memory: nothing is kept here yet",
        "search.deepen  True",
    ],
)
def test_what_was_said_once_is_banned(line: str) -> None:
    assert BANNED.search(line)
