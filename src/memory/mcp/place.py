"""The project that a client works on: from the roots it names, else from the folder it started the server in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from memory.project import project

if TYPE_CHECKING:
    from collections.abc import Sequence


def folder(uri: str) -> Path | None:
    """The folder of a root; None if it is not on this machine."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = url2pathname(parts.path) if "%" not in parts.path else url2pathname(unquote(parts.path))
    return Path(path) if path and "\0" not in path else None


def placed(roots: Sequence[str], working: Path | None) -> str | None:
    """
    The project of the root that holds the working folder, else of the first one, else of the working folder.

    Args:
        roots: URIs.
        working: The folder that the server was started in; None where it says nothing of the client.
    """
    folders = [found for found in map(folder, roots) if found is not None]
    if working is not None:
        inside = [found for found in folders if working.is_relative_to(found)]
        folders = [*(working for _ in inside[:1]), *folders]
    for found in folders:
        if name := project(found):
            return name
    return None if folders or working is None else project(working)
