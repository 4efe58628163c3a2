"""The one writer of files: whole or not at all, whatever happens to the process, the disk or the file."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from memory.cli.options import write_lines
from memory.config.files import folders, new_file, read_only, sweep, write_file

if TYPE_CHECKING:
    from pathlib import Path

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")

HALF = """
import sys
from memory.config.files import new_file
with new_file(sys.argv[1], overwrite=sys.argv[2] == "True") as file:
    file.write(b"x" * 500_000)
    file.flush()
    print("half", flush=True)
    sys.stdin.read()
"""

TOO_LARGE = """
import resource, signal, sys
from memory.config.files import write_file
signal.signal(signal.SIGXFSZ, getattr(signal, sys.argv[2]))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write_file(sys.argv[1], b"x" * 500_000)
except OSError as error:
    sys.exit(error.strerror)
"""

READ_ONLY = """
import os, sys
from memory.config.files import write_file
if os.geteuid() == 0:  # root may write anywhere
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    write_file("old", b"new")
except OSError as error:
    sys.exit(error.strerror)
"""


def program(text: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, **options)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    old = tmp_path / "old"
    old.write_text("mine")
    return old


@pytest.mark.parametrize("overwrite", [True, False])
def test_kill_9_in_the_middle_leaves_what_was_there(old: Path, overwrite: bool) -> None:
    target = old if overwrite else old.with_name("new")
    child = subprocess.Popen(
        [sys.executable, "-c", HALF, target, str(overwrite)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout.readline() == "half\n"
        child.kill()

    assert child.returncode == -signal.SIGKILL
    (beside,) = old.parent.glob(".memory.*.new")
    assert beside.stat().st_size == 500_000
    sweep(old.parent)
    assert [path.read_text() for path in old.parent.iterdir()] == ["mine"]


def test_what_somebody_still_writes_is_not_swept(old: Path) -> None:
    other = old.with_name(".memory.0123456789abcdef.new")
    other.symlink_to(old)
    os.mkfifo(other.with_name(".memory.pipe.new"))
    child = subprocess.Popen(
        [sys.executable, "-c", HALF, old, "True"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout.readline() == "half\n"
        sweep(old.parent)
        child.communicate("")

    assert child.returncode == 0
    assert old.read_text() == "x" * 500_000
    assert sorted(path.name for path in old.parent.iterdir()) == [other.name, ".memory.pipe.new", "old"]
    sweep(old.parent / "gone")  # which is not there


def test_many_writers_and_sweepers_at_once_lose_no_file(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for _ in range(100):
            write_file(tmp_path / str(number % 4), b"whole")
            sweep(tmp_path)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(write, range(8))) == [None] * 8

    assert sorted((path.name, path.read_text()) for path in tmp_path.iterdir()) == [(f"{n}", "whole") for n in range(4)]


@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_leaves_what_was_there(old: Path, there: bool) -> None:
    ran = program(TOO_LARGE, old if there else old.with_name("new"), "SIG_IGN")

    assert (ran.returncode, ran.stderr) == (1, "File too large\n")
    assert [path.read_text() for path in old.parent.iterdir()] == ["mine"]


def test_a_signal_in_the_middle_of_a_write_leaves_what_was_there(old: Path) -> None:
    assert program(TOO_LARGE, old, "SIG_DFL").returncode == -signal.SIGXFSZ
    assert old.read_text() == "mine"


def test_in_a_folder_that_is_read_only_nothing_changes(old: Path) -> None:
    old.chmod(0o666)
    old.parent.chmod(0o555)

    ran = program(READ_ONLY, cwd=old.parent)

    old.parent.chmod(0o755)
    assert (ran.returncode, ran.stderr) == (1, "Permission denied\n")
    assert [path.read_text() for path in old.parent.iterdir()] == ["mine"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_file_has_its_name_only_when_all_of_it_is_on_the_disk(
    old: Path, overwrite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = old if overwrite else old.with_name("new")
    synced = []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        found = os.fstat(descriptor)
        synced.append((found.st_ino, found.st_size, target.exists() and target.read_text()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    write_file(target, b"x" * 500, overwrite=overwrite)

    assert synced == [(target.stat().st_ino, 500, "mine" if overwrite else False)]


@pytest.mark.parametrize("overwrite", [True, False])
def test_the_check_comes_last_and_what_it_raises_leaves_what_was_there(old: Path, overwrite: bool) -> None:
    target = old if overwrite else old.with_name("new")

    def check() -> None:
        (beside,) = old.parent.glob(".memory.*.new")
        assert beside.read_text() == "all of it"
        raise LookupError

    with pytest.raises(LookupError):
        write_file(target, b"all of it", overwrite=overwrite, check=check)
    assert [path.read_text() for path in old.parent.iterdir()] == ["mine"]


def test_what_ends_the_block_leaves_what_was_there(old: Path) -> None:
    def half() -> None:
        with new_file(old) as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert [path.read_text() for path in old.parent.iterdir()] == ["mine"]


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077, 0o002])
def test_a_new_file_honours_the_umask_and_an_old_one_keeps_its_rights(old: Path, mask: int, private: bool) -> None:
    new = old.with_name("new")
    old.chmod(0o646)
    before = os.umask(mask)
    try:
        write_file(new, b"text", overwrite=False, private=private)
        write_file(old, b"text", private=private)
    finally:
        os.umask(before)

    assert mode(new) == (0o600 if private else 0o666 & ~mask)
    assert mode(old) == (0o600 if private else 0o646)


@root
@pytest.mark.parametrize("private", [True, False])
def test_owner_and_group_stay_unless_it_is_private(old: Path, private: bool) -> None:
    os.chown(old, 1234, 2345)

    write_file(old, b"text", private=private)

    found = old.stat()
    assert (found.st_uid, found.st_gid) == ((os.geteuid(), os.getegid()) if private else (1234, 2345))


def test_a_link_is_replaced_itself_and_none_is_written_through(old: Path) -> None:
    link = old.with_name("link")
    link.symlink_to(old.name)

    with pytest.raises(FileExistsError):
        write_file(link, b"text", overwrite=False)
    write_file(link, b"text")

    assert not link.is_symlink()
    assert (link.read_text(), old.read_text()) == ("text", "mine")


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
@pytest.mark.parametrize("overwrite", [True, False])
def test_what_is_no_ordinary_file_stays(tmp_path: Path, kind: str, overwrite: bool) -> None:
    path = tmp_path / kind
    try:
        match kind:
            case "folder":
                path.mkdir()
            case "pipe":
                os.mkfifo(path)
            case _:
                os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # /dev/null by another name
    except PermissionError:
        pytest.skip("no devices can be made here")
    before = path.stat()

    with pytest.raises(OSError, match=r"File exists|Is a directory|not a regular file"):
        write_file(path, b"text", overwrite=overwrite)

    assert (path.stat().st_ino, path.stat().st_mode) == (before.st_ino, before.st_mode)
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_may_be_as_long_as_the_disk_takes_it_and_no_longer(tmp_path: Path) -> None:
    for overwrite in (False, True):
        write_file(tmp_path / ("x" * 255), b"text", overwrite=overwrite)

    with pytest.raises(OSError, match="too long"):
        write_file(tmp_path / ("x" * 256), b"text")
    assert [path.name for path in tmp_path.iterdir()] == ["x" * 255]


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system without hard links."""

    def link(*_args: Any, **_options: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)


@pytest.mark.parametrize("links", [True, False])
def test_of_many_that_make_a_file_at_once_one_does(tmp_path: Path, links: bool, request: Any) -> None:
    if not links:
        request.getfixturevalue("no_links")

    texts = [f"{number}".encode() * 100_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        pending = [pool.submit(write_file, tmp_path / "x", text, overwrite=False) for text in texts]
        errors = [one.exception() for one in pending]

    (made,) = [text for text, error in zip(texts, errors, strict=True) if error is None]
    assert all(isinstance(error, FileExistsError) for error in errors if error)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [made]


def test_folders_are_made_and_taken_away_again(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        with folders(path):
            assert path.is_dir()
            raise LookupError

    with folders(tmp_path / "a/b", private=True):
        (tmp_path / "a/b/file").touch()
    with pytest.raises(LookupError):
        fail(tmp_path / "a/c/d")
    with pytest.raises(NotADirectoryError, match="file is a file"):
        fail(tmp_path / "a/b/file/c")

    assert (mode(tmp_path / "a"), mode(tmp_path / "a/b")) == (0o700, 0o700)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "file"]


def test_read_only_is_what_its_rights_forbid_to_anybody(old: Path) -> None:
    assert not read_only(old)
    old.chmod(0o444)
    assert read_only(old)


def test_an_export_has_its_name_only_when_it_has_all_lines(tmp_path: Path) -> None:
    seen = []

    def lines():
        for line in ("one", "two"):
            seen.append((tmp_path / "out").exists())
            yield line

    assert write_lines(str(tmp_path / "out"), lines(), str(tmp_path / "memory.db"), force=False) == 2
    assert (tmp_path / "out").read_bytes() == b"one\ntwo\n"
    assert (seen, mode(tmp_path / "out")) == ([False, False], 0o600)
