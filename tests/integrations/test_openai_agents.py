"""`MemorySession` beside the SDK's own session, and a run of an agent with a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from agents import Agent, RunConfig, Runner, SessionSettings, SQLiteSession
from agents.items import ModelResponse
from agents.memory.session import Session
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from memory import Draft, Invalid, KeyedStore
from memory.integrations.openai_agents import MemorySession, memory_tools

if TYPE_CHECKING:
    from adapters import Clock

    from memory import Engine

ITEMS: list[Any] = [
    {"role": "user", "content": "which tea do I like? \r\n\t"},
    {"content": "", "role": "user"},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"q": "tea"}', "id": None},
    {"type": "function_call_output", "call_id": "c1", "output": "a\u0000b\u2028 é 👩‍👩‍👧"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Green.", "annotations": []}]},
    {"type": "reasoning", "id": "r", "summary": [], "nested": {"n": [1, 2.5, -0.0, 1e300, True, None, 2**60]}},
]


def alike(session: Any, oracle: Any, act: Any) -> None:
    """What both answer is the same to the byte."""
    done, wanted = asyncio.run(act(session)), asyncio.run(act(oracle))
    assert json.dumps(done) == json.dumps(wanted)


def test_it_does_what_the_session_of_the_sdk_does(items: KeyedStore) -> None:
    session, oracle = MemorySession("ann-1", items), SQLiteSession("ann-1")
    assert isinstance(session, Session)

    alike(session, oracle, lambda one: one.get_items())
    alike(session, oracle, lambda one: one.pop_item())
    for part in (ITEMS[:1], [], ITEMS[1:4], ITEMS[4:], ITEMS):
        alike(session, oracle, lambda one, part=part: one.add_items(part))
        for limit in (None, 0, 1, 2, 5, 100):
            alike(session, oracle, lambda one, limit=limit: one.get_items(limit))
    for _ in range(3):
        alike(session, oracle, lambda one: one.pop_item())
        alike(session, oracle, lambda one: one.get_items(3))
    alike(session, oracle, lambda one: one.add_items(ITEMS[:2]))
    alike(session, oracle, lambda one: one.get_items())
    alike(session, oracle, lambda one: one.clear_session())
    alike(session, oracle, lambda one: one.get_items())


def test_the_limit_of_the_settings_counts_where_none_is_given(items: KeyedStore) -> None:
    session = MemorySession("s", items, session_settings=SessionSettings(limit=2))
    asyncio.run(session.add_items(ITEMS))

    assert asyncio.run(session.get_items()) == ITEMS[-2:]
    assert asyncio.run(session.get_items(3)) == ITEMS[-3:]


def test_sessions_are_apart_and_last(items: KeyedStore) -> None:
    names = ["a", "a/b", "A", "a ", "b"]
    for number, name in enumerate(names):
        asyncio.run(MemorySession(name, items).add_items([{"role": "user", "content": f"{number}"}]))
    asyncio.run(MemorySession("b", items).clear_session())

    contents = [[one["content"] for one in asyncio.run(MemorySession(name, items).get_items())] for name in names]
    assert contents == [["0"], ["1"], ["2"], ["3"], []]


def test_two_that_add_at_once_lose_nothing(items: KeyedStore) -> None:
    async def use() -> list[Any]:
        several = [MemorySession("s", items) for _ in range(4)]
        adding = (
            one.add_items([{"role": "user", "content": f"{n} {m}"} for m in range(5)]) for n, one in enumerate(several)
        )
        await asyncio.gather(*adding)
        return await several[0].get_items()

    said = [one["content"].split() for one in asyncio.run(use())]
    assert len(said) == 20
    for writer in "0123":
        assert [m for n, m in said if n == writer] == list("01234")


def test_search_finds_what_was_said_and_no_secret_is_kept(items: KeyedStore, engine: Engine) -> None:
    key = "AKIA" + "QXZJ4PLM7T2WRB5N"
    asyncio.run(MemorySession("s", items).add_items([*ITEMS, {"role": "user", "content": f"my key is {key}"}]))

    assert len(engine.search("which tea").hits) == 1
    assert key not in json.dumps(asyncio.run(MemorySession("s", items).get_items()))


def test_what_is_too_large_is_refused_whole(items: KeyedStore) -> None:
    session = MemorySession("s", items)
    with pytest.raises(Invalid, match="500,000"):
        asyncio.run(session.add_items([ITEMS[0], {"role": "user", "content": "x" * 500_001}]))

    assert asyncio.run(session.get_items()) == []


class Scripted(Model):
    """Says one thing after the other, and keeps what it was asked."""

    def __init__(self, *outputs: Any) -> None:
        self.outputs, self.asked = list(outputs), []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        self.asked.append(input)
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def said(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


def called(name: str, **arguments: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(type="function_call", call_id=name, name=name, arguments=json.dumps(arguments))


def test_an_agent_remembers_and_recalls(items: KeyedStore, engine: Engine, clock: Clock) -> None:
    quiet = RunConfig(tracing_disabled=True)
    first = Scripted(called("remember", title="Tea", what="Ann likes green tea"), said("Noted."))
    agent = Agent(name="a", model=first, tools=memory_tools(engine, project="shop"))
    asyncio.run(Runner.run(agent, "I am Ann, I like green tea", session=MemorySession("1", items), run_config=quiet))

    assert engine.search("green tea", project="shop").hits[0].memory.what == "Ann likes green tea"

    clock.wait(60)
    second = Scripted(
        called("recall_memories", question="which tea does Ann like"), said("Green."), said("You are welcome.")
    )
    agent = Agent(name="a", model=second, tools=memory_tools(engine, project="shop"))
    session = MemorySession("2", items)
    done = asyncio.run(Runner.run(agent, "Which tea?", session=session, run_config=quiet))
    recalled = second.asked[1][-1]["output"]
    asyncio.run(Runner.run(agent, "Thanks", session=session, run_config=quiet))

    assert done.final_output == "Green."
    assert "Ann likes green tea" in recalled
    assert [one.get("content") for one in second.asked[2] if one.get("role") == "user"] == ["Which tea?", "Thanks"]


def test_tools_of_a_project_recall_nothing_of_another(engine: Engine) -> None:
    engine.save(Draft(title="Tea", what="Bob likes black tea", project="elsewhere"))
    model = Scripted(called("recall_memories", question="tea"), said("I do not know."))
    agent = Agent(name="a", model=model, tools=memory_tools(engine, project="shop"))
    asyncio.run(Runner.run(agent, "Which tea?", run_config=RunConfig(tracing_disabled=True)))

    assert "Bob" not in model.asked[1][-1]["output"]
