"""Connections to a server, and limits on the time and memory of a call, whatever the server does."""

from __future__ import annotations

import threading
import zlib
from contextlib import suppress
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from memory.embed.third_party import third_party
from memory.schema.errors import Error, Garbled, Refused, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

HEADERS = {"Accept-Encoding": "gzip"}
"""The only encoding we announce: gzip, which is unpacked here piece by piece."""

_PACKED = {"gzip", "x-gzip"}
_EITHER = 32 + zlib.MAX_WBITS  # accepts a gzip or a zlib header


class _Connection(Protocol):
    def close(self) -> object: ...


C = TypeVar("C", bound=_Connection)
T = TypeVar("T")


class Limits:
    """
    The time and bytes left to the current call of a client.

    Attributes:
        most: Most bytes of the answer, unpacked.
    """

    __slots__ = ("_seconds", "_until", "host", "most")

    def __init__(self, host: str) -> None:
        self.host, self.most = host, 0
        self._seconds = self._until = 0.0

    def begin(self, seconds: float, most: int) -> None:
        """Start the limits of a call."""
        self._seconds, self._until, self.most = seconds, monotonic() + seconds, most

    def late(self) -> Unreachable:
        """The error for an answer that did not come in time."""
        return Unreachable(f"{self.host} did not answer within {self._seconds:g} s")

    def take(self, response: Any) -> None:
        """
        Read an answer within the limits, in place of its client: a response hook of httpx.

        Args:
            response: A `Response` of httpx, or of the copy that a client brings.

        Raises:
            Unreachable: It did not arrive in time.
            Garbled: It is too long, or has an encoding that was not requested.
        """
        packed = response.headers.pop("content-encoding", "identity").strip().lower()
        if packed not in {"identity", "", *_PACKED}:
            raise Garbled(f"{self.host} sent an answer packed as {packed[:40]!r}, which was not asked for")
        content = b"".join(self._unpacked(response) if packed in _PACKED else self._pieces(response))
        response.stream.close()
        # openai 3 has its own httpx, as httpx2.
        library = import_module(type(response).__module__.partition(".")[0])
        response.stream = library.ByteStream(content)

    def _pieces(self, response: Any) -> Iterator[bytes]:
        """The answer, piece by piece, within the limits."""
        remaining = self.most
        for piece in response.stream:
            remaining -= len(piece)
            self._check(remaining)
            yield piece

    def _unpacked(self, response: Any) -> Iterator[bytes]:
        """The answer unpacked. It may grow a thousandfold, so bytes are counted before they are in memory."""
        unpacking, remaining = zlib.decompressobj(_EITHER), self.most
        for piece in self._pieces(response):
            try:
                out = unpacking.decompress(piece, remaining + 1)
            except zlib.error as error:
                raise Garbled(f"{self.host} sent an answer that cannot be unpacked: {error}") from error
            remaining -= len(out)
            self._check(remaining)
            yield out
        if not unpacking.eof:
            raise Garbled(f"{self.host} sent an answer that ends in the middle")

    def _check(self, remaining: int) -> None:
        if remaining < 0:
            raise Garbled(f"{self.host} sent an answer of more than {self.most:,} bytes: no vectors take so many")
        if monotonic() > self._until:
            raise self.late()


class Connections(Generic[C]):
    """
    Clients of one server, each with its own connection, made when needed. Threads may share it.

    Each client serves one call at a time, in its own thread, so that closing it breaks off a call that takes too
    long and no other. The clients' own timeouts would not do: they hold for one step each,
    so a server that sends a byte now and then never exceeds them, and a name lookup has none.
    """

    def __init__(
        self, host: str, connect: Callable[[float, Limits], C], mask: Callable[[str], str] = lambda text: text
    ) -> None:
        """
        Args:
            connect: Makes a client for calls of so many seconds; `Limits.take` must read its answers.
            mask: Removes keys from what a client raises.
        """
        self._host, self._connect, self._mask = host, connect, mask
        self._idle: dict[float, list[tuple[C, Limits]]] = {}
        self._lock = threading.Lock()

    def ask(self, question: Callable[[C], T], seconds: float, most: int) -> T:
        """
        Ask a client a question and return its answer.

        Args:
            seconds: For everything: name lookup, connection, request, headers and body.
            most: Most bytes of the answer, unpacked.

        Raises:
            Unreachable: Time is up.
            Error: What the question raises; `Refused` for anything that is not one of our errors.
        """
        client, limits = self._client(seconds)
        limits.begin(seconds, most)
        answer = self._begun(lambda: question(client))
        try:
            answer.exception(seconds)
        except TimeoutError:
            raise limits.late() from None
        finally:  # also when interrupted
            if answer.done():
                with self._lock:
                    self._idle.setdefault(seconds, []).append((client, limits))
            else:
                self._hang_up(client)
        return answer.result()

    def _begun(self, call: Callable[[], T]) -> Future[T]:
        """A call in its own daemon thread: nothing has to wait for it, not even the end of the process."""
        from concurrent.futures import Future  # brings `logging` along, as the clients of servers do when they are made

        answer: Future[T] = Future()

        def run() -> None:
            try:
                with third_party(self._host, self._mask):
                    answer.set_result(call())
            except Error as error:
                answer.set_exception(error)

        threading.Thread(target=run, name="memory-request", daemon=True).start()
        return answer

    def close(self) -> None:
        """Hang up; the next call connects again."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for some in idle.values():
            for client, _ in some:
                self._hang_up(client)

    def _client(self, seconds: float) -> tuple[C, Limits]:
        with self._lock:
            if some := self._idle.get(seconds):
                return some.pop()
        limits = Limits(self._host)
        with third_party(self._host, self._mask):
            return self._connect(seconds, limits), limits

    def _hang_up(self, client: C) -> None:
        with suppress(Refused), third_party(self._host):
            client.close()
