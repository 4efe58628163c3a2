"""
Markdown files: reading one as a memory, writing a memory as one with YAML front matter into an allowed folder, and
finding the memory of a file.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.carry.formats import MARKDOWN
from memory.carry.formats.items import Item, line, timed
from memory.carry.formats.notes import document
from memory.config import expanded
from memory.config.files import TEXT_BYTES, contents, folders, utf8, write_file
from memory.config.front_matter import UNPRINTED
from memory.config.project import project as named, repository
from memory.schema.draft import MOMENTS, Draft, Saved, content_hash
from memory.schema.errors import Invalid, clipped_repr, explained, placed, printable
from memory.schema.kinds import GENERAL, Kind
from memory.schema.query import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.engine import Engine
    from memory.schema.memory import Document, Memory

DOCUMENTS = "documents"
"""The folder next to the database that documents may be written into."""

TEXTS = (*MARKDOWN, ".txt")


class Written(NamedTuple):
    """
    Attributes:
        path: Absolute, without symbolic links.
        size: Bytes.
    """

    path: Path
    size: int


def front_matter(document: Document) -> str:
    """YAML front matter that identifies the memory: a line for each fact, texts always in double quotes."""
    memory = document.memory
    facts = {
        "memory_id": memory.id,
        "uid": memory.uid,
        "title": memory.title or None,
        "memory_type": str(memory.kind),
        "chunk_count": document.chunks,
        "created_at": f"{memory.created_at:%Y-%m-%dT%H:%M:%SZ}",
        "agent_id": memory.agent_id,
        "session_id": memory.session_id,
        "session_iter": memory.session_iter,
        "task_code": memory.task_code,
        "category": memory.category,
        "tags": list(memory.tags),
    }
    pairs = [(name, fact) for name, fact in facts.items() if fact not in (None, []) or name == "title"]
    lines = [f"{name}: {json.dumps(fact, ensure_ascii=False).translate(UNPRINTED)}" for name, fact in pairs]
    return "\n".join(["---", *lines, "---", ""])


def write(
    document: Document,
    path: str | Path,
    *,
    folder: Path | None,
    home: str | Path,
    overwrite: bool,
    matter: bool = True,
) -> Written:
    """
    Write a document to a file: front matter, then its text byte for byte.

    The file is complete or not there, even if the program is killed or the power fails.

    Args:
        path: A relative path is taken from `folder`, or from the working folder if that is None.
        folder: The file must be inside it after following links, not hidden in it, and have a text file's extension;
            None allows any place.
        home: The folder of the database; nothing may be written into it except below `documents`.
        overwrite: Replace an existing file.
        matter: Write front matter.

    Raises:
        Invalid: The path is outside, hidden, taken, not an ordinary file, or cannot be written. Nothing was changed.
    """
    target = _place(path, folder)
    _own(target, Path(home).resolve())
    text = ((front_matter(document) if matter else "") + document.body).encode()
    try:
        with folders(target.parent):
            write_file(target, text, overwrite=overwrite)
    except FileExistsError as error:
        raise Invalid(
            f"{printable(str(target))} already exists", hint="Choose another name, or overwrite it."
        ) from error
    except OSError as error:
        raise Invalid(f"cannot write {printable(str(target))}: {error.strerror or error}") from error
    return Written(target, len(text))


def _place(path: str | Path, folder: Path | None) -> Path:
    text = str(path) if isinstance(path, (str, Path)) else ""
    if not text.strip() or "\0" in text:
        raise Invalid(f"{clipped_repr(path)} is not a path")
    try:
        target = ((folder or Path.cwd()) / Path(text).expanduser()).resolve()
        root = folder.resolve() if folder else Path(target.anchor)
        inside = target.is_relative_to(root)
        there = inside and target.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # too long, a loop of links, no such user, or not Unicode
        why = getattr(error, "strerror", None) or error
        raise Invalid(f"{clipped_repr(printable(text))} is not a path: {why}") from error
    if not inside:
        hint = "Documents are written there unless the setting `documents` names another folder."
        raise Invalid(f"{printable(str(target))} is outside of {printable(str(folder))}", hint=hint)
    if folder and any(part.startswith(".") for part in target.relative_to(root).parts):
        hint = "Choose a name without a dot before it: git, shells and editors run what hidden files say."
        raise Invalid(f"{printable(str(target))} is hidden", hint=hint)
    if there:
        raise Invalid(f"{printable(str(target))} is a folder", hint="Name a file in it.")
    if folder and target.suffix.lower() not in TEXTS:
        hint = f"End it in {', '.join(TEXTS)}: what builds and tests a project runs files of other names."
        raise Invalid(f"{printable(target.name)} is not a name for a document", hint=hint)
    return target


def _own(target: Path, home: Path) -> None:
    if target.is_relative_to(home) and not target.is_relative_to(home / DOCUMENTS):
        hint = f"In {printable(str(home / DOCUMENTS))} there is room for documents."
        raise Invalid(f"{printable(str(target))} is where the database is", hint=hint)
    if target.exists() and not target.is_file():
        raise Invalid(f"{printable(str(target))} is not a regular file")


def allowed(setting: str, home: str) -> Path:
    """
    The folder that documents may be written into.

    Args:
        setting: The setting `documents`; empty means the working folder.
            If that is the user's home folder or above it, as for many servers,
            it means `documents` next to the database: otherwise everything would be allowed.
        home: The folder of the database.
    """
    if setting:
        return Path(expanded(setting))
    try:
        working = Path.cwd().resolve()
        wide = Path.home().resolve().is_relative_to(working)
    except (OSError, RuntimeError):  # the working folder was deleted; no home is known
        wide = True
    return Path(home) / DOCUMENTS if wide else working


# Read -------------------------------------------------------------------------


def markdown(path: Path, *, name: str, project: str | None, clean: Callable[[str], str]) -> Item | None:
    """
    A Markdown file as a knowledge base entry, its text verbatim except for secrets and front matter, whose values
    become fields; None if it is blank.

    Args:
        name: The path to remember: the same for the same file, whatever folder is imported.
        clean: Removes secrets from a text (`Engine.clean`), before a title is taken from it that could contain one.

    Raises:
        Invalid: It cannot be read, or is not UTF-8 text.
    """
    with explained(Invalid, str(path)):
        text = utf8(contents(path, TEXT_BYTES), str(path), mark=True)
    with placed(str(path)):
        item = document(clean(text), stem=path.stem, file=name, project=project, clean=clean)
    return item and item._replace(draft=timed(item))


def changes(memory: Memory, draft: Draft) -> dict[str, Any]:
    """
    The fields in which a memory differs from its file, with the file's values.

    Fields that the file does not have, such as added tags or a category, are left as they are.
    """
    found: dict[str, Any] = {}
    if memory.content_hash != content_hash(draft):
        found |= {"body": draft.body, "what": draft.what}
    elif draft.what not in ("", memory.what):
        found["what"] = draft.what
    if memory.title != draft.title:
        found["title"] = draft.title
    if draft.category not in {GENERAL, memory.category}:
        found["category"] = draft.category
    if more := [tag for tag in draft.tags if tag not in memory.tags]:
        found["tags"] = (*memory.tags, *more)
    if any(memory.metadata.get(key) != value for key, value in draft.metadata.items()):
        found["metadata"] = {**memory.metadata, **draft.metadata}
    said = {name: moment for name in MOMENTS if (moment := getattr(draft, name)) is not None}
    return found | {name: moment for name, moment in said.items() if getattr(memory, name) != moment}


# The memory of a file, whichever folder is imported ----------------------------


def drafted(engine: Engine, file: Path, project: str | None) -> Item | None:
    """
    A Markdown file as it would be saved; None if it is blank.

    Raises:
        Invalid: The file cannot be read, or is not UTF-8 text.
    """
    return markdown(file, name=remembered(file, project), project=project, clean=engine.documents.clean)


def remembered(file: Path, project: str | None) -> str:
    """
    The path by which a file is remembered: relative to the repository if that is the project, else absolute, so that
        the
    README of another repository is not taken for the project's.
    """
    path = file.resolve()
    own = root(path.parent, project)
    return printable((path if own is None else path.relative_to(own)).as_posix())


def root(folder: Path, project: str | None) -> Path | None:
    """The root of the repository around a folder, if that repository is the project."""
    return repository(folder) if project and named(folder) == project else None


def former(engine: Engine, project: str | None) -> dict[str, Memory]:
    """The memories of files, by the remembered path of each file."""
    scope = Scope(
        kinds=frozenset({Kind.KNOWLEDGE_BASE}),
        sources=frozenset({"import"}),
        projects=frozenset({project} if project else ()),
    )
    kept = chain.from_iterable(engine.documents.pages(scope))
    return {memory.related_files[0]: memory for memory in kept if memory.related_files and memory.project == project}


def keep(engine: Engine, item: Item, old: Memory | None, there: Callable[[str], bool]) -> tuple[Saved, bool]:
    """
    Save the content of a file.

    Args:
        old: The file's memory so far.
        there: Whether a remembered file exists.

    Returns:
        The result, and whether the memory `old` was changed.
    """
    draft = item.draft
    if old is None:
        (saved,) = engine.maintenance.restore([line(item, engine.now())])
        return beside(engine, item, saved, there) or saved, False
    if not (new := changes(old, draft)):
        return Saved(old, known=True), False
    saved = engine.documents.update(old.id, **new)
    return saved, not saved.known  # the two may differ only in a removed secret


def beside(engine: Engine, item: Item, saved: Saved, there: Callable[[str], bool]) -> Saved | None:
    """
    Save a file whose text equals that of another existing file, but which has facts of its own; None otherwise.

    Args:
        saved: The result of saving it, which was known.
        there: As in `keep`.
    """
    files, draft = saved.memory.related_files, item.draft
    alone = not saved.known or draft.kind is not Kind.KNOWLEDGE_BASE or not files or files[0] == draft.related_files[0]
    if alone or not there(files[0]) or not changes(saved.memory, draft):
        return None
    made = line(item._replace(uid=None), engine.now())
    return engine.maintenance.restore([made._replace(foreign=False)])[0]
