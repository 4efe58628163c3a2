"""What is known of a client: its name, its folders, its project. And what it is told: how far a long work is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from memory.config.project import project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.context import ServerRequestContext

PROGRESS_SECONDS = 0.2  # between two words on it


class Roots(NamedTuple):
    """The folders a client named, and until when on the monotonic clock they are believed."""

    uris: tuple[str, ...]
    until: float


def client_name(context: ServerRequestContext[Any, Any]) -> str:
    """The name that the client's program gives itself, as a source."""
    params = context.session.client_params
    name = params.client_info.name if params is not None and params.client_info is not None else ""
    return " ".join(name.split())[:200]


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


class Progress:
    """Passes on how far a long work is, from its thread to the client, a few times a second."""

    def __init__(self, context: ServerRequestContext[Any, Any], loop: asyncio.AbstractEventLoop) -> None:
        self._context, self._loop = context, loop
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = monotonic()
        if self._loop.is_closed() or (done < total and now - self._last < PROGRESS_SECONDS):
            return
        self._last = now
        report = self._context.session.report_progress(done, total)
        asyncio.run_coroutine_threadsafe(report, self._loop)
