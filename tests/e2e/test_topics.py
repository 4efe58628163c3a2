"""`memory help TOPIC` shows the pages of the documentation, which are in the wheel; and hints name no other place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import Shell

from memory.cli import ALIASES, COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = sorted(page.stem for page in (ROOT / "docs").glob("*.md"))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


def test_every_page_is_shown_and_listed_with_its_title(shell: Shell) -> None:
    listed = dict(line.split(maxsplit=1) for line in shell("help", "topics").out.splitlines())

    assert sorted(listed) == PAGES
    for name in PAGES:
        text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
        assert text.startswith(f"# {listed[name]}\n")
        assert shell("help", f"{name}.md").out.rstrip("\n") == text.rstrip("\n")
        assert (shell("help", name).out.rstrip("\n") == text.rstrip("\n")) == (name not in {*COMMANDS, *ALIASES})


def test_what_is_neither_a_command_nor_a_page_is_refused(shell: Shell) -> None:
    for name in ("nope", "../README", "decisions/README.md", ""):
        assert shell("help", name, code=2).out == ""


def test_hints_name_pages_by_the_command_that_shows_them() -> None:
    """Where the program is installed there is no folder docs."""
    texts = {path: path.read_text("utf-8") for path in (ROOT / "src/memory").rglob("*.py")}
    hints = {
        path.name: re.findall(r'hint=[^\n]*docs/[a-z-]+\.md|"[^"\n]*docs/[a-z-]+\.md lists', text)
        for path, text in texts.items()
    }

    assert {name: found for name, found in hints.items() if found} == {}
    named = {topic for text in texts.values() for topic in re.findall(r"`memory help ([a-z-]+)` (?:says|lists)", text)}
    assert named
    assert named <= {*PAGES}
