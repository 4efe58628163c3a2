"""Who works, and on what: which project a folder belongs to, by which names it is known, and the name of the user."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING

from memory.config.files import contents
from memory.schema.errors import NAME_LIMIT, Invalid, printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MARK_BYTES = 1 << 16
"""Limit for the `.git` file that points to the main worktree."""


def project(folder: Path) -> str | None:
    """
    The name of the git repository around a folder, the same in all its worktrees; else the folder's own name.

    None at the root of a file system, and in a home folder that is not a repository: programs start there without a
    project. Only reads files, so git need not be installed.
    """
    folder = folder.resolve()
    root = repository(folder)
    if root is None:
        if folder == _home():
            return None
        root = folder
    if (root / ".git").is_file():
        root = _main_worktree(root / ".git", root)
    return printable(root.name)[:NAME_LIMIT] or None


def current(place: Path | None = None) -> str | None:
    """
    The project of the current folder.

    Args:
        place: The file or folder in question. If it is in a repository, that counts, wherever the command is called.

    Raises:
        Invalid: The current folder no longer exists.
    """
    from pathlib import Path

    try:
        within = place is not None and repository(place.parent if place.is_file() else place) is not None
        return project(place if within and place is not None else Path.cwd())
    except FileNotFoundError as error:
        raise Invalid("the current folder no longer exists", hint="Name the project: --project NAME.") from error


def repository(folder: Path) -> Path | None:
    """The root of the git work tree around a folder."""
    folder = folder.resolve()
    # Not `Path.exists`, which raises for a folder without permission to look, and for a name that is too long.
    return next((parent for parent in (folder, *folder.parents) if os.path.exists(parent / ".git")), None)


def _main_worktree(mark: Path, folder: Path) -> Path:
    """
    The main worktree of a linked one, whose `.git` is a file that says `gitdir: <main>/.git/worktrees/<name>`.

    A bare repository is its own main: `<project>.git`, or hidden in the folder of its worktrees.
    If the file says anything else or cannot be read, the result is `folder`.
    """
    try:
        text = contents(mark, MARK_BYTES).decode("utf-8", "replace").strip()
        target = (folder / text.removeprefix("gitdir:").strip()).resolve()
    except (OSError, ValueError, RuntimeError):  # unreadable; a NUL; links in a circle
        return folder
    if target.parent.name != "worktrees":
        return folder
    main = target.parent.parent
    if main.name.startswith("."):
        return main.parent
    return main.with_name(main.name.removesuffix(".git"))


def _home() -> Path | None:
    from pathlib import Path

    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):  # no home; links in a circle
        return None


def aliases(text: str) -> Mapping[str, str]:
    """
    The old names of projects, from "old = new, website = shop", each with its final new name.

    Raises:
        ValueError: It is not such a list, a name has two meanings, or names form a circle.
    """
    said: dict[str, str] = {}
    for part in filter(str.strip, text.split(",")):
        old, equals, new = (piece.strip() for piece in part.partition("="))
        if not (old and equals and new) or "=" in new:
            raise ValueError(f'{part.strip()!r} is not of the form "old = new"')
        if said.setdefault(old, new) != new:
            raise ValueError(f"{old!r} cannot be both {said[old]!r} and {new!r}")
    return {old: _last(old, said) for old in said}


def _last(name: str, said: Mapping[str, str]) -> str:
    seen = [name]
    while (name := said.get(name, "")) and name not in seen:
        seen.append(name)
    if name:
        raise ValueError(f"{' = '.join([*seen, name])} is circular")
    return seen[-1]


def names(name: str, known: Mapping[str, str]) -> frozenset[str]:
    """All names of a project, from any one of them and the result of `aliases`."""
    last = known.get(name, name)
    return frozenset({last, *(old for old, new in known.items() if new == last)})


# Who somebody is, where several people share a database ---------------------------


@cache
def login() -> str:
    """
    The name of this process's user, from the system and not from variables, which a service or an agent has not;
    empty where the system knows none, as in a container with a bare number.
    """
    try:
        if sys.platform == "win32":
            return os.getlogin()
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (OSError, KeyError):
        return ""


def check_user(text: str) -> None:
    """
    Check what somebody calls themselves; empty stands for the login name.

    Raises:
        ValueError: It is blank, longer than `NAME_LIMIT`, or has more than one line or what cannot be seen.
    """
    if text and (not text.strip() or not text.isprintable() or len(text) > NAME_LIMIT):
        raise ValueError(f"a user's name is one line of 1..{NAME_LIMIT} characters, not {text[:80]!r}")
