"""
Break the product in one place at a time, and look whether the tests see it. By hand: all of it takes some 20 minutes.

    .venv/bin/python scripts/mutants.py               every mutant of `mutants_table`
    .venv/bin/python scripts/mutants.py NAME ...      these
    .venv/bin/python scripts/mutants.py --list        what there is, and whether its place and its tests are there

Each mutant has a copy of the checkout, with an environment of its own in which the installed package cannot be reached.
It is caught where one of its tests fails that passes without it; `hung` where its tests end without it alone. It has
survived where they pass. Whose text does not stand exactly once in its function, or whose tests are not there, is not
applicable. The exit code is 1 unless all are caught.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from mutants_table import MUTANTS

if TYPE_CHECKING:
    from mutants_table import Mutant

HERE = Path(__file__).resolve().parents[1]
GUARD_SECONDS = 300.0
WORKERS = 2
CAUGHT = ("caught", "hung")
FAILED, HUNG = 1, -1  # exit codes: pytest's of tests that fail, and ours
ABSENT = ("PYTHONPATH", "PYTHONHOME", "PYTEST_ADDOPTS")  # of the environment: they could bring another package


class NotApplicable(Exception):
    """There is no such place, or no such test, as the message says."""


class Broken(Exception):
    """The tests say nothing of the mutant, for the reason in the message."""


class Outcome(NamedTuple):
    """
    Attributes:
        state: caught, hung, survived, broken or not applicable.
        why: The test that caught it, or what is amiss.
    """

    name: str
    state: str
    seconds: float
    why: str = ""


def mutate(root: Path, mutant: Mutant) -> None:
    """Break a copy of the checkout; raises what `place` does."""
    file, begin, end = place(root, mutant)
    text = file.read_text("utf-8")
    file.write_text(text[:begin] + text[begin:end].replace(mutant.text, mutant.instead) + text[end:], "utf-8")


def place(root: Path, mutant: Mutant) -> tuple[Path, int, int]:
    """
    The file, and where in its text the function, class or constant begins and ends.

    Raises:
        NotApplicable: It is not there, or has the text not once.
    """
    module, _, names = mutant.place.partition(":")
    path = module if module.endswith(".sql") else module.replace(".", "/")
    choices = [root / "src" / "memory" / f"{path}{ending}" for ending in ("", ".py", "/__init__.py")]
    file = next((one for one in choices if one.is_file()), None)
    if file is None:
        raise NotApplicable(f"there is no {module}")
    text = file.read_text("utf-8")
    begin, end = span(text, names.split(".")) if names else (0, len(text))
    if (count := text.count(mutant.text, begin, end)) != 1:
        raise NotApplicable(f"its text stands {count} times in {mutant.place}")
    return file, begin, end


def span(text: str, names: list[str]) -> tuple[int, int]:
    """
    Where a definition begins and ends in a module's text.

    Raises:
        NotApplicable: There is none.
    """
    node: ast.AST = ast.parse(text)
    for name in names:
        inner = next((one for one in ast.walk(node) if one is not node and name in defined(one)), None)
        if inner is None:
            raise NotApplicable(f"there is no {'.'.join(names)}")
        node = inner
    lines = text.splitlines(keepends=True)
    first = min(one.lineno for one in (node, *getattr(node, "decorator_list", ())))
    return sum(map(len, lines[: first - 1])), sum(map(len, lines[: node.end_lineno]))


def defined(node: ast.AST) -> tuple[str, ...]:
    """The name that a function, a class or an assignment defines."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return (node.name,)
        case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)):
            return (name,)
    return ()


def tests(root: Path, mutant: Mutant) -> list[str]:
    """
    The files of its tests, wherever they lie below `tests`.

    Raises:
        NotApplicable: One of them is not there.
    """
    found = []
    for name in mutant.tests.split():
        files = sorted(str(file.relative_to(root)) for file in (root / "tests").rglob(name))
        if not files:
            raise NotApplicable(f"there is no {name} below tests")
        found += files
    return found


def copied(source: Path, target: Path) -> Path:
    """
    A copy of a checkout with an environment that has its package, and of all others those of the Python that runs this.

    A path that stands in a `.pth` file has its own `.pth` files left alone. So the one of the installed package, which
    leads to its sources, is not read.

    Raises:
        Broken: Another package would be tested.
    """
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist"))
    venv = target / ".venv"
    library = venv / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    library.mkdir(parents=True)
    (library / "mutants.pth").write_text(f"{target / 'src'}\n{sysconfig.get_path('purelib')}\n", "utf-8")
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", venv)
    python = venv / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(Path(sys.executable).resolve())
    command = python.with_name("memory")
    _, _, said = Path(sys.executable).with_name("memory").read_text("utf-8").partition("\n")
    command.write_text(f"#!{python}\n{said}", "utf-8")
    command.chmod(0o755)
    asked = [python, "-I", "-c", "import memory; print(memory.__file__)"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    if Path(found) != target / "src" / "memory" / "__init__.py":
        raise Broken(f"the tests would run against {found}")
    return target


class Runs:
    """Runs tests in copies, each in a group of processes that can be ended as one."""

    def __init__(self, clean: Path) -> None:
        """
        Args:
            clean: The copy without a mutant.
        """
        self.clean = clean
        self._lock = threading.Lock()
        self._groups: set[int] = set()

    def tested(self, mutant: Mutant) -> Outcome:
        """What became of a mutant."""
        begun = time.monotonic()
        copy = self.clean.with_name(mutant.name)
        try:
            state, why = self._judged(mutant, copy)
        except NotApplicable as error:
            state, why = "not applicable", str(error)
        except Broken as error:
            state, why = "broken", str(error)
        finally:
            shutil.rmtree(copy, ignore_errors=True)
        return Outcome(mutant.name, state, time.monotonic() - begun, why)

    def _judged(self, mutant: Mutant, copy: Path) -> tuple[str, str]:
        names = tests(self.clean, mutant)
        mutate(copied(self.clean, copy), mutant)
        only = ["-k", mutant.only] if mutant.only else []
        code, told = self._pytest(copy, *names, *only)
        if code == 0:
            return "survived", f"{' '.join(names)} {' '.join(only)}".rstrip()
        if code == HUNG:
            if self._pytest(self.clean, *names, *only)[0] == HUNG:
                raise Broken(f"its tests take longer than {GUARD_SECONDS:.0f} s without it too")
            return "hung", ""
        if code != FAILED:
            raise Broken(f"pytest ended with {code}: {told}")
        failed = next(iter(json.loads((copy / ".pytest_cache/v/cache/lastfailed").read_text("utf-8"))))
        if self._pytest(self.clean, failed)[0] != 0:
            raise Broken(f"{failed} fails without it too")
        return "caught", failed

    def _pytest(self, root: Path, *arguments: str) -> tuple[int, str]:
        """The exit code, and the last lines that were said."""
        environment = {name: value for name, value in os.environ.items() if name not in ABSENT}
        command = [root / ".venv" / "bin" / "python", "-m", "pytest", "-x", "-q", *arguments]
        process = subprocess.Popen(
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        with self._lock:
            self._groups.add(process.pid)
        try:
            said, _ = process.communicate(timeout=GUARD_SECONDS)
        except subprocess.TimeoutExpired:
            return HUNG, ""
        finally:
            with self._lock:
                self._groups.discard(process.pid)
            _end(process.pid)
            process.wait()
        return process.returncode, " | ".join(said.splitlines()[-3:])

    def end(self) -> None:
        """End all that still runs."""
        with self._lock:
            groups, self._groups = self._groups, set()
        for group in groups:
            _end(group)


def _end(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:  # all of it has ended
        return


def listed(mutants: list[Mutant]) -> int:
    """Say what there is; how many are not applicable."""
    lacking = 0
    for one in mutants:
        try:
            place(HERE, one)
            names = tests(HERE, one)
        except NotApplicable as error:
            lacking += 1
            print(f"{one.name:<28} not applicable: {error}")
        else:
            print(f"{one.name:<28} {one.place}  {' '.join(names)}")
    return lacking


def tried(mutants: list[Mutant]) -> list[Outcome]:
    """Try mutants, two at a time, and say a line of each."""
    outcomes = []
    with TemporaryDirectory(prefix="memory-mutants-") as folder:
        runs = Runs(copied(HERE, Path(folder).resolve() / "clean"))
        with ThreadPoolExecutor(WORKERS) as pool:
            try:
                for done in as_completed([pool.submit(partial(runs.tested, one)) for one in mutants]):
                    one = done.result()
                    outcomes.append(one)
                    print(f"{one.state:<14} {one.name:<28} {one.seconds:6.1f} s  {one.why}", flush=True)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                runs.end()
                raise
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the product in one place at a time; do the tests see it?")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of mutants; all of them without one")
    parser.add_argument("--list", action="store_true", help="say what there is, and try none")
    given = parser.parse_args()
    known = {one.name: one for one in MUTANTS}
    if len(known) < len(MUTANTS):
        parser.error("two mutants have one name")
    if unknown := sorted(set(given.names) - known.keys()):
        parser.error(f"no mutant {', '.join(unknown)}")
    chosen = [known[name] for name in dict.fromkeys(given.names)] or list(MUTANTS)
    if given.list:
        return 1 if listed(chosen) else 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what runs is ended, and the copies go
    begun = time.monotonic()
    outcomes = tried(chosen)
    counts = {state: sum(one.state == state for one in outcomes) for state in (*CAUGHT, "survived")}
    counts |= {state: sum(one.state == state for one in outcomes) for state in ("not applicable", "broken")}
    said = ", ".join(f"{count} {state}" for state, count in counts.items())
    print(f"{len(outcomes)} mutants: {said}; {time.monotonic() - begun:.0f} s")
    return 0 if all(one.state in CAUGHT for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
