"""The project that a client works on: from the roots it names, else from the folder it started the server in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from memory.config.project import project

if TYPE_CHECKING:
    from collections.abc import Sequence


def folder(uri: str) -> Path | None:
    """The folder of a root; None if it is not on this machine, or no folder can be called so."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    try:
        found = Path(url2pathname(parts.path)).resolve() if parts.path else None
        return found if found is not None and found.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long; links in a circle; a NUL
        return None


def client_project(roots: Sequence[str], working: Path | None) -> str | None:
    """
    The project of the root that holds the working folder, else of the first one, else of the working folder.

    Args:
        roots: URIs.
        working: The folder that the server was started in; None where it says nothing of the client.
    """
    folders = [found for found in map(folder, roots) if found is not None]
    if working is not None:
        inside = any(working.resolve().is_relative_to(found) for found in folders)
        folders = [working, *folders] if inside or not folders else folders
    return next(filter(None, map(_project_of, folders)), None)


def _project_of(found: Path) -> str | None:
    try:
        return project(found)
    except (OSError, RuntimeError):  # without rights; too long
        return None
