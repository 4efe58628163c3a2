"""Which project a folder belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def project(folder: Path) -> str | None:
    """
    The name of the git repository around a folder, the same in all its worktrees; else the folder's own name.

    None at the root of a file system. Reads files only: git itself need not be there.
    """
    folder = folder.resolve()
    for parent in (folder, *folder.parents):
        mark = parent / ".git"
        if mark.is_dir():
            return parent.name or None
        if mark.is_file():
            return _main_worktree(mark, parent).name or None
    return folder.name or None


def _main_worktree(mark: Path, folder: Path) -> Path:
    """
    A linked worktree's `.git` is a file that says `gitdir: <main>/.git/worktrees/<name>`.

    A bare repository is its own main: `<project>.git`, or hidden in the folder of its worktrees.
    """
    text = mark.read_text("utf-8", errors="replace").strip()
    target = (folder / text.removeprefix("gitdir:").strip()).resolve()
    if target.parent.name != "worktrees":
        return folder
    repository = target.parent.parent
    if repository.name.startswith("."):
        return repository.parent
    return repository.with_name(repository.name.removesuffix(".git"))
