"""`MemorySession`, a session of the OpenAI Agents SDK, and two tools for its agents. Needs the extra `openai-agents`."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any, cast

from memory import AsyncEngine, KeyedStore, Put
from memory.integrations import Verbs

try:
    from agents import SessionSettings, function_tool
    from agents.memory.session import SessionABC
except ImportError as error:
    raise ImportError("MemorySession needs the OpenAI Agents SDK: pip install 'tiermem[openai-agents]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents import FunctionTool
    from agents.items import TResponseInputItem

    from memory import Engine, KeyedItem

MOST = 10_000  # items of one answer

NAMESPACE = ("openai-agents",)
"""Below it each session has a namespace of its own."""


def memory_tools(engine: Engine, *, project: str | None = None) -> list[FunctionTool]:
    """
    The tools `recall_memories` and `remember` for `Agent(tools=...)`.

    Args:
        project: New memories belong to it. Memories of this project and of no project are recalled.
    """
    verbs = Verbs(engine, project=project)
    return [function_tool(verbs.recall_memories), function_tool(verbs.remember)]


class MemorySession(SessionABC):
    """
    The items of one conversation, in order. Each is a memory of kind `item` in the session's namespace.

        >>> session = MemorySession("ann-1", KeyedStore(engine))
        ... await Runner.run(agent, "Where was I?", session=session)

    An item comes back unchanged, except that secrets are replaced by markers before it is saved. Search finds the text of
    messages. An item has at most 500,000 characters of JSON, a session's name 280.
    """

    def __init__(self, session_id: str, items: KeyedStore, *, session_settings: SessionSettings | None = None) -> None:
        """
        Args:
            items: The store of the items. The caller closes it.
            session_settings: Its limit applies when `get_items` is called without one.
        """
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._items, self._place = items, (*NAMESPACE, session_id)
        self._waiting = AsyncEngine(lambda: items.engine)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, oldest first: as many as `limit`, or as the settings, allow; without either, all."""
        most = self.session_settings.limit if limit is None else limit
        return await self._waiting.run(lambda _engine: [_item(one) for one in reversed([*self._latest(most)])])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, all of them or none."""
        await self._waiting.run(lambda _engine: self._add(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Move the latest item to the trash and return it; None if there is none."""
        return await self._waiting.run(lambda _engine: self._pop())

    async def clear_session(self) -> None:
        """Move all items to the trash."""
        await self._waiting.run(lambda _engine: [self._items.delete(*one[:2]) for one in [*self._latest(None)]])

    def _latest(self, most: int | None) -> Iterator[KeyedItem]:
        """The latest first."""
        offset = 0
        while most is None or offset < most:
            limit = MOST if most is None else min(MOST, most - offset)
            page = self._items.search(self._place, limit=limit, offset=offset, reverse=True)
            yield from page
            offset += len(page)
            if len(page) < limit:
                return

    def _add(self, items: list[TResponseInputItem]) -> None:
        # Behind the latest even where a clock went back; two programs that add at once do not get the same keys.
        latest = next((int(one.key.partition("-")[0]) for one in self._latest(1)), 0)
        first, mark = max(latest + 1, time.time_ns()), secrets.token_hex(4)
        puts = [
            Put(self._place, f"{first + number:020}-{mark}", cast("dict[str, Any]", one), text=_text(one))
            for number, one in enumerate(items)
        ]
        self._items.put_all(puts)

    def _pop(self) -> TResponseInputItem | None:
        for one in self._latest(1):
            if self._items.delete(one.namespace, one.key):
                return _item(one)
        return None


def _item(one: KeyedItem) -> TResponseInputItem:
    return cast("TResponseInputItem", one.value)


def _text(item: Any) -> str:
    """The text of a message; empty for a tool call and its result."""
    content = item.get("content") if isinstance(item, dict) else None
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
