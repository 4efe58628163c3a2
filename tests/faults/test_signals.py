"""Ctrl-C and `kill`: what they end, what is kept, and that Ctrl-C does not mean a job in the background."""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest
from command import Shell
from interrupted import PATIENCE, asking, begun, ignoring

from memory.mcp import stdio

if TYPE_CHECKING:
    from pathlib import Path

    from provider import Provider

NOTES = 40


@pytest.fixture
def shell(tmp_path: Path, provider: Provider) -> Shell:
    """One whose memories wait for the vectors of a server, each for a request of its own."""
    kept = Shell(tmp_path / "home", tmp_path, asking(provider))
    kept("import", "-", stdin="\n".join(json.dumps({"title": f"Note {n}"}) for n in range(NOTES)))
    assert provider.seen == []
    return kept


def filled(shell: Shell) -> int:
    """Chunks that have a vector."""
    [generation] = shell("status", "--json").json["generations"]
    return generation["filled"]


@pytest.mark.parametrize("command", ["embed", "reindex"])
def test_ctrl_c_ends_it_in_a_sentence_and_what_was_embedded_is_kept(shell, provider, command) -> None:
    with begun(shell, provider, command) as it:
        it.process.send_signal(signal.SIGINT)
        code, out, err = it.ended()

    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "memory: interrupted"
    kept = filled(shell)
    assert 0 < kept < NOTES
    shell("reindex")
    assert filled(shell) == NOTES


@pytest.mark.parametrize("command", ["embed", "reindex"])
def test_kill_ends_it_at_once_and_what_was_embedded_is_kept(shell, provider, command) -> None:
    with begun(shell, provider, command) as it:
        it.process.terminate()
        ended = it.ended()

    assert ended == (-signal.SIGTERM, "", "")
    assert 0 < filled(shell) < NOTES
    shell("reindex")
    assert filled(shell) == NOTES


@pytest.mark.parametrize("command", ["embed", "reindex"])
def test_a_job_in_the_background_is_not_meant_by_ctrl_c(shell, provider, command) -> None:
    with begun(shell, provider, command, before=ignoring) as it:
        it.process.send_signal(signal.SIGINT)
        it.go.set()
        code, _, err = it.ended()

    assert (code, err) == (0, "")
    assert filled(shell) == NOTES


def test_an_interrupted_reindex_leaves_the_former_model_answering_and_goes_on(tmp_path, provider) -> None:
    former = Shell(tmp_path / "home", tmp_path)
    former("import", "-", stdin="\n".join(json.dumps({"title": f"Note {n}"}) for n in range(NOTES)))
    changed = replace(former, settings=asking(provider))

    with begun(changed, provider, "reindex") as it:
        it.process.send_signal(signal.SIGINT)
        code, _, err = it.ended()

    assert (code, [line for line in err.splitlines() if line]) == (
        130,
        ["memory: what was embedded stays; `memory reindex` continues from there", "memory: interrupted"],
    )
    states = {one["model"]: (one["state"], one["filled"]) for one in changed("status", "--json").json["generations"]}
    assert states["hashed-64"] == ("active", NOTES)
    assert 0 < states["nomic-embed-text"][1] < NOTES
    assert changed("reindex", "--json").json["embedded"] == NOTES - states["nomic-embed-text"][1]
    assert [one["state"] for one in changed("status", "--json").json["generations"]] == ["retired", "active"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_ends_at_the_word_of_its_client_however_that_was_started(tmp_path, number) -> None:
    """Nobody types Ctrl-C at a server on pipes: whoever sends it a signal means it."""
    here = Shell(tmp_path / "home", tmp_path)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    server = here.start("mcp", preexec_fn=ignoring, **pipes)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    server.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n"
    )
    server.stdin.flush()
    assert server.stdout.readline()

    server.send_signal(number)

    assert server.wait(PATIENCE) == 128 + number
    server.communicate()


def test_a_signal_wakes_a_server_that_is_about_to_wait() -> None:
    """One that comes between the last instruction and the wait is noticed by what wakes the loop, or not at all."""
    handlers = {number: signal.getsignal(number) for number in stdio.SIGNALS}

    async def watched() -> int:
        stdio.watch_signals()
        return signal.set_wakeup_fd(-1)

    try:
        woken = anyio.run(watched)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert woken != -1
