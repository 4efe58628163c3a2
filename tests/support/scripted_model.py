"""
A stand-in for the model behind a coding agent: a real HTTP server on loopback that speaks Anthropic's Messages, OpenAI's
Responses and Gemini's generateContent, asks for the tool calls of a script, one after the other, and then is done.

What the model would read is kept, so that a test can say what an agent passes on and what it drops.
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self


class Refused(Exception):
    """What a model's service answers with 400."""


class Wanted(NamedTuple):
    """A call of the script: the tool by the server's own name, whatever the agent puts before it."""

    tool: str
    arguments: Mapping[str, Any]


class Offered(NamedTuple):
    """A tool as an agent offers it; Codex has ours in a namespace."""

    name: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """
    Attributes:
        tools: What may be called.
        texts: Every text that the model reads, in order, but the descriptions of tools.
        results: What the calls of the script brought, in order.
    """

    protocol: str
    tools: tuple[Offered, ...]
    texts: tuple[str, ...]
    results: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


def strings(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def _joined(content: object) -> str:
    """The text of a result: a string, or a list of blocks with `text`."""
    if isinstance(content, list):
        return "\n".join(block.get("text", "") for block in content)
    return content if isinstance(content, str) else json.dumps(content)


def _event(name: str, **values: object) -> str:
    return f"event: {name}\ndata: {json.dumps({'type': name, **values})}\n\n"


# Anthropic's Messages --------------------------------------------------------------


def _messages_request(body: dict[str, Any]) -> Request:
    blocks = [block for one in body["messages"] if isinstance(one["content"], list) for block in one["content"]]
    results = [_joined(block.get("content", "")) for block in blocks if block["type"] == "tool_result"]
    tools = [Offered(tool["name"]) for tool in body.get("tools", ())]
    texts = strings([body.get("system", ""), body["messages"]])
    return Request("messages", tuple(tools), tuple(texts), tuple(results))


def _messages_reply(call: tuple[Offered, Wanted] | None, number: int) -> str:
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    if call:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0].name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1].arguments)}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
    reason = "tool_use" if call else "end_turn"
    return "".join(
        (
            _event("message_start", message=message),
            _event("content_block_start", index=0, content_block=block),
            _event("content_block_delta", index=0, delta=delta),
            _event("content_block_stop", index=0),
            _event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 1}),
            _event("message_stop"),
        )
    )


# OpenAI's Responses ----------------------------------------------------------------


def _responses_request(body: dict[str, Any]) -> Request:
    """
    Raises:
        Refused: A message has an id of another kind, which the real one refuses in this and every later turn.
    """
    messages = [item for item in body["input"] if item.get("type") == "message"]
    if wrong := [item["id"] for item in messages if not item.get("id", "msg").startswith("msg")]:
        raise Refused(f"Invalid 'input.id': '{wrong[0]}'. Expected an ID that begins with 'msg'.")
    tools: list[Offered] = []
    for tool in body.get("tools", ()):
        if tool["type"] == "namespace":
            tools += [Offered(inner["name"], tool["name"]) for inner in tool["tools"]]
        elif "name" in tool:
            tools.append(Offered(tool["name"]))
    results = [_joined(item["output"]) for item in body["input"] if item.get("type") == "function_call_output"]
    texts = strings([body.get("instructions", ""), body["input"]])
    return Request("responses", tuple(tools), tuple(texts), tuple(results))


def _responses_reply(call: tuple[Offered, Wanted] | None, number: int) -> str:
    if call:
        offered, wanted = call
        item = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": offered.name,
            "arguments": json.dumps(wanted.arguments),
        }
        if offered.namespace:
            item["namespace"] = offered.namespace
    else:
        content = [{"type": "output_text", "text": "done", "annotations": []}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    tokens = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {"id": f"resp_{number}", "object": "response", "model": "scripted", "output": [item], "usage": tokens}
    return "".join(
        (
            _event("response.created", response={**response, "output": [], "status": "in_progress"}),
            _event("response.output_item.added", output_index=0, item=item),
            _event("response.output_item.done", output_index=0, item=item),
            _event("response.completed", response={**response, "status": "completed"}),
        )
    )


# Gemini's generateContent ----------------------------------------------------------


def _gemini_request(body: dict[str, Any]) -> Request:
    tools = [Offered(one["name"]) for tool in body.get("tools", ()) for one in tool.get("functionDeclarations", ())]
    parts = [part for content in body["contents"] for part in content.get("parts", ())]
    answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    results = [_joined(answer.get("output", answer)) for answer in answers]
    texts = strings([body.get("systemInstruction", ""), body["contents"]])
    return Request("gemini", tuple(tools), tuple(texts), tuple(results))


def _gemini_reply(call: tuple[Offered, Wanted] | None, number: int, *, stream: bool) -> str:
    if call:
        part = {"functionCall": {"id": f"call_{number}", "name": call[0].name, "args": call[1].arguments}}
    else:
        part = {"text": "done"}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    tokens = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    text = json.dumps({"candidates": [candidate], "usageMetadata": tokens, "modelVersion": "scripted"})
    return f"data: {text}\n\n" if stream else text


# The server ------------------------------------------------------------------------


class ScriptedModel:
    """
    Runs from its making until it is closed, as a context manager.

    Attributes:
        requests: All that an agent's model was asked, oldest first, also what agents ask on the side.
        unknown: Requests that no protocol of these has; agents look for news and report errors.
        broken: Errors of this server itself; the first is raised at the end, since such a test proves nothing.
    """

    def __init__(self, script: Sequence[Wanted], *, ending: Callable[[], None] | None = None) -> None:
        """
        Args:
            ending: Called when the script is through, before the model is done for the first time.
        """
        self.script = tuple(script)
        self._ending = ending
        self.requests: list[Request] = []
        self.unknown: list[str] = []
        self.broken: list[BaseException] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        if self.broken:
            raise self.broken[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def results(self) -> tuple[str, ...]:
        """What the calls of the script brought, as the model read it last."""
        return max((request.results for request in self.requests), key=len, default=())

    def answer(self, request: Request) -> tuple[tuple[Offered, Wanted] | None, int]:
        """The next call of the script, if its tool is offered, and the request's number."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
        if len(request.results) >= len(self.script):
            if request.tools and self._ending:
                self._ending, ending = None, self._ending
                ending()
            return None, number
        wanted = self.script[len(request.results)]
        offered = next((one for one in request.tools if one.name.endswith(wanted.tool)), None)
        return (offered, wanted) if offered else None, number


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # agents ask for several things at once
    model: ScriptedModel

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):  # agents may hang up
            self.model.broken.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._send("", "text/plain")

    def do_GET(self) -> None:
        self.server.model.unknown.append(f"GET {self.path}")
        self._send("{}", "application/json")

    def do_CONNECT(self) -> None:
        self.server.model.unknown.append(f"CONNECT {self.path}")
        self.send_error(502)
        self.close_connection = True

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        model = self.server.model
        found = next((speech for end, speech in _SPEECHES if path.endswith(end)), None)
        if found is None:
            model.unknown.append(f"POST {path}")
            self._send('{"input_tokens": 1, "totalTokens": 1}', "application/json")
            return
        read, reply, kind = found
        try:
            self._send(reply(*model.answer(read(json.loads(raw)))), kind)
        except Refused as refused:
            error = {"type": "invalid_request_error", "message": str(refused)}
            self._send(json.dumps({"error": error}), "application/json", 400)

    def _send(self, text: str, kind: str, status: int = 200) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


_EVENTS = "text/event-stream"
_SPEECHES = (
    ("/messages", (_messages_request, _messages_reply, _EVENTS)),
    ("/responses", (_responses_request, _responses_reply, _EVENTS)),
    (":streamGenerateContent", (_gemini_request, partial(_gemini_reply, stream=True), _EVENTS)),
    (":generateContent", (_gemini_request, partial(_gemini_reply, stream=False), "application/json")),
)
"""By the end of the path: how a request is read, what is replied, and as which type."""
