"""What a form of the page may run: a list, against which every command of the command line is tried."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from page import Ui, serving, shell

from memory import web
from memory.cli import cli
from memory.web import work


def named(group: click.Group, path: str = "") -> list[str]:
    """Every command of the command line."""
    context, found = click.Context(group), []
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        found += named(one, f"{path}{name} ") if isinstance(one, click.Group) else [f"{path}{name}"]
    return found


COMMANDS = named(cli)
OTHERS = [path for path in COMMANDS if path not in work.RUN]
FILLED = {
    "path": "/",
    "folder": "made",
    "file": "made",
    "target": "made",
    "agent": "cursor",
    "id": "x",
    "name": "x",
    "key": "search.limit",
    "value": "3",
    "yes": "yes",
}
"""Fields that some of them take."""


@pytest.fixture(scope="module")
def ui(tmp_path_factory):
    with serving(shell(tmp_path_factory.mktemp("forms"))) as running:
        running.shell("save", "One", "--what", "that stays")
        yield running


def things(ui: Ui) -> tuple[list[str], str]:
    """All files that the server could have changed, and what is kept."""
    root = ui.shell.folder.parent
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*") if "memory.db" not in path.name)
    return files, ui.shell("list", "--json").out


def test_what_is_listed_is_declared():
    for path in {*work.RUN, *work.BEGIN} & set(COMMANDS):
        assert work.declared(path).path == path


def test_every_form_of_the_page_is_on_the_list():
    templates = Path(web.__file__).parent / "templates"
    found = {
        path for one in templates.glob("*.html") for path in re.findall(r'action="/run/([a-z/]+)"', one.read_text())
    }

    assert "trash/restore" in found
    assert {path.replace("/", " ") for path in found} <= set(work.RUN)


def test_what_is_not_listed_answers_404_and_runs_nothing(ui):
    before = things(ui)

    for path in OTHERS:
        for fields in ({}, FILLED):
            got = ui.post(f"/run/{path.replace(' ', '/')}", **fields)
            assert got.status == 404, path
            assert "for a form" in got.words
    for path in ("", "nothing", "trash", "save/", "SAVE", "%20save", "save%20", "model%2Finstall", "../new", "save%00"):
        assert ui.post(f"/run/{path}").status in (400, 404), path
    for path in COMMANDS:
        if path not in work.BEGIN:
            assert ui.post(f"/care/begin/{path.replace(' ', '/')}", **FILLED).status == 400, path

    assert things(ui) == before


def test_a_form_of_setup_names_an_agent(ui):
    before = things(ui)

    for fields in ({}, {"all": "yes"}, {"agent": ""}, {"yes": "yes"}):
        assert ui.post("/run/setup", **fields).status == 400

    assert things(ui) == before


def test_a_form_reads_no_standard_input(ui):
    assert "cannot read standard input" in ui.post("/run/import", path="-").words
