"""What `memory config set` does to a file; tests/laws/test_edit.py has the laws of its text."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from memory.config import load, value
from memory.config.edit import changed, example, write_settings
from memory.schema.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")

WRITER = """
import sys
from memory.config import load, value
from memory.config.edit import write_settings
file, key = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
for number in range(1, 26):
    write_settings(file, {key: number})
    assert value(load(file, env={}), key) == number, f"{key} lost {number}"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"search:\n  limit: 3\n")
    return file


def test_two_processes_that_set_different_keys_lose_nothing(file: Path) -> None:
    keys = ("search.limit", "embedding.batch_size", "context.tokens")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, file, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for key in keys
    ]
    ready = [writer.stdout.readline() for writer in writers]

    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)

    assert ready == ["ready\n"] * 3
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert [value(load(file, env={}), key) for key in keys] == [25, 25, 25]
    assert list(file.parent.iterdir()) == [file]


def test_what_an_editor_wrote_after_the_file_was_read_stays(file: Path) -> None:
    class Slow(dict[str, object]):
        """Settings during whose first look an editor, which takes no lock, saves the file."""

        def items(self):
            if b"Anna" not in file.read_bytes():
                file.write_bytes(b"# Anna\nsearch:\n  limit: 3\n  mode: keyword\n")
            return super().items()

    write_settings(str(file), Slow({"search.limit": 9}))

    assert file.read_bytes() == b"# Anna\nsearch:\n  limit: 9\n  mode: keyword\n"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows locks no folders")
def test_the_folder_is_locked_while_a_file_is_changed(file: Path) -> None:
    import fcntl

    folder, refused = os.open(file.parent, os.O_RDONLY), []

    class Watched(dict[str, object]):
        def items(self):
            with pytest.raises(BlockingIOError) as caught:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            refused.append(caught.value)
            return super().items()

    write_settings(str(file), Watched({"search.limit": 9}))

    assert len(refused) == 1
    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it is free again
    os.close(folder)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"# my\r\nsearch:\r\n  limit: 3\r\n", b"# my\r\nsearch:\r\n  limit: 9\r\n"),
        (b"# my\r\nstore:\n", b"# my\r\nstore:\n\r\nsearch:\r\n  limit: 9\r\n"),
        (b"\xef\xbb\xbfsearch:\n  limit: 3\n", b"\xef\xbb\xbfsearch:\n  limit: 9\n"),
        (b"\xef\xbb\xbf# \xe2\x9c\x93\r\nsearch:\r\n", b"\xef\xbb\xbf# \xe2\x9c\x93\r\nsearch:\r\n  limit: 9\r\n"),
        (b"search:\n  limit: 3", b"search:\n  limit: 9\n"),
    ],
    ids=["CRLF", "mixed", "mark", "both", "no end"],
)
def test_line_endings_and_a_byte_order_mark_stay(file: Path, before: bytes, after: bytes) -> None:
    file.write_bytes(before)

    write_settings(str(file), {"search.limit": 9})

    assert file.read_bytes() == after


def test_a_missing_file_is_made_from_the_example(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"

    write_settings(str(file), {"search.limit": 9, "search.mode": "keyword"})

    lines = file.read_text().splitlines()
    assert {"search:", "  limit: 9", "  mode: keyword"} == set(lines) - set(example().splitlines())
    assert len(lines) == len(example().splitlines())


def test_a_setting_that_is_there_already_leaves_the_file_untouched(file: Path) -> None:
    before = file.stat()

    write_settings(str(file), {"search.limit": 3})

    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_refused_change_takes_the_others_with_it(file: Path) -> None:
    file.write_bytes(b"search:\n  limit: 3\nstore: {}\n")

    with pytest.raises(ConfigError, match="line by line"):
        write_settings(str(file), {"search.limit": 9, "store.url": "postgresql://host/notes"})

    assert file.read_bytes() == b"search:\n  limit: 3\nstore: {}\n"
    assert list(file.parent.iterdir()) == [file]


def test_a_read_only_file_is_refused_also_to_root(file: Path) -> None:
    file.chmod(0o444)

    with pytest.raises(ConfigError, match="is read-only"):
        write_settings(str(file), {"search.limit": 9})

    assert file.read_bytes() == b"search:\n  limit: 3\n"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes and links only for some")
def test_mode_and_link_stay(file: Path, tmp_path: Path) -> None:
    file.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(file.name)

    write_settings(str(link), {"search.limit": 9})

    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert value(load(file, env={}), "search.limit") == 9


@root
def test_owner_and_group_stay(file: Path) -> None:
    os.chown(file, 1234, 2345)

    write_settings(str(file), {"search.limit": 9})

    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 2345)


@root
def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "null"
    try:
        os.mknod(file, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # /dev/null by another name
    except PermissionError:
        pytest.skip("no devices can be made here")

    with pytest.raises(ConfigError, match="not a regular file"):
        write_settings(str(file), {"search.limit": 9})

    assert stat.S_ISCHR(file.stat().st_mode)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("key", "new", "before", "after"),
    [
        ("search.limit", 9, "search:\n  limit: 3  # Anna wants three\n", "search:\n  limit: 9  # Anna wants three\n"),
        ("search.limit", 9, "search:\n  limit:   3  \n", "search:\n  limit:   9  \n"),
        ("search.limit", 9, "search:\n  limit:  # none yet\n", "search:\n  limit: 9  # none yet\n"),
        ("search.mode", "hybrid", "search:\n  mode: 'keyword' # x\n", "search:\n  mode: hybrid # x\n"),
        ("embedding.model", "a #b", 'embedding:\n  model: "c # d" # e\n', 'embedding:\n  model: "a #b" # e\n'),
        ("embedding.model", "a", "embedding:\n  model: b#c # d\n", "embedding:\n  model: a # d\n"),
        ("home", "/a", "home: /b # ours\n", 'home: "/a" # ours\n'),
    ],
)
def test_what_stands_behind_a_value_stays(key: str, new: object, before: str, after: str) -> None:
    assert changed(before, key, new) == after


@pytest.mark.parametrize(
    ("key", "new", "before", "after"),
    [
        ("search.limit", 9, "search:\n# limit: was 3\n", "search:\n  limit: 9\n# limit: was 3\n"),
        ("search.limit", 9, "search:\n#   limit: 7\n", "search:\n  limit: 9\n#   limit: 7\n"),
        ("search.limit", 9, "# search:\n# said Bob\n", "# search:\n# said Bob\n\nsearch:\n  limit: 9\n"),
        ("home", "a", "# home: is where the heart is\n", "home: a\n# home: is where the heart is\n"),
    ],
)
def test_a_comment_in_ones_own_words_is_no_setting(key: str, new: object, before: str, after: str) -> None:
    assert changed(before, key, new) == after


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_of_the_example_becomes_the_setting(end: str) -> None:
    text = example().replace("\n", end)

    both = changed(changed(text, "context.tokens", 9), "home", "/a")

    assert [line for line in both.splitlines() if line and line[0] != "#"] == ['home: "/a"', "context:", "  tokens: 9"]
    assert both.count(end) == both.count("\n") == text.count(end)


def test_the_example_of_another_place_stays() -> None:
    text = "search:\n  mode: keyword\n" + example()

    assert changed(text, "search.limit", 9) == "search:\n  limit: 9\n  mode: keyword\n" + example()


@pytest.mark.parametrize("text", ["search: {limit: 9}\n", 'search:\n  "limit": 9\n', "search:\n  limit: 0x9\n"])
def test_what_is_set_already_stays_in_any_writing(text: str) -> None:
    assert changed(text, "search.limit", 9) == text


def test_a_section_without_settings_takes_one() -> None:
    assert changed("search:\nstore:\n", "search.limit", 9) == "search:\n  limit: 9\nstore:\n"


def test_a_line_of_a_longer_text_is_no_setting() -> None:
    text = "embedding:\n  base_url: |\n    model: x\n"

    new = changed(text, "embedding.model", "z")

    assert new == "embedding:\n  model: z\n  base_url: |\n    model: x\n"
