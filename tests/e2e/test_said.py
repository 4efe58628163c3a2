"""What people and agents read stays as it was written; `scripts/said.py` renews it where words change on purpose."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from command import Shell
from saying import FOLDER, LOCAL, said
from words import INSIDE, prose

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = Path(__file__).parents[2] / "src/memory"
SESSIONS = sorted(FOLDER.glob("*.txt"))

BANNED = re.compile(
    r"% of the (?:query|words|weight)|of the weight|-?\d like it|stands out|short query|in scope"  # how it was judged
    r"|recipe \d|search_(?:fine|medium|coarse)_|\btier (?:keyword|distilled|hybrid)|\b(?:hybrid|distilled) ·"  # inside
    r"|\b(?:True|False|None)\b|Traceback|\bnull\b"  # Python and JSON
    r"|\b1 (?:chunks|memories|entities|requests)\b|\b0 (?:chunks embedded|memories found)"  # nobody says so
    r"|nothing is kept|is kept yet|kept here|one that is gone|of any (?:session|run)\b"  # not English
    r"|\b[Kk]ept (?:<id>|\[<id>|`<id>)|already kept|\bamiss\b|Look after|What is the case"  # words that have gone
    r"|\b(?:have|has|had) (?:it|them) back|\btakes? (?:it|them) back|\banew\b|no program that is known"
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


TELLING = re.compile(
    r"Notice|Finding|Invalid|NotFound|Ambiguous|Occupied|Fault|Refused|Unreachable|Garbled|\w*Error|Store\w+|Option|Parameter"
)
"""What takes a text that people or agents read as an argument."""


def told(module: Path) -> list[str]:
    """The texts of a module that people or agents read: of errors, notices, hints, options and arguments."""
    found = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        texts = [*node.args] if TELLING.fullmatch(name) else []
        texts += [one.value for one in node.keywords if one.arg in ("hint", "help", "short_help")]
        parts = [part for text in texts for part in ast.walk(text) if isinstance(part, ast.Constant)]
        found += [part.value for part in parts if isinstance(part.value, str)]
    return found


LISTS = {"carry/cues.py", "search/versions.py", "vectors/baseline.py"}
"""Modules of words and sentences that are looked for or compared, and shown to nobody."""

SQL = re.compile(r"\b(?:select|insert|update|delete|where|from|join|set)\b|^ ?\w+ = | on \w+\.\w+ = ")


def texts(module: Path) -> list[str]:
    """The texts of a module that have more than a word, except for docstrings and SQL: what is printed may be any of them."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
    every = [one.value for one in found if isinstance(one.value, str)]
    return [text for text in every if " " in text.strip() and not SQL.search(text)]


@pytest.mark.parametrize("module", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_text_for_readers_has_a_word_of_the_inside(module: Path) -> None:
    every = told(module) if str(module.relative_to(SOURCE)) in LISTS else [*told(module), *texts(module)]

    assert [text for text in every if INSIDE.search(text)] == []


ROOT = DOCS.parent
PAGES = [
    *sorted((SOURCE / "web/templates").glob("*.html")),
    *sorted(DOCS.glob("*.md")),  # decisions use words of their time
    *sorted((DOCS / "upstream").glob("*.md")),
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / ".github").rglob("*.md")),
    *sorted((ROOT / ".github/ISSUE_TEMPLATE").iterdir()),
    *sorted((ROOT / "examples").iterdir()),
    ROOT / "config.example.yaml",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_no_page_has_a_word_of_the_inside(page: Path) -> None:
    lines = prose(page.read_text(encoding="utf-8")).splitlines()

    assert [line for line in lines if INSIDE.search(line)] == []


def test_a_word_of_the_inside_is_seen(tmp_path: Path) -> None:
    module = tmp_path / "one.py"
    module.write_text('raise Invalid(f"no generation {1}", hint="It was made anew.")\n')

    assert [text for text in told(module) if INSIDE.search(text)] == ["no generation ", "It was made anew."]


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
