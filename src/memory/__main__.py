"""`python -m memory`: the command, where its script is not on PATH or not installed."""

from __future__ import annotations

from memory.cli import run

if __name__ == "__main__":
    run()
