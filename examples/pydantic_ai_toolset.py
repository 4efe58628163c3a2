"""An agent of Pydantic AI that remembers and recalls. Needs: pip install 'tiermem[pydantic-ai]'."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memory import Engine
from memory.integrations.pydantic_ai import MemoryToolset

SCRIPT = [  # what the model says; with a key, take Agent("openai:gpt-5", ...)
    ToolCallPart("remember", {"title": "Deploys", "what": "Never on a Friday"}),
    TextPart("Noted."),
    ToolCallPart("recall_memories", {"question": "when may we deploy"}),
]


def scripted(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    heard = str(messages[-1].parts[-1].content)
    return ModelResponse(parts=[SCRIPT.pop(0) if SCRIPT else TextPart(f"I recall: {heard}")])


with Engine.open() as engine:  # your own memory; home="…" opens another
    agent = Agent(FunctionModel(scripted), toolsets=[MemoryToolset(engine)])
    print(agent.run_sync("We never deploy on a Friday.").output)
    print(agent.run_sync("May I deploy today?").output)
