"""An agent of the OpenAI Agents SDK whose conversation lasts. Needs: pip install 'tiermem[openai-agents]'."""

import asyncio

from agents import Agent, ModelResponse, RunConfig, Runner, Usage
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from memory import KeyedStore
from memory.integrations.openai_agents import MemorySession, memory_tools


class Scripted(Model):  # in place of the network; with a key, leave `model` out
    async def get_response(self, system_instructions, input, *others, **more):
        asked = [item["content"] for item in input if item.get("role") == "user"]
        text = ResponseOutputText(type="output_text", text=f"You said: {asked}", annotations=[])
        said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *others, **more):
        raise NotImplementedError


async def talk() -> None:
    with KeyedStore.open() as items:  # your own memory; home="…" opens another
        agent = Agent(name="Assistant", model=Scripted(), tools=memory_tools(items.engine))
        quiet = RunConfig(tracing_disabled=True)
        for said in ("I like green tea.", "Which tea do I like?"):
            session = MemorySession("ann", items)  # a new one each time, as in another process
            print((await Runner.run(agent, said, session=session, run_config=quiet)).final_output)
        print([hit.memory.what for hit in items.engine.search("green tea").hits])


asyncio.run(talk())
