"""A process that is stopped for a moment: it meets what happened meanwhile as a whole, however slow the machine is."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Generator


@contextmanager
def asleep(process: subprocess.Popen[bytes]) -> Generator[None]:
    """A child of this process does nothing meanwhile: a signal alone may take it a moment."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)
