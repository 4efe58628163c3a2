"""Which project a folder belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.limits import NAME_LIMIT, plain

if TYPE_CHECKING:
    from pathlib import Path


def project(folder: Path) -> str | None:
    """
    The name of the git repository around a folder, the same in all its worktrees; else the folder's own name.

    None at the root of a file system. Reads files only: git itself need not be there.
    """
    folder = folder.resolve()
    root = repository(folder) or folder
    if (root / ".git").is_file():
        root = _main_worktree(root / ".git", root)
    return plain(root.name)[:NAME_LIMIT] or None


def repository(folder: Path) -> Path | None:
    """The root of the git work tree around a folder."""
    folder = folder.resolve()
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)


def _main_worktree(mark: Path, folder: Path) -> Path:
    """
    A linked worktree's `.git` is a file that says `gitdir: <main>/.git/worktrees/<name>`.

    A bare repository is its own main: `<project>.git`, or hidden in the folder of its worktrees. A file that says
    something else, or nothing readable, leaves the folder as it is.
    """
    try:
        text = mark.read_text("utf-8", errors="replace").strip()
        target = (folder / text.removeprefix("gitdir:").strip()).resolve()
    except (OSError, ValueError, RuntimeError):  # not readable; a NUL; links in a circle
        return folder
    if target.parent.name != "worktrees":
        return folder
    main = target.parent.parent
    if main.name.startswith("."):
        return main.parent
    return main.with_name(main.name.removesuffix(".git"))
