"""A folder of Markdown that is watched or mirrored: what changed in it since the last look, and what becomes of its memories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.config.walk import Missing, Own, Place, Walked, Withheld, walk, withheld
from memory.engine.importing import (
    BLANK,
    MARKDOWN,
    OTHER,
    SAVED,
    THERE,
    UPDATED,
    LeftOut,
    Outcomes,
    Sum,
    left,
    left_out,
)
from memory.engine.markdown import drafted, former, keep, remembered, root
from memory.engine.mirror import Mirror
from memory.engine.mirror_sides import MirrorAction
from memory.schema.errors import Error, Invalid, NotFound, explained
from memory.schema.step import step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.engine import Engine
    from memory.schema.answer import Notice
    from memory.schema.memory import Memory

__all__ = ["MARKDOWN", "FileChange", "LeftOut", "Mirror", "MirrorAction", "Sum", "Watched"]

STEP = ("watch", "memory watch")
"""Each change of a file is a step, which nobody gave a command for."""

Stamp: TypeAlias = "tuple[int, ...]"
"""When a file and its permissions were changed, its size, and which file it is: one in its place is another."""


class FileChange(NamedTuple):
    """
    What happened to a file.

    Attributes:
        done: What was done to its memory: kept, updated, moved, deleted; or gone, if a memory is without its file.
        name: The remembered path of the file.
    """

    done: str
    name: str
    memory: Memory
    notices: tuple[Notice, ...] = ()


class Watched:
    """
    A folder of Markdown, and the memories of its files.

    Each look goes over the whole folder and reads what has changed since the last one: events can be missed, and moving a
    folder is one event for all its files.

    Attributes:
        prune: Whether to delete memories of files that no longer exist.
        again: Whether another look is needed soon, whatever happens in the folder.
        force: Whether all that is missing is taken for deleted, this once.
        outcomes: What became of each file, by its remembered name.
    """

    def __init__(self, engine: Engine, folder: Path, project: str | None, *, prune: bool, force: bool = False) -> None:
        self._engine, self._folder, self._project, self.prune = engine, folder, project, prune
        self._place, self._root = folder.resolve(), root(folder, project)
        self._own = Own(engine.config.folder)
        self._read: dict[Path, Stamp] = {}
        self._folders: dict[str, Place] = {}
        self._missing: set[str] = set()
        self._doubted: set[str] = set()
        self._told: set[str] = set()
        self.again = True
        self.force = force
        self.outcomes = Outcomes()

    def look(self) -> Iterator[FileChange | LeftOut | Error]:
        """
        Keep what has changed.

        Yields:
            Changes; what is left out, once; errors that concern files that may be missing.

        Raises:
            NotFound: The folder no longer exists. Nothing was changed.
        """
        self.again = False
        walked = self._walked()
        stamps = {
            self._folder / name: (state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino)
            for name, state in sorted(walked.files.items())
        }
        before = former(self._engine, self._project)
        names = {remembered(file, self._project) for file in stamps}
        lost = list(left(self._folder, walked))
        self.outcomes.found(names, lost)
        self._read = {file: stamp for file, stamp in self._read.items() if file in stamps}
        changed = False
        for file, stamp in stamps.items():
            if self._read.get(file) != stamp:
                for found in self._kept(file, stamp, before, names):
                    changed = True
                    yield found
        # The memory of a file that changed may have been that of a file with the same content, too.
        self.again |= changed and len(self._read) < len(stamps)
        missing = {name: memory for name, memory in before.items() if self._is_missing(name, names)}
        kept = self._withheld(before, missing, walked) if self.prune and names else []
        yield from self._untold(lost, kept)
        stay = {path for one in kept for path in one.paths}
        yield from self._without_file(missing, stay, prune=self.prune and bool(names))

    def _walked(self) -> Walked:
        if not self._folder.is_dir():
            raise NotFound(f"the folder {self._folder} no longer exists", hint="Its memories stay.")
        with explained(Error, f"cannot read {self._folder}"):
            return walk(self._folder, lambda name: name.lower().endswith(MARKDOWN), self._own)

    def _untold(self, lost: list[LeftOut], kept: list[Withheld]) -> Iterator[LeftOut | Error]:
        """
        What is left out, and what is not taken for deleted: each is told once, until it changes. Files of other kinds, of
        which editors make many, are in the sum alone.
        """
        stay = {f"{self._folder / one.folder}: {one.why}": one.why.hint for one in kept}
        yield from (one for one in lost if one.why != OTHER and one.notice.text not in self._told)
        yield from (Invalid(text, hint=hint) for text, hint in stay.items() if text not in self._told)
        self._told = {*(one.notice.text for one in lost), *stay}

    def _kept(
        self, file: Path, stamp: Stamp, before: dict[str, Memory], names: set[str]
    ) -> Iterator[FileChange | LeftOut]:
        name = remembered(file, self._project)
        try:
            item = drafted(self._engine, file, self._project)
            if item is None:
                self._read[file] = stamp
                self.outcomes.note(name, left_out(name, BLANK, ruled=True))
                return
            with step(*STEP):
                saved, updated = keep(self._engine, item, before.get(name), names.__contains__)
                memory = saved.memory
                was = _name(memory)
                if moved := saved.known and was in before and self._is_missing(was, names):
                    del before[was]
                    memory = self._engine.documents.update(
                        memory.id, related_files=(name,), title=item.draft.title
                    ).memory
        except NotFound:  # its memory was deleted just now
            self.again = True
            return
        except Invalid as error:
            if isinstance(error.__cause__, FileNotFoundError):
                self.again = True
                return
            self._read[file] = stamp
            lost = left_out(str(file), error)._replace(name=name)
            if self.outcomes.note(name, lost):
                yield lost
            return
        if _name(memory) == name:  # else the memory belongs to a file of the same content, which may change
            self._read[file] = stamp
        self.outcomes.note(name, UPDATED if moved or updated else THERE if saved.known else SAVED)
        if moved or updated or not saved.known:
            yield FileChange("moved" if moved else "updated" if updated else "kept", name, memory, saved.notices)

    def _withheld(self, before: dict[str, Memory], missing: dict[str, Memory], walked: Walked) -> list[Withheld]:
        """Which missing files are not taken for deleted; what is known of their folders stays for the next look."""
        there = [path for name in before if (path := self._inside(name))]
        lost = [
            Missing(path, self._folders.get(_parent(path)), path in self._doubted)
            for path in map(self._inside, missing)
        ]
        force = f"memory watch {self._folder} --prune --force"
        kept = [] if self.force else withheld(lost, len(there), walked, str(self._place), force)
        self._doubted = {path for one in kept if not one.folder for path in one.paths}
        unsure = {_parent(one.path) for one in lost}
        self._folders = walked.folders | {name: one for name, one in self._folders.items() if name in unsure}
        return kept

    def _without_file(self, missing: dict[str, Memory], stay: set[str], *, prune: bool) -> Iterator[FileChange | Error]:
        """
        What becomes of memories whose files no longer exist.

        All must be missing in two looks before one is deleted, since editors replace files and git takes its time; at
        least one file must be left, since a folder may be empty because its disk is not mounted.

        Args:
            stay: Missing files, by their paths from the folder, that are not taken for deleted.
        """
        new = missing.keys() - self._missing
        self._missing = set(missing)
        self.again |= prune and bool(new)
        self.force &= bool(new)
        for name, memory in missing.items():
            if not prune and name in new:
                yield FileChange("gone", name, memory)
            elif prune and not new and self._inside(name) not in stay:
                try:
                    with step(*STEP):
                        gone = self._engine.trash.delete(memory.id)
                except NotFound:
                    continue
                yield FileChange("deleted", name, gone)

    def _is_missing(self, name: str, names: set[str]) -> bool:
        """Whether a remembered file was in the folder and no longer is."""
        inside = self._inside(name)
        return bool(inside) and name not in names and _gone(self._place / inside)

    def _inside(self, name: str) -> str:
        """The path of a remembered file from the folder; empty if it is of another one."""
        if not name or (self._root is None and not Path(name).is_absolute()):
            return ""  # another folder's: this one's are remembered by their whole path
        path = Path(name) if self._root is None else self._root / name
        return path.relative_to(self._place).as_posix() if path.is_relative_to(self._place) else ""


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _gone(path: Path) -> bool:
    """Whether a path certainly does not exist; one that may not be read might."""
    try:
        return not path.exists()
    except OSError:
        return False


def _name(memory: Memory) -> str:
    return memory.related_files[0] if memory.related_files else ""
