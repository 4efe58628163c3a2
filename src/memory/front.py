"""Documents as files: Markdown with YAML front matter, inside a folder, over nothing that is there."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from errno import ENOTDIR
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory.errors import Invalid
from memory.limits import plain, short

if TYPE_CHECKING:
    from collections.abc import Generator

    from memory.documents import Document


class Written(NamedTuple):
    """
    Attributes:
        path: Absolute, without symbolic links.
        size: Bytes.
    """

    path: Path
    size: int


def front(document: Document) -> str:
    """YAML front matter that says which memory it is (CAP D33); any YAML parser reads it back, whatever the title."""
    import yaml

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
    said = {name: fact for name, fact in facts.items() if fact not in (None, []) or name == "title"}
    text = yaml.safe_dump(said, allow_unicode=True, sort_keys=False, width=10_000)
    if yaml.safe_load(text) != said:  # PyYAML reads a U+0085 or U+2028 in quotes as a space, unless it is escaped
        text = yaml.safe_dump(said, sort_keys=False, width=10_000)
    return f"---\n{text}---\n"


def write(
    document: Document, path: str | Path, *, folder: Path | None, overwrite: bool, matter: bool = True
) -> Written:
    """
    Write a document to a file; after the front matter its text stands byte for byte. The file is there whole or not.

    Args:
        path: Relative ones are in the folder, or the working folder if there is none.
        folder: What a file must not be outside of, symbolic links followed; None allows any place.
        overwrite: Take the place of a file that is there.
        matter: Whether there is front matter.

    Raises:
        Invalid: The path is outside, is there already, is a folder, or cannot be written. Nothing was changed.
    """
    target = _place(path, folder)
    text = ((front(document) if matter else "") + document.body).encode()
    try:
        with _folders(target):
            if overwrite:
                _replaced(target, text)
            else:
                _made(target, text)
    except FileExistsError as error:
        raise Invalid(f"{plain(str(target))} is there already", hint="Choose another name, or overwrite it.") from error
    except OSError as error:
        raise Invalid(f"cannot write {plain(str(target))}: {error.strerror or error}") from error
    return Written(target, len(text))


def _place(path: str | Path, folder: Path | None) -> Path:
    said = str(path) if isinstance(path, (str, Path)) else ""
    if not said.strip() or "\0" in said:
        raise Invalid(f"{short(path)} is no path")
    try:
        target = ((folder or Path.cwd()) / Path(said).expanduser()).resolve()
        inside = folder is None or target.is_relative_to(folder.resolve())
        there = inside and target.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # too long; a loop of links; no such user; no Unicode
        why = getattr(error, "strerror", None) or error
        raise Invalid(f"{short(plain(said))} is no path: {why}") from error
    if not inside:
        hint = "Documents are written there unless the setting `documents` names another folder."
        raise Invalid(f"{plain(str(target))} is outside of {plain(str(folder))}", hint=hint)
    if there:
        raise Invalid(f"{plain(str(target))} is a folder", hint="Name a file in it.")
    return target


@contextmanager
def _folders(target: Path) -> Generator[None]:
    """Make the folders that a file needs; they are taken away again if it cannot be written."""
    missing = [folder for folder in target.parents if not folder.exists()]
    if not target.parents[len(missing)].is_dir():
        raise NotADirectoryError(ENOTDIR, f"{target.parents[len(missing)].name} is a file")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):  # somebody else has put something there
                folder.rmdir()
        raise


def _made(target: Path, text: bytes) -> None:
    with target.open("xb") as file:
        try:
            file.write(text)
            file.flush()
        except BaseException:
            target.unlink()
            raise


def _replaced(target: Path, text: bytes) -> None:
    """Beside it first, then in its place: whoever reads it finds the old text or the new one."""
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name[:100]}.", delete=False) as file:
        beside = Path(file.name)
        try:
            file.write(text)
            file.flush()
            beside.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
            beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def allowed(setting: str, home: str) -> Path:
    """
    The folder that documents may be written into.

    Args:
        setting: The setting `documents`; empty is the working folder, or `documents` beside the database where that is
            a home folder or the root: a server is often started there, and everything would be allowed.
        home: The folder of the database.
    """
    if setting:
        return Path(setting).expanduser()
    try:
        working = Path.cwd()
    except FileNotFoundError:
        return Path(home) / "documents"
    return Path(home) / "documents" if working in (Path(working.anchor), Path.home()) else working
