"""
New processes of `memory` that import nothing: one has it all imported and forks for each.

The protocol's SDK takes half a second to import, and every agent of the tests has a server of its own. Such a process has
the arguments, environment, folder and streams that its client started it with, and its end is what the client waits for.
How `memory` starts is for tests that start the command itself.

As a program, with an address alone: the process that forks. With arguments: who asks for one, in place of the command.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
import sys

TYPE_CHECKING = False  # `typing` takes longer to import than who asks lives
if TYPE_CHECKING:
    from collections.abc import Mapping

STREAMS = (0, 1, 2)


def command(env: Mapping[str, str]) -> list[str]:
    """What stands in place of the command `memory`; that itself, where an interpreter reads of `env` when it starts."""
    from command import COMMAND
    from in_process import AT_THE_START

    if any(name.startswith(AT_THE_START) for name in env):
        return [str(COMMAND)]
    return [sys.executable, "-IS", __file__, _address()]


# The process of the tests -----------------------------------------------------


def _address() -> str:
    """Where the process listens that forks; it is started when first asked for, and ends with this one."""
    if "address" not in _STARTED:
        import atexit
        import shutil
        import subprocess
        import tempfile

        folder = tempfile.mkdtemp(prefix="forked-")
        _STARTED["address"] = address = f"{folder}/socket"
        words = [sys.executable, "-P", __file__, address]
        env = {"PATH": os.environ["PATH"]}  # no more is read when an interpreter starts
        pipe = subprocess.PIPE
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, env=env, start_new_session=True)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        atexit.register(process.communicate)
        assert process.stdout.readline() == b"ready\n"
    return _STARTED["address"]


_STARTED: dict[str, str] = {}


# The process that forks -------------------------------------------------------


def listen(address: str) -> None:
    """Fork a process for each that asks, until standard input ends."""
    import gc
    import select
    import tempfile

    import anyio._backends._asyncio  # noqa: F401  # what a server begins with, and what it imports at its first calls

    import memory.cli.agents
    import memory.engine.keeper
    import memory.mcp.stdio
    import memory.search.similar
    import memory.vectors.words  # noqa: F401
    from memory import Config, Draft, Engine
    from memory.config.settings import EmbeddingSettings

    hashed = EmbeddingSettings(provider="hashed", model="hashed-64", words="never")
    with tempfile.TemporaryDirectory() as home, Engine.open(Config(home=home, embedding=hashed), lasting=False) as once:
        once.save(Draft(title="One"))  # what is made at the first save and search of a process; no thread is left
        once.search("one")
    gc.freeze()  # a collection in a child would touch, and so copy, all that it shares with this process
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(1, b"ready\n")
        while 0 not in select.select([0, listener], [], [])[0]:
            asked, _ = listener.accept()
            with asked:
                if os.fork() == 0:
                    listener.close()
                    os._exit(_answer(asked))


def _answer(asked: socket.socket) -> int:
    """Fork once more, say which process it is, and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    streams = socket.recv_fds(asked, 1, len(STREAMS))[1]
    with asked.makefile("rb") as file:
        arguments, env, folder = marshal.load(file)
    if (number := os.fork()) == 0:
        asked.close()
        _become(arguments, env, folder, streams)
    for stream in streams:
        os.close(stream)
    asked.sendall(marshal.dumps(number))
    _, status = os.waitpid(number, 0)
    asked.sendall(marshal.dumps(os.waitstatus_to_exitcode(status)))
    return 0


def _become(arguments: list[str], env: dict[str, str], folder: str, streams: list[int]) -> None:
    from memory.cli import run

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    for number, stream in zip(STREAMS, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    # As a Python that starts has them: those of the server know another file, and where in it they are.
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv = ["memory", *arguments]
    run()


# Who asks ---------------------------------------------------------------------


def ask(address: str, arguments: list[str]) -> int:
    """Be, to a client, the process that is forked; its exit code."""
    forwarded = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, forwarded)  # until it is known who gets them
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        socket.send_fds(line, [b"."], STREAMS)
        line.sendall(marshal.dumps((arguments, dict(os.environ), os.getcwd())))  # noqa: PTH109  # pathlib would take longer than all this
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in STREAMS:
            os.dup2(nothing, number)
        with line.makefile("rb") as file:
            process = marshal.load(file)
            for number in forwarded:
                signal.signal(number, lambda number, _frame: os.kill(process, number))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, forwarded)
            code = marshal.load(file)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
    listen(sys.argv[1])
