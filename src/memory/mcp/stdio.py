"""The server on standard input and output, as agents start it."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from memory.mcp.ending import answering
from memory.mcp.server import Serving
from memory.store import scratch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from memory.mcp.keeper import Keeper
    from memory.operations.operation import Operation


def serve(keeper: Keeper, tools: Sequence[Operation], *, structured: bool) -> None:
    """Answer until the input ends or the client is gone. Nothing but the protocol is written to standard output."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    gc.freeze()  # what was imported stays; the command had turned the collector off for its start
    gc.enable()
    serving = Serving(keeper, tools, structured=structured, working=_working())
    keeper.warm_up()
    try:
        anyio.run(_serve, serving)
    finally:
        serving.close()


async def _serve(serving: Serving) -> None:
    server = serving.server()
    async with stdio_server() as (read, write):
        try:
            async with answering(read, write, late=_gone) as (asked, answered):
                await server.run(asked, answered, server.create_initialization_options())
        except anyio.get_cancelled_exc_class():  # standard output is closed: nobody reads what we say
            _gone()
            raise


def _gone() -> None:
    """
    The client is gone, or waits no longer.

    A thread may wait in a read of standard input that nothing can end, or for the database, so the process ends as it
    is. Nothing is lost: what was acknowledged is in the database, and a transaction at work is rolled back.
    """
    scratch.cleared()
    os._exit(0)


def _leave(number: int, _frame: FrameType | None) -> None:
    """As `_gone`, at somebody's word."""
    scratch.cleared()
    os._exit(128 + number)


def _working() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None
