"""A command that is known to wait for its server's answer: the place to interrupt it, whatever the machine's speed."""

from __future__ import annotations

import signal
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faults import Held

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from command import Shell
    from provider import Provider

ANSWERS = 6  # of the server, before it is waited for
PATIENCE = 60


def asking(provider: Provider) -> dict[str, str]:
    """Settings with which each chunk is a request to this server."""
    settings = {"PROVIDER": "ollama", "MODEL": "nomic-embed-text", "BASE_URL": provider.url}
    settings |= {"BATCH_SIZE": "1", "TIMEOUT_SECONDS": str(PATIENCE)}
    return {f"MEMORY_EMBEDDING_{name}": value for name, value in settings.items()}


@dataclass(frozen=True, slots=True)
class Begun:
    """A command that has embedded some chunks and waits for the next answer, until `go` is set."""

    process: subprocess.Popen[bytes]
    go: threading.Event

    def ended(self) -> tuple[int, str, str]:
        """Its exit code, and what it said."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out.decode(), err.decode()


@contextmanager
def begun(
    shell: Shell, provider: Provider, *arguments: str | Path, before: Callable[[], None] | None = None
) -> Generator[Begun]:
    """
    Start a command that embeds.

    Args:
        before: Run in the child before the command is.
    """
    go, seen = threading.Event(), len(provider.seen)
    provider.then(*[None] * ANSWERS, Held(go))
    process = shell.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=before)
    try:
        provider.wait(seen + ANSWERS + 1, PATIENCE)
        yield Begun(process, go)
    finally:
        go.set()
        process.kill()
        process.communicate()


def ignoring() -> None:
    """As a shell without job control starts what stands before an `&`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
