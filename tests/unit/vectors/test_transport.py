"""What a server may take of a caller's time and memory, whatever it does."""

from __future__ import annotations

import gzip
import socket
import threading
import tracemalloc
import zlib
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest
from asking import MODELS, embedders, spec
from hypothesis import given, strategies as st

from faults import Drip, Flood, Status
from memory.schema.errors import Garbled, Refused, Unreachable
from memory.schema.step import EMBED, purpose
from memory.vectors.client import MORE_BYTES, NUMBER_BYTES
from memory.vectors.remote import Connections, Limits
from oracle.ram import RamStore

if TYPE_CHECKING:
    from provider import Provider

NOW_AND_THEN = 0.02  # seconds between two bytes: each comes well within the limit, and they never end
ENOUGH = 0.5  # seconds


@pytest.fixture(params=["ollama", "openai"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# Time ---------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [False, True], ids=["body", "headers"])
def test_a_server_that_sends_a_byte_now_and_then_is_given_up(provider: Provider, name: str, headers: bool) -> None:
    provider.always(Drip(NOW_AND_THEN, headers=headers))
    store = RamStore()

    with (
        closing(embedders(name, provider, store, query_share=ENOUGH / 60)) as made,
        pytest.raises(Unreachable, match=r"within 0\.5 s"),
    ):
        made.configured().embed(["a"], "query")

    for thread in threading.enumerate():
        if thread.name == "memory-request":
            thread.join(30)  # hung up on, and not left to listen for ever
            assert not thread.is_alive()
    [line] = store.usage.lines()
    assert "within 0.5 s" in line.error
    assert line.seconds >= ENOUGH
    assert "within 0.5 s" in store.usage.circuit(provider.url + ("/v1" if name == "openai" else "")).error


def test_a_call_that_took_too_long_breaks_off_no_other(provider: Provider, name: str) -> None:
    with closing(embedders(name, provider, query_share=ENOUGH / 60, pause_seconds=0)) as made:
        embedder = made.configured()
        with purpose(EMBED):  # which may take its time, as on a busy machine
            expected = embedder.embed(["a"], "query")
        provider.always(Drip(NOW_AND_THEN))
        with pytest.raises(Unreachable):
            embedder.embed(["b"], "query")
        provider.always(None)

        with purpose(EMBED):
            assert np.array_equal(embedder.embed(["a"], "query"), expected)


def test_a_connection_that_is_not_taken_is_given_up() -> None:
    """The queue of those who wait is full: the system answers no further one, and none is refused."""
    waiting: list[socket.socket] = []
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(listening.getsockname())
            waiting.append(one)
        port = listening.getsockname()[1]
        from memory.vectors.providers.servers import Ollama

        with closing(Ollama(spec(base_url=f"127.0.0.1:{port}"))) as remote, pytest.raises(Unreachable):
            remote.ask(["a"], ENOUGH, 1000)
        for one in waiting:
            one.close()


class Stuck:
    """A client whose call ends when it is closed, or never."""

    def __init__(self, seconds: float, limits: Limits) -> None:
        self.limits, self.closed = limits, threading.Event()

    def close(self) -> None:
        self.closed.set()


def test_what_has_no_limit_of_its_own_is_given_up_and_its_client_closed() -> None:
    """As looking up the name of a host has none."""
    made: list[Stuck] = []

    def connect(seconds: float, limits: Limits) -> Stuck:
        made.append(Stuck(seconds, limits))
        return made[-1]

    connections = Connections("http://h", connect)
    with pytest.raises(Unreachable, match=r"http://h did not answer within 0\.01 s"):
        connections.ask(lambda client: client.closed.wait(), 0.01, 10)

    assert made[0].closed.is_set()
    assert connections.ask(lambda client: client is made[1], 60, 10)
    assert connections.ask(lambda client: client is made[1], 60, 10), "a client is used again"
    connections.close()
    assert made[1].closed.is_set()


def test_what_a_client_raises_comes_through() -> None:
    connections = Connections("http://h", Stuck, mask=lambda said: said.replace("sk-1", "…"))

    def fail(_client: Stuck) -> None:
        raise KeyError("sk-1")

    with pytest.raises(Refused, match="http://h failed: KeyError: '…'"):
        connections.ask(fail, 60, 10)


def test_what_is_raised_while_a_client_is_made_comes_through_without_keys() -> None:
    def connect(_seconds: float, _limits: Limits) -> Stuck:
        raise RuntimeError("sk-1 is no key")

    connections = Connections("http://h", connect, mask=lambda said: said.replace("sk-1", "…"))

    with pytest.raises(Refused, match="http://h failed: RuntimeError: … is no key"):
        connections.ask(lambda client: client, 60, 10)


# Memory -------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", ["", "gzip"])
def test_an_answer_without_end_is_refused_while_it_comes_in(provider: Provider, name: str, packed: str) -> None:
    with closing(embedders(name, provider)) as made:
        embedder = made.configured()
        width = embedder.embed(["a"], "query").shape[1]
        provider.always(Flood(packed))
        most = NUMBER_BYTES * width + MORE_BYTES

        tracemalloc.start()
        with pytest.raises(Garbled, match=f"more than {most:,} bytes"):
            embedder.embed(["b"], "query")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert peak < 4 * most + (16 << 20)  # of packed ones the server runs ahead in the same process
    if not packed:
        assert provider.sent < most + (16 << 20), "what is on the way was sent, and no more"


@pytest.mark.parametrize("packed", ["br", "zstd", "deflate", "gzip, gzip", "x" * 200])
def test_an_answer_packed_as_nobody_asked_is_not_read(provider: Provider, name: str, packed: str) -> None:
    provider.always(Flood(packed))
    with (
        closing(embedders(name, provider, dimensions=64)) as made,
        pytest.raises(Garbled, match="packed as"),
    ):
        made.configured().embed(["a"], "query")

    assert provider.seen[-1].headers["accept-encoding"] == "gzip"


def test_the_words_of_an_error_are_bounded_too(provider: Provider, name: str) -> None:
    provider.always(Status(400, "x" * 3_000_000))
    with (
        closing(embedders(name, provider, dimensions=64)) as made,
        pytest.raises(Garbled, match="more than"),
    ):
        made.configured().embed(["a"], "query")


@given(st.binary(max_size=5000), st.integers(0, 6000), st.sampled_from(["", "gzip", "x-gzip"]), st.integers(1, 600))
def test_an_answer_is_taken_whole_or_not_at_all(content: bytes, most: int, packed: str, step: int) -> None:
    import httpx

    sent = gzip.compress(content) if packed else content
    limits = Limits("http://h")
    limits.begin(60, most)
    pieces = (sent[start : start + step] for start in range(0, len(sent), step))
    response = httpx.Response(200, headers={"Content-Encoding": packed} if packed else {}, content=pieces)

    # A packed one may be longer than what it holds, if that is little.
    if max(len(content), len(sent)) <= most:
        limits.take(response)
        assert response.read() == content
    else:
        with pytest.raises(Garbled, match="more than"):
            limits.take(response)


def test_of_one_packed_piece_no_more_comes_out_than_is_allowed() -> None:
    import httpx

    sent = gzip.compress(bytes(64 << 20))
    limits = Limits("http://h")
    limits.begin(60, 1_000_000)
    response = httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=iter([sent]))

    tracemalloc.start()
    with pytest.raises(Garbled, match="more than 1,000,000 bytes"):
        limits.take(response)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 4_000_000


@pytest.mark.parametrize("sent", [gzip.compress(b"text")[:-9], b"no gzip", b"", zlib.compress(b"text")[:3]])
def test_a_packed_answer_that_is_broken_is_garbled(sent: bytes) -> None:
    import httpx

    limits = Limits("http://h")
    limits.begin(60, 1000)
    with pytest.raises(Garbled, match=r"unpacked|incomplete"):
        limits.take(httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=iter([sent])))


def test_an_honest_packed_answer_is_read(provider: Provider, name: str) -> None:
    with closing(embedders(name, provider)) as made:
        expected = made.configured().embed(["a"], "passage")
    provider.packs = True
    with closing(embedders(name, provider)) as made:
        assert np.array_equal(made.configured().embed(["a"], "passage"), expected)
    assert MODELS[name] in str(provider.seen[-1].body)


def test_a_client_that_answers_after_all_hung_up_is_closed_too() -> None:
    class Client:
        closed = False

        def close(self) -> None:
            self.closed = True

    client, asked, answered = Client(), threading.Event(), threading.Event()

    def question(_: Client) -> str:
        asked.set()
        assert answered.wait(20)
        return "late"

    connections = Connections("host", lambda _seconds, _limits: client)
    said: list[str] = []
    asking = threading.Thread(target=lambda: said.append(connections.ask(question, 30.0, 100)))
    asking.start()
    assert asked.wait(20)
    connections.close()
    answered.set()
    asking.join(20)

    assert said == ["late"]
    assert client.closed
