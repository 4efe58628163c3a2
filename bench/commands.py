"""Commands as processes of their own, as on a user's machine."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HEAVY = ("numpy", "onnxruntime", "tokenizers", "torch", "mcp", "rich", "yaml", "sqlite_vec", "openai", "ollama")


def environment(root: Path) -> dict[str, str]:
    """As on a user's machine: no settings, and modules are compiled once, not at every start (nor into the sources)."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    plain = {
        name: value for name, value in plain.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    }
    return plain | {"MEMORY_HOME": str(root / "cold"), "PYTHONPYCACHEPREFIX": str(root / "compiled")}


def run_command(command: Sequence[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, env=dict(env), capture_output=True, check=True)


def imported(arguments: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The heavy modules that a command imports."""
    code = (
        "import atexit, sys; from memory.cli import main; "
        f"atexit.register(lambda: print(*[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)); "
        f"main({list(arguments)!r})"
    )
    return run_command([sys.executable, "-c", code], env).stderr.decode().split()
