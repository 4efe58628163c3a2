"""What commands that somebody waits for import of what is offered: no verb's declaration, nothing that writes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from command import Shell

if TYPE_CHECKING:
    from pathlib import Path

PRINTED = {"memory.tools", "memory.tools.render", "memory.tools.render.data"}
FOUND = PRINTED | {"memory.tools.render.text"}
RECALLED = FOUND | {"memory.tools.render.recall"}
FIND = {"memory.cli", "memory.cli.find", "memory.cli.later", "memory.cli.options", "memory.cli.streams"}
HOOK = {"memory.cli", "memory.cli.agents", "memory.cli.later", "memory.cli.streams", "memory.tools.hook"}
SCRIPT = """
import sys
from memory.cli import main
code = main(sys.argv[1:])
offered = (
    "memory.search.corrections",
    *("memory.cli", "memory.mcp", "memory.tools", "memory.evaluate", "memory.carry"),
    *("memory.store.postgres", "psycopg"),
)
print(*(name for name in sys.modules if name.startswith(offered)), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("arguments", "imported"),
    [
        (("search", "cookies"), FIND | FOUND),
        (("search", "cookies", "--json"), FIND | PRINTED),
        (("context",), FIND | FOUND),
        (("hook", "session-start"), HOOK | RECALLED),
    ],
    ids=["search", "search --json", "context", "hook"],
)
def test_what_is_waited_for_imports_no_declaration(
    tmp_path: Path, arguments: tuple[str, ...], imported: set[str]
) -> None:
    shell = Shell(tmp_path / "home", tmp_path)
    shell("save", "Switched to JWT", "--what", "Replaced session cookies")

    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        input=json.dumps({"session_id": "s"}),
        env=shell.env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert set(ran.stderr.splitlines()[-1].split()) == imported


UNUSED = {"ast", "dis", "locale", "shlex", "rich", "yaml", "numpy", "importlib.metadata", "email", "ssl"}


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="its dataclasses use `inspect`")
@pytest.mark.parametrize("arguments", [("--version",), ("search", "cookies", "--json"), ("context",)], ids=" ".join)
def test_a_start_executes_nothing_that_only_help_and_errors_need(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    shell = Shell(tmp_path / "home", tmp_path)
    shell("save", "Switched to JWT", "--what", "Replaced session cookies")

    imported = shell.imports(*arguments)
    assert "click" in imported
    assert not imported & UNUSED


LATE = """
import sys, threading
from memory.cli.later import later
with later("colorsys", "no_such_module"):
    import colorsys
    import colorsys as again
    try:
        import no_such_module
    except ModuleNotFoundError as error:
        print(error)
print("rgb_to_hsv" in vars(colorsys), again is colorsys, colorsys.__spec__.name, len(sys.meta_path))
found = []
threads = [threading.Thread(target=lambda: found.append(colorsys.rgb_to_hsv)) for _ in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(len(found), len(set(found)), found[0](0, 0, 0))
print(hasattr(colorsys, "no_such_name"), [*vars(colorsys)].count("ONE_THIRD"))
from colorsys import hls_to_rgb
"""


def test_a_late_module_is_executed_once_when_something_of_it_is_asked_for(tmp_path: Path) -> None:
    finders = subprocess.run(
        [sys.executable, "-c", "import sys; print(len(sys.meta_path))"], capture_output=True, text=True, check=True
    )

    ran = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=True, timeout=60)

    assert ran.stdout.splitlines() == [
        "No module named 'no_such_module'",
        f"False True colorsys {finders.stdout.strip()}",
        "8 1 (0.0, 0.0, 0)",
        "False 1",
    ]


def test_a_declared_command_imports_its_own_family(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home", tmp_path)

    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, "graph"], env=shell.env, capture_output=True, text=True, check=True, timeout=60
    )

    others = ("memory.tools.sessions", "memory.tools.research", "memory.mcp")
    assert [name for name in ran.stderr.splitlines()[-1].split() if name.startswith(others)] == []


ALONE = """
import os, sys, threading
from memory.cli import OneThread
sys.meta_path.insert(0, OneThread())
import numpy
threads = len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 1
print(threads - threading.active_count(), os.environ.get("OPENBLAS_NUM_THREADS"), numpy.ones(3).sum(), len(sys.meta_path))
"""


@pytest.mark.parametrize("own", [None, "2"])
def test_numpy_has_one_thread_in_a_command_and_no_child_inherits_that(tmp_path: Path, own: str | None) -> None:
    shell = Shell(tmp_path / "home", tmp_path)
    env = {name: value for name, value in shell.env.items() if name != "OPENBLAS_NUM_THREADS"}
    finders = subprocess.run(
        [sys.executable, "-c", "import sys; print(len(sys.meta_path))"], capture_output=True, text=True, check=True
    )

    ran = subprocess.run(
        [sys.executable, "-c", ALONE],
        env=env | ({} if own is None else {"OPENBLAS_NUM_THREADS": own}),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    more, left, summed, now = ran.stdout.split()
    assert (left, summed, now) == (str(own), "3.0", finders.stdout.strip())
    if own is None:
        assert more == "0"
