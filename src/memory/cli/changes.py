"""What changes in a folder, as the system tells it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memory.schema.errors import Error, explained
from memory.write.markdown import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator

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
