"""A real HTTP server on loopback that embeds as Ollama and as OpenAI do, and misbehaves on request."""

from __future__ import annotations

import gzip
import json
import socket
import sys
import threading
import zlib
from collections import deque
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING, Any

from protocols import Seen, listed, ollama_embed, openai_embed, shown, vectors

from faults import Drip, Flood, HalfBody, Hang, Held, Refuses, Reply, Slow, instead, recorded, written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from faults import Fault, Protocol

WIDTHS = {"nomic-embed-text": 768, "all-minilm": 384, "text-embedding-3-small": 1536}
EMBEDDING: Mapping[str, Protocol] = {"/api/embed": "ollama", "/v1/embeddings": "openai"}


class Provider:
    """
    Runs from its making until `close`, or as a context manager. Threads may share it.

    Equal texts have equal vectors, texts that share words are close, and no two models agree.

    Attributes:
        models: Width of the vectors by name, without a tag; may be changed at any time.
        weights: Another value for a model gives it other vectors under the same name.
        context: Words a model reads; no entry is no limit, and 8192 for `/v1/embeddings`.
        truncates: Whether Ollama shortens a long text unless told not to. Since 0.13.5 it may not (issue 14186).
        loaded: Models in Ollama's memory, as named in `models`. Embedding adds to it.
        key: What `/v1/embeddings` demands; None demands nothing, as most local servers do.
        scale: Length of the vectors of `/v1/embeddings`; Ollama's always have length 1.
        request_tokens: OpenAI's limit on the words of one request.
        seen: Every request, oldest first; may be cleared.
        packs: Whether answers are packed by gzip.
        sent: Bytes of a `Flood` that were taken, before they were packed; may be reset.
    """

    def __init__(self, models: Mapping[str, int] = WIDTHS) -> None:
        self.models = dict(models)
        self.weights: dict[str, str] = {}
        self.context: dict[str, int] = {}
        self.truncates = True
        self.loaded: set[str] = set()
        self.key: str | None = "sk-test"
        self.scale = 1.0
        self.request_tokens = 300_000
        self.seen: list[Seen] = []
        self.sent = 0
        self.packs = False
        self.broken: list[BaseException] = []  # errors of this server itself
        self._news = threading.Condition()
        self._queue: deque[Fault | None] = deque()
        self._always: Fault | None = None
        self._server: _Server | None = None
        self._place: socket.socket | None = None
        self._port = 0
        self.up()

    @property
    def url(self) -> str:
        """Ollama's host. OpenAI's base URL is this with "/v1" behind it."""
        return f"http://127.0.0.1:{self._port}"

    def then(self, *faults: Fault | None) -> None:
        """One fault for each of the next embedding requests; None is a right answer. After that, as before."""
        self._queue.extend(faults)

    def always(self, fault: Fault | None) -> None:
        """A fault for every embedding request that `then` has none for, until `always(None)`."""
        self._always = fault

    def wait(self, requests: int, seconds: float = 60) -> None:
        """
        Until so many requests were seen, answered or not.

        Raises:
            TimeoutError: They did not come.
        """
        with self._news:
            if not self._news.wait_for(lambda: len(self.seen) >= requests, seconds):
                raise TimeoutError(f"{len(self.seen)} of {requests} requests came in {seconds} seconds")

    def up(self) -> None:
        """Listen, on the same port as before."""
        if self._server is None:
            if self._place is not None:
                self._place.close()
            self._server = _Server(self, self._port)
            self._port = self._server.server_port

    def down(self) -> None:
        """Hang up on everybody and refuse connections until `up`. Nobody else gets the port meanwhile."""
        if self._server is not None:
            self._server.stop()
            self._server = None
            # Bound and not listening: the port refuses. A free one may be given to any client that connects.
            self._place = socket.socket()
            self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._place.bind(("127.0.0.1", self._port))

    def close(self) -> None:
        """
        Stop for good.

        Raises:
            BaseException: The first error of this server itself; a test that met one proves nothing.
        """
        self.down()
        if self._place is not None:
            self._place.close()
        if self.broken:
            raise self.broken[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def vectors(self, model: str, texts: Sequence[str], dimensions: int | None = None) -> list[list[float]]:
        """
        What the model gives for texts, of length 1.

        Args:
            model: May carry ":latest"; one that is not in `models` has no width.
            dimensions: Keep this many numbers of each, from 1. More than there are keeps all.
        """
        name = model.removesuffix(":latest")
        return vectors(texts, self.weights.get(name, name), self.models[name], dimensions)

    def _note(self, seen: Seen) -> None:
        with self._news:
            self.seen.append(seen)
            self._news.notify_all()

    def _fault(self) -> Fault | None:
        try:
            return self._queue.popleft()
        except IndexError:
            return self._always


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a hanging answer keeps no process from ending
    request_queue_size = 128  # of five, a busy machine lets the sixth wait for a second

    def __init__(self, provider: Provider, port: int) -> None:
        self.provider = provider
        self.gone = threading.Event()
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's would ask a name server who 127.0.0.1 is
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)  # in the thread that `stop` waits for, so that none is missed
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def stop(self) -> None:
        self.shutdown()
        self.thread.join()
        self.gone.set()
        for connection in list(self.connections):
            with suppress(OSError):  # it has just ended by itself
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):  # clients may hang up
            self.provider.broken.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept, as by the real ones
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        seen = self._request()
        provider = self.server.provider
        provider._note(seen)
        protocol = EMBEDDING.get(seen.path) if self.command == "POST" else None
        if protocol is None:
            self._send(self._other(provider, seen))
            return
        fault = provider._fault()
        if isinstance(fault, Refuses) and fault.how is not None:
            fault = fault.how if any(fault.word in text for text in seen.texts) else None
        if isinstance(fault, Hang | Slow) and (self.server.gone.wait(fault.seconds) or isinstance(fault, Hang)):
            self.close_connection = True
            return
        if isinstance(fault, Held):
            fault.go.wait()
        if isinstance(fault, Drip | Flood):
            self.close_connection = True
            self._drip(fault) if isinstance(fault, Drip) else self._flood(fault)
            return
        embed = ollama_embed if protocol == "ollama" else openai_embed
        reply = instead(fault, protocol, seen.texts) or embed(provider, seen, fault)
        self._send(reply, half=isinstance(fault, HalfBody))

    def _request(self) -> Seen:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = None
        with suppress(ValueError):
            body = json.loads(raw)
        return Seen(self.path, body, {name.lower(): value for name, value in self.headers.items()}, len(raw))

    def _other(self, provider: Provider, seen: Seen) -> Reply:
        match self.command, seen.path:
            case "GET", "/":
                return Reply(200, b"Ollama is running", "text/plain; charset=utf-8")
            case "GET", "/api/version":
                return written(recorded("ollama")["answers"]["version"]["body"])
            case "GET", "/api/tags":
                return listed(provider, "tags", sorted(provider.models))
            case "GET", "/api/ps":
                return listed(provider, "ps", sorted(provider.loaded & provider.models.keys()))
            case "POST", "/api/show":
                return shown(provider, seen)
            case _:
                return Reply(404, b"404 page not found", "text/plain")

    def _drip(self, fault: Drip) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        self.wfile.write(b"X-Wait: " if fault.headers else b"\r\n")
        while not self.server.gone.wait(fault.seconds):
            self.wfile.write(b" ")

    def _flood(self, fault: Flood) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Encoding", fault.packed or "identity")
        self.end_headers()
        packing = {"gzip": zlib.compressobj(wbits=31), "deflate": zlib.compressobj()}.get(fault.packed)
        piece = b" " * 65_536
        while not self.server.gone.is_set():
            self.wfile.write(packing.compress(piece) if packing else piece)
            self.server.provider.sent += len(piece)

    def _send(self, reply: Reply, *, half: bool = False) -> None:
        if self.server.provider.packs:
            reply = reply._replace(
                body=gzip.compress(reply.body), headers={**reply.headers, "Content-Encoding": "gzip"}
            )
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.type)
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body[: len(reply.body) // 2] if half else reply.body)
        self.close_connection |= half
