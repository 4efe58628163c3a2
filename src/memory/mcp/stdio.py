"""The server on standard input and output, as agents start it; what was asked before the input ended is answered."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError

from memory.mcp.server import Serving
from memory.schema.holder import remove_folders

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from types import FrameType

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from memory.engine.keeper import Keeper
    from memory.tools.operation import Operation

SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE = 10.0  # seconds that a process outlives its input at most, for what was asked


def serve(keeper: Keeper, tools: Sequence[Operation], *, structured: bool) -> None:
    """Answer until the input ends or the client leaves. Only the protocol is written to standard output."""
    for number in SIGNALS:
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
    watch_signals()
    server = serving.server()
    async with stdio_server() as (read, write):
        try:
            async with answering(read, write, late=_gone) as (asked, answered):
                await server.run(asked, answered, server.create_initialization_options())
        except anyio.get_cancelled_exc_class():  # standard output is closed: there is no reader
            _gone()
            raise


def _gone() -> None:
    """
    End the process, because the client has left or no longer waits.

    A thread may be blocked in a read of standard input, or wait for the database, so the process ends at once. Nothing is
    lost: what was acknowledged is in the database, and an open transaction is rolled back.
    """
    remove_folders()
    os._exit(0)


def _leave(number: int, _frame: FrameType | None) -> None:
    """End like `_gone`, on a signal."""
    remove_folders()
    os._exit(128 + number)


def watch_signals() -> None:
    """Let signals wake the loop: one that comes right before it waits would not be noticed until the client writes."""
    for number in SIGNALS:
        with suppress(NotImplementedError):  # loops on Windows cannot be woken
            asyncio.get_running_loop().add_signal_handler(number, _leave, number, None)
        signal.signal(number, _leave)  # besides, so that it ends while the loop is busy, too


def _working() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


# The end of the input ----------------------------------------------------


class _Open:
    """The client's requests that have no answer yet. Both sides number their own, so each direction is kept apart."""

    def __init__(self) -> None:
        self._answered: dict[object, anyio.Event] = {}

    def asked(self, item: object) -> None:
        """Note what comes from the client."""
        match item:
            case SessionMessage(message=JSONRPCRequest(id=id)):
                self._answered[id] = anyio.Event()
            case SessionMessage(message=JSONRPCNotification(method="notifications/cancelled", params=dict(params))):
                self._close(params.get("requestId"))

    def answered(self, item: object) -> None:
        """Note what was sent to the client."""
        match item:
            case SessionMessage(message=JSONRPCResponse(id=id) | JSONRPCError(id=id)):
                self._close(id)

    def _close(self, id: object) -> None:
        if event := self._answered.pop(id, None):
            event.set()

    async def none(self) -> None:
        """Wait until all of them have one. No other comes meanwhile."""
        for event in tuple(self._answered.values()):
            await event.wait()


@asynccontextmanager
async def answering(
    read: Any, write: Any, *, late: Callable[[], None]
) -> AsyncGenerator[tuple[MemoryObjectReceiveStream[Any], MemoryObjectSendStream[Any]]]:
    """
    A server's two streams, between it and those of a transport.

    The protocol library drops its current work when its input ends: a client that pipes requests into the server would
    not see the last answers.

    Args:
        late: Called if answers are still missing `GRACE` seconds after the end of the input, or cannot be delivered.
    """
    waiting = _Open()
    to_server, asked = anyio.create_memory_object_stream[Any](0)
    answered, from_server = anyio.create_memory_object_stream[Any](0)

    async def pass_on_questions() -> None:
        async with to_server:
            async for item in read:
                if (refused := refusal(item)) is None:
                    waiting.asked(item)
                    await to_server.send(item)
                else:
                    await _refuse(answered, refused)
            with anyio.move_on_after(GRACE) as scope:
                await waiting.none()
            if scope.cancelled_caught:
                late()

    async def pass_on_answers() -> None:
        async with write:
            async for item in from_server:
                await _sent(item, write, late)
                waiting.answered(item)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pass_on_questions)
        tasks.start_soon(pass_on_answers)
        yield asked, answered
        await answered.aclose()


async def _refuse(answered: MemoryObjectSendStream[Any], refused: SessionMessage) -> None:
    async with answered.clone() as own:  # the server closes its own when it ends
        await own.send(refused)


def refusal(item: object) -> SessionMessage | None:
    """
    The answer to a request that the library does not take for JSON, if its id can be read: else the client would wait.

    Half of a character, as in "\\ud800", is what JSON can say and no text may hold.
    """
    if not isinstance(item, ValidationError) or (problem := item.errors()[0])["type"] != "json_invalid":
        return None
    try:
        request = json.loads(problem["input"])
        id = request["id"]
        if type(id) not in {int, str} or not _encodable(id):
            return None
    except (ValueError, RecursionError, LookupError, TypeError):
        return None  # nobody knows what it was
    why = problem["msg"] if _encodable(request) else "a text in it has a lone surrogate, half of a character"
    told = ErrorData(code=INVALID_REQUEST, message=f"the request cannot be read: {why}")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=told))


def _encodable(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


async def _sent(item: object, write: Any, late: Callable[[], None]) -> None:
    try:
        await write.send(item)
    except anyio.BrokenResourceError:  # the transport has noticed that nobody reads before it could cancel us
        late()
        raise
