"""A mirror, and `memory watch --prune`, believe that a page was deleted only where that can be seen, and never of many."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest
from command import Shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

GIT = shutil.which("git")
PATIENCE = 60  # seconds: a guard against hanging


NONE = {"MEMORY_EMBEDDING_PROVIDER": "none"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with three notes of the project api, five of web."""
    folder = tmp_path_factory.mktemp("written")
    shell = Shell(folder / "home", folder, NONE)
    for project, count in (("api", 3), ("web", 5)):
        for number in range(count):
            shell("save", f"{project} {number}", "--what", f"fact {number} of {project}", "--project", project)
    return shell.home


@pytest.fixture
def shell(tmp_path: Path, written: Path) -> Shell:
    """The same, each with a page."""
    (tmp_path / "work").mkdir()
    shell = Shell(shutil.copytree(written, tmp_path / "home"), tmp_path / "work", NONE)
    shell("mirror", tmp_path / "pages")
    return shell


@pytest.fixture
def pages(shell: Shell, tmp_path: Path) -> Path:
    return tmp_path / "pages"


def kept(shell: Shell) -> dict[str, str]:
    """The uids of all memories by title."""
    return {one["title"]: one["id"] for one in shell("list", "--json", "--limit", "100").json["memories"]}


def replaced_by_a_link(pages: Path) -> None:
    (pages / "api").rename(pages.parent / "away")
    (pages / "api").symlink_to(pages.parent / "away")


def replaced_by_a_pipe(pages: Path) -> None:
    (pages / "api").rename(pages.parent / "away")
    os.mkfifo(pages / "api")


def replaced_by_a_file(pages: Path) -> None:
    (pages / "api").rename(pages.parent / "away")
    (pages / "api").write_text("x")


def replaced_by_an_empty_folder(pages: Path) -> None:
    """As a disk that is not mounted."""
    (pages / "api").rename(pages.parent / "away")
    (pages / "api").mkdir()


def moved_away(pages: Path) -> None:
    (pages / "api").rename(pages.parent / "away")


def hidden(pages: Path) -> None:
    (pages / "api").rename(pages / ".api")


CASES = {
    replaced_by_a_link: "api/: it is a link now, which is not followed",
    replaced_by_a_pipe: "api/: it is no folder any more",
    replaced_by_a_file: "api/: it is no folder any more",
    replaced_by_an_empty_folder: "api/: it is another folder than before",
    moved_away: "api/: the folder is not there",
    hidden: "api/: the folder is not there",
}


@pytest.mark.parametrize("change", CASES)
def test_a_folder_that_is_not_the_same_deletes_nothing_and_is_named(
    shell: Shell, pages: Path, change: Callable[[Path], None]
) -> None:
    before = kept(shell)
    change(pages)

    for _ in range(2):
        ran = shell("mirror", pages, code=1)
        assert (
            f"left as it is: {CASES[change]}; 3 files are missing (api/api 0.md, api/api 1.md, api/api 2.md)" in ran.err
        )
        assert kept(shell) == before
    away = next(path for path in (pages.parent / "away", pages / ".api") if path.exists())
    if (pages / "api").is_dir() and not (pages / "api").is_symlink():
        (pages / "api").rmdir()
    (pages / "api").unlink(missing_ok=True)
    away.rename(pages / "api")
    assert json.loads(shell("mirror", pages, "--json").out)["known"] == 8
    assert kept(shell) == before
    (pages / "api" / "api 0.md").unlink()  # in a folder that is known again
    assert shell("mirror", pages).out == "deleted api/api 0.md\n"


def test_a_folder_that_is_to_go_goes_by_force(shell: Shell, pages: Path) -> None:
    shutil.rmtree(pages / "api")
    assert "`memory mirror" in shell("mirror", pages, code=1).err

    ran = shell("mirror", pages, "--force")

    assert sorted(ran.out.splitlines()) == [f"deleted api/api {number}.md" for number in range(3)]
    assert len(kept(shell)) == 5
    assert shell("mirror", pages).out == ""


def test_what_lies_below_a_folder_that_is_a_link_is_not_deleted(shell: Shell, pages: Path) -> None:
    shell("save", "api new", "--what", "instead", "--project", "api", "--supersedes", kept(shell)["api 1"])
    shell("mirror", pages)
    assert (pages / "api" / "superseded" / "api 1.md").is_file()
    before = kept(shell)
    replaced_by_a_link(pages)

    ran = shell("mirror", pages, code=1)

    assert "4 files are missing" in ran.err
    assert kept(shell) == before


def test_three_quarters_at_once_are_not_deleted_until_forced(shell: Shell, pages: Path) -> None:
    before = kept(shell)
    gone = [*sorted((pages / "web").glob("*.md"))[1:], *sorted((pages / "api").glob("*.md"))[1:]]
    texts = {path: path.read_bytes() for path in gone}
    for path in gone:
        path.unlink()
    (pages / "api" / "api 0.md").write_text((pages / "api" / "api 0.md").read_text().replace("fact", "truth"))

    ran = shell("mirror", pages, code=1)

    assert "6 of 8 files are missing (api/api 1.md, api/api 2.md, web/web 1.md," in ran.err
    assert "and 1 more), too many at once to be taken for deleted; their memories stay" in ran.err
    assert "--force" in ran.err
    assert ran.out == "updated api/api 0.md\n"  # all else goes on
    assert kept(shell) == before
    for path in gone[:2]:  # as a service does that brings files back one after the other
        path.write_bytes(texts[path])
    assert "4 of 8 files are missing" in shell("mirror", pages, code=1).err
    assert kept(shell) == before
    assert len(shell("mirror", pages, "--force").out.splitlines()) == 4
    assert len(kept(shell)) == 4
    for path, text in texts.items():
        path.write_bytes(text)
    assert len(shell("mirror", pages).out.splitlines()) == 4
    assert kept(shell) == before


@pytest.mark.parametrize(("more", "gone", "code"), [(12, 5, 0), (12, 6, 1), (4, 4, 0), (4, 5, 1)])
def test_more_than_a_quarter_and_five_at_least_are_too_many(
    shell: Shell, pages: Path, more: int, gone: int, code: int
) -> None:
    for number in range(more):
        shell("save", f"more {number}", "--what", f"number {number}", "--project", "web")
    shell("mirror", pages)
    for path in sorted((pages / "web").glob("*.md"))[:gone]:
        path.unlink()

    shell("mirror", pages, code=code)

    assert len(kept(shell)) == 8 + more - (0 if code else gone)


def test_all_pages_go_by_force(shell: Shell, pages: Path) -> None:
    for path in pages.rglob("*.md"):
        path.unlink()
    assert "--force" in shell("mirror", pages, code=2).err

    shell("mirror", pages, "--force")

    assert kept(shell) == {}


def test_what_comes_back_is_the_same_memory(shell: Shell, pages: Path) -> None:
    uid = kept(shell)["api 0"]
    shell("update", uid, "--what", "fact nought of api")
    shell("graph", "add", "Gateway", "--observation", "checks tokens")
    shell("graph", "add", "Redis", "--observation", "holds tokens")
    shell("graph", "link", "Gateway", "uses", "Redis")
    shell("graph", "about", "Gateway", uid)
    shell("mirror", pages)
    before = shell("details", uid, "--json").json, shell("graph", "show", "Gateway", "--json").json
    paths = [pages / "api" / "api 0.md", pages / "Gateway.md", pages / "Redis.md"]
    texts = {path: path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    shell("mirror", pages)
    assert "api 0" not in kept(shell)

    for path, text in texts.items():
        path.write_bytes(text)
    lines = map(json.loads, shell("mirror", pages, "--json").out.splitlines())
    done = [(line["done"], line["path"]) for line in lines if line["schema"] != "memory.sum/1"]

    assert sorted(done) == [("restored", "Gateway.md"), ("restored", "Redis.md"), ("restored", "api/api 0.md")]
    after = shell("details", uid, "--json").json, shell("graph", "show", "Gateway", "--json").json
    for one in (*before, *after):
        _without_counts(one)
    assert after == before
    assert before[0]["history"]


def _without_counts(found: Any) -> None:
    """How often it was read says nothing here."""
    for name in ("access_count", "accessed_at"):
        if isinstance(found, dict):
            found.pop(name, None)
    for inner in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        _without_counts(inner)


def test_what_comes_back_with_an_edit_is_edited(shell: Shell, pages: Path) -> None:
    page = pages / "web" / "web 0.md"
    uid, text = kept(shell)["web 0"], page.read_text()
    page.unlink()
    shell("mirror", pages)

    page.write_text(text.replace("fact 0", "truth 0"))

    assert shell("mirror", pages).out == "restored web/web 0.md\nupdated web/web 0.md\n"
    found = shell("details", uid, "--json").json
    assert found["memory"]["what"] == "truth 0 of web"
    assert found["history"]


def test_what_was_deleted_while_its_folder_was_away_stays_deleted(shell: Shell, pages: Path) -> None:
    moved_away(pages)
    shell("delete", kept(shell)["api 0"])
    shell("mirror", pages, code=1)

    (pages.parent / "away").rename(pages / "api")

    assert shell("mirror", pages).out == "removed api/api 0.md\n"
    assert "api 0" not in kept(shell)


# Watched --------------------------------------------------------------------------


class Watching:
    """A mirror that watches; what it says, as it says it."""

    def __init__(self, shell: Shell, pages: Path) -> None:
        self.process = shell.start(
            "mirror", pages, "--watch", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        self.process.stdout.close()

    def until(self, words: str) -> list[str]:
        """All lines up to the one with these words."""
        found = []
        while not found or words not in found[-1]:
            found.append(self.lines.get(timeout=PATIENCE))
        return found


@pytest.fixture
def watching(shell: Shell, pages: Path) -> Iterator[Watching]:
    one = Watching(shell, pages)
    try:
        one.until("watching")
        yield one
    finally:
        one.end()


def saved_meanwhile(shell: Shell, watching: Watching, title: str) -> list[str]:
    """What is said until something that is saved now has its page: looks went on."""
    shell("save", title, "--what", title)
    return watching.until(f"{title}.md")


@pytest.mark.skipif(GIT is None, reason="git is not installed")
def test_an_older_commit_is_waited_for(shell: Shell, pages: Path, watching: Watching) -> None:
    def git(*arguments: str) -> None:
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PATH": os.environ["PATH"]}
        names = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        subprocess.run([str(GIT), "-C", str(pages), *arguments], env=quiet | names, check=True, capture_output=True)

    before = kept(shell)
    git("init", "-q", "-b", "main")
    git("add", "api/api 0.md", "web/web 0.md", "web/web 1.md")
    git("commit", "-qm", "few")
    git("branch", "older")
    git("add", "-A")
    git("commit", "-qm", "all")
    git("checkout", "-q", "older")

    said = watching.until("too many at once")
    said += saved_meanwhile(shell, watching, "Later")

    assert "5 of 8 files are missing" in "".join(said)
    assert not [line for line in said if line.startswith("deleted")]
    assert kept(shell).keys() == {*before, "Later"}
    git("checkout", "-q", "main")
    said = watching.until("no page is missing any more")
    assert not [line for line in said if line.startswith(("deleted", "saved", "restored"))]
    assert {title: uid for title, uid in kept(shell).items() if title != "Later"} == before


@pytest.mark.parametrize("gone", ["moved", "emptied", "replaced"])
def test_a_folder_that_vanishes_is_waited_for(shell: Shell, pages: Path, watching: Watching, gone: str) -> None:
    before, away = kept(shell), pages.parent / "away"
    if gone == "emptied":
        away.mkdir()
        for path in [one for one in pages.iterdir() if one.name != ".memory"]:
            path.rename(away / path.name)
    else:
        pages.rename(away)
        if gone == "replaced":
            pages.mkdir()

    said = {"moved": "there is no folder", "emptied": "none of the 8 pages", "replaced": "another folder than when"}
    watching.until(said[gone])

    assert kept(shell) == before
    if gone == "emptied":
        for path in away.iterdir():
            path.rename(pages / path.name)
    else:
        if gone == "replaced":
            assert not list(pages.rglob("*.md"))
            pages.rmdir()
        away.rename(pages)
    page = pages / "api" / "api 0.md"
    page.write_text(page.read_text().replace("fact", "truth"))
    said = watching.until("updated api/api 0.md")
    assert not [line for line in said if line.startswith(("deleted", "written"))]
    assert kept(shell) == before


def test_force_in_another_window_ends_the_waiting(shell: Shell, pages: Path, watching: Watching) -> None:
    shutil.rmtree(pages / "web")
    watching.until("web/: the folder is not there")

    shell("mirror", pages, "--force")

    watching.until("no page is missing any more")
    assert len(kept(shell)) == 3


# `memory watch --prune` --------------------------------------------------------


@pytest.fixture
def docs(shell: Shell) -> Path:
    docs = shell.folder / "docs"
    for folder, count in (("deep", 3), (".", 5)):
        (docs / folder).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            (docs / folder / f"{number}.md").write_text(f"# Number {number} of {folder}\n")
    shell("watch", "docs", "--once")
    return docs


@pytest.mark.parametrize("how", ["moved", "hidden", "pipe", "link"])
def test_watch_prunes_nothing_of_a_folder_that_it_cannot_see(shell: Shell, docs: Path, how: str) -> None:
    before = kept(shell)
    (docs / "deep").rename(docs / ".deep" if how == "hidden" else shell.folder.parent / "away")
    if how == "pipe":
        os.mkfifo(docs / "deep")
    elif how == "link":
        (docs / "deep").symlink_to(shell.folder.parent / "away")

    ran = shell("watch", "docs", "--once", "--prune", code=None)

    assert "docs/deep: " in ran.err
    assert ran.out == ""
    assert kept(shell) == before
    if how != "link":
        assert ran.code == 1
        assert "3 files are missing (deep/0.md, deep/1.md, deep/2.md)" in ran.err
        ran = shell("watch", "docs", "--once", "--prune", "--force")
        assert len(ran.out.splitlines()) == 3
        assert len(kept(shell)) == len(before) - 3


def test_watch_prunes_nothing_of_many_files_at_once(shell: Shell, docs: Path) -> None:
    before = kept(shell)
    for number in range(5):
        (docs / f"{number}.md").unlink()

    ran = shell("watch", "docs", "--once", "--prune", code=1)

    assert "5 of 8 files are missing (0.md, 1.md, 2.md, 3.md, 4.md), too many at once" in ran.err
    assert kept(shell) == before
    assert len(shell("watch", "docs", "--once", "--prune", "--force").out.splitlines()) == 5
