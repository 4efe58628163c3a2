"""
Tasks as people give them to agents, with the calls to which the descriptions of the tools lead: `support/tasks.tsv`.

The answers say what an agent needs to go on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from agent import ERAS, Agent
from command import Shell

from memory.tools.operation import chosen

if TYPE_CHECKING:
    from collections.abc import Iterator


class Task(NamedTuple):
    """
    Attributes:
        said: What a person says; `$name` if the call prepares the store.
        arguments: As JSON; `$name` stands for the id that the call of this name gave.
        answer: A part of the answer.
    """

    toolset: str
    said: str
    tool: str
    arguments: str
    answer: str


_LINES = (Path(__file__).parents[1] / "support/tasks.tsv").read_text("utf-8").splitlines()[1:]
TASKS = [Task(*line.split("\t")) for line in _LINES]
ASKED = [task for task in TASKS if not task.said.startswith("$")]
SERVED = {"core": "core", "sessions": "sessions", "research": "research", "graph": "core,graph"}
"""The toolsets of the server on which the tasks of a toolset are tried."""


class Prepared(NamedTuple):
    """A server on a store of its own, and the ids of what was saved there."""

    agent: Agent
    ids: dict[str, str]

    def given(self, task: Task) -> dict[str, Any]:
        text = task.arguments
        for name, id in self.ids.items():
            text = text.replace(f'"${name}"', json.dumps(id))
        return json.loads(text)


def _id(found: dict[str, Any]) -> str:
    rows = found.get("results") or [found.get("memory") or found]
    return str(rows[0].get("chunk_id") or rows[0].get("id") or rows[0].get("memory_id", ""))


@pytest.fixture(scope="module", params=SERVED)
def prepared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Prepared]]:
    folder, toolset = tmp_path_factory.mktemp("tasks"), request.param
    (folder / "shop/.git").mkdir(parents=True)
    shell = Shell(folder / "home", folder / "shop", {"MEMORY_DOCUMENTS": str(folder / "documents")})
    run = ["--run", "lyon"] if toolset == "research" else []
    with Agent(shell, ERAS[-1], ["--toolset", SERVED[toolset], *run]) as agent:
        store = Prepared(agent, {})
        for task in TASKS:
            if task.toolset == toolset and task not in ASKED:
                store.ids[task.said[1:]] = _id(agent.call(task.tool, **store.given(task)))
        yield toolset, store


def test_the_calls_of_the_tasks_answer_them(prepared: tuple[str, Prepared]) -> None:
    toolset, store = prepared
    for task in ASKED:
        if task.toolset == toolset:
            said = store.agent.said(task.tool, **store.given(task))
            assert task.answer in said, task


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.said)
def test_a_task_names_a_tool_of_its_toolset_and_arguments_that_it_takes(task: Task) -> None:
    tools = {tool.name: tool for tool in chosen(SERVED[task.toolset].split(","))}

    assert json.loads(task.arguments).keys() <= {one.name for one in tools[task.tool].parameters}


def test_each_core_tool_has_a_task() -> None:
    used = {task.tool for task in ASKED if task.toolset == "core"}

    assert used == {tool.name for tool in chosen(["core"])}
