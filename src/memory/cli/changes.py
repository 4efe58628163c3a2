"""What changes in a folder, as the system tells it, and what is said of it until Ctrl-C."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory.cli.options import show, tell
from memory.schema.answer import Notice
from memory.schema.errors import Error, Invalid, explained
from memory.text.display import escape_controls
from memory.tools.render import data
from memory.tools.watch import MARKDOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memory.tools.watch import LeftOut, Sum

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
