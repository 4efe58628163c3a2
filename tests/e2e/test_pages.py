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
ID = re.compile(r"\b[0-9a-f]{8}\b")
# What differs from one run to the next: ids, the boundary of a fence, the day, the milliseconds.
CHANGING = re.compile(
    r"\b[0-9a-f]{8}\b|(?<=memories )[0-9a-f]{12}|\b[0-9a-f]{32}\b|\d{4}-\d\d-\d\d(?: \d\d:\d\d)?|[\d.]+ m?s\b"
)


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


def steps(page: str) -> list[tuple[str, str]]:
    """The commands that a page shows, each with what it prints there."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    session = "".join(blocks).replace("\\\n", "")
    return re.findall(r"^\$ memory (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE)


@pytest.mark.parametrize(("page", "count"), [("README.md", 4), ("docs/tutorial.md", 11)])
def test_the_commands_of_a_page_print_what_it_shows(shell: Shell, page: str, count: int) -> None:
    (shell.folder / "docs").mkdir()
    (shell.folder / "docs" / "checkout.md").write_text("# Checkout\n\nIt calls the payment provider twice.\n")
    known: dict[str, str] = {}  # ids here, by what the page shows

    def here(command: str) -> str:
        return ID.sub(lambda found: known.get(found[0], found[0]), command)

    for command, shown in steps(page):
        ran = shell(*shlex.split(here(command)))
        printed = ran.err + ran.out
        assert CHANGING.sub("…", printed.rstrip()) == CHANGING.sub("…", shown.rstrip())
        known.update(zip(ID.findall(shown), ID.findall(printed), strict=True))
    assert len(steps(page)) == count


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_no_answer_of_a_page_stands_under_nothing(page: str) -> None:
    assert [shown for _, shown in steps(page) if "Nothing saved fits" in shown] == []


def test_the_readmes_library_example_finds_what_it_saved(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in shell.env.items():
        monkeypatch.setenv(name, value)

    exec(compile(example("python"), "README.md", "exec"), {})

    assert capsys.readouterr().out == "WAL Readers never block the writer\n"


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_imports_is_there(page: str) -> None:
    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL):
        for line in re.findall(r"^from (?:memory|tiermem)\b(?!\.integrations).* import .*$", block, re.MULTILINE):
            exec(line, {})


def test_the_readme_fits_a_reader_in_a_hurry() -> None:
    assert len(README.split()) < 700


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
