"""
The commands that keep a folder of Markdown and the memories in step until Ctrl-C: `watch` takes from the folder only, `mirror`
works in both directions.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory.cli.options import HERE, named_project, progress, settings, show, tell
from memory.config.walk import place
from memory.engine import Engine
from memory.schema.answer import Notice
from memory.schema.errors import Error, Invalid, NotFound, StoreBusy, clipped_repr, explained
from memory.schema.step import step
from memory.text.display import escape_controls
from memory.tools.operation import Call, Given, Option, Shown, command
from memory.tools.render import data
from memory.tools.render.text import counted
from memory.tools.watch import MARKDOWN, FileChange, LeftOut, MirrorAction, Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memory.tools.watch import Mirror, Sum


COUNTED = frozenset({"kept", "saved", "updated"})
"""What is done to what was found: the sum has it."""

SHOWN = {"kept": "saved"}
"""What a line calls a change; documents have the names of their first version."""

QUIET = 200  # milliseconds without a change after which files are read: editors write in several steps
WAKE = 1_000  # milliseconds after which there is another look if one is needed


def changes_in(folder: Path) -> Iterator[object]:
    """What has changed, over and over; something empty for each second without a change."""
    from watchfiles import Change as Event, watch

    place = folder.resolve()

    def concerns(event: Event, name: str) -> bool:
        path = Path(name)
        if path.is_relative_to(place) and any(part.startswith(".") for part in path.relative_to(place).parts):
            return False
        return event is Event.deleted or name.lower().endswith(MARKDOWN) or path.is_dir()

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


class Report:
    """
    Prints what was done in a folder, a line or a document for each, and counts it.

    Attributes:
        troubles: How often something was wrong that is no thing which was found.
        settled: Whether the sum of what was found at first has been told.
    """

    def __init__(self, command: str, *, as_json: bool) -> None:
        self._command, self.as_json = command, as_json
        self.done: Counter[str] = Counter()
        self.troubles = 0
        self.settled = False

    def change(self, done: str, path: str, values: dict[str, Any], notices: Iterable[Notice]) -> None:
        """
        Args:
            values: The document, beside its notices.
        """
        self.done[done] += 1
        notices = tuple(notices)
        if self.as_json:
            show(data.document(self._command, values | {"notices": data.notices(notices)}))
        else:
            click.echo(f"{SHOWN.get(done, done)} {escape_controls(path)}")
            tell(notices)

    def trouble(self, error: Error, before: str = "") -> None:
        self.troubles += 1
        if self.as_json:
            show(data.error(error), err=True)
        else:
            tell([Notice(f"{before}{error}", error.hint)])

    def leave(self, one: LeftOut) -> None:
        """Tell what is left out, unless the first sum will."""
        if self.settled and self.as_json and not one.ruled:
            show(data.error(Invalid(one.notice.text, hint=one.hint)), err=True)
        elif self.settled:
            self.say(f"left out: {one.notice.text}")

    def settle(self, became: Sum, *, more: str = "") -> None:
        """Say what became of all that was found, and what was left out."""
        self.settled = True
        if not self.as_json:
            tell([Notice(f"{became}{more}"), *became.told])

    def end(self, became: Sum, one: Callable[[int, str], str]) -> None:
        """The last that is said: the sum, and what else was done, each in the words of `one`."""
        others = {name: count for name, count in sorted(self.done.items()) if name not in COUNTED}
        if self.as_json:
            show(data.document("sum", became.values | {"done": others}))
        self.settle(became, more="".join(f"; {one(count, name)}" for name, count in others.items()))

    def say(self, text: str) -> None:
        """A line for a person who watches."""
        if not self.as_json:
            tell([Notice(text)])


# From the folder -----------


@command(
    "watch FOLDER",
    Option("--project [NAME]", "Project of the files; by default that of the folder; '' for none.", usual=HERE),
    Option("--once", "Stop when everything is up to date instead of waiting for changes."),
    Option("--prune", "Delete the memories of files that no longer exist."),
    Option("--force", "With --prune: delete even if many files are missing at once, or their folder is."),
)
def watch(call: Call, a: Given) -> Shown:
    """
    Import a folder of Markdown, then each change, until Ctrl-C.

    It imports what has changed, as `memory import` does, then each file when it changes. It prints a line for every
    change, or a document with --json. A renamed file keeps its memory. The memory of a deleted file stays unless you
    pass --prune. At the end it counts what it found.

    \b
        memory watch docs --once
        memory watch docs --prune
    """
    folder, once = a["folder"], a["once"]
    if not os.path.isdir(folder):  # noqa: PTH112  # Path.is_dir raises where a name is too long
        there = os.path.exists(folder)  # noqa: PTH110
        hint = "`memory import` imports a file." if there else ""
        raise Invalid(f"{folder} is not a folder" if there else f"no folder {clipped_repr(folder)}", hint=hint)
    path = Path(folder)
    changes = iter(()) if once else changes_in(path)
    report = _WatchReport(as_json=call.as_json)
    with Engine.open(settings(), lasting=not once) as engine:
        engine.vectors.stay()
        watched = Watched(engine, path, named_project(a["project"], path), prune=a["prune"], force=a["force"])
        try:
            report.look(watched)
            if once and watched.again:
                report.look(watched)
            if not once:
                report.settle(watched.outcomes.sum())
                report.say(f"watching {folder}; press Ctrl-C to stop")
            watched.again = True  # something may have happened before the waiting began
            for found in changes:
                if found or watched.again:
                    report.look(watched, patient=True)
        finally:
            became = watched.outcomes.sum()
            report.end(became, lambda count, done: f"{count:,} {done}")
    return Shown(None, "", code=1 if once and (report.troubles or became.faults) else 0)


class _WatchReport(Report):
    """A notice is told once, however many files it is of."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__("watch", as_json=as_json)
        self._told: set[Notice] = set()

    def look(self, watched: Watched, *, patient: bool = False) -> None:
        """
        Look once, and report what has changed.

        Args:
            patient: Whether to try again later if another process is writing.
        """
        try:
            for found in watched.look():
                if isinstance(found, FileChange):
                    self._change(found, pruning=watched.prune)
                elif isinstance(found, LeftOut):
                    self.leave(found)
                else:
                    self.trouble(found)
        except StoreBusy as error:
            if not patient:
                raise
            self.trouble(error)
            watched.again = True

    def _change(self, change: FileChange, *, pruning: bool) -> None:
        notices = change.notices
        if change.done == "gone" and not self.as_json:
            why = "no Markdown file is left in the folder" if pruning else "--prune deletes them"
            notices += (Notice(f"the memories of files that no longer exist stay: {why}"),)
        about = {"change": change.done, "file": change.name, "memory": data.pointer(change.memory)}
        told, self._told = self._told, {*self._told, *notices}
        self.change(change.done, change.name, about, [one for one in notices if self.as_json or one not in told])


# In both directions ----------

STEP = ("mirror", "memory mirror")
"""Each look while it waits is a step, which nobody gave a command for."""

AGAIN = 0.3
"""Seconds until a page that is missing is looked for once more: editors replace files, and git one after the other."""

LOOKS = 10
"""How often, as long as more of them are missing each time."""


@command(
    "mirror [FOLDER]",
    Option("--project [NAME]", "Only memories of this project.", narrows=True),
    Option("--watch", "Go on syncing until Ctrl-C; a change arrives within two seconds."),
    Option("--force", "Delete memories even if many pages are missing at once, or the folder was replaced."),
    Option("--conflicts", "Only list memories that were changed on both sides."),
)
def mirror(call: Call, a: Given) -> Shown:
    """
    Sync memories with a folder of Markdown files, in both directions.

    Each memory has one page. Edit, create, rename and delete pages in any editor, and memories with any command: each
    change reaches the other side. If both sides changed the same memory, both versions stay. It prints a line for every
    change, or a document with --json, and at the end counts what it found.

    \b
        memory mirror ~/notes
        memory mirror ~/notes --watch
    """
    if a["conflicts"]:
        return _conflicts(call)
    if a["folder"] is None:
        raise Invalid("a folder is missing", hint="`memory mirror ~/notes`, for instance.")
    folder = Path(a["folder"]).expanduser()
    with explained(Invalid, f"cannot make the folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    report = _MirrorReport(as_json=call.as_json)
    with Engine.open(settings(), lasting=a["watch"]) as engine:
        engine.vectors.stay()
        found = engine.mirror(folder, a["project"])
        found.force = a["force"]
        try:
            report.look(found)
            for _ in range(LOOKS):
                if not found.again:
                    break
                time.sleep(AGAIN)
                report.look(found)
            if a["watch"]:
                report.settle(found.outcomes.sum())
                _wait(report, found, folder, engine.store.path)
        finally:
            became = found.outcomes.sum()
            report.end(became, lambda count, done: f"{counted(count, 'page')} {done}")
    return Shown(None, "", code=1 if (report.troubles or became.faults) and not a["watch"] else 0)


def _wait(report: _MirrorReport, found: Mirror, folder: Path, database: str) -> None:
    report.say(f"watching {folder}; press Ctrl-C to stop")
    before: tuple[object, ...] = ()
    while True:
        began = place(folder)
        for changed in changes_in(folder) if began else _paused():
            now = _changed(database)
            if changed or found.again or found.waiting or now != before:
                with step(*STEP):
                    report.look(found, patient=True)
            before = now
            if place(folder) != began:  # the system tells what changes in the former one
                break


def _paused() -> Iterator[bool]:
    """In place of changes, while there is no folder."""
    time.sleep(AGAIN)
    yield True


def _changed(database: str) -> tuple[object, ...]:
    """What differs once somebody has written to the database: its file or its log has another time or size, if any."""
    states = []
    for name in (database, f"{database}-wal"):
        try:
            state = Path(name).stat()
        except OSError:
            continue
        states.append((name, state.st_mtime_ns, state.st_size))
    return tuple(states) or (time.monotonic(),)  # a server: only a look can tell


def _conflicts(call: Call) -> Shown:
    found = call.engine.documents.conflicts()
    rows = [{"memory": data.pointer(one), "of": None if of is None else data.pointer(of)} for one, of in found]
    lines = [
        f"{one.short_id} {one.title}" + (f"\n    the other version of {of.short_id} {of.title}" if of else "")
        for one, of in found
    ]
    hint = "Edit one of the two, then delete the other, or take its tag `conflict` away."
    return Shown({"conflicts": rows}, "\n".join([*lines, hint]) if found else "no conflicts")


class _MirrorReport(Report):
    """What is wrong is told once, not at every look."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__("mirror", as_json=as_json)
        self._told: set[str] = set()
        self._waited = False

    def look(self, mirror: Mirror, *, patient: bool = False) -> None:
        """
        Look once, and report what was done.

        Args:
            patient: Whether to try again later if another process is writing, or the folder cannot be used.
        """
        told, self._told = self._told, set()
        try:
            with progress("mirroring") as report:
                for one in mirror.look(report):
                    if isinstance(one, MirrorAction):
                        notices = one.notices
                        said = notices if self.as_json else [Notice(f"{one.path}: {n.text}", n.hint) for n in notices]
                        self.change(one.done, one.path, one._asdict(), said)
                    elif self.settled or not one.found:
                        text = f"{one.path}: {one.error}"
                        self._once(type(one.error)(text, hint=one.error.hint), told, "left as it is: ")
        except (StoreBusy, NotFound, Invalid) as error:
            if not patient:
                raise
            self._once(error, told)
            self._told |= told
            self._waited |= not isinstance(error, StoreBusy)
            mirror.again = True
        if self._waited and not mirror.waiting and not mirror.again:
            self.say("no page is missing any more")
        self._waited = mirror.waiting or (self._waited and mirror.again)

    def _once(self, error: Error, told: set[str], before: str = "") -> None:
        self._told.add(str(error))
        if str(error) in told:
            self.troubles += 1
        else:
            self.trouble(error, before)


COMMANDS = (mirror, watch)
