"""
Whether files that are missing were deleted. That is believed only where it can be seen: in a folder that is the same real
folder as before, and never of many files at once.
"""

from __future__ import annotations

import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.errors import Invalid, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.config.walk import Place, Walked

LEAST = 5
"""Fewer missing files than this are never too many."""

SHARE = 4
"""More than one file in so many is too many."""

NAMED = 5
"""How many missing files are named."""


class Missing(NamedTuple):
    """
    A file that was there before.

    Attributes:
        path: From the folder that was walked.
        place: Its own folder when the file was last seen; None if that is not known.
        doubted: It was one of too many.
    """

    path: str
    place: Place | None
    doubted: bool = False


class Withheld(NamedTuple):
    """
    Missing files that are not taken for deleted.

    Attributes:
        folder: The folder that tells nothing of them, with "/" at its end; empty if they are too many.
        why: The reason, with numbers and names.
    """

    folder: str
    why: Invalid
    paths: tuple[str, ...]


def withheld(missing: Iterable[Missing], total: int, walked: Walked, root: str, force: str) -> list[Withheld]:
    """
    Which missing files are not taken for deleted.

    Args:
        total: How many files there were.
        root: The folder that was walked.
        force: The command that takes them for deleted.
    """
    unseen: dict[tuple[str, str], list[str]] = {}
    seen: list[Missing] = []
    for one in sorted(missing):
        if reason := _unseen(one, walked, root):
            unseen.setdefault(reason, []).append(one.path)
        else:
            seen.append(one)
    found = [_withheld(folder, f"{why}; {_named(paths)}", paths, force) for (folder, why), paths in unseen.items()]
    many = len(seen) >= LEAST and len(seen) * SHARE > total
    if paths := [one.path for one in seen if many or one.doubted]:
        why = f"{_named(paths, total)}, too many at once to be taken for deleted"
        found.append(_withheld("", why, paths, force))
    return found


def _withheld(folder: str, why: str, paths: Sequence[str], force: str) -> Withheld:
    hint = f"Bring the files back, or delete their memories: `{force}`."
    return Withheld(folder, Invalid(f"{why}; their memories stay", hint=hint), tuple(paths))


def _named(paths: Sequence[str], total: int | None = None) -> str:
    names = ", ".join(map(printable, paths[:NAMED]))
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    count = f"{len(paths):,}" if total is None else f"{len(paths):,} of {total:,}"
    return f"{count} {'file is' if (total or len(paths)) == 1 else 'files are'} missing ({names}{more})"


def _unseen(one: Missing, walked: Walked, root: str) -> tuple[str, str] | None:
    """The folder because of which the absence of a file says nothing, and why."""
    folder = one.path.rpartition("/")[0]
    above = [str(part) for part in PurePosixPath(folder).parents]
    for part in (*reversed(above[:-1]), folder):
        if part not in walked.folders:
            return f"{part}/", walked.left.get(f"{part}/") or _instead(Path(root, part))
    if one.path in walked.folders:
        return f"{one.path}/", "it is a folder now"
    if one.place in (None, walked.folders[folder]):
        return None
    return f"{folder}/" if folder else "./", "it is another folder than before"


def _instead(path: Path) -> str:
    """Why a folder was not read that the walk did not name."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return "the folder is not there"
    if stat.S_ISLNK(mode):
        return "it is a link now, which is not followed"
    return "it was not read" if stat.S_ISDIR(mode) else "it is no folder any more"
