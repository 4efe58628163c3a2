"""`MemoryToolset` in an agent of Pydantic AI, with its own test models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from memory.integrations.pydantic_ai import MemoryToolset

if TYPE_CHECKING:
    from memory import Engine


def test_a_model_reads_two_tools_and_calls_them(engine: Engine) -> None:
    model = TestModel()
    agent = Agent(model, toolsets=[MemoryToolset(engine, project="shop")])

    result = agent.run_sync("Remember this.")

    tools = {tool.name: tool for tool in model.last_model_request_parameters.function_tools}
    assert sorted(tools) == ["recall_memories", "remember"]
    assert all("memory" in result.output or name in result.output for name in tools)
    assert tools["remember"].parameters_json_schema["required"] == ["title", "what"]
    described = tools["remember"].parameters_json_schema["properties"]
    assert all(described[name]["description"] for name in ("title", "what", "why"))
    assert "earlier" in tools["recall_memories"].description
    assert len(engine.recent()) == 1


def test_what_one_run_remembers_another_recalls(engine: Engine) -> None:
    def scripted(*calls: ToolCallPart) -> tuple[FunctionModel, list[Any]]:
        left, heard = list(calls), []

        def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
            heard.append(messages[-1].parts[-1].content)
            return ModelResponse(parts=[left.pop(0) if left else TextPart("Done.")])

        return FunctionModel(answer), heard

    saving, told = scripted(
        ToolCallPart("remember", {"title": "Deploys", "what": "Never on a Friday", "why": "Quiet weekends"})
    )
    Agent(saving, toolsets=[MemoryToolset(engine)]).run_sync("We never deploy on a Friday.")
    asking, recalled = scripted(ToolCallPart("recall_memories", {"question": "when do we deploy"}))
    Agent(asking, toolsets=[MemoryToolset(engine)]).run_sync("May I deploy?")

    assert told[-1].startswith("Remembered as ")
    assert "Never on a Friday" in recalled[-1]
    assert engine.search("Friday").hits[0].memory.why == "Quiet weekends"
