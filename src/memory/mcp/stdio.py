"""The server on standard input and output, as agents start it."""

from __future__ import annotations

import gc
import logging
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from memory.mcp.ending import answering
from memory.mcp.server import Serving

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from memory.mcp.keeper import Keeper
    from memory.mcp.tool import Tool


def serve(keeper: Keeper, tools: Sequence[Tool]) -> None:
    """Answer until the input ends or the client is gone. Nothing but the protocol is written to standard output."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    gc.freeze()  # what was imported stays; the command had turned the collector off for its start
    gc.enable()
    serving = Serving(keeper, tools, working=_working())
    try:
        anyio.run(_serve, serving)
    except* (BrokenPipeError, anyio.BrokenResourceError):
        logging.getLogger("memory").info("the client is gone")  # as at the end of the input
    finally:
        serving.close()


async def _serve(serving: Serving) -> None:
    server = serving.server()
    async with stdio_server() as (read, write), answering(read, write) as (asked, answered):
        await server.run(asked, answered, server.create_initialization_options())


def _leave(number: int, _frame: FrameType | None) -> None:
    """
    A thread waits in a read of standard input that nothing can end, so the process ends as it is.

    Nothing is lost: what was acknowledged is in the database, and a transaction at work is rolled back.
    """
    os._exit(128 + number)


def _working() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None
