"""Tags: listed, counted, renamed."""

from __future__ import annotations

from string import ascii_letters, digits
from typing import TYPE_CHECKING

import pytest
from agent import Agent
from command import Shell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder, with three notes."""
    (tmp_path / "folder").mkdir()
    shell = Shell(tmp_path / "home", tmp_path / "folder")
    shell("save", "one", "--tags", "db,web", "--project", "shop")
    shell("save", "two", "--tag", "db")
    shell("save", "three", "--tag", "database", "--tag", "db", "--tag", "old")
    return shell


def test_tags_are_listed_with_their_counts_most_first(shell: Shell) -> None:
    assert shell("tags").out == "3  db\n1  database\n1  old\n1  web\n"
    assert shell("tags", "--project", "shop", "--json").json["tags"] == [
        {"tag": "db", "memories": 1},
        {"tag": "web", "memories": 1},
    ]


def test_a_tag_is_kept_once_and_without_blanks_around_it(shell: Shell) -> None:
    saved = shell("save", "four", "--tag", " z", "--tag", "y", "--tags", "z, y", "--json").json

    assert saved["memory"]["tags"] == ["z", "y"]


def test_so_are_the_tags_of_tools_updates_and_imports(shell: Shell) -> None:
    shell("update", "1", "--tag", "z ", "--tag", "z")
    shell("import", "-", stdin='{"title": "five", "tags": [" z", "z", "y\\n"]}\n')
    with Agent(shell, "legacy") as agent:
        agent.call("memory_save", title="six", tags=["z", " z ", "y"])
        agent.call("memory_update", id="2", tags=["y", "y "])

    tags = {memory["title"]: memory["tags"] for memory in shell("list", "--json").json["memories"]}
    assert tags == {
        "one": ["z"],
        "two": ["y"],
        "three": ["database", "db", "old"],
        "five": ["z", "y"],
        "six": ["z", "y"],
    }


def test_where_there_is_no_project_to_narrow_to_it_says_so(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home", tmp_path, {"HOME": str(tmp_path)})
    shell("save", "one", "--tag", "db")

    assert "this folder is in no project" in shell("tags", "--project").err
    assert shell("tags", "--project", "shop").err.startswith("memory: no memory of project shop has a tag yet")


def test_a_tag_is_renamed_everywhere_and_the_history_says_so(shell: Shell) -> None:
    assert shell("tags", "rename", "db", "database").out == "db is now database on 3 memories\n"

    assert shell("tags").out == "3  database\n1  old\n1  web\n"
    assert shell("list", "--tag", "db").out == ""
    assert shell("search", "database", "--tag", "database", "--json").json["hits"]
    assert "Tags were database, db, old" in shell("details", "3").out


def test_what_is_renamed_is_embedded_again(shell: Shell) -> None:
    shell("tags", "rename", "db", "database")

    status = shell("status", "--json").json
    assert (status["queued"], status["generations"][0]["filled"]) == (0, 3)


def test_the_line_after_a_rename_is_safe_to_show_and_without_secrets(shell: Shell) -> None:
    secret = f"sk-ant-api03-{ascii_letters}{digits}-AAAAAA"

    renamed = shell("tags", "rename", "old", secret)

    assert renamed.out == "old is now [redacted:anthropic-key] on 1 memory\n"
    assert "removed before it was saved" in renamed.err
    assert secret not in shell("tags", "rename", "web", secret, "--json").out
    shell("tags", "rename", "db", "two\n    lines\x1b[31m")
    assert "#two lines\ufffd[31m" in shell("list").out


def test_a_tag_that_is_not_there_or_a_name_that_is_none_changes_nothing(shell: Shell) -> None:
    before = shell("export").out

    assert (
        shell("tags", "rename", "dbs", "x", code=1).err
        == "memory: no memory has the tag 'dbs'\nmemory: Did you mean 'db'?\n"
    )
    assert "not a new name" in shell("tags", "rename", "db", "db", code=2).err
    assert "not a new name" in shell("tags", "rename", "db", " ", code=2).err
    assert shell("export").out == before


def test_without_tags_it_says_how_to_give_one(tmp_path: Path) -> None:
    assert "--tag NAME" in Shell(tmp_path / "home", tmp_path)("tags").err
