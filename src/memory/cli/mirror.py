"""The command that keeps a folder of Markdown and the memories in step."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from memory.cli.options import progress, settings
from memory.cli.watch import Report, changes_in
from memory.config.walk import place
from memory.engine import Engine
from memory.schema.answer import Notice
from memory.schema.errors import Error, Invalid, NotFound, StoreBusy, explained
from memory.schema.step import step
from memory.tools.operation import Call, Given, Option, Shown, command
from memory.tools.render import data
from memory.tools.render.text import counted
from memory.tools.watch import MirrorAction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.tools.watch import Mirror

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
    report = _Report(as_json=call.as_json)
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


def _wait(report: _Report, found: Mirror, folder: Path, database: str) -> None:
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


class _Report(Report):
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


COMMANDS = (mirror,)
