"""Claude's memory tool over your memory. Needs: pip install 'tiermem[anthropic]'. With a key, take `Anthropic()`."""

import httpx2
from anthropic import Anthropic

from memory import KeyedStore
from memory.integrations.anthropic import MemoryTool

SCRIPT = [  # what Claude says, in place of the network
    {"command": "create", "path": "/memories/ann.md", "file_text": "Ann likes green tea."},
    {"command": "view", "path": "/memories"},
]


def answer(_request: httpx2.Request) -> httpx2.Response:
    call = SCRIPT.pop(0) if SCRIPT else None
    use = {"type": "tool_use", "id": f"t{len(SCRIPT)}", "name": "memory", "input": call}
    content = [use] if call else [{"type": "text", "text": "I will remember that you like green tea."}]
    stop = "tool_use" if call else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    said = {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "stop_sequence": None}
    return httpx2.Response(200, json={**said, "content": content, "stop_reason": stop, "usage": usage})


client = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(answer)))

with KeyedStore.open() as items:  # your own memory; home="…" opens another
    message = client.beta.messages.tool_runner(
        model="claude-sonnet-5-5",
        max_tokens=1024,
        messages=[{"role": "user", "content": "Remember that I like green tea."}],
        tools=[MemoryTool(items)],
    ).until_done()
    print(message.content[0].text)
    print([hit.memory.title for hit in items.engine.search("green tea").hits])
