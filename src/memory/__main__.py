"""What the script `memory` calls, and `python -m memory`, where it is not on PATH or not installed."""

from __future__ import annotations

import gc
from typing import NoReturn


def run() -> NoReturn:
    """The command, which collects no garbage from here on: while modules are imported that alone would take 2 ms."""
    gc.disable()
    from memory.cli import run as command

    command()


if __name__ == "__main__":
    run()
