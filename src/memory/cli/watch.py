"""The command that keeps the knowledge base up to date with a folder."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import click

from memory.cli.options import HERE, named_project, settings, show, tell
from memory.engine import Engine
from memory.operations.documents import drafted, former, keep, remembered, root
from memory.operations.operation import Call, Given, Option, Shown, command
from memory.operations.render import data
from memory.schema.answer import Notice
from memory.schema.errors import Error, Invalid, NotFound, StoreBusy, clipped_repr, explained
from memory.text.display import escape_controls
from memory.write.markdown import SUFFIXES, files
from memory.write.steps import step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.schema.memory import Memory

QUIET = 200  # milliseconds without a change after which files are read: editors write in several steps
WAKE = 1_000  # milliseconds after which there is another look if one is needed

STEP = ("watch", "memory watch")
"""Each change of a file is a step, which nobody gave a command for."""

Stamp: TypeAlias = "tuple[int, ...]"
"""When a file and its permissions were changed, its size, and which file it is: one in its place is another."""


class Change(NamedTuple):
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
    """

    def __init__(self, engine: Engine, folder: Path, project: str | None, *, prune: bool) -> None:
        self._engine, self._folder, self._project, self.prune = engine, folder, project, prune
        self._place, self._root = folder.resolve(), root(folder, project)
        self._read: dict[Path, Stamp] = {}
        self._missing: set[str] = set()
        self.again = True

    def look(self) -> Iterator[Change | Error]:
        """
        Keep what has changed.

        Yields:
            Changes, and errors that concern one file.

        Raises:
            NotFound: The folder no longer exists. Nothing was changed.
        """
        self.again = False
        if (stamps := self._stamps()) is None:
            return
        before = former(self._engine, self._project)
        names = {remembered(file, self._project) for file in stamps}
        self._read = {file: stamp for file, stamp in self._read.items() if file in stamps}
        changed = False
        for file, stamp in stamps.items():
            if self._read.get(file) != stamp:
                for found in self._kept(file, stamp, before, names):
                    changed = True
                    yield found
        self.again |= changed and len(self._read) < len(stamps)  # one that was changed may have spoken for another
        yield from self._without_file(before, names)

    def _stamps(self) -> dict[Path, Stamp] | None:
        """Every file; None if some vanished while they were looked for."""
        if not self._folder.is_dir():
            raise NotFound(f"the folder {self._folder} no longer exists", hint="Its memories stay.")
        try:
            found = {file: file.stat() for file in files(self._folder)}
        except FileNotFoundError:
            self.again = True
            return None
        return {file: (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino) for file, stat in found.items()}

    def _kept(self, file: Path, stamp: Stamp, before: dict[str, Memory], names: set[str]) -> Iterator[Change | Error]:
        try:
            draft = drafted(self._engine, file, self._project)
            if draft is None:
                self._read[file] = stamp
                return
            name = draft.related_files[0]
            with step(*STEP):
                saved, updated = keep(self._engine, draft, before.get(name))
                memory = saved.memory
                was = _name(memory)
                if moved := saved.known and was in before and self._is_missing(was, names):
                    del before[was]
                    memory = self._engine.documents.update(memory.id, related_files=(name,), title=draft.title).memory
        except NotFound:  # its memory was deleted just now
            self.again = True
            return
        except Invalid as error:
            if isinstance(error.__cause__, FileNotFoundError):
                self.again = True
                return
            self._read[file] = stamp
            yield error
            return
        if _name(memory) == name:  # else it speaks for a file of the same content, and may cease to
            self._read[file] = stamp
        if moved or updated or not saved.known:
            yield Change("moved" if moved else "updated" if updated else "kept", name, memory, saved.notices)

    def _without_file(self, before: dict[str, Memory], names: set[str]) -> Iterator[Change]:
        """
        What becomes of memories whose files no longer exist.

        A file must be missing in two looks before its memory is deleted, since editors replace files; and at least one
        file must be left: a folder may be empty because its disk is not mounted.
        """
        prune = self.prune and bool(names)
        missing = {name: memory for name, memory in before.items() if self._is_missing(name, names)}
        for name, memory in missing.items():
            if name not in self._missing:
                self.again |= prune
                if not prune:
                    yield Change("gone", name, memory)
            elif prune:
                try:
                    with step(*STEP):
                        gone = self._engine.trash.delete(memory.id)
                except NotFound:
                    continue
                yield Change("deleted", name, gone)
        self._missing = set(missing)

    def _is_missing(self, name: str, names: set[str]) -> bool:
        """Whether a remembered file was in the folder and no longer is."""
        if not name or name in names:
            return False
        path = Path(name)
        if not path.is_absolute():
            if self._root is None:
                return False  # of another folder: this one's are remembered by their whole path
            path = self._root / path
        return path.is_relative_to(self._place) and _gone(path)


def _gone(path: Path) -> bool:
    """Whether a path certainly does not exist; one that may not be read might."""
    try:
        return not path.exists()
    except OSError:
        return False


def _name(memory: Memory) -> str:
    return memory.related_files[0] if memory.related_files else ""


@command(
    "watch FOLDER",
    Option("--project [NAME]", "Project of the files; by default the one the folder is in, '' for none.", usual=HERE),
    Option("--once", "Stop when everything is up to date instead of waiting for changes."),
    Option("--prune", "Delete the memories of files that no longer exist."),
)
def watch(call: Call, a: Given) -> Shown:
    """
    Keep the knowledge base up to date with a folder of Markdown, until Ctrl-C.

    It imports what has changed, as `memory import` does, then each file when it changes. It prints a line for every
    change, or a document with --json. A renamed file keeps its memory. The memory of a file that no longer exists stays
    unless --prune is given.

    \b
        memory watch docs --prune
    """
    folder, once = a["folder"], a["once"]
    if not os.path.isdir(folder):  # noqa: PTH112  # Path.is_dir raises where a name is too long
        there = os.path.exists(folder)  # noqa: PTH110
        hint = "`memory import` imports a file." if there else ""
        raise Invalid(f"{folder} is not a folder" if there else f"no folder {clipped_repr(folder)}", hint=hint)
    path = Path(folder)
    changes = iter(()) if once else changes_in(path)
    report = _Report(as_json=call.as_json)
    with Engine.open(settings(), lasting=not once) as engine:
        watched = Watched(engine, path, named_project(a["project"], path), prune=a["prune"])
        try:
            report.look(watched)
            if once and watched.again:
                report.look(watched)
            if not once:
                report.say(f"watching {folder}; press Ctrl-C to stop")
            watched.again = True  # something may have happened before the waiting began
            for found in changes:
                if found or watched.again:
                    report.look(watched, patient=True)
        finally:
            report.say(report.summary())
    return Shown(None, "", code=1 if once and report.troubles else 0)


def changes_in(folder: Path) -> Iterator[object]:
    """What has changed, over and over; something empty for each second without a change."""
    from watchfiles import Change as Event, watch

    place = folder.resolve()

    def concerns(event: Event, name: str) -> bool:
        path = Path(name)
        if path.is_relative_to(place) and any(part.startswith(".") for part in path.relative_to(place).parts):
            return False
        return event is Event.deleted or path.suffix in SUFFIXES or path.is_dir()

    return _waited(
        watch(
            place,
            watch_filter=concerns,
            step=QUIET,
            rust_timeout=WAKE,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        ),
        folder,
    )


def _waited(changes: Iterator[object], folder: Path) -> Iterator[object]:
    hint = "With WATCHFILES_FORCE_POLLING=1 in the environment it polls instead."
    with explained(Error, f"cannot wait for changes in {folder}", hint):
        yield from changes


class _Report:
    """Prints changes and counts them."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._done: Counter[str] = Counter()
        self._told: set[Notice] = set()
        self.troubles = 0

    def look(self, watched: Watched, *, patient: bool = False) -> None:
        """
        Look once, and report what has changed.

        Args:
            patient: Whether to try again later if another process is writing.
        """
        try:
            for found in watched.look():
                if isinstance(found, Change):
                    self._change(found, pruning=watched.prune)
                else:
                    self._trouble(found)
        except StoreBusy as error:
            if not patient:
                raise
            self._trouble(error)
            watched.again = True

    def _change(self, change: Change, *, pruning: bool) -> None:
        self._done[change.done] += 1
        if self._as_json:
            about = {"change": change.done, "file": change.name, "memory": data.pointer(change.memory)}
            show(data.document("watch", about | {"notices": data.notices(change.notices)}))
            return
        click.echo(f"{change.done} {escape_controls(change.name)}")
        notices = list(change.notices)
        if change.done == "gone":
            why = "no Markdown file is left in the folder" if pruning else "--prune deletes them"
            notices.append(Notice(f"the memories of files that no longer exist stay: {why}"))
        tell(one for one in notices if one not in self._told)
        self._told.update(notices)

    def _trouble(self, error: Error) -> None:
        self.troubles += 1
        if self._as_json:
            show(data.error(error), err=True)
        else:
            tell([Notice(str(error), error.hint)])

    def say(self, text: str) -> None:
        """A line for a person who watches."""
        if not self._as_json:
            tell([Notice(text)])

    def summary(self) -> str:
        return ", ".join(f"{count:,} {done}" for done, count in sorted(self._done.items())) or "nothing has changed"


COMMANDS = (watch,)
