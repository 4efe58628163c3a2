"""
What docs/setup.md prints, line by line, in four environments: uv, pipx, a virtual environment, and Debian's Python.

Packages come from the index that this machine's pip uses, the program from a wheel of this checkout, as if it were there
too. `make test-more` runs this; a tool that is missing is brought from the index, and what cannot be had is skipped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = Path("/usr/bin/python3")
SETUP = (ROOT / "docs/setup.md").read_text(encoding="utf-8")
PATIENCE = 600  # seconds; the model is 84 MB

BLOCKS = re.findall(r"```sh\n(.*?)```", SETUP[SETUP.index("\n## Install\n") :], re.DOTALL)
WAYS = {paragraph.split()[0]: paragraph for paragraph in BLOCKS[0].split("\n\n")}
"""The lines of each way to install, by their first word: uv, pipx, python3."""


class Place(NamedTuple):
    """
    A person's home, with nothing of this machine's settings but where packages come from.

    Attributes:
        path: What stands on PATH before the system's folders.
    """

    home: Path
    wheels: Path
    path: str

    @property
    def env(self) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_", "UV_"))
        }
        own = {"HOME": str(self.home), "PATH": f"{self.home}/.local/bin:{self.path}:/usr/bin:/bin", "LANG": "C.UTF-8"}
        where = {
            name: f"{self.wheels} {os.environ.get(name, '')}".strip() for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS")
        }
        return kept | own | where | {"PIPX_HOME": str(self.home / "pipx"), "UV_CACHE_DIR": str(self.home / "cache")}

    def sh(self, lines: str, code: int = 0) -> str:
        """What lines print in a shell that stops at the first that fails."""
        how = {"cwd": self.home, "env": self.env, "stdin": subprocess.DEVNULL, "timeout": PATIENCE}
        ran = subprocess.run(["sh", "-ec", lines], capture_output=True, text=True, check=False, **how)
        assert ran.returncode == code, f"{lines}\n{ran.stdout}{ran.stderr}"
        return ran.stdout + (ran.stderr if code else "")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where uv and pipx are, and a wheel of this checkout."""
    folder = tmp_path_factory.mktemp("tools")
    venv.create(folder, with_pip=True)
    pip = [folder / "bin/python", "-m", "pip", "--disable-pip-version-check"]
    fetched = subprocess.run([*pip, "install", "--quiet", "uv", "pipx"], capture_output=True, text=True, check=False)
    if fetched.returncode:
        pytest.skip(f"the index of packages does not answer: {fetched.stderr.strip().splitlines()[-1]}")
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "wheels", ROOT], check=True)
    return folder


def place(tmp_path: Path, tools: Path, *programs: str, python: Path | None = None) -> Place:
    """A home with these of the tools, and this Python as python3."""
    (tmp_path / "bin").mkdir()
    for name in programs:
        (tmp_path / "bin" / name).symlink_to(tools / "bin" / name)
    if python is not None:
        (tmp_path / "bin" / "python3").symlink_to(python)
    return Place(tmp_path, tools / "wheels", str(tmp_path / "bin"))


def used(at: Place, path: str = "") -> None:
    """After the printed lines a memory is saved and found by meaning, agents have their server, and torch is not there."""
    at.sh(f"{path}{BLOCKS[1]}")

    at.sh(f'{path}memory save "Postgres pool raised to 20" --what "Requests waited for connections at 12"')
    answer = json.loads(at.sh(f'{path}memory search "why is the database slow under load" --json'))

    assert answer["tier"] == "hybrid"
    assert [hit["title"] for hit in answer["hits"]] == ["Postgres pool raised to 20"]
    assert at.sh(f"{path}tiermem --version") == at.sh(f"{path}memory --version")
    assert json.loads(at.sh(f"{path}memory doctor --json"))["well"]
    at.sh(f"{path}memory mcp < /dev/null")
    assert not [*at.home.rglob("torch")]
    assert [one.name for one in (at.home / ".local/share/memory/models").iterdir()] == ["all-MiniLM-L6-v2"]


def added(at: Place, path: str = "") -> None:
    """The line that a message names adds to this installation, and what was there stays."""
    said = at.sh(f"{path}memory config set embedding.provider ollama", code=1)
    [line] = re.findall(r"Run `(.*?)`\.", said)
    at.sh(f"{path}{line}")

    assert "is not installed" not in at.sh(f"{path}memory config set embedding.provider ollama", code=1)
    at.sh(f"{path}memory mcp < /dev/null")


def python(name: str) -> Path:
    """The Python of an environment."""
    if name == "debian" and not (SYSTEM.exists() and Path("/etc/debian_version").exists()):
        pytest.skip("this is no Debian")
    return SYSTEM if name == "debian" else Path(sys.base_prefix, "bin/python3")


def test_a_tool_of_uv(tmp_path: Path, tools: Path) -> None:
    at = place(tmp_path, tools, "uv", python=python("own"))

    at.sh(WAYS["uv"])

    used(at)
    added(at)


@pytest.mark.parametrize("name", ["own", "debian"])
def test_a_program_of_pipx(name: str, tmp_path: Path, tools: Path) -> None:
    at = place(tmp_path, tools, "pipx", python=python(name))

    at.sh(f"export PIPX_DEFAULT_PYTHON={python(name)}; {WAYS['pipx']}")

    used(at)
    added(at, f"export PIPX_DEFAULT_PYTHON={python(name)}; ")


@pytest.mark.parametrize("name", ["own", "debian"])
def test_a_virtual_environment(name: str, tmp_path: Path, tools: Path) -> None:
    at = place(tmp_path, tools, python=python(name))
    if subprocess.run([python(name), "-c", "import ensurepip"], capture_output=True, check=False).returncode:
        pytest.skip(f"{python(name)} makes no virtual environments: python3-venv is not installed")

    at.sh(WAYS["python3"])

    path = next(line for line in WAYS["python3"].splitlines() if line.startswith("export PATH")) + "\n"
    used(at, path)
    added(at, path)


def test_debians_python_asks_for_an_environment(tmp_path: Path, tools: Path) -> None:
    """Why docs/setup.md does not say `pip install` to those who have nothing but that."""
    at = place(tmp_path, tools, python=python("debian"))
    if shutil.which("pip", path="/usr/bin") is None:
        pytest.skip("Debian's Python has no pip")

    assert "externally-managed-environment" in at.sh('/usr/bin/python3 -m pip install "tiermem[mcp]"', code=1)
