"""
The files of a folder that somebody names: one rule for imports, `memory watch` and `memory mirror`.

Nothing hidden is read, and no link is followed: what one leads to inside the folder is found under its own name.
What is left out is named, with the reason. The folder itself may be a link.

A missing file counts as deleted only if its folder is the same real folder as before, and if few files are missing at once.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.config import DATABASE
from memory.schema.databases import COMPANIONS, identity
from memory.schema.errors import Invalid, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from _typeshed import StrPath

CLOUD = re.compile(r"\.(?P<name>.+)\.icloud")
"""What stands for a file that is in the cloud alone."""

BESIDE = re.compile(r"(-[a-z]+(-[0-9a-f]{32})?)?")
"""How the names of files end that belong to a database: its log, what waits for review, what was made from it."""

ALIAS = "it is a link, which is not followed"
"""Why a link to another file of the folder is left out: that file is read under its own name."""

OUTSIDE = "it is a link out of the folder, which is not followed"
NOWHERE = "it is a link that leads nowhere"
UNREAD = "it is a link to something in the folder that is not read"
SPECIAL = "it is not a regular file"
IN_CLOUD = "it is in the cloud, and not on this machine"

RULED = frozenset({ALIAS, OUTSIDE, NOWHERE, UNREAD, SPECIAL})
"""What is left out for these reasons is never read. Other reasons are faults, which may pass."""

Place: TypeAlias = "list[int]"
"""Which file or folder it is: its device and its inode."""


class Walked(NamedTuple):
    """
    What is in a folder, by the path from there, with "/" between its parts.

    Attributes:
        files: The ordinary files that are wanted, with what `os.lstat` says of each.
        left: What was left out, and why; a folder has "/" at its end.
        folders: The folders that were read whole; the folder itself is "".
        others: The files that are not wanted.
    """

    files: dict[str, os.stat_result]
    left: dict[str, str]
    folders: dict[str, Place]
    others: list[str]


class Own:
    """The files of a store, which nobody else opens: its database with what lies beside that, by name and by inode."""

    def __init__(self, home: str) -> None:
        """
        Args:
            home: The folder of the database; it need not exist.
        """
        database = os.path.join(home, DATABASE)
        real = os.path.realpath(database)
        beside = ((home, DATABASE), os.path.split(real))
        self._beside = [(found, name) for folder, name in beside if (found := place(folder)) is not None]
        self._files = [found for end in ("", *COMPANIONS) if (found := place(real + end)) is not None]

    def among(self, folder: Place, name: str, file: Place) -> bool:
        """Whether a file with this name in this folder is one of them."""
        return file in self._files or any(
            folder == one and name.startswith(own) and BESIDE.fullmatch(name[len(own) :]) for one, own in self._beside
        )

    def has(self, path: StrPath) -> bool:
        """Whether a path leads to one of them, through links too. Opens nothing."""
        folder, name = os.path.split(os.path.realpath(path))
        here, file = place(folder), place(path)
        return here is not None and file is not None and self.among(here, name, file)


def place(path: StrPath) -> Place | None:
    """Which file or folder a path leads to; None if it leads nowhere, or nobody may look."""
    found = identity(path)
    return None if found is None else list(found)


def walk(
    folder: StrPath, wanted: Callable[[str], bool], own: Own, barred: Callable[[str], str] = lambda _: ""
) -> Walked:
    """
    What is in a folder and its subfolders.

    Args:
        folder: A link is followed: somebody named it.
        wanted: Whether a file of this name is one.
        own: Files that are left alone, and not named.
        barred: Why a subfolder is not entered; empty if it is.

    Raises:
        OSError: The folder itself cannot be read.
    """
    walking = _Walking(os.path.realpath(folder), wanted, own)
    walking.read("")
    while walking.waiting:
        inner = walking.waiting.pop()
        try:
            if why := barred(os.path.join(walking.root, inner)):
                walking.found.left[f"{inner}/"] = why
            else:
                walking.read(inner)
        except (FileNotFoundError, NotADirectoryError):  # it was just removed
            continue
        except OSError as error:
            walking.found.left[f"{inner}/"] = f"it cannot be read: {error.strerror}"
    return walking.found


class _Walking:
    """A walk: what was found, and the folders that wait to be read."""

    def __init__(self, root: str, wanted: Callable[[str], bool], own: Own) -> None:
        self.root, self._wanted, self._own = root, wanted, own
        self.found, self.waiting = Walked({}, {}, {}, []), list[str]()

    def read(self, folder: str) -> None:
        """
        Raises:
            OSError: It cannot be read, or something in it.
        """
        path = os.path.join(self.root, folder) if folder else self.root
        state = os.lstat(path)
        here = [state.st_dev, state.st_ino]
        for name in os.listdir(path):
            away = CLOUD.fullmatch(name)
            shown = away["name"] if away else name
            if shown.startswith("."):
                continue
            inner = f"{folder}/{shown}" if folder else shown
            try:
                self._take(inner, os.path.join(path, name), here, away=away is not None)
            except FileNotFoundError:  # removed just now
                continue
            except PermissionError:  # every file in it would fail: the folder is reported once
                raise
            except OSError as error:  # as of a disk that is away
                self.found.left[inner if self._wanted(shown) else f"{inner}/"] = f"it cannot be read: {error.strerror}"
        self.found.folders[folder] = here

    def _take(self, inner: str, path: str, here: Place, *, away: bool) -> None:
        name = inner.rpartition("/")[2]
        state = os.lstat(path)
        if stat.S_ISDIR(state.st_mode):
            self.waiting.append(inner)
        elif stat.S_ISLNK(state.st_mode):
            if why := self._of_link(path):
                self.found.left[inner] = why
        elif not self._own.among(here, name, [state.st_dev, state.st_ino]):
            if not self._wanted(name):
                self.found.others.append(inner)
            elif stat.S_ISREG(state.st_mode) and not away:
                self.found.files[inner] = state
            else:
                self.found.left.setdefault(inner, IN_CLOUD if away else SPECIAL)

    def _of_link(self, path: str) -> str:
        """Why a link is left out; empty if that need not be said: it leads to nothing that is wanted."""
        real = os.path.realpath(path)
        inside = real.startswith(os.path.join(self.root, ""))
        if not self._wanted(os.path.basename(path)):
            return OUTSIDE if os.path.isdir(real) and not (inside or real == self.root) else ""
        if not os.path.exists(real):
            return NOWHERE
        if not inside:
            return OUTSIDE
        hidden = any(part.startswith(".") for part in os.path.relpath(real, self.root).split(os.sep))
        read = os.path.isfile(real) and self._wanted(os.path.basename(real)) and not self._own.has(real)
        return ALIAS if read and not hidden else UNREAD


def of_archive(name: str, mode: int) -> str | None:
    """
    Why a file in an archive is left out, by the same rule; empty if it is read, None if it is hidden.

    Args:
        name: Its path in the archive. Where that leads is no matter: nothing is unpacked.
        mode: What `os.lstat` said of it, where it was packed; 0 if that is not known.
    """
    if any(part.startswith(".") and part != ".." for part in PurePosixPath(name).parts):
        return None
    if stat.S_ISLNK(mode):
        return ALIAS
    return SPECIAL if stat.S_IFMT(mode) and not stat.S_ISREG(mode) else ""


# Files that are missing --------------------------------------------------------

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
    """The folder that keeps us from knowing whether a file was deleted, and the reason; None if we know."""
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
