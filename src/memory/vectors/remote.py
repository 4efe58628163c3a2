"""A server that embeds texts: its URL, what its status codes mean, and limits on the time and memory of a call."""

from __future__ import annotations

import os
import re
import threading
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from memory.schema.errors import EmbedError, Error, Garbled, Refused, TooLong, Unfit, Unreachable, printable
from memory.vectors.meter import third_party

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future


OPENAI = "https://api.openai.com/v1"
OLLAMA_PORT = 11434

_URL = re.compile(r"(?:(\w+)://)?(?:[^/@]*@)?(\[[0-9a-fA-F:.%]+\]|[\w.-]+)(?::(\d{1,5}))?(/[^?#]*)?(?:[?#].*)?")

_TOO_LONG = re.compile(
    r"(context|input|array) length|maximum (context|input|sequence)|tokens per request|too (long|many tokens|large)",
    re.IGNORECASE,
)
LONGEST_WAIT = 3600.0  # seconds, even if a server asks for more
_MESSAGE = 300  # characters of a server's message that are repeated

HEADERS = {"Accept-Encoding": "gzip"}
"""The only encoding we announce: gzip, which is unpacked here piece by piece."""

_PACKED = {"gzip", "x-gzip"}
_EITHER = 32 + zlib.MAX_WBITS  # accepts a gzip or a zlib header

T = TypeVar("T")


class Reply(NamedTuple):
    """
    Attributes:
        rows: One vector for each text, in order, as the server gave them.
        tokens: The server's count; None if it did not say.
    """

    rows: Sequence[Sequence[float]]
    tokens: int | None = None


class Remote(Protocol):
    """
    A server that embeds texts. `memory.vectors.client.Client` makes an embedder of it. It may have a method `prepare`, which
    gets the seconds of a request before that is entered in the usage log, and raises `Refused` if it cannot be sent.

    Attributes:
        host: Its URL, without credentials.
        most_texts, most_tokens: Limits of one request.
    """

    provider: str
    model: str
    host: str
    most_texts: int
    most_tokens: int

    def ask(self, texts: Sequence[str], seconds: float, most: int) -> Reply:
        """
        One request, once.

        Args:
            seconds: For everything, from the name lookup to the last byte.
            most: Most bytes of the answer, unpacked; reading stops soon after.

        Raises:
            Unreachable: No answer in time, or one that may differ next time.
            Refused: Asking again cannot help; `Unfit` or `TooLong` if one of the texts is the reason.
            Garbled: The answer does not follow the protocol.
        """

    def loaded(self, seconds: float) -> bool:
        """
        Whether the model is ready to answer at once.

        Raises:
            EmbedError: The server does not answer.
        """

    def close(self) -> None:
        """Hang up."""


def urls(provider: str, setting: str) -> tuple[str, str]:
    """
    The URL of Ollama, or else of a server like OpenAI's; and the same, safe to show.

    It is that of the setting, else of `$OLLAMA_HOST` or `$OPENAI_BASE_URL`, else on this machine or OpenAI's own.

    Raises:
        Refused: It is not the URL of a server.
    """
    if provider == "ollama":
        url = setting or os.environ.get("OLLAMA_HOST", "") or "127.0.0.1"
        url = url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104  # where a server binds, not where it is
        return url, safe_url(url, "embedding.base_url", port=OLLAMA_PORT)
    url = setting or os.environ.get("OPENAI_BASE_URL", "") or OPENAI
    url = url if "://" in url else f"https://{url}"
    return url, safe_url(url, "embedding.base_url")


def safe_url(url: str, setting: str, *, port: int | None = None) -> str:
    """
    A URL that is safe to show: with scheme and port, without credentials, query and final slash.

    Args:
        setting: The setting it comes from, for the hint.
        port: Added if the URL has neither a scheme nor a port.

    Raises:
        Refused: It is not the URL of a server.
    """
    match = _URL.fullmatch(url)
    if match is None or (match[1] or "http") not in {"http", "https"} or int(match[3] or 1) > 65_535:
        hint = f"Set `{setting}`, e.g. to http://127.0.0.1:{port or 8000}."
        host = url.rpartition("@")[2]  # what is before it is a secret
        raise Refused(f"{host!r} is not the URL of a server", hint=hint)
    scheme, name, number, path = match.groups()
    number = number or (port if scheme is None else None)
    return f"{scheme or 'http'}://{name}{f':{number}' if number else ''}{(path or '').rstrip('/')}"


def failure(status: int, message: str, *, host: str, headers: Mapping[str, str], hint: str) -> EmbedError:
    """
    The error for an answer with an error status.

    Args:
        message: The server's own words.
        headers: With keys in lower case, or a mapping that ignores case.
        hint: What to do if the model or the key is refused.
    """
    message = printable(message)
    text = f"{host} answered {status}: {message[:_MESSAGE]}{'…' if len(message) > _MESSAGE else ''}"
    match status:
        # Ollama cannot write such a vector as JSON: https://github.com/ollama/ollama/issues/9639
        case _ if "NaN" in message:
            return Garbled(text)
        case 429 if "quota" in message.lower() or "billing" in message.lower():
            spent = Refused(text, hint="The account has no credit left.")
            spent.limited = True
            return spent
        # llama.cpp and what is built on it: "input is too large to process. increase the physical batch size"
        case 500 if _TOO_LONG.search(message):
            return TooLong(text, hint=hint)
        case 408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 | 507 | 529:
            return Unreachable(text, after=_after(headers.get("retry-after")), limited=status == 429)
        case 400 | 413 | 422:
            return (TooLong if _TOO_LONG.search(message) or status == 413 else Unfit)(text, hint=hint)
        case _:
            return Refused(text, hint=hint)


def _after(header: str | None) -> float | None:
    """Seconds until a `Retry-After`, which is a number of seconds or a date (RFC 9110, section 10.2.3)."""
    if not header:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{0,9})?", header.strip()):
        return min(LONGEST_WAIT, float(header))
    from email.utils import parsedate_to_datetime

    try:
        until = parsedate_to_datetime(header)
        remaining = (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None
    return min(LONGEST_WAIT, max(0.0, remaining))


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
        return Unreachable(f"{self.host} did not answer within {self._seconds:g} s", late=True)

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
            raise Garbled(f"{self.host} sent an incomplete answer")

    def _check(self, remaining: int) -> None:
        if remaining < 0:
            raise Garbled(f"{self.host} sent an answer of more than {self.most:,} bytes, which cannot be vectors")
        if monotonic() > self._until:
            raise self.late()


class Connections:
    """
    Clients of one server, each with its own connection, made when needed. Threads may share it.

    Each client serves one call at a time, in its own thread, so that closing it breaks off a call that takes too
    long and no other. The clients' own timeouts would not do: they hold for one step each,
    so a server that sends a byte now and then never exceeds them, and a name lookup has none.
    """

    def __init__(
        self, host: str, connect: Callable[[float, Limits], Any], mask: Callable[[str], str] = lambda text: text
    ) -> None:
        """
        Args:
            connect: Makes a client for calls of so many seconds; `Limits.take` must read its answers.
            mask: Removes keys from what a client raises.
        """
        self._host, self._connect, self._mask = host, connect, mask
        self._idle: dict[float, list[tuple[Any, Limits]]] = {}
        self._closed = False
        self._lock = threading.Lock()

    def ask(self, question: Callable[[Any], T], seconds: float, most: int) -> T:
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
            if not (answer.done() and self._kept(seconds, client, limits)):
                self._hang_up(client)
        return answer.result()

    def prepare(self, seconds: float) -> None:
        """
        Have a client ready for a call of so many seconds. Nothing is sent.

        Raises:
            Refused: None can be made: its library is not installed, or it has no key.
        """
        client, limits = self._client(seconds)
        if not self._kept(seconds, client, limits):
            self._hang_up(client)

    def _kept(self, seconds: float, client: Any, limits: Limits) -> bool:
        """Keep a client for the next call; False if all have hung up."""
        with self._lock:
            if not self._closed:
                self._idle.setdefault(seconds, []).append((client, limits))
            return not self._closed

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
        """Hang up; whoever calls after that connects anew, and hangs up again."""
        with self._lock:
            idle, self._idle = self._idle, {}
            self._closed = True
        for client, _ in chain.from_iterable(idle.values()):
            self._hang_up(client)

    def _client(self, seconds: float) -> tuple[Any, Limits]:
        with self._lock:
            if some := self._idle.get(seconds):
                return some.pop()
        limits = Limits(self._host)
        with third_party(self._host, self._mask):
            return self._connect(seconds, limits), limits

    def _hang_up(self, client: Any) -> None:
        with suppress(Refused), third_party(self._host):
            client.close()
