"""`memory mirror` on real folders: by hand, by git, with attacks, and killed in the middle."""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from asleep import asleep
from command import Shell
from secrets_made import made

if TYPE_CHECKING:
    from pathlib import Path

GIT = shutil.which("git")
PATIENCE = 60  # seconds for a change to be noticed: nothing here waits for so long unless it is broken


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "work").mkdir()
    shell = Shell(tmp_path / "home", tmp_path / "work", {"MEMORY_EMBEDDING_PROVIDER": "none"})
    shell("save", "Tokens live an hour", "--what", "then they are renewed", "--project", "api", "--tag", "auth")
    return shell


def done(shell: Shell, folder: Path, *arguments: str, code: int = 0) -> list[tuple[str, str]]:
    """What a look did, a pair a line."""
    ran = shell("mirror", folder, "--json", *arguments, code=code)
    lines = map(json.loads, ran.out.splitlines())
    return [(line["done"], line["path"]) for line in lines if line["schema"] != "memory.sum/1"]


def titles(shell: Shell) -> list[str]:
    return sorted(memory["title"] for memory in shell("list", "--json", "--limit", "100").json["memories"])


PAGE = "api/Tokens live an hour.md"


# By hand ----------------------------------------------------------------------


def test_a_page_is_written_edited_moved_and_removed(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"

    assert done(shell, folder) == [("written", PAGE)]
    assert done(shell, folder) == []
    text = (folder / PAGE).read_text()
    assert text.startswith('---\nuid: "')
    assert 'tags: ["auth"]\nproject: "api"\n' in text

    (folder / PAGE).write_text(text.replace("renewed", "asked for anew") + "By the gateway.\n")
    assert done(shell, folder) == [("updated", PAGE)]
    found = shell("search", "gateway", "--json").json["hits"][0]
    assert found["what"] == "then they are asked for anew"

    (folder / PAGE).rename(folder / "elsewhere.md")
    assert done(shell, folder) == []
    assert done(shell, folder) == []
    (folder / "elsewhere.md").unlink()
    assert done(shell, folder) == [("deleted", "elsewhere.md")]
    assert titles(shell) == []


def test_a_memory_that_is_renamed_deleted_or_superseded_takes_its_page_along(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    done(shell, folder)
    uid = shell("list", "--json").json["memories"][0]["id"]

    shell("update", uid, "--title", "Tokens: one hour")
    assert done(shell, folder) == [("moved", "api/Tokens one hour.md")]
    shell("save", "Tokens live a day", "--what", "since May", "--project", "api", "--supersedes", uid)
    assert sorted(done(shell, folder)) == [
        ("moved", "api/superseded/Tokens one hour.md"),
        ("written", "api/Tokens live a day.md"),
    ]
    assert 'superseded_by: "[[api/Tokens live a day]]"' in (folder / "api/superseded/Tokens one hour.md").read_text()
    shell("delete", uid)
    (folder / ".git").mkdir()
    ran = shell("mirror", folder)
    assert ran.out == "removed api/superseded/Tokens one hour.md\n"
    assert "the commits of this folder still have its text" in ran.err
    assert not (folder / "api" / "superseded").exists()


def test_a_new_file_is_a_memory_of_its_folders_project(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    done(shell, folder)
    (folder / "api" / "idea.md").write_text("# An idea\n\nwith text")
    (folder / "tagged.md").write_text("---\ntags: [a, b]\naliases: [x]  # mine\n---\nno heading")

    assert done(shell, folder) == [("saved", "api/idea.md"), ("saved", "tagged.md")]

    memories = {one["title"]: one for one in shell("list", "--json").json["memories"]}
    assert memories["An idea"]["project"] == "api"
    assert (memories["tagged"]["project"], memories["tagged"]["tags"]) == (None, ["a", "b"])
    text = (folder / "tagged.md").read_text()
    assert text.startswith('---\ntags: [a, b]\naliases: [x]  # mine\nmemory_page: {"uid": "')
    assert text.endswith("}\n---\nno heading")
    assert (folder / "api" / "idea.md").read_text().endswith("}\n---\n# An idea\n\nwith text")
    assert done(shell, folder) == []


def test_links_and_relations_come_back(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    shell("graph", "add", "Gateway", "--observation", "checks tokens")
    shell("graph", "add", "Redis", "--observation", "holds tokens")
    shell("graph", "link", "Gateway", "uses", "Redis")
    done(shell, folder)
    assert 'relations: ["uses [[Redis]]"]' in (folder / "Gateway.md").read_text()

    text = (folder / PAGE).read_text().replace("---\n", '---\nabout: ["[[Gateway|the gateway]]"]\n', 1)
    (folder / PAGE).write_text(text)
    (folder / "Gateway.md").write_text((folder / "Gateway.md").read_text().replace("uses", "caches in"))
    assert sorted(done(shell, folder)) == [("updated", "Gateway.md"), ("updated", PAGE)]

    assert [one["title"] for one in shell("graph", "about", "Gateway", "--json").json["memories"]] == [
        "Tokens live an hour"
    ]
    (folder / "Redis.md").rename(folder / "Cache.md")
    done(shell, folder)
    assert 'relations: ["caches in [[Cache]]"]' in (folder / "Gateway.md").read_text()
    (folder / PAGE).write_text((folder / PAGE).read_text().replace("[[Gateway]]", "[[Nowhere]]"))
    ran = shell("mirror", folder, code=1)
    assert "[[Nowhere]]" in ran.err
    assert "no page" in ran.err


def test_an_entity_of_which_nothing_is_known_has_a_page_too(shell: Shell, tmp_path: Path) -> None:
    shell("graph", "add", "Redis", "--type", "service")
    folder = tmp_path / "notes"
    assert ("written", "Redis.md") in done(shell, folder)

    other = Shell(tmp_path / "elsewhere", tmp_path, {"MEMORY_EMBEDDING_PROVIDER": "none"})
    assert ("saved", "Redis.md") in done(other, folder)
    assert "service" in other("graph", "show", "Redis").out
    with (folder / "Redis.md").open("a") as page:
        page.write("is fast\n")

    assert done(shell, folder) == [("updated", "Redis.md")]
    assert "is fast" in shell("graph", "show", "Redis").out
    assert done(other, folder) == [("updated", "Redis.md")]


def test_what_a_page_says_of_pins_and_links_is_taken_back(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    (uid,) = (one["id"] for one in shell("list", "--json").json["memories"])
    shell("save", "Tokens live a day", "--what", "since May", "--project", "api")
    done(shell, folder)
    text = (folder / PAGE).read_text()
    (folder / PAGE).write_text(
        text.replace('what: "', 'superseded_by: "[[Tokens live a day]]"\nstatus: superseded\nwhat: "')
    )
    assert done(shell, folder) == [("updated", PAGE)]

    assert shell("details", uid, "--json").json["memory"]["status"] == "superseded"
    assert "Tokens live an hour" in shell("undo", "--yes").out
    assert shell("details", uid, "--json").json["memory"]["status"] == "active"
    assert done(shell, folder) == [("written", PAGE)]
    assert (folder / PAGE).read_text() == text


def test_what_both_sides_changed_is_kept_twice_and_shown(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    done(shell, folder)
    uid = shell("list", "--json").json["memories"][0]["id"]
    shell("update", uid, "--what", "then they are void", "--tag", "hour")
    (folder / PAGE).write_text((folder / PAGE).read_text().replace("renewed", "thrown away") + "Text.\n")

    found = done(shell, folder)

    assert ("conflict", "api/Tokens live an hour (conflict).md") in found
    shown = shell("mirror", "--conflicts", "--json").json["conflicts"]
    assert [one["of"]["id"] for one in shown] == [uid]
    texts = [path.read_text() for path in sorted((folder / "api").iterdir())]
    assert sorted(("void" in text, "thrown away" in text) for text in texts) == [(False, True), (True, False)]
    assert done(shell, folder) == []
    (folder / "api/Tokens live an hour (conflict).md").unlink()
    done(shell, folder)
    assert shell("mirror", "--conflicts").out == "no conflicts\n"
    assert "a folder is missing" in shell("mirror", code=2).err


def test_all_pages_at_once_are_not_taken_for_deleted(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    shell("save", "Another", "--what", "x")
    done(shell, folder)
    for path in folder.rglob("*.md"):
        path.unlink()

    ran = shell("mirror", folder, code=2)

    assert "none of the 2 pages" in ran.err
    assert len(titles(shell)) == 2


# Attacks ----------------------------------------------------------------------


def test_what_a_killed_look_left_is_removed(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    done(shell, folder)
    for place in (".memory", ".", "api"):
        (folder / place / ".memory.0123456789abcdef.new").write_text("half a page")

    assert done(shell, folder) == []

    assert sorted(path.name for path in folder.rglob("*") if path.suffix == ".new") == []


def test_nothing_is_read_or_written_outside(shell: Shell, tmp_path: Path) -> None:
    folder, outside = tmp_path / "pages", tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# Not ours\n")
    done(shell, folder)
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "linked").symlink_to(outside)
    (folder / "up").symlink_to(outside)
    for project in ("../outside", "/etc", "up", ".git", "a\\..\\b"):
        shell("save", f"In {project}", "--what", "x", "--project", project)

    ran = shell("mirror", folder, code=1)

    assert "link.md: it is a link" in ran.err
    assert [path.name for path in outside.iterdir()] == ["secret.md"]
    assert "Not ours" not in shell("list").out
    assert {path.parent.name for path in folder.rglob("In*.md")} <= {"outside", "etc", "git", "a .. b"}


@pytest.mark.parametrize(
    "text",
    [
        f"---\nuid: {'a' * 32}\nno end",
        f"---\nuid: {'a' * 32}\nkind: nothing\ncreated_at: x\nupdated_at: x\n---\nx",
        "---\nmemory_page: 12\n---\nx",
        "\0",
        b"\xff",
    ],
)
def test_a_page_that_cannot_be_read_is_named_and_stays(shell: Shell, tmp_path: Path, text: str | bytes) -> None:
    folder = tmp_path / "pages"
    done(shell, folder)
    (folder / "bad.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    before = (folder / "bad.md").read_bytes()

    ran = shell("mirror", folder, code=1)

    assert "left out: bad.md: " in ran.err
    assert (folder / "bad.md").read_bytes() == before
    assert titles(shell) == ["Tokens live an hour"]


def test_a_page_that_was_broken_keeps_its_memory(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    done(shell, folder)
    before = (folder / PAGE).read_text()
    (folder / PAGE).write_text(before.replace('project: "api"', "project: [api"))
    shell("mirror", folder, code=1)
    shell("mirror", folder, code=1)

    assert titles(shell) == ["Tokens live an hour"]
    (folder / PAGE).write_text(before)
    assert done(shell, folder) == []


def test_front_matter_that_was_taken_away_comes_back(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    done(shell, folder)
    (folder / PAGE).write_text("only text")

    assert done(shell, folder) == [("updated", PAGE)]
    assert (folder / PAGE).read_text().startswith("---\nuid:")
    found = shell("search", "only text", "--json").json["hits"][0]
    assert (found["title"], found["tags"]) == ("Tokens live an hour", ["auth"])


def test_no_secret_stays_in_a_page(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    done(shell, folder)
    secret = made("stripe-key  ⟨sk_live_{a24}⟩", random.Random(1)).secret
    (folder / "deploy.md").write_text(f"# Deploy\n\n{secret}\n")
    (folder / PAGE).write_text((folder / PAGE).read_text() + f"{secret}\n")

    done(shell, folder)

    assert all(secret not in path.read_text() for path in folder.rglob("*.md"))
    assert secret not in shell("export", "--all").out


def test_the_folder_of_another_database_deletes_nothing(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    done(shell, folder)
    other = Shell(tmp_path / "other", shell.folder, shell.settings)

    assert done(other, folder) == [("saved", PAGE)]
    assert done(shell, folder) == []
    assert titles(other) == titles(shell)


@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.2, 0.3, 0.4])
def test_killed_in_the_middle_loses_nothing_and_doubles_nothing(tmp_path: Path, seconds: float) -> None:
    (tmp_path / "work").mkdir()
    shell = Shell(tmp_path / "home", tmp_path / "work", {"MEMORY_EMBEDDING_PROVIDER": "none"})
    folder = tmp_path / "pages"
    (folder / "a").mkdir(parents=True)
    for number in range(60):
        (folder / "a" / f"{number}.md").write_text(f"# Page {number}\n\nword{number}\n")
    started = shell.start("mirror", folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    started.send_signal(signal.SIGKILL)
    started.wait(PATIENCE)

    shell("mirror", folder)

    assert titles(shell) == sorted(f"Page {number}" for number in range(60))
    assert len(list(folder.rglob("*.md"))) == 60


# By git -----------------------------------------------------------------------


@pytest.mark.skipif(GIT is None, reason="git is not installed")
def test_two_clones_that_are_merged_have_the_union(tmp_path: Path) -> None:
    def git(folder: Path, *arguments: str, code: int = 0) -> str:
        names = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PATH": os.environ["PATH"]}
        ran = subprocess.run(
            [str(GIT), "-C", str(folder), *arguments], env=names | quiet, capture_output=True, text=True, check=False
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout

    def committed(folder: Path) -> None:
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "memories")

    (tmp_path / "work").mkdir()
    settings = {"MEMORY_EMBEDDING_PROVIDER": "none"}
    one, two = (Shell(tmp_path / name, tmp_path / "work", settings) for name in ("one", "two"))
    first, second = tmp_path / "first", tmp_path / "second"
    for title in ("Shared", "Edited on both", "Deleted on the second"):
        one("save", title, "--what", f"what of {title}", "--details", "line one\n", "--project", "p")
    one("mirror", first)
    git(first, "init", "-q", "-b", "main")
    committed(first)
    git(tmp_path, "clone", "-q", str(first), str(second))
    two("mirror", second)
    assert titles(one) == titles(two)

    one("save", "Only on the first", "--what", "x", "--project", "p")
    one("save", "Same name", "--what", "of the first", "--project", "p")
    two("save", "Same name", "--what", "of the second", "--project", "p")
    (second / "p" / "Deleted on the second.md").unlink()
    for shell, folder, word in ((one, first, "mine"), (two, second, "yours")):
        path = folder / "p" / "Edited on both.md"
        path.write_text(path.read_text().replace("line one", word))
        shell("mirror", folder)
        committed(folder)
    git(second, "pull", "-q", "--no-rebase", "--no-edit", code=1)  # of two files lines differ
    two("mirror", second)
    committed(second)
    assert git(second, "grep", "-l", "<<<<<<<", code=1) == ""
    git(first, "pull", "-q", "--no-rebase", str(second), "main")
    one("mirror", first)

    expected = ["Edited on both", "Edited on both", "Only on the first", "Same name", "Same name", "Shared"]
    assert titles(one) == titles(two) == expected
    assert {path.relative_to(first) for path in first.rglob("*.md")} == {
        path.relative_to(second) for path in second.rglob("*.md")
    }
    for shell in (one, two):
        assert {hit["title"] for word in ("mine", "yours") for hit in shell("search", word, "--json").json["hits"]} == {
            "Edited on both"
        }
    for shell, folder in ((one, first), (two, second)):
        assert done(shell, folder) == []
        assert git(folder, "status", "--porcelain") == ""


# Watched ----------------------------------------------------------------------


def test_what_changes_on_either_side_comes_to_the_other(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    shell("mirror", folder)
    process = shell.start(
        "mirror", folder, "--watch", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )

    def line() -> tuple[str, str]:
        assert select.select([process.stdout], [], [], PATIENCE)[0], "nothing was noticed"
        found = json.loads(process.stdout.readline())
        return found["done"], found["path"]

    try:
        shell("save", "While it watches", "--what", "x", "--project", "api")
        assert line() == ("written", "api/While it watches.md")
        with asleep(process):  # of what is half-written it would make a memory
            (folder / PAGE).write_text((folder / PAGE).read_text() + "more\n")
        assert line() == ("updated", PAGE)
        assert "While it watches" in shell("undo", "--dry-run").out  # what nobody gave a command for is not undone
        (folder / "api" / "While it watches.md").unlink()
        assert line() == ("deleted", "api/While it watches.md")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode in (0, 130)
    finally:
        process.kill()
        process.communicate()
