"""Files that somebody names: read to their end if they have one near enough, else refused."""

from __future__ import annotations

import errno
import io
import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from memory.config import files
from memory.config.files import bounded, contents


class _Endless(io.RawIOBase):
    """Zeros without end, and how many were read."""

    def __init__(self) -> None:
        self.read_so_far = 0

    def read(self, size: int = -1) -> bytes:
        assert size >= 0, "all of it was asked for"
        self.read_so_far += size
        return bytes(size)


@given(st.binary(max_size=50), st.integers(0, 60))
def test_a_file_is_read_whole_or_not_at_all(tmp_path_factory: pytest.TempPathFactory, data: bytes, most: int) -> None:
    path = tmp_path_factory.getbasetemp() / "given"
    path.write_bytes(data)

    if len(data) <= most:
        assert contents(path, most) == data
    else:
        with pytest.raises(OSError, match="the limit") as caught:
            contents(path, most)
        assert caught.value.errno == errno.EFBIG


@pytest.mark.parametrize("most", [0, 5, 3 << 20])
def test_of_what_has_no_end_one_byte_more_than_the_limit_is_read(most: int) -> None:
    endless = _Endless()

    with pytest.raises(OSError, match="the limit"):
        bounded(endless, most, "zeros")
    assert endless.read_so_far == most + 1


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/urandom", "/dev/full"])
@pytest.mark.parametrize("link", [False, True])
def test_a_device_is_refused(tmp_path: Path, name: str, link: bool) -> None:
    path = Path(name)
    if link:
        path = tmp_path / "notes.md"
        path.symlink_to(name)

    with pytest.raises(OSError, match="a device") as caught:
        contents(path, 10)
    assert caught.value.filename == str(path)


@pytest.mark.parametrize("name", ["/proc/self/status", "/proc/kmsg", "/proc/version", "/sys/kernel/mm/ksm/run"])
@pytest.mark.parametrize("link", [False, True])
def test_what_the_system_makes_up_is_refused(tmp_path: Path, name: str, link: bool) -> None:
    path = Path(name)
    if not path.exists():
        pytest.skip(f"no {name} here")
    if link:
        path = tmp_path / "notes.md"
        path.symlink_to(name)

    with pytest.raises(OSError, match=f"a file of /{name.split('/')[1]}"):
        contents(path, 1 << 20)


def test_a_folder_and_a_socket_are_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        contents(tmp_path, 10)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        with pytest.raises(OSError, match="a socket"):
            contents(tmp_path / "s", 10)


def test_the_null_device_is_an_empty_file() -> None:
    assert contents(os.devnull, 0) == b""


def test_a_link_to_an_ordinary_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "b").symlink_to("a")

    assert contents(tmp_path / "b", 10) == b"text"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_named_pipe_is_read_to_its_end(pipe: Path) -> None:
    text = b"x" * 300_000  # more than a pipe holds
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()

    assert contents(pipe, 1 << 20) == text
    writer.join(60)


def test_a_pipe_of_a_command_is_read_by_its_number() -> None:
    out, into = os.pipe()
    os.write(into, b"text")
    os.close(into)
    try:
        assert contents(f"/dev/fd/{out}", 10) == b"text"
    finally:
        os.close(out)


def test_a_pipe_that_nobody_writes_to_is_given_up(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FIRST_BYTE_SECONDS", 0.01)

    with pytest.raises(TimeoutError, match="this pipe sent nothing"):
        contents(pipe, 10)


def test_after_the_first_byte_a_pipe_may_take_its_time(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FIRST_BYTE_SECONDS", 60.0)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(contents(pipe, 10)))
    reader.start()
    with pipe.open("wb", buffering=0) as writer:
        writer.write(b"a")
        monkeypatch.setattr(files, "FIRST_BYTE_SECONDS", 0.0)  # whoever looked at it again would give up
        writer.write(b"b")
    reader.join(60)

    assert got == [b"ab"]
