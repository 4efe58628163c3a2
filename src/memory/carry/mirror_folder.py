"""The folder of a mirror: its files, and what its pages were when they last agreed with the memories."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.carry.formats import MARKDOWN
from memory.carry.pages import Marks, folded
from memory.config.files import BULK_BYTES, TEXT_BYTES, contents, folders, locked, opened, sweep, utf8, write_file
from memory.config.walk import Own, Place, Walked, place, walk
from memory.schema.errors import Invalid, NotFound, explained, iso, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memory.schema.memory import Memory


SCHEMA = "memory.mirror/1"

UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
"""What is in git's folder until a merge is committed."""

BEGINNING = 1 << 16
"""Bytes of a page that cannot be read in which the uid of its memory is looked for."""

Stamp: TypeAlias = "list[int]"
"""When a file and its permissions were changed, its size, and which file it is: one in its place is another."""


class Agreed(NamedTuple):
    """
    A page when it last agreed with its memory.

    Attributes:
        path: Of the file, from the folder, with its suffix.
        usual: `memory.carry.pages.usual_path` if the file was there; empty if somebody moved it.
        digest: SHA-256 of the file's bytes.
        version: `version` of the memory.
        id: Of the memory; 0 in what older versions wrote.
        place: The page's folder; None in what older versions wrote.
        doubted: The page was one of so many that were missing that its memory was kept.
    """

    path: str
    usual: str
    stamp: Stamp
    digest: str
    version: str
    marks: Marks
    id: int = 0
    place: Place | None = None
    doubted: bool = False


def version(memory: Memory) -> str:
    """What differs once the content of a memory has changed."""
    return f"{memory.content_hash} {iso(memory.updated_at)}"


class Elsewhere(Exception):
    """A file was changed between reading and replacing it."""


class Folder:
    """
    Attributes:
        path: Absolute, without symbolic links.
        agreed: By uid.
    """

    def __init__(self, path: Path, database: str, highest: Callable[[], int], own: Own) -> None:
        """
        Args:
            database: The file of the memories. What was agreed with another one says nothing about these.
            highest: The highest id that a memory ever had. What was agreed when there was a higher one says nothing:
                the database is from a backup.
            own: Files of the store, which are no pages wherever they lie.
        """
        self.path = path.resolve()
        self._database, self._highest, self._own = database, highest, own
        self._place: Place | None = None
        self.agreed: dict[str, Agreed] = {}
        self._state: tuple[str, Stamp | None] | None = None  # the file that `agreed` was read from

    @contextmanager
    def alone(self) -> Iterator[None]:
        """
        Keep other processes from the folder, and know what was agreed; what is agreed afterwards is kept.

        Raises:
            NotFound: There is no such folder.
            Invalid: The folder cannot be used.
        """
        home = self.path / HOME
        if not self.path.is_dir():
            raise NotFound(f"there is no folder {printable(str(self.path))}", hint="Its memories stay.")
        with explained(Invalid, f"cannot use the folder {printable(str(self.path))}"):
            check_place(self.path)
            if self._place not in (None, place(self.path)) and self.stamp(self._name()) is None:
                what = f"{printable(str(self.path))} is another folder than when this began"
                raise Invalid(what, hint="Is the disk mounted? If this is intended, run the command again.")
            if home.is_symlink():
                raise Invalid(f"{printable(str(home))} is a link", hint="Remove it: nothing is written elsewhere.")
            home.mkdir(exist_ok=True)
            ignored = home / ".gitignore"
            if not ignored.exists():
                write_file(ignored, b"*\n")
            with locked(str(home)):
                sweep(home)
                self._place, self.agreed = place(self.path), self._read()
                before = dict(self.agreed)
                try:
                    yield
                finally:
                    if self.agreed != before or self.stamp(self._name()) is None:
                        self._write()

    def compare(self, memories: Iterable[Memory]) -> None:
        """
        Forget what was agreed, if it was with another database of this name: put back from a backup, or made anew.

        Args:
            memories: All of the database. An id is never used again, so one of another uid tells.
        """
        agreed = {one.id: uid for uid, one in self.agreed.items()}
        if any(agreed.get(one.id, one.uid) != one.uid for one in memories):
            self.agreed.clear()

    def _name(self) -> str:
        """
        The file of what was agreed with this database: another has its own.

        So two machines can share a folder by a service that keeps the same files on both.
        """
        return f"{HOME}/{sha256(self._identity().encode()).hexdigest()[:16]}.json"

    def _read(self) -> dict[str, Agreed]:
        """What was agreed; nothing if that cannot be read, or is about another database: then both sides are kept."""
        name = self._name()
        stamp = self.stamp(name)
        if stamp is not None and (name, stamp) == self._state:
            return self.agreed
        try:
            values = json.loads(contents(self.path / name, BULK_BYTES))
            if (values["schema"], values["database"]) != (SCHEMA, self._identity()):
                return {}
            if values["highest"] > self._highest():
                return {}
            found = {uid: Agreed(*one) for uid, one in values["pages"].items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}
        self._state = name, stamp
        return found

    def _write(self) -> None:
        name = self._name()
        about = {"schema": SCHEMA, "database": self._identity(), "highest": self._highest()}
        values = about | {"pages": self.agreed}
        write_file(self.path / name, json.dumps(values, ensure_ascii=False).encode())
        self._state = name, self.stamp(name)

    def _identity(self) -> str:
        """Which file the database is: a copy of it, or one that was put back from a backup, is another."""
        try:
            found = Path(self._database).stat()
        except OSError:
            return self._database
        return f"{os.path.realpath(self._database)} {found.st_dev} {found.st_ino}"

    @property
    def committed(self) -> bool:
        """Whether git keeps what was in the folder, or in one around it."""
        return self._git is not None

    @property
    def merging(self) -> bool:
        """Whether git is in the middle of putting two versions together, as far as that can be seen."""
        git = self._git
        return git is not None and (git.is_file() or any((git / name).exists() for name in UNFINISHED))

    @property
    def _git(self) -> Path | None:
        return next((place / ".git" for place in (self.path, *self.path.parents) if (place / ".git").exists()), None)

    # Files ---------------------------------------------------------------

    def walked(self) -> Walked:
        """
        What is in the folder; a folder inside that is a mirror of its own is left out.

        Raises:
            OSError: The folder itself cannot be read.
        """
        found = walk(self.path, lambda name: name.lower().endswith(MARKDOWN), self._own, _barred)
        for name in found.folders:
            sweep(self.path / name)
        for name in [name for name in found.files if not _is_text(name)]:
            del found.files[name]
            found.left[name] = "its name is not UTF-8"
        return found

    def read(self, name: str) -> tuple[str, str]:
        """
        The text of a file and the digest of its bytes.

        Raises:
            Invalid: It cannot be read, or is not UTF-8 text.
        """
        with explained(Invalid, "it cannot be read"):
            found = contents(self.path / name, TEXT_BYTES)
        return utf8(found, "it", mark=True), sha256(found).hexdigest()

    def beginning(self, name: str) -> bytes:
        """The first bytes of a file; none if it cannot be read."""
        try:
            with opened(self.path / name) as file:
                return file.read(BEGINNING)
        except OSError:
            return b""

    def write(self, name: str, text: str, before: Stamp | None) -> tuple[Stamp, str]:
        """
        Write a file; it is complete or as it was. Its stamp and the digest of its bytes.

        Args:
            before: What it was when it was read; None if there was none.

        Raises:
            Elsewhere: It is not as it was.
            Invalid: It cannot be written, or would be outside of the folder.
        """
        target = self.path / name
        data = text.encode()

        def check() -> None:
            if self.stamp(name) != before:
                raise Elsewhere

        with explained(Invalid, "it cannot be written"):
            if not target.parent.resolve().is_relative_to(self.path):
                raise Invalid(f"its folder is outside of {printable(str(self.path))}")
            with folders(target.parent):
                write_file(target, data, check=check)
        written = self.stamp(name)
        if written is None:
            raise Elsewhere
        return written, sha256(data).hexdigest()

    def remove(self, name: str, before: Stamp) -> None:
        """Remove a file, and its folder if that is empty now. Raises what `write` does."""
        if self.stamp(name) != before:
            raise Elsewhere
        with explained(Invalid, "it cannot be removed"):
            (self.path / name).unlink()
        self._tidy(name)

    def move(self, name: str, to: str, before: Stamp) -> Stamp:
        """Give a file another name, in one step. Its stamp; raises what `write` does."""
        there = self.stamp(to)
        same = there == before and folded(name) == folded(to)  # where cases are not told apart
        if self.stamp(name) != before or not (there is None or same):
            raise Elsewhere
        target = self.path / to
        with explained(Invalid, "it cannot be moved"):
            if not target.parent.resolve().is_relative_to(self.path):
                raise Invalid(f"its folder is outside of {printable(str(self.path))}")
            with folders(target.parent):
                (self.path / name).rename(target)
        self._tidy(name)
        moved = self.stamp(to)
        if moved is None:
            raise Elsewhere
        return moved

    def _tidy(self, name: str) -> None:
        """Remove the folders of a file that are empty now."""
        for above in Path(name).parents:
            if above.name:
                with suppress(OSError):  # something else is in it
                    (self.path / above).rmdir()

    def stamp(self, name: str) -> Stamp | None:
        """What a file is; None if there is none."""
        try:
            return stamp_of((self.path / name).lstat())
        except OSError:
            return None


def _barred(folder: str) -> str:
    return "it is a mirror of its own" if is_mirror(Path(folder)) else ""


def _is_text(path: str) -> bool:
    try:
        return bool(path.encode())
    except UnicodeEncodeError:
        return False


def stamp_of(state: os.stat_result) -> Stamp:
    return [state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino]


# Where a mirror may be -----------------------------------------------------------


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
