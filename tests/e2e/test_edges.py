"""What joins memories, and the tools that were used, carried by an export from one home to another."""

from __future__ import annotations

import json
import random
import string
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from command import Shell

from memory import Config, Draft, Engine, Kind
from memory.config.settings import EmbeddingSettings
from memory.text.markdown import listed, observations

if TYPE_CHECKING:
    from pathlib import Path

RUN = "query_1767225600_1"


def engine(home: Path) -> Engine:
    return Engine.open(replace(Config(), home=str(home), embedding=EmbeddingSettings(provider="none")))


def entity(name: str, *said: str) -> Draft:
    return Draft(kind=Kind.ENTITY, title=name, category="thing", body=listed(said))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A home with a small graph, a memory about it, and a run with a tool call."""
    folder = tmp_path / "work"
    folder.mkdir()
    home = tmp_path / "home"
    with engine(home) as made:
        made.save_all([entity("Python", "a language", "made\nin 1991"), entity("Guido", "a person"), entity("alone")])
        made.graph.relate([("Guido", "Python", "made"), ("Python", "Python", "knows")])
        made.save(Draft(title="Why Python", what="it reads well"), entities=["Python"])
        made.save(Draft(title="secret", what="stays here", keyword_only=True))
        made.save(Draft(kind=Kind.FEEDBACK, body="go on", agent_id="boss", query_id=RUN))
        made.runs.log(
            run=RUN, agent="w", type="http", tool="web_search", parameters='{"q": "x"}', result="[]", success=False
        )
    return Shell(home, folder)


@pytest.fixture
def other(shell: Shell, tmp_path: Path) -> Shell:
    return replace(shell, home=tmp_path / "other")


def lines(shell: Shell) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shell("export").out.splitlines()]


def test_everything_arrives_and_exports_the_same(shell: Shell, other: Shell) -> None:
    exported = shell("export").out
    imported = other("import", "-", "--json", stdin=exported).json

    assert (imported["kept"], imported["known"], imported["updated"], imported["notices"]) == (6, 0, 0, [])
    assert other("export").out == exported
    schemas = [line["schema"] for line in map(json.loads, exported.splitlines())]
    assert schemas == [
        *["memory.memory/1"] * 6,
        *["memory.relation/1"] * 2,
        "memory.attached/1",
        "memory.tool_call/1",
    ]
    with engine(other.home) as there:
        assert [call.success for _, call in there.runs.calls(RUN)] == [False]
        path = there.graph.path("Python", "Guido")
        assert path is not None
        assert [relation.type for relation in path] == ["made"]
        assert there.get(5).keyword_only


def test_once_more_it_changes_nothing(shell: Shell) -> None:
    exported = shell("export").out

    again = shell("import", "-", "--json", stdin=exported).json

    assert (again["kept"], again["known"], again["updated"]) == (0, 6, 0)
    assert shell("export").out == exported


def test_an_entity_that_is_there_under_its_name_learns_what_is_new(shell: Shell, other: Shell) -> None:
    with engine(other.home) as there:
        there.save_all([entity("Guido", "a person", "likes puns"), entity("Python", "a snake")])

    imported = other("import", "-", "--json", stdin=shell("export").out).json

    assert (imported["kept"], imported["known"], imported["updated"]) == (4, 1, 1)
    with engine(other.home) as there:
        python = there.graph.entity("Python")
        assert observations(there.details(python.id).body) == ("a snake", "a language", "made\nin 1991")
        assert observations(there.details(1).body) == ("a person", "likes puns")
        assert {(one.source, one.target, one.type) for one in there.graph.relations([python.id])} == {
            (1, python.id, "made"),
            (python.id, python.id, "knows"),
        }
        assert len(there.graph.attached([python.id])) == 1


def test_what_joins_something_that_is_not_here_is_left_out_and_said(shell: Shell, other: Shell) -> None:
    some = [line for line in lines(shell) if line.get("title") != "Guido"]

    imported = other("import", "-", "--json", stdin="\n".join(map(json.dumps, some))).json

    assert [one["why"] for one in imported["left_out"]] == ["one of the two memories is missing"]
    with engine(other.home) as there:
        assert [one.type for one in there.graph.all_relations()] == ["knows"]


@pytest.mark.parametrize(
    ("schema", "changes", "said"),
    [
        ("relation", {"type": 7}, "type"),
        ("relation", {"type": None}, "type"),
        ("relation", {"weight": 2}, "weight"),
        ("relation", {"created_at": "yesterday"}, "yesterday"),
        ("relation", {"source": ["x"]}, "source"),
        ("attached", {"memory": 3}, "memory"),
        ("attached", {"entity": "a" * 5000}, "entity"),
        ("tool_call", {"success": "yes"}, "success"),
        ("tool_call", {"type": "carrier pigeon"}, "pigeon"),
        ("tool_call", {"agent": " "}, "agent"),
        ("tool_call", {"moment": None}, "None"),
        ("tool_call", {"uid": 1}, "uid"),
    ],
)
def test_a_line_that_is_no_such_thing_changes_nothing(
    shell: Shell, other: Shell, schema: str, changes: dict[str, Any], said: str
) -> None:
    bad = [line | (changes if line["schema"] == f"memory.{schema}/1" else {}) for line in lines(shell)]

    refused = other("import", "-", "--json", stdin="\n".join(map(json.dumps, bad)), code=2).error

    assert said in refused["message"] + refused["hint"]
    assert "-:" in refused["message"]
    assert other("list", "--json").json["memories"] == []


@pytest.mark.parametrize("missing", ["source", "target", "type", "created_at"])
def test_a_field_that_is_missing_is_named(shell: Shell, other: Shell, missing: str) -> None:
    relation = next(line for line in lines(shell) if line["schema"] == "memory.relation/1")
    del relation[missing]

    assert missing in other("import", "-", "--json", stdin=json.dumps(relation), code=2).error["message"]


def test_to_a_file_it_says_how_much(shell: Shell) -> None:
    assert shell("export", "-o", "a.jsonl").out.startswith("6 memories, with 4 relations, links and tool calls in")
    assert shell("export", "-o", "b.jsonl", "--json").json["joined"] == 4


def testsecrets_do_not_come_in_with_what_joins(shell: Shell, other: Shell) -> None:
    secret = "ghp_" + "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=36))
    changed = [
        line
        | ({"type": f"uses {secret}"} if line["schema"] == "memory.relation/1" else {})
        | ({"result": secret} if line["schema"] == "memory.tool_call/1" else {})
        for line in lines(shell)
    ]
    other("import", "-", stdin="\n".join(map(json.dumps, changed)))

    assert secret not in other("export").out
    assert "redacted" in other("export").out
