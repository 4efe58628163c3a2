"""`MemoryTool` beside the SDK's own tool, which keeps files on a disk: each answer and each refusal, word by word."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from adapters import opened
from anthropic import Anthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from memory import KeyedStore
from memory.integrations.anthropic import REDACTED, AsyncMemoryTool, MemoryTool

if TYPE_CHECKING:
    from memory import Engine


@pytest.fixture
def tool(items: KeyedStore) -> MemoryTool:
    return MemoryTool(items)


def told(tool: Any, command: str, **fields: Any) -> str:
    try:
        return str(tool.call({"command": command, **fields}))
    except ToolError as error:
        return f"Error: {error}"


def sized(text: str) -> str:
    """A listing without the sizes of folders, which differ from disk to disk."""
    return re.sub(r"(?m)^\S+(?=\t(?:/memories|\S+/|/memories/d|/memories/d/e)$)", "-", text)


files = st.sampled_from(
    ["/memories/a.txt", "/memories/b", "/memories/d/a.txt", "/memories/d/e/deep.md", "/memories/.hidden"]
)
others = st.sampled_from(
    [
        "/memories",
        "/memories/",
        "/memories/d",
        "/memories/d/e",
        "/memories/none",
        "/memories/d/none",
        "/memories/x/../a.txt",
    ]
)
outside = st.sampled_from(
    ["/memories/../x", "/etc/passwd", "memories/a", "", "/memories/../../etc", "/memories/d/../../x"]
)
everywhere = st.one_of(files, files, others, outside)
texts = st.sampled_from(["", "\n", "one", "one\ntwo\n", "one\n\none", "é\r\nü\r\n", " \t", "\n\n\n", "two one two"])
pieces = st.sampled_from(["one", "two", "\n", "é", "none", "one\n"])


class Beside(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.stack = ExitStack()
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        items = self.stack.enter_context(KeyedStore(opened(folder / "home")))
        self.tool, self.disk = MemoryTool(items), BetaLocalFilesystemMemoryTool(str(folder / "disk"))

    def both(self, command: str, **fields: Any) -> None:
        # A folder is there as long as it holds a file.
        for path in sorted(self.disk.memory_root.rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        ours = told(self.tool, command, **fields)
        try:
            theirs = told(self.disk, command, **fields)
        except OSError:  # a file stands where a folder would be, or a folder would be in itself
            assert ours.startswith("Error: ")
        else:
            assert sized(ours) == sized(theirs)

    @rule(path=everywhere, range=st.one_of(st.none(), st.lists(st.integers(-1, 4), min_size=2, max_size=2)))
    def view(self, path: str, range: Any) -> None:
        self.both("view", path=path, **({} if range is None else {"view_range": range}))

    @rule(path=st.one_of(files, outside, st.just("/memories/d")), text=texts)
    def create(self, path: str, text: str) -> None:
        self.both("create", path=path, file_text=text)

    @rule(path=everywhere, old=pieces, new=st.one_of(pieces, st.just("")))
    def replace(self, path: str, old: str, new: str) -> None:
        self.both("str_replace", path=path, old_str=old, new_str=new)

    @rule(path=everywhere, line=st.integers(-1, 4), text=texts)
    def insert(self, path: str, line: int, text: str) -> None:
        self.both("insert", path=path, insert_line=line, insert_text=text)

    @rule(path=everywhere)
    def delete(self, path: str) -> None:
        self.both("delete", path=path)

    @rule(
        old=everywhere,
        new=st.one_of(files, outside, st.sampled_from(["/memories/n/new", "/memories/f", "/memories/d"])),
    )
    def rename(self, old: str, new: str) -> None:
        self.both("rename", old_path=old, new_path=new)

    def teardown(self) -> None:
        self.stack.close()


def test_it_says_what_the_tool_of_the_sdk_says() -> None:
    run_state_machine_as_test(Beside, settings=settings(max_examples=25, stateful_step_count=25, deadline=None))


def test_each_file_is_a_memory_that_search_finds(tool: MemoryTool, engine: Engine) -> None:
    told(tool, "create", path="/memories/people/ann.md", file_text="# Ann\n\nShe likes green tea.\n")
    told(tool, "create", path="/memories/empty", file_text="")

    (hit,) = engine.search("green tea").hits
    assert (hit.memory.title, engine.details(hit.memory.id).body) == ("ann.md", "# Ann\n\nShe likes green tea.\n")
    told(tool, "str_replace", path="/memories/people/ann.md", old_str="green", new_str="black")
    told(tool, "rename", old_path="/memories/people", new_path="/memories/team")
    assert told(tool, "view", path="/memories") == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
        "28B\t/memories\n0B\t/memories/empty\n28B\t/memories/team/\n28B\t/memories/team/ann.md"
    )
    details = engine.details(hit.memory.id)
    assert [details.body, *(old.body for old in details.history)].count("# Ann\n\nShe likes black tea.\n") >= 1
    assert engine.search("green").hits == ()


def test_what_the_disk_answers_with_an_error_of_the_system_is_refused(tool: MemoryTool) -> None:
    told(tool, "create", path="/memories/a", file_text="x")

    refused = [
        told(tool, "create", path="/memories/a/b", file_text="y"),
        told(tool, "rename", old_path="/memories/a", new_path="/memories/a/b"),
        told(tool, "create", path="/memories/" + "n" * 301, file_text="y"),
        told(tool, "create", path="/memories/n", file_text="NUL \0"),
        told(tool, "create", path="/memoriesx/n", file_text=""),
        told(tool, "create", path="/memories", file_text=""),
    ]
    assert all(one.startswith("Error: ") for one in refused), refused
    assert told(tool, "view", path="/memories/a").endswith("     1\tx")


def test_the_asynchronous_tool_answers_the_same(items: KeyedStore) -> None:
    tool, other = AsyncMemoryTool(items), MemoryTool(items, namespace=("elsewhere",))
    calls: list[dict[str, Any]] = [
        {"command": "create", "path": "/memories/a", "file_text": "one\ntwo\n"},
        {"command": "create", "path": "/memories/a", "file_text": ""},
        {"command": "str_replace", "path": "/memories/a", "old_str": "two", "new_str": "three"},
        {"command": "insert", "path": "/memories/a", "insert_line": 1, "insert_text": "half"},
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"},
        {"command": "view", "path": "/memories/b"},
        {"command": "view", "path": "/memories"},
        {"command": "delete", "path": "/memories/b"},
        {"command": "delete", "path": "/memories/b"},
    ]

    async def waited(call: dict[str, Any]) -> str:
        try:
            return str(await tool.call(call))
        except ToolError as error:
            return f"Error: {error}"

    async def use() -> list[str]:
        return [*[await waited(call) for call in calls], await tool.clear_all_memory()]

    assert asyncio.run(use()) == [*(told(other, **call) for call in calls), other.clear_all_memory()]


def test_a_secret_is_not_kept_and_the_model_is_told(tool: MemoryTool) -> None:
    key = "AKIA" + "QXZJ4PLM7T2WRB5N"

    assert told(tool, "create", path="/memories/keys", file_text=f"the key is {key}").endswith(REDACTED)
    assert key not in told(tool, "view", path="/memories/keys")


def test_namespaces_keep_people_apart_and_all_can_be_cleared(items: KeyedStore) -> None:
    ann, bob = (MemoryTool(items, namespace=("anthropic", name)) for name in ("ann", "bob"))
    told(ann, "create", path="/memories/x", file_text="1")

    assert "/memories/x" not in told(bob, "view", path="/memories")
    assert ann.clear_all_memory() == "All memory cleared"
    assert told(ann, "view", path="/memories/x").startswith("Error: ")


def test_claude_writes_and_reads_files_through_the_client(tool: MemoryTool) -> None:
    calls = [
        {"command": "create", "path": "/memories/tea.txt", "file_text": "Ann likes green tea."},
        {"command": "view", "path": "/memories/none"},
        {"command": "view", "path": "/memories/tea.txt"},
    ]
    heard: list[Any] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        heard.append(json.loads(request.content)["messages"][-1]["content"])
        use = {"type": "tool_use", "id": f"t{len(heard)}", "name": "memory"}
        content = (
            [{**use, "input": calls[len(heard) - 1]}] if len(heard) <= len(calls) else [{"type": "text", "text": "ok"}]
        )
        stop = "tool_use" if len(heard) <= len(calls) else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        kept = {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "stop_sequence": None}
        return httpx2.Response(200, json={**kept, "content": content, "stop_reason": stop, "usage": usage})

    client = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(answer)))
    messages = [{"role": "user", "content": "Remember that I like green tea."}]
    client.beta.messages.tool_runner(model="scripted", max_tokens=9, messages=messages, tools=[tool]).until_done()

    results = [one[-1] for one in heard[1:]]
    assert "created successfully" in str(results[0]["content"])
    assert results[1]["is_error"]
    assert "does not exist" in str(results[1]["content"])
    assert "Ann likes green tea." in str(results[2]["content"])
