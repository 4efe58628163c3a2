"""The MCP server over HTTP: on this machine alone, for whoever has the token."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
import subprocess
from typing import TYPE_CHECKING

import httpx2
import pytest
from agent import ERAS
from command import COMMAND, Shell
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

TOKEN = "0123456789abcdef" * 2
ASKED = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}


def shell(folder: Path) -> Shell:
    work = folder / "shop"
    (work / ".git").mkdir(parents=True)
    return Shell(folder / "home", work, {"MEMORY_MCP_TOKEN": TOKEN, "MEMORY_MCP_STRUCTURED": "always"})


@pytest.fixture
def here(tmp_path):
    return shell(tmp_path)


def serving(shell: Shell) -> Generator[tuple[str, int, str]]:
    server = subprocess.Popen(
        [COMMAND, "mcp", "--http", "--port", "0"], env=shell.env, cwd=shell.folder, stderr=subprocess.PIPE, text=True
    )
    try:
        line = server.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", line)
        assert found, line + server.stderr.read()
        yield found[0], int(found[1]), line
    finally:
        server.terminate()
        server.wait(60)
        rest = server.stderr.read()
        server.stderr.close()
        assert "Traceback" not in rest


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    yield from serving(shell(tmp_path_factory.mktemp("http")))


def answered(port: int, headers: Mapping[str, str], method: str = "POST", host: str = "127.0.0.1") -> int:
    """The status of a raw request."""
    connection = http.client.HTTPConnection(host, port, timeout=60)
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    connection.request(method, "/mcp", json.dumps(ASKED) if method == "POST" else None, sent)
    status = connection.getresponse().status
    connection.close()
    return status


AUTHORISED = {"Authorization": f"Bearer {TOKEN}"}


def test_the_token_lets_in(server):
    assert answered(server[1], AUTHORISED) == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer wrong" + TOKEN},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer \xff\xfe"},
    ],
)
def test_nobody_gets_in_without_it(server, headers):
    assert answered(server[1], headers) == 401
    assert answered(server[1], headers, method="GET") == 401
    assert answered(server[1], headers, method="DELETE") == 401


HOSTILE = [
    "evil.example",
    "evil.example:PORT",
    "127.0.0.1.evil.example",
    "127.0.0.1.evil.example:80",
    "127.0.0.1:PORT.evil.example",
    "127.0.0.1:PORT@evil.example",
    "localhost:PORT@evil.example",
    "localhost:@evil.example",
    "127.0.0.1:PORT:80",
    "user@127.0.0.1:PORT",
    "user:secret@localhost:PORT",
    "localhost.evil.example:8377",
    "localhost.:PORT",
    "127.0.0.1.:PORT",
    "LOCALHOST:PORT",
    "127.1:PORT",
    "2130706433:PORT",
    "0.0.0.0:PORT",
    "[::1]",
    "[::1].evil.example:80",
    "[::1]:PORT@evil.example",
    "[::ffff:127.0.0.1]:PORT",
    "::1:PORT",
    "127.0.0.1",
    "localhost",
    "127.0.0.1:",
    "127.0.0.1:0",
    "127.0.0.1:65536",
    "127.0.0.1:+80",
    "127.0.0.1:PORT/",
    "127.0.0.1:PORT/mcp",
    "127.0.0.1:PORT?",
    "127.0.0.1:PORT#",
    "127.0.0.1:PORT, evil.example",
    "127.0.0.1:PORT\\@evil.example",
    "127.0.0.1:PORT\t.evil.example",
    "127.0.0.1:\xb2",
    "null",
]
"""What names another machine, or none. PORT is the server's own."""


def test_a_name_that_was_bent_to_this_machine_does_not_get_in(server):
    for host in ("", *HOSTILE):
        sent = {**AUTHORISED, "Host": host.replace("PORT", str(server[1]))}
        assert answered(server[1], sent) in {400, 421}, host  # 400: no header at all has such a value


def test_a_page_from_elsewhere_does_not_get_in(server):
    pages = [f"http://{host}" for host in HOSTILE] + [f"https://{host}" for host in HOSTILE]
    own = ["127.0.0.1:PORT", "//127.0.0.1:PORT", "HTTP://127.0.0.1:PORT", "ftp://127.0.0.1:PORT", "file://", "", "null"]

    for origin in (*pages, *own, "https://127.0.0.1:PORT", "http://127.0.0.1:PORT http://evil.example"):
        sent = {**AUTHORISED, "Origin": origin.replace("PORT", str(server[1]))}
        assert answered(server[1], sent) in {400, 403}, origin


@pytest.mark.parametrize(("name", "value"), [("Host", "evil.example:80"), ("Origin", "http://evil.example")])
def test_a_second_header_does_not_get_in_behind_the_first(server, name, value):
    own = {"Host": f"127.0.0.1:{server[1]}", "Origin": f"http://127.0.0.1:{server[1]}"}
    body = json.dumps(ASKED).encode()
    lines = [f"{key}: {said}" for key, said in (AUTHORISED | own | {"Content-Type": "application/json"}).items()]
    lines += ["Accept: application/json, text/event-stream", "Connection: close", f"Content-Length: {len(body)}"]

    with socket.create_connection(("127.0.0.1", server[1]), timeout=20) as connection:
        request = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"{name}: {value}", "", ""])
        connection.sendall(request.encode() + body)
        status = connection.makefile("rb").readline()

    assert re.match(rb"HTTP/1.1 (400|403|421) ", status), status


@pytest.mark.parametrize("host", ["127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT", "localhost:9000"])
def test_a_page_of_this_machine_gets_in(server, host):
    own = host.replace("PORT", str(server[1]))

    assert answered(server[1], {**AUTHORISED, "Origin": f"http://{own}"}) == 200
    assert answered(server[1], {**AUTHORISED, "Host": own}) == 200


def test_it_listens_on_the_loopback_address_only(server):
    outside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        outside.connect(("192.0.2.1", 9))  # sends nothing: asks which address would be used
        address = outside.getsockname()[0]
    except OSError:
        pytest.skip("this machine has no other address")
    finally:
        outside.close()

    with pytest.raises(OSError):
        answered(server[1], AUTHORISED, host=address)


@pytest.mark.parametrize("era", ERAS)
def test_a_client_works_with_it(server, era):
    async def work() -> None:
        async with (
            httpx2.AsyncClient(headers=AUTHORISED) as web,
            Client(streamable_http_client(server[0], http_client=web), mode=era) as client,
        ):
            kept = await client.call_tool("memory_save", {"title": "over HTTP", "project": "shop"})
            found = await client.call_tool("memory_search", {"query": "HTTP"})
            here = await client.call_tool("memory_search", {"query": "HTTP", "project": "."})
            context = await client.call_tool("memory_context", {})

        assert kept.structured_content["memory"]["project"] == "shop"
        assert [hit["title"] for hit in found.structured_content["hits"]] == ["over HTTP"]
        assert here.is_error, "the folder the server was started in is not the client's"
        assert "your project is unknown" in here.content[0].text
        assert context.structured_content["project"] is None

    asyncio.run(work())


def test_without_one_a_token_is_made_for_its_owner_alone(tmp_path):
    shell = Shell(tmp_path / "home", tmp_path)
    tokens = []
    for _ in range(2):
        for _url, port, line in serving(shell):
            file = shell.home / "mcp-token"
            assert str(file) in line
            assert file.stat().st_mode & 0o777 == 0o600
            tokens.append(file.read_text())
            assert tokens[-1] not in line
            assert answered(port, {"Authorization": f"Bearer {tokens[-1]}"}) == 200
            assert answered(port, {}) == 401
    assert len(set(tokens)) == 1


def test_a_port_in_use_is_said(here):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = here("mcp", "--http", "--port", str(taken.getsockname()[1]), code=1)

    assert "cannot listen on 127.0.0.1" in ran.err
    assert "--port" in ran.err


def test_a_token_that_is_too_short_is_refused(here):
    ran = Shell(here.home, here.folder, {"MEMORY_MCP_TOKEN": "short"})("mcp", "--http", code=2)

    assert "$MEMORY_MCP_TOKEN" in ran.err
    assert "short" not in ran.err.replace("too short", "")


def test_a_port_without_http_is_a_mistake(here):
    assert "--http" in here("mcp", "--port", "80", code=2).err
