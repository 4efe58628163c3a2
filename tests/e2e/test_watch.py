"""`memory watch`, and the import that it shares, on real folders."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import pytest
from asleep import asleep
from command import COMMAND, Shell
from locks import locked

from memory import Config, Engine
from memory.tools.watch import FileChange, Watched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from memory.schema.errors import Error

PATIENCE = 60  # seconds for a change to be noticed: nothing here waits for so long unless it is broken


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in a repository called shop, which has a folder of Markdown."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "docs" / "deep").mkdir(parents=True)
    (folder / "docs" / "one.md").write_text("# One\n")
    (folder / "docs" / "deep" / "two.markdown").write_text("No heading.\n")
    return Shell(tmp_path / "home", folder)


@dataclass(slots=True)
class Watch:
    """A `memory watch --json` that runs."""

    process: subprocess.Popen[bytes]

    def line(self) -> dict[str, Any]:
        """The next line on stdout."""
        return read(self.process.stdout)

    def error(self) -> dict[str, Any]:
        """The next line on stderr."""
        return read(self.process.stderr)

    def next(self) -> tuple[str, str]:
        """The next change, and of which file."""
        line = self.line()
        return line["change"], line["file"]

    def asleep(self) -> AbstractContextManager[None]:
        """It looks at nothing half-written."""
        return asleep(self.process)

    def interrupt(self) -> tuple[str, str]:
        """Ctrl-C, and what was said since."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=PATIENCE)
        return out.decode(), err.decode().strip()  # click ends a line that a terminal may have begun


def read(stream: IO[bytes]) -> dict[str, Any]:
    """A line of a pipe that is not buffered here: what was read ahead, select would wait for."""
    assert select.select([stream], [], [], PATIENCE)[0], "nothing was noticed"
    return json.loads(stream.readline())


@pytest.fixture
def watching(shell: Shell) -> Iterator[Any]:
    """Begins to watch a folder that is up to date already."""
    begun: list[Watch] = []

    def watch(*arguments: str) -> Watch:
        shell("watch", "docs", "--once")
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
        begun.append(one := Watch(shell.start("watch", "docs", "--json", *arguments, **pipes)))
        (shell.folder / "ready").write_text("# Ready\n")
        (shell.folder / "ready").rename(shell.folder / "docs" / "ready.md")
        assert one.next() == ("kept", "docs/ready.md")  # by its first look perhaps; the next is by an event
        with one.asleep():
            (shell.folder / "docs" / "ready.md").write_text("# Ready\n\nReally.\n")
        assert one.next() == ("updated", "docs/ready.md")
        return one

    yield watch
    for one in begun:
        one.process.kill()
        one.process.communicate()


def told(shell: Shell, *arguments: str) -> list[tuple[str, str]]:
    """What one pass does, a pair a line."""
    return [
        (line["change"], line["file"])
        for line in map(json.loads, shell("watch", "docs", "--once", "--json", *arguments).out.splitlines())
        if line["schema"] != "memory.sum/1"
    ]


def titles(shell: Shell) -> dict[str, int]:
    return {memory["title"]: memory["memory_id"] for memory in shell("list", "--json").json["memories"]}


# One pass ----------------------------------------------------------------


def test_a_pass_keeps_what_import_would_and_a_second_changes_nothing(shell: Shell) -> None:
    assert told(shell) == [("kept", "docs/deep/two.markdown"), ("kept", "docs/one.md")]

    assert told(shell) == []
    assert shell("import", "docs").out == "found 2: 0 saved, 0 updated, 2 already there, 0 left out\n"


def test_a_pass_says_what_it_did_to_people(shell: Shell) -> None:
    ran = shell("watch", "docs", "--once")

    assert ran.out == "saved docs/deep/two.markdown\nsaved docs/one.md\n"
    assert ran.err == "memory: found 2: 2 saved, 0 updated, 0 already there, 0 left out\n"
    again = shell("watch", "docs", "--once").err
    assert again == "memory: found 2: 0 saved, 0 updated, 2 already there, 0 left out\n"


def test_a_change_is_a_document(shell: Shell) -> None:
    line = json.loads(shell("watch", "docs", "--once", "--json").out.splitlines()[1])

    assert line["schema"] == "memory.watch/1"
    assert (line["memory"]["title"], line["memory"]["project"]) == ("One", "shop")


def test_a_changed_file_updates_its_memory(shell: Shell) -> None:
    told(shell)
    before = titles(shell)
    (shell.folder / "docs" / "one.md").write_text("# Uno\n")

    assert told(shell) == [("updated", "docs/one.md")]
    assert titles(shell) == {"Uno": before["One"], "two": before["two"]}


def test_a_file_that_is_renamed_keeps_its_memory(shell: Shell) -> None:
    told(shell)
    before = titles(shell)
    (shell.folder / "docs" / "deep" / "two.markdown").rename(shell.folder / "docs" / "three.md")

    assert told(shell, "--prune") == [("moved", "docs/three.md")]
    assert titles(shell) == {"One": before["One"], "three": before["two"]}
    assert told(shell, "--prune") == []


def test_a_copy_stays_when_its_original_goes(shell: Shell) -> None:
    (shell.folder / "docs" / "copy.md").write_text("# One\n")
    told(shell)
    (shell.folder / "docs" / "copy.md").unlink()

    assert told(shell, "--prune") == [("moved", "docs/one.md")]
    assert set(titles(shell)) == {"One", "two"}


def test_what_was_kept_of_a_file_that_is_gone_stays_and_that_is_said(shell: Shell) -> None:
    told(shell)
    (shell.folder / "docs" / "one.md").unlink()

    ran = shell("watch", "docs", "--once")

    assert ran.out == "gone docs/one.md\n"
    assert ran.err.startswith("memory: the memories of files that no longer exist stay: --prune deletes them\n")
    assert set(titles(shell)) == {"One", "two"}


def test_prune_deletes_what_was_kept_of_files_that_are_gone(shell: Shell) -> None:
    told(shell)
    shell("save", "A note", "--file", "docs/nowhere.md")
    (shell.folder / "docs" / "one.md").unlink()

    assert told(shell, "--prune") == [("deleted", "docs/one.md")]
    assert set(titles(shell)) == {"A note", "two"}
    assert told(shell, "--prune") == []


def test_prune_leaves_other_folders_projects_and_hands_alone(shell: Shell) -> None:
    (shell.folder / "notes").mkdir()
    (shell.folder / "notes" / "x.md").write_text("# Elsewhere\n")
    shell("import", "notes")
    shell("import", "docs", "--project", "other")
    shell("store", "knowledge_base", stdin="# By hand\n")
    told(shell)
    (shell.folder / "notes" / "x.md").unlink()
    (shell.folder / "docs" / "one.md").unlink()

    assert told(shell, "--prune") == [("deleted", "docs/one.md")]
    assert set(titles(shell)) == {"Elsewhere", "By hand", "One", "two"}  # One is the other project's


def test_prune_leaves_another_repositorys_files_of_the_same_path_alone(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "library" / ".git").mkdir(parents=True)
    (tmp_path / "library" / "docs").mkdir()
    (tmp_path / "library" / "docs" / "own.md").write_text("# Own\n")
    replace(shell, folder=tmp_path / "library")("import", "docs")

    told(shell, "--project", "library", "--prune")

    assert set(titles(shell)) == {"Own", "One", "two"}
    assert told(shell, "--project", "library", "--prune") == []


def test_prune_deletes_nothing_where_no_file_is_left(shell: Shell) -> None:
    told(shell)
    (shell.folder / "docs").rename(shell.folder / "moved")
    (shell.folder / "docs").mkdir()

    ran = shell("watch", "docs", "--once", "--prune")

    assert "no Markdown file is left" in ran.err
    assert set(titles(shell)) == {"One", "two"}


def test_a_bad_file_is_told_and_the_others_are_kept(shell: Shell) -> None:
    (shell.folder / "docs" / "bad.md").write_bytes(b"\xff\xd8")

    ran = shell("watch", "docs", "--once", "--json", code=1)

    *changes, became = map(json.loads, ran.out.splitlines())
    assert len(changes) == 2
    assert [became[name] for name in ("found", "kept", "updated", "known")] == [3, 2, 0, 0]
    assert [(one["name"], one["why"][:21]) for one in became["left_out"]] == [("docs/bad.md", "it is not UTF-8 text:")]


def test_the_same_file_by_two_names_is_one_memory(shell: Shell) -> None:
    (shell.folder / "docs" / "link.md").symlink_to("one.md")

    assert told(shell) == [("kept", "docs/deep/two.markdown"), ("kept", "docs/one.md")]
    assert told(shell, "--prune") == []


def test_an_empty_folder_is_no_error(shell: Shell) -> None:
    (shell.folder / "empty").mkdir()

    assert shell("watch", "empty", "--once").out == ""


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("nowhere", "no folder 'nowhere'"),
        ("", "no folder ''"),
        ("docs/one.md", "docs/one.md is not a folder"),
        ("x" * 300, "no folder 'xxx"),
    ],
    ids=["none", "blank", "file", "long"],
)
def test_what_is_no_folder_is_refused(shell: Shell, folder: str, said: str) -> None:
    assert said in shell("watch", folder, "--json", code=2).error["message"]
    assert not shell.home.exists()


# Waiting -----------------------------------------------------------------


def test_a_new_a_changed_and_a_replaced_file_are_noticed(shell: Shell, watching: Any) -> None:
    watch = watching()
    docs = shell.folder / "docs"

    with watch.asleep():
        (docs / "new.md").write_text("# New\n")
    assert watch.next() == ("kept", "docs/new.md")
    with watch.asleep():
        (docs / "one.md").write_text("# Uno\n")
    assert watch.next() == ("updated", "docs/one.md")
    (docs / ".one.md.swp").write_text("# Ein\n")
    (docs / ".one.md.swp").rename(docs / "one.md")
    assert watch.next() == ("updated", "docs/one.md")
    (docs / "new.md").rename(docs / "neu.md")
    assert watch.next() == ("moved", "docs/neu.md")
    (docs / "neu.md").unlink()
    assert watch.next() == ("gone", "docs/neu.md")

    became = json.loads(watch.interrupt()[0])
    assert [became[name] for name in ("found", "kept", "updated", "known")] == [3, 1, 1, 1]
    assert became["done"] == {"gone": 1, "moved": 1}
    assert set(titles(shell)) == {"Ready", "New", "Ein", "two"}


def test_a_folder_that_is_moved_in_brings_its_files(shell: Shell, watching: Any) -> None:
    (shell.folder / "else" / "v1.2").mkdir(parents=True)
    (shell.folder / "else" / "v1.2" / "x.md").write_text("# Moved in\n")
    watch = watching()

    (shell.folder / "else" / "v1.2").rename(shell.folder / "docs" / "v1.2")

    assert watch.next() == ("kept", "docs/v1.2/x.md")


def test_what_is_written_in_steps_between_two_looks_is_read_once(shell: Shell, watching: Any) -> None:
    watch = watching()

    with watch.asleep(), (shell.folder / "docs" / "one.md").open("w") as file:
        for part in ("", "# Whole\n", "\nand ", "more\n"):
            file.write(part)
            file.flush()
            os.fsync(file.fileno())

    line = watch.line()
    assert (line["change"], line["memory"]["title"]) == ("updated", "Whole")
    found = shell("details", str(line["memory"]["memory_id"]), "--json").json
    assert found["details"] == "# Whole\n\nand more\n"
    assert len(found["history"]) == 1


def test_a_file_that_is_there_for_a_moment_is_no_error(shell: Shell, watching: Any) -> None:
    watch = watching("--prune")
    docs = shell.folder / "docs"

    with watch.asleep():
        for n in range(50):
            (docs / f"brief{n}.md").write_text("# Brief\n")
            (docs / f"brief{n}.md").unlink()
        (docs / "bad.md").write_bytes(b"\xff")
        (docs / "bad.md").unlink()
        (docs / "last.md").write_text("# Last\n")

    assert watch.next() == ("kept", "docs/last.md")
    out, err = watch.interrupt()
    assert (len(out.splitlines()), err) == (1, "memory: interrupted")


def test_prune_deletes_while_it_waits(shell: Shell, watching: Any) -> None:
    watch = watching("--prune")

    (shell.folder / "docs" / "one.md").unlink()

    assert watch.next() == ("deleted", "docs/one.md")
    assert set(titles(shell)) == {"Ready", "two"}


def test_a_bad_file_does_not_end_the_waiting(shell: Shell, watching: Any) -> None:
    watch = watching()

    with watch.asleep():
        (shell.folder / "docs" / "bad.md").write_bytes(b"\xff")
    error = watch.error()
    with watch.asleep():
        (shell.folder / "docs" / "bad.md").write_text("# Good\n")

    assert "bad.md: it is not UTF-8 text" in error["message"]
    assert watch.next() == ("kept", "docs/bad.md")


def test_a_memory_that_is_deleted_by_hand_comes_back_with_the_next_change(shell: Shell, watching: Any) -> None:
    watch = watching()
    shell("delete", str(titles(shell)["One"]))

    with watch.asleep():
        (shell.folder / "docs" / "one.md").write_text("# Again\n")

    assert watch.next() == ("kept", "docs/one.md")


HASTY = """#!{python}
from memory.config.settings import StoreSettings

StoreSettings.busy_seconds = 0.1
{entry}
"""


def test_others_that_write_are_waited_for(shell: Shell, watching: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hasty = shell.folder / "hasty"
    hasty.write_text(HASTY.format(python=sys.executable, entry=COMMAND.read_text("utf-8").partition("\n")[2]))
    hasty.chmod(0o755)
    monkeypatch.setattr("command.COMMAND", hasty)
    watch = watching()

    with locked(shell.home / "memory.db"):
        with watch.asleep():
            (shell.folder / "docs" / "one.md").write_text("# Uno\n")
        error = watch.error()

    assert error["error"] == "StoreBusy"
    assert watch.next() == ("updated", "docs/one.md")


def test_ctrl_c_ends_it_with_what_was_done(shell: Shell) -> None:
    process = shell.start("watch", "docs", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = [process.stdout.readline() for _ in range(2)]
    assert process.stderr.readline() == b"memory: found 2: 2 saved, 0 updated, 0 already there, 0 left out\n"
    assert process.stderr.readline() == b"memory: watching docs; press Ctrl-C to stop\n"

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)

    assert said == [b"saved docs/deep/two.markdown\n", b"saved docs/one.md\n"]
    assert process.returncode == 130
    became = b"memory: found 2: 2 saved, 0 updated, 0 already there, 0 left out"
    assert (out, err.split(b"\n")) == (b"", [became, b"", b"memory: interrupted", b""])


def test_a_folder_that_goes_ends_it_and_deletes_nothing(shell: Shell, watching: Any) -> None:
    watch = watching("--prune")

    (shell.folder / "docs").rename(shell.folder / "moved")

    out, err = watch.process.communicate(timeout=PATIENCE)
    assert watch.process.returncode == 1
    assert json.loads(out)["schema"] == "memory.sum/1"
    assert "no longer exists" in json.loads(err)["message"]
    assert set(titles(shell)) == {"Ready", "One", "two"}


def test_a_reader_that_leaves_ends_it_at_the_next_change(shell: Shell, watching: Any) -> None:
    watch = watching()

    watch.process.stdout.close()
    with watch.asleep():
        (shell.folder / "docs" / "one.md").write_text("# Uno\n")

    assert watch.process.wait(PATIENCE) == 1
    assert watch.process.stderr.read() == b""
    watch.process.stdout = open(os.devnull, "rb")  # noqa: SIM115, PTH123  # what the fixture reads at the end


# Looks ------------------------------------------------------------------


@pytest.fixture
def watched(shell: Shell) -> Iterator[Watched]:
    """What looks at the folder, with prune; it is up to date."""
    silent = replace(Config(), home=str(shell.home), embedding=replace(Config().embedding, provider="none"))
    with Engine.open(silent) as engine:
        found = Watched(engine, shell.folder / "docs", "shop", prune=True)
        assert len(looked(found)) == 2
        yield found


def looked(watched: Watched) -> list[tuple[str, str]]:
    """What a look gives."""
    return [
        (found.done, found.name) if isinstance(found, FileChange) else ("error", str(found)) for found in watched.look()
    ]


def test_a_file_that_comes_back_is_not_pruned(shell: Shell, watched: Watched) -> None:
    one = shell.folder / "docs" / "one.md"
    one.rename(shell.folder / "docs" / "one.md~")  # as an editor does before it writes

    assert looked(watched) == []
    assert watched.again
    one.write_text("# Uno\n")
    assert looked(watched) == [("updated", "docs/one.md")]
    assert not watched.again


def test_a_file_that_stays_away_is_pruned_at_the_second_look(shell: Shell, watched: Watched) -> None:
    (shell.folder / "docs" / "one.md").unlink()

    assert [looked(watched) for _ in range(3)] == [[], [("deleted", "docs/one.md")], []]


def test_a_file_is_read_again_only_if_it_changed(shell: Shell, watched: Watched) -> None:
    one = shell.folder / "docs" / "one.md"
    before = one.stat()
    one.write_text("# Uno\n")
    os.utime(one, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert looked(watched) == [("updated", "docs/one.md")]
    assert looked(watched) == []


def test_a_copy_is_kept_when_its_original_changes(shell: Shell, watched: Watched) -> None:
    docs = shell.folder / "docs"
    (docs / "copy.md").write_text("# One\n")
    assert looked(watched) == []  # one memory speaks for both

    (docs / "one.md").write_text("# Uno\n")

    assert looked(watched) == [("updated", "docs/one.md")]
    assert watched.again
    assert looked(watched) == [("kept", "docs/copy.md")]
    assert not watched.again


def test_a_name_that_needs_mending_is_not_taken_for_gone(shell: Shell, watched: Watched) -> None:
    (shell.folder / "docs" / "two  blanks\nand a line.md").write_text("# Odd\n")

    assert looked(watched) == [("kept", "docs/two blanks and a line.md")]
    assert [looked(watched) for _ in range(2)] == [[], []]


def test_a_file_that_nobody_may_read_is_told_once(shell: Shell, watched: Watched) -> None:
    (shell.folder / "docs" / "bad.md").write_bytes(b"\xff")

    assert [[done for done, _ in looked(watched)] for _ in range(2)] == [["error"], []]


def both_changed(shell: Shell, watched: Watched) -> Iterator[FileChange | Error]:
    """A look that has read the first of two changed files."""
    for name in ("deep/two.markdown", "one.md"):
        (shell.folder / "docs" / name).write_text("# Changed\n\n" + name)
    look = watched.look()
    assert next(look).name == "docs/deep/two.markdown"
    return look


def test_a_file_that_vanishes_before_it_is_read_is_no_error(shell: Shell, watched: Watched) -> None:
    look = both_changed(shell, watched)
    (shell.folder / "docs" / "one.md").unlink()

    assert list(look) == []
    assert watched.again


def test_a_memory_that_is_deleted_before_its_update_is_kept_anew(shell: Shell, watched: Watched) -> None:
    look = both_changed(shell, watched)
    shell("delete", str(titles(shell)["One"]))

    assert list(look) == []
    assert watched.again
    assert looked(watched) == [("kept", "docs/one.md")]


# The import that it shares -----------------------------------------------


def test_five_hundred_files_are_imported_once(shell: Shell) -> None:
    for n in range(500):
        (shell.folder / "docs" / f"{n:03}.md").write_text(f"# File {n}\n\nAbout cookies and {n}.\n")

    first, second = (shell("import", "docs", "--json").json for _ in range(2))

    assert (first["kept"], first["known"], first["schema"]) == (502, 0, "memory.import/1")
    assert (second["kept"], second["updated"], second["known"]) == (0, 0, 502)


def test_files_of_the_same_path_in_two_repositories_are_two(shell: Shell) -> None:
    (shell.folder / "README.md").write_text("# Shop\n")
    (shell.folder / "vendored" / ".git").mkdir(parents=True)
    (shell.folder / "vendored" / "README.md").write_text("# Vendored\n")

    first, second = (shell("import", ".", "--json").json for _ in range(2))

    assert (first["kept"], second["known"], second["updated"]) == (4, 4, 0)
    files = {
        memory["title"]: memory["related_files"]
        for memory in shell("list", "--kind", "knowledge_base", "--json").json["memories"]
    }
    assert files["Shop"] == ["README.md"]
    assert files["Vendored"] == [str(shell.folder / "vendored" / "README.md")]


def test_a_link_out_of_the_folder_is_left_out_and_named(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("# Elsewhere\n")
    (shell.folder / "docs" / "link.md").symlink_to(tmp_path / "elsewhere.md")

    for ran in (shell("import", "docs"), shell("watch", "docs", "--once")):
        assert "docs/link.md: it is a link out of the folder" in ran.err.replace("left out: ", "")
    assert set(titles(shell)) == {"One", "two"}
