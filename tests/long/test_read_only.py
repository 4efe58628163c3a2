"""A folder, a file or a disk that may be read and not written: everything but a write works on it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import apsw
import pytest
from command import COMMAND, Ran, Shell
from formats_made import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WEAK = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
"""Root may write anywhere; so it runs a command without the right to."""

READING = [
    ["search", "alpha"],
    ["search", "alpha beta", "--mode", "hybrid"],
    ["list"],
    ["details", "1"],
    ["status"],
    ["context", "alpha"],
    ["export"],
]
WRITING = [["save", "new"], ["delete", "1"], ["update", "1", "--what", "new"]]


def as_reader() -> tuple[str, ...]:
    if os.geteuid() != 0:
        return ()
    if shutil.which(WEAK[0]) is None:
        pytest.skip("root may write anywhere, and without setpriv it cannot give that up")
    return WEAK


def ran(shell: Shell, *words: str, before: tuple[str, ...] = ()) -> Ran:
    run = subprocess.run(
        [*before, COMMAND, *words], env=shell.env, cwd=shell.folder, capture_output=True, timeout=60, check=False
    )
    found = Ran(run.returncode, run.stdout.decode(), run.stderr.decode())
    assert "Traceback" not in found.err, found.err
    return found


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path / "home", tmp_path, {"TMPDIR": str(tmp_path / "tmp")})
    (tmp_path / "tmp").mkdir()
    shell("save", "alpha", "--what", "beta gamma")
    yield shell
    shell.home.chmod(0o700)


def folder(shell: Shell) -> None:
    shell.home.chmod(0o555)


def file_and_folder(shell: Shell) -> None:
    (shell.home / "memory.db").chmod(0o444)
    shell.home.chmod(0o555)


def file(shell: Shell) -> None:
    (shell.home / "memory.db").chmod(0o444)


def in_the_log(shell: Shell) -> None:
    """A save that stands in the log alone, as a process that was killed leaves it."""
    kept = shell.home.with_name("kept")
    with closing(apsw.Connection(str(shell.home / "memory.db"))) as holding:
        holding.execute("begin; select count(*) from memories").fetchall()  # so that nobody empties the log
        shell("save", "alpha in the log")
        shutil.copytree(shell.home, kept)
        holding.execute("commit")
    shutil.rmtree(shell.home)
    (kept / "memory.db-shm").unlink()
    kept.rename(shell.home)
    assert (shell.home / "memory.db-wal").stat().st_size > 0


@pytest.mark.parametrize("rights", [folder, file_and_folder, file], ids=lambda rights: rights.__name__)
@pytest.mark.parametrize("log", [False, True], ids=["no log", "log"])
def test_what_may_only_be_read_is_read(shell: Shell, rights: Callable[[Shell], None], log: bool) -> None:
    if log:
        in_the_log(shell)
    rights(shell)
    before = contents(shell)

    for words in READING:
        found = ran(shell, *words, before=as_reader())
        assert found.code == 0, found
        assert "alpha" in found.out or words == ["status"]
        if log and words[0] in {"search", "list", "export"}:
            assert "alpha in the log" in found.out
    for words in WRITING:
        found = ran(shell, *words, "--json", before=as_reader())
        assert found.code == 1, found
        assert found.error["error"] == "StoreReadOnly"
        assert str(shell.home / "memory.db") in found.error["message"]
        assert found.error["hint"]

    assert list((shell.folder / "tmp").iterdir()) == []  # copies are taken away
    assert rights is file or contents(shell) == before


READER = """
import sys
from memory import Engine
from memory.config import load
with Engine.open(load()) as engine:
    for line in sys.stdin:
        try:
            print(*(memory.title for memory in engine.recent()), sep=",", flush=True)
        except Exception as error:
            print(type(error).__name__, error, flush=True)
"""


def test_a_reader_that_lives_long_sees_what_others_write(shell: Shell) -> None:
    shell.home.chmod(0o555)
    reader = subprocess.Popen(
        [*as_reader(), sys.executable, "-c", READER],
        env=shell.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def titles() -> str:
        reader.stdin.write("\n")
        reader.stdin.flush()
        return reader.stdout.readline().rstrip("\n")

    with reader:
        seen = [titles()]
        if os.geteuid() != 0:
            shell.home.chmod(0o755)
        shell("save", "second")
        seen.append(titles())
        with closing(apsw.Connection(str(shell.home / "memory.db"))) as holding:
            holding.execute("begin; select count(*) from memories").fetchall()
            shell("save", "third")  # in the log alone
            seen.append(titles())
        seen.append(titles())

    assert seen == ["alpha", "second,alpha", "third,second,alpha", "third,second,alpha"]


def test_the_doctor_says_what_it_cannot_find_out_there(shell: Shell) -> None:
    shell.home.chmod(0o500)

    looked, mended = (ran(shell, "doctor", *words, "--json", before=as_reader()) for words in ([], ["--fix"]))

    assert (looked.code, mended.code) == (0, 0)
    told = {finding["name"]: finding for finding in looked.json["findings"]}
    assert told["database"]["well"]
    assert "is sound; " in told["database"]["told"]
    assert "where nothing may be written" in told["database"]["told"]
    assert told["database"]["hint"] == ""
    assert told["secrets"]["well"]
    assert mended.json == looked.json


def test_what_is_too_large_to_be_copied_is_refused(shell: Shell) -> None:
    in_the_log(shell)
    os.truncate(shell.home / "memory.db-wal", 1 << 30)  # a file with a hole, which takes no room
    shell.home.chmod(0o555)

    error = ran(shell, "list", "--json", before=as_reader()).error

    assert "too many to copy" in error["message"]
    assert f"{(1 << 30) + (shell.home / 'memory.db').stat().st_size:,}" in error["message"]
    assert error["hint"]


@pytest.mark.parametrize("log", [False, True], ids=["no log", "log"])
def test_a_file_of_an_older_format_moves_to_where_may_be_written(shell: Shell, log: bool) -> None:
    path = unpacked(8, shell.home)
    if log:
        with closing(apsw.Connection(str(path))) as writing:
            writing.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            writing.execute("update memories set description = 'said by the log' where id = 1")
        (shell.home / "memory.db-shm").unlink()
    before = contents(shell)
    shell.home.chmod(0o555)

    assert ran(shell, "list", "--json", before=as_reader()).error["error"] == "StoreTooOld"
    assert "is read-only for you" in ran(shell, "migrate", str(shell.home), before=as_reader()).err
    target = str(shell.folder / "target")
    facts = ran(shell, "migrate", str(shell.home), target, "--verify", "--json", before=as_reader()).json

    assert (facts["memories"], facts["verified"]["same"]) == (5, True)
    assert ("said by the log" in ran(shell, "--home", target, "export").out) is log
    assert contents(shell) == before
    assert list((shell.folder / "tmp").iterdir()) == []


def test_an_agent_searches_what_may_only_be_read(shell: Shell) -> None:
    in_the_log(shell)
    shell.home.chmod(0o555)
    requests = [
        (
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        ),
        ("tools/call", {"name": "memory_search", "arguments": {"query": "alpha"}}),
        ("tools/call", {"name": "memory_context", "arguments": {"query": "alpha"}}),
        ("tools/call", {"name": "memory_save", "arguments": {"title": "new"}}),
    ]

    with subprocess.Popen(
        [*as_reader(), COMMAND, "mcp"],
        env=shell.env,
        cwd=shell.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        answers = []
        for id, (method, params) in enumerate(requests):
            print(
                json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
                file=server.stdin,
                flush=True,
            )
            answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        assert server.wait(60) == 0

    assert list((shell.folder / "tmp").iterdir()) == []
    _, found, context, refused = (answer["result"] for answer in answers)
    assert "alpha in the log" in found["content"][0]["text"]
    assert "alpha in the log" in context["content"][0]["text"]
    assert refused["isError"]
    assert "may only be read" in refused["content"][0]["text"]


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
ASKED = [("initialize", HELLO), ("tools/call", {"name": "memory_search", "arguments": {"query": "alpha"}})]


def ended_by(shell: Shell, number: int) -> int:
    """The exit code of a server that has searched, and then is sent a signal."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(
        [*as_reader(), COMMAND, "mcp"], env=shell.env, cwd=shell.folder, text=True, **pipes
    ) as server:
        for id, (method, params) in enumerate(ASKED):
            request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            print(json.dumps(request), file=server.stdin, flush=True)
            answer = server.stdout.readline()
        assert "alpha in the log" in answer
        server.send_signal(number)
        return server.wait(60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_ended_leaves_no_copy(shell: Shell, number: signal.Signals) -> None:
    in_the_log(shell)
    shell.home.chmod(0o555)

    assert ended_by(shell, number) == 128 + number
    assert list((shell.folder / "tmp").iterdir()) == []


def test_the_next_copy_takes_away_that_of_a_process_that_was_killed(shell: Shell) -> None:
    in_the_log(shell)
    shell.home.chmod(0o555)
    others = shell.folder / "tmp" / "memory-of-others"
    others.mkdir()

    assert ended_by(shell, signal.SIGKILL) == -signal.SIGKILL
    assert len(list((shell.folder / "tmp").iterdir())) == 2
    found = ran(shell, "list", before=as_reader())

    assert "alpha in the log" in found.out
    assert list((shell.folder / "tmp").iterdir()) == [others]


def test_a_copy_in_use_is_left(shell: Shell) -> None:
    in_the_log(shell)
    shell.home.chmod(0o555)
    with subprocess.Popen(
        [*as_reader(), sys.executable, "-c", READER],
        env=shell.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        print(file=reader.stdin, flush=True)
        assert "alpha in the log" in reader.stdout.readline()
        [copy] = (shell.folder / "tmp").iterdir()
        assert ran(shell, "list", before=as_reader()).code == 0
        assert list((shell.folder / "tmp").iterdir()) == [copy]
        reader.stdin.close()


def contents(shell: Shell) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in shell.home.iterdir()}


@pytest.mark.parametrize("log", [False, True], ids=["no log", "log"])
def test_a_disk_that_may_only_be_read_is_read(shell: Shell, log: bool) -> None:
    if log:
        in_the_log(shell)
    mounted = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" || exit 77; shift 0; exec "$@"'
    before = ("unshare", "--mount", "sh", "-c", mounted, str(shell.home))
    if shutil.which("unshare") is None or ran(shell, "--version", before=before).code != 0:
        pytest.skip("this user may not mount a disk")

    for words in READING:
        found = ran(shell, *words, before=before)
        assert found.code == 0, found
        assert ("alpha in the log" in found.out) is (log and words[0] in {"search", "list", "export", "context"})
    refused = ran(shell, "save", "new", "--json", before=before)
    assert (refused.code, refused.error["error"]) == (1, "StoreReadOnly")
