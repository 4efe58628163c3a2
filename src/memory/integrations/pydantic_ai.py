"""`MemoryToolset`: recalling and remembering for agents of Pydantic AI. Needs the extra `pydantic-ai`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.integrations import Verbs

try:
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise ImportError("MemoryToolset needs Pydantic AI: pip install 'tiermem[pydantic-ai]'") from error

if TYPE_CHECKING:
    from memory import Engine


class MemoryToolset(FunctionToolset[Any]):
    """
    The tools `recall_memories` and `remember`.

        >>> agent = Agent("openai:gpt-5", toolsets=[MemoryToolset(engine, project="shop")])
    """

    def __init__(self, engine: Engine, *, project: str | None = None, id: str | None = "memory") -> None:
        """
        Args:
            engine: The memories. The caller closes it.
            project: New memories belong to it. Memories of this project and of no project are recalled.
            id: The toolset's id in the agent.
        """
        verbs = Verbs(engine, project=project)
        super().__init__([verbs.recall_memories, verbs.remember], id=id, docstring_format="google")
