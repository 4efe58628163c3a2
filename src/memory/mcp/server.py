"""
The protocol's requests, answered: tools, resources and prompts over one kept engine, for both of its eras; and what is known
about the client that asks.
"""

from __future__ import annotations

import asyncio
import functools
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from memory.config.project import project
from memory.mcp import offers
from memory.schema import __version__
from memory.schema.errors import Error
from memory.schema.step import step
from memory.text.display import escape_invisible
from memory.tools.arguments import checked
from memory.tools.operation import Call, Operation, Result, unknown
from memory.tools.render import data, recall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcp.server.context import ServerRequestContext

    from memory.engine import Engine
    from memory.engine.keeper import Keeper
    from memory.schema.answer import Notice

    Context: TypeAlias = ServerRequestContext[Any, Any]
    Handler: TypeAlias = Callable[[Context, "Asked"], Awaitable["Made"]]

Asked = TypeVar("Asked", bound=types.RequestParams)
Made = TypeVar("Made")

AGENT = "agent"
"""Whose step a call is if the client gave no name."""

THREADS = 16  # most of them wait: for another process that writes, or for a model
HOUR = 3_600_000  # milliseconds; what a server lists does not change while it lives


class Serving:
    """What the handlers share. One for a process."""

    def __init__(self, keeper: Keeper, tools: Sequence[Operation], *, structured: bool, working: Path | None) -> None:
        """
        Args:
            structured: Answers are JSON too, by a schema (`mcp.structured`); else the text is all there is.
            working: The folder that the client started the server in; None if it did not.
        """
        self._keeper, self._structured, self._working = keeper, structured, working
        self._tools = {tool.name: tool for tool in tools}
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="memory-mcp")
        self._clients = Clients(working)

    def server(self) -> Server[Any]:
        """The protocol server with these handlers."""
        lists = CacheHint(ttl_ms=HOUR, scope="public")
        server: Server[Any] = Server(
            "memory",
            version=__version__,
            title="Memory",
            instructions=offers.instructions(self._tools),
            cache_hints={"tools/list": lists, "prompts/list": lists, "resources/list": lists},
            on_list_tools=self._list_tools,
            on_call_tool=self._answered(self._call_tool),
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._answered(self._read_resource),
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._answered(self._get_prompt),
        )
        server.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self._clients.moved
        )
        return server

    def close(self) -> None:
        """Close the engine; what still runs in a thread ends with the process."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._keeper.close()

    # Tools ---------------------------------------------------------------

    async def _list_tools(self, _context: Context, _page: object) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[described(tool, structured=self._structured) for tool in self._tools.values()]
        )

    async def _call_tool(self, context: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(asked.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, unknown(asked.name, self._tools))
        try:
            arguments, told = checked(tool, asked.arguments or {})
            project = await self._project(context, asked) if tool.wants_project(arguments) else None
            result = await self._run(context, tool, arguments, project, told)
        except Error as error:
            if tool.problem is None:
                # The agent can act on it; nothing was changed.
                text = types.TextContent(type="text", text=escape_invisible(_sentence(error)))
                return types.CallToolResult(content=[text], is_error=True)
            result, told = tool.problem(error), ()
        return _result(result, told, structured=self._structured)

    async def _run(
        self,
        context: Context,
        tool: Operation,
        arguments: Mapping[str, Any],
        project: str | None,
        told: tuple[Notice, ...],
    ) -> Result:
        progress = ProgressReports(context, asyncio.get_running_loop())
        client = client_name(context)

        def run(engine: Engine) -> Result:
            with step(tool.name, client or AGENT):
                return tool.run(Call(lambda: engine, progress, lambda: project, client=client, told=told), arguments)

        return await self._with_engine(run)

    # Resources and prompts -----------------------------------------------

    async def _list_resources(self, _context: Context, _page: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[one.listed for one in offers.RESOURCES])

    async def _list_templates(self, _context: Context, _page: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[offers.MEMORY.listed])

    async def _read_resource(
        self, context: Context, asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(asked.uri)
        one = offers.resource(uri)
        project = await self._project(context, asked) if one.of_project else None
        text = await self._with_engine(functools.partial(one.text, uri, project))
        contents = types.TextResourceContents(uri=uri, mime_type=one.listed.mime_type, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def _list_prompts(self, _context: Context, _page: object) -> types.ListPromptsResult:
        listed = offers.PROMPTS if "memory_search" in self._tools else ()  # they name the tools of daily use
        return types.ListPromptsResult(prompts=[one.listed for one in listed])

    async def _get_prompt(self, context: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        one, about = offers.prompt(asked.name, asked.arguments or {})
        project = await self._project(context, asked)
        text = await self._with_engine(functools.partial(one.text, about, project))
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=one.listed.description, messages=[message])

    # What they share -----------------------------------------------------

    def _answered(self, handler: Handler[Asked, Made]) -> Handler[Asked, Made | types.InputRequiredResult]:
        """A handler that turns our errors into the protocol's and asks the client for its folders if they are needed."""

        async def handled(context: Context, asked: Asked) -> Made | types.InputRequiredResult:
            recall.SERVED.set(self._tools)
            try:
                return await handler(context, asked)
            except RootsNeeded:
                return types.InputRequiredResult(input_requests={ROOTS: types.ListRootsRequest()})
            except Error as error:
                raise MCPError(types.INVALID_PARAMS, _sentence(error)) from error

        return handled

    async def _project(self, context: Context, asked: types.InputResponseRequestParams) -> str | None:
        """The client's project."""
        roots = await self._clients.roots(context, asked)
        return await self._in_thread(functools.partial(client_project, roots, self._working))

    async def _with_engine(self, work: Callable[[Engine], Made]) -> Made:
        def done() -> Made:
            with self._keeper.engine() as engine:
                return work(engine)

        return await self._in_thread(done)

    async def _in_thread(self, work: Callable[[], Made]) -> Made:
        """Run something in a thread, so that the protocol continues meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, work)


def described(tool: Operation, *, structured: bool) -> types.Tool:
    """The tool as the protocol lists it: once what clients of all eras read, and no hint that says what is the default."""
    hints = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=tool.reads or None,
        destructive_hint=None if tool.reads else tool.destroys,
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input,
        output_schema=tool.output if structured else None,
        annotations=hints,
    )


def _result(result: Result, told: tuple[Notice, ...], *, structured: bool) -> types.CallToolResult:
    """
    What a tool answers, for the client.

    Claude Code and VS Code give a model the structured content, if there is any, and drop the text with its fence:
    https://github.com/anthropics/claude-code/issues/55677, https://github.com/microsoft/vscode/issues/290063
    """
    values, text, failed = result
    if told:
        values = values | {"notices": [*values.get("notices", []), *data.notices(told)]}
        if "message" in values:
            values["message"] = " ".join([*filter(None, [values["message"]]), *(f"{one.text}." for one in told)])
        text += "".join(f"{line}\n" for line in recall.notices(told))
    content = types.TextContent(type="text", text=escape_invisible(text))
    more = recall.escape_all(values) if structured else None
    return types.CallToolResult(content=[content], structured_content=more, is_error=failed)


def _sentence(error: Error) -> str:
    again = " The same call may succeed later." if error.retryable else ""
    return f"{error}. {recall.for_agents(error.hint)}".rstrip() + again if error.hint else f"{error}.{again}"


# What is known about a client: its name, folders and project; and the progress it is told ------------

PROGRESS_SECONDS = 0.2  # between two reports
ROOTS_SECONDS = 3.0  # a client that says it has roots and does not name them delays its calls no longer
ROOTS_KEPT = 60.0  # seconds that they are valid in the era in which a client does not report changes
ROOTS = "roots"


class Roots(NamedTuple):
    """The folders a client named, and until when they are valid, on the monotonic clock."""

    uris: tuple[str, ...]
    until: float


class RootsNeeded(Exception):
    """The client has to name its folders first, in the era without requests to clients."""


class Clients:
    """The folders that clients work in, remembered while a process lives."""

    def __init__(self, working: Path | None) -> None:
        """
        Args:
            working: The folder that the client started the server in; None if it did not.
        """
        self._working = working
        self._asking = asyncio.Lock()
        self._only: dict[str, Roots] = {}  # of the client that has started this process, so of the only one

    async def roots(self, context: Context, asked: types.InputResponseRequestParams) -> tuple[str, ...]:
        """
        URIs of its folders; empty if it has none or does not name them.

        Raises:
            RootsNeeded: It has some, and can be asked only in the answer.
        """
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.roots is None:
            return ()
        kept = self._kept(context)
        if answered := (asked.input_responses or {}).get(ROOTS):
            kept[ROOTS] = Roots(_uris(answered), monotonic() + ROOTS_KEPT)
        elif not context.session.can_send_request:
            if ROOTS not in kept or monotonic() >= kept[ROOTS].until:
                raise RootsNeeded
        else:
            # The first calls of a client come several at once; those of others over HTTP do not wait for them.
            async with self._asking if self._working is not None else nullcontext():
                if ROOTS not in kept and (found := await _asked_for_roots(context)) is not None:
                    kept[ROOTS] = Roots(found, math.inf)
        return kept[ROOTS].uris if ROOTS in kept else ()

    async def moved(self, context: Context, _params: types.NotificationParams) -> None:
        self._kept(context).pop(ROOTS, None)

    def _kept(self, context: Context) -> dict[str, Roots]:
        """What is remembered about a client: the only one, or, over HTTP, the one of this connection."""
        if self._working is not None:
            return self._only
        state: dict[str, Roots] = context.session._connection.state
        return state


async def _asked_for_roots(context: Context) -> tuple[str, ...] | None:
    """The folders that the client names when asked; None if it names none or does not answer."""
    try:
        found = await context.session.send_request(
            types.ListRootsRequest(), types.ListRootsResult, request_read_timeout_seconds=ROOTS_SECONDS
        )
    except (MCPError, ValidationError):
        return None
    return _uris(found)


def _uris(answered: BaseModel) -> tuple[str, ...]:
    return tuple(str(root.uri) for root in answered.roots) if isinstance(answered, types.ListRootsResult) else ()


def client_name(context: Context) -> str:
    """The name that the client's program gives itself, as a source."""
    params = context.session.client_params
    name = params.client_info.name if params is not None and params.client_info is not None else ""
    return " ".join(name.split())[:200]


def folder(uri: str) -> Path | None:
    """The folder of a root; None if it is not on this machine, or cannot be a folder."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    try:
        found = Path(url2pathname(parts.path)).resolve() if parts.path else None
        return found if found is not None and found.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long; links in a circle; a NUL
        return None


def client_project(roots: Sequence[str], working: Path | None) -> str | None:
    """
    The project of the root that holds the working folder, else of the first one, else of the working folder.

    Args:
        roots: URIs.
        working: The folder that the server was started in; None if it says nothing about the client.
    """
    folders = [found for found in map(folder, roots) if found is not None]
    if working is not None:
        inside = any(working.resolve().is_relative_to(found) for found in folders)
        folders = [working, *folders] if inside or not folders else folders
    return next(filter(None, map(_project_of, folders)), None)


def _project_of(found: Path) -> str | None:
    try:
        return project(found)
    except (OSError, RuntimeError):  # without rights; too long
        return None


class ProgressReports:
    """Reports the progress of long work, from its thread to the client, a few times a second."""

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context, self._loop = context, loop
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = monotonic()
        if self._loop.is_closed() or (done < total and now - self._last < PROGRESS_SECONDS):
            return
        self._last = now
        report = self._context.session.report_progress(done, total)
        asyncio.run_coroutine_threadsafe(report, self._loop)
