"""
Revisions of this project, each installed by itself: its package, its command, an environment and a home of its own.

What the package needs comes from the Python that runs this, by a path in a `.pth` file; such a path has its own `.pth`
files left alone, so what is installed there in editable form cannot be imported, and what is installed as a copy comes
after the tree's own.
"""

from __future__ import annotations

import compileall
import io
import os
import shutil
import subprocess
import sysconfig
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

PROJECT = Path(__file__).resolve().parents[1]
SETTINGS = {"MEMORY_EMBEDDING_PROVIDER": "hashed", "MEMORY_EMBEDDING_MODEL": "hashed-256"}
STEADY = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Sets have one order, and threads of a matrix library, which spin after work, take no core from the other tree."""
COMMAND = """#!{python}
import sys
from {module} import {name}
sys.exit({name}())
"""


class NoTree(Exception):
    """There is no such revision, or its package is not the one that would be imported."""


@dataclass(frozen=True, slots=True)
class Tree:
    """
    A revision that can be run.

    Attributes:
        revision: Its commit, and whether the sources were changed since.
        library: Where its package is.
        home: Folder of its database, and its place of work.
    """

    revision: str
    library: Path
    python: Path
    command: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """No settings but those of the bench; modules are compiled already, as those of an installed package are."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "PYTHON"))}
        return plain | SETTINGS | STEADY | {"MEMORY_HOME": str(self.home), "HOME": str(self.home)}

    def run(self, *arguments: str, **settings: str) -> str:
        """What `memory` prints; it must not fail."""
        return self._output([str(self.command), *arguments], settings)

    def format(self) -> str:
        """Of the databases that it makes."""
        look = "from memory.store.sqlite.opening import LATEST; print(LATEST)"
        return self._output([str(self.python), "-c", look], {})

    def bare(self) -> None:
        """Start its Python for nothing."""
        self._output([str(self.python), "-c", "pass"], {})

    def _output(self, command: list[str], settings: dict[str, str]) -> str:
        done = subprocess.run(
            command,
            env=self.environment | settings,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (self.revision, command, done.stderr)
        return done.stdout


def tree(revision: str | None, folder: Path) -> Tree:
    """
    Install a revision below a folder; None is what lies in the working tree.

    Raises:
        NoTree: There is no such revision, or another package would be imported.
    """
    folder = folder.resolve()
    venv.EnvBuilder(symlinks=os.name != "nt").create(folder / "venv")
    library, scripts = (
        Path(sysconfig.get_path(name, "venv", {"base": str(folder / "venv")})) for name in ("purelib", "scripts")
    )
    sources = folder / "sources"
    label = _checked_out(revision, sources)
    shutil.copytree(sources / "src" / "memory", library / "memory")
    compileall.compile_dir(library / "memory", quiet=2)
    paths = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (library / "needed.pth").write_text("\n".join(paths) + "\n", "utf-8")
    python, command, home = scripts / "python", scripts / "memory", folder / "home"
    project = tomllib.loads((sources / "pyproject.toml").read_text("utf-8"))["project"]
    module, _, name = project["scripts"]["memory"].partition(":")
    command.write_text(COMMAND.format(python=python, module=module, name=name), "utf-8")
    command.chmod(0o755)
    home.mkdir(mode=0o700)
    installed = Tree(label, library, python, command, home)
    found = installed._output([str(python), "-c", "import memory; print(memory.__file__)"], {}).strip()
    if Path(found) != library / "memory" / "__init__.py":
        raise NoTree(f"{label} would be measured with {found}")
    return installed


def _checked_out(revision: str | None, sources: Path) -> str:
    """Put the package and what names its command into a folder; says which revision it is."""
    if revision is None:
        shutil.copytree(PROJECT / "src", sources / "src", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(PROJECT / "pyproject.toml", sources)
        changed = _git("status", "--porcelain", ":/src").strip()
        return _git("rev-parse", "--short=12", "HEAD").decode().strip() + (", src changed since" if changed else "")
    commit = _git("rev-parse", "--short=12", "--verify", f"{revision}^{{commit}}").decode().strip()
    with ZipFile(io.BytesIO(_git("archive", "--format=zip", commit, "src", "pyproject.toml"))) as archive:
        archive.extractall(sources)
    return commit


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(PROJECT), *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        raise NoTree(f"git {' '.join(arguments)}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout
