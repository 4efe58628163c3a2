"""Where a mirror may be: not where others keep their files, and not inside another one."""

from __future__ import annotations

import os
from pathlib import Path

from memory.schema.errors import Invalid, printable

HOME = ".memory"
"""The folder inside the mirror that holds what is not for git, nor for readers."""

STATES = "[0-9a-f]" * 16 + ".json"
"""The files in it of what was agreed, one for each database."""


def check_place(path: Path) -> None:
    """
    Refuse what is no place for a mirror.

    Args:
        path: Absolute, without symbolic links.

    Raises:
        Invalid: Others keep their files there, or another mirror is around it, which would take its pages for copies.
    """
    name = printable(str(path))
    if path in (Path(path.anchor), Path(os.path.expanduser("~")).resolve()):  # noqa: PTH111  # Path's may raise
        what = "each Markdown file below it would become a memory and get front matter"
        raise Invalid(f"{name} is not made a mirror: {what}", hint="Name a folder of its own in it.")
    if around := next(filter(is_mirror, path.parents), None):
        what = f"{name} is in {printable(str(around))}, which is a mirror"
        raise Invalid(f"{what}: each page would be copied from one to the other", hint="Name a folder elsewhere.")


def is_mirror(folder: Path) -> bool:
    """Whether pages of this folder agreed with some database. EchoVault keeps other files in a folder of that name."""
    return any((folder / HOME).glob(STATES))
