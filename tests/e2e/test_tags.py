"""Tags: listed, counted, renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
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


def test_a_tag_that_is_not_there_or_a_name_that_is_none_changes_nothing(shell: Shell) -> None:
    before = shell("export").out

    assert (
        shell("tags", "rename", "dbs", "x", code=1).err
        == "memory: no memory has the tag 'dbs'\nmemory: Did you mean 'db'?\n"
    )
    assert "no new name" in shell("tags", "rename", "db", "db", code=2).err
    assert "no new name" in shell("tags", "rename", "db", " ", code=2).err
    assert shell("export").out == before


def test_without_tags_it_says_how_to_give_one(tmp_path: Path) -> None:
    assert "--tag NAME" in Shell(tmp_path / "home", tmp_path)("tags").err
