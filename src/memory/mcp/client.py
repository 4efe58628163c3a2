"""What is known about clients (name, folders, project), and the progress they are told."""

from __future__ import annotations

import asyncio
import math
from contextlib import nullcontext
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from memory.config.project import project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.context import ServerRequestContext

    Context = ServerRequestContext[Any, Any]

PROGRESS_SECONDS = 0.2  # between two reports
ROOTS_SECONDS = 3.0  # a client that says it has roots and does not name them delays its calls no longer
ROOTS_KEPT = 60.0  # seconds that they are valid in the era in which a client does not report changes
ROOTS = "roots"


class Roots(NamedTuple):
    """The folders a client named, and until when they are valid, on the monotonic clock."""

    uris: tuple[str, ...]
    until: float


class RootsNeeded(Exception):
    """The client has to name its folders first, in the era without requests to clients."""


class Clients:
    """The folders that clients work in, remembered while a process lives."""

    def __init__(self, working: Path | None) -> None:
        """
        Args:
            working: The folder that the client started the server in; None if it did not.
        """
        self._working = working
        self._asking = asyncio.Lock()
        self._only: dict[str, Roots] = {}  # of the client that has started this process, so of the only one

    async def roots(self, context: Context, asked: types.InputResponseRequestParams) -> tuple[str, ...]:
        """
        URIs of its folders; empty if it has none or does not name them.

        Raises:
            RootsNeeded: It has some, and can be asked only in the answer.
        """
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.roots is None:
            return ()
        kept = self._kept(context)
        if answered := (asked.input_responses or {}).get(ROOTS):
            kept[ROOTS] = Roots(_uris(answered), monotonic() + ROOTS_KEPT)
        elif not context.session.can_send_request:
            if ROOTS not in kept or monotonic() >= kept[ROOTS].until:
                raise RootsNeeded
        else:
            # The first calls of a client come several at once; those of others over HTTP do not wait for them.
            async with self._asking if self._working is not None else nullcontext():
                if ROOTS not in kept and (found := await _asked_for_roots(context)) is not None:
                    kept[ROOTS] = Roots(found, math.inf)
        return kept[ROOTS].uris if ROOTS in kept else ()

    async def moved(self, context: Context, _params: types.NotificationParams) -> None:
        self._kept(context).pop(ROOTS, None)

    def _kept(self, context: Context) -> dict[str, Roots]:
        """What is remembered about a client: the only one, or, over HTTP, the one of this connection."""
        if self._working is not None:
            return self._only
        state: dict[str, Roots] = context.session._connection.state
        return state


async def _asked_for_roots(context: Context) -> tuple[str, ...] | None:
    """The folders that the client names when asked; None if it names none or does not answer."""
    try:
        found = await context.session.send_request(
            types.ListRootsRequest(), types.ListRootsResult, request_read_timeout_seconds=ROOTS_SECONDS
        )
    except (MCPError, ValidationError):
        return None
    return _uris(found)


def _uris(answered: BaseModel) -> tuple[str, ...]:
    return tuple(str(root.uri) for root in answered.roots) if isinstance(answered, types.ListRootsResult) else ()


def client_name(context: Context) -> str:
    """The name that the client's program gives itself, as a source."""
    params = context.session.client_params
    name = params.client_info.name if params is not None and params.client_info is not None else ""
    return " ".join(name.split())[:200]


def folder(uri: str) -> Path | None:
    """The folder of a root; None if it is not on this machine, or cannot be a folder."""
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
        working: The folder that the server was started in; None if it says nothing about the client.
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


class ProgressReports:
    """Reports the progress of long work, from its thread to the client, a few times a second."""

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context, self._loop = context, loop
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = monotonic()
        if self._loop.is_closed() or (done < total and now - self._last < PROGRESS_SECONDS):
            return
        self._last = now
        report = self._context.session.report_progress(done, total)
        asyncio.run_coroutine_threadsafe(report, self._loop)
