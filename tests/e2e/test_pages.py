"""The pages of the project: what the README shows is what happens, and links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command import Shell

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(
    str(page.relative_to(ROOT))
    for folder in (ROOT, ROOT / "docs", ROOT / "docs/decisions")
    for page in folder.glob("*.md")
)
FENCE = re.compile(r"^(```+).*?^\1$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
# What differs from one run to the next: the first digits of an id, the day, the milliseconds.
CHANGING = re.compile(r"\b[0-9a-f]{8}\b|\d{4}-\d\d-\d\d|[\d.]+ m?s\b")


def prose(page: str) -> str:
    return FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))


def anchors(page: str) -> set[str]:
    """What GitHub calls the headings of a page in an address; no page of ours has two of one name."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def example(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A person in a project called my-app who has installed the README's model."""
    folder = tmp_path / "my-app"
    folder.mkdir()
    return Shell(tmp_path / "home", folder, {"MEMORY_EMBEDDING_PROVIDER": "local", "MEMORY_EMBEDDING_MODEL": ""})


def test_the_readmes_commands_print_what_it_shows(shell: Shell) -> None:
    session = example("console").replace("\\\n", "")
    steps = re.findall(r"^\$ memory (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE)

    for command, shown in steps:
        ran = shell(*shlex.split(command))
        assert CHANGING.sub("…", (ran.err + ran.out).rstrip()) == CHANGING.sub("…", shown.rstrip())
    assert len(steps) == 4


def test_the_readmes_library_example_finds_what_it_saved(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in shell.env.items():
        monkeypatch.setenv(name, value)

    exec(compile(example("python"), "README.md", "exec"), {})

    assert capsys.readouterr().out == "WAL Readers never block the writer\n"


def test_the_readme_fits_a_reader_in_a_hurry() -> None:
    assert len(README.split()) < 1_000


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_page_and_a_heading(page: str) -> None:
    for address in LINK.findall(CODE.sub("", prose(page))):
        path, _, anchor = address.partition("#")
        if path.startswith(("http:", "https:")):
            continue
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), address
        assert not anchor or anchor in anchors(str(target.resolve().relative_to(ROOT))), address


@pytest.mark.parametrize("page", PAGES)
def test_lines_of_prose_end_before_120_characters(page: str) -> None:
    lines = [line for line in prose(page).splitlines() if not line.startswith(("|", "    "))]

    assert [line for line in lines if len(line) > 120] == []
