"""
An agent's program: the SDK's client, talking to a server in a process of its own, in either era of the protocol.

The process is forked from one that has imported what it needs.
"""

from __future__ import annotations

import asyncio
import re
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import forked
import mcp_types as types
from mcp import Client, StdioServerParameters

from memory.tools.operation import chosen

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from pathlib import Path

    from command import Shell

ERAS = ("legacy", "2026-07-28")
PATIENCE = 60


@dataclass
class Agent:
    """
    A client that tests can call from outside of its event loop.

    Attributes:
        roots: Folders that it works in; None if it does not say.
        structured: The setting of the server; tests look into the documented JSON unless they are about the text. Empty
            leaves it as it is.
    """

    shell: Shell
    era: str
    arguments: Sequence[str] = ()
    roots: Sequence[Path | str] | None = None
    structured: str = "always"
    asked: int = 0  # for its roots
    progress: list[tuple[float, float | None]] = field(default_factory=list)
    _news: threading.Condition = field(default_factory=threading.Condition)

    def __enter__(self) -> Self:
        self._ready, self._problem = threading.Event(), None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        if self._problem is not None:
            raise self._problem
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    async def _live(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        env = self.shell.env | ({"MEMORY_MCP_STRUCTURED": self.structured} if self.structured else {})
        program, *words = forked.command(env)
        started = StdioServerParameters(
            command=program, args=[*words, "mcp", *self.arguments], env=env, cwd=self.shell.folder
        )
        try:
            async with Client(
                started, mode=self.era, list_roots_callback=self._named if self.roots is not None else None
            ) as self.client:
                self._ready.set()
                await self._stop.wait()
        except BaseException as problem:
            self._problem = problem
            self._ready.set()
            raise

    async def _named(self, _context: object) -> types.ListRootsResult:
        self.asked += 1
        return types.ListRootsResult(
            roots=[types.Root(uri=root if isinstance(root, str) else root.as_uri()) for root in self.roots or ()]
        )

    def wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def tools(self) -> list[types.Tool]:
        return self.wait(self.client.list_tools()).tools

    def tried(self, tool: str, /, **arguments: object) -> types.CallToolResult:
        """What a call gives, be it an error."""
        return self.wait(self.client.call_tool(tool, arguments, progress_callback=self._told))

    async def _told(self, done: float, total: float | None, _message: str | None) -> None:
        with self._news:
            self.progress.append((done, total))
            self._news.notify_all()

    def told(self, last: tuple[float, float | None]) -> None:
        """Wait until it is said how far a call is; notifications may come after its answer."""
        with self._news:
            assert self._news.wait_for(lambda: self.progress[-1:] == [last], PATIENCE), self.progress

    def call(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """The structured content of a call that succeeds."""
        result = self.tried(tool, **arguments)
        assert not result.is_error, result.content
        return result.structured_content

    def said(self, tool: str, /, **arguments: object) -> str:
        """The text of a call that succeeds."""
        result = self.tried(tool, **arguments)
        assert not result.is_error, result.content
        return text(result)

    def refused(self, tool: str, /, **arguments: object) -> str:
        """The sentence of a call that is refused."""
        result = self.tried(tool, **arguments)
        assert result.is_error, result.content
        assert result.structured_content is None
        return text(result)


ARGUMENTS = {
    *(
        "chunk_id",
        "session_id",
        "session_iter",
        "task_code",
        "agent_id",
        "query_id",
        "agent",
        "memory_type",
        "category",
    ),
    *("name", "from", "to", "relationType", "entity", "type"),
}
"""Fields of answers whose values other tools take, if any of the toolset does."""


def taken(toolset: str) -> set[str]:
    """Those that a tool of the toolset takes, by any of its names, also within objects."""
    parameters = [one for tool in chosen([toolset]) for one in tool.parameters]
    parameters += [field for one in parameters for field in one.fields]
    return ARGUMENTS & {name for one in parameters for name in (one.name, *one.also)}


def tells_arguments(found: object, said: str, names: set[str]) -> None:
    """
    Fail if a text misses a value of the JSON beside it that another tool takes: who reads the text alone could not go on.
    A memory goes by its number or by the beginning of its uid.

    Args:
        names: Of the fields; see `taken`.
    """
    said = said.casefold().translate(BRACKETS)
    if isinstance(found, list):
        for row in found:
            tells_arguments(row, said, names)
    elif isinstance(found, dict):
        for name, value in found.items():
            if isinstance(value, (list, dict)):
                tells_arguments(value, said, names)
            elif name in names and value not in (None, "*"):
                assert " ".join(str(value).casefold().split()).translate(BRACKETS) in said, (name, value, said)
        if (number := found.get("memory_id")) is not None:
            assert re.search(rf"\b{number}\b", said) or str(found.get("id", number))[:8] in said, (number, said)


BRACKETS = str.maketrans("[]", "()")


def text(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text
