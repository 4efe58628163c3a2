"""Files from outside: one rule for what is imported, watched and mirrored, from the command line and from the page."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from command import Shell
from page import serving

from memory import Config, Draft, Engine
from memory.carry.formats.items import LeftOut
from memory.config.settings import EmbeddingSettings
from memory.config.walk import ALIAS, NOWHERE, OUTSIDE, SPECIAL, UNREAD, Own, walk
from memory.tools.watch import Watched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

opens: list[str] = []
_recording: list[bool] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _recording and event == "open":
        frame, files = sys._getframe(1), []
        while frame is not None:
            files.append(frame.f_code.co_filename)
            frame = frame.f_back
        if not any("/store/sqlite/" in file for file in files):  # what the store does with its own is not asked here
            opens.append(os.fsdecode(arguments[0]) if isinstance(arguments[0], (str, bytes)) else str(arguments[0]))


sys.addaudithook(_hook)


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The paths that Python opens during a test; what SQLite opens by itself is not among them."""
    opens.clear()
    _recording.append(True)
    yield opens
    _recording.clear()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder with every kind of thing in it."""
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    for folder in (vault / "deep", vault / ".hidden", outside / "inner"):
        folder.mkdir(parents=True)
    (vault / "fine.md").write_text("# Fine\n")
    (vault / "deep" / "fine too.md").write_text("# Fine too\n")
    (vault / ".hidden" / "secret.md").write_text("# Hidden words\n")
    (outside / "secret.md").write_text("# Outside words\n")
    (outside / "inner" / "more.md").write_text("# Outside words\n")
    (vault / "p.md").symlink_to("/etc/passwd")
    (vault / "chain.md").symlink_to("p.md")
    (vault / "deep" / "up.md").symlink_to("../../outside/secret.md")
    (vault / "outside").symlink_to(outside)
    (vault / "deep" / "by chain").symlink_to("../outside")
    (vault / "alias.md").symlink_to("fine.md")
    (vault / "to hidden.md").symlink_to(".hidden/secret.md")
    (vault / "loop").symlink_to(".")
    (vault / "deep" / "loop").symlink_to("..")
    (vault / "self.md").symlink_to("self.md")
    (vault / "one.md").symlink_to("two.md")
    (vault / "two.md").symlink_to("one.md")
    (vault / "device.md").symlink_to("/dev/zero")
    os.mkfifo(vault / "pipe.md")
    with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(vault):  # a socket's path has at most 107 bytes
        one.bind("socket.md")
    return vault


LEFT = {
    "p.md": OUTSIDE,
    "chain.md": OUTSIDE,
    "deep/up.md": OUTSIDE,
    "outside": OUTSIDE,
    "deep/by chain": OUTSIDE,
    "device.md": OUTSIDE,
    "to hidden.md": UNREAD,
    "self.md": NOWHERE,
    "one.md": NOWHERE,
    "two.md": NOWHERE,
    "pipe.md": SPECIAL,
    "socket.md": SPECIAL,
}
SAID = {"Fine", "Fine too"}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "work").mkdir()
    return Shell(tmp_path / "home", tmp_path / "work", {"MEMORY_EMBEDDING_PROVIDER": "none"})


def opened_store(home: Path) -> Engine:
    return Engine.open(Config(home=str(home), embedding=EmbeddingSettings(provider="none")))


def titles(shell: Shell) -> list[str]:
    return sorted(one["title"] for one in shell("list", "--json").json["memories"])


def test_one_function_finds_the_files_of_a_folder(vault: Path, tmp_path: Path) -> None:
    found = walk(vault, lambda name: name.endswith(".md"), Own(str(tmp_path / "home")))

    assert sorted(found.files) == ["deep/fine too.md", "fine.md"]
    assert found.left == {**LEFT, "alias.md": ALIAS}
    assert sorted(found.folders) == ["", "deep"]


@pytest.mark.parametrize("command", ["import", "watch", "mirror"])
def test_nothing_behind_a_link_out_of_the_folder_is_read_and_all_is_named(
    shell: Shell, vault: Path, command: str, opened: list[str]
) -> None:
    ran = shell(command, vault, *(["--once"] if command == "watch" else []), "--json", code=None)

    assert ran.code == (1 if command == "mirror" else 0)
    assert set(titles(shell)) == SAID
    left = {
        one["name"].removeprefix(f"{vault}/"): one["why"] for one in json.loads(ran.out.splitlines()[-1])["left_out"]
    }
    assert left == (LEFT | {"alias.md": ALIAS} if command == "mirror" else LEFT)
    outside = ("passwd", "outside", "pipe.md", "socket.md", "/dev/zero", ".hidden")
    assert not [path for path in opened if any(part in path for part in outside)]


def test_a_dry_run_names_what_is_left_out_too(shell: Shell, vault: Path) -> None:
    ran = shell("import", vault, "--dry-run", "--json").json

    assert len(ran["left_out"]) == len(LEFT)
    assert ran["skips"] == 0


def test_many_are_counted(shell: Shell, vault: Path) -> None:
    for number in range(30):
        (vault / "deep" / f"{number}.md").symlink_to("/etc/passwd")

    err = shell("import", vault).err

    assert err.count("left out: ") == 10 + 1
    assert f"left out: {30 + len(LEFT) - 10} more, which --json names" in err


def test_the_folder_that_is_named_may_be_a_link(shell: Shell, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "named").symlink_to(vault)

    shell("import", tmp_path / "named")
    shell("watch", tmp_path / "named", "--once")
    shell("mirror", tmp_path / "named", code=1)

    assert titles(shell) == ["Fine", "Fine", "Fine too", "Fine too"] or set(titles(shell)) == SAID
    assert (vault / ".memory").is_dir()


def test_the_form_of_the_page_follows_the_same_rule(shell: Shell, vault: Path) -> None:
    with serving(shell) as ui:
        words = ui.post("/run/import", path=str(vault)).words

        assert "left out: " in words
        assert ".md: it is a link out of the folder" in words
    assert set(titles(shell)) == SAID


def test_links_in_an_archive_are_left_out(shell: Shell, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("fine.md", "# Fine\n")
        archive.writestr("../../up.md", "# Up\n")
        archive.writestr(".git/hidden.md", "# Hidden\n")
        for name, mode in (("link.md", stat.S_IFLNK), ("pipe.md", stat.S_IFIFO)):
            one = zipfile.ZipInfo(name)
            one.external_attr = (mode | 0o644) << 16
            archive.writestr(one, "/etc/passwd")

    ran = shell("import", tmp_path / "all.zip")

    assert titles(shell) == ["Fine", "Up"]
    assert "all.zip:link.md: it is a link" in ran.err
    assert "all.zip:pipe.md: it is not a regular file" in ran.err
    assert sorted(path.name for path in tmp_path.rglob("*.md")) == []


# The store's own ----------------------------------------------------------------


@pytest.mark.parametrize("command", ["import", "watch", "mirror"])
@pytest.mark.parametrize("same", [False, True])
def test_a_folder_with_the_store_in_it_leaves_its_files_alone(
    tmp_path: Path, command: str, opened: list[str], *, same: bool
) -> None:
    vault = tmp_path / "vault"
    home = vault if same else vault / "home"
    shell = Shell(home, tmp_path, {"MEMORY_EMBEDDING_PROVIDER": "none"})
    home.mkdir(parents=True)
    (vault / "fine.md").write_text("# Fine\n")
    (home / "own.md").write_text("# Of the user\n")
    with opened_store(home) as engine:  # so that its log is there, and locks to lose
        engine.save(Draft(title="Kept", what="x"))
        os.link(home / "memory.db", vault / "hard.db")
        (vault / "soft.db").symlink_to(home / "memory.db")
        (vault / "log.md").symlink_to(home / "memory.db-wal")
        os.link(home / "memory.db-wal", vault / "hard log.md")
        opened.clear()

        shell(command, vault, *(["--once"] if command == "watch" else []), code=None)

    assert {"Fine", "Of the user", "Kept"} == set(titles(shell))
    own = ("memory.db", "hard.db", "soft.db", "log.md", "-wal", "-shm", "-journal")
    assert not [path for path in opened if path.endswith(own)]


@pytest.mark.parametrize("name", ["memory.db", "memory.db-wal", "memory.db-shm", "soft.db"])
def test_the_store_itself_is_not_imported(shell: Shell, tmp_path: Path, name: str, opened: list[str]) -> None:
    shell("save", "Kept", "--what", "x")
    for end in ("-wal", "-shm"):
        (shell.home / f"memory.db{end}").touch()
    (shell.home / "soft.db").symlink_to("memory.db")
    opened.clear()

    ran = shell("import", shell.home / name, code=2)

    assert "belongs to the database of memory" in ran.err
    assert not [path for path in opened if name in path]


def test_what_was_left_out_is_told_once_while_it_is_watched(vault: Path, tmp_path: Path) -> None:
    with opened_store(tmp_path / "home") as engine:
        watched = Watched(engine, vault, None, prune=True)
        assert len([one for one in watched.look() if isinstance(one, LeftOut)]) == len(LEFT)
        assert not [*watched.look()]


def test_json_says_it_too(shell: Shell, vault: Path) -> None:
    found = json.loads(shell("import", vault, "--json").out)

    assert len(found["left_out"]) == len(LEFT)
    assert found["skips"] == 0
