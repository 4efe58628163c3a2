"""Files of Markdown as memories: which file is which memory, in whatever folder it is looked for."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from memory.carry.export import pages
from memory.carry.markdown import changes, markdown
from memory.config.project import project as named, repository
from memory.schema.draft import Draft, Saved
from memory.schema.errors import printable
from memory.schema.kinds import Kind
from memory.schema.query import Scope

if TYPE_CHECKING:
    from pathlib import Path

    from memory.engine import Engine
    from memory.schema.memory import Memory


def drafted(engine: Engine, file: Path, project: str | None) -> Draft | None:
    """
    The draft of a Markdown file; None if it is blank.

    Raises:
        Invalid: It cannot be read, or is not UTF-8 text.
    """
    return markdown(file, name=remembered(file, project), project=project, clean=engine.documents.clean)


def remembered(file: Path, project: str | None) -> str:
    """
    The path of a file within its repository if that is the project, else from the root of the file system: the README
    of another repository is not the project's own.
    """
    path = file.resolve()
    own = root(path.parent, project)
    return printable((path if own is None else path.relative_to(own)).as_posix())


def root(folder: Path, project: str | None) -> Path | None:
    """The root of the repository around a folder, if that repository is the project."""
    return repository(folder) if project and named(folder) == project else None


def former(engine: Engine, project: str | None) -> dict[str, Memory]:
    """The memory of each file, by its remembered name."""
    scope = Scope(
        kinds=frozenset({Kind.KNOWLEDGE_BASE}),
        sources=frozenset({"import"}),
        projects=frozenset({project} if project else ()),
    )
    kept = chain.from_iterable(pages(partial(engine.documents.recent, scope)))
    return {memory.related_files[0]: memory for memory in kept if memory.related_files and memory.project == project}


def keep(engine: Engine, draft: Draft, old: Memory | None) -> tuple[Saved, bool]:
    """
    Save the draft of a file.

    Args:
        old: The file's memory so far.

    Returns:
        The result, and whether that memory has changed.
    """
    if old is None:
        return engine.save(draft), False
    if not (new := changes(old, draft)):
        return Saved(old, known=True), False
    saved = engine.documents.update(old.id, **new)
    return saved, not saved.known  # it may differ from its file in a secret alone
