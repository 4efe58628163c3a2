"""What a shell completes beside commands and options: ids with titles, projects, tags. Nothing is changed or told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from memory.cli.options import opened
from memory.config import Flags
from memory.schema.errors import Error
from memory.schema.query import ACTIVE
from memory.text.display import escape_controls, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    from memory.engine import Engine

    Completed = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]

LATEST = 500  # memories whose ids are offered


class Bash(BashComplete):
    """Shows help behind values too, where there are several: what they begin with in common is completed, as without."""

    def complete(self) -> str:
        items = self.get_completions(*self.get_completion_args())
        shown = [(one, str.translate(one.help or "", _GLOBS)) for one in items]
        several = len(items) > 1 and all(isinstance(one, _Told) for one in items)
        return "\n".join(f"{one.type},{one.value}{f'  {words}' if several else ''}" for one, words in shown)


class _Told(CompletionItem[str]):
    """One whose help is of use where a shell shows values only."""


_GLOBS = str.maketrans(dict.fromkeys("*?[]\\", " "))
"""Signs that bash would take for a pattern of file names."""


def ask() -> None:
    """Let bash be answered with what is said of values, too."""
    add_completion_class(Bash)


def _completed(values: Callable[[Engine], Iterable[tuple[str, str]]]) -> Completed:
    """A completion by values and what to say of each; none where nothing can be read."""

    def completed(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        given = context.find_root().params
        flags = Flags(*(given.get(name) for name in ("home", "file", "store", "user")))
        try:
            config = flags.load()
            if not config.begun:
                return []
            with opened(config, reads=True) as engine:
                every = [*values(engine)]
        except (Error, OSError):
            return []
        return [_Told(value, help=escape_controls(told)) for value, told in every if value.startswith(incomplete)]

    return completed


ids = _completed(lambda engine: ((one.short_id, one_line(one.title)) for one in engine.recent(limit=LATEST)))
"""Of the latest memories, with their titles."""

projects = _completed(
    lambda engine: ((name, f"{count:,}") for name, count in engine.store.memories.values("project", ACTIVE))
)
"""With how many memories are of each."""

tags = _completed(lambda engine: ((name, f"{count:,}") for name, count in engine.tags.counted()))
"""With how many memories have each."""
