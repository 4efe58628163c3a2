"""Every format that is read: its files are told as its own, and what they say is saved, once, and nothing that nobody said."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from command import Shell
from formats import EXAMPLES, PEERS, Example

from memory.carry.formats.finding import FoundFile, found
from memory.carry.formats.formats import FORMATS, MARKDOWNS, MODULES
from memory.config.walk import Own

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = {format.one for format in (*FORMATS, *MARKDOWNS)}
each = pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: f"{one.format}, {one.path}")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "elsewhere").mkdir()
    return Shell(tmp_path / "home", tmp_path / "elsewhere")


def copied(shell: Shell, example: Example) -> Path:
    target = shell.folder.parent / "brought" / example.path
    target.parent.mkdir(parents=True)
    source = PEERS / example.path
    (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    return target


def test_every_format_has_files_and_names_where_they_are_from() -> None:
    versions = dict(line.split(": ", 1) for line in (PEERS / "VERSIONS").read_text().splitlines())

    assert {one.format for one in EXAMPLES} == KNOWN - {"Markdown file"}
    assert all(module.FORMATS for module in MODULES)
    for example in EXAMPLES:
        assert (PEERS / example.path).exists()
        source = versions[example.version]
        shaped = example.path.startswith("documented/")
        assert re.search(r"\bgithub\.com/\S+/\S+ [0-9a-f]{7,}" if shaped else r"\d+\.\d+", source), source


@each
def test_its_files_are_told_as_its_own(example: Example, tmp_path: Path) -> None:
    told = Counter(
        one.format.one
        for one in found(PEERS / example.path, Own(str(tmp_path)))
        if isinstance(one, FoundFile) and one.format is not None
    )

    assert told[example.format] >= 1


def projects(saved: str) -> set[str | None]:
    return {json.loads(line)["project"] for line in saved.splitlines()}


@each
def test_what_it_says_is_saved_once_and_nothing_that_nobody_said(example: Example, shell: Shell) -> None:
    brought = copied(shell, example)

    first = shell("import", brought, "--json").json
    saved = shell("export").out
    again = shell("import", brought, "--json").json

    words = json.dumps([json.loads(line) for line in saved.splitlines()], ensure_ascii=False)
    assert [text for text in example.said if json.dumps(text, ensure_ascii=False)[1:-1] not in words] == []
    assert [text for text in example.unsaid if text in words] == []
    assert not example.project or projects(saved) == {example.project}
    assert first["found"] == first["kept"] + first["updated"] + first["known"] + len(first["left_out"])
    assert (again["kept"], again["updated"]) == (0, 0)
    assert shell("export").out == saved


@pytest.mark.parametrize(
    "example", [one for one in EXAMPLES if not one.path.endswith((".db", ".zip"))], ids=lambda one: one.format
)
def test_its_files_in_an_archive_say_the_same(example: Example, shell: Shell) -> None:
    copied(shell, example)
    archive = shutil.make_archive(str(shell.folder / "all"), "zip", shell.folder.parent / "brought")

    shell("import", archive)

    words = shell("export").out
    assert not example.project or projects(words) == {example.project}
    assert [text for text in example.said if json.dumps(text, ensure_ascii=False)[1:-1] not in words] == []
    assert [text for text in example.unsaid if text in words] == []
