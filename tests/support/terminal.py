"""A command as a person at a terminal meets it."""

from __future__ import annotations

import os
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
        said = b"".join(iter(lambda: _read(ours), b""))
        process.wait(timeout=60)
    os.close(ours)
    assert process.returncode == code, said
    return said.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # the other side has closed it, which Linux calls an error
        return b""
