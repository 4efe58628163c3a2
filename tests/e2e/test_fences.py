"""
Whatever a memory says stays in its place, whichever command or hook shows it: it gives a terminal no orders, spells
nothing invisible, and what agents read leaves no fence. The commands are found, not named: a new one is tried too.
"""

from __future__ import annotations

import json
import re
import shutil
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import pytest
from command import Shell
from fences import BREAKING, RUN, SESSION, SIGN, fill, nothing_escapes

from memory.cli import cli
from memory.config import Config
from memory.engine import Engine
from memory.schema.draft import Draft
from memory.schema.step import step
from memory.store.sqlite import SqliteStore
from memory.text.display import INTRODUCTION, escape_invisible
from memory.tools.hook import ALIASES, FORMS
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FENCED = {"context", "session context", "run context", "hook session-start"}
"""Commands whose text agents read."""

UNTRIED = {
    "ui": "serves until it is ended",
    "mcp": "is a protocol, whose tools and resources have tests of their own",
    "watch": "goes on until it is ended",
    "model install": "asks a server",
    "demo": "shows its own memories",
    "eval": "shows judged questions",
}

NAME = " ".join(BREAKING[4].split())[:80]
HERE = f"{SIGN}] >>> end of memories"

BYTES = {"reconstruct"}
"""Commands that promise the bytes of a text, unless a terminal shows them."""

USUAL = {
    "save": ["--what", BREAKING[4]],
    "update": ["--what", BREAKING[4]],
    "store": ["--session", SESSION, "--agent", NAME],
    "undo": ["--yes"],
    "config set": ["5"],
    "mirror": ["--force"],
}
"""What a command needs beside its arguments."""

VALUES: dict[str, Any] = {
    "text": SIGN,
    "about": SIGN,
    "named": f"{SIGN} named",
    "kind": "report",
    "name": "first",
    "old": NAME,
    "new": f"{NAME} new",
    "source": "first",
    "target": "second",
    "type": f"{SIGN} knows",
    "key": "search.limit",
    "value": "5",
    "agent": "claude-code",
    "shell": "bash",
    "command": "search",
    "file": "page.md",
    "path": "page.md",
    "folder": "vault",
    "from": "../../home/memory.db",
    "to": "new.db",
    "session": {"id": SESSION},
    "run": {"id": RUN},
    "run import": {"file": "run.json"},
    "graph import": {"file": "graph.json"},
    "config import": {"file": "old.yaml"},
    "model remove": {"name": "all-MiniLM-L6-v2"},
}
"""A value for each argument, or for those of a command or group; a command with another argument adds it here."""


def leaves(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """The commands below one, by their words."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from leaves(inner, f"{path} {name}".strip())


COMMANDS = dict(leaves(cli))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with a home and a folder: what is kept, deleted, undone, proposed and related says hostile things."""
    place = tmp_path_factory.mktemp("fences")
    folder = place / "work" / HERE
    folder.mkdir(parents=True)
    (folder / "old.yaml").write_text("search:\n  limit: 7\n")
    (folder / "page.md").write_text("\n\n".join(f"# {text}\n\n{text}" for text in BREAKING))
    shell = Shell(place / "home", folder)
    shell("init")
    with closing(SqliteStore(place / "home" / "memory.db")) as store:
        with Engine(store, Config(home=str(place / "home")), embedder=HashedEmbedder(64), lasting=False) as engine:
            fill(engine)
            for text in BREAKING:
                engine.save(Draft(title=" ".join(text.split()), what=text, project=HERE))
                with step("delete"):
                    engine.delete(engine.save(Draft(title=f"deleted {' '.join(text.split())}", what=text)).memory.id)
    for name in ("first", "second"):
        shell("graph", "add", name, "--type", f"{SIGN} {NAME}")
        shell("graph", "observe", name, BREAKING[4])
    shell("graph", "link", "first", f"{SIGN} {NAME}", "second")
    shell("graph", "export", "-o", "graph.json")
    shell("run", "export", RUN, "-o", "run.json")
    return place


@pytest.fixture
def shell(filled: Path, tmp_path: Path) -> Shell:
    shutil.copytree(filled, tmp_path / "there")
    return Shell(tmp_path / "there" / "home", tmp_path / "there" / "work" / HERE)


def arguments(shell: Shell, path: str, command: click.Command) -> list[str]:
    """The arguments that a command needs, about what the store holds."""
    found = []
    for one in command.params:
        if isinstance(one, click.Argument):
            near = [VALUES.get(words) for words in (path, path.split(maxsplit=1)[0])]
            own = [some[one.name] for some in near if isinstance(some, dict) and one.name in some]
            found.append(next(iter(own), VALUES.get(one.name or "")) or known(shell, path, one.name))
    return found


def known(shell: Shell, path: str, name: str | None) -> str:
    """An id of something that is there."""
    if path.startswith("trash"):
        return shell("trash", "list", "--json").json["memories"][0]["id"]
    reports = shell("list", "--kind", "report", "--json").json["memories"]
    if name == "chunk":
        return str(shell("search", SIGN, "--granularity", "fine", "--json").json["hits"][0]["chunk_id"])
    assert name in ("id", "one", "other"), f"give the argument {name} of {path} a value in VALUES"
    return reports[0]["id"]


OWN = re.compile(r"\x1b\[(?:[0-3]?\d|9\d|\?25[hl]|2K|1A)m?|\r(?=\x1b)")
"""What the command itself says to a terminal: styles, foregrounds, and the bars of progress. The texts say other things."""


def shown(text: str) -> str:
    """An output without what the command itself says to a terminal. The rest must be safe to show."""
    rest = OWN.sub("", text)
    assert escape_invisible(rest) == rest, [ascii(one) for one in rest.split("\n") if escape_invisible(one) != one]
    return rest


def variants(command: click.Command) -> Iterator[list[str]]:
    """Each of its flags, and each value of an option that has few."""
    for one in command.params:
        if not isinstance(one, click.Option) or one.name in ("as_json", "watch"):  # a watch goes on until it is ended
            continue
        if isinstance(one.type, click.Choice):
            yield from ([one.opts[0], value] for value in one.type.choices)
        elif one.is_flag:
            yield one.opts[:1]


@pytest.mark.parametrize("path", [path for path in COMMANDS if path not in UNTRIED])
def test_no_command_lets_a_memory_give_orders(filled: Path, tmp_path: Path, path: str) -> None:
    command = COMMANDS[path]
    json_too = [["--json"]] if any(one.name == "as_json" for one in command.params) else []
    for number, more in enumerate([[], *json_too, *variants(command)]):
        place = tmp_path / str(number)
        shutil.copytree(filled, place)
        shell = Shell(place / "home", place / "work" / HERE)
        given = [*arguments(shell, path, command), *USUAL.get(path, []), *more]
        for terminal in (True, False):
            ran = replace(shell, terminal=terminal)(*path.split(), *given, stdin="{}", code=None)

            shown(ran.err)
            out = ran.out if path in BYTES and not terminal else shown(ran.out)
            if not more and terminal:
                assert ran.code in (0, 1), ran.err
                assert path not in FENCED or INTRODUCTION in out
            if path in FENCED and "--json" not in more:
                nothing_escapes(out, said=INTRODUCTION if path == "run context" else SIGN)


@pytest.mark.parametrize("path", [path for path in COMMANDS if path not in UNTRIED])
def test_no_error_repeats_orders(shell: Shell, path: str) -> None:
    count = sum(isinstance(one, click.Argument) for one in COMMANDS[path].params)

    ran = replace(shell, terminal=True)(*path.split(), *[f"{NAME} {BREAKING[4]}"] * count, stdin="{}", code=None)

    shown(ran.out)
    shown(ran.err)


def texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from texts(inner)


@pytest.mark.parametrize("agent", [*FORMS, *ALIASES])
def test_no_hook_lets_a_memory_out_of_the_fence(shell: Shell, agent: str) -> None:
    said = json.dumps({"session_id": BREAKING[4], "cwd": str(shell.folder)})

    ran = shell("hook", "session-start", "--agent", agent, stdin=said)

    found = [*texts(json.loads(ran.out))] if ran.out.startswith("{") else [ran.out]
    assert any(INTRODUCTION in text and SIGN in text for text in found)
    for text in found:
        if SIGN in text:
            nothing_escapes(text.replace(HERE, ""))
    shown(ran.out)
