"""A command as a person at a terminal meets it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from command import Shell


def at_terminal(shell: Shell, answers: str, *arguments: str, code: int = 0) -> str:
    """What is said to a person who types answers, on both streams."""
    import pty  # there are none on Windows

    ours, its = pty.openpty()
    with shell.start(*arguments, stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        os.write(ours, answers.encode())
        said = written(ours)
        process.wait(timeout=60)
    assert process.returncode == code, said
    return said.decode()


def written(terminal: int) -> bytes:
    """All that is written until the other side is closed, and then this one."""
    said = b""
    with suppress(OSError):  # how Linux says that the other side was closed
        while part := os.read(terminal, 65_536):
            said += part
    os.close(terminal)
    return said
