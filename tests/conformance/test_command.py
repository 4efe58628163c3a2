"""What both ways to run a command have in common: `shell(...)` in this process, `shell.process(...)` in one of its own."""

from __future__ import annotations

import atexit
import importlib
import inspect
import json
import logging
import os
import pkgutil
import re
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import in_process
import pytest
from command import Ran, Shell

import memory
from memory import cli, set_embedding_provider

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

LINES = '{"title": "Warm the cache", "what": "At start"}\n{"title": "é 東京 👩‍👧", "tags": ["a"]}\n'
SLOW = {"MEMORY_SEARCH_SLOW_SECONDS": "0"}
COMPLETING = {"_MEMORY_COMPLETE": "bash_complete", "COMP_WORDS": "memory conf", "COMP_CWORD": "1"}


class Call(NamedTuple):
    """A command, and what it is given beside its arguments."""

    arguments: tuple[str | bytes, ...] = ()
    stdin: str | bytes | None = b""
    settings: dict[str, str] = {}  # noqa: RUF012  # none of them is changed


CALLS = {
    "nothing": Call(),
    "help": Call(("search", "--help"), settings={"COLUMNS": "70"}),
    "version": Call(("--version",)),
    "found": Call(("search", "cookies")),
    "nothing found": Call(("search", "xylophone", "--mode", "keyword")),
    "by meaning": Call(("search", "what is kept of sessions", "--mode", "hybrid")),
    "logged": Call(("search", "cookies"), settings=SLOW),
    "json": Call(("list", "--json")),
    "a name that is no text": Call(("--home", b"data\xff", "config", "home")),
    "settings": Call(("config", "--json"), settings={"MEMORY_SEARCH_LIMIT": "7"}),
    "a pipe out": Call(("export",)),
    "a pipe in": Call(("import", "-", "--json"), LINES),
    "a pipe in without text": Call(("save", "Title", "--details", "-", "--json"), b"\xff\x00"),
    "no standard input": Call(("save", "Title", "--details", "-"), None),
    "no agent": Call(("mcp",), None),
    "asked wrongly": Call(("serch", "cookies")),
    "asked wrongly by a program": Call(("list", "-n", "many", "--json")),
    "no text": Call(("search", b"\xff")),
    "a file that is no text": Call(("import", b"nowhere\xff.jsonl")),
    "could not": Call(("details", "99")),
    "could not for a program": Call(("delete", "zzzzzzzz", "--json")),
    "no settings": Call(("--config", "nowhere.yaml", "status", "--json")),
    "a hook": Call(("hook", "session-start"), json.dumps({"session_id": "s"})),
    "a hook asked wrongly": Call(("hook", "session-middle")),
    "completion": Call(settings=COMPLETING),
}
CODES = {"nothing": 0, "json": 0, "could not": 1, "asked wrongly": 2, "no standard input": 2, "a hook asked wrongly": 1}


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two notes."""
    folder = tmp_path_factory.mktemp("prepared")
    shell = Shell(folder / "home", folder)
    shell("save", "Switched to JWT", "--what", "Replaced session cookies", "--project", "shop")
    shell("save", "WAL mode 東京", "--why", "Readers never block", "--category", "decision")
    return shell.home


@pytest.fixture
def shell(tmp_path: Path, prepared: Path) -> Shell:
    (tmp_path / "shop").mkdir()
    shutil.copytree(prepared, tmp_path / "home")
    return Shell(tmp_path / "home", tmp_path / "shop")


def called(shell: Shell, call: Call) -> Ran:
    return replace(shell, settings=call.settings)(*call.arguments, stdin=call.stdin, code=None)


def comparable(ran: Ran) -> Ran:
    """The same without what it took, and without the mark that is drawn for each text for an agent."""
    other = re.compile(r"\d+(\.\d+)? m?s\b|(?<=the slowest step was )\w+|(?<=memories )[0-9a-f]{12}")
    return replace(ran, out=other.sub("", ran.out), err=other.sub("", ran.err))


@pytest.mark.parametrize("name", CALLS)
def test_a_command_gives_the_same_bytes_here_as_in_a_process_of_its_own(
    shell: Shell, prepared: Path, name: str
) -> None:
    call = CALLS[name]

    here = called(shell, call)
    shutil.rmtree(shell.home)
    shutil.copytree(prepared, shell.home)
    there = replace(shell, settings=call.settings).process(*call.arguments, stdin=call.stdin, code=None)

    assert comparable(here) == comparable(there)
    assert here.out or here.err
    assert here.code == CODES.get(name, here.code)


# What a command leaves -------------------------------------------------------------------


def state() -> dict[str, object]:
    """What a command could leave in this process, and the next one would find."""
    found: dict[str, object] = {
        "environment": dict(os.environ),
        "folder": Path.cwd(),
        "streams": [sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__],
        "arguments": list(sys.argv),
        "temporary": tempfile.tempdir,
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "timer": signal.getitimer(signal.ITIMER_REAL),
        "threads": {thread for thread in threading.enumerate() if thread.name.startswith("memory-")},
        "logging": (logging.getLogger().handlers[:], logging.getLogger().level, logging.root.manager.disable),
        "warnings": (warnings.filters[:], warnings.showwarning),
        "at the end": atexit._ncallbacks(),
        "at leaving": os._exit,
    }
    for name in ours():
        module = sys.modules[name]
        found[name] = kept(module)
        for of, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == name:
                found[f"{name}.{of}"] = kept(value)
    return found


def ours() -> list[str]:
    """Every module of the package, imported; the one that runs is none, and adapters for frameworks are of no command."""
    names = [one.name for one in pkgutil.walk_packages(memory.__path__, "memory.")]
    others = ("memory.__main__", "memory.integrations.")
    return [importlib.import_module(name).__name__ for name in names if not name.startswith(others)]


def kept(holder: object) -> dict[str, object]:
    """What stands in a module or a class: of what can be changed its content, of all else which it is."""
    return {
        name: repr(value) if isinstance(value, (dict, list, set)) else id(value)
        for name, value in vars(holder).items()
        if not name.startswith("__") and not name.startswith("_abc_")
    }


@pytest.mark.parametrize("name", CALLS)
def test_a_command_leaves_nothing_for_the_next(shell: Shell, name: str) -> None:
    ours()
    before = state()

    called(shell, CALLS[name])

    after = state()
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == set()


def test_a_provider_that_the_tests_have_chosen_is_not_the_commands(shell: Shell) -> None:
    before = shell("status", "--json").json
    set_embedding_provider("hashed", model="hashed-16")
    try:
        assert shell("status", "--json").json == before
    finally:
        set_embedding_provider(None)


def test_what_is_left_in_a_module_is_seen() -> None:
    before = state()
    cli.COMMANDS["mine"] = "memory.cli.find:search"
    try:
        changed = {name for name, value in state().items() if before[name] != value}
    finally:
        del cli.COMMANDS["mine"]

    assert changed == {"memory.cli"}


# What no command can do here --------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [(("--version",), {"PYTHONPATH": "/"}), (("--version",), {"LC_ALL": "C"}), (("import", "/dev/stdin"), {})],
)
def test_what_only_a_process_can_do_is_refused_here(
    shell: Shell, arguments: tuple[str, ...], settings: dict[str, str]
) -> None:
    with pytest.raises(AssertionError, match=r"shell\.process"):
        called(shell, Call(arguments, settings=settings))


def test_two_commands_at_once_are_refused_here(shell: Shell) -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(AssertionError, match=r"shell\.process"):
        pool.submit(shell, "--version").result()


def opened(folder: Path) -> AbstractContextManager[object]:
    return (folder / "left").open("w")


def started(_: Path) -> AbstractContextManager[object]:
    event = threading.Event()
    threading.Thread(target=event.wait, name="memory-left", daemon=True).start()
    return closing(SimpleNamespace(close=event.set))


def left(_: Path) -> NoReturn:
    os._exit(0)


@pytest.mark.parametrize(
    ("leave", "said"),
    [(opened, "/left'} open"), (started, "memory-left outlives the command"), (left, "leaves the process with 0")],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_left_open_or_running_fails_the_test(
    tmp_path: Path, leave: Callable[[Path], AbstractContextManager[object]], said: str
) -> None:
    with ExitStack() as around:
        with pytest.raises((AssertionError, pytest.fail.Exception), match=said), in_process.nothing_left(patience=0):
            around.enter_context(leave(tmp_path))
        assert os._exit is not in_process.leaves
