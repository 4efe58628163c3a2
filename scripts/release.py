"""
Build the wheel and the source distribution of this version, check what is in them, and try each in a clean environment.

    .venv/bin/python scripts/release.py [--to FOLDER] [--untried] [--publish TAG]

What is built stays in the folder, `dist` unless another is named. Nothing is published: with --publish the script only
checks, before it builds, that this version may be published under the tag. The build and the trial take packages from the
index that pip uses. The exit code is 1 if something is wrong, 3 if that index does not answer.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("memory", "tiermem")
NAME = PACKAGES[1]
ENTRIES = "[console_scripts]\nmemory = memory.__main__:run\ntiermem = tiermem.cli:run"
NEEDED = (
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "docs/setup.md",
    "tests/conftest.py",
    "scripts/setup",
)
"""What a source distribution has beside the packages, among others."""

MB = 1_000_000

TRIAL = """
import tiermem, memory
from tiermem.engine import Engine
assert tiermem is memory and memory.Engine is Engine
with Engine.open(home="library") as engine:
    engine.save(memory.Draft(title="WAL", what="Readers never block the writer"))
    assert [hit.memory.title for hit in engine.search("WAL").hits] == ["WAL"]
"""


NO_INDEX = 3  # exit code


class NoIndex(Exception):
    """What the build needs cannot be had."""


class Wrong(Exception):
    """Something that must not be published, as the message says."""


def version() -> str:
    """The version that the sources say."""
    text = (ROOT / "src/memory/schema/__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise Wrong("src/memory/schema/__init__.py names no version")
    return found[1]


def check_sources(number: str) -> None:
    """
    Raises:
        Wrong: The changelog has no section for the version, or generated files are of another.
    """
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## {re.escape(number)} · (unreleased|\d{{4}}-\d\d-\d\d)$", changes, re.MULTILINE):
        raise Wrong(f"CHANGELOG.md has no section `## {number} · DATE`")
    if f'"version": "{number}"' not in (ROOT / ".claude-plugin/plugin.json").read_text("utf-8"):
        raise Wrong("the plugin is of another version: scripts/reference.py")


def check_public(tag: str, number: str) -> None:
    """
    Raises:
        Wrong: The packages would name no public address, the tag is of another version, or that has no date yet.
    """
    if not packaging().ADDRESS:
        raise Wrong("scripts/package.py names no public address: fill in ADDRESS")
    if tag != f"v{number}":
        raise Wrong(f"the tag {tag} is not v{number}")
    if f"## {number} · unreleased" in (ROOT / "CHANGELOG.md").read_text("utf-8"):
        raise Wrong(f"CHANGELOG.md says that {number} is unreleased")


def packaging() -> ModuleType:
    """The module by which Hatchling makes the packages."""
    spec = spec_from_file_location("package", ROOT / "scripts/package.py")
    if spec is None or spec.loader is None:
        raise Wrong("there is no scripts/package.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(to: Path) -> tuple[Path, Path]:
    """
    The wheel and the source distribution, the wheel made from the latter as an installer would.

    Raises:
        NoIndex: What builds them cannot be had.
        CalledProcessError: They cannot be built.
    """
    with tempfile.TemporaryDirectory() as made:
        python = environment(Path(made))
        try:
            run(python, "-m", "pip", "install", "--quiet", "build", "twine")
        except subprocess.CalledProcessError as error:
            raise NoIndex(error.stderr.strip()) from error
        run(python, "-m", "build", "--outdir", to, ROOT)
        made_here = next(to.glob(f"{NAME}-{version()}-*.whl")), to / f"{NAME}-{version()}.tar.gz"
        run(python, "-m", "twine", "check", "--strict", *made_here)
    return made_here


def check_wheel(wheel: Path, number: str) -> None:
    """
    Raises:
        Wrong: It lacks a file of the packages, has another, or says something else of itself.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = f"{NAME}-{number}.dist-info"
        said = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        entries = archive.read(f"{info}/entry_points.txt").decode()
    inside = {name for name in names if not name.startswith(f"{info}/")}
    if inside != (wanted := sources() | pages()):
        raise Wrong(f"{wheel.name} and the sources differ: {sorted(inside ^ wanted)[:9]}")
    if link := re.search(r"\]\((?!https?://|mailto:)[^)]*\)", str(said.get_payload())):
        raise Wrong(f"what PyPI shows has a relative link: {link[0]}")
    if f"{info}/licenses/LICENSE" not in names:
        raise Wrong(f"{wheel.name} has no licence")
    if (said["Name"], said["Version"]) != (NAME, number) or set(said.get_all("Provides-Extra", [])) != extras():
        raise Wrong(f"{wheel.name} is {said['Name']} {said['Version']} with {said.get_all('Provides-Extra')}")
    if entries.strip() != ENTRIES:
        raise Wrong(f"{wheel.name} has the commands {entries.strip()!r}")


def pages() -> set[str]:
    """The pages of docs as they are in the wheel."""
    return {f"memory/docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}


def extras() -> set[str]:
    """The extras that the sources declare."""
    return {*tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]}


def check_sdist(sdist: Path, number: str) -> None:
    """
    Raises:
        Wrong: It lacks a file.
    """
    with tarfile.open(sdist) as archive:
        names = {name.removeprefix(f"{NAME}-{number}/") for name in archive.getnames()}
    if missing := {*NEEDED, *(f"src/{name}" for name in sources())} - names:
        raise Wrong(f"{sdist.name} has no {', '.join(sorted(missing)[:9])}")


def sources() -> set[str]:
    """The files of the packages that git knows, or, without git, all but what Python makes."""
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=False)
    found = listed.stdout.splitlines() if listed.returncode == 0 else [*_walked()]
    return {name.removeprefix("src/") for name in found}


def _walked() -> Iterator[str]:
    for path in (ROOT / "src").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT).as_posix()


# The trial ---------------------------------------------------------------------


def tried(package: Path) -> str:
    """
    Install a package into a clean environment and use it; how much came with it.

    Raises:
        CalledProcessError, Wrong: Something does not work.
    """
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        python = environment(folder / "environment")
        before = contents(python)
        run(python, "-m", "pip", "install", "--quiet", "--no-compile", package)
        after = contents(python)
        _used(python, folder)
        run(python, "-m", "pip", "install", "--quiet", f"{NAME}[mcp] @ {package.as_uri()}")
        run(python, "-m", "memory", "mcp", cwd=folder)  # standard input is empty: it ends at once
    return f"{after[0] - before[0]} packages, {(after[1] - before[1]) / MB:.0f} MB"


def _used(python: Path, folder: Path) -> None:
    scripts = python.parent
    for command in ([scripts / "memory"], [scripts / "tiermem"], [python, "-m", "tiermem"]):
        if run(*command, "--version", cwd=folder) != f"memory {version()}\n":
            raise Wrong(f"{command} says another version")
    run(scripts / "tiermem", "--home", folder / "home", "save", "Postgres pool raised to 20", cwd=folder)
    if "Postgres pool" not in run(scripts / "memory", "--home", folder / "home", "search", "postgres", cwd=folder):
        raise Wrong("a search does not find what was saved")
    run(python, "-c", TRIAL, cwd=folder)
    if not run(scripts / "memory", "help", "ranking", cwd=folder).startswith("# "):
        raise Wrong("the wheel has no page on ranking")
    without = run(scripts / "memory", "mcp", cwd=folder, code=1)
    if f"{NAME}[mcp]" not in without:
        raise Wrong(f"without the extra, the server says {without!r}")


def environment(folder: Path) -> Path:
    """The Python of a new environment, with pip and nothing else."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def contents(python: Path) -> tuple[int, int]:
    """How many packages an environment has, and how many bytes they take."""
    packages = run(python, "-m", "pip", "list", "--format", "freeze").splitlines()
    files = [path for path in python.parents[1].joinpath("lib").rglob("*") if path.suffix != ".pyc"]
    return len(packages), sum(path.stat().st_size for path in files if path.is_file())


def run(*command: object, cwd: Path = ROOT, code: int = 0) -> str:
    """
    What a command prints.

    Raises:
        CalledProcessError: It ends with another code.
    """
    words = [str(word) for word in command]
    ran = subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ran.returncode != code:
        raise subprocess.CalledProcessError(ran.returncode, words, ran.stdout, ran.stderr)
    return ran.stdout if code == 0 else ran.stderr


def main(asked: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "dist", help="where it goes (default: dist)")
    parser.add_argument("--untried", action="store_true", help="build and check, but install nothing")
    parser.add_argument("--publish", metavar="TAG", help="refuse what may not be published under this tag")
    given = parser.parse_args(asked)
    try:
        number = version()
        check_sources(number)
        if given.publish is not None:
            check_public(given.publish, number)
        wheel, sdist = build(given.to.resolve())
        check_wheel(wheel, number)
        check_sdist(sdist, number)
        for package in (wheel, sdist):
            what = "built" if given.untried else f"tried: {tried(package)}"
            print(f"{package.name}  {package.stat().st_size / MB:.2f} MB  {what}", flush=True)
    except Wrong as wrong:
        print(f"wrong: {wrong}", file=sys.stderr)
        return 1
    except NoIndex as error:
        print(f"the index of packages does not answer: {error}", file=sys.stderr)
        return NO_INDEX
    except subprocess.CalledProcessError as error:
        print(f"failed: {' '.join(error.cmd)}\n{error.stdout}{error.stderr}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
