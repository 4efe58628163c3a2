"""What verbs declare, and the commands and schemas that are made of it."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import pytest
from command import Shell

from memory.cli import COMMANDS
from memory.tools.arguments import extended, record
from memory.tools.operation import ALL, Command, Option, chosen, command, tool
from memory.tools.render.data import row

if TYPE_CHECKING:
    from pathlib import Path

FAMILIES = sorted({place for places in COMMANDS.values() if ":" not in places for place in places.split()})


def test_every_declared_command_has_its_place_and_every_place_a_command():
    declared = [(one.path, family) for family in FAMILIES for one in import_module(family).COMMANDS]
    places = {(path.split()[0], family) for path, family in declared}

    assert places == {
        (name, place) for name, places in COMMANDS.items() if ":" not in places for place in places.split()
    }
    assert {path for path, _ in declared if " " not in path} == {path.split()[0] for path, _ in declared}
    assert len(dict(declared)) == len(declared)


def test_an_agent_is_told_something_of_every_tool_in_one_paragraph():
    told = {one.name: one.description for one in chosen([ALL])}

    assert len(told) > 50
    assert [name for name, text in told.items() if not text.endswith(".") or "\n" in text or "  " in text] == []


def test_a_function_is_declared_by_its_name_and_its_docstring():
    @tool("A title", "known:flag about", reads=True)
    def memory_verb(call, given):
        """
        What it is for,
        and when.
        """

    assert (memory_verb.name, memory_verb.description) == ("memory_verb", "What it is for, and when.")
    assert memory_verb.returns["required"] == ["known", "about"]
    assert memory_verb.reads


def test_the_arguments_of_a_command_stand_in_its_usage():
    @command("graph link SOURCE [TYPE] ID...", Option("--vector-weight W"))
    def link(call, a):
        """
        Relate two
        entities. Both must exist.

        And more.
        """

    assert isinstance(link, Command)
    assert (link.path, link.short) == ("graph link", "Relate two entities.")
    assert link.help == link.run.__doc__
    assert [one.name for one in link.options] == ["source", "type", "id", "vector_weight"]


@pytest.mark.parametrize(
    ("usage", "name", "flags", "metavar"),
    [
        ("-n --limit N", "limit", ["-n", "--limit"], "N"),
        ("--keyword-only/--embed", "keyword_only", ["--keyword-only/--embed"], ""),
        ("[FILE|-]", "file", [], "[FILE|-]"),
        ("TEXT...", "text", [], "TEXT..."),
    ],
)
def test_an_option_is_known_by_the_word_that_its_help_shows(usage, name, flags, metavar):
    one = Option(usage)

    assert (one.name, one.flags, one.metavar) == (name, flags, metavar)


def test_a_schema_is_made_of_a_line():
    schema = record("title tags:texts project:text?")

    assert schema["required"] == list(schema["properties"]) == ["title", "tags", "project"]
    assert schema["properties"]["project"] == {"type": ["string", "null"]}
    assert extended(schema, "run:object?")["required"] == ["title", "tags", "project", "run"]
    with pytest.raises(KeyError):
        record("title:word")


@pytest.mark.parametrize(
    "arguments",
    [
        ("session", "show", "auth", "--iter", "none"),
        ("save", " "),
        ("run", "clear"),
        ("run", "context", "r", "--tokens", "1"),
        ("update", "1"),
    ],
    ids=" ".join,
)
def test_what_is_asked_wrongly_is_said_before_a_database_is_made(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    shell = Shell(tmp_path / "home", tmp_path)

    shell(*arguments, code=2)

    assert not (tmp_path / "home" / "memory.db").exists()


class Thing(NamedTuple):
    name: str
    count: int
    when: datetime
    shares: tuple[tuple[str, int], ...]
    other: Thing | None = None


def test_a_row_is_made_of_a_line():
    thing = Thing("a", 2, datetime(2026, 1, 1, tzinfo=UTC), (("x", 1),))
    fields = "name title=name count:number when seconds=when:number real=when:real shares:object pairs=shares:texts"

    assert row(thing._replace(other=thing), f"{fields} of=other.name nobody=other.other:text?") == {
        "name": "a",
        "title": "a",
        "count": 2,
        "when": "2026-01-01T00:00:00.000000Z",
        "seconds": 1767225600,
        "real": 1767225600.0,
        "shares": {"x": 1},
        "pairs": [("x", 1)],
        "of": "a",
        "nobody": None,
    }


def test_a_number_is_not_taken_for_a_text():
    with pytest.raises(TypeError, match="2 is not text"):
        row(Thing("a", 2, datetime(2026, 1, 1, tzinfo=UTC), ()), "name count")
