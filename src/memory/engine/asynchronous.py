"""`AsyncEngine`: an engine for programs with an event loop, whose calls run in a thread of their own."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from memory.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
R = TypeVar("R")


def _verb(method: Callable[Concatenate[Engine, P], R]) -> Callable[Concatenate[AsyncEngine, P], Coroutine[Any, Any, R]]:
    """The coroutine method for a method of `Engine`."""

    @wraps(method)
    async def verb(self: AsyncEngine, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.run(lambda engine: method(engine, *args, **kwargs))

    return verb


class AsyncEngine:
    """
    An engine for asyncio: the methods of `Engine`, as coroutines.

        >>> async with AsyncEngine.open() as engine:
        ...     await engine.save(Draft(title="WAL", what="Readers never block the writer", project="db"))
        ...     (await engine.search("do readers block")).hits[0].memory.title

    Calls run one at a time, in order, in a thread of their own, so the event loop never waits for a disk or a model.
    Arguments, results and errors are those of `Engine`; `run` calls everything that has no method here.

    A call that is cancelled before it starts does nothing. A call that is cancelled while it runs is still completed in
    its thread; later calls and `close` wait for it.
    """

    def __init__(self, make: Callable[[], Engine]) -> None:
        """
        Args:
            make: Opens the engine; called in the thread, before the first call.
        """
        self._make = make
        self._engine: Engine | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="memory")

    @classmethod
    def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Prepare an engine, opened by `async with` or the first call; arguments and errors as for `Engine.open`."""
        return cls(partial(Engine.open, *args, **kwargs))

    async def run(self, work: Callable[[Engine], R]) -> R:
        """
        Call a function with the engine, in its thread; returns the result.

            >>> await engine.run(lambda engine: engine.tags.counted())

        Raises:
            RuntimeError: The engine was closed.
        """
        within = copy_context()  # so that changes belong to the caller's step
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(within.run, self._work, work))

    def _work(self, work: Callable[[Engine], R]) -> R:
        if self._engine is None:
            self._engine = self._make()
        return work(self._engine)

    async def close(self) -> None:
        """Close the engine after the running call and cancel those that wait. May be called more than once."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        closing = asyncio.get_running_loop().run_in_executor(None, self._close)
        await asyncio.shield(closing)

    def _close(self) -> None:
        self._thread.shutdown(wait=True)
        if (engine := self._engine) is not None:
            engine.close()

    async def __aenter__(self) -> Self:
        await self.run(lambda _engine: None)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    save = _verb(Engine.save)
    save_all = _verb(Engine.save_all)
    search = _verb(Engine.search)
    context = _verb(Engine.context)
    update = _verb(Engine.update)
    delete = _verb(Engine.delete)
    cleanup = _verb(Engine.cleanup)
    get = _verb(Engine.get)
    details = _verb(Engine.details)
    recent = _verb(Engine.recent)
    by_iteration = _verb(Engine.by_iteration)
    expand = _verb(Engine.expand)
    reconstruct = _verb(Engine.reconstruct)
    session = _verb(Engine.session)
    resume = _verb(Engine.resume)
    similar = _verb(Engine.similar)
    outdated = _verb(Engine.outdated)
    replaceable = _verb(Engine.replaceable)
    renewed = _verb(Engine.renewed)
    embed = _verb(Engine.embed)
    embedding = _verb(Engine.embedding)
    reindex = _verb(Engine.reindex)
    roll_back = _verb(Engine.roll_back)
    forecast = _verb(Engine.forecast)
    learn = _verb(Engine.learn)
    ledger = _verb(Engine.ledger)
    search_statistics = _verb(Engine.search_statistics)
    status = _verb(Engine.status)
    doctor = _verb(Engine.doctor)
