"""How far a long work is, told to the client."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

PROGRESS_SECONDS = 0.2  # between two words on it


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
