"""The command that keeps the knowledge base up to date with a folder."""

from __future__ import annotations

import os
from pathlib import Path

from memory.cli.changes import Report, changes_in
from memory.cli.options import HERE, named_project, settings
from memory.engine import Engine
from memory.schema.answer import Notice
from memory.schema.errors import Invalid, StoreBusy, clipped_repr
from memory.tools.operation import Call, Given, Option, Shown, command
from memory.tools.render import data
from memory.tools.watch import FileChange, LeftOut, Watched


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
    report = _Report(as_json=call.as_json)
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


class _Report(Report):
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


COMMANDS = (watch,)
