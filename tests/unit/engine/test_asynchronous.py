"""`AsyncEngine`: every verb of `Engine`, in one thread of its own; what is cancelled is done whole or not at all."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import TYPE_CHECKING, Any

import pytest

from memory import AsyncEngine, Draft, Engine, Invalid, KeyedStore
from memory.config import FLAG, Config, with_setting
from memory.schema.step import step

if TYPE_CHECKING:
    from pathlib import Path

OTHERWISE = {"open", "close", "run"}
LOCAL = {"mirror"}  # a folder and a store in step: a value with verbs of its own, which `run` reaches


def made(home: Path) -> AsyncEngine:
    config = with_setting(with_setting(Config(), "embedding.provider", "none", FLAG), "home", str(home), FLAG)
    return AsyncEngine.open(config)


def verbs(facade: type) -> set[str]:
    return {name for name, one in inspect.getmembers(facade, inspect.isfunction) if not name.startswith("_")}


def test_it_has_every_verb_of_an_engine() -> None:
    assert verbs(AsyncEngine) - OTHERWISE == verbs(Engine) - OTHERWISE - LOCAL
    for name in verbs(AsyncEngine) - OTHERWISE:
        assert inspect.iscoroutinefunction(getattr(AsyncEngine, name))
        assert inspect.signature(getattr(AsyncEngine, name)) == inspect.signature(getattr(Engine, name))


def test_verbs_answer_what_those_of_an_engine_do(tmp_path: Path) -> None:
    async def use() -> None:
        async with made(tmp_path) as engine:
            saved = await engine.save(Draft(title="WAL", what="Readers never block the writer"))
            assert (await engine.search("do readers block")).hits[0].memory == saved.memory
            assert (await engine.get(saved.memory.uid)).title == "WAL"
            assert await engine.run(lambda engine: engine.tags.counted()) == []
            await engine.run(lambda engine: KeyedStore(engine).put(("a",), "k", "value"))
            with pytest.raises(Invalid):
                await engine.search("")

    asyncio.run(use())


def test_they_run_in_one_thread_one_after_the_other(tmp_path: Path) -> None:
    names: list[str] = []

    async def use() -> None:
        async with made(tmp_path) as engine:
            await asyncio.gather(
                *(engine.run(lambda _: names.append(threading.current_thread().name)) for _ in range(9))
            )

    asyncio.run(use())
    assert len(names) == 9
    assert len(set(names)) == 1
    assert names[0] != threading.current_thread().name


def test_the_loop_goes_on_meanwhile(tmp_path: Path) -> None:
    async def use() -> None:
        going = threading.Event()
        async with made(tmp_path) as engine:
            waiting = asyncio.ensure_future(engine.run(lambda _: going.wait(60)))
            await asyncio.sleep(0)
            going.set()  # by the loop, while the engine's thread waits for it
            assert await waiting

    asyncio.run(use())


def cancelled_at_work(engine: AsyncEngine, titles: list[str], going: threading.Event, begun: threading.Event) -> Any:
    def save(sync: Engine) -> None:
        with sync.store.transaction():
            for title in titles:
                sync.save(Draft(title=title))
                begun.set()
                assert going.wait(60)

    return asyncio.ensure_future(engine.run(save))


def test_what_is_cancelled_at_work_is_done_whole(tmp_path: Path) -> None:
    async def use() -> None:
        going, begun = threading.Event(), threading.Event()
        async with made(tmp_path) as engine:
            saving = cancelled_at_work(engine, ["one", "two"], going, begun)
            assert await asyncio.to_thread(begun.wait, 60)
            saving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await saving
            going.set()
            assert {one.title for one in await engine.recent()} == {"one", "two"}

    asyncio.run(use())


def test_what_is_cancelled_before_its_turn_is_not_done(tmp_path: Path) -> None:
    async def use() -> None:
        going, begun = threading.Event(), threading.Event()
        async with made(tmp_path) as engine:
            first = cancelled_at_work(engine, ["one"], going, begun)
            assert await asyncio.to_thread(begun.wait, 60)
            second = asyncio.ensure_future(engine.save(Draft(title="never")))
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            going.set()
            await first
            assert [one.title for one in await engine.recent()] == ["one"]

    asyncio.run(use())


def test_it_closes_when_what_is_at_work_has_ended(tmp_path: Path) -> None:
    async def use() -> None:
        going, begun = threading.Event(), threading.Event()
        engine = made(tmp_path)
        saving = cancelled_at_work(engine, ["one", "two"], going, begun)
        assert await asyncio.to_thread(begun.wait, 60)
        waiting = asyncio.ensure_future(engine.save(Draft(title="never")))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(engine.close())
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not closing.done()
        going.set()
        await closing
        await saving
        await engine.close()
        with pytest.raises(RuntimeError):
            await engine.status()
        async with made(tmp_path) as again:
            assert {one.title for one in await again.recent()} == {"one", "two"}

    asyncio.run(use())


def test_changes_belong_to_the_step_of_whoever_awaits(tmp_path: Path) -> None:
    async def use() -> None:
        async with made(tmp_path) as engine:
            with step("remember", "agent") as keys:
                saved = await engine.save(Draft(title="one"))
            last = await engine.run(lambda sync: sync.store.steps.last(id=saved.memory.id, undone=None))
            assert (last.key, last.verb, last.by) == (keys[0], "remember", "agent")

    asyncio.run(use())


def test_an_engine_that_cannot_be_opened_says_so_at_the_first_verb(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_text("no database, but long enough to be looked at as one" * 9)

    async def use() -> None:
        engine = made(tmp_path)
        for _ in range(2):
            with pytest.raises(Exception, match=r"memory\.db"):
                await engine.status()
        await engine.close()

    asyncio.run(use())
