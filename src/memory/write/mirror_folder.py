"""The folder of a mirror: its files, and what its pages were when they last agreed with the memories."""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.config.files import BULK_BYTES, TEXT_BYTES, contents, folders, locked, opened, utf8, write_file
from memory.config.unfinished import left_over, remove_left_over, sweep
from memory.schema.errors import Invalid, NotFound, explained, iso, printable
from memory.write.markdown import SUFFIXES
from memory.write.mirror import Marks, folded
from memory.write.mirror_place import HOME, check_place, is_mirror

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memory.schema.memory import Memory

CLOUD = re.compile(r"\.(?P<name>.+)\.icloud")
"""What stands for a file that is in the cloud alone."""

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
        usual: `memory.write.mirror.usual_path` if the file was there; empty if somebody moved it.
        digest: SHA-256 of the file's bytes.
        version: `version` of the memory.
        id: Of the memory; 0 in what older versions wrote.
    """

    path: str
    usual: str
    stamp: Stamp
    digest: str
    version: str
    marks: Marks
    id: int = 0


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

    def __init__(self, path: Path, database: str, highest: Callable[[], int]) -> None:
        """
        Args:
            database: The file of the memories. What was agreed with another one says nothing about these.
            highest: The highest id that a memory ever had. What was agreed when there was a higher one says nothing:
                the database is from a backup.
        """
        self.path = path.resolve()
        self._database, self._highest = database, highest
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
            if home.is_symlink():
                raise Invalid(f"{printable(str(home))} is a link", hint="Remove it: nothing is written elsewhere.")
            home.mkdir(exist_ok=True)
            ignored = home / ".gitignore"
            if not ignored.exists():
                write_file(ignored, b"*\n")
            with locked(str(home)):
                sweep(home)
                self.agreed = self._read()
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

    def files(self) -> tuple[dict[str, Stamp], dict[str, str]]:
        """
        The pages, by their paths from the folder; and why others are left as they are.

        A folder that cannot be read, or is a mirror of its own, is among the others, with a slash.
        """
        found: dict[str, Stamp] = {}
        others: dict[str, str] = {}
        waiting = [("", self.path)]
        while waiting:
            before, folder = waiting.pop()
            try:
                if before and is_mirror(folder):
                    others[before] = "it is a mirror of its own"
                    continue
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if left_over(entry.name):
                            remove_left_over(entry.path)
                        elif _is_folder(entry):
                            waiting.append((f"{before}{entry.name}/", Path(entry.path)))
                        else:
                            _look_at(entry, before, found, others)
            except (FileNotFoundError, NotADirectoryError):  # what is removed just now is not there
                continue
            except OSError as error:
                if not before:
                    raise
                others[before] = f"it cannot be read: {error.strerror}"
        return found, others

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
        for place in Path(name).parents:
            if place.name:
                with suppress(OSError):  # something else is in it
                    (self.path / place).rmdir()

    def stamp(self, name: str) -> Stamp | None:
        """What a file is; None if there is none."""
        try:
            return _stamp((self.path / name).lstat())
        except OSError:
            return None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)


def _look_at(entry: os.DirEntry[str], before: str, found: dict[str, Stamp], others: dict[str, str]) -> None:
    """Put a file of the folder `before` to the pages, or to the others with a reason."""
    away = CLOUD.fullmatch(entry.name)
    name = away["name"] if away else entry.name
    if name.startswith(".") or not name.lower().endswith(SUFFIXES):
        return
    path = before + name
    with suppress(FileNotFoundError):  # removed just now
        state = entry.stat(follow_symlinks=False)
        if away:
            others.setdefault(path, "it is in the cloud, and not on this machine")
        elif not _is_text(path):
            others[path] = "its name is not UTF-8"
        elif stat.S_ISREG(state.st_mode):
            found[path] = _stamp(state)
        else:
            others[path] = "it is a link, which is not followed" if stat.S_ISLNK(state.st_mode) else "it is no file"


def _is_text(path: str) -> bool:
    try:
        return bool(path.encode())
    except UnicodeEncodeError:
        return False


def _stamp(state: os.stat_result) -> Stamp:
    return [state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino]
