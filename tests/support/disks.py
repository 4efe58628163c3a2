"""Small disks of their own."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """A small disk of its own; skips where this user may not make one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        made = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no mount here: {error}")
    if made.returncode:
        pytest.skip(f"may not mount a tmpfs: {made.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Leave no byte of it: the file that takes the rest."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        there = os.statvfs(disk)
        if left := there.f_bavail * there.f_frsize:
            os.posix_fallocate(file.fileno(), 0, left)
    return ballast
