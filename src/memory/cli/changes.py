"""What changes in a folder, as the system tells it, and what is said of it until Ctrl-C."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory.carry.markdown import SUFFIXES
from memory.cli.options import show, tell
from memory.schema.answer import Notice
from memory.schema.errors import Error, explained
from memory.text.display import escape_controls
from memory.tools.render import data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
        return event is Event.deleted or name.lower().endswith(SUFFIXES) or path.is_dir()

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
        troubles: How often something was wrong.
    """

    def __init__(self, command: str, *, as_json: bool) -> None:
        self._command, self.as_json = command, as_json
        self.done: Counter[str] = Counter()
        self.troubles = 0

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
            click.echo(f"{done} {escape_controls(path)}")
            tell(notices)

    def trouble(self, error: Error, before: str = "") -> None:
        self.troubles += 1
        if self.as_json:
            show(data.error(error), err=True)
        else:
            tell([Notice(f"{before}{error}", error.hint)])

    def say(self, text: str) -> None:
        """A line for a person who watches."""
        if not self.as_json:
            tell([Notice(text)])

    def summary(self, one: Callable[[int, str], str]) -> str:
        """What was done, in numbers, each in the words of `one`."""
        return ", ".join(one(count, done) for done, count in sorted(self.done.items())) or "nothing has changed"
